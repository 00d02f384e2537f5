/*
 * infer/history.h - how a session goes back: snapshots of its memory, and the tokens since.
 *
 * A snapshot is taken where a piece ends, `every` tokens or more behind the last one. Going back to
 * a token restores the last snapshot before it and reads the tokens between again, cut into the
 * same pieces as the first time, so the result is bit-identical to that of a session which never
 * went further. All room is reserved at the beginning.
 */
#ifndef LCSM_INFER_HISTORY_H
#define LCSM_INFER_HISTORY_H
#include <stdint.h>

#include "base/error.h"
#include "graph/state.h"

/* Token t of the log is at t % room. */
typedef struct {
    size_t   depth; /* tokens that a session can go back, at least; 0: there is no history */
    size_t   every; /* tokens between snapshots, at least */
    size_t   batch, room;
    int32_t *tokens; /* (room, B) */
    uint8_t *pieces; /* (room): the kind of the piece that begins at the token */

    size_t         state_bytes, snapshot_bytes; /* of the carried state alone, and of all */
    size_t         limit, count;                /* snapshots that fit, and that there are */
    uint64_t      *positions;                   /* of the snapshots, ascending */
    unsigned char *snapshots;                   /* (limit), a ring that begins at `first` */
    size_t         first;
} lcsm_history;

/* What a snapshot holds: B sequences of a carried state, from `row` on, with their logits and
 * recent tokens. */
typedef struct {
    lcsm_state *state;
    ptrdiff_t   row;
    float      *logits;
    int32_t    *recent;
    size_t      logits_bytes, recent_bytes;
} lcsm_history_view;

/* Room to go back `depth` tokens within `budget` bytes (0: no limit). The more room, the closer
 * the snapshots: 16 tokens at best. LCSM_ERR_ARGUMENT if the budget is too small. `longest` is the
 * number of tokens of the longest piece. */
lcsm_status lcsm_history_create(lcsm_history *h, const lcsm_history_view *v, size_t batch,
                                size_t depth, size_t budget, size_t longest, lcsm_error *err);
void        lcsm_history_free(lcsm_history *h);

/* Forgets everything and begins with a snapshot at this position. */
void lcsm_history_restart(lcsm_history *h, const lcsm_history_view *v, uint64_t at);

/* A piece of n tokens (B, stride) has been read, and `end` is the position behind it. */
void lcsm_history_add(lcsm_history *h, const lcsm_history_view *v, const int32_t *tokens,
                      size_t stride, size_t n, uint64_t end, uint8_t kind);

/* The position of the oldest snapshot: no session can go back further. */
uint64_t lcsm_history_oldest(const lcsm_history *h);

/* Restores the last snapshot that is not behind `target` and drops those that are; returns its
 * position. */
uint64_t lcsm_history_restore(lcsm_history *h, const lcsm_history_view *v, uint64_t target);

/* The kind of the piece that begins at t, and its n tokens as (B, n). */
uint8_t lcsm_history_kind(const lcsm_history *h, uint64_t t);
void    lcsm_history_tokens(const lcsm_history *h, uint64_t t, size_t n, int32_t *tokens);

#endif
