/*
 * kernel/vec.h - vectors of reals for the kernels, over the compilers' vector extensions.
 *
 * `vec` holds VW reals: 4 (portable, NEON), 8 (AVX2) or 16 (AVX-512) floats, 2 doubles in the
 * double variant. Arithmetic is written with + - * and becomes FMA by contraction. The double
 * functions call libm lane by lane: they serve comparisons at 1e-12, not speed.
 *
 * Accuracy of the float functions (test_vec.c measures it), where the result is a normal number:
 * vexp 2 ulp, vexp2 2 ulp, vlog1p 2 ulp on [0, 1], vrcp 3 ulp, vsigmoid 4 ulp, vsincos 2^-23 for
 * |x| <= 1e4. Results below 2^-126 come out as 0 or as some number below 2^-126.
 */
#ifndef LCSM_KERNEL_VEC_H
#define LCSM_KERNEL_VEC_H
#include "kernel/variant.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(LCSM_VARIANT_F32_NEON)
#include <arm_neon.h>
#define VEC_NEON 1
#else
#define VEC_NEON 0
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

/* How many vectors a tile of sums, its operands and a broadcast may keep in registers. */
#if VW == 16 || VEC_NEON
#define VEC_REGISTERS 32
#else
#define VEC_REGISTERS 16
#endif

typedef real  vec __attribute__((vector_size(VW * sizeof(real))));
typedef ireal ivec __attribute__((vector_size(VW * sizeof(real))));

/* As many doubles, for sums that cancel. Wider than a register of the variant, they are not passed
 * by value: how that is done depends on the instruction set. */
typedef double wvec __attribute__((vector_size(VW * sizeof(double))));
#define vwiden(v)  __builtin_convertvector(v, wvec)
#define vnarrow(v) __builtin_convertvector(v, vec)
#if !LCSM_REAL_IS_DOUBLE
typedef uint32_t uvec __attribute__((vector_size(VW * sizeof(real)))); /* sums that wrap */
#endif

#define VEC_ALIGNED __attribute__((aligned(64)))

#define VEC_INLINE static inline __attribute__((always_inline, unused))

/* Before a loop: so many rounds at once. VEC_UNROLL: all of a small constant count, so that arrays
 * of vectors become registers. */
#define VEC_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define VEC_UNROLL       VEC_PRAGMA(clang loop unroll(full))
#define VEC_UNROLL_BY(n) VEC_PRAGMA(clang loop unroll_count(n))
#else
#define VEC_UNROLL       VEC_PRAGMA(GCC unroll 16)
#define VEC_UNROLL_BY(n) VEC_PRAGMA(GCC unroll n)
#endif

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

/* To memory that is not read again soon, past the caches; p is aligned to a vector. After the last
 * of them vstream_end makes all of them visible to other threads. */
VEC_INLINE void vstream(real *p, vec v)
{
#if VW == 16
    _mm512_stream_ps(p, (__m512)v);
#elif VW == 8
    _mm256_stream_ps(p, (__m256)v);
#else
    vstore(p, v);
#endif
}

VEC_INLINE void vstream_end(void)
{
#if VW >= 8
    _mm_sfence();
#endif
}

/* Requests for the cache line of an address that is used later; the address may be any. ask_now:
 * for the first cache; ask_soon: for the second, which the lines of the work at hand leave room in.
 */
enum { CACHE_LINE = 64 / sizeof(real) };

VEC_INLINE void ask_now(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

VEC_INLINE void ask_soon(const void *p)
{
    __builtin_prefetch(p, 0, 2);
}

VEC_INLINE void ask_now_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

VEC_INLINE void ask_soon_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 2);
}

/* x - 0 is x for every x, -0 too, so this is one broadcast and no arithmetic. */
VEC_INLINE vec vset1(real x)
{
    return x - (vec){0};
}

/* The compiler must keep v in a register instead of loading it again for each use. */
VEC_INLINE vec vhold(vec v)
{
#if defined(__AVX512F__)
    __asm__("" : "+v"(v));
#elif defined(__SSE2__)
    __asm__("" : "+x"(v));
#elif VEC_NEON
    __asm__("" : "+w"(v));
#endif
    return v;
}

VEC_INLINE vec vzero(void)
{
    vec v = {0};
    return v;
}

/* The first n <= VW lanes; the others are 0 and not read. */
VEC_INLINE vec vload_n(const real *p, ptrdiff_t n)
{
#if VW == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
#elif VW == 8
    ivec lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (vec)_mm256_maskload_ps(p, (__m256i)(lane < (ireal)n));
#elif VEC_NEON
    if (n >= VW) return vload(p);
    float32x4_t v = vdupq_n_f32(0);
    if (n > 0) v = vld1q_lane_f32(p, v, 0);
    if (n > 1) v = vld1q_lane_f32(p + 1, v, 1);
    if (n > 2) v = vld1q_lane_f32(p + 2, v, 2);
    return (vec)v;
#else
    vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof(real));
    return v;
#endif
}

VEC_INLINE void vstore_n(real *p, vec v, ptrdiff_t n)
{
#if VW == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)v);
#elif VW == 8
    ivec lane = {0, 1, 2, 3, 4, 5, 6, 7};
    _mm256_maskstore_ps(p, (__m256i)(lane < (ireal)n), (__m256)v);
#elif VEC_NEON
    if (n > 0) vst1q_lane_f32(p, (float32x4_t)v, 0);
    if (n > 1) vst1q_lane_f32(p + 1, (float32x4_t)v, 1);
    if (n > 2) vst1q_lane_f32(p + 2, (float32x4_t)v, 2);
    if (n > 3) vst1q_lane_f32(p + 3, (float32x4_t)v, 3);
#else
    memcpy(p, &v, (size_t)n * sizeof(real));
#endif
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
#elif VEC_NEON
    return (vec)vminq_f32((float32x4_t)a, (float32x4_t)b);
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
#elif VEC_NEON
    return (vec)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
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

/* Neighbours change places. */
VEC_INLINE vec vswap(vec v)
{
#if VW == 16
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif VW == 8
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#elif VW == 4
    return __builtin_shufflevector(v, v, 1, 0, 3, 2);
#else
    return __builtin_shufflevector(v, v, 1, 0);
#endif
}

/* The sum of the lanes, by halves; with NEON by pairs, as vsums4 there. */
VEC_INLINE real vsum(vec v)
{
#if VEC_NEON
    return vaddvq_f32((float32x4_t)v);
#elif VW == 16
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
#elif VW == 8
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
#elif VW == 4
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
#endif
#if !VEC_NEON
    return v[0] + v[1];
#endif
}

/* The sums of the lanes of four vectors, the first n <= 4 of them written. */
VEC_INLINE void vsums4(vec a, vec b, vec c, vec d, real *to, ptrdiff_t n)
{
#if VW >= 4
#if VW == 16
    __m512 x = _mm512_unpacklo_ps((__m512)a, (__m512)b) + _mm512_unpackhi_ps((__m512)a, (__m512)b);
    __m512 y = _mm512_unpacklo_ps((__m512)c, (__m512)d) + _mm512_unpackhi_ps((__m512)c, (__m512)d);
    __m512 z = _mm512_shuffle_ps(x, y, 0x44) + _mm512_shuffle_ps(x, y, 0xee);
    __m256 w = _mm512_castps512_ps256(z) + _mm512_extractf32x8_ps(z, 1);
    __m128 s = _mm256_castps256_ps128(w) + _mm256_extractf128_ps(w, 1);
#elif VW == 8
    __m256 x = _mm256_unpacklo_ps((__m256)a, (__m256)b) + _mm256_unpackhi_ps((__m256)a, (__m256)b);
    __m256 y = _mm256_unpacklo_ps((__m256)c, (__m256)d) + _mm256_unpackhi_ps((__m256)c, (__m256)d);
    __m256 z = _mm256_shuffle_ps(x, y, 0x44) + _mm256_shuffle_ps(x, y, 0xee);
    __m128 s = _mm256_castps256_ps128(z) + _mm256_extractf128_ps(z, 1);
#elif VEC_NEON
    vec s = (vec)vpaddq_f32(vpaddq_f32((float32x4_t)a, (float32x4_t)b),
                            vpaddq_f32((float32x4_t)c, (float32x4_t)d));
#else
    vec x = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    vec y = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    vec s = __builtin_shufflevector(x, y, 0, 1, 4, 5) + __builtin_shufflevector(x, y, 2, 3, 6, 7);
#endif
#if VW == 16
    _mm_mask_storeu_ps(to, (__mmask8)((1u << n) - 1u), s);
#else
    for (ptrdiff_t j = 0; j < n; j++) to[j] = s[j];
#endif
#else
    const vec all[] = {a, b, c, d};
    for (ptrdiff_t j = 0; j < n; j++) to[j] = all[j][0] + all[j][1];
#endif
}

/* The least lane, by halves. */
VEC_INLINE real vhmin(vec v)
{
#if VW == 16
    v = vmin(v,
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = vmin(v,
             __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    v = vmin(v,
             __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#elif VW == 8
    v = vmin(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
    v = vmin(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
#elif VW == 4
    v = vmin(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
#endif
    return v[1] < v[0] ? v[1] : v[0];
}

#if LCSM_REAL_IS_DOUBLE

#define VEC_LANEWISE(name, fn)                                                                     \
    VEC_INLINE vec name(vec x)                                                                     \
    {                                                                                              \
        for (int j = 0; j < VW; j++) x[j] = fn(x[j]);                                              \
        return x;                                                                                  \
    }
VEC_LANEWISE(vexp, exp)
VEC_LANEWISE(vexp_even, exp)
VEC_LANEWISE(vexp2, exp2)
VEC_LANEWISE(vlog1p, log1p)
VEC_LANEWISE(vsqrt, sqrt)
#undef VEC_LANEWISE

VEC_INLINE vec vrcp(vec x)
{
    return 1 / x;
}

VEC_INLINE void vsincos(vec x, vec *s, vec *c)
{
    vec sines = x, cosines = x;
    for (int j = 0; j < VW; j++) {
        sines[j]   = sin(x[j]);
        cosines[j] = cos(x[j]);
    }
    *s = sines;
    *c = cosines;
}

#else

/* exp(x) by a polynomial alone: its errors have a mean of 1e-9, while those of a table depend on
 * the entries that are used, and add up where thousands of factors are multiplied. */
VEC_INLINE vec vexp_even(vec x)
{
    const real shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    vec        c     = vmax(vset1(-87.33f), vmin(vset1(88.6f), x));
    vec        z     = c * 1.442695041f + shift;
    vec        n     = z - shift;
    vec        r     = c - n * 0.693359375f;
    r                = r - n * -2.12194440e-4f;
    vec q            = r * 1.381461309e-3f + 8.368709832e-3f;
    q                = q * r + 4.166838736e-2f;
    q                = q * r + 1.666652069e-1f;
    q                = q * r + 4.999999345e-1f;
    vec p            = (q * r) * r + r + 1.0f;
    p                = (vec)((uvec)p + ((uvec)z << 23));
    return (vec)((ivec)p & ~(x < -87.33f));
}

#if VW > 4

/* 2^(j/STEPS) in bits, less j in the place where adding n STEPS + j to a float's exponent puts it:
 * one shift and one addition then give 2^(n + j/STEPS). */
#if VW == 16
#define VEC_STEP_BITS 4
#define VEC_TABLE                                                                                  \
    {                                                                                              \
        0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7,        \
            0x3f75583f, 0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf,    \
            0x3f7ac0c7, 0x3f7d257d                                                                 \
    }
#define VEC_LOOK_UP(table, j) _mm512_permutexvar_epi32((__m512i)(j), (__m512i)(table))
#else
#define VEC_STEP_BITS 3
#define VEC_TABLE                                                                                  \
    {                                                                                              \
        0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd,        \
            0x3f7ac0c7                                                                             \
    }
#define VEC_LOOK_UP(table, j) _mm256_permutevar8x32_epi32((__m256i)(table), (__m256i)(j))
#endif

/* The mean relative error of the table's entries, by which products of a thousand exponentials
 * would drift. */
#define VEC_TABLE_MEAN (VW == 16 ? 2.6e-9f : 1.3e-8f)

/* Adding it to |x| < 2^22 / STEPS rounds x to a multiple of 1/STEPS, which stands in the low bits.
 */
#define VEC_ROUND      (12582912.0f / (1 << VEC_STEP_BITS))

/* 2^(t - VEC_ROUND) for such a sum t. */
VEC_INLINE vec vexp2_steps(vec t)
{
    const ivec table = VEC_TABLE;
    return (vec)(((uvec)t << (23 - VEC_STEP_BITS)) + (uvec)VEC_LOOK_UP(table, t));
}

/* exp(x) = 2^n (1 + r q(r)), n a multiple of 1/STEPS, x = n log 2 + r, |r| <= log(2) / (2 STEPS).
 * q is a minimax fit for 8 steps: relative error 2.5e-8. At the lower clamp 2^n is the number 0, so
 * minus infinity gives exactly 0. */
VEC_INLINE vec vexp(vec x)
{
    vec c = vmax(vset1(-88.02969f), vmin(vset1(88.6f), x));
    vec t = c * 1.44269504f + VEC_ROUND;
    vec n = t - VEC_ROUND;
    vec r = c - n * 0.693359375f;
    r     = r - n * -2.12194440e-4f;
    vec p = vexp2_steps(t);
    vec q = (r * 0.166688786f + 0.500064786f) * r + 0.999999988f;
    return p + p * (r * q - VEC_TABLE_MEAN);
}

#if VW == 16

/* 2^x for x < 127; 0 below -150. Scaling by the processor takes care of x without a clamp. */
VEC_INLINE vec vexp2(vec x)
{
    const ivec table = {0x3f800000, 0x3f85aac3, 0x3f8b95c2, 0x3f91c3d3, 0x3f9837f0, 0x3f9ef532,
                        0x3fa5fed7, 0x3fad583f, 0x3fb504f3, 0x3fbd08a4, 0x3fc5672a, 0x3fce248c,
                        0x3fd744fd, 0x3fe0ccdf, 0x3feac0c7, 0x3ff5257d};
    vec        t     = x + VEC_ROUND;
    vec        r     = (vec)_mm512_reduce_ps((__m512)x, VEC_STEP_BITS << 4);
    vec        p     = (vec)_mm512_scalef_ps((__m512)VEC_LOOK_UP(table, t), (__m512)(x - r));
    vec        q     = (r * 0.0555114749f + 0.240257633f) * r + 0.693147172f;
    return p + p * (r * q - VEC_TABLE_MEAN);
}

#else

/* 2^x for x < 127; 0 below -127. */
VEC_INLINE vec vexp2(vec x)
{
    vec c = vmax(vset1(-127.0f), x);
    vec t = c + VEC_ROUND;
    vec r = c - (t - VEC_ROUND);
    vec p = vexp2_steps(t);
    vec q = (r * 0.0555114749f + 0.240257633f) * r + 0.693147172f;
    return p + p * (r * q - VEC_TABLE_MEAN);
}

#endif

#else

/* The same without a table: n is an integer and q longer, relative error 3e-9. */
VEC_INLINE vec vexp(vec x)
{
    return vexp_even(x);
}

VEC_INLINE vec vexp2(vec x)
{
    const real shift = 12582912.0f;
    vec        c     = vmax(vset1(-126.0f), x);
    vec        z     = c + shift;
    vec        r     = c - (z - shift);
    vec        q     = r * 1.535336125e-4f + 1.339887437e-3f;
    q                = q * r + 9.618437360e-3f;
    q                = q * r + 5.550332471e-2f;
    q                = q * r + 2.402264791e-1f;
    q                = q * r + 6.931472029e-1f;
    vec p            = q * r + 1.0f;
    p                = (vec)((uvec)p + ((uvec)z << 23));
    return (vec)((ivec)p & ~(x < -126.0f));
}

#endif

/* log(1 + u) for 0 <= u <= 1, as u - u^2 q(u); minimax, relative error 3.3e-8. */
VEC_INLINE vec vlog1p(vec u)
{
    vec q = u * -5.36482578e-3f + 3.00657983e-2f;
    q     = q * u + -7.92045458e-2f;
    q     = q * u + 1.37538033e-1f;
    q     = q * u + -1.91536554e-1f;
    q     = q * u + 2.48571638e-1f;
    q     = q * u + -3.33213226e-1f;
    q     = q * u + 4.99996480e-1f;
    return u - u * u * q;
}

/* 1 / x for normal x and 1 / x. */
VEC_INLINE vec vrcp(vec x)
{
#if VW == 16
    vec r = (vec)_mm512_rcp14_ps((__m512)x);
    return r + r * (1.0f - r * x);
#elif VW == 8
    vec r = (vec)_mm256_rcp_ps((__m256)x);
    return r + r * (1.0f - r * x);
#elif VEC_NEON
    float32x4_t r = vrecpeq_f32((float32x4_t)x);
    r             = vmulq_f32(r, vrecpsq_f32((float32x4_t)x, r));
    return (vec)vmulq_f32(r, vrecpsq_f32((float32x4_t)x, r));
#else
    return 1.0f / x;
#endif
}

VEC_INLINE vec vsqrt(vec x)
{
#if VEC_NEON
    return (vec)vsqrtq_f32((float32x4_t)x);
#else
    for (int j = 0; j < VW; j++) x[j] = sqrtf(x[j]);
    return x;
#endif
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
    return vselect(x < vzero(), z, vset1(1)) * vrcp(z + 1);
}

/* Numbers below 2^-126 cost a hundred cycles each in the arithmetic unit, and a memory that decays
 * goes through them. Between these two calls floats of that size count as 0. */
VEC_INLINE unsigned vflush_begin(void)
{
#if defined(__SSE2__) && !LCSM_REAL_IS_DOUBLE
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush to zero, denormals are zero */
    return mode;
#elif VEC_NEON
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1u << 24) : "memory"); /* the same two */
    return (unsigned)mode;
#else
    return 0;
#endif
}

VEC_INLINE void vflush_end(unsigned mode)
{
#if defined(__SSE2__) && !LCSM_REAL_IS_DOUBLE
    _mm_setcsr(mode);
#elif VEC_NEON
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode) : "memory");
#else
    (void)mode;
#endif
}

#endif
