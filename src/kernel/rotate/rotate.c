/*
 * rotate.c - rotations on vectors.
 *
 * For PAIRS the table holds c_0 c_0 c_1 c_1 ... and -s_0 s_0 -s_1 s_1 ..., so that a turn is
 * x C + swap(x) S with one shuffle; for the other kinds c and s as they are.
 */
#include "kernel/rotate/rotate.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_rotate) rotate;

/* The first m <= VW angles. In float they are reduced by whole turns; libm's double functions do
 * that themselves. */
VEC_INLINE vec angles(double position, const real *theta, ptrdiff_t m)
{
    vec v = vzero();
    for (ptrdiff_t j = 0; j < m; j++) {
        double a = position * (double)theta[j];
#if !LCSM_REAL_IS_DOUBLE
        const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
        a -= ((a * 0.15915494309189533577 + round) - round) * 6.2831853071795864769;
#endif
        v[j] = (real)a;
    }
    return v;
}

static void table(lcsm_rotate_kind kind, ptrdiff_t n, double position, const real *theta, real *c,
                  real *s)
{
    for (ptrdiff_t j = 0; j < n; j += VW) {
        ptrdiff_t m = n - j < VW ? n - j : VW;
        vec       vs, vc;
        vsincos(angles(position, theta + j, m), &vs, &vc);
        if (kind == LCSM_ROTATE_PAIRS) {
            for (ptrdiff_t l = 0; l < m; l++) {
                c[2 * (j + l)] = c[2 * (j + l) + 1] = vc[l];
                s[2 * (j + l)]                      = -vs[l];
                s[2 * (j + l) + 1]                  = vs[l];
            }
        } else {
            vstore_m(c + j, vc, m);
            vstore_m(s + j, vs, m);
        }
    }
}

/* The number of entries of the table that a head uses. */
VEC_INLINE ptrdiff_t entries(const rotate *r)
{
    return r->kind == LCSM_ROTATE_HALVES ? r->K / 2 : r->K;
}

VEC_INLINE ptrdiff_t table_head(const rotate *r)
{
    return r->kind == LCSM_ROTATE_PAIRS ? 2 * r->head : r->head;
}

static void apply(const rotate *r, const real *x, real *y)
{
    ptrdiff_t n = entries(r), out = r->kind == LCSM_ROTATE_DOUBLE ? 2 * r->K : r->K;
    for (ptrdiff_t h = 0; h < r->H; h++) {
        const real *c = r->c + h * table_head(r), *s = r->s + h * table_head(r);
        const real *xh = x + h * r->K;
        real       *yh = y + h * out;
        for (ptrdiff_t j = 0; j < n; j += VW) {
            ptrdiff_t left = n - j;
            vec a = vload_m(xh + j, left), vc = vload_m(c + j, left), vs = vload_m(s + j, left);
            if (r->kind == LCSM_ROTATE_PAIRS) {
                vstore_m(yh + j, a * vc + vswap(a) * vs, left);
            } else if (r->kind == LCSM_ROTATE_HALVES) {
                vec b = vload_m(xh + n + j, left);
                vstore_m(yh + j, a * vc - b * vs, left);
                vstore_m(yh + n + j, b * vc + a * vs, left);
            } else {
                vstore_m(yh + j, a * vc, left);
                vstore_m(yh + n + j, a * vs, left);
            }
        }
    }
}

/* g_theta of m angles `step` lanes apart. */
VEC_INLINE void add_theta(double *g_theta, double position, vec g_angle, ptrdiff_t m, int step)
{
    for (ptrdiff_t l = 0; l < m && l < VW / step; l++)
        g_theta[l] += position * (double)g_angle[l * step];
}

/* The angle's gradient is g_second y_first - g_first y_second, with y from x. */
VEC_INLINE void back_pairs(const rotate *r, const real *c, const real *s, const real *x,
                           const real *g_y, real *g_x, bool add, double *g_theta)
{
    for (ptrdiff_t j = 0; j < r->K; j += VW) {
        ptrdiff_t left = r->K - j;
        vec       vc = vload_m(c + j, left), vs = vload_m(s + j, left);
        vec       g = vload_m(g_y + j, left);
        if (g_theta != NULL) {
            vec a = vload_m(x + j, left), y = a * vc + vswap(a) * vs;
            vec cross = vswap(g) * y;
            add_theta(g_theta + j / 2, r->position, cross - vswap(cross), (left + 1) / 2, 2);
        }
        if (g_x != NULL) vput_m(g_x + j, g * vc - vswap(g) * vs, left, add);
    }
}

/* HALVES, and DOUBLE as the turn of (x, 0) whose second result is dropped. */
VEC_INLINE void back_halves(const rotate *r, bool twice, const real *c, const real *s,
                            const real *x, const real *g_y, real *g_x, bool add, double *g_theta)
{
    ptrdiff_t J = twice ? r->K : r->K / 2;
    for (ptrdiff_t j = 0; j < J; j += VW) {
        ptrdiff_t left = J - j;
        vec       vc = vload_m(c + j, left), vs = vload_m(s + j, left);
        vec       g = vload_m(g_y + j, left), k = vload_m(g_y + J + j, left);
        if (g_theta != NULL) {
            vec a = vload_m(x + j, left), b = twice ? vzero() : vload_m(x + J + j, left);
            vec g_angle = k * (a * vc - b * vs) - g * (b * vc + a * vs);
            add_theta(g_theta + j, r->position, g_angle, left, 1);
        }
        if (g_x == NULL) continue;
        vput_m(g_x + j, g * vc + k * vs, left, add);
        if (!twice) vput_m(g_x + J + j, k * vc - g * vs, left, add);
    }
}

static void back(const rotate *r, const real *x, const real *g_y, real *g_x, bool add,
                 double *g_theta)
{
    bool twice = r->kind == LCSM_ROTATE_DOUBLE;
    for (ptrdiff_t h = 0; h < r->H; h++) {
        const real *c = r->c + h * table_head(r), *s = r->s + h * table_head(r);
        const real *xh = x == NULL ? NULL : x + h * r->K;
        const real *gy = g_y + h * (twice ? 2 : 1) * r->K;
        real       *gx = g_x == NULL ? NULL : g_x + h * r->K;
        double     *gt = g_theta == NULL ? NULL : g_theta + h * r->head;
        if (r->kind == LCSM_ROTATE_PAIRS) back_pairs(r, c, s, xh, gy, gx, add, gt);
        else back_halves(r, twice, c, s, xh, gy, gx, add, gt);
    }
}

const R_(lcsm_rotate_kernels) K_(lcsm_rotate_rows) = {table, apply, back};
