/* kernel/bf16.h - numbers rounded to bfloat16: 8 bits, to nearest, ties to even. */
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
#endif
