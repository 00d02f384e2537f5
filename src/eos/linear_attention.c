/* linear_attention.c - linear attention. */
#include <math.h>

#include "eos/method.h"

static bool native(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_NATIVE;
}

static bool head_norm(const lcsm_mixer *m)
{
    return native(m) && m->cfg->head_norm;
}

/* (W x + b) * (W' x + b') of each head, all of them with the same W. */
static lcsm_tensor *product(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t K)
{
    if (x == NULL) return NULL;
    ptrdiff_t n = x->cols;
    lcsm_scope_push(m->g, "%s", name);
    x              = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, n / K, K));
    lcsm_tensor *a = lcsm_mix_project(m, x, "layer1", K, true);
    lcsm_tensor *b = lcsm_mix_project(m, x, "layer2", K, true);
    lcsm_scope_pop(m->g);
    return lcsm_reshape(m->g, lcsm_mul(m->g, a, b), lcsm_dims(m->B, m->T, n));
}

static lcsm_tensor *feature(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t K)
{
    switch (m->cfg->feature) {
    case LCSM_FEATURE_PRODUCT: return product(m, x, name, K);
    case LCSM_FEATURE_NONE: return x;
    case LCSM_FEATURE_RELU: return lcsm_activate(m->g, LCSM_ACT_RELU, x);
    case LCSM_FEATURE_AUTO:
    case LCSM_FEATURE_ELU1: return lcsm_activate(m->g, LCSM_ACT_ELU1, x);
    default:
        return lcsm_graph_fail(m->g, LCSM_ERR_CONFIG,
                               "linear-attention has the features elu1, product, relu and none");
    }
}

/* q = f(W x), k = f(W x), v = W x, o = 1, with f = 1 + elu or another feature map. */
bool lcsm_linear_attention_states(const lcsm_mixer *m, lcsm_states *s)
{
    bool         bias = native(m) && !head_norm(m);
    ptrdiff_t    H = lcsm_mix_heads(m, 1), K = lcsm_mix_expand(m, m->D / H);
    ptrdiff_t    Dv = lcsm_mix_value_width(m);
    lcsm_tensor *q  = lcsm_mix_project(m, m->x, "q", H * K, bias);
    lcsm_tensor *k  = lcsm_mix_project(m, m->x, "k", H * K, bias);
    lcsm_tensor *v  = lcsm_mix_project(m, m->x, "v", Dv, bias);
    *s              = (lcsm_states){.H = H,
                                    .K = K,
                                    .D = lcsm_mix_value_head(m, H),
                                    .i = lcsm_per_token_d(v),
                                    .e = lcsm_per_token_k(feature(m, k, "feature_k", K)),
                                    .s = lcsm_per_token_k(feature(m, q, "feature_q", K))};
    if (head_norm(m)) s->scale = 1 / sqrt((double)K);
    if (native(m) && m->cfg->denominator)
        s->normaliser =
            (lcsm_normaliser){.kind = LCSM_NORMALISER_PLAIN, .eps = head_norm(m) ? 1e-10 : 1e-6};
    return s->e.x != NULL && s->s.x != NULL;
}

/* W rmsnorm(y), in heads. */
static lcsm_tensor *normed_end(const lcsm_mixer *m, lcsm_tensor *y)
{
    lcsm_norm_attr norm = {
        .kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-5), .heads = lcsm_mix_heads(m, 1)};
    if (y == NULL) return NULL;
    lcsm_tensor *w =
        lcsm_mix_param(m, "norm.weight", lcsm_dims(y->cols / norm.heads), lcsm_init_constant(1), 0);
    return lcsm_mix_project(m, lcsm_head_norm(m->g, &norm, y, w, NULL), "out", m->D, false);
}

/* y / (q . z + eps) per head; without the denominator a norm keeps the size. */
lcsm_tensor *lcsm_linear_attention_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *y = lcsm_mix_recurrence(m, lcsm_linear_attention_states);
    if (head_norm(m)) return normed_end(m, y);
    return m->cfg->denominator ? lcsm_mix_project(m, y, "out", m->D, true)
                               : lcsm_mix_bare_end(m, y);
}
