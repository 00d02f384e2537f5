/* eos_mean.c - vectors of channels; the memory of all of them stays in the first cache from step to
 * step. */
#include "kernel/eos/mean/eos_mean.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_eos_mean)        mean;
typedef R_(lcsm_eos_mean_memory) memory;
typedef R_(lcsm_eos_mean_grads)  grads;

/* exp(a - max) and exp(b - max) by one exponential: the larger of the two is 1. */
VEC_INLINE vec shifted(vec a, vec b, vec *ea, vec *eb)
{
    vec  d = a - b, e = vexp(-vabs(d)), one = vset1(1);
    ivec first = d > vzero();
    *ea        = vselect(first, one, e);
    *eb        = vselect(first, e, one);
    return vmax(a, b);
}

static void fill(real *p, ptrdiff_t n, real x)
{
    for (ptrdiff_t d = 0; d < n; d++) p[d] = x;
}

/* Empties the memory and the two arrays that go with it, if this step starts a sequence. */
static void reset(const mean *x, ptrdiff_t t, memory m, real *a, real *b)
{
    if (!lcsm_resets_at(&x->resets, t)) return;
    fill(m.p, x->D, 0);
    fill(m.q, x->D, 0);
    fill(m.o, x->D, LCSM_MEAN_EMPTY);
    if (a != NULL) fill(a, x->D, 0);
    if (b != NULL) fill(b, x->D, 0);
}

static void forward(const mean *x, memory m, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t t = 0; t < x->T; t++) {
        const real *kt = x->k + t * x->k_t, *vt = x->v + t * x->v_t;
        reset(x, t, m, NULL, NULL);
        for (ptrdiff_t d = 0; d < x->D; d += VW) {
            ptrdiff_t n = x->D - d;
            vec       k = vload_m(kt + d, n), v = vload_m(vt + d, n), a, b;
            vec       p = vload_m(m.p + d, n), q = vload_m(m.q + d, n), o = vload_m(m.o + d, n);
            shifted(o, vload_m(x->u + d, n) + k, &a, &b);
            vstore_m(y + t * y_t + d, (a * p + b * v) * vrcp(a * q + b), n);
            o = shifted(vload_m(x->w + d, n) + o, k, &a, &b);
            vstore_m(m.p + d, a * p + b * v, n);
            vstore_m(m.q + d, a * q + b, n);
            vstore_m(m.o + d, o, n);
        }
    }
}

/* The forward sweep: the gradient of w, and the logarithms of the denominators. */
static void sweep(const mean *x, memory m, const grads *g, real *log_den, real *dp, real *dq)
{
    for (ptrdiff_t t = 0; t < x->T; t++) {
        const real *kt = x->k + t * x->k_t, *vt = x->v + t * x->v_t;
        const real *yt = g->y + t * g->y_t, *gt = g->g_y + t * g->g_y_t;
        reset(x, t, m, dp, dq);
        for (ptrdiff_t d = 0; d < x->D; d += VW) {
            ptrdiff_t n = x->D - d;
            vec       k = vload_m(kt + d, n), v = vload_m(vt + d, n), a, b;
            vec       p = vload_m(m.p + d, n), q = vload_m(m.q + d, n), o = vload_m(m.o + d, n);
            vec       p_w = vload_m(dp + d, n), q_w = vload_m(dq + d, n);
            vec       max = shifted(o, vload_m(x->u + d, n) + k, &a, &b);
            vec       den = a * q + b;
            vec       g_w = vload_m(gt + d, n) * a * vrcp(den) * (p_w - vload_m(yt + d, n) * q_w);
            vstore_m(log_den + t * x->D + d, max + vlog(den), n);
            vput_m(g->g_w + d, g_w, n, true);
            o = shifted(vload_m(x->w + d, n) + o, k, &a, &b);
            vstore_m(dp + d, a * (p + p_w), n);
            vstore_m(dq + d, a * (q + q_w), n);
            vstore_m(m.p + d, a * p + b * v, n);
            vstore_m(m.q + d, a * q + b, n);
            vstore_m(m.o + d, o, n);
        }
    }
}

/* The reverse sweep; r holds gp, gq and O. */
static void sweep_back(const mean *x, memory r, const grads *g, const real *log_den)
{
    for (ptrdiff_t t = x->T - 1; t >= 0; t--) {
        const real *kt = x->k + t * x->k_t, *vt = x->v + t * x->v_t;
        const real *yt = g->y + t * g->y_t, *gt = g->g_y + t * g->g_y_t;
        for (ptrdiff_t d = 0; d < x->D; d += VW) {
            ptrdiff_t n = x->D - d;
            vec       k = vload_m(kt + d, n), v = vload_m(vt + d, n);
            vec       y = vload_m(yt + d, n), gy = vload_m(gt + d, n);
            vec       L  = vload_m(log_den + t * x->D + d, n);
            vec       gp = vload_m(r.p + d, n), gq = vload_m(r.q + d, n), O = vload_m(r.o + d, n);
            vec       b = gy * vexp(vload_m(x->u + d, n) + k - L), a = vexp(k + O), old, now;
            vec       bd = b * (v - y);
            vput_m(g->g_u + d, bd, n, true);
            if (g->g_k != NULL)
                vput_m(g->g_k + t * g->g_k_t + d, bd + a * (gp * v + gq), n, g->add_k);
            if (g->g_v != NULL) vput_m(g->g_v + t * g->g_v_t + d, b + a * gp, n, g->add_v);
            O = shifted(vload_m(x->w + d, n) + O, -L, &old, &now);
            now *= gy;
            vstore_m(r.p + d, old * gp + now, n);
            vstore_m(r.q + d, old * gq - now * y, n);
            vstore_m(r.o + d, O, n);
        }
        reset(x, t, r, NULL, NULL);
    }
}

/* What comes after depends on w by the memory that is left. */
static void add_after(const mean *x, memory m, memory r, const grads *g, const real *dp,
                      const real *dq)
{
    for (ptrdiff_t d = 0; d < x->D; d += VW) {
        ptrdiff_t n  = x->D - d;
        vec       gp = vload_m(r.p + d, n), gq = vload_m(r.q + d, n);
        vec       size = vexp(vload_m(m.o + d, n) + vload_m(r.o + d, n));
        vput_m(g->g_w + d, size * (gp * vload_m(dp + d, n) + gq * vload_m(dq + d, n)), n, true);
    }
}

static void backward(const mean *x, memory m, memory r, const grads *g, real *ws)
{
    ptrdiff_t D  = x->D;
    real     *dp = ws, *dq = ws + D, *log_den = ws + 2 * D;
    fill(dp, 2 * D, 0);
    sweep(x, m, g, log_den, dp, dq);
    add_after(x, m, r, g, dp, dq);
    sweep_back(x, r, g, log_den);
}

const R_(lcsm_eos_mean_kernels) K_(lcsm_eos_mean_steps) = {forward, backward};
