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

double lcsm_norm2(const lcsm_context *ctx, lcsm_dtype dtype, size_t n, const void *x)
{
    return sqrt(dtype == LCSM_F64 ? lcsm_squares_run_f64(ctx->f64, ctx->pool, n, x)
                                  : lcsm_squares_run_f32(ctx->f32, ctx->pool, n, x));
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

lcsm_status lcsm_optimizer_create(lcsm_optimizer **out, lcsm_params *params,
                                  const lcsm_adamw_config *cfg, lcsm_error *err)
{
    lcsm_status     st = check(cfg, err);
    lcsm_optimizer *o  = NULL;
    *out               = NULL;
    if (st != LCSM_OK) return st;
    if (params->values == NULL || params->grads == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the parameters have no gradients yet");
    size_t bytes = params->block * lcsm_dtype_size(params->dtype);
    o            = malloc(sizeof *o);
    if (o != NULL) *o = (lcsm_optimizer){*cfg, params, 0, zeros(bytes), zeros(bytes)};
    if (o == NULL || o->m == NULL || o->v == NULL) {
        lcsm_optimizer_free(o);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for moments of %zu bytes each",
                         bytes);
    }
    *out = o;
    return LCSM_OK;
}

void lcsm_optimizer_free(lcsm_optimizer *o)
{
    if (o == NULL) return;
    free(o->m);
    free(o->v);
    free(o);
}

/* Whether one call can serve both. */
static bool alike(const lcsm_param *a, const lcsm_param *b)
{
    return a->flags == b->flags && a->lr_max == b->lr_max;
}

/* Rows first .. end - 1 of the list, which are alike. */
static void step_rows(const lcsm_optimizer *o, const lcsm_context *ctx, size_t first, size_t end,
                      double lr, double grad_scale)
{
    const lcsm_params *ps = o->params;
    const lcsm_param  *p = &ps->list[first], *last = &ps->list[end - 1];
    size_t             size = lcsm_dtype_size(ps->dtype), at = p->offset * size;
    lcsm_adamw_config  cfg = o->cfg;
    if ((p->flags & LCSM_PARAM_FROZEN) != 0) return;
    if ((p->flags & LCSM_PARAM_NO_DECAY) != 0 && !cfg.decay_all) cfg.weight_decay = 0;
    if (p->lr_max > 0 && lr > p->lr_max) lr = p->lr_max;
    lcsm_adamw_step(ctx, ps->dtype, &cfg, o->steps, lr, grad_scale,
                    last->offset + last->count - p->offset, (const char *)ps->grads + at,
                    (char *)ps->values + at, (char *)o->m + at, (char *)o->v + at);
}

double lcsm_optimizer_step(lcsm_optimizer *o, const lcsm_context *ctx, double lr, double clip)
{
    const lcsm_params *ps    = o->params;
    double             norm  = lcsm_norm2(ctx, ps->dtype, ps->block, ps->grads);
    double             scale = clip > 0 && norm > clip ? clip / norm : 1;
    if (!isfinite(norm)) return norm;
    o->steps++;
    for (size_t first = 0, end; first < ps->count; first = end) {
        for (end = first + 1; end < ps->count && alike(&ps->list[first], &ps->list[end]);) end++;
        step_rows(o, ctx, first, end, lr, scale);
    }
    return norm;
}
