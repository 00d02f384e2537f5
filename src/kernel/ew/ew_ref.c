/* ew_ref.c - element-wise arithmetic by definition. */
#include "kernel/ew/ew.h"

static void add_(ptrdiff_t n, const real *a, const real *b, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a[j] + b[j];
}

static void scale(ptrdiff_t n, real s, const real *a, bool add, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = (add ? y[j] : 0) + s * a[j];
}

static void mul(ptrdiff_t n, const real *a, const real *b, bool add, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = (add ? y[j] : 0) + a[j] * b[j];
}

static void lerp(ptrdiff_t n, const real *a, const real *b, const real *w, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a[j] + w[j] * (b[j] - a[j]);
}

static void lerp_a(ptrdiff_t n, const real *g, const real *w, bool add, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = (add ? y[j] : 0) + g[j] * (1 - w[j]);
}

static void lerp_w(ptrdiff_t n, const real *g, const real *a, const real *b, bool add, real *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = (add ? y[j] : 0) + g[j] * (b[j] - a[j]);
}

static real sum(ptrdiff_t n, const real *a)
{
    real s = 0;
    for (ptrdiff_t j = 0; j < n; j++) s += a[j];
    return s;
}

const R_(lcsm_ew_kernels) K_(lcsm_ew) = {add_, scale, mul, lerp, lerp_a, lerp_w, sum};
