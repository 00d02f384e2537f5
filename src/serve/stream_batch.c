/* stream_batch.c - a slot is a session. Sessions that are not in use wait for the next stream. */
#include "serve/stream_batch.h"

#include <stdlib.h>

typedef struct {
    lcsm_session *s;
    bool          open;
} slot_state;

struct lcsm_batch {
    const lcsm_model *model;
    size_t            count, open;
    slot_state       *slots;
};

lcsm_status lcsm_batch_create(lcsm_batch **out, const lcsm_model *model, size_t slots,
                              lcsm_error *err)
{
    lcsm_batch *b    = calloc(1, sizeof *b);
    slot_state *list = calloc(slots, sizeof *list);
    *out             = NULL;
    if (b == NULL || list == NULL) {
        free(b);
        free(list);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu streams", slots);
    }
    *b             = (lcsm_batch){.model = model, .count = slots, .slots = list};
    *out           = b;
    lcsm_status st = lcsm_session_create(&list[0].s, model, NULL, err);
    if (st != LCSM_OK) lcsm_batch_free(b);
    if (st != LCSM_OK) *out = NULL;
    return st;
}

void lcsm_batch_free(lcsm_batch *b)
{
    if (b == NULL) return;
    for (size_t j = 0; j < b->count; j++) lcsm_session_free(b->slots[j].s);
    free(b->slots);
    free(b);
}

size_t lcsm_batch_count(const lcsm_batch *b)
{
    return b->open;
}

static lcsm_status find_closed(const lcsm_batch *b, size_t *slot, lcsm_error *err)
{
    for (*slot = 0; *slot < b->count; ++*slot)
        if (!b->slots[*slot].open) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "all %zu slots are open", b->count);
}

lcsm_status lcsm_batch_open(lcsm_batch *b, size_t *slot, lcsm_error *err)
{
    LCSM_OR_RETURN(find_closed(b, slot, err));
    slot_state *at = &b->slots[*slot];
    if (at->s != NULL) lcsm_session_reset(at->s);
    else LCSM_OR_RETURN(lcsm_session_create(&at->s, b->model, NULL, err));
    at->open = true;
    b->open++;
    return LCSM_OK;
}

lcsm_status lcsm_batch_branch(lcsm_batch *b, size_t from, size_t *slot, lcsm_error *err)
{
    LCSM_OR_RETURN(find_closed(b, slot, err));
    slot_state   *at   = &b->slots[*slot];
    lcsm_session *copy = NULL;
    LCSM_OR_RETURN(lcsm_session_clone(&copy, b->slots[from].s, err));
    lcsm_session_free(at->s);
    *at = (slot_state){copy, true};
    b->open++;
    return LCSM_OK;
}

void lcsm_batch_close(lcsm_batch *b, size_t slot)
{
    b->slots[slot].open = false;
    b->open--;
}

lcsm_status lcsm_batch_feed(lcsm_batch *b, const lcsm_batch_feed_item *list, size_t count,
                            lcsm_error *err)
{
    for (size_t j = 0; j < count; j++)
        LCSM_OR_RETURN(lcsm_session_feed(b->slots[list[j].slot].s, list[j].tokens, list[j].n,
                                         list[j].all, err));
    return LCSM_OK;
}

const float *lcsm_batch_logits(const lcsm_batch *b, size_t slot)
{
    return lcsm_session_logits(b->slots[slot].s);
}

uint64_t lcsm_batch_position(const lcsm_batch *b, size_t slot)
{
    return lcsm_session_position(b->slots[slot].s);
}

lcsm_status lcsm_batch_write_state(const lcsm_batch *b, size_t slot, void *buffer, size_t *size,
                                   lcsm_error *err)
{
    return lcsm_session_write_state(b->slots[slot].s, buffer, size, err);
}

lcsm_status lcsm_batch_read_state(lcsm_batch *b, size_t slot, const void *buffer, size_t size,
                                  lcsm_error *err)
{
    return lcsm_session_read_state(b->slots[slot].s, buffer, size, err);
}
