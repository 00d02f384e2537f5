/* shards.c - cuts batches and sequences, and sums gradients in the order of units. */
#include "train/shards.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/size.h"
#include "base/thread.h"
#include "kernel/context.h"

/* ---- who has what ------------------------------------------------------------------------- */

int lcsm_shards_wanted(const lcsm_train_config *cfg, const lcsm_dist *dist)
{
    int one = lcsm_dist_size(dist) / (int)cfg->segments;
    return cfg->shards > 0 ? (int)cfg->shards : one > 0 ? one : 1;
}

ptrdiff_t lcsm_shards_rows(const lcsm_train_config *cfg, const lcsm_dist *dist)
{
    ptrdiff_t count = lcsm_shards_wanted(cfg, dist);
    return (cfg->batch_size + count - 1) / count;
}

/* How many ranks share a shard. */
static int sharing(const lcsm_shards *s)
{
    int g = lcsm_dist_size(s->dist) / s->shards;
    return g < 1 ? 1 : g < s->segments ? g : s->segments;
}

/* The first unit of a rank. */
static int first_of(const lcsm_shards *s, int rank)
{
    int g = sharing(s), shard = rank / g;
    if (g == 1) return (int)((int64_t)rank * s->shards / lcsm_dist_size(s->dist)) * s->segments;
    if (shard >= s->shards) return s->count;
    return shard * s->segments + (int)((int64_t)(rank % g) * s->segments / g);
}

int lcsm_shards_of(const lcsm_shards *s, int rank)
{
    return first_of(s, rank + 1) - first_of(s, rank);
}

int lcsm_shards_owner(const lcsm_shards *s, int shard, int segment)
{
    int unit = (shard + 1) * s->segments - 1 - segment, rank = 0;
    while (first_of(s, rank + 1) <= unit) rank++;
    return rank;
}

ptrdiff_t lcsm_shards_begin(const lcsm_shards *s, int shard)
{
    return shard * s->batch / s->shards;
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
        "%d, or fewer ranks, or let several share a sequence (--sequence-parallel)",
        lcsm_dist_size(dist), cfg->batch_size, cfg->batch_size == 1 ? "" : "s", count);
}

/* The memory that the sums need. */
static lcsm_status reserve(lcsm_shards *s, const lcsm_optimizer *o, lcsm_error *err)
{
    int    size = lcsm_dist_size(s->dist);
    size_t n = size > 1 ? o->end - o->first : o->params->block, bytes = 0;
    s->begin  = calloc((size_t)size + 1, sizeof *s->begin);
    s->bytes  = calloc((size_t)size + 1, sizeof *s->bytes);
    s->left   = calloc((size_t)size + 1, sizeof *s->left);
    bool fits = lcsm_size_mul(n, sizeof(float), &bytes)
             && (size == 1 || lcsm_size_mul(bytes, (size_t)s->count, &bytes));
    bool wanted = s->count > 1 || size > 1;
    if (wanted && fits) s->sums = lcsm_block_alloc(bytes);
    if (s->begin == NULL || s->bytes == NULL || s->left == NULL || (wanted && s->sums == NULL))
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the gradients of %d %s",
                         s->count, s->segments > 1 ? "segments" : "shards");
    for (int r = 0; r <= size; r++) s->begin[r] = lcsm_optimizer_first(o, r, size);
    return LCSM_OK;
}

lcsm_status lcsm_shards_open(lcsm_shards *s, lcsm_dist *dist, const lcsm_train_config *cfg,
                             const lcsm_optimizer *o, lcsm_error *err)
{
    int size = lcsm_dist_size(dist), rank = lcsm_dist_rank(dist);
    *s = (lcsm_shards){.dist     = dist,
                       .shards   = lcsm_shards_wanted(cfg, dist),
                       .segments = (int)cfg->segments,
                       .batch    = cfg->batch_size,
                       .rows     = lcsm_shards_rows(cfg, dist)};
    LCSM_OR_RETURN(lcsm_shards_check(cfg, dist, err));
    if (__builtin_mul_overflow(s->shards, s->segments, &s->count) || s->count > INT_MAX / 2)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%d shards of %d segments are too many", s->shards,
                         s->segments);
    s->first = first_of(s, rank);
    s->end   = first_of(s, rank + 1);
    for (int r = 0; r < size; r++)
        if (lcsm_shards_of(s, r) > s->most) s->most = lcsm_shards_of(s, r);
    return reserve(s, o, err);
}

void lcsm_shards_close(lcsm_shards *s)
{
    free(s->begin);
    free(s->bytes);
    free(s->left);
    free(s->sums);
    *s = (lcsm_shards){0};
}

void lcsm_shards_cut(const lcsm_shards *s, int unit, ptrdiff_t T, const int32_t *batch,
                     int32_t fill, int32_t *out)
{
    int       shard = lcsm_shards_shard(s, unit);
    ptrdiff_t from = lcsm_shards_begin(s, shard), rows = lcsm_shards_begin(s, shard + 1) - from;
    ptrdiff_t n = T / s->segments, step = n * lcsm_shards_segment(s, unit);
    for (ptrdiff_t b = 0; b < rows; b++)
        memcpy(out + b * n, batch + (from + b) * T + step, (size_t)n * sizeof *out);
    for (ptrdiff_t j = rows * n; j < s->rows * n; j++) out[j] = fill;
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

/* One process: the sums go on in their own memory; those with the last unit stay in the list. */
static void add_alone(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int unit)
{
    bool    last = unit == s->count - 1;
    sum_job j    = {.to = s->sums, .from = s->sums, .last = ps->grads, .n = ps->block, .count = 1};
    if (unit == 0) memcpy(s->sums, ps->grads, ps->block * sizeof(float));
    else {
        if (last) j.to = ps->grads;
        sum(ctx, j);
    }
}

/* ---- pieces on their way ------------------------------------------------------------------ */

enum { SENT = 1 << 18 }; /* elements of a message */

/* Where the last piece of begin .. end begins. */
static size_t last_piece(size_t begin, size_t end)
{
    return begin + (end - 1 - begin) / SENT * SENT;
}

static size_t own_of(const lcsm_shards *s)
{
    int rank = lcsm_dist_rank(s->dist);
    return s->begin[rank + 1] - s->begin[rank];
}

/* The own slice of a unit of another rank, as that rank sends it: from its end. */
static lcsm_status receive_unit(const lcsm_shards *s, int from, int unit, lcsm_error *err)
{
    float *to = s->sums + (size_t)unit * own_of(s);
    for (size_t end = own_of(s); end > 0;) {
        size_t at = last_piece(0, end);
        LCSM_OR_RETURN(lcsm_dist_post_receive(s->dist, LCSM_DIST_GRADIENTS_IN, to + at,
                                              (end - at) * sizeof *to, from, err));
        end = at;
    }
    return LCSM_OK;
}

static void begin_unit(lcsm_shards *s)
{
    int size = lcsm_dist_size(s->dist);
    for (int r = 0; r < size; r++) s->left[r] = s->begin[r + 1];
}

lcsm_status lcsm_shards_start(lcsm_shards *s, lcsm_error *err)
{
    int rank = lcsm_dist_rank(s->dist), size = lcsm_dist_size(s->dist);
    begin_unit(s);
    for (int from = 0; from < size; from++)
        for (int unit = first_of(s, from); unit < first_of(s, from + 1) && from != rank; unit++)
            LCSM_OR_RETURN(receive_unit(s, from, unit, err));
    return LCSM_OK;
}

lcsm_status lcsm_shards_ready(lcsm_shards *s, const float *grads, size_t done, lcsm_error *err)
{
    int rank = lcsm_dist_rank(s->dist), size = lcsm_dist_size(s->dist);
    for (int to = size - 1; to >= 0; to--)
        while (to != rank && s->left[to] > s->begin[to]) {
            size_t end = s->left[to], at = last_piece(s->begin[to], end);
            if (at < done) break;
            LCSM_OR_RETURN(lcsm_dist_post_send(s->dist, LCSM_DIST_GRADIENTS_OUT, grads + at,
                                               (end - at) * sizeof *grads, to, err));
            s->left[to] = at;
        }
    return LCSM_OK;
}

static lcsm_status add_shared(lcsm_shards *s, const float *grads, int unit, lcsm_error *err)
{
    int    rank = lcsm_dist_rank(s->dist);
    size_t own  = own_of(s);
    LCSM_OR_RETURN(lcsm_shards_ready(s, grads, 0, err));
    if (own > 0) memcpy(s->sums + (size_t)unit * own, grads + s->begin[rank], own * sizeof *grads);
    begin_unit(s);
    return unit + 1 < s->end ? lcsm_dist_wait_for(s->dist, LCSM_DIST_GRADIENTS_OUT, err) : LCSM_OK;
}

lcsm_status lcsm_shards_add(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int unit,
                            lcsm_error *err)
{
    if (lcsm_dist_size(s->dist) > 1) return add_shared(s, ps->grads, unit, err);
    if (s->count > 1) add_alone(s, ctx, ps, unit);
    return LCSM_OK;
}

lcsm_status lcsm_shards_finish(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps,
                               lcsm_error *err)
{
    size_t own = own_of(s);
    if (lcsm_dist_size(s->dist) == 1) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_dist_wait_for(s->dist, LCSM_DIST_GRADIENTS_IN, err));
    LCSM_OR_RETURN(lcsm_dist_wait_for(s->dist, LCSM_DIST_GRADIENTS_OUT, err));
    if (own > 0)
        sum(ctx, (sum_job){.to     = (float *)ps->grads + s->begin[lcsm_dist_rank(s->dist)],
                           .from   = s->sums,
                           .n      = own,
                           .stride = own,
                           .count  = s->count});
    return LCSM_OK;
}
