/*
 * softmax_attention.c - softmax attention, the baseline and the other half of hybrids.
 *
 *     q, k, v = W x in heads,  q and k normed and turned by their positions,
 *     y_t = softmax over the steps that t sees,  y * sigmoid(W x),  projected to D
 *
 * Everything but the softmax is a setting (the keys attention.*).
 */
#include <math.h>

#include "eos/method.h"

typedef struct {
    ptrdiff_t H, G, K, turn; /* heads of q, of k and v; their width; how much of it turns */
} sizes;

/* The nearest even number of features. */
static ptrdiff_t turning(const lcsm_mixer *m, ptrdiff_t K)
{
    double part = m->cfg->attention_rotary;
    return part == 1 ? lcsm_mix_even(m, "the width of a head (rotated in pairs)", K)
                     : 2 * (ptrdiff_t)llround(part * (double)K / 2);
}

static sizes sizes_of(const lcsm_mixer *m)
{
    const lcsm_model_config *c     = m->cfg;
    ptrdiff_t                heads = lcsm_mix_heads(m, m->D % 64 == 0 ? m->D / 64 : 1);
    sizes                    s     = {.H = lcsm_mix_or(c->attention_heads, heads)};
    s.G                            = lcsm_mix_or(c->attention_kv_heads, s.H);
    s.K =
        c->attention_head_dim > 0 ? c->attention_head_dim : lcsm_mix_split(m, "d_model", m->D, s.H);
    s.turn = turning(m, s.K);
    if (s.H % s.G != 0)
        lcsm_graph_fail(m->g, LCSM_ERR_CONFIG,
                        "attention.kv_heads is %td; expected a divisor of the %td query heads", s.G,
                        s.H);
    return s;
}

/* Sequences that are read in pieces carry what a later step may see. */
static ptrdiff_t cache_of(const lcsm_mixer *m)
{
    ptrdiff_t window = m->cfg->attention_window;
    if (m->whole || m->cfg->bidirectional) return 0;
    return window == 0 ? m->cfg->max_length : window > 1 ? window - 1 : 1;
}

static lcsm_tensor *normed(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t heads)
{
    double         eps = m->cfg->norm_eps > 0 ? m->cfg->norm_eps : 1e-6;
    lcsm_norm_attr a   = {.kind = LCSM_NORM_RMS, .eps = eps, .heads = heads};
    if (x == NULL || !m->cfg->attention_qk_norm) return x;
    lcsm_shape   shape = lcsm_dims(x->cols / heads);
    lcsm_tensor *w     = lcsm_mix_param(m, name, shape, lcsm_init_constant(1), 0);
    return lcsm_head_norm(m->g, &a, x, w, NULL);
}

/* theta_j = base^(-2 j / width) / scale. Of an odd width, which the base holds, one more turns. */
LCSM_FILL(fill_angles)
{
    for (size_t j = 0; j < count; j++) v[j] = pow(init->a, -(double)j / (double)count) / init->b;
}

static lcsm_tensor *turned(const lcsm_mixer *m, const sizes *s, lcsm_tensor *x, ptrdiff_t heads)
{
    lcsm_rotate_attr a = {
        .kind = LCSM_ROTATE_HALVES, .heads = heads, .width = s->turn < s->K ? s->turn : 0};
    double    part = floor(m->cfg->attention_rotary * (double)s->K + 1e-9);
    lcsm_init init = {.kind = LCSM_INIT_FILL,
                      .a    = pow(m->cfg->attention_rope_base, (double)s->turn / part),
                      .b    = m->cfg->attention_rope_scale,
                      .fill = fill_angles};
    if (s->turn == 0) return x;
    return lcsm_rotation(m->g, &a, x, lcsm_mix_constant(m, "theta", lcsm_dims(s->turn / 2), init));
}

/* ---- latent attention -------------------------------------------------------------------- */

/* Keys of a head: K numbers of its own, and the shared ones. */
static lcsm_tensor *with_shared(const lcsm_mixer *m, lcsm_tensor *k, lcsm_tensor *shared,
                                ptrdiff_t H)
{
    if (k == NULL || shared == NULL) return NULL;
    ptrdiff_t    K = k->cols / H, R = shared->cols;
    lcsm_tensor *own  = lcsm_reshape(m->g, k, lcsm_dims(m->B, m->T, H, K));
    lcsm_tensor *all  = lcsm_reshape(m->g, shared, lcsm_dims(m->B, m->T, 1, R));
    lcsm_tensor *both = lcsm_concat(m->g, (lcsm_tensor *[]){own, lcsm_repeat(m->g, all, H)}, 2);
    return lcsm_reshape(m->g, both, lcsm_dims(m->B, m->T, H * (K + R)));
}

/* Keys and values from norm(W x), of a width that is smaller than theirs; nothing is rotated. */
static lcsm_tensor *latent(const lcsm_mixer *m)
{
    const lcsm_model_config *c = m->cfg;
    sizes                    s = sizes_of(m);
    ptrdiff_t                R = c->attention_shared_dim, L = c->attention_latent;
    ptrdiff_t                D = lcsm_mix_or(c->attention_value_dim, s.K);
    lcsm_attention_attr      a = {.heads    = s.H,
                                  .kv_heads = s.H,
                                  .causal   = !c->bidirectional,
                                  .window   = c->attention_window,
                                  .cache    = cache_of(m)};
    lcsm_tensor             *q = lcsm_mix_project(m, m->x, "q", s.H * (s.K + R), c->attention_bias);
    lcsm_tensor             *low = lcsm_mix_project(m, m->x, "latent", L, c->attention_bias);
    lcsm_tensor             *w =
        lcsm_mix_param(m, "latent_norm.weight", lcsm_dims(L), lcsm_init_constant(1), 0);
    low            = lcsm_rms_norm(m->g, low, w, 1e-6);
    lcsm_tensor *k = lcsm_mix_project(m, low, "k", s.H * s.K, false);
    lcsm_tensor *v = lcsm_mix_project(m, low, "v", s.H * D, false);
    if (R > 0) k = with_shared(m, k, lcsm_mix_project(m, m->x, "k_shared", R, false), s.H);
    lcsm_tensor *y = lcsm_softmax_attention(m->g, &a, q, k, v, m->reset);
    return lcsm_mix_project(m, y, "out", m->D, c->attention_out_bias);
}

lcsm_tensor *lcsm_attention_mixer(const lcsm_mixer *m)
{
    if (m->cfg->attention_latent > 0) return latent(m);
    bool                bias = m->cfg->attention_bias;
    sizes               s    = sizes_of(m);
    lcsm_attention_attr a    = {.heads    = s.H,
                                .kv_heads = s.G,
                                .causal   = !m->cfg->bidirectional,
                                .window   = m->cfg->attention_window,
                                .cache    = cache_of(m)};
    lcsm_tensor        *q    = lcsm_mix_project(m, m->x, "q", s.H * s.K, bias);
    lcsm_tensor        *k    = lcsm_mix_project(m, m->x, "k", s.G * s.K, bias);
    lcsm_tensor        *v    = lcsm_mix_project(m, m->x, "v", s.G * s.K, bias);
    q                        = turned(m, &s, normed(m, q, "q_norm.weight", s.H), s.H);
    k                        = turned(m, &s, normed(m, k, "k_norm.weight", s.G), s.G);
    lcsm_tensor *y           = lcsm_softmax_attention(m->g, &a, q, k, v, m->reset);
    if (m->cfg->attention_gate)
        y = lcsm_glu(m->g, LCSM_ACT_SIGMOID, lcsm_mix_project(m, m->x, "gate", s.H * s.K, bias), y);
    return lcsm_mix_project(m, y, "out", m->D, m->cfg->attention_out_bias);
}
