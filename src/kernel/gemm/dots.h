/* kernel/gemm/dots.h - a product with few rows, op(B) a transpose: what lcsm_gemm_kernels says of
 * dots. */
#ifndef LCSM_KERNEL_DOTS_H
#define LCSM_KERNEL_DOTS_H
#include "kernel/gemm/gemm.h"

void K_(lcsm_gemm_dots)(const R_(lcsm_gemm) *x);

#endif
