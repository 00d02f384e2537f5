/*
 * kernel/gemm/levels_avx2.h - products of blocks of 32 bytes with AVX2; levels_neon.h has the same
 * functions for NEON.
 */
#ifndef LCSM_KERNEL_LEVELS_AVX2_H
#define LCSM_KERNEL_LEVELS_AVX2_H
#include <stdbool.h>

#include "kernel/vec.h"

typedef __m256i level_bytes; /* 32 of them */
typedef __m256  level_sums;  /* parts of a sum */

VEC_INLINE level_sums level_splat(float x)
{
    return _mm256_set1_ps(x);
}

VEC_INLINE level_bytes load_32(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

VEC_INLINE level_bytes low_halves(level_bytes w)
{
    return _mm256_and_si256(w, _mm256_set1_epi8(15));
}

VEC_INLINE level_bytes high_halves(level_bytes w)
{
    return low_halves(_mm256_srli_epi16(w, 4));
}

VEC_INLINE level_bytes less_eight(level_bytes w)
{
    return _mm256_sub_epi8(w, _mm256_set1_epi8(8));
}

/* 16 bytes of two levels each: the low halves, then the high ones. */
VEC_INLINE level_bytes load_nibbles(const unsigned char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return low_halves(_mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1));
}

/* f16 as float. */
VEC_INLINE float scale_at(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return _cvtsh_ss(half);
}

/* 32 signed bytes, times a scale, less a minimum. */
VEC_INLINE void put_block(level_bytes levels, float scale, float low, float *to)
{
    __m256  d = _mm256_set1_ps(scale), m = _mm256_set1_ps(low);
    __m128i half[] = {_mm256_castsi256_si128(levels), _mm256_extracti128_si256(levels, 1)};
    for (int j = 0; j < 4; j++) {
        __m128i part = j % 2 == 0 ? half[j / 2] : _mm_srli_si128(half[j / 2], 8);
        _mm256_storeu_ps(to + 8 * j, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(part)) * d - m);
    }
}

VEC_INLINE __m256 eight_of(uint64_t bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes)));
}

/* Eight bytes times a factor times eight numbers. */
VEC_INLINE void eight_times(uint64_t bytes, float by, const float *with, float *to)
{
    _mm256_storeu_ps(to, eight_of(bytes) * _mm256_set1_ps(by) * _mm256_loadu_ps(with));
}

VEC_INLINE level_sums add_eight_times(level_sums sum, uint64_t bytes, float by, const float *with)
{
    return sum + eight_of(bytes) * _mm256_set1_ps(by) * _mm256_loadu_ps(with);
}

VEC_INLINE level_sums pairs_to_reals(__m256i pairs)
{
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* Sums of the products of signed bytes. The magnitude of one factor is unsigned and its sign goes
 * to the other: at most 2 * 128 * 127 in 16 bits. */
VEC_INLINE level_sums products(level_bytes w, level_bytes v)
{
    return pairs_to_reals(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(v, w)));
}

/* The same, the first of them 0 .. 15. */
VEC_INLINE level_sums products_of_small(level_bytes w, level_bytes v)
{
    return pairs_to_reals(_mm256_maddubs_epi16(w, v));
}

VEC_INLINE float total(level_sums v)
{
    __m128 s = _mm256_castps256_ps128(v) + _mm256_extractf128_ps(v, 1);
    s        = s + _mm_movehl_ps(s, s);
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

VEC_INLINE float most_of(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m        = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

VEC_INLINE int32_t sum_of(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s         = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
}

/* 32 numbers as levels; returns their scale. finite: whether all of the numbers are. */
VEC_INLINE float round_block(const float *a, int8_t *q, int32_t *level_sum, bool *finite)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256       v[4], most = _mm256_setzero_ps(), bad = most;
    __m256i      n[4], sum;
    for (int j = 0; j < 4; j++) {
        v[j] = _mm256_loadu_ps(a + 8 * j);
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign, v[j]));
        bad += v[j] * _mm256_setzero_ps();
    }
    float  scale = most_of(most) / 127;
    __m256 by    = _mm256_set1_ps(scale >= 0x1p-126f ? 1 / scale : 0);
    for (int j = 0; j < 4; j++) n[j] = _mm256_cvtps_epi32(v[j] * by);
    sum        = _mm256_add_epi32(_mm256_add_epi32(n[0], n[1]), _mm256_add_epi32(n[2], n[3]));
    __m256i lo = _mm256_packs_epi32(n[0], n[1]), hi = _mm256_packs_epi32(n[2], n[3]);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(lo, hi),
                                                _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    memcpy(q, &bytes, sizeof bytes);
    *level_sum = sum_of(sum);
    *finite    = _mm256_movemask_ps(_mm256_cmp_ps(bad, bad, _CMP_UNORD_Q)) == 0;
    return scale;
}

#endif
