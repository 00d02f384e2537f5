/* cscan_ref.c - the definition: one channel after the other. */
#include "kernel/complex.h"
#include "kernel/cscan/cscan.h"

typedef R_(lcsm_cscan)       cscan;
typedef R_(lcsm_cscan_grads) grads;
typedef R_(lcsm_cscan_array) array;

static cplx at(const array *a, ptrdiff_t t, ptrdiff_t d)
{
    const real *p = a->p + t * a->t + d;
    return (cplx){p[0], p[a->im]};
}

static cplx oscillation(const cscan *x, ptrdiff_t t, ptrdiff_t d)
{
    real mag = R_FN(exp)(x->log.p[t * x->log.t + d]), phi = x->phase.p[t * x->phase.t + d];
    return (cplx){mag * R_FN(cos)(phi), mag * R_FN(sin)(phi)};
}

static void forward(const cscan *x, real *m, array h, real *ws)
{
    (void)ws;
    for (ptrdiff_t d = 0; d < x->D; d++) {
        cplx s = {m[d], m[x->D + d]};
        for (ptrdiff_t t = 0; t < x->T; t++) {
            cplx in = at(&x->x, t, d);
            if (lcsm_resets_at(&x->resets, t)) s = (cplx){0, 0};
            s = cplx_mul(oscillation(x, t, d), s);
            s = (cplx){s.re + in.re, s.im + in.im};

            real *out = h.p + t * h.t + d;
            out[0]    = s.re;
            out[h.im] = s.im;
        }
        m[d]        = s.re;
        m[x->D + d] = s.im;
    }
}

static void backward(const cscan *x, real *m, const grads *g, real *ws)
{
    (void)ws;
    for (ptrdiff_t d = 0; d < x->D; d++) {
        cplx G = {0, 0};
        for (ptrdiff_t t = x->T - 1; t >= 0; t--) {
            bool empty  = lcsm_resets_at(&x->resets, t);
            cplx before = t > 0 ? at(&g->h, t - 1, d) : (cplx){m[d], m[x->D + d]};
            cplx o = oscillation(x, t, d), g_h = at(&g->g_h, t, d);
            if (empty) o = (cplx){0, 0};
            G      = (cplx){G.re + g_h.re, G.im + g_h.im};
            cplx c = cplx_conj_mul(cplx_mul(o, before), G);
            if (g->g_x.p != NULL) {
                real *to      = g->g_x.p + t * g->g_x.t + d;
                to[0]         = G.re + (g->add ? to[0] : 0);
                to[g->g_x.im] = G.im + (g->add ? to[g->g_x.im] : 0);
            }
            if (g->g_log.p != NULL) g->g_log.p[t * g->g_log.t + d] += c.re;
            if (g->g_phase.p != NULL) g->g_phase.p[t * g->g_phase.t + d] += c.im;
            G = cplx_conj_mul(o, G);
        }
    }
}

const R_(lcsm_cscan_kernels) K_(lcsm_cscan_steps) = {forward, backward};
