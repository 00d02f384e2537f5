/*
 * kernel/complex.h - one complex number of a kernel's own type, as the definitions compute with it.
 * Vectors of them are in kernel/vecpair.h; parameters are made in double (base/cplx.h).
 */
#ifndef LCSM_KERNEL_COMPLEX_H
#define LCSM_KERNEL_COMPLEX_H
#include "kernel/variant.h"

typedef struct {
    real re, im;
} cplx;

static inline cplx cplx_mul(cplx a, cplx b)
{
    return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline cplx cplx_conj(cplx a)
{
    return (cplx){a.re, -a.im};
}

/* conj(a) b */
static inline cplx cplx_conj_mul(cplx a, cplx b)
{
    return cplx_mul(cplx_conj(a), b);
}
#endif
