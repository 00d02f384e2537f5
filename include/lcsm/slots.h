/*
 * lcsm/slots.h - many sequences beside one set of weights, each at its own place.
 *
 *     lcsm_slots_create(&s, model, &(lcsm_slots_options){.size = ..., .slots = 32}, err);
 *     lcsm_slots_open(s, &a, err);                      a sequence joins, at any time
 *     lcsm_slots_branch(s, a, &b, err);                 another one continues from where a is
 *     lcsm_slot_feed now[] = {{a, prompt, 300}, {b, &next, 1}};
 *     lcsm_slots_feed(s, now, 2, err);                  different lengths in one call
 *     next = best of lcsm_slots_logits(s, b);
 *     lcsm_slots_close(s, a, err);                      it leaves; the others do not notice
 *
 * A slot has the memory of one sequence. Those that a call feeds share its passes over the weights,
 * so a token of 8 sequences costs little more than one of a single sequence, and a call costs what
 * it is given, not what is open. Every slot is bit-identical to a session (lcsm/session.h) of its
 * own that was fed the same calls, whatever runs beside it, joins, leaves or is rewound.
 *
 * A call takes as long as its longest prompt: to keep streams running, feed prompts in parts of a
 * few hundred tokens beside the single tokens of the others.
 *
 * Ownership  What _create returns, the caller gives to _free; _free(NULL) is fine. The model
 *            outlives it. Logits are borrowed until the slot is fed, changed or closed.
 * Memory     The first call with some number of sequences reserves memory for it, later ones of the
 *            kind do not. Of such kinds the 24 used last are kept.
 * Threads    It belongs to one thread at a time; several may share a model.
 * Options    begin with their size: {.size = sizeof options}. lcsm_slot_feed stays as it is.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. A call
 *            that is refused for its arguments changes nothing; after another failure of a feed,
 * its slots are to be reset or closed, and the others are as they were.
 */
#ifndef LCSM_SLOTS_H
#define LCSM_SLOTS_H
#include <lcsm/model.h>

LCSM_BEGIN_DECLS

typedef struct lcsm_slots lcsm_slots;

/* All zeros but size are the defaults. */
typedef struct {
    size_t size;         /* sizeof(lcsm_slots_options) */
    size_t slots;        /* sequences at once, at most; 0: 8 */
    size_t chunk;        /* tokens of a prompt that are taken at once, at most; 0: 512 */
    size_t rewind;       /* tokens that a slot can go back from the last it has read; 0: none */
    size_t rewind_bytes; /* memory of a slot for that, at most; 0: any */
} lcsm_slots_options;

/* All slots are closed at first. options may be NULL. A bidirectional model cannot run token by
 * token: LCSM_ERR_UNSUPPORTED. */
LCSM_API lcsm_status lcsm_slots_create(lcsm_slots **out, const lcsm_model *model,
                                       const lcsm_slots_options *options, lcsm_error *err);
LCSM_API void        lcsm_slots_free(lcsm_slots *s);

LCSM_API const lcsm_model *lcsm_slots_model(const lcsm_slots *s);
LCSM_API size_t            lcsm_slots_capacity(const lcsm_slots *s);
LCSM_API size_t            lcsm_slots_count(const lcsm_slots *s); /* open ones */
LCSM_API bool              lcsm_slots_is_open(const lcsm_slots *s, size_t slot);

/* Opens the closed slot with the lowest number: empty, or bit-identically where another one is.
 * Without a closed slot: LCSM_ERR_UNSUPPORTED, and nothing is opened. */
LCSM_API lcsm_status lcsm_slots_open(lcsm_slots *s, size_t *slot, lcsm_error *err);
LCSM_API lcsm_status lcsm_slots_branch(lcsm_slots *s, size_t from, size_t *slot, lcsm_error *err);
LCSM_API lcsm_status lcsm_slots_close(lcsm_slots *s, size_t slot, lcsm_error *err);

/* n more tokens of one slot. all, if not NULL, gets the logits behind each of them, (n, V). */
typedef struct {
    size_t         slot;
    const int32_t *tokens;
    size_t         n;
    float         *all;
} lcsm_slot_feed;

/* Reads tokens of `count` open slots, each of which is named once. */
LCSM_API lcsm_status lcsm_slots_feed(lcsm_slots *s, const lcsm_slot_feed *list, size_t count,
                                     lcsm_error *err);

/* The same, but `all` gets the hidden states behind each token, (n, d_model): those of the last
 * layer after the final norm, which the head reads. */
LCSM_API lcsm_status lcsm_slots_feed_hidden(lcsm_slots *s, const lcsm_slot_feed *list, size_t count,
                                            lcsm_error *err);

/* The logits behind the last token of a slot, (V); NULL before the first one, and if it is closed.
 */
LCSM_API const float *lcsm_slots_logits(const lcsm_slots *s, size_t slot);

/* How many tokens a slot has had; 0 if it is closed. */
LCSM_API uint64_t lcsm_slots_position(const lcsm_slots *s, size_t slot);

/* A slot as new. */
LCSM_API lcsm_status lcsm_slots_reset(lcsm_slots *s, size_t slot, lcsm_error *err);

/* A slot goes back by so many tokens, as lcsm_session_rewind. A branch, a reset and a state that is
 * read begin without a past. */
LCSM_API lcsm_status lcsm_slots_rewind(lcsm_slots *s, size_t slot, uint64_t tokens,
                                       lcsm_error *err);
LCSM_API uint64_t    lcsm_slots_rewindable(const lcsm_slots *s, size_t slot);

/* Memory, position and last logits of a slot as a file or as bytes, and back into an open slot: as
 * lcsm_session_save_state and the functions beside it do for a session of one sequence, and
 * in the same format, so that a state moves between them. The weights are hashed once. */
LCSM_API lcsm_status lcsm_slots_save_state(lcsm_slots *s, size_t slot, const char *path,
                                           lcsm_error *err);
LCSM_API lcsm_status lcsm_slots_load_state(lcsm_slots *s, size_t slot, const char *path,
                                           lcsm_error *err);
LCSM_API lcsm_status lcsm_slots_write_state(lcsm_slots *s, size_t slot, void *buffer, size_t *size,
                                            lcsm_error *err);
LCSM_API lcsm_status lcsm_slots_read_state(lcsm_slots *s, size_t slot, const void *buffer,
                                           size_t size, lcsm_error *err);

LCSM_END_DECLS
#endif
