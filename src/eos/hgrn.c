/* hgrn.c - HGRN and LRN: one memory for each channel, with tied input and forget gates; and HGRN2,
 * a forget gate for each row of a matrix memory. */
#include <math.h>

#include "eos/method.h"

/* The layer's lower bound [D], from a parameter that all layers share. */
static lcsm_tensor *lower_bound(const lcsm_mixer *m)
{
    lcsm_tensor *gamma = lcsm_mix_param(m, "/lower_bounds", lcsm_dims(m->layers, m->D),
                                        lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    lcsm_tensor *all   = lcsm_lower_bounds(m->g, gamma);
    lcsm_tensor *row   = lcsm_slice(m->g, all, 0, m->layer, 1);
    return lcsm_reshape(m->g, row, lcsm_dims(m->D));
}

/* As flash-linear-attention has it: real, without biases, and with RMSNorm. */
static bool plain(const lcsm_mixer *m)
{
    return m->cfg->head_norm && m->cfg->flavour == LCSM_FLAVOUR_NATIVE;
}

/* lambda = bound + (1 - bound) sigmoid(z), as 1 - (1 - bound) sigmoid(-z). */
static lcsm_tensor *forget(const lcsm_mixer *m, bool bounded)
{
    lcsm_tensor *z = lcsm_mix_project(m, m->x, "forget", m->D, !plain(m));
    lcsm_tensor *q = lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_scale(m->g, z, -1));
    if (bounded) q = lcsm_mul(m->g, q, lcsm_affine(m->g, lower_bound(m), -1, 1));
    return lcsm_affine(m->g, q, -1, 1);
}

/* h = lambda h + (1 - lambda) c: K = 1, the decay a column of each token. */
static bool channel_states(const lcsm_mixer *m, lcsm_act act, bool bounded, lcsm_states *s)
{
    lcsm_tensor *lambda = forget(m, bounded);
    lcsm_tensor *c      = lcsm_mix_project(m, m->x, "input", m->D, !plain(m));
    lcsm_tensor *share  = lcsm_affine(m->g, lambda, -1, 1);
    lcsm_tensor *one    = lcsm_mix_constant(m, "one", lcsm_dims(1, 1), lcsm_init_constant(1));
    *s                  = (lcsm_states){.H   = 1,
                                        .K   = 1,
                                        .D   = m->D,
                                        .e   = lcsm_static(one, LCSM_AXIS_K),
                                        .s   = lcsm_static(one, LCSM_AXIS_K),
                                        .i   = lcsm_per_token_d(lcsm_glu(m->g, act, c, share)),
                                        .col = lcsm_per_token_d(lcsm_activate(m->g, LCSM_ACT_LOG, lambda))};
    return s->col.x != NULL;
}

bool lcsm_hgrn_states(const lcsm_mixer *m, lcsm_states *s)
{
    return channel_states(m, LCSM_ACT_SILU, true, s);
}

bool lcsm_lrn_states(const lcsm_mixer *m, lcsm_states *s)
{
    return channel_states(m, LCSM_ACT_TANH, false, s);
}

/* The output of LRN is its memory. */
lcsm_tensor *lcsm_lrn_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_recurrence(m, lcsm_lrn_states);
}

/* Complex channels: c = silu of pairs, turned by a learned angle at each step. */
static lcsm_tensor *complex_memory(const lcsm_mixer *m, bool reverse)
{
    lcsm_tensor *lambda = forget(m, true);
    lcsm_tensor *c      = lcsm_mix_project(m, m->x, "input", 2 * m->D, true);
    c                   = lcsm_halves(m->g, lcsm_activate(m->g, LCSM_ACT_SILU, c));
    lcsm_tensor *share  = lcsm_affine(m->g, lambda, -1, 1);
    lcsm_tensor *both   = lcsm_concat(m->g, (lcsm_tensor *[]){share, share}, 2);
    lcsm_tensor *theta  = lcsm_mix_angles(m, "theta", m->D, m->D, true);
    lcsm_operand log    = lcsm_per_token_d(lcsm_activate(m->g, LCSM_ACT_LOG, lambda));
    lcsm_states  s      = lcsm_mix_channels(m, lcsm_mul(m->g, c, both), log, theta);
    s.reverse           = reverse;
    if (reverse) s.reset = NULL;
    return lcsm_recurrence(m->g, &s, NULL);
}

static lcsm_tensor *plain_end(const lcsm_mixer *m, lcsm_tensor *h)
{
    lcsm_tensor *gate = lcsm_mix_project(m, m->x, "gate", m->D, false);
    lcsm_tensor *w    = lcsm_mix_param(m, "norm.weight", lcsm_dims(m->D), lcsm_init_constant(1), 0);
    h                 = lcsm_rms_norm(m->g, h, w, lcsm_mix_eps(m, 1e-5));
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, gate, h), "out", m->D, false);
}

/* W (norm(h) * silu(W x)). */
lcsm_tensor *lcsm_hgrn_mixer(const lcsm_mixer *m)
{
    ptrdiff_t width = m->cfg->is_complex ? 2 * m->D : m->D;
    if (plain(m) && m->cfg->is_complex)
        return lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "hgrn with head_norm needs complex = false");
    if (plain(m)) return plain_end(m, lcsm_mix_recurrence(m, lcsm_hgrn_states));
    lcsm_tensor *h =
        m->cfg->is_complex ? complex_memory(m, false) : lcsm_mix_recurrence(m, lcsm_hgrn_states);
    if (m->cfg->is_complex && m->cfg->bidirectional)
        h = lcsm_add(m->g, h, complex_memory(m, true)); /* both count the step, as in HGRN */
    lcsm_tensor *gate = lcsm_mix_project(m, m->x, "gate", width, true);
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(width), lcsm_init_constant(1), 0);
    lcsm_tensor *b = lcsm_mix_param(m, "norm.bias", lcsm_dims(width), lcsm_init_constant(0), 0);
    h              = lcsm_layer_norm(m->g, h, w, b, 1e-5);
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, gate, h), "out", m->D, true);
}

/* ---- HGRN2 ------------------------------------------------------------------------------ */

static ptrdiff_t hgrn2_heads(const lcsm_mixer *m)
{
    return lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1);
}

/* 1 - f = (1 - bound) sigmoid(-z): without the rounding of 1 - f where f is near 1. */
static lcsm_tensor *written_share(const lcsm_mixer *m)
{
    lcsm_tensor *z     = lcsm_mix_project(m, m->x, "forget", m->D, false);
    lcsm_tensor *share = lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_scale(m->g, z, -1));
    return lcsm_mul(m->g, share, lcsm_affine(m->g, lower_bound(m), -1, 1));
}

/* m = (f 1^T) * m + (1 - f) v^T, y = m^T silu(q) / sqrt(K). */
bool lcsm_hgrn2_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    H = hgrn2_heads(m), K = lcsm_mix_split(m, "d_model", m->D, H);
    lcsm_tensor *q = lcsm_mix_project(m, m->x, "q", m->D, false);
    lcsm_tensor *k = written_share(m), *f = lcsm_affine(m->g, k, -1, 1);
    *s     = (lcsm_states){.H = H, .K = K, .D = K, .scale = 1 / sqrt((double)K)};
    s->i   = lcsm_per_token_d(lcsm_mix_project(m, m->x, "v", m->D, false));
    s->e   = lcsm_per_token_k(k);
    s->row = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_LOG, f));
    s->s   = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_SILU, q));
    return s->s.x != NULL;
}

lcsm_tensor *lcsm_hgrn2_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(m->D), lcsm_init_constant(1), 0);
    lcsm_tensor *y = lcsm_mix_recurrence(m, lcsm_hgrn2_states);
    y              = lcsm_rms_norm(m->g, y, w, lcsm_mix_eps(m, 1e-5));
    return lcsm_mix_project(m, y, "out", m->D, false);
}
