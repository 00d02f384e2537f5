/*
 * cplx.h - complex numbers in double, for parameters.
 *
 * The gradient of z is dL/dRe z + i dL/dIm z. So for w = a b it is g_a = conj(b) g_w:
 * lcsm_conj_mul.
 */
#ifndef LCSM_BASE_CPLX_H
#define LCSM_BASE_CPLX_H
#include <math.h>

typedef struct {
    double re, im;
} lcsm_cplx;

/* The absolute value of x + i y. The C library's own is newer than what programs elsewhere have:
 * hypot of glibc 2.35. Powers of two scale without an error, so nothing overflows on the way. */
static inline double lcsm_hypot(double x, double y)
{
    if (isinf(x) || isinf(y)) return INFINITY;
    double most = fmax(fabs(x), fabs(y));
    if (!(most > 0) || isnan(x) || isnan(y)) return x * x + y * y;
    int e = ilogb(most);
    x     = scalbn(x, -e);
    y     = scalbn(y, -e);
    return scalbn(sqrt(x * x + y * y), e);
}

static inline lcsm_cplx lcsm_conj(lcsm_cplx a)
{
    return (lcsm_cplx){a.re, -a.im};
}

static inline lcsm_cplx lcsm_cadd(lcsm_cplx a, lcsm_cplx b)
{
    return (lcsm_cplx){a.re + b.re, a.im + b.im};
}

static inline lcsm_cplx lcsm_csub(lcsm_cplx a, lcsm_cplx b)
{
    return (lcsm_cplx){a.re - b.re, a.im - b.im};
}

static inline lcsm_cplx lcsm_cscale(double f, lcsm_cplx a)
{
    return (lcsm_cplx){f * a.re, f * a.im};
}

static inline lcsm_cplx lcsm_cmul(lcsm_cplx a, lcsm_cplx b)
{
    return (lcsm_cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* conj(a) b; its real part is the inner product of the two as vectors of the plane. */
static inline lcsm_cplx lcsm_conj_mul(lcsm_cplx a, lcsm_cplx b)
{
    return lcsm_cmul(lcsm_conj(a), b);
}

static inline double lcsm_cnorm(lcsm_cplx a)
{
    return a.re * a.re + a.im * a.im;
}

/* conj(a) / (|a|^2 + eps), which is 1 / a for eps = 0. */
static inline lcsm_cplx lcsm_crcp(lcsm_cplx a, double eps)
{
    return lcsm_cscale(1 / (lcsm_cnorm(a) + eps), lcsm_conj(a));
}

static inline lcsm_cplx lcsm_cexp(lcsm_cplx a)
{
    double r = exp(a.re);
    return (lcsm_cplx){r * cos(a.im), r * sin(a.im)};
}
#endif
