/*
 * train/moments.h - moments of the optimiser in 16 or 8 bits.
 *
 * bf16   the upper half of a float
 * 8bit   blocks of 64 with the largest magnitude s: m = s (q / 127)^2 with the sign of q, and
 *        v = s (q / 255)^4, where q is at least 1 unless v is 0: no small v becomes 0
 *
 * Numbers are rounded up or down by chance, so that small changes are not lost: up with the
 * probability that makes the mean right. The chance is a function of step and place. A number that
 * was unpacked packs to the same bits.
 */
#ifndef LCSM_TRAIN_MOMENTS_H
#define LCSM_TRAIN_MOMENTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    LCSM_MOMENTS_F32,
    LCSM_MOMENTS_BF16,
    LCSM_MOMENTS_8BIT,
    LCSM_MOMENTS_COUNT
} lcsm_moments;

enum { LCSM_MOMENTS_BLOCK = 64 };

/* Bytes of n numbers. */
size_t lcsm_moments_bytes(lcsm_moments type, size_t n);

/* Numbers first .. first + n - 1 of the packed ones; first is a multiple of the block. seed is of
 * the step, and other for m than for v. */
void lcsm_moments_unpack(lcsm_moments type, bool second, const void *packed, size_t first, size_t n,
                         float *to);
void lcsm_moments_pack(lcsm_moments type, bool second, void *packed, size_t first, size_t n,
                       const float *from, uint64_t seed);

#endif
