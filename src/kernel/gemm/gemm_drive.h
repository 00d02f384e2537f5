/* kernel/gemm/gemm_drive.h - a matrix product on several threads. */
#ifndef LCSM_KERNEL_GEMM_DRIVE_H
#define LCSM_KERNEL_GEMM_DRIVE_H
#include "base/thread.h"
#include "kernel/kernels.h"

/* A piece of B, and rows of a product with it, by the kernels that the product is for. */
static inline void R_(lcsm_gemm_pack)(const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                                      ptrdiff_t piece, real *packed)
{
    (x->bf16 ? k->bf16->pack : k->gemm->pack)(x, piece, packed);
}

static inline void R_(lcsm_gemm_run)(const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                                     const real *packed, real *ws)
{
    (x->bf16 ? k->bf16->run : k->gemm->run)(x, packed, ws);
}

/* Bytes of scratch for a product of this shape. */
size_t R_(lcsm_gemm_bytes)(int threads, bool bf16, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K);

/* The result does not depend on the number of threads. */
void R_(lcsm_gemm_parallel)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                            void *ws);

/* n numbers to bfloat16 and back, on all threads. */
void R_(lcsm_narrow)(lcsm_pool *pool, const R_(lcsm_kernels) *k, ptrdiff_t n, const real *from,
                     uint16_t *to);
void R_(lcsm_widen)(lcsm_pool *pool, const R_(lcsm_kernels) *k, ptrdiff_t n, const uint16_t *from,
                    real *to);

#endif
