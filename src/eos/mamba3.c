/*
 * mamba3.c - Mamba-3 (one input, one output): Mamba-2 with a trapezoid for the input and a memory
 * that turns.
 *
 *     m_t = o_t (m_{t-1} + (1 - l_t) dt_t B_{t-1} x_{t-1}^T) + l_t dt_t B_t x_t^T
 *     y_t = Re(m_t^T conj(C_t)) + D x_t             o_t = exp(dt_t A_t - i pi dt_t tanh(angle_t))
 *
 * Two numbers of B and C that follow each other are one complex number. Each token is two steps of
 * the recurrence: the write of the token before, then the gate and the token's own write.
 */
#include <math.h>

#include "eos/method.h"

static const double PI = 3.14159265358979323846, LEAST_RATE = 1e-4;

enum { STEPS = 2 };

typedef struct {
    ptrdiff_t H, P, N, G, inner, angles; /* heads, a head's channels, state, groups, H P, pairs */
} sizes;

static sizes sizes_of(const lcsm_mixer *m)
{
    sizes z = {.inner = lcsm_mix_inner(m, 2),
               .N     = lcsm_mix_even(m, "state_size", lcsm_mix_or(m->cfg->state_size, 128)),
               .G     = lcsm_mix_or(m->cfg->groups, 1)};
    z.H     = lcsm_mix_heads(m, lcsm_mix_heads_of(z.inner));
    z.P     = lcsm_mix_split(m, "inner width", z.inner, z.H);
    (void)lcsm_mix_split(m, "the number of heads", z.H, z.G);
    z.angles = (ptrdiff_t)((double)z.N * m->cfg->state_rotary) / 2;
    return z;
}

static lcsm_tensor *project(const lcsm_mixer *m, const char *name, ptrdiff_t width)
{
    return lcsm_mix_project(m, m->x, name, width, m->cfg->proj_bias);
}

/* RMSNorm in groups. */
static lcsm_tensor *normed(const lcsm_mixer *m, const sizes *z, lcsm_tensor *x, const char *name)
{
    lcsm_norm_attr a = {.kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-5), .heads = z->G};
    return lcsm_head_norm(m->g, &a, x,
                          lcsm_mix_param(m, name, lcsm_dims(z->N), lcsm_init_constant(1), 0), NULL);
}

/* For each head, with a bias of its own. */
static lcsm_tensor *biased(const lcsm_mixer *m, const sizes *z, lcsm_tensor *x, const char *name)
{
    lcsm_tensor *b =
        lcsm_mix_param(m, name, lcsm_dims(z->H, z->N), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    return lcsm_add(m->g, lcsm_mix_shared(m, x, z->G, z->H),
                    lcsm_reshape(m->g, b, lcsm_dims(z->H * z->N)));
}

/* 1 and -1 in turns: what makes a conjugate of pairs. */
LCSM_FILL(fill_conjugate)
{
    for (size_t j = 0; j < count; j++) v[j] = j % 2 == 0 ? 1 : -1;
}

static lcsm_tensor *conjugate(const lcsm_mixer *m, lcsm_tensor *x)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .fill = fill_conjugate};
    if (x == NULL) return NULL;
    return lcsm_mul(m->g, x, lcsm_mix_constant(m, "conjugate", lcsm_dims(x->cols), init));
}

/* x of the token before; 0 before the first. */
static lcsm_tensor *before(const lcsm_mixer *m, lcsm_tensor *x)
{
    lcsm_shift_attr a = {0};
    if (x == NULL) return NULL;
    return lcsm_token_shift(m->g, &a, x, lcsm_constant(m->g, lcsm_dims(x->cols), 0), m->reset);
}

/* Both steps of each token. */
static lcsm_tensor *steps(const lcsm_mixer *m, lcsm_tensor *first, lcsm_tensor *second)
{
    if (first == NULL || second == NULL) return NULL;
    return lcsm_mix_micro(m, lcsm_concat(m->g, (lcsm_tensor *[]){first, second}, STEPS), STEPS);
}

static lcsm_tensor *zeros(const lcsm_mixer *m, ptrdiff_t width)
{
    return lcsm_constant(m->g, lcsm_dims(m->B, m->T, width), 0);
}

/* -max(softplus(A), least) dt. */
static lcsm_tensor *log_gate(const lcsm_mixer *m, lcsm_tensor *A, lcsm_tensor *dt)
{
    lcsm_tensor *rate =
        lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, A), 1, -LEAST_RATE);
    rate = lcsm_affine(m->g, lcsm_activate(m->g, LCSM_ACT_RELU, rate), -1, -LEAST_RATE);
    return lcsm_mul(m->g, rate, dt);
}

/* -pi tanh(angle) dt for the first pairs of each head, 0 for the others. */
static lcsm_tensor *phase(const lcsm_mixer *m, const sizes *z, lcsm_tensor *angle, lcsm_tensor *dt)
{
    ptrdiff_t    K = z->N / 2;
    lcsm_tensor *a =
        angle == NULL ? zeros(m, K) : lcsm_activate_scaled(m->g, LCSM_ACT_TANH, angle, -PI);
    if (angle != NULL && z->angles < K)
        a = lcsm_concat(m->g, (lcsm_tensor *[]){a, zeros(m, K - z->angles)}, 2);
    return lcsm_mix_by_head(m, lcsm_mix_shared(m, a, 1, z->H), dt);
}

/* Side: x. */
static lcsm_tensor *forward(const lcsm_mixer *m)
{
    sizes        z = sizes_of(m);
    lcsm_tensor *x = project(m, "x", z.inner), *angle = NULL;
    lcsm_tensor *B = normed(m, &z, project(m, "B", z.G * z.N), "B_norm.weight");
    lcsm_tensor *C = normed(m, &z, project(m, "C", z.G * z.N), "C_norm.weight");
    lcsm_tensor *A = project(m, "A", z.H), *share = project(m, "share", z.H);
    lcsm_tensor *dt  = lcsm_add(m->g, project(m, "dt", z.H), lcsm_mix_dt_bias(m, "dt_bias", z.H));
    dt               = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, dt);
    lcsm_tensor *now = lcsm_glu(m->g, LCSM_ACT_SIGMOID, share, dt);
    lcsm_tensor *old = lcsm_add(m->g, dt, lcsm_scale(m->g, now, -1));
    if (z.angles > 0) angle = project(m, "angle", z.angles);
    lcsm_states s = {.H = z.H, .K = z.N / 2, .D = z.P, .complex_e = true, .complex_s = true};
    s.i           = lcsm_per_token_d(
                  steps(m, lcsm_mix_by_head(m, before(m, x), old), lcsm_mix_by_head(m, x, now)));
    s.e = lcsm_per_token_k(
        steps(m, biased(m, &z, before(m, B), "B_bias"), biased(m, &z, B, "B_bias")));
    C     = conjugate(m, biased(m, &z, C, "C_bias"));
    s.s   = lcsm_per_token_k(steps(m, C, C));
    s.row = (lcsm_operand){
        steps(m, m->reset == NULL ? zeros(m, z.H) : lcsm_mix_fresh(m, z.H), log_gate(m, A, dt)),
        LCSM_AXIS_T};
    s.row_phase = lcsm_per_token_k(steps(m, zeros(m, z.H * z.N / 2), phase(m, &z, angle, dt)));
    if (m->side != NULL) m->side[0] = x;
    if (s.row_phase.x == NULL) return NULL;
    lcsm_tensor *y = lcsm_recurrence(m->g, &s, NULL);
    if (y == NULL) return NULL;
    y = lcsm_reshape(m->g, y, lcsm_dims(m->B, m->T, STEPS * z.inner));
    return lcsm_slice(m->g, y, 2, z.inner, z.inner);
}

/* W ((y + D x) * silu(z)). */
lcsm_tensor *lcsm_mamba3_mixer(const lcsm_mixer *m)
{
    sizes        z       = sizes_of(m);
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_ways(&own, forward);
    lcsm_tensor *skip =
        lcsm_mix_param(m, "D", lcsm_dims(z.H), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    y = lcsm_add(m->g, y, lcsm_mul(m->g, side[0], lcsm_mix_spread(m, skip, z.P)));
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, project(m, "z", z.inner), y),
                            "out_proj", m->D, m->cfg->proj_bias);
}

lcsm_tensor *lcsm_mamba3_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, lcsm_mix_ways(m, forward));
}
