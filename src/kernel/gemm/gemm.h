/*
 * kernel/gemm/gemm.h - matrix products, row-major:  C = alpha op(A) op(B), or C += ...
 *
 *   op(A) (M, K): A itself, or with ta the transpose of A (K, M); likewise op(B) (K, N)
 *   C     (M, N), overlaps nothing; it is not read unless add
 *   lda, ldb, ldc: reals from row to row of the matrices as they are stored
 *   ws    lcsm_gemm_scratch(M, N, K) reals, 64-byte aligned
 *
 * Any size may be 0. Each kernel sums every element of C in the same order whatever M and N are,
 * so a product may be cut into slices of rows or columns without changing a bit. O(M N K).
 */
#ifndef LCSM_KERNEL_GEMM_H
#define LCSM_KERNEL_GEMM_H
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool        ta, tb, add;
    ptrdiff_t   M, N, K;
    real        alpha;
    const real *A, *B;
    real       *C;
    ptrdiff_t   lda, ldb, ldc;
} R_(lcsm_gemm);

typedef struct {
    void (*run)(const R_(lcsm_gemm) *x, real *ws);
    /* The same for few rows, with tb and without ta: reads B once, where it lies. */
    void (*dots)(const R_(lcsm_gemm) *x);
} R_(lcsm_gemm_kernels);

extern const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products);

/* Rows, depth and columns of what is packed at a time. */
enum { GEMM_MC = 192, GEMM_KC = 256, GEMM_NC = 1024, GEMM_DOT_ROWS = 4 };

/* A multiple of every panel's width, in any set. */
enum { GEMM_PANEL = 64 };

static inline ptrdiff_t lcsm_gemm_part(ptrdiff_t n, ptrdiff_t most)
{
    ptrdiff_t padded = (n + GEMM_PANEL - 1) / GEMM_PANEL * GEMM_PANEL;
    return padded < most ? padded : most;
}

static inline size_t lcsm_gemm_scratch(ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    ptrdiff_t m = lcsm_gemm_part(M, GEMM_MC), n = lcsm_gemm_part(N, GEMM_NC);
    return (size_t)(lcsm_gemm_part(K, GEMM_KC) * (m + n) + m * GEMM_PANEL);
}

#endif
