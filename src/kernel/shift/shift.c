/* shift.c - token shift on vectors of channels. */
#include "kernel/shift/shift.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_shift) shift;

VEC_INLINE vec row(const real *p, ptrdiff_t d, ptrdiff_t left)
{
    return p != NULL ? vload_m(p + d, left) : vzero();
}

static void forward(const shift *s, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t t = t0; t < t1; t++) {
        const real *x = s->x + t * s->x_t, *before = R_(lcsm_shift_before)(s, t);
        for (ptrdiff_t d = 0; d < s->D; d += VW) {
            ptrdiff_t left = s->D - d;
            vec       p    = row(before, d, left);
            vec       v    = p + vload_m(s->mu + d, left) * (vload_m(x + d, left) - p);
            vstore_m(y + t * y_t + d, v, left);
        }
    }
}

static void backward(const shift *s, ptrdiff_t t0, ptrdiff_t t1, const real *g_y, ptrdiff_t g_y_t,
                     real *g_x, ptrdiff_t g_x_t, bool add, real *g_mu)
{
    for (ptrdiff_t t = t0; t < t1; t++) {
        const real *x = s->x + t * s->x_t, *before = R_(lcsm_shift_before)(s, t);
        const real *g = g_y + t * g_y_t;
        const real *next =
            t + 1 < s->T && R_(lcsm_shift_before)(s, t + 1) != NULL ? g + g_y_t : NULL;
        for (ptrdiff_t d = 0; d < s->D; d += VW) {
            ptrdiff_t left = s->D - d;
            vec       gv   = vload_m(g + d, left);
            vec       mu   = vload_m(s->mu + d, left);
            vec       v    = mu * gv + (1 - mu) * row(next, d, left);
            vec       diff = vload_m(x + d, left) - row(before, d, left);
            if (g_x != NULL) vput_m(g_x + t * g_x_t + d, v, left, add);
            if (g_mu != NULL) vput_m(g_mu + d, gv * diff, left, true);
        }
    }
}

const R_(lcsm_shift_kernels) K_(lcsm_shift_steps) = {forward, backward};
