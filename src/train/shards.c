/* shards.c - cuts batches, and sums gradients in the order of shards. */
#include "train/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/size.h"
#include "base/thread.h"
#include "kernel/context.h"

/* ---- who has what ------------------------------------------------------------------------- */

int lcsm_shards_wanted(const lcsm_train_config *cfg, const lcsm_dist *dist)
{
    return cfg->shards > 0 ? (int)cfg->shards : lcsm_dist_size(dist);
}

ptrdiff_t lcsm_shards_rows(const lcsm_train_config *cfg, const lcsm_dist *dist)
{
    ptrdiff_t count = lcsm_shards_wanted(cfg, dist);
    return (cfg->batch_size + count - 1) / count;
}

static int first_of(const lcsm_shards *s, int rank)
{
    return (int)((int64_t)rank * s->count / lcsm_dist_size(s->dist));
}

int lcsm_shards_of(const lcsm_shards *s, int rank)
{
    return first_of(s, rank + 1) - first_of(s, rank);
}

ptrdiff_t lcsm_shards_begin(const lcsm_shards *s, int shard)
{
    return shard * s->batch / s->count;
}

lcsm_status lcsm_shards_check(const lcsm_train_config *cfg, const lcsm_dist *dist, lcsm_error *err)
{
    int count = lcsm_shards_wanted(cfg, dist);
    if (count <= cfg->batch_size) return LCSM_OK;
    if (cfg->shards > 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "shards is %d, but batch_size is %td; expected at most as many shards as "
                         "sequences",
                         count, cfg->batch_size);
    return lcsm_fail(
        err, LCSM_ERR_CONFIG,
        "%d ranks cannot share batches of %td sequence%s: use a batch_size of at least "
        "%d, or fewer ranks",
        count, cfg->batch_size, cfg->batch_size == 1 ? "" : "s", count);
}

/* The memory that the sums need. */
static lcsm_status reserve(lcsm_shards *s, const lcsm_optimizer *o, lcsm_error *err)
{
    int    size = lcsm_dist_size(s->dist);
    size_t n = size > 1 ? o->end - o->first : o->params->block, bytes = 0;
    s->begin  = calloc((size_t)size + 1, sizeof *s->begin);
    s->bytes  = calloc((size_t)size + 1, sizeof *s->bytes);
    bool fits = lcsm_size_mul(n, sizeof(float), &bytes)
             && (size == 1 || lcsm_size_mul(bytes, (size_t)s->count, &bytes));
    bool wanted = s->count > 1 || size > 1;
    if (wanted && fits) s->sums = lcsm_block_alloc(bytes);
    if (s->begin == NULL || s->bytes == NULL || (wanted && s->sums == NULL))
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the gradients of %d shards",
                         s->count);
    for (int r = 0; r <= size; r++) s->begin[r] = lcsm_optimizer_first(o, r, size);
    return LCSM_OK;
}

lcsm_status lcsm_shards_open(lcsm_shards *s, lcsm_dist *dist, const lcsm_train_config *cfg,
                             const lcsm_optimizer *o, lcsm_error *err)
{
    int size = lcsm_dist_size(dist);
    *s       = (lcsm_shards){.dist  = dist,
                             .count = lcsm_shards_wanted(cfg, dist),
                             .batch = cfg->batch_size,
                             .rows  = lcsm_shards_rows(cfg, dist)};
    s->first = first_of(s, lcsm_dist_rank(dist));
    s->end   = first_of(s, lcsm_dist_rank(dist) + 1);
    s->most  = (s->count + size - 1) / size;
    LCSM_OR_RETURN(lcsm_shards_check(cfg, dist, err));
    return reserve(s, o, err);
}

void lcsm_shards_close(lcsm_shards *s)
{
    free(s->begin);
    free(s->bytes);
    free(s->sums);
    *s = (lcsm_shards){0};
}

void lcsm_shards_cut(const lcsm_shards *s, int shard, ptrdiff_t T, const int32_t *batch,
                     int32_t fill, int32_t *out)
{
    ptrdiff_t from = lcsm_shards_begin(s, shard), rows = lcsm_shards_begin(s, shard + 1) - from;
    memcpy(out, batch + from * T, (size_t)(rows * T) * sizeof *out);
    for (ptrdiff_t j = rows * T; j < s->rows * T; j++) out[j] = fill;
}

/* ---- sums --------------------------------------------------------------------------------- */

enum { PIECE = 1 << 14 };

/* to = ((from_0 + from_1) + ...), n numbers of each, `stride` apart; the last may be `to`. */
typedef struct {
    float       *to;
    const float *from, *last; /* last: NULL, or one more, which may be `to` itself */
    size_t       n, stride;
    int          count;
} sum_job;

static void sum_piece(void *arg, size_t item, int worker)
{
    const sum_job *j  = arg;
    size_t         at = item * PIECE, n = j->n - at < PIECE ? j->n - at : PIECE;
    float          acc[PIECE];
    (void)worker;
    memcpy(acc, j->from + at, n * sizeof *acc);
    for (int k = 1; k < j->count; k++)
        for (size_t e = 0; e < n; e++) acc[e] += j->from[(size_t)k * j->stride + at + e];
    for (size_t e = 0; e < n && j->last != NULL; e++) acc[e] += j->last[at + e];
    memcpy(j->to + at, acc, n * sizeof *acc);
}

static void sum(const lcsm_context *ctx, sum_job j)
{
    lcsm_parallel_for(ctx->pool, (j.n + PIECE - 1) / PIECE, sum_piece, &j);
}

/* One process: the sums go on in their own memory; those with the last shard stay in the list. */
static void add_alone(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int number)
{
    bool    last = number == s->count - 1;
    sum_job j    = {.to = s->sums, .from = s->sums, .last = ps->grads, .n = ps->block, .count = 1};
    if (number == 0) memcpy(s->sums, ps->grads, ps->block * sizeof(float));
    else {
        if (last) j.to = ps->grads;
        sum(ctx, j);
    }
}

static lcsm_status send_slices(const lcsm_shards *s, const float *g, int shard, lcsm_error *err)
{
    int    rank = lcsm_dist_rank(s->dist), size = lcsm_dist_size(s->dist);
    size_t own = s->begin[rank + 1] - s->begin[rank];
    for (int step = 1; step < size; step++) {
        int    to = (rank + step) % size;
        size_t n  = s->begin[to + 1] - s->begin[to];
        if (n > 0)
            LCSM_OR_RETURN(lcsm_dist_send(s->dist, g + s->begin[to], n * sizeof *g, to, err));
    }
    if (own > 0) memcpy(s->sums + (size_t)shard * own, g + s->begin[rank], own * sizeof *g);
    return LCSM_OK;
}

/* The own slice of the number-th shard of every other rank. */
static lcsm_status receive_slices(const lcsm_shards *s, int number, lcsm_error *err)
{
    int    rank = lcsm_dist_rank(s->dist), size = lcsm_dist_size(s->dist);
    size_t own = s->begin[rank + 1] - s->begin[rank];
    for (int step = 1; step < size && own > 0; step++) {
        int from = (rank + size - step) % size, shard = first_of(s, from) + number;
        if (shard < first_of(s, from + 1))
            LCSM_OR_RETURN(lcsm_dist_receive(s->dist, s->sums + (size_t)shard * own,
                                             own * sizeof *s->sums, from, err));
    }
    return LCSM_OK;
}

static lcsm_status add_shared(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int number,
                              lcsm_error *err)
{
    int    rank = lcsm_dist_rank(s->dist), shard = s->first + number;
    size_t own = s->begin[rank + 1] - s->begin[rank];
    LCSM_OR_RETURN(receive_slices(s, number, err));
    if (shard < s->end) LCSM_OR_RETURN(send_slices(s, ps->grads, shard, err));
    LCSM_OR_RETURN(lcsm_dist_wait(s->dist, err));
    if (number == s->most - 1 && own > 0)
        sum(ctx, (sum_job){.to     = (float *)ps->grads + s->begin[rank],
                           .from   = s->sums,
                           .n      = own,
                           .stride = own,
                           .count  = s->count});
    return LCSM_OK;
}

lcsm_status lcsm_shards_add(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int number,
                            lcsm_error *err)
{
    if (lcsm_dist_size(s->dist) > 1) return add_shared(s, ctx, ps, number, err);
    if (s->count > 1) add_alone(s, ctx, ps, number);
    return LCSM_OK;
}
