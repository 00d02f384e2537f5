/* kernel/gemm/gemm_drive.h - a matrix product on several threads. */
#ifndef LCSM_KERNEL_GEMM_DRIVE_H
#define LCSM_KERNEL_GEMM_DRIVE_H
#include "base/thread.h"
#include "kernel/kernels.h"

/* Bytes of scratch for a product of this shape. */
size_t R_(lcsm_gemm_bytes)(int threads, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K);

/* The result does not depend on the number of threads. */
void R_(lcsm_gemm_parallel)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                            void *ws);

#endif
