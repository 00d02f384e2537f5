/*
 * min_rnn.c - RNNs whose gates do not see the memory: minGRU, minLSTM and Griffin's RG-LRU.
 *
 *     h_t = a_t h_{t-1} + b_t        one memory for each channel, K = 1
 */
#include <math.h>

#include "base/rng.h"
#include "eos/method.h"

/* h = exp(log_a) h + b. */
static bool channels(const lcsm_mixer *m, lcsm_tensor *log_a, lcsm_tensor *b, lcsm_states *s)
{
    if (log_a == NULL || b == NULL) return false;
    lcsm_operand one = lcsm_static(lcsm_constant(m->g, lcsm_dims(1, 1), 1), LCSM_AXIS_K);
    *s               = (lcsm_states){.H   = 1,
                                     .K   = 1,
                                     .D   = b->cols,
                                     .e   = one,
                                     .s   = one,
                                     .i   = lcsm_per_token_d(b),
                                     .col = lcsm_per_token_d(log_a)};
    return one.x != NULL;
}

static bool bare(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_BARE;
}

/* ---- minGRU, minLSTM -------------------------------------------------------------------- */

static lcsm_tensor *convolved(const lcsm_mixer *m)
{
    return bare(m) ? m->x : lcsm_mix_conv(m, m->x, "conv1d", m->cfg->conv_bias, false);
}

static lcsm_tensor *project(const lcsm_mixer *m, lcsm_tensor *x, const char *name)
{
    return lcsm_mix_project(m, x, name, lcsm_mix_inner(m, 1), true);
}

/* W x, or g(W x) > 0: u + 1/2 where u >= 0, sigmoid(u) below. */
static lcsm_tensor *candidate(const lcsm_mixer *m, lcsm_tensor *x)
{
    lcsm_tensor *u = project(m, x, "candidate");
    if (!m->cfg->log_space) return u;
    lcsm_tensor *below = lcsm_activate_scaled(m->g, LCSM_ACT_RELU, lcsm_scale(m->g, u, -1), -1);
    return lcsm_add(m->g, lcsm_activate(m->g, LCSM_ACT_RELU, u),
                    lcsm_activate(m->g, LCSM_ACT_SIGMOID, below));
}

/* h = (1 - z) h + z c. */
bool lcsm_mingru_states(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_tensor *x = convolved(m), *z = project(m, x, "update");
    lcsm_tensor *log_a = lcsm_activate(m->g, LCSM_ACT_LOG_SIGMOID, lcsm_scale(m->g, z, -1));
    return channels(m, log_a, lcsm_glu(m->g, LCSM_ACT_SIGMOID, z, candidate(m, x)), s);
}

/* h = f / (f + i) h + i / (f + i) c: a sigmoid of d = log f - log i, and its complement. */
bool lcsm_minlstm_states(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_tensor *x = convolved(m);
    lcsm_tensor *f = lcsm_activate(m->g, LCSM_ACT_LOG_SIGMOID, project(m, x, "forget"));
    lcsm_tensor *i = lcsm_activate_scaled(m->g, LCSM_ACT_LOG_SIGMOID, project(m, x, "input"), -1);
    lcsm_tensor *d = lcsm_add(m->g, f, i);
    lcsm_tensor *b = lcsm_glu(m->g, LCSM_ACT_SIGMOID, lcsm_scale(m->g, d, -1), candidate(m, x));
    return channels(m, lcsm_activate(m->g, LCSM_ACT_LOG_SIGMOID, d), b, s);
}

lcsm_tensor *lcsm_mingru_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_mingru_states), "out", m->D, true);
}

lcsm_tensor *lcsm_minlstm_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_minlstm_states), "out", m->D, true);
}

/* ---- RG-LRU ----------------------------------------------------------------------------- */

/* log(expm1(-log(v) / 2)), v uniform: decays from 0.9 to 0.999, to the power of 8. */
LCSM_FILL(fill_lambda)
{
    for (size_t j = 0; j < count; j++) {
        double x = 0.81 + (0.999 * 0.999 - 0.81) * lcsm_rng_uniform(seed, purpose, j);
        v[j]     = log(expm1(-log(x) / 2));
    }
}

/* sigmoid(W u + b), W of one block for each head: name.weight [H, w, w], name.bias [H w]. */
static lcsm_tensor *block_gate(const lcsm_mixer *m, lcsm_tensor *u, const char *name, ptrdiff_t H)
{
    lcsm_tensor *parts[LCSM_MAX_IN];
    if (u == NULL) return NULL;
    ptrdiff_t n = u->cols / H;
    lcsm_scope_push(m->g, "%s", name);
    lcsm_tensor *w =
        lcsm_mix_param(m, "weight", lcsm_dims(H, n, n), lcsm_init_normal(0.1 / sqrt((double)n)), 0);
    lcsm_tensor *b = lcsm_mix_param(m, "bias", lcsm_dims(u->cols), lcsm_init_constant(0), 0);
    lcsm_scope_pop(m->g);
    for (ptrdiff_t h = 0; h < H; h++) {
        lcsm_tensor *block = lcsm_reshape(m->g, lcsm_slice(m->g, w, 0, h, 1), lcsm_dims(n, n));
        parts[h]           = lcsm_linear(m->g, lcsm_slice(m->g, u, 2, h * n, n), block, NULL);
    }
    lcsm_tensor *z = H == 1 ? parts[0] : lcsm_concat(m->g, parts, (int)H);
    return lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_add(m->g, z, b));
}

/* sqrt(1 - a^2), and 1 where a sequence begins: there the previous of all ones is 0. */
static lcsm_tensor *write_scale(const lcsm_mixer *m, lcsm_tensor *log_a)
{
    lcsm_shift_attr shift = {0};
    lcsm_tensor    *ones  = lcsm_constant(m->g, lcsm_dims(m->B, m->T, 1), 1);
    lcsm_tensor    *past =
        lcsm_token_shift(m->g, &shift, ones, lcsm_constant(m->g, lcsm_dims(1), 0), m->reset);
    lcsm_tensor *x = lcsm_activate_scaled(m->g, LCSM_ACT_ELU, lcsm_scale(m->g, log_a, 2), -1);
    x              = lcsm_scale(m->g, lcsm_activate(m->g, LCSM_ACT_LOG, x), 0.5);
    x              = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_EXP, x), 1, -1);
    return lcsm_affine(m->g, lcsm_scale_rows(m->g, x, past), 1, 1);
}

/* log a = -8 r softplus(Lambda), b = sqrt(1 - a^2) (g u). */
bool lcsm_rg_lru_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    E = lcsm_mix_inner(m, 1), H = lcsm_mix_heads(m, E % 4 == 0 ? 4 : 1);
    lcsm_init    init = {.kind = LCSM_INIT_FILL, .fill = fill_lambda};
    lcsm_tensor *u    = lcsm_mix_project(m, m->x, "x", E, true);
    if (!bare(m)) u = lcsm_mix_conv(m, u, "conv1d", m->cfg->conv_bias, false);
    (void)lcsm_mix_split(m, "inner width", E, H);
    if (H > LCSM_MAX_IN)
        lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "%td heads; rg-lru has at most %d", H, LCSM_MAX_IN);
    if (H > LCSM_MAX_IN || E % H != 0 || u == NULL) return false;
    lcsm_tensor *r      = block_gate(m, u, "recurrent_gate", H);
    lcsm_tensor *g      = block_gate(m, u, "input_gate", H);
    lcsm_tensor *lambda = lcsm_mix_param(m, "lambda", lcsm_dims(E), init, LCSM_PARAM_NO_DECAY);
    lambda              = lcsm_activate_scaled(m->g, LCSM_ACT_SOFTPLUS, lambda, -8);
    lcsm_tensor *log_a  = lcsm_mul(m->g, r, lambda);
    if (log_a == NULL) return false;
    return channels(m, log_a, lcsm_mul(m->g, write_scale(m, log_a), lcsm_mul(m->g, g, u)), s);
}

lcsm_tensor *lcsm_rg_lru_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *gate = lcsm_mix_project(m, m->x, "gate", lcsm_mix_inner(m, 1), true);
    lcsm_tensor *y    = lcsm_mix_recurrence(m, lcsm_rg_lru_states);
    return lcsm_mix_project(m, lcsm_mix_geglu(m, gate, y), "out", m->D, true);
}
