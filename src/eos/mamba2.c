/*
 * mamba2.c - Mamba-2: one decay for each head and token, B and C shared by groups of heads.
 *
 *     m_t = exp(dt_t A) m_{t-1} + B_t (dt_t x_t)^T       y_t = m_t^T C_t + D x_t
 */
#include <math.h>

#include "eos/method.h"

typedef struct {
    ptrdiff_t H, P, N, G, inner; /* heads, channels of a head, memory rows, groups, H P */
} sizes;

static sizes sizes_of(const lcsm_mixer *m)
{
    sizes z = {.inner = lcsm_mix_inner(m, 2),
               .N     = lcsm_mix_or(m->cfg->state_size, 128),
               .G     = lcsm_mix_or(m->cfg->groups, 1)};
    z.H     = lcsm_mix_heads(m, lcsm_mix_heads_of(z.inner));
    z.P     = lcsm_mix_split(m, "inner width", z.inner, z.H);
    if (z.H % z.G != 0)
        lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "%td heads are not divisible by %td groups", z.H,
                        z.G);
    return z;
}

/* softplus(z + bias) within the limits, whose gradient is 0 outside. */
static lcsm_tensor *steps(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H)
{
    double       lo = m->cfg->dt_min, hi = m->cfg->dt_max;
    lcsm_tensor *dt = lcsm_add(m->g, z, lcsm_mix_dt_bias(m, "dt_bias", H));
    dt              = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, dt);
    if (lo > 0)
        dt = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_affine(m->g, dt, 1, -lo)), 1,
                         lo);
    if (hi > 0)
        dt = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_affine(m->g, dt, -1, hi)),
                         -1, hi);
    return dt;
}

/* Gates 2 exp(row) - 1 in [-1, 1]: their magnitude, and the sign in e and s. */
static bool with_signs(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_tensor *o     = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_EXP, s->row.x), 2, -1);
    lcsm_tensor *signs = lcsm_running_signs(m->g, o);
    s->row.x           = lcsm_activate(m->g, LCSM_ACT_LOG, lcsm_mix_abs(m, o));
    s->e.x             = lcsm_mix_by_head(m, s->e.x, signs);
    s->s.x             = lcsm_mix_by_head(m, s->s.x, signs);
    return s->s.x != NULL;
}

/* From x (B, T, inner), B and C (B, T, G N) and what dt is made of. */
static bool states_of(const lcsm_mixer *m, const sizes *z, lcsm_tensor *const parts[4],
                      lcsm_states *s)
{
    lcsm_tensor *dt   = steps(m, parts[3], z->H);
    lcsm_tensor *rate = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, lcsm_mix_rates(m, z->H), -1);
    *s                = (lcsm_states){.H = z->H, .K = z->N, .D = z->P};
    s->i              = lcsm_per_token_d(lcsm_mix_by_head(m, parts[0], dt));
    s->e              = lcsm_per_token_k(lcsm_mix_shared(m, parts[1], z->G, z->H));
    s->s              = lcsm_per_token_k(lcsm_mix_shared(m, parts[2], z->G, z->H));
    s->row            = (lcsm_operand){lcsm_mul(m->g, dt, rate), LCSM_AXIS_T};
    if (m->cfg->signed_gates) return with_signs(m, s);
    return s->row.x != NULL;
}

/* x, B and C are columns of one projection and have one convolution, in three pieces. */
static lcsm_tensor *piece(const lcsm_mixer *m, lcsm_tensor *all, const sizes *z, ptrdiff_t first,
                          ptrdiff_t count)
{
    ptrdiff_t      W = m->cfg->conv_width, C = z->inner + 2 * z->G * z->N;
    lcsm_conv_attr a = {.silu = true};
    lcsm_tensor   *x = lcsm_slice(m->g, all, 2, z->inner + first, count), *b = NULL;
    if (W == 0) return lcsm_activate(m->g, LCSM_ACT_SILU, x);
    double       bound = 1 / sqrt((double)W);
    lcsm_init    init  = lcsm_init_uniform(-bound, bound);
    lcsm_tensor *w     = lcsm_mix_param(m, "conv1d.weight", lcsm_dims(C, W), init, 0);
    w                  = lcsm_slice(m->g, w, 0, first, count);
    if (m->cfg->conv_bias)
        b = lcsm_slice(m->g, lcsm_mix_param(m, "conv1d.bias", lcsm_dims(C), init, 0), 0, first,
                       count);
    return lcsm_short_conv(m->g, &a, x, w, b, m->reset);
}

/* Side: x, and the gate's input. Bare models have neither convolution nor gate. */
bool lcsm_mamba2_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes     z = sizes_of(m);
    ptrdiff_t I = z.inner, GN = z.G * z.N;
    if (m->cfg->flavour == LCSM_FLAVOUR_BARE)
        return states_of(m, &z,
                         (lcsm_tensor *[]){lcsm_mix_project(m, m->x, "i", I, false),
                                           lcsm_mix_project(m, m->x, "e", GN, false),
                                           lcsm_mix_project(m, m->x, "s", GN, false),
                                           lcsm_mix_project(m, m->x, "dt", z.H, false)},
                         s);
    lcsm_tensor *all =
        lcsm_mix_project(m, m->x, "in_proj", 2 * I + 2 * GN + z.H, m->cfg->proj_bias);
    if (all == NULL) return false;
    lcsm_tensor *parts[4] = {piece(m, all, &z, 0, I), piece(m, all, &z, I, GN),
                             piece(m, all, &z, I + GN, GN),
                             lcsm_slice(m->g, all, 2, 2 * I + 2 * GN, z.H)};
    if (m->side != NULL) {
        m->side[0] = parts[0];
        m->side[1] = lcsm_slice(m->g, all, 2, 0, I);
    }
    return states_of(m, &z, parts, s);
}

/* W norm((y + D x) * silu(z)), the norm in groups. */
lcsm_tensor *lcsm_mamba2_mixer(const lcsm_mixer *m)
{
    sizes          z       = sizes_of(m);
    double         bound   = 1 / sqrt((double)z.inner * m->layers);
    lcsm_norm_attr norm    = {.kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-5), .heads = z.G};
    lcsm_tensor   *side[4] = {0};
    lcsm_mixer     own     = *m;
    own.side               = side;
    lcsm_tensor *y         = lcsm_mix_recurrence(&own, lcsm_mamba2_states);
    lcsm_tensor *skip =
        lcsm_mix_param(m, "D", lcsm_dims(z.H), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(z.inner), lcsm_init_constant(1), 0);
    y              = lcsm_add(m->g, y, lcsm_mul(m->g, side[0], lcsm_mix_spread(m, skip, z.P)));
    y = lcsm_head_norm(m->g, &norm, lcsm_glu(m->g, LCSM_ACT_SILU, side[1], y), w, NULL);
    return lcsm_mix_project_init(m, y, "out_proj", m->D, m->cfg->proj_bias,
                                 lcsm_init_uniform(-bound, bound));
}
