/*
 * infer/slot_set.h - the inside of a set of slots.
 *
 * The memories of all slots are rows of one carried state. Which row a slot has changes: before a
 * pass the rows of its slots are brought side by side, by exchanging as few as possible, and the
 * pass then runs in place on them. So nothing is copied while the same slots are fed again.
 */
#ifndef LCSM_INFER_SLOT_SET_H
#define LCSM_INFER_SLOT_SET_H
#include <lcsm/slots.h>

#include "infer/session.h"

typedef struct {
    bool         open;
    size_t       row;  /* of its memory in the carried state */
    size_t       feed; /* its place in the list of the current call, or LCSM_NO_FEED */
    uint64_t     position;
    lcsm_history history;
} lcsm_slot;

#define LCSM_NO_FEED SIZE_MAX

struct lcsm_slots {
    const lcsm_model  *model;
    lcsm_slots_options options; /* with the defaults in place */
    size_t             vocab;
    lcsm_slot         *slot;    /* (slots) */
    size_t            *slot_at; /* (slots): the slot of each row */
    bool              *wanted;  /* (slots): rows of the next pass */
    lcsm_state        *state;   /* one row more than slots, to exchange with */
    float             *logits;  /* (slots, V), by slot */
    int32_t           *recent;  /* (slots, LCSM_STATE_RECENT), by slot */
    int32_t           *again;   /* (longest piece): tokens that are read again */
    size_t            *done;    /* (slots): tokens of each of the call's feeds that were read */
    char               sha256[LCSM_SHA256_TEXT]; /* of the model; empty: not known yet */
    /* By the number of sequences; those of all logits and of the last ones. */
    lcsm_session_graph *graphs[2][LCSM_SESSION_LENGTHS];
    uint64_t            passes;
    size_t              kept; /* graphs */
};

static inline lcsm_state_part lcsm_slots_part(lcsm_slots *s, size_t slot)
{
    lcsm_slot *own = &s->slot[slot];
    return (lcsm_state_part){.model    = s->model,
                             .state    = s->state,
                             .row      = (ptrdiff_t)own->row,
                             .batch    = 1,
                             .vocab    = s->vocab,
                             .logits   = s->logits + slot * s->vocab,
                             .recent   = s->recent + slot * LCSM_STATE_RECENT,
                             .position = &own->position,
                             .sha256   = s->sha256};
}

static inline lcsm_history_view lcsm_slots_view(lcsm_slots *s, size_t slot)
{
    lcsm_state_part p = lcsm_slots_part(s, slot);
    return (lcsm_history_view){.state        = p.state,
                               .row          = p.row,
                               .logits       = p.logits,
                               .recent       = p.recent,
                               .logits_bytes = p.vocab * sizeof *p.logits,
                               .recent_bytes = LCSM_STATE_RECENT * sizeof *p.recent};
}

/* Tokens in a piece of each length, the longest first. */
extern const size_t lcsm_piece_lengths[LCSM_SESSION_LENGTHS];

/* The graph of n pieces of a length side by side, which is made if it is not there. */
lcsm_status lcsm_slots_prepare(lcsm_slots *s, int length, size_t n, bool all,
                               lcsm_session_graph **out, lcsm_error *err);

lcsm_status lcsm_slots_check(const lcsm_slots *s, size_t slot, lcsm_error *err);

#endif
