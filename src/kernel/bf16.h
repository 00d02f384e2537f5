/* kernel/bf16.h - numbers rounded to bfloat16: 8 bits, to nearest, ties to even; and stored so. */
#ifndef LCSM_KERNEL_BF16_H
#define LCSM_KERNEL_BF16_H
#include "kernel/variant.h"
#include <stdint.h>
#include <string.h>

/* A double is rounded to float first, as its kernels in float have it. An infinity stays one, and a
 * NaN that arithmetic made stays a NaN. */
static inline real R_(lcsm_bf16)(real x)
{
    float    f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return (real)f;
}

/* The same as 16 bits; every NaN stays one. */
static inline uint16_t R_(lcsm_bf16_bits)(real x)
{
    float    f = (float)x;
    uint32_t bits, rounded;
    memcpy(&bits, &f, sizeof bits);
    rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    if ((bits & 0x7fffffffu) > 0x7f800000u) rounded = bits | 0x400000u;
    return (uint16_t)(rounded >> 16);
}

static inline real R_(lcsm_bf16_real)(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float    f;
    memcpy(&f, &bits, sizeof f);
    return (real)f;
}
#endif
