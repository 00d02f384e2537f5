/* mixer_parts.c - parts that the methods since Mamba share: heads, short convolutions, gates. */
#include <math.h>

#include "base/rng.h"
#include "eos/mixer.h"
#include "eos/tables.h"

/* ---- heads ------------------------------------------------------------------------------ */

lcsm_tensor *lcsm_mix_by_head(const lcsm_mixer *m, lcsm_tensor *x, lcsm_tensor *s)
{
    if (x == NULL || s == NULL) return NULL;
    ptrdiff_t    T = x->shape.dim[1], H = s->cols, n = x->cols;
    lcsm_tensor *rows = lcsm_reshape(m->g, x, lcsm_dims(m->B, T, H, n / H));
    s                 = lcsm_reshape(m->g, s, lcsm_dims(m->B, T, H, 1));
    return lcsm_reshape(m->g, lcsm_scale_rows(m->g, rows, s), lcsm_dims(m->B, T, n));
}

lcsm_tensor *lcsm_mix_shared(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t G, ptrdiff_t H)
{
    if (x == NULL || G == H) return x;
    ptrdiff_t    n = x->cols / G;
    lcsm_tensor *y = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, G, n));
    return lcsm_reshape(m->g, lcsm_repeat(m->g, y, H / G), lcsm_dims(m->B, m->T, H * n));
}

lcsm_tensor *lcsm_mix_unit(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t heads, double eps)
{
    lcsm_norm_attr a = {.kind = LCSM_NORM_L2, .eps = eps, .heads = heads};
    return lcsm_head_norm(m->g, &a, x, NULL, NULL);
}

/* ---- RWKV ------------------------------------------------------------------------------- */

ptrdiff_t lcsm_mix_heads_of(ptrdiff_t width)
{
    enum { CHANNELS = 64 };
    return width % CHANNELS == 0 ? width / CHANNELS : width % 4 == 0 ? 4 : 1;
}

ptrdiff_t lcsm_mix_rwkv_heads(const lcsm_mixer *m)
{
    return lcsm_mix_heads(m, lcsm_mix_heads_of(m->D));
}

lcsm_tensor *lcsm_mix_previous(const lcsm_mixer *m)
{
    lcsm_shift_attr a = {0};
    return lcsm_token_shift(m->g, &a, m->x, lcsm_constant(m->g, lcsm_dims(m->D), 0), m->reset);
}

lcsm_tensor *lcsm_mix_rwkv_norm(const lcsm_mixer *m, lcsm_tensor *y, ptrdiff_t H, lcsm_init weight)
{
    if (y == NULL) return NULL;
    lcsm_norm_attr a = {.kind = LCSM_NORM_LAYER, .eps = lcsm_mix_eps(m, 64e-5), .heads = H};
    lcsm_tensor   *w = lcsm_mix_param(m, "ln_x.weight", lcsm_dims(y->cols), weight, 0);
    lcsm_tensor   *b = lcsm_mix_param(m, "ln_x.bias", lcsm_dims(y->cols), lcsm_init_constant(0), 0);
    return lcsm_head_norm(m->g, &a, y, w, b);
}

/* ---- activations ------------------------------------------------------------------------ */

/* x Phi(x) by its tanh approximation, x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), times y. */
lcsm_tensor *lcsm_mix_geglu(const lcsm_mixer *m, lcsm_tensor *x, lcsm_tensor *y)
{
    const double c = 2 * 0.79788456080286535588;
    lcsm_tensor *slope =
        lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_SQUARE, x), 0.044715 * c, c);
    lcsm_tensor *share = lcsm_mul(m->g, x, slope);
    return lcsm_glu(m->g, LCSM_ACT_SIGMOID, share, lcsm_mul(m->g, x, y));
}

/* ---- convolutions ----------------------------------------------------------------------- */

lcsm_tensor *lcsm_mix_conv(const lcsm_mixer *m, lcsm_tensor *x, const char *name, bool bias,
                           bool silu)
{
    ptrdiff_t      W = m->cfg->conv_width;
    lcsm_conv_attr a = {.silu = silu};
    if (x == NULL) return NULL;
    if (W == 0) return silu ? lcsm_activate(m->g, LCSM_ACT_SILU, x) : x;
    double    bound = 1 / sqrt((double)W);
    lcsm_init init  = lcsm_init_uniform(-bound, bound);
    lcsm_scope_push(m->g, "%s", name);
    lcsm_tensor *w = lcsm_mix_param(m, "weight", lcsm_dims(x->cols, W), init, 0);
    lcsm_tensor *b = bias ? lcsm_mix_param(m, "bias", lcsm_dims(x->cols), init, 0) : NULL;
    lcsm_scope_pop(m->g);
    return lcsm_short_conv(m->g, &a, x, w, b, m->reset);
}

/* ---- gates ------------------------------------------------------------------------------ */

/* The inverse softplus of dt, dt from 1e-3 to 1e-1 evenly in its logarithm. */
LCSM_FILL(fill_dt_bias)
{
    for (size_t j = 0; j < count; j++) {
        double dt = exp(log(1e-3) + log(100) * lcsm_rng_uniform(seed, purpose, j));
        v[j]      = lcsm_inverse_softplus(fmax(dt, 1e-4));
    }
}

/* Rates from 1 to 16, evenly. */
LCSM_FILL(fill_log_rates)
{
    for (size_t j = 0; j < count; j++) v[j] = log(1 + 15 * lcsm_rng_uniform(seed, purpose, j));
}

lcsm_tensor *lcsm_mix_dt_bias(const lcsm_mixer *m, const char *name, ptrdiff_t n)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .fill = fill_dt_bias};
    return lcsm_mix_param(m, name, lcsm_dims(n), init, LCSM_PARAM_NO_DECAY);
}

lcsm_tensor *lcsm_mix_rates(const lcsm_mixer *m, ptrdiff_t H)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .fill = fill_log_rates};
    return lcsm_mix_param(m, "A_log", lcsm_dims(H), init, LCSM_PARAM_NO_DECAY);
}

lcsm_tensor *lcsm_mix_abs(const lcsm_mixer *m, lcsm_tensor *x)
{
    return lcsm_add(m->g, lcsm_activate(m->g, LCSM_ACT_RELU, x),
                    lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_scale(m->g, x, -1)));
}

lcsm_tensor *lcsm_mix_spread(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t times)
{
    if (x == NULL || times == 1) return x;
    lcsm_tensor *column = lcsm_reshape(m->g, x, lcsm_dims(x->cols, 1));
    return lcsm_reshape(m->g, lcsm_repeat(m->g, column, times), lcsm_dims(x->cols * times));
}

lcsm_tensor *lcsm_mix_dt_gate(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H)
{
    if (z == NULL) return NULL;
    lcsm_tensor *rate = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, lcsm_mix_rates(m, H), -1);
    z                 = lcsm_add(m->g, z, lcsm_mix_dt_bias(m, "dt_bias", z->cols));
    z                 = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, z);
    return lcsm_mul(m->g, z, lcsm_mix_spread(m, rate, z->cols / H));
}

/* ---- several steps for each token -------------------------------------------------------- */

lcsm_tensor *lcsm_mix_micro(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t J)
{
    return x == NULL ? NULL : lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T * J, x->cols / J));
}

lcsm_tensor *lcsm_mix_fresh(const lcsm_mixer *m, ptrdiff_t H)
{
    lcsm_positions_attr a   = {.count = 2, .step = 1};
    lcsm_tensor        *off = lcsm_constant(m->g, lcsm_dims(H), -1e30);
    return lcsm_embed(m->g, m->reset, lcsm_positions(m->g, &a, off, NULL), 1);
}

/* ---- both directions, of what is more than one recurrence ------------------------------- */

lcsm_tensor *lcsm_mix_ways(const lcsm_mixer *m, lcsm_native_fn *forward)
{
    lcsm_tensor *y = forward(m);
    if (!m->cfg->bidirectional) return y;
    lcsm_mixer back = *m;
    back.x          = lcsm_reverse(m->g, m->x);
    back.side       = NULL;
    if (!lcsm_mix_both_ways(m)) return NULL;
    return lcsm_add(m->g, y, lcsm_reverse(m->g, forward(&back)));
}
