/*
 * kernel/gemm/units.h - pairs of numbers of bfloat16, for the instruction that adds their products.
 *
 * A unit is as large as a float: two numbers that follow each other in the depth of a product, the
 * first in its lower half. For sources of the set with AVX512-BF16.
 */
#ifndef LCSM_KERNEL_UNITS_H
#define LCSM_KERNEL_UNITS_H
#include "kernel/vec.h"

enum { UNIT_PAIR = 2 * VW }; /* numbers of a vector of units */

VEC_INLINE vec unit_each(const real *p)
{
    int unit;
    memcpy(&unit, p, sizeof unit);
    return (vec)_mm512_set1_epi32(unit);
}

VEC_INLINE vec unit_sum(vec sum, vec a, vec b)
{
    return (vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}

/* The first n of UNIT_PAIR numbers. */
VEC_INLINE __mmask32 unit_mask(ptrdiff_t n)
{
    return n >= UNIT_PAIR ? 0xffffffffu : n <= 0 ? 0 : (1u << n) - 1u;
}

/* n numbers side by side as units, the others 0. */
VEC_INLINE vec units_along(const real *p, ptrdiff_t n)
{
    __mmask32 mask = unit_mask(n);
    __m512    low  = _mm512_maskz_loadu_ps((__mmask16)mask, p);
    __m512    high = _mm512_maskz_loadu_ps((__mmask16)(mask >> VW), p + VW);
    return (vec)_mm512_cvtne2ps_pbh(high, low);
}

/* Units of one number of each of two vectors. */
VEC_INLINE vec units_of_two(vec first, vec second)
{
    /* 16 of the first, then 16 of the second */
    const __m512i lanes =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return (vec)_mm512_permutexvar_epi16(
        lanes, (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
}
#endif
