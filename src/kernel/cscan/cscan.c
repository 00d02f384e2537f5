/* cscan.c - vectors of channels; what does not depend on the step is computed before. */
#include "kernel/cscan/cscan.h"
#include "kernel/vecmath.h"
#include "kernel/vecpair.h"

typedef R_(lcsm_cscan)       cscan;
typedef R_(lcsm_cscan_grads) grads;
typedef R_(lcsm_cscan_array) array;

VEC_INLINE pair at(const array *a, ptrdiff_t t, ptrdiff_t d, ptrdiff_t n)
{
    const real *p = a->p + t * a->t + d;
    return (pair){vload_m(p, n), vload_m(p + a->im, n)};
}

VEC_INLINE void put(const array *a, ptrdiff_t t, ptrdiff_t d, pair v, ptrdiff_t n, bool add)
{
    real *p = a->p + t * a->t + d;
    vput_m(p, v.re, n, add);
    vput_m(p + a->im, v.im, n, add);
}

/* The magnitudes, cosines and sines of static factors: three rows of D. */
static void prepare(const cscan *x, real *fixed)
{
    for (ptrdiff_t d = 0; d < x->D; d += VW) {
        ptrdiff_t n = x->D - d;
        vec       s, c;
        if (x->T == 0) return;
        vsincos(vload_m(x->phase.p + d, n), &s, &c);
        vstore_m(fixed + d, vexp(vload_m(x->log.p + d, n)), n);
        vstore_m(fixed + x->D + d, c, n);
        vstore_m(fixed + 2 * x->D + d, s, n);
    }
}

VEC_INLINE pair oscillation(const cscan *x, const real *fixed, ptrdiff_t t, ptrdiff_t d,
                            ptrdiff_t n)
{
    vec mag, c, s;
    if (x->log.t == 0) mag = vload_m(fixed + d, n);
    else mag = vexp(vload_m(x->log.p + t * x->log.t + d, n));
    if (x->phase.t == 0) {
        c = vload_m(fixed + x->D + d, n);
        s = vload_m(fixed + 2 * x->D + d, n);
    } else {
        vsincos(vload_m(x->phase.p + t * x->phase.t + d, n), &s, &c);
    }
    return (pair){mag * c, mag * s};
}

static void clear(real *p, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) p[j] = 0;
}

static void forward(const cscan *x, real *m, array h, real *ws)
{
    array memory = {m, 0, x->D};
    prepare(x, ws);
    for (ptrdiff_t t = 0; t < x->T; t++) {
        if (lcsm_resets_at(&x->resets, t)) clear(m, 2 * x->D);
        for (ptrdiff_t d = 0; d < x->D; d += VW) {
            ptrdiff_t n = x->D - d;
            pair      s = pair_mul(oscillation(x, ws, t, d, n), at(&memory, 0, d, n));
            pair      i = at(&x->x, t, d, n);
            s.re += i.re;
            s.im += i.im;
            put(&memory, 0, d, s, n, false);
            put(&h, t, d, s, n, false);
        }
    }
}

static void backward_step(const cscan *x, const array *before, ptrdiff_t b, const grads *g,
                          const real *fixed, const array *G, ptrdiff_t t)
{
    for (ptrdiff_t d = 0; d < x->D; d += VW) {
        ptrdiff_t n = x->D - d;
        pair      o = oscillation(x, fixed, t, d, n), g_h = at(&g->g_h, t, d, n);
        pair      v = at(G, 0, d, n);
        v.re += g_h.re;
        v.im += g_h.im;
        pair c = pair_conj_mul(pair_mul(o, at(before, b, d, n)), v);
        if (g->g_x.p != NULL) put(&g->g_x, t, d, v, n, g->add);
        if (g->g_log.p != NULL) vput_m(g->g_log.p + t * g->g_log.t + d, c.re, n, true);
        if (g->g_phase.p != NULL) vput_m(g->g_phase.p + t * g->g_phase.t + d, c.im, n, true);
        put(G, 0, d, pair_conj_mul(o, v), n, false);
    }
}

/* A step that starts a sequence has nothing before it, and hands nothing back. */
static void backward_start(const cscan *x, const grads *g, const array *G, ptrdiff_t t)
{
    for (ptrdiff_t d = 0; d < x->D && g->g_x.p != NULL; d += VW) {
        ptrdiff_t n = x->D - d;
        pair      v = at(G, 0, d, n), g_h = at(&g->g_h, t, d, n);
        put(&g->g_x, t, d, (pair){v.re + g_h.re, v.im + g_h.im}, n, g->add);
    }
    clear(G->p, 2 * x->D);
}

static void backward(const cscan *x, real *m, const grads *g, real *ws)
{
    array G = {ws + 3 * x->D, 0, x->D}, start = {m, 0, x->D};
    prepare(x, ws);
    clear(G.p, 2 * x->D);
    for (ptrdiff_t t = x->T - 1; t >= 0; t--) {
        if (lcsm_resets_at(&x->resets, t)) backward_start(x, g, &G, t);
        else backward_step(x, t > 0 ? &g->h : &start, t - 1, g, ws, &G, t);
    }
}

const R_(lcsm_cscan_kernels) K_(lcsm_cscan_steps) = {forward, backward};
