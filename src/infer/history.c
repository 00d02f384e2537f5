/* history.c - a ring of snapshots and a ring of tokens. */
#include "infer/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { CLOSEST = 16 /* tokens between snapshots; closer ones cost more than they save */ };

/* ---- room ------------------------------------------------------------------------------- */

/* Snapshots that can be needed at once: of those in the last `depth` tokens no two are closer than
 * `every`, one is before them, and one is being added. */
static size_t needed(size_t depth, size_t every)
{
    return depth / every + 3;
}

/* The closest spacing whose snapshots fit the budget; 0 if none does. */
static size_t spacing(size_t depth, size_t bytes, size_t budget)
{
    size_t total, every = CLOSEST;
    for (; every < 2 * depth + CLOSEST; every *= 2)
        if (lcsm_size_mul(needed(depth, every), bytes, &total) && (budget == 0 || total <= budget))
            return every;
    return 0;
}

static lcsm_status reserve(lcsm_history *h, size_t longest, lcsm_error *err)
{
    size_t tokens = 0, bytes = 0;
    bool   fits = lcsm_size_add(h->depth, h->every + longest, &h->room)
             && lcsm_size_mul(h->room, h->batch, &tokens)
             && lcsm_size_mul(h->limit, h->snapshot_bytes, &bytes);
    if (fits) {
        h->tokens    = calloc(tokens, sizeof *h->tokens);
        h->pieces    = calloc(h->room, sizeof *h->pieces);
        h->positions = calloc(h->limit, sizeof *h->positions);
        h->snapshots = calloc(bytes, 1);
    }
    if (!fits || h->tokens == NULL || h->pieces == NULL || h->positions == NULL
        || h->snapshots == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY,
                         "not enough memory to go back %zu tokens: %zu snapshots of %zu bytes",
                         h->depth, h->limit, h->snapshot_bytes);
    return LCSM_OK;
}

lcsm_status lcsm_history_create(lcsm_history *h, const lcsm_history_view *v, size_t batch,
                                size_t depth, size_t budget, size_t longest, lcsm_error *err)
{
    *h = (lcsm_history){.depth = depth, .batch = batch};
    if (depth == 0) return LCSM_OK;
    h->state_bytes    = batch * lcsm_state_row_bytes(v->state);
    h->snapshot_bytes = h->state_bytes + v->logits_bytes + v->recent_bytes;
    h->every          = spacing(depth, h->snapshot_bytes, budget);
    if (h->every == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%zu bytes are too few to go back %zu tokens; expected at least %zu",
                         budget, depth, needed(depth, 2 * depth + CLOSEST) * h->snapshot_bytes);
    h->limit       = needed(depth, h->every);
    lcsm_status st = reserve(h, longest, err);
    if (st != LCSM_OK) lcsm_history_free(h);
    return st;
}

void lcsm_history_free(lcsm_history *h)
{
    free(h->tokens);
    free(h->pieces);
    free(h->positions);
    free(h->snapshots);
    *h = (lcsm_history){0};
}

/* ---- snapshots -------------------------------------------------------------------------- */

static size_t slot(const lcsm_history *h, size_t j)
{
    return (h->first + j) % h->limit;
}

static uint64_t position(const lcsm_history *h, size_t j)
{
    return h->positions[slot(h, j)];
}

static void take(lcsm_history *h, const lcsm_history_view *v, uint64_t at)
{
    size_t         j  = slot(h, h->count++);
    unsigned char *to = h->snapshots + j * h->snapshot_bytes;
    h->positions[j]   = at;
    lcsm_state_save(v->state, v->row, (ptrdiff_t)h->batch, to);
    memcpy(to + h->state_bytes, v->logits, v->logits_bytes);
    memcpy(to + h->state_bytes + v->logits_bytes, v->recent, v->recent_bytes);
}

/* Drops the oldest snapshots while the next one still reaches back far enough. */
static void expire(lcsm_history *h, uint64_t end)
{
    while (h->count > 1 && position(h, 1) + h->depth <= end) {
        h->first = slot(h, 1);
        h->count--;
    }
}

void lcsm_history_restart(lcsm_history *h, const lcsm_history_view *v, uint64_t at)
{
    if (h->depth == 0) return;
    h->first = 0;
    h->count = 0;
    take(h, v, at);
}

void lcsm_history_add(lcsm_history *h, const lcsm_history_view *v, const int32_t *tokens,
                      size_t stride, size_t n, uint64_t end, uint8_t kind)
{
    if (h->depth == 0) return;
    h->pieces[(end - n) % h->room] = kind;
    for (size_t t = 0; t < n; t++)
        for (size_t b = 0; b < h->batch; b++)
            h->tokens[(end - n + t) % h->room * h->batch + b] = tokens[b * stride + t];
    expire(h, end);
    if (end >= position(h, h->count - 1) + h->every) take(h, v, end);
}

uint64_t lcsm_history_oldest(const lcsm_history *h)
{
    return position(h, 0);
}

uint64_t lcsm_history_restore(lcsm_history *h, const lcsm_history_view *v, uint64_t target)
{
    while (position(h, h->count - 1) > target) h->count--;
    const unsigned char *from = h->snapshots + slot(h, h->count - 1) * h->snapshot_bytes;
    lcsm_state_restore(v->state, v->row, (ptrdiff_t)h->batch, from);
    memcpy(v->logits, from + h->state_bytes, v->logits_bytes);
    memcpy(v->recent, from + h->state_bytes + v->logits_bytes, v->recent_bytes);
    return position(h, h->count - 1);
}

/* ---- tokens ----------------------------------------------------------------------------- */

uint8_t lcsm_history_kind(const lcsm_history *h, uint64_t t)
{
    return h->pieces[t % h->room];
}

void lcsm_history_tokens(const lcsm_history *h, uint64_t t, size_t n, int32_t *tokens)
{
    for (size_t b = 0; b < h->batch; b++)
        for (size_t j = 0; j < n; j++)
            tokens[b * n + j] = h->tokens[(t + j) % h->room * h->batch + b];
}
