/* kernel/vecpair.h - vectors of complex numbers, real and imaginary parts apart. */
#ifndef LCSM_KERNEL_VECPAIR_H
#define LCSM_KERNEL_VECPAIR_H
#include "kernel/vec.h"

/* A number of every lane, real and imaginary part. */
typedef struct {
    vec re, im;
} pair;

VEC_INLINE pair pair_mul(pair a, pair b)
{
    return (pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* conj(a) b */
VEC_INLINE pair pair_conj_mul(pair a, pair b)
{
    return (pair){a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

VEC_INLINE pair pair_add(pair a, pair b)
{
    return (pair){a.re + b.re, a.im + b.im};
}

VEC_INLINE pair pair_sub(pair a, pair b)
{
    return (pair){a.re - b.re, a.im - b.im};
}

VEC_INLINE pair pair_scale(pair a, real x)
{
    return (pair){a.re * x, a.im * x};
}

VEC_INLINE pair pair_conj(pair a)
{
    return (pair){a.re, -a.im};
}
#endif
