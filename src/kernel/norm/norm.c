/* norm.c - normalisations on vectors. A group is read two or three times; it stays in the first
 * cache, so memory sees it once. */
#include "kernel/norm/norm.h"
#include "kernel/vecmath.h"

typedef struct {
    real c, r, q;
} moments;

/* Sums of x[d] and of (x[d] - c)^2 with four chains of additions in flight. */
VEC_INLINE real sum(ptrdiff_t D, const real *x)
{
    vec       s[4] = {vzero(), vzero(), vzero(), vzero()};
    ptrdiff_t d    = 0;
    for (; d + 4 * VW <= D; d += 4 * VW)
        for (int j = 0; j < 4; j++) s[j] += vload(x + d + j * VW);
    for (; d < D; d += VW) s[0] += vload_m(x + d, D - d);
    return vsum((s[0] + s[1]) + (s[2] + s[3]));
}

VEC_INLINE real squares(ptrdiff_t D, const real *x, real c)
{
    vec       s[4] = {vzero(), vzero(), vzero(), vzero()};
    ptrdiff_t d    = 0;
    for (; d + 4 * VW <= D; d += 4 * VW)
        for (int j = 0; j < 4; j++) {
            vec v = vload(x + d + j * VW) - c;
            s[j] += v * v;
        }
    for (; d + VW <= D; d += VW) {
        vec v = vload(x + d) - c;
        s[0] += v * v;
    }
    real rest = 0;
    for (; d < D; d++) rest += (x[d] - c) * (x[d] - c);
    return vsum((s[0] + s[1]) + (s[2] + s[3])) + rest;
}

static moments measure(const R_(lcsm_norm) *n, const real *x)
{
    ptrdiff_t D = n->D;
    if (n->kind == LCSM_NORM_SUM) return (moments){0, 1 / (sum(D, x) + n->eps), 0};

    real c    = n->kind == LCSM_NORM_LAYER ? sum(D, x) / (real)D : 0;
    real ss   = squares(D, x, c);
    real mean = ss / (real)D;
    real q    = R_FN(sqrt)(mean);
    if (n->kind == LCSM_NORM_RMS_OUTSIDE) return (moments){c, 1 / (q + n->eps), q};
    if (n->kind == LCSM_NORM_L2) return (moments){c, 1 / R_FN(sqrt)(ss + n->eps), q};
    return (moments){c, 1 / R_FN(sqrt)(mean + n->eps), q};
}

/* A missing weight is 1, a missing bias 0. */
VEC_INLINE vec weight(const real *w, ptrdiff_t d, ptrdiff_t left)
{
    return w != NULL ? vload_m(w + d, left) : vset1(1);
}

VEC_INLINE vec bias(const real *b, ptrdiff_t d, ptrdiff_t left)
{
    return b != NULL ? vload_m(b + d, left) : vzero();
}

static void forward_group(const R_(lcsm_norm) *n, const real *w, const real *b, const real *x,
                          real *y)
{
    moments m = measure(n, x);
    for (ptrdiff_t d = 0; d < n->D; d += VW) {
        ptrdiff_t left = n->D - d;
        vec       h    = (vload_m(x + d, left) - m.c) * m.r;
        vstore_m(y + d, h * weight(w, d, left) + bias(b, d, left), left);
    }
}

/* Where group h of an array of weights begins; NULL stays NULL. */
#define AT(p, h) ((p) == NULL ? NULL : (p) + (h)*n->w_head)

static void forward(const R_(lcsm_norm) *n, const real *x, real *y)
{
    for (ptrdiff_t row = 0; row < n->rows; row++)
        for (ptrdiff_t h = 0; h < n->H; h++)
            forward_group(n, AT(n->w, h), AT(n->b, h), x + row * n->x_row + h * n->D,
                          y + row * n->y_row + h * n->D);
}

/* Adds the gradients of the weights and returns the sums of u and u h. */
VEC_INLINE void weigh(const R_(lcsm_norm) *n, const moments *m, const real *w, const real *x,
                      const real *g_y, real *g_w, real *g_b, real *su, real *suh)
{
    vec u_sum = vzero(), uh_sum = vzero();
    for (ptrdiff_t d = 0; d < n->D; d += VW) {
        ptrdiff_t left = n->D - d;
        vec       h    = (vload_m(x + d, left) - m->c) * m->r;
        vec       g    = vload_m(g_y + d, left);
        vec       u    = g * weight(w, d, left);
        u_sum += u;
        uh_sum += u * h;
        if (g_w != NULL) vput_m(g_w + d, g * h, left, true);
        if (g_b != NULL) vput_m(g_b + d, g, left, true);
    }
    *su  = vsum(u_sum);
    *suh = vsum(uh_sum);
}

static void backward_group(const R_(lcsm_norm) *n, const real *w, const real *x, const real *g_y,
                           real *g_x, bool add, real *g_w, real *g_b)
{
    real    D = (real)n->D, su, suh, a = 0, s;
    moments m = measure(n, x);
    weigh(n, &m, w, x, g_y, g_w, g_b, &su, &suh);
    if (g_x == NULL) return;

    s = suh / D;
    if (n->kind == LCSM_NORM_LAYER) a = su / D;
    if (n->kind == LCSM_NORM_RMS_OUTSIDE) s = m.q > 0 ? s / (m.r * m.q) : 0;
    if (n->kind == LCSM_NORM_L2) s = suh;
    if (n->kind == LCSM_NORM_SUM) a = suh, s = 0;
    for (ptrdiff_t d = 0; d < n->D; d += VW) {
        ptrdiff_t left = n->D - d;
        vec       h    = (vload_m(x + d, left) - m.c) * m.r;
        vec       u    = vload_m(g_y + d, left) * weight(w, d, left);
        vput_m(g_x + d, (u - a - h * s) * m.r, left, add);
    }
}

static void backward(const R_(lcsm_norm) *n, const real *x, const real *g_y, real *g_x, bool add,
                     real *g_w, real *g_b)
{
    for (ptrdiff_t row = 0; row < n->rows; row++)
        for (ptrdiff_t h = 0; h < n->H; h++) {
            ptrdiff_t in = row * n->x_row + h * n->D;
            backward_group(n, AT(n->w, h), x + in, g_y + row * n->y_row + h * n->D,
                           g_x == NULL ? NULL : g_x + in, add, AT(g_w, h), AT(g_b, h));
        }
}

const R_(lcsm_norm_kernels) K_(lcsm_norm_rows) = {forward, backward};
