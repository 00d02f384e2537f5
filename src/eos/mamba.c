/* mamba.c - Mamba: a selective state space between a short convolution and a gate. */
#include <math.h>

#include "eos/method.h"

/* log(n + 1) in row n of [N, inner]. */
LCSM_FILL(fill_log_states)
{
    size_t inner = (size_t)shape->dim[1];
    for (size_t j = 0; j < count; j++) {
        size_t state = j / inner + 1;
        v[j]         = log((double)state);
    }
}

static ptrdiff_t inner_width(const lcsm_mixer *m)
{
    return lcsm_mix_inner(m, 2);
}

/* dt, B and C from u (B, T, inner): o = exp(dt A), e = B, i = dt u, s = C. */
static bool selective(const lcsm_mixer *m, lcsm_tensor *u, lcsm_states *s)
{
    ptrdiff_t    E = inner_width(m), N = lcsm_mix_or(m->cfg->state_size, 16);
    ptrdiff_t    R     = lcsm_mix_or(m->cfg->rank, (m->D + 15) / 16);
    double       bound = 1 / sqrt((double)R);
    lcsm_init    A     = {.kind = LCSM_INIT_FILL, .fill = fill_log_states};
    lcsm_tensor *all   = lcsm_mix_project(m, u, "x_proj", R + 2 * N, false);
    if (all == NULL) return false;
    lcsm_tensor *low = lcsm_slice(m->g, all, 2, 0, R);
    lcsm_tensor *w =
        lcsm_mix_param(m, "dt_proj.weight", lcsm_dims(E, R), lcsm_init_uniform(-bound, bound), 0);
    lcsm_tensor *bias = lcsm_mix_dt_bias(m, "dt_proj.bias", E);
    lcsm_tensor *dt   = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, lcsm_linear(m->g, low, w, bias));
    lcsm_tensor *a    = lcsm_mix_param(m, "A_log", lcsm_dims(N, E), A, LCSM_PARAM_NO_DECAY);
    lcsm_tensor *rate = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, a, -1);
    *s                = (lcsm_states){.H   = 1,
                                      .K   = N,
                                      .D   = E,
                                      .i   = lcsm_per_token_d(lcsm_mul(m->g, dt, u)),
                                      .e   = lcsm_per_token_k(lcsm_slice(m->g, all, 2, R, N)),
                                      .s   = lcsm_per_token_k(lcsm_slice(m->g, all, 2, R + N, N)),
                                      .u   = lcsm_per_token_d(dt),
                                      .gen = LCSM_GEN_EXP};
    s->w              = lcsm_static(rate, LCSM_AXIS_K | LCSM_AXIS_D);
    return rate != NULL;
}

/* The states behind the convolution; side: what it gives, and the gate's input. Bare models have
 * neither convolution nor gate. */
bool lcsm_mamba_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t E = inner_width(m);
    if (m->cfg->flavour == LCSM_FLAVOUR_BARE)
        return selective(m, lcsm_mix_project(m, m->x, "in_proj", E, false), s);
    lcsm_tensor *both = lcsm_mix_project(m, m->x, "in_proj", 2 * E, m->cfg->proj_bias);
    if (both == NULL) return false;
    lcsm_tensor *u =
        lcsm_mix_conv(m, lcsm_slice(m->g, both, 2, 0, E), "conv1d", m->cfg->conv_bias, true);
    if (m->side != NULL) {
        m->side[0] = u;
        m->side[1] = lcsm_slice(m->g, both, 2, E, E);
    }
    return selective(m, u, s);
}

/* W ((y + D u) * silu(z)). */
lcsm_tensor *lcsm_mamba_mixer(const lcsm_mixer *m)
{
    ptrdiff_t    E       = inner_width(m);
    double       bound   = 1 / sqrt((double)E * m->layers);
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_recurrence(&own, lcsm_mamba_states);
    lcsm_tensor *skip =
        lcsm_mix_param(m, "D", lcsm_dims(E), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    y = lcsm_add(m->g, y, lcsm_mul(m->g, side[0], skip));
    return lcsm_mix_project_init(m, lcsm_glu(m->g, LCSM_ACT_SILU, side[1], y), "out_proj", m->D,
                                 m->cfg->proj_bias, lcsm_init_uniform(-bound, bound));
}
