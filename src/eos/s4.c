/* s4.c - S4 and S4D: one state space for each channel, with its own step dt. */
#include <math.h>
#include <stdlib.h>

#include "eos/method.h"
#include "eos/tables.h"

/* N, of which conjugate halves are stored. */
static ptrdiff_t state_count(const lcsm_mixer *m)
{
    return lcsm_mix_even(m, "state_size", lcsm_mix_or(m->cfg->state_size, 64));
}

/* ---- first values ----------------------------------------------------------------------- */

/* Rows of [K, D]: part 0 is log(-Re A_k), part 1 Im A_k. a is lcsm_s4_init, b the part. */
LCSM_FILL(fill_diagonal)
{
    static const lcsm_s4d_kind KINDS[] = {LCSM_S4D_LEGS, LCSM_S4D_LIN, LCSM_S4D_INV, LCSM_S4D_REAL};

    size_t  K = (size_t)shape->dim[0], D = (size_t)shape->dim[1];
    double *A  = malloc((2 * K + 1) * sizeof *A);
    bool    ok = A != NULL && lcsm_s4d_init(KINDS[(int)init->a], 2 * K, A, NULL) == LCSM_OK;
    for (size_t j = 0; j < count; j++) {
        size_t k = j / D;
        v[j]     = !ok ? NAN : (init->b == 0 ? log(-A[2 * k]) : A[2 * k + 1]);
    }
    free(A);
}

enum { FILL_LAMBDA, FILL_P, FILL_B };

/* The same M pairs for every channel of [D, M, 2]; a says of what. Lambda is stored as
 * log(-Re), Im. */
LCSM_FILL(fill_dplr)
{
    size_t  M = (size_t)shape->dim[1];
    double *x = malloc((6 * M + 1) * sizeof *x), *from = x + 2 * M * (size_t)init->a;
    bool    ok = x != NULL && lcsm_hippo_dplr(2 * M, x, x + 2 * M, x + 4 * M, NULL) == LCSM_OK;
    for (size_t j = 0; ok && init->a == FILL_LAMBDA && j < M; j++) x[2 * j] = log(-x[2 * j]);
    for (size_t j = 0; j < count; j++) v[j] = ok && M > 0 ? from[j % (2 * M)] : NAN;
    free(x);
}

/* HiPPO's A [N, N] and B [N]. */
LCSM_FILL(fill_hippo)
{
    size_t  N = (size_t)shape->dim[0];
    double *x = malloc((N * N + 2 * N + 1) * sizeof *x), *from = shape->rank == 2 ? x : x + N * N;
    if (x != NULL) lcsm_hippo_legs(N, x, x + N * N, x + N * N + N);
    for (size_t j = 0; j < count; j++) v[j] = x == NULL ? NAN : from[j];
    free(x);
}

static lcsm_tensor *space_param(const lcsm_mixer *m, const char *name, lcsm_shape shape,
                                lcsm_init init)
{
    init.kind = LCSM_INIT_FILL;
    return lcsm_mix_param(m, name, shape, init, LCSM_MIX_SPACE);
}

/* ---- the three structures of A ---------------------------------------------------------- */

/* A diagonal, held for a step: e = 1, s = C (exp(dt A) - 1) / A, y = 2 Re. */
bool lcsm_s4d_states(const lcsm_mixer *m, lcsm_states *s)
{
    const lcsm_discretise_attr zoh = {.kind = LCSM_DISCRETISE_ZOH, .log_re = true};

    ptrdiff_t     K = state_count(m) / 2, D = m->D;
    lcsm_tensor  *u    = lcsm_mix_input(m);
    double        kind = m->cfg->s4_init;
    lcsm_tensor  *re   = space_param(m, "A_re_log", lcsm_dims(K, D),
                                     (lcsm_init){.a = kind, .b = 0, .fill = fill_diagonal});
    lcsm_tensor  *im   = space_param(m, "A_im", lcsm_dims(K, D),
                                     (lcsm_init){.a = kind, .b = 1, .fill = fill_diagonal});
    lcsm_tensor  *C    = lcsm_mix_param(m, "C", lcsm_dims(K, D, 2), lcsm_init_normal(sqrt(0.5)), 0);
    lcsm_discrete d    = lcsm_discretise(m->g, &zoh, re, im, lcsm_mix_log_dt(m, D), C);
    *s                 = (lcsm_states){.H          = 1,
                                       .K          = K,
                                       .D          = D,
                                       .i          = lcsm_per_token_d(u),
                                       .e          = lcsm_mix_ones(m, im),
                                       .s          = lcsm_static(d.coef, LCSM_AXIS_K | LCSM_AXIS_D),
                                       .full       = lcsm_static(d.log, LCSM_AXIS_K | LCSM_AXIS_D),
                                       .full_phase = lcsm_static(d.phase, LCSM_AXIS_K | LCSM_AXIS_D),
                                       .complex_s  = true,
                                       .scale      = 2};
    return d.coef != NULL && u != NULL;
}

/* Any A, bilinear: every channel a head with a dense o. */
static bool dense_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    N = state_count(m);
    lcsm_tensor *u = lcsm_mix_input(m);
    lcsm_tensor *A = space_param(m, "A", lcsm_dims(N, N), (lcsm_init){.fill = fill_hippo});
    lcsm_tensor *B = space_param(m, "B", lcsm_dims(N), (lcsm_init){.fill = fill_hippo});
    lcsm_tensor *C = lcsm_mix_param(m, "C", lcsm_dims(m->D, N), lcsm_init_normal(1), 0);

    lcsm_bilinear_tensors bar = lcsm_bilinear(m->g, A, B, lcsm_mix_log_dt(m, m->D));
    *s                        = (lcsm_states){.H     = m->D,
                                              .K     = N,
                                              .D     = 1,
                                              .i     = lcsm_per_token_d(u),
                                              .e     = lcsm_static(bar.B, LCSM_AXIS_K),
                                              .s     = lcsm_static(C, LCSM_AXIS_K),
                                              .dense = lcsm_static(bar.A, LCSM_AXIS_KK)};
    return bar.A != NULL && u != NULL;
}

/* A = diag(lambda) - P P^*, bilinear, O(N) a step: every channel a head over conjugate pairs. */
static lcsm_tensor *low_rank(const lcsm_mixer *m)
{
    const lcsm_low_rank_attr attr = {.log_re = true};

    lcsm_shape   pairs = lcsm_dims(m->D, state_count(m) / 2, 2);
    lcsm_tensor *u     = lcsm_mix_input(m);
    lcsm_tensor *lambda =
        space_param(m, "Lambda", pairs, (lcsm_init){.a = FILL_LAMBDA, .fill = fill_dplr});
    lcsm_tensor *P = space_param(m, "P", pairs, (lcsm_init){.a = FILL_P, .fill = fill_dplr});
    lcsm_tensor *B = space_param(m, "B", pairs, (lcsm_init){.a = FILL_B, .fill = fill_dplr});
    lcsm_tensor *C = lcsm_mix_param(m, "C", pairs, lcsm_init_normal(sqrt(0.5)), 0);

    lcsm_low_rank_tensors x = lcsm_low_rank(m->g, &attr, lambda, P, B, lcsm_mix_log_dt(m, m->D));
    lcsm_states           s = lcsm_low_rank_operands(&x, u, C);
    s.reset                 = m->reset;
    lcsm_tensor *y          = lcsm_recurrence(m->g, &s, NULL);
    if (!m->cfg->bidirectional) return y;
    if (!lcsm_mix_both_ways(m) || u == NULL) return NULL;
    s.reverse         = true;
    lcsm_tensor *back = lcsm_recurrence(m->g, &s, NULL);
    /* The step itself is in both: what sequences of one step give. */
    s.i.x              = lcsm_reshape(m->g, u, lcsm_dims(m->B * m->T, 1, m->D));
    lcsm_tensor *alone = lcsm_recurrence(m->g, &s, NULL);
    alone              = lcsm_reshape(m->g, alone, lcsm_dims(m->B, m->T, m->D));
    return lcsm_add(m->g, lcsm_add(m->g, y, back), lcsm_scale(m->g, alone, -1));
}

static lcsm_tensor *s4_output(const lcsm_mixer *m)
{
    switch (m->cfg->s4_kind) {
    case LCSM_S4_DIAGONAL: return lcsm_mix_recurrence(m, lcsm_s4d_states);
    case LCSM_S4_DENSE: return lcsm_mix_recurrence(m, dense_states);
    default: return low_rank(m);
    }
}

/* ---- blocks ----------------------------------------------------------------------------- */

/* W gelu(y + D u), of which one half gates the other. */
static lcsm_tensor *gated(const lcsm_mixer *m, lcsm_tensor *y)
{
    y = lcsm_mix_gelu(m, lcsm_mix_skip(m, y));
    y = lcsm_mix_project(m, y, "out", 2 * m->D, true);
    return lcsm_glu(m->g, LCSM_ACT_SIGMOID, lcsm_slice(m->g, y, 2, m->D, m->D),
                    lcsm_slice(m->g, y, 2, 0, m->D));
}

lcsm_tensor *lcsm_s4_mixer(const lcsm_mixer *m)
{
    return gated(m, s4_output(m));
}

lcsm_tensor *lcsm_s4_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, s4_output(m));
}

lcsm_tensor *lcsm_s4d_mixer(const lcsm_mixer *m)
{
    return gated(m, lcsm_mix_recurrence(m, lcsm_s4d_states));
}
