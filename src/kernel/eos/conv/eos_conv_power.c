/*
 * eos_conv_power.c - series and sums in the powers of a static o.
 *
 * Powers run by multiplication over a few steps and start again from exp(l log o), which is
 * evaluated in double: so their error does not grow with l.
 */
#include "kernel/eos/conv/eos_conv_power.h"

#include <math.h>

enum { ROWS = 4, STEPS = 32 };

void K_(lcsm_powers_plan)(powers *w, const seq *x, pieces *c)
{
    pieces none = {0};
    *w          = (powers){.T = x->T};
    K_(lcsm_scan_plan)(&w->p, x, 1, 1, 1, 1, 1, &none);
    w->Kp       = (x->K + ROWS - 1) / ROWS * ROWS;
    w->Dv       = (x->D + VW - 1) / VW * VW;
    size_t size = (size_t)(w->Kp * w->Dv), wide = size * (sizeof(double) / sizeof(real));
    w->log   = (double *)(void *)carve(c, wide);
    w->phase = (double *)(void *)carve(c, wide);
    w->o[RE] = carve(c, size);
    w->o[IM] = x->is_complex ? carve(c, size) : NULL;
}

/* ---- log o ------------------------------------------------------------------------------- */

typedef struct {
    const view *v[3];
} sources;

/* The sum of three static views in double. */
static void add_views(const powers *w, sources s, ptrdiff_t k, ptrdiff_t d, double *to)
{
    for (int f = 0; f < 3; f++) {
        vec x = view_load(w->p.x, s.v[f], 0, k, d);
        for (int j = 0; j < VW; j++) to[j] += (double)x[j];
    }
}

static void add_generated(const powers *w, ptrdiff_t k, ptrdiff_t d, double *to)
{
    const seq *x = w->p.x;
    vec        u = view_load(x, &x->u, 0, k, d), v = view_load(x, &x->w, 0, k, d);
    for (int j = 0; j < VW; j++) {
        double z = (double)u[j] * (double)v[j];
        if (x->gen == LCSM_GEN_EXP) to[j] += z;
        else if (x->gen == LCSM_GEN_COMPLEMENT) to[j] += log1p(-z);
        else to[j] += (fmin(z, 0) - log1p(exp(-fabs(z)))) / (double)x->tau;
    }
}

void K_(lcsm_powers_fill)(const powers *w)
{
    const seq *x    = w->p.x;
    size_t     size = (size_t)(w->Kp * w->Dv) * sizeof(double);
    memset(w->log, 0, size);
    memset(w->phase, 0, size);
    for (ptrdiff_t k = 0; k < w->Kp; k++)
        for (ptrdiff_t d = 0; d < w->Dv; d += VW) {
            ptrdiff_t at = k * w->Dv + d;
            add_views(w, (sources){{&x->row, &x->col, &x->full}}, k, d, w->log + at);
            add_views(w, (sources){{&x->row_phase, &x->col_phase, &x->full_phase}}, k, d,
                      w->phase + at);
            if (x->gen != LCSM_GEN_NONE && k < x->K) add_generated(w, k, d, w->log + at);
            pair_store(w->o, at, K_(lcsm_power)(w, k, d, 1));
        }
}

pair K_(lcsm_power)(const powers *w, ptrdiff_t k, ptrdiff_t d, ptrdiff_t l)
{
    pair p = {vset1(1), vzero()};
    vec  o[2];
    if (l == 0) return p;
    K_(lcsm_still_power)(w->log + k * w->Dv + d, w->phase + k * w->Dv + d, (double)l, o);
    return (pair){o[RE], w->o[IM] == NULL ? vzero() : o[IM]};
}

pair K_(lcsm_power_other)(const powers *w, ptrdiff_t k, ptrdiff_t d)
{
    const seq *x       = w->p.x;
    double     log[VW] = {0};
    vec        o[2];
    add_views(w, (sources){{&x->row, &x->col, &x->full}}, k, d, log);
    K_(lcsm_still_power)(log, w->phase + k * w->Dv + d, 1, o);
    return (pair){o[RE], w->o[IM] == NULL ? vzero() : o[IM]};
}

/* ---- series and sums ---------------------------------------------------------------------- */

VEC_INLINE pair step(pair p, pair o, bool is_complex)
{
    if (is_complex) return pair_mul(p, o);
    p.re *= o.re;
    return p;
}

VEC_INLINE void series_tile(const powers *w, real *const a[2], ptrdiff_t k, ptrdiff_t d,
                            bool is_complex, real *f)
{
    pair coef[ROWS], o[ROWS], p[ROWS];
    SCAN_EACH(r, ROWS)
    {
        coef[r] = pair_load(a, (k + r) * w->Dv + d);
        o[r]    = pair_load(w->o, (k + r) * w->Dv + d);
    }
    for (ptrdiff_t start = 0; start < w->T; start += STEPS) {
        ptrdiff_t end           = w->T - start < STEPS ? w->T : start + STEPS;
        SCAN_EACH(r, ROWS) p[r] = K_(lcsm_power)(w, k + r, d, start);
        for (ptrdiff_t l = start; l < end; l++) {
            vec sum = vload(f + l * w->Dv + d);
            SCAN_EACH(r, ROWS)
            {
                sum += coef[r].re * p[r].re;
                if (is_complex) sum -= coef[r].im * p[r].im;
                p[r] = step(p[r], o[r], is_complex);
            }
            vstore(f + l * w->Dv + d, sum);
        }
    }
}

void K_(lcsm_power_series)(const powers *w, real *const a[2], real *f)
{
    memset(f, 0, (size_t)(w->T * w->Dv) * sizeof(real));
    for (ptrdiff_t d = 0; d < w->Dv; d += VW)
        for (ptrdiff_t k = 0; k < w->Kp; k += ROWS) {
            if (w->o[IM] == NULL) series_tile(w, a, k, d, false, f);
            else series_tile(w, a, k, d, true, f);
        }
}

/* The derivative of sum_l f_l o^l is sum_l (l + 1) f_{l+1} o^l. */
VEC_INLINE void sums_tile(const powers *w, const real *f, ptrdiff_t f_l, ptrdiff_t k, ptrdiff_t d,
                          bool is_complex, real *const q[2], real *const dq[2])
{
    pair o[ROWS], p[ROWS], sum[ROWS], slope[ROWS];
    SCAN_EACH(r, ROWS)
    {
        o[r]   = pair_load(w->o, (k + r) * w->Dv + d);
        sum[r] = slope[r] = (pair){vzero(), vzero()};
    }
    for (ptrdiff_t start = 0; start < w->T; start += STEPS) {
        ptrdiff_t end           = w->T - start < STEPS ? w->T : start + STEPS;
        SCAN_EACH(r, ROWS) p[r] = K_(lcsm_power)(w, k + r, d, start);
        for (ptrdiff_t l = start; l < end; l++) {
            vec x = vload(f + l * f_l + d), next = vzero();
            if (l + 1 < w->T) next = vload(f + (l + 1) * f_l + d) * (real)(l + 1);
            SCAN_EACH(r, ROWS)
            {
                sum[r].re += x * p[r].re;
                slope[r].re += next * p[r].re;
                if (is_complex) {
                    sum[r].im += x * p[r].im;
                    slope[r].im += next * p[r].im;
                }
                p[r] = step(p[r], o[r], is_complex);
            }
        }
    }
    SCAN_EACH(r, ROWS)
    {
        pair_store(q, (k + r) * w->Dv + d, sum[r]);
        pair_store(dq, (k + r) * w->Dv + d, slope[r]);
    }
}

void K_(lcsm_power_sums)(const powers *w, const real *f, ptrdiff_t f_l, real *const q[2],
                         real *const dq[2])
{
    for (ptrdiff_t d = 0; d < w->Dv; d += VW)
        for (ptrdiff_t k = 0; k < w->Kp; k += ROWS) {
            if (w->o[IM] == NULL) sums_tile(w, f, f_l, k, d, false, q, dq);
            else sums_tile(w, f, f_l, k, d, true, q, dq);
        }
}
