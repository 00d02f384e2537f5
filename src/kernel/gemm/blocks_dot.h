/*
 * kernel/gemm/blocks_dot.h - rows of weights in blocks (base/blocks.h): as reals, and by a few rows
 * of A. What lcsm_gemm_kernels says of unpack, levels and dots.
 */
#ifndef LCSM_KERNEL_BLOCKS_DOT_H
#define LCSM_KERNEL_BLOCKS_DOT_H
#include "kernel/gemm/gemm.h"
#include <string.h>

/* Bytes by which a stream of weights is asked for ahead of its use; what follows a matrix in memory
 * is the next one as a rule. */
enum { BLOCKS_AHEAD = 8192 };

/* The scales, then the minima, of the eight sub-blocks of a q4k block, 6 bits each in 12 bytes. */
static inline void six_bits(const unsigned char *p, uint64_t *scales, uint64_t *lows)
{
    uint32_t u[3];
    memcpy(u, p, sizeof u);
    uint32_t high = (u[2] & 0x0F0F0F0Fu) | (u[0] >> 6 & 0x03030303u) << 4;
    uint32_t low  = (u[2] >> 4 & 0x0F0F0F0Fu) | (u[1] >> 6 & 0x03030303u) << 4;
    *scales       = (uint64_t)high << 32 | (u[0] & 0x3F3F3F3Fu);
    *lows         = (uint64_t)low << 32 | (u[1] & 0x3F3F3F3Fu);
}

void K_(lcsm_blocks_unpack)(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n,
                            real *to);
bool K_(lcsm_blocks_levels)(const R_(lcsm_gemm) *x, void *to);
void K_(lcsm_blocks_dots)(const R_(lcsm_gemm) *x);

#endif
