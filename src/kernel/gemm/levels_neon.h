/*
 * kernel/gemm/levels_neon.h - products of blocks of 32 bytes with NEON; levels_avx2.h says what the
 * functions do. A processor with dot products of bytes is not required: pairs of products in 16
 * bits are added up in 32.
 */
#ifndef LCSM_KERNEL_LEVELS_NEON_H
#define LCSM_KERNEL_LEVELS_NEON_H
#include <stdbool.h>

#include "kernel/vec.h"

typedef int8x16x2_t level_bytes;
typedef float32x4_t level_sums;

VEC_INLINE level_sums level_splat(float x)
{
    return vdupq_n_f32(x);
}

VEC_INLINE level_bytes load_32(const void *p)
{
    const int8_t *b = p;
    return (level_bytes){{vld1q_s8(b), vld1q_s8(b + 16)}};
}

VEC_INLINE int8x16_t low_half(int8x16_t w)
{
    return vandq_s8(w, vdupq_n_s8(15));
}

VEC_INLINE int8x16_t high_half(int8x16_t w)
{
    return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(w), 4));
}

VEC_INLINE level_bytes low_halves(level_bytes w)
{
    return (level_bytes){{low_half(w.val[0]), low_half(w.val[1])}};
}

VEC_INLINE level_bytes high_halves(level_bytes w)
{
    return (level_bytes){{high_half(w.val[0]), high_half(w.val[1])}};
}

VEC_INLINE level_bytes less_eight(level_bytes w)
{
    const int8x16_t eight = vdupq_n_s8(8);
    return (level_bytes){{vsubq_s8(w.val[0], eight), vsubq_s8(w.val[1], eight)}};
}

VEC_INLINE level_bytes load_nibbles(const unsigned char *p)
{
    int8x16_t w = vreinterpretq_s8_u8(vld1q_u8(p));
    return (level_bytes){{low_half(w), high_half(w)}};
}

VEC_INLINE float scale_at(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

VEC_INLINE void put_four(int16x4_t n, float32x4_t d, float32x4_t m, float *to)
{
    vst1q_f32(to, vcvtq_f32_s32(vmovl_s16(n)) * d - m);
}

VEC_INLINE void put_block(level_bytes levels, float scale, float low, float *to)
{
    const float32x4_t d = vdupq_n_f32(scale), m = vdupq_n_f32(low);
    for (int j = 0; j < 2; j++, to += 16) {
        int16x8_t a = vmovl_s8(vget_low_s8(levels.val[j])), b = vmovl_high_s8(levels.val[j]);
        put_four(vget_low_s16(a), d, m, to);
        put_four(vget_high_s16(a), d, m, to + 4);
        put_four(vget_low_s16(b), d, m, to + 8);
        put_four(vget_high_s16(b), d, m, to + 12);
    }
}

/* The first or the last four of eight bytes. */
VEC_INLINE float32x4_t four_of(uint64_t bytes, int last)
{
    uint16x8_t n = vmovl_u8(vcreate_u8(bytes));
    return vcvtq_f32_u32(vmovl_u16(last ? vget_high_u16(n) : vget_low_u16(n)));
}

VEC_INLINE void eight_times(uint64_t bytes, float by, const float *with, float *to)
{
    for (int j = 0; j < 2; j++)
        vst1q_f32(to + 4 * j, four_of(bytes, j) * vdupq_n_f32(by) * vld1q_f32(with + 4 * j));
}

VEC_INLINE level_sums add_eight_times(level_sums sum, uint64_t bytes, float by, const float *with)
{
    for (int j = 0; j < 2; j++)
        sum += four_of(bytes, j) * vdupq_n_f32(by) * vld1q_f32(with + 4 * j);
    return sum;
}

/* Two products of bytes are at most 2 * 128 * 127, which is less than 2^15. */
VEC_INLINE int32x4_t add_products(int32x4_t sum, int8x16_t w, int8x16_t v)
{
    int16x8_t pairs = vmull_s8(vget_low_s8(w), vget_low_s8(v));
    return vpadalq_s16(sum, vmlal_high_s8(pairs, w, v));
}

VEC_INLINE level_sums products(level_bytes w, level_bytes v)
{
    int32x4_t sum = add_products(vdupq_n_s32(0), w.val[0], v.val[0]);
    return vcvtq_f32_s32(add_products(sum, w.val[1], v.val[1]));
}

VEC_INLINE level_sums products_of_small(level_bytes w, level_bytes v)
{
    return products(w, v);
}

VEC_INLINE float total(level_sums v)
{
    return vaddvq_f32(v);
}

VEC_INLINE float round_block(const float *a, int8_t *q, int32_t *level_sum, bool *finite)
{
    float32x4_t v[8], most = vdupq_n_f32(0), bad = most;
    int32x4_t   n[8], sum = vdupq_n_s32(0);
    for (int j = 0; j < 8; j++) {
        v[j] = vld1q_f32(a + 4 * j);
        most = vmaxq_f32(most, vabsq_f32(v[j]));
        bad += v[j] * vdupq_n_f32(0);
    }
    float       scale = vmaxvq_f32(most) / 127;
    float32x4_t by    = vdupq_n_f32(scale >= 0x1p-126f ? 1 / scale : 0);
    for (int j = 0; j < 8; j++) {
        n[j] = vcvtnq_s32_f32(v[j] * by);
        sum  = vaddq_s32(sum, n[j]);
    }
    for (int j = 0; j < 8; j += 2) {
        int16x8_t two = vcombine_s16(vqmovn_s32(n[j]), vqmovn_s32(n[j + 1]));
        vst1_s8(q + 4 * j, vqmovn_s16(two));
    }
    float zero = vaddvq_f32(bad); /* or a NaN */
    *level_sum = vaddvq_s32(sum);
    *finite    = zero == zero;
    return scale;
}

#endif
