/* shift_ref.c - the definition of the token shift. */
#include "kernel/shift/shift.h"

static void forward(const R_(lcsm_shift) *s, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t t = t0; t < t1; t++) {
        const real *x = s->x + t * s->x_t, *before = R_(lcsm_shift_before)(s, t);
        for (ptrdiff_t d = 0; d < s->D; d++) {
            real p         = before != NULL ? before[d] : 0;
            y[t * y_t + d] = p + s->mu[d] * (x[d] - p);
        }
    }
}

static void backward(const R_(lcsm_shift) *s, ptrdiff_t t0, ptrdiff_t t1, const real *g_y,
                     ptrdiff_t g_y_t, real *g_x, ptrdiff_t g_x_t, bool add, real *g_mu)
{
    for (ptrdiff_t t = t0; t < t1; t++) {
        const real *x = s->x + t * s->x_t, *before = R_(lcsm_shift_before)(s, t);
        const real *g = g_y + t * g_y_t;
        const real *next =
            t + 1 < s->T && R_(lcsm_shift_before)(s, t + 1) != NULL ? g + g_y_t : NULL;
        for (ptrdiff_t d = 0; d < s->D; d++) {
            real p = before != NULL ? before[d] : 0;
            real v = s->mu[d] * g[d];
            if (next != NULL) v += (1 - s->mu[d]) * next[d];
            if (g_x != NULL) g_x[t * g_x_t + d] = add ? g_x[t * g_x_t + d] + v : v;
            if (g_mu != NULL) g_mu[d] += g[d] * (x[d] - p);
        }
    }
}

const R_(lcsm_shift_kernels) K_(lcsm_shift_steps) = {forward, backward};
