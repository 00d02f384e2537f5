/* optimizer.c - AdamW over the one list of parameters. */
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "kernel/adamw/adamw_drive.h"
#include "kernel/context.h"

static lcsm_adamw_rates rates(const lcsm_adamw_config *cfg, int64_t t, double lr, double grad_scale)
{
    double c1 = 1 - pow(cfg->beta1, (double)t), c2 = 1 - pow(cfg->beta2, (double)t);
    bool   torch = cfg->style == LCSM_ADAMW_TORCH;
    return (lcsm_adamw_rates){
        .grad_scale = grad_scale,
        .beta1      = cfg->beta1,
        .beta2      = cfg->beta2,
        .keep       = 1 - lr * cfg->weight_decay,
        .rate       = torch ? lr / c1 : lr * sqrt(c2) / c1,
        .root       = torch ? 1 / sqrt(c2) : 1,
        .eps        = cfg->eps,
    };
}

void lcsm_adamw_step(const lcsm_context *ctx, lcsm_dtype dtype, const lcsm_adamw_config *cfg,
                     int64_t t, double lr, double grad_scale, size_t n, const void *g, void *p,
                     void *m, void *v)
{
    lcsm_adamw_rates r = rates(cfg, t, lr, grad_scale);
    if (dtype == LCSM_F64) lcsm_adamw_run_f64(ctx->f64, ctx->pool, &r, n, g, p, m, v);
    else lcsm_adamw_run_f32(ctx->f32, ctx->pool, &r, n, g, p, m, v);
}

static void sum_squares(const lcsm_context *ctx, lcsm_dtype dtype, size_t n, size_t part,
                        const void *x, double *sums)
{
    if (dtype == LCSM_F64) lcsm_squares_run_f64(ctx->f64, ctx->pool, n, part, x, sums);
    else lcsm_squares_run_f32(ctx->f32, ctx->pool, n, part, x, sums);
}

static double root_of(const double *sums, size_t parts)
{
    double sum = 0;
    for (size_t j = 0; j < parts; j++) sum += sums[j];
    return sqrt(sum);
}

static size_t parts_of(size_t n, size_t part)
{
    return (n + part - 1) / part;
}

double lcsm_norm2(const lcsm_context *ctx, lcsm_dtype dtype, size_t n, const void *x)
{
    double sums[LCSM_ADAMW_PARTS];
    size_t part = lcsm_adamw_part(n);
    sum_squares(ctx, dtype, n, part, x, sums);
    return root_of(sums, parts_of(n, part));
}

static lcsm_status check(const lcsm_adamw_config *c, lcsm_error *err)
{
    if ((unsigned)c->style >= LCSM_ADAMW_COUNT)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "unknown optimiser style %d", (int)c->style);
    if (!(c->beta1 >= 0 && c->beta1 < 1 && c->beta2 >= 0 && c->beta2 < 1))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "betas are %g and %g; expected 0 <= beta < 1",
                         c->beta1, c->beta2);
    if (!(c->eps > 0 && isfinite(c->eps)))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "eps is %g; expected a number > 0", c->eps);
    if (!(c->weight_decay >= 0 && isfinite(c->weight_decay)))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "weight decay is %g; expected a number >= 0",
                         c->weight_decay);
    return LCSM_OK;
}

static void *zeros(size_t bytes)
{
    void *p = lcsm_block_alloc(bytes);
    if (p != NULL) memset(p, 0, bytes);
    return p;
}

size_t lcsm_optimizer_first_part(const lcsm_optimizer *o, int number, int count)
{
    return o->parts * (size_t)number / (size_t)count;
}

size_t lcsm_optimizer_first(const lcsm_optimizer *o, int number, int count)
{
    size_t first = lcsm_optimizer_first_part(o, number, count) * o->part;
    return first < o->params->block ? first : o->params->block;
}

static lcsm_status reserve(lcsm_optimizer *o, lcsm_error *err)
{
    size_t bytes = o->cfg.moments == LCSM_MOMENTS_F32
                     ? (o->end - o->first) * lcsm_dtype_size(o->params->dtype)
                     : lcsm_moments_bytes(o->cfg.moments, o->end);
    o->m         = zeros(bytes);
    o->v         = zeros(bytes);
    o->squares   = calloc(o->parts + 1, sizeof *o->squares);
    if (o->m != NULL && o->v != NULL && o->squares != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for moments of %zu bytes each",
                     bytes);
}

lcsm_status lcsm_optimizer_create_slice(lcsm_optimizer **out, lcsm_params *params,
                                        const lcsm_adamw_config *cfg, int number, int count,
                                        lcsm_error *err)
{
    lcsm_status     st = check(cfg, err);
    lcsm_optimizer *o  = NULL;
    *out               = NULL;
    if (st != LCSM_OK) return st;
    if (params->values == NULL || params->grads == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the parameters have no gradients yet");
    if (cfg->moments != LCSM_MOMENTS_F32 && (count > 1 || params->dtype != LCSM_F32))
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "optimizer_state other than float32 is for one process");
    o = malloc(sizeof *o);
    if (o == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an optimiser");
    *o       = (lcsm_optimizer){.cfg = *cfg, .params = params};
    o->part  = lcsm_adamw_part(params->block);
    o->parts = parts_of(params->block, o->part);
    o->first = lcsm_optimizer_first(o, number, count);
    o->end   = lcsm_optimizer_first(o, number + 1, count);
    st       = reserve(o, err);
    if (st == LCSM_OK) *out = o;
    else lcsm_optimizer_free(o);
    return st;
}

lcsm_status lcsm_optimizer_create(lcsm_optimizer **out, lcsm_params *params,
                                  const lcsm_adamw_config *cfg, lcsm_error *err)
{
    return lcsm_optimizer_create_slice(out, params, cfg, 0, 1, err);
}

void lcsm_optimizer_free(lcsm_optimizer *o)
{
    if (o == NULL) return;
    free(o->m);
    free(o->v);
    free(o->squares);
    free(o);
}

/* Whether one call can serve both. */
static bool alike(const lcsm_param *a, const lcsm_param *b)
{
    return a->flags == b->flags && a->lr_max == b->lr_max;
}

/* Rows first .. end - 1 of the list, which are alike, as far as they are in the slice. */
static void step_rows(const lcsm_optimizer *o, const lcsm_context *ctx, size_t first, size_t end,
                      double lr, double grad_scale)
{
    const lcsm_params *ps = o->params;
    const lcsm_param  *p = &ps->list[first], *last = &ps->list[end - 1];
    size_t from = p->offset > o->first ? p->offset : o->first, to = last->offset + last->count;
    size_t size = lcsm_dtype_size(ps->dtype), at = from * size, own = (from - o->first) * size;
    lcsm_adamw_config cfg = o->cfg;
    if (to > o->end) to = o->end;
    if ((p->flags & LCSM_PARAM_FROZEN) != 0 || from >= to) return;
    if ((p->flags & LCSM_PARAM_NO_DECAY) != 0 && !cfg.decay_all) cfg.weight_decay = 0;
    if (p->lr_max > 0 && lr > p->lr_max) lr = p->lr_max;
    lcsm_adamw_step(ctx, ps->dtype, &cfg, o->steps, lr, grad_scale, to - from,
                    (const char *)ps->grads + at, (char *)ps->values + at, (char *)o->m + own,
                    (char *)o->v + own);
}

/* ---- packed moments --------------------------------------------------------------------- */

enum { PIECE = 4096 }; /* numbers that are unpacked at once; a multiple of the block */

/* Other bits of chance for every step, and for m and v. */
static uint64_t seed_of(const lcsm_optimizer *o, bool second)
{
    return (uint64_t)o->steps * 2 + second;
}

static void move(const lcsm_optimizer *o, bool second, size_t first, size_t n, float *x, bool back)
{
    void *packed = second ? o->v : o->m;
    if (back) lcsm_moments_pack(o->cfg.moments, second, packed, first, n, x, seed_of(o, second));
    else lcsm_moments_unpack(o->cfg.moments, second, packed, first, n, x);
}

void lcsm_optimizer_unpack(const lcsm_optimizer *o, float *m, float *v)
{
    move(o, false, 0, o->end, m, false);
    move(o, true, 0, o->end, v, false);
}

void lcsm_optimizer_take(lcsm_optimizer *o, const float *m, const float *v)
{
    lcsm_moments_pack(o->cfg.moments, false, o->m, 0, o->end, m, 0);
    lcsm_moments_pack(o->cfg.moments, true, o->v, 0, o->end, v, 0);
}

typedef struct {
    const lcsm_optimizer *o;
    const lcsm_context   *ctx;
    double                lr, scale;
} packed_step;

static void step_all(const lcsm_optimizer *o, const lcsm_context *ctx, double lr, double scale)
{
    const lcsm_params *ps = o->params;
    for (size_t first = 0, end; first < ps->count; first = end) {
        for (end = first + 1; end < ps->count && alike(&ps->list[first], &ps->list[end]);) end++;
        step_rows(o, ctx, first, end, lr, scale);
    }
}

/* One piece as a slice of its own, whose moments are floats. */
static void step_piece(void *arg, size_t item, int worker)
{
    const packed_step *p     = arg;
    size_t             first = item * PIECE, n = p->o->end - first;
    float              m[PIECE], v[PIECE];
    (void)worker;
    if (n > PIECE) n = PIECE;
    lcsm_optimizer own = *p->o;
    own.first          = first;
    own.end            = first + n;
    own.m              = m;
    own.v              = v;
    move(p->o, false, first, n, m, false);
    move(p->o, true, first, n, v, false);
    step_all(&own, p->ctx, p->lr, p->scale);
    move(p->o, false, first, n, m, true);
    move(p->o, true, first, n, v, true);
}

void lcsm_optimizer_measure(lcsm_optimizer *o, const lcsm_context *ctx)
{
    const lcsm_params *ps = o->params;
    const char        *g  = (const char *)ps->grads + o->first * lcsm_dtype_size(ps->dtype);
    sum_squares(ctx, ps->dtype, o->end - o->first, o->part, g, o->squares + o->first / o->part);
}

double lcsm_optimizer_norm(const lcsm_optimizer *o)
{
    return root_of(o->squares, o->parts);
}

void lcsm_optimizer_apply(lcsm_optimizer *o, const lcsm_context *ctx, double norm, double lr,
                          double clip)
{
    double scale = clip > 0 && norm > clip ? clip / norm : 1;
    if (!isfinite(norm)) return;
    o->steps++;
    packed_step p = {o, ctx, lr, scale};
    if (o->cfg.moments == LCSM_MOMENTS_F32) step_all(o, ctx, lr, scale);
    else lcsm_parallel_for(ctx->pool, (o->end + PIECE - 1) / PIECE, step_piece, &p);
}

double lcsm_optimizer_step(lcsm_optimizer *o, const lcsm_context *ctx, double lr, double clip)
{
    lcsm_optimizer_measure(o, ctx);
    double norm = lcsm_optimizer_norm(o);
    lcsm_optimizer_apply(o, ctx, norm, lr, clip);
    return norm;
}
