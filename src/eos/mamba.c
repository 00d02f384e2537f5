/* mamba.c - Mamba, a selective state space between a short convolution and a gate; Falcon-Mamba,
 * which norms dt, B and C; and Longhorn, whose o follows from the keys. */
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

/* x_proj u in its three parts: of low rank, and two of N. */
typedef struct {
    ptrdiff_t    R, N;
    lcsm_tensor *low, *e, *s;
} parts;

static parts parts_of(const lcsm_mixer *m, lcsm_tensor *u)
{
    parts        p   = {.R = lcsm_mix_or(m->cfg->rank, (m->D + 15) / 16),
                        .N = lcsm_mix_or(m->cfg->state_size, 16)};
    lcsm_tensor *all = lcsm_mix_project(m, u, "x_proj", p.R + 2 * p.N, false);
    if (all == NULL) return p;
    p.low = lcsm_slice(m->g, all, 2, 0, p.R);
    p.e   = lcsm_slice(m->g, all, 2, p.R, p.N);
    p.s   = lcsm_slice(m->g, all, 2, p.R + p.N, p.N);
    return p;
}

/* o = 2 exp(dt A) - 1 in [-1, 1], by magnitude and phase. */
static bool signed_gates(const lcsm_mixer *m, lcsm_tensor *dt, lcsm_tensor *rate, lcsm_states *s)
{
    static const double PI = 3.14159265358979323846;
    if (dt == NULL || rate == NULL) return false;
    ptrdiff_t    n = s->K * s->D;
    lcsm_tensor *o = lcsm_reshape(m->g, dt, lcsm_dims(m->B, m->T, 1, s->D));
    o              = lcsm_reshape(m->g, lcsm_repeat(m->g, o, s->K), lcsm_dims(m->B, m->T, n));
    o              = lcsm_mul(m->g, o, lcsm_reshape(m->g, rate, lcsm_dims(n)));
    o              = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_EXP, o), 2, -1);
    /* o is 0 or at least the rounding error of 1, and 1e30 times that is far out */
    lcsm_tensor *negative =
        lcsm_stop(m->g, lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_scale(m->g, o, -1e30)));
    const unsigned all = LCSM_AXIS_T | LCSM_AXIS_K | LCSM_AXIS_D;
    s->full            = (lcsm_operand){lcsm_activate(m->g, LCSM_ACT_LOG, lcsm_mix_abs(m, o)), all};
    s->full_phase      = (lcsm_operand){lcsm_scale(m->g, negative, PI), all};
    return s->full_phase.x != NULL;
}

/* dt, B and C: o = exp(dt A), e = B, i = dt u, s = C. */
static bool with_rates(const lcsm_mixer *m, lcsm_tensor *u, const parts *p, lcsm_states *s)
{
    ptrdiff_t    E     = inner_width(m);
    double       bound = 1 / sqrt((double)p->R);
    lcsm_init    A     = {.kind = LCSM_INIT_FILL, .fill = fill_log_states};
    lcsm_tensor *w     = lcsm_mix_param(m, "dt_proj.weight", lcsm_dims(E, p->R),
                                        lcsm_init_uniform(-bound, bound), 0);
    lcsm_tensor *bias  = lcsm_mix_dt_bias(m, "dt_proj.bias", E);
    lcsm_tensor *dt    = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, lcsm_linear(m->g, p->low, w, bias));
    lcsm_tensor *a     = lcsm_mix_param(m, "A_log", lcsm_dims(p->N, E), A, LCSM_PARAM_NO_DECAY);
    lcsm_tensor *rate  = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, a, -1);
    *s                 = (lcsm_states){.H = 1,
                                       .K = p->N,
                                       .D = E,
                                       .i = lcsm_per_token_d(lcsm_mul(m->g, dt, u)),
                                       .e = lcsm_per_token_k(p->e),
                                       .s = lcsm_per_token_k(p->s)};
    if (m->cfg->signed_gates) return signed_gates(m, dt, rate, s);
    s->u   = lcsm_per_token_d(dt);
    s->w   = lcsm_static(rate, LCSM_AXIS_K | LCSM_AXIS_D);
    s->gen = LCSM_GEN_EXP;
    return rate != NULL;
}

static bool selective(const lcsm_mixer *m, lcsm_tensor *u, lcsm_states *s)
{
    parts p = parts_of(m, u);
    return with_rates(m, u, &p, s);
}

/* RMSNorm, with weights if asked. */
static lcsm_tensor *rms(const lcsm_mixer *m, lcsm_tensor *x, const char *name)
{
    lcsm_tensor *w = NULL;
    if (x == NULL) return NULL;
    if (m->cfg->norm_weight)
        w = lcsm_mix_param(m, name, lcsm_dims(x->cols), lcsm_init_constant(1), 0);
    return lcsm_rms_norm(m->g, x, w, lcsm_mix_eps(m, 1e-6));
}

static bool normed(const lcsm_mixer *m, lcsm_tensor *u, lcsm_states *s)
{
    parts p = parts_of(m, u);
    p.low   = rms(m, p.low, "dt_norm.weight");
    p.e     = rms(m, p.e, "b_norm.weight");
    p.s     = rms(m, p.s, "c_norm.weight");
    return with_rates(m, u, &p, s);
}

/* o = 1 - step k^2, e = k, i = step u, s = q, with step = beta / (1 + beta |k|^2) of a channel. */
static bool online(const lcsm_mixer *m, lcsm_tensor *u, lcsm_states *s)
{
    parts        p      = parts_of(m, u);
    lcsm_tensor *z      = lcsm_mix_project(m, p.low, "dt_head", inner_width(m), true);
    lcsm_tensor *beta   = lcsm_activate(m->g, LCSM_ACT_SIGMOID, z);
    lcsm_tensor *square = lcsm_activate(m->g, LCSM_ACT_SQUARE, p.e);
    lcsm_tensor *length =
        lcsm_linear(m->g, square, lcsm_constant(m->g, lcsm_dims(1, p.N), 1), NULL);
    lcsm_tensor *den  = lcsm_affine(m->g, lcsm_scale_rows(m->g, beta, length), 1, 1);
    lcsm_tensor *step = lcsm_divide(m->g, &(lcsm_divide_attr){0}, beta, den, NULL);
    *s                = (lcsm_states){.H   = 1,
                                      .K   = p.N,
                                      .D   = inner_width(m),
                                      .i   = lcsm_per_token_d(lcsm_mul(m->g, step, u)),
                                      .e   = lcsm_per_token_k(p.e),
                                      .s   = lcsm_per_token_k(p.s),
                                      .u   = lcsm_per_token_d(step),
                                      .w   = lcsm_per_token_k(square),
                                      .gen = LCSM_GEN_COMPLEMENT};
    return step != NULL;
}

/* The states behind the convolution; side: what it gives, and the gate's input. Bare models have
 * neither convolution nor gate. */
static bool behind_conv(const lcsm_mixer *m, lcsm_states *s,
                        bool select(const lcsm_mixer *, lcsm_tensor *, lcsm_states *))
{
    ptrdiff_t E = inner_width(m);
    if (m->cfg->flavour == LCSM_FLAVOUR_BARE)
        return select(m, lcsm_mix_project(m, m->x, "in_proj", E, false), s);
    lcsm_tensor *both = lcsm_mix_project(m, m->x, "in_proj", 2 * E, m->cfg->proj_bias);
    if (both == NULL) return false;
    lcsm_tensor *u =
        lcsm_mix_conv(m, lcsm_slice(m->g, both, 2, 0, E), "conv1d", m->cfg->conv_bias, true);
    if (m->side != NULL) {
        m->side[0] = u;
        m->side[1] = lcsm_slice(m->g, both, 2, E, E);
    }
    return select(m, u, s);
}

bool lcsm_mamba_states(const lcsm_mixer *m, lcsm_states *s)
{
    return behind_conv(m, s, selective);
}

bool lcsm_falcon_mamba_states(const lcsm_mixer *m, lcsm_states *s)
{
    return behind_conv(m, s, normed);
}

bool lcsm_longhorn_states(const lcsm_mixer *m, lcsm_states *s)
{
    return behind_conv(m, s, online);
}

/* W ((y + D u) * silu(z)). */
static lcsm_tensor *block(const lcsm_mixer *m, lcsm_states_fn *states)
{
    ptrdiff_t    E       = inner_width(m);
    double       bound   = 1 / sqrt((double)E * m->layers);
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_recurrence(&own, states);
    lcsm_tensor *skip =
        lcsm_mix_param(m, "D", lcsm_dims(E), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    y = lcsm_add(m->g, y, lcsm_mul(m->g, side[0], skip));
    return lcsm_mix_project_init(m, lcsm_glu(m->g, LCSM_ACT_SILU, side[1], y), "out_proj", m->D,
                                 m->cfg->proj_bias, lcsm_init_uniform(-bound, bound));
}

lcsm_tensor *lcsm_mamba_mixer(const lcsm_mixer *m)
{
    return block(m, lcsm_mamba_states);
}

lcsm_tensor *lcsm_falcon_mamba_mixer(const lcsm_mixer *m)
{
    return block(m, lcsm_falcon_mamba_states);
}

lcsm_tensor *lcsm_longhorn_mixer(const lcsm_mixer *m)
{
    return block(m, lcsm_longhorn_states);
}
