/*
 * quadratic.c - linear attention with features of second order, Based and ReBased; and lightning
 * attention, whose heads decay at fixed rates.
 */
#include <math.h>

#include "eos/method.h"

enum { FEATURES = 16 };

static ptrdiff_t heads(const lcsm_mixer *m)
{
    return lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1);
}

/* The features of x (B, T, H d), by head. */
static lcsm_tensor *features(const lcsm_mixer *m, const lcsm_quadratic_attr *a, lcsm_tensor *x,
                             ptrdiff_t H)
{
    if (x == NULL) return NULL;
    x              = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, H, x->cols / H));
    lcsm_tensor *y = lcsm_quadratic(m->g, a, x);
    return y == NULL ? NULL : lcsm_reshape(m->g, y, lcsm_dims(m->B, m->T, H * y->cols));
}

/* y by the sum of the scores in the native block. */
static bool squared_states(const lcsm_mixer *m, const lcsm_quadratic_attr *a, lcsm_tensor *q,
                           lcsm_tensor *k, double eps, lcsm_states *s)
{
    ptrdiff_t    H = heads(m);
    lcsm_tensor *e = features(m, a, k, H);
    if (e == NULL) return false;
    *s   = (lcsm_states){.H = H, .K = e->cols / H, .D = lcsm_mix_value_head(m, H)};
    s->i = lcsm_per_token_d(lcsm_mix_project(m, m->x, "v", H * s->D, false));
    s->e = lcsm_per_token_k(e);
    s->s = lcsm_per_token_k(features(m, a, q, H));
    if (m->cfg->flavour == LCSM_FLAVOUR_NATIVE)
        s->normaliser =
            (lcsm_normaliser){.kind = LCSM_NORMALISER_PLAIN, .eps = lcsm_mix_eps(m, eps)};
    return s->s.x != NULL;
}

/* phi(q) . phi(k) = 1 + x + x^2 / 2, x = q . k / sqrt(d). */
bool lcsm_based_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t           d = lcsm_mix_expand(m, FEATURES), H = heads(m);
    double              root = sqrt((double)d);
    lcsm_quadratic_attr a    = {1 / sqrt(root), 1 / (root * sqrt(2)), 1 / root};
    return squared_states(m, &a, lcsm_mix_project(m, m->x, "q", H * d, false),
                          lcsm_mix_project(m, m->x, "k", H * d, false), 1e-12, s);
}

/* LayerNorm in each head, by one weight and bias for q and k. */
static lcsm_tensor *centred(const lcsm_mixer *m, const char *name, ptrdiff_t d)
{
    lcsm_norm_attr a = {.kind = LCSM_NORM_LAYER, .eps = 1e-5, .heads = heads(m)};
    lcsm_tensor   *w = lcsm_mix_param(m, "feature.weight", lcsm_dims(d), lcsm_init_constant(1), 0);
    lcsm_tensor   *b = lcsm_mix_param(m, "feature.bias", lcsm_dims(d), lcsm_init_constant(0), 0);
    lcsm_tensor   *x = lcsm_mix_project(m, m->x, name, heads(m) * d, false);
    return lcsm_head_norm(m->g, &a, x, w, b);
}

/* phi(q) . phi(k) = (q . k)^2 / d, with q and k centred. */
bool lcsm_rebased_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t           d = lcsm_mix_expand(m, FEATURES);
    lcsm_quadratic_attr a = {0, 1 / sqrt((double)d), sqrt(2 / (double)d)};
    return squared_states(m, &a, centred(m, "q", d), centred(m, "k", d), 1e-5, s);
}

lcsm_tensor *lcsm_based_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_based_states), "out", m->D, false);
}

lcsm_tensor *lcsm_rebased_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_rebased_states), "out", m->D, false);
}

/* ---- lightning attention ---------------------------------------------------------------- */

/* -2^(-8 (h + 1) / H) (1 - layer / (layers - 1)): a is the layer, b the number of layers. */
LCSM_FILL(fill_lightning)
{
    double share = 1 - init->a / (init->b - 1 + 1e-5) + 1e-5;
    for (size_t h = 0; h < count; h++) v[h] = -exp2(-8 * (double)(h + 1) / (double)count) * share;
}

static lcsm_tensor *silu_of(const lcsm_mixer *m, const char *name, ptrdiff_t width)
{
    return lcsm_activate(m->g, LCSM_ACT_SILU, lcsm_mix_project(m, m->x, name, width, false));
}

bool lcsm_lightning_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t H = heads(m), D = lcsm_mix_value_head(m, H);
    ptrdiff_t K      = lcsm_mix_expand(m, D);
    lcsm_init decays = {
        .kind = LCSM_INIT_FILL, .a = m->layer, .b = m->layers, .fill = fill_lightning};
    *s     = (lcsm_states){.H = H, .K = K, .D = D};
    s->i   = lcsm_per_token_d(silu_of(m, "v", H * D));
    s->e   = lcsm_per_token_k(silu_of(m, "k", H * K));
    s->s   = lcsm_per_token_k(silu_of(m, "q", H * K));
    s->row = lcsm_static(lcsm_mix_constant(m, "log_decay", lcsm_dims(H), decays), 0);
    return s->row.x != NULL;
}

/* W (norm(y) * sigmoid(gate)), the norm over all channels. */
lcsm_tensor *lcsm_lightning_mixer(const lcsm_mixer *m)
{
    ptrdiff_t    n = lcsm_mix_value_width(m);
    lcsm_tensor *y = lcsm_mix_recurrence(m, lcsm_lightning_states);
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(n), lcsm_init_constant(1), 0);
    y              = lcsm_rms_norm(m->g, y, w, lcsm_mix_eps(m, 1e-6));
    y = lcsm_glu(m->g, LCSM_ACT_SIGMOID, lcsm_mix_project(m, m->x, "gate", n, false), y);
    return lcsm_mix_project(m, y, "out", m->D, false);
}
