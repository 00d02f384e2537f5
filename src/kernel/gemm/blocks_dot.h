/*
 * kernel/gemm/blocks_dot.h - rows of weights in blocks (base/blocks.h): as reals, and by a few rows
 * of A. What lcsm_gemm_kernels says of unpack, levels and dots.
 */
#ifndef LCSM_KERNEL_BLOCKS_DOT_H
#define LCSM_KERNEL_BLOCKS_DOT_H
#include "kernel/gemm/gemm.h"

void K_(lcsm_blocks_unpack)(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n,
                            real *to);
bool K_(lcsm_blocks_levels)(const R_(lcsm_gemm) *x, void *to);
void K_(lcsm_blocks_dots)(const R_(lcsm_gemm) *x);

#endif
