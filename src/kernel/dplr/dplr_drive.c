/* dplr_drive.c - coefficients from parameters, and gradients back. */
#include "kernel/dplr/dplr_drive.h"

#include <string.h>

#include "base/cplx.h"

typedef R_(lcsm_dplr_form)   form;
typedef R_(lcsm_dplr_params) params;
typedef R_(lcsm_dplr_pairs)  pairs;

enum { LANES = LCSM_DPLR_LANES };

/* What all states of a channel share. */
typedef struct {
    double g, den; /* 2 / dt, and 1 + P^* D0 P */
} channel;

/* One state. */
typedef struct {
    lcsm_cplx lambda, P, B, D0;
} state;

static lcsm_cplx pair_at(pairs a, ptrdiff_t j)
{
    const real *p = a.p + j * a.ld;
    return (lcsm_cplx){(double)p[0], (double)p[1]};
}

static void pair_add(pairs a, ptrdiff_t j, lcsm_cplx v)
{
    if (a.p == NULL) return;
    a.p[j * a.ld] += (real)v.re;
    a.p[j * a.ld + 1] += (real)v.im;
}

static state state_at(form f, const params *x, ptrdiff_t at, double g)
{
    state s = {.lambda = pair_at(x->lambda, at), .P = pair_at(x->P, at), .B = pair_at(x->B, at)};
    if (f.log_re) s.lambda.re = -exp(s.lambda.re);
    s.D0 = lcsm_crcp((lcsm_cplx){g - s.lambda.re, -s.lambda.im}, 0);
    return s;
}

static channel channel_at(form f, const params *x, ptrdiff_t d)
{
    channel c = {2 * exp(-(double)x->log_dt[d]), 1};
    for (ptrdiff_t j = 0; j < f.M; j++) {
        state s = state_at(f, x, d * f.M + j, c.g);
        c.den += 2 * lcsm_cnorm(s.P) * s.D0.re;
    }
    return c;
}

static void put(real *coef, int row, lcsm_cplx v)
{
    coef[row * LANES]       = (real)v.re;
    coef[(row + 1) * LANES] = (real)v.im;
}

static void channel_coef(form f, const params *x, ptrdiff_t d, real *coef)
{
    channel c    = channel_at(f, x, d);
    double  beta = 0;
    for (ptrdiff_t j = 0; j < f.M; j++, coef += LCSM_DPLR_ROWS * LANES) {
        ptrdiff_t at = d * f.M + j;
        state     s  = state_at(f, x, at, c.g);
        lcsm_cplx h  = lcsm_conj_mul(s.P, s.D0);
        put(coef, LCSM_DPLR_A, lcsm_cmul((lcsm_cplx){c.g + s.lambda.re, s.lambda.im}, s.D0));
        put(coef, LCSM_DPLR_W, lcsm_cmul(s.D0, s.P));
        put(coef, LCSM_DPLR_B, lcsm_cscale(2, lcsm_cmul(s.D0, s.B)));
        put(coef, LCSM_DPLR_V, lcsm_cscale(2 * c.g / c.den, h));
        put(coef, LCSM_DPLR_C, pair_at(x->C, at));
        beta += 4 / c.den * lcsm_cmul(h, s.B).re;
    }
    *coef = (real)beta;
}

void R_(lcsm_dplr_coef)(form f, const params *x, ptrdiff_t d, ptrdiff_t n, real *coef)
{
    memset(coef, 0, LCSM_DPLR_COEF(f.M) * sizeof(real));
    for (ptrdiff_t lane = 0; lane < n; lane++) channel_coef(f, x, d + lane, coef + lane);
}

/* ---- gradients ---- */

static lcsm_cplx row_at(const real *g, int row)
{
    return (lcsm_cplx){(double)g[row * LANES], (double)g[(row + 1) * LANES]};
}

/* The gradient of den: all of v and beta are divided by it. */
static double den_bwd(form f, const params *x, ptrdiff_t d, channel c, const real *g, double g_beta)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < f.M; j++, g += LCSM_DPLR_ROWS * LANES) {
        state     s = state_at(f, x, d * f.M + j, c.g);
        lcsm_cplx h = lcsm_conj_mul(s.P, s.D0);
        sum -= 2 * c.g * lcsm_conj_mul(h, row_at(g, LCSM_DPLR_V)).re;
        sum -= 4 * g_beta * lcsm_cmul(h, s.B).re;
    }
    return sum / (c.den * c.den);
}

/* The gradients of one state, in the order of the formulas of dplr.h read backwards; h = conj(P)
 * D0. Returns the share of the gradient of g = 2 / dt. */
static double state_bwd(form f, const params *x, ptrdiff_t at, channel c, const real *g,
                        double g_beta, double g_den, const params *to)
{
    state     s = state_at(f, x, at, c.g);
    lcsm_cplx h = lcsm_conj_mul(s.P, s.D0), sum = {c.g + s.lambda.re, s.lambda.im};
    lcsm_cplx g_a = row_at(g, LCSM_DPLR_A), g_w = row_at(g, LCSM_DPLR_W);
    lcsm_cplx g_b = row_at(g, LCSM_DPLR_B), g_v = row_at(g, LCSM_DPLR_V);
    lcsm_cplx g_h   = lcsm_cscale(2 * c.g / c.den, g_v);
    g_h             = lcsm_cadd(g_h, lcsm_cscale(4 / c.den * g_beta, lcsm_conj(s.B)));
    lcsm_cplx g_sum = lcsm_conj_mul(s.D0, g_a);

    lcsm_cplx g_D0 = lcsm_conj_mul(sum, g_a);
    g_D0           = lcsm_cadd(g_D0, lcsm_conj_mul(s.P, g_w));
    g_D0           = lcsm_cadd(g_D0, lcsm_cscale(2, lcsm_conj_mul(s.B, g_b)));
    g_D0           = lcsm_cadd(g_D0, lcsm_cmul(s.P, g_h));
    g_D0.re += 2 * lcsm_cnorm(s.P) * g_den;
    lcsm_cplx g_inverse = lcsm_conj_mul(lcsm_cmul(s.D0, s.D0), g_D0); /* of lambda - g */

    lcsm_cplx g_P = lcsm_conj_mul(s.D0, g_w);
    g_P           = lcsm_cadd(g_P, lcsm_cmul(s.D0, lcsm_conj(g_h)));
    g_P           = lcsm_cadd(g_P, lcsm_cscale(4 * s.D0.re * g_den, s.P));

    lcsm_cplx g_B = lcsm_cscale(2, lcsm_conj_mul(s.D0, g_b));
    g_B           = lcsm_cadd(g_B, lcsm_cscale(4 / c.den * g_beta, lcsm_conj(h)));

    lcsm_cplx g_lambda = lcsm_cadd(g_sum, g_inverse);
    if (f.log_re) g_lambda.re *= s.lambda.re;
    pair_add(to->lambda, at, g_lambda);
    pair_add(to->P, at, g_P);
    pair_add(to->B, at, g_B);
    pair_add(to->C, at, row_at(g, LCSM_DPLR_C));
    return g_sum.re - g_inverse.re + 2 / c.den * lcsm_conj_mul(h, g_v).re;
}

static void channel_bwd(form f, const params *x, ptrdiff_t d, const real *g, const params *to)
{
    channel c      = channel_at(f, x, d);
    double  g_beta = (double)g[LCSM_DPLR_ROWS * LANES * f.M];
    double  g_den = den_bwd(f, x, d, c, g, g_beta), g_g = 0;
    for (ptrdiff_t j = 0; j < f.M; j++, g += LCSM_DPLR_ROWS * LANES)
        g_g += state_bwd(f, x, d * f.M + j, c, g, g_beta, g_den, to);
    if (to->log_dt != NULL) to->log_dt[d] += (real)(-c.g * g_g);
}

void R_(lcsm_dplr_coef_bwd)(form f, const params *x, ptrdiff_t d, ptrdiff_t n, const real *g_coef,
                            const params *g)
{
    for (ptrdiff_t lane = 0; lane < n; lane++) channel_bwd(f, x, d + lane, g_coef + lane, g);
}
