/* experts.c - a channel mixer of experts. */
#include "model/experts.h"

bool lcsm_experts_in(const lcsm_model_config *cfg, ptrdiff_t layer)
{
    if (cfg->experts == 0 || layer < cfg->experts_first) return false;
    return (layer - cfg->experts_first) % cfg->experts_period == 0;
}

/* W3 (silu(W1 x) * W2 x). */
static lcsm_tensor *swiglu(const lcsm_mixer *m, ptrdiff_t hidden)
{
    lcsm_tensor *a = lcsm_mix_project(m, m->x, "w1", hidden, false);
    lcsm_tensor *b = lcsm_mix_project(m, m->x, "w2", hidden, false);
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, a, b), "w3", m->D, false);
}

/* The weights (B, T, E) of the experts, 0 for those that are not used. */
static lcsm_tensor *weights(const lcsm_mixer *m)
{
    const lcsm_model_config *c       = m->cfg;
    bool                     sigmoid = c->experts_router == LCSM_ROUTER_SIGMOID;
    lcsm_top_k_attr          top     = {.count = c->experts_used};
    lcsm_tensor *p = lcsm_mix_project(m, m->x, "router", c->experts, false), *bias = NULL;
    if (p == NULL) return NULL;
    p = sigmoid ? lcsm_activate(m->g, LCSM_ACT_SIGMOID, p) : lcsm_softmax(m->g, p);
    if (sigmoid)
        bias = lcsm_mix_constant(m, "router.bias", lcsm_dims(c->experts), lcsm_init_constant(0));
    p = lcsm_top_k(m->g, &top, p, bias);
    if (c->experts_norm) {
        lcsm_tensor *sum =
            lcsm_linear(m->g, p, lcsm_constant(m->g, lcsm_dims(1, c->experts), 1), NULL);
        p = lcsm_divide(m->g, &(lcsm_divide_attr){.eps = sigmoid ? 1e-20 : 0}, p, sum, NULL);
    }
    return c->experts_scale == 1 ? p : lcsm_scale(m->g, p, c->experts_scale);
}

/* What every token uses, with a gate of its own or without. */
static lcsm_tensor *shared(const lcsm_mixer *m)
{
    lcsm_scope_push(m->g, "shared");
    lcsm_tensor *y = swiglu(m, m->cfg->experts_shared);
    lcsm_scope_pop(m->g);
    if (!m->cfg->experts_shared_gate) return y;
    lcsm_tensor *z = lcsm_mix_project(m, m->x, "shared_gate", 1, false);
    return lcsm_scale_rows(m->g, y, lcsm_activate(m->g, LCSM_ACT_SIGMOID, z));
}

lcsm_tensor *lcsm_experts_build(const lcsm_mixer *m)
{
    const lcsm_model_config *c = m->cfg;
    lcsm_tensor             *p = weights(m), *sum = NULL;
    for (ptrdiff_t e = 0; e < c->experts && p != NULL; e++) {
        lcsm_scope_push(m->g, "experts.%d", (int)e);
        lcsm_tensor *y = swiglu(m, lcsm_mix_or(c->experts_hidden, 4 * m->D / 3));
        lcsm_scope_pop(m->g);
        y   = lcsm_scale_rows(m->g, y, lcsm_slice(m->g, p, 2, e, 1));
        sum = e == 0 ? y : lcsm_add(m->g, sum, y);
    }
    return c->experts_shared > 0 ? lcsm_add(m->g, sum, shared(m)) : sum;
}
