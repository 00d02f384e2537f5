/*
 * kernel/vec.h - vectors of reals for the kernels, over the compilers' vector extensions.
 *
 * `vec` holds VW reals: 4, 8 or 16 floats by the variant's instruction set, 2 doubles in the
 * double variant. Arithmetic is written with + - * and becomes FMA by contraction. The double
 * functions call libm lane by lane: they serve comparisons at 1e-12, not speed.
 *
 * Accuracy of the float functions: vexp 2 ulp, vlog1p 2 ulp on [0, 1], vsincos 2 ulp of 1 for
 * |x| <= 1e4; test_vec.c measures them.
 */
#ifndef LCSM_KERNEL_VEC_H
#define LCSM_KERNEL_VEC_H
#include "kernel/variant.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#if LCSM_REAL_IS_DOUBLE
#define VW 2
typedef int64_t ireal;
#elif defined(__AVX512F__)
#define VW 16
typedef int32_t ireal;
#elif defined(__AVX2__)
#define VW 8
typedef int32_t ireal;
#else
#define VW 4
typedef int32_t ireal;
#endif

typedef real  vec __attribute__((vector_size(VW * sizeof(real))));
typedef ireal ivec __attribute__((vector_size(VW * sizeof(real))));

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vec vload(const real *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void vstore(real *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

VEC_INLINE vec vset1(real x)
{
    vec v = {0};
    return v + x;
}

VEC_INLINE vec vzero(void)
{
    vec v = {0};
    return v;
}

/* The first n < VW lanes; the others are 0. */
VEC_INLINE vec vload_n(const real *p, ptrdiff_t n)
{
    vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof(real));
    return v;
}

VEC_INLINE void vstore_n(real *p, vec v, ptrdiff_t n)
{
    memcpy(p, &v, (size_t)n * sizeof(real));
}

/* Lanes at a stride; n <= VW of them, the others 0. */
VEC_INLINE vec vgather(const real *p, ptrdiff_t stride, ptrdiff_t n)
{
    vec v = {0};
    for (ptrdiff_t j = 0; j < n; j++) v[j] = p[j * stride];
    return v;
}

VEC_INLINE vec vbits(ivec i)
{
    return (vec)i;
}

/* mask lanes are all ones or all zeros, as comparisons of vectors give them. */
VEC_INLINE vec vselect(ivec mask, vec a, vec b)
{
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

VEC_INLINE vec vmin(vec a, vec b)
{
#if !LCSM_REAL_IS_DOUBLE && VW == 16
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif !LCSM_REAL_IS_DOUBLE && VW == 8
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vselect(a < b, a, b);
#endif
}

VEC_INLINE vec vmax(vec a, vec b)
{
#if !LCSM_REAL_IS_DOUBLE && VW == 16
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif !LCSM_REAL_IS_DOUBLE && VW == 8
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vselect(a > b, a, b);
#endif
}

VEC_INLINE vec vabs(vec a)
{
#if LCSM_REAL_IS_DOUBLE
    ivec mask = (ivec){0} + INT64_MAX;
#else
    ivec mask = (ivec){0} + INT32_MAX;
#endif
    return (vec)((ivec)a & mask);
}

VEC_INLINE real vsum(vec v)
{
    real s = 0;
    for (int half = VW / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) v[j] += v[j + half];
    s += v[0];
    return s;
}

VEC_INLINE real vhmin(vec v)
{
    real s = v[0];
    for (int j = 1; j < VW; j++) s = v[j] < s ? v[j] : s;
    return s;
}

#if LCSM_REAL_IS_DOUBLE

#define VEC_LANEWISE(name, fn)                                                                     \
    VEC_INLINE vec name(vec x)                                                                     \
    {                                                                                              \
        for (int j = 0; j < VW; j++) x[j] = fn(x[j]);                                              \
        return x;                                                                                  \
    }
VEC_LANEWISE(vexp, exp)
VEC_LANEWISE(vlog1p, log1p)
VEC_LANEWISE(vsqrt, sqrt)
#undef VEC_LANEWISE

VEC_INLINE void vsincos(vec x, vec *s, vec *c)
{
    for (int j = 0; j < VW; j++) {
        (*s)[j] = sin(x[j]);
        (*c)[j] = cos(x[j]);
    }
}

#else

/* exp(x) = 2^n (1 + r + r^2 q(r)), x = n log 2 + r, |r| <= log(2)/2. The polynomial is a minimax
 * fit, relative error 3e-9. 0 below -87.33 (so minus infinity gives 0), clamped above 88.7. */
VEC_INLINE vec vexp(vec x)
{
    const real shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    vec        c     = vmax(vmin(x, vset1(88.7f)), vset1(-87.33f));
    vec        z     = c * 1.442695041f + shift;
    vec        n     = z - shift;
    vec        r     = c - n * 0.693359375f;
    r                = r - n * -2.12194440e-4f;
    vec q            = r * 1.381461309e-3f + 8.368709832e-3f;
    q                = q * r + 4.166838736e-2f;
    q                = q * r + 1.666652069e-1f;
    q                = q * r + 4.999999345e-1f;
    vec p            = (q * r) * r + r + 1.0f;
#if VW == 16
    p                = (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    p = (vec)((ivec)p + ((ivec)z << 23));
#endif
    return (vec)((ivec)p & (x > vset1(-87.33f)));
}

/* log(1 + u) for 0 <= u <= 1: 2 atanh(w), w = u / (2 + u) <= 1/3; minimax, 5e-9. */
VEC_INLINE vec vlog1p(vec u)
{
    vec w = u / (u + 2.0f);
    vec z = w * w;
    vec q = z * 1.401222880e-1f + 1.399957068e-1f;
    q     = q * z + 2.001084952e-1f;
    q     = q * z + 3.333320657e-1f;
    vec d = w + w;
    return d + d * (z * q);
}

VEC_INLINE vec vsqrt(vec x)
{
    for (int j = 0; j < VW; j++) x[j] = sqrtf(x[j]);
    return x;
}

/* Quadrant n of x = n pi/2 + r, |r| <= pi/4; pi/2 in three parts, exact products for n < 2^13. */
VEC_INLINE void vsincos(vec x, vec *s, vec *c)
{
    const real shift = 12582912.0f;
    vec        m     = x * 0.636619772f + shift;
    ivec       quad  = (ivec)m;
    vec        n     = m - shift;
    vec        r     = x - n * 1.5703125f;
    r                = r - n * 4.837512969970703125e-4f;
    r                = r - n * 7.54978995489188216e-8f;
    vec  z           = r * r;
    vec  ps          = (z * -1.951528321e-4f + 8.332160762e-3f) * z + -1.666665461e-1f;
    vec  pc          = (z * 2.443845157e-5f + -1.388736752e-3f) * z + 4.166664687e-2f;
    vec  sn          = r + r * z * ps;
    vec  cs          = (z * -0.5f + 1.0f) + z * z * pc;
    ivec swap        = -(quad & 1);
    ivec sign_s      = (quad & 2) << 30;
    ivec sign_c      = ((quad + 1) & 2) << 30;
    *s               = (vec)((ivec)vselect(swap, cs, sn) ^ sign_s);
    *c               = (vec)((ivec)vselect(swap, sn, cs) ^ sign_c);
}
#endif

/* log(sigmoid(x)) and the like, finite for every finite x. */
VEC_INLINE vec vlog_sigmoid(vec x)
{
    return vmin(x, vzero()) - vlog1p(vexp(-vabs(x)));
}

VEC_INLINE vec vsigmoid(vec x)
{
    vec z = vexp(-vabs(x));
    return vselect(x < vzero(), z, vset1(1)) / (z + 1);
}

#endif
