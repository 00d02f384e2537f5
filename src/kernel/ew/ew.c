/* ew.c - element-wise arithmetic on vectors; the last few numbers one by one. */
#include "kernel/ew/ew.h"

#include "kernel/vec.h"

/* y = expr of a, b, c, which are vectors first and numbers then. The sources are p, q and r. */
#define EACH(p, q, r, add, y, expr)                                                                \
    do {                                                                                           \
        ptrdiff_t j_ = 0;                                                                          \
        for (; j_ + VW <= n; j_ += VW) {                                                           \
            vec a = vload((p) + j_), b = vload((q) + j_), c = vload((r) + j_);                     \
            (void)b, (void)c;                                                                      \
            vec v = expr;                                                                          \
            vstore((y) + j_, (add) ? vload((y) + j_) + v : v);                                     \
        }                                                                                          \
        for (; j_ < n; j_++) {                                                                     \
            real a = (p)[j_], b = (q)[j_], c = (r)[j_];                                            \
            (void)b, (void)c;                                                                      \
            real v  = expr;                                                                        \
            (y)[j_] = (add) ? (y)[j_] + v : v;                                                     \
        }                                                                                          \
    } while (0)

static void add_(ptrdiff_t n, const real *x, const real *z, real *y)
{
    EACH(x, z, x, false, y, a + b);
}

static void scale(ptrdiff_t n, real s, const real *x, bool add, real *y)
{
    if (add) EACH(x, x, x, true, y, a * s);
    else EACH(x, x, x, false, y, a * s);
}

static void mul(ptrdiff_t n, const real *x, const real *z, bool add, real *y)
{
    if (add) EACH(x, z, x, true, y, a * b);
    else EACH(x, z, x, false, y, a * b);
}

static void lerp(ptrdiff_t n, const real *x, const real *z, const real *w, real *y)
{
    EACH(x, z, w, false, y, a + c * (b - a));
}

static void lerp_a(ptrdiff_t n, const real *g, const real *w, bool add, real *y)
{
    if (add) EACH(g, w, g, true, y, a * (1 - b));
    else EACH(g, w, g, false, y, a * (1 - b));
}

static void lerp_w(ptrdiff_t n, const real *g, const real *x, const real *z, bool add, real *y)
{
    if (add) EACH(g, x, z, true, y, a * (c - b));
    else EACH(g, x, z, false, y, a * (c - b));
}

static real sum(ptrdiff_t n, const real *a)
{
    vec       s = vzero();
    ptrdiff_t j = 0;
    for (; j + VW <= n; j += VW) s += vload(a + j);
    real total = vsum(s);
    for (; j < n; j++) total += a[j];
    return total;
}

const R_(lcsm_ew_kernels) K_(lcsm_ew) = {add_, scale, mul, lerp, lerp_a, lerp_w, sum};
