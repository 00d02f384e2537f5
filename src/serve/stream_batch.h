/*
 * serve/stream_batch.h - the running streams of one model: slots that read tokens side by side.
 *
 * What a slot computes is bit-identical to what it would compute alone.
 */
#ifndef LCSM_SERVE_STREAM_BATCH_H
#define LCSM_SERVE_STREAM_BATCH_H
#include <lcsm/session.h>

#include "base/error.h"

typedef struct lcsm_batch lcsm_batch;

/* n more tokens of one slot; all, if not NULL, gets the logits behind each of them, (n, V). */
typedef struct {
    size_t         slot;
    const int32_t *tokens;
    size_t         n;
    float         *all;
} lcsm_batch_feed_item;

lcsm_status lcsm_batch_create(lcsm_batch **out, const lcsm_model *model, size_t slots,
                              lcsm_error *err);
void        lcsm_batch_free(lcsm_batch *b);
size_t      lcsm_batch_count(const lcsm_batch *b); /* open slots */

/* Opens a closed slot: empty, or where another one is. */
lcsm_status lcsm_batch_open(lcsm_batch *b, size_t *slot, lcsm_error *err);
lcsm_status lcsm_batch_branch(lcsm_batch *b, size_t from, size_t *slot, lcsm_error *err);
void        lcsm_batch_close(lcsm_batch *b, size_t slot);

/* Items of different slots. After a failure these are to be closed. */
lcsm_status lcsm_batch_feed(lcsm_batch *b, const lcsm_batch_feed_item *list, size_t count,
                            lcsm_error *err);

const float *lcsm_batch_logits(const lcsm_batch *b, size_t slot); /* NULL before the first token */
uint64_t     lcsm_batch_position(const lcsm_batch *b, size_t slot);

/* The memory of a slot as bytes, and back, as those of a session. */
lcsm_status lcsm_batch_write_state(const lcsm_batch *b, size_t slot, void *buffer, size_t *size,
                                   lcsm_error *err);
lcsm_status lcsm_batch_read_state(lcsm_batch *b, size_t slot, const void *buffer, size_t size,
                                  lcsm_error *err);

#endif
