/*
 * tnn.c - TNN: a learned Toeplitz matrix for each channel, y_t = sum_l gamma^l T_l v_{t-l}, whose
 * lags T_l come from a small network of the position l.
 *
 * Whole sequences are one long convolution. Otherwise, with a carried memory or packed sequences,
 * the first max_length lags become a recurrence, exactly (base/toeplitz.h); lags beyond max_length
 * then repeat the earlier ones, decayed, and do not follow the network.
 *
 * Lags whose decay float would round away are left out: there are at most MOST_LAGS, and with so
 * many the recurrence never repeats to the eye of a float. Its rows cancel, so its rounding grows
 * with their number: to 1e-5 of the output for all of them.
 */
#include <math.h>

#include "eos/method.h"

static const double GAMMA = 0.99;
enum { MOST_LAGS = 1794 }; /* 0.99^1794 < 2^-26 */

static ptrdiff_t at_most(ptrdiff_t n, ptrdiff_t most)
{
    return n < most ? n : most;
}

/* ---- the position network --------------------------------------------------------------- */

static lcsm_tensor *network_param(const lcsm_mixer *m, const char *name, lcsm_shape shape,
                                  ptrdiff_t in)
{
    double bound = 1 / sqrt((double)in);
    return lcsm_mix_param(m, name, shape, lcsm_init_uniform(-bound, bound), 0);
}

/* W relu(norm(h)) + b. */
static lcsm_tensor *network_layer(const lcsm_mixer *m, lcsm_tensor *h, ptrdiff_t out)
{
    const lcsm_norm_attr rms = {.kind = LCSM_NORM_RMS_OUTSIDE, .eps = 1e-8, .heads = 1};
    if (h == NULL) return NULL;
    h              = lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_head_norm(m->g, &rms, h, NULL, NULL));
    lcsm_tensor *w = network_param(m, "weight", lcsm_dims(out, h == NULL ? 1 : h->cols),
                                   h == NULL ? 1 : h->cols);
    lcsm_tensor *b = network_param(m, "bias", lcsm_dims(out), h == NULL ? 1 : h->cols);
    return lcsm_linear(m->g, h, w, b);
}

/* The lags of positions 0, step, 2 step .. : [count, width]. */
static lcsm_tensor *lags(const lcsm_mixer *m, ptrdiff_t count, double step, ptrdiff_t width)
{
    const lcsm_positions_attr at = {.count = count, .first = 0, .step = step};

    ptrdiff_t r = lcsm_mix_or(m->cfg->rank, 64);
    lcsm_scope_push(m->g, "rpe");
    lcsm_tensor *w = network_param(m, "in.weight", lcsm_dims(r), 1);
    lcsm_tensor *h = lcsm_positions(m->g, &at, w, network_param(m, "in.bias", lcsm_dims(r), 1));
    for (int layer = 0; layer <= m->cfg->rpe_layers; layer++) {
        bool last = layer == m->cfg->rpe_layers;
        lcsm_scope_push(m->g, "%d", layer);
        h = network_layer(m, h, last ? width : r);
        lcsm_scope_pop(m->g);
    }
    lcsm_scope_pop(m->g);
    return h;
}

/* ---- the operator ----------------------------------------------------------------------- */

static lcsm_tensor *recurrence(const lcsm_mixer *m, lcsm_tensor *v)
{
    lcsm_discrete d =
        lcsm_toeplitz(m->g, lags(m, at_most(m->cfg->max_length, MOST_LAGS), 1, v->cols), GAMMA);
    if (d.coef == NULL) return NULL;
    lcsm_states s = {
        .H   = 1,
        .K   = d.log->cols,
        .D   = v->cols,
        .i   = lcsm_per_token_d(v),
        .e   = lcsm_static(d.coef, LCSM_AXIS_K | LCSM_AXIS_D),
        .s   = lcsm_mix_ones(m, d.phase),
        .row = lcsm_static(lcsm_reshape(m->g, d.log, lcsm_dims(1, d.log->cols)), LCSM_AXIS_K),
        .row_phase =
            lcsm_static(lcsm_reshape(m->g, d.phase, lcsm_dims(1, d.log->cols)), LCSM_AXIS_K),
        .complex_e = true,
        .reset     = m->reset};
    return lcsm_recurrence(m->g, &s, NULL);
}

static lcsm_tensor *convolution(const lcsm_mixer *m, lcsm_tensor *v)
{
    lcsm_tensor *kernel =
        lcsm_decay_rows(m->g, lags(m, at_most(m->T, MOST_LAGS), 1, v->cols), GAMMA);
    lcsm_tensor *y = lcsm_long_conv(m->g, v, kernel);
    if (!m->cfg->bidirectional) return y;
    if (!lcsm_mix_both_ways(m)) return NULL;
    /* What lies ahead by the lags of negative positions; position 0 is in both. */
    lcsm_tensor *ahead =
        lcsm_decay_rows(m->g, lags(m, at_most(m->T, MOST_LAGS), -1, v->cols), GAMMA);
    lcsm_tensor *back = lcsm_reverse(m->g, lcsm_long_conv(m->g, lcsm_reverse(m->g, v), ahead));
    lcsm_tensor *zero = lcsm_reshape(m->g, lcsm_slice(m->g, kernel, 0, 0, 1), lcsm_dims(v->cols));
    return lcsm_add(m->g, lcsm_add(m->g, y, back), lcsm_scale(m->g, lcsm_mul(m->g, v, zero), -1));
}

static lcsm_tensor *toeplitz(const lcsm_mixer *m, lcsm_tensor *v)
{
    bool whole = m->cfg->bidirectional || (m->whole && m->reset == NULL);
    if (v == NULL) return NULL;
    return whole ? convolution(m, v) : recurrence(m, v);
}

/* W (silu(W x) * Toeplitz(silu(W x))), three times as wide as the model. */
lcsm_tensor *lcsm_tnn_mixer(const lcsm_mixer *m)
{
    ptrdiff_t    width = lcsm_mix_inner(m, 3);
    lcsm_tensor *u     = lcsm_mix_project(m, m->x, "u", width, true);
    lcsm_tensor *v     = lcsm_mix_project(m, m->x, "v", width, true);
    lcsm_tensor *y     = toeplitz(m, lcsm_activate(m->g, LCSM_ACT_SILU, v));
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, u, y), "out", m->D, true);
}

lcsm_tensor *lcsm_tnn_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, toeplitz(m, lcsm_mix_input(m)));
}
