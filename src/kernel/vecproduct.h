/*
 * kernel/vecproduct.h - products of small matrices that lie in cache, without packing.
 *
 *     C (m, n) = A (m, k) B (k, n), or C += A B
 *
 * Rows of B and C are contiguous, rows b_k and c_i reals apart; element (i, l) of A is
 * a[i a_i + l a_k], so a transposed A costs nothing. C overlaps neither. Blocks of C stay in
 * registers over the whole of k.
 */
#ifndef LCSM_KERNEL_VECPRODUCT_H
#define LCSM_KERNEL_VECPRODUCT_H
#include "kernel/vecmath.h"

/* Rows and vectors of a block of C: accumulators, a row of B and one broadcast fill the registers.
 */
#if VEC_REGISTERS == 32
enum { VP_ROWS = 6, VP_VECS = 4 };
#else
enum { VP_ROWS = 6, VP_VECS = 2 };
#endif

/* A block of R rows and N vectors, of which `left` columns are there. */
VEC_INLINE void vproduct_block(int R, int N, ptrdiff_t left, ptrdiff_t k, const real *a,
                               ptrdiff_t a_i, ptrdiff_t a_k, const real *b, ptrdiff_t b_k, real *c,
                               ptrdiff_t c_i, bool add)
{
    vec sum[VP_ROWS][VP_VECS];
    for (int i = 0; i < R; i++)
        for (int j = 0; j < N; j++) sum[i][j] = vzero();
    for (ptrdiff_t l = 0; l < k; l++) {
        vec row[VP_VECS];
        for (int j = 0; j < N; j++) row[j] = vload_m(b + l * b_k + j * VW, left - j * VW);
        for (int i = 0; i < R; i++) {
            vec x = vset1(a[i * a_i + l * a_k]);
            for (int j = 0; j < N; j++) sum[i][j] += x * row[j];
        }
    }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < N; j++) vput_m(c + i * c_i + j * VW, sum[i][j], left - j * VW, add);
}

/* R rows, all columns. */
VEC_INLINE void vproduct_rows(int R, ptrdiff_t n, ptrdiff_t k, const real *a, ptrdiff_t a_i,
                              ptrdiff_t a_k, const real *b, ptrdiff_t b_k, real *c, ptrdiff_t c_i,
                              bool add)
{
    ptrdiff_t j = 0;
    for (; j + VP_VECS * VW <= n; j += VP_VECS * VW)
        vproduct_block(R, VP_VECS, VP_VECS * VW, k, a, a_i, a_k, b + j, b_k, c + j, c_i, add);
    for (; j + VW <= n; j += VW)
        vproduct_block(R, 1, VW, k, a, a_i, a_k, b + j, b_k, c + j, c_i, add);
    if (j < n) vproduct_block(R, 1, n - j, k, a, a_i, a_k, b + j, b_k, c + j, c_i, add);
}

static inline void vproduct(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const real *a, ptrdiff_t a_i,
                            ptrdiff_t a_k, const real *b, ptrdiff_t b_k, real *c, ptrdiff_t c_i,
                            bool add)
{
    ptrdiff_t i = 0;
    for (; i + VP_ROWS <= m; i += VP_ROWS)
        vproduct_rows(VP_ROWS, n, k, a + i * a_i, a_i, a_k, b, b_k, c + i * c_i, c_i, add);
    for (; i + 2 <= m; i += 2)
        vproduct_rows(2, n, k, a + i * a_i, a_i, a_k, b, b_k, c + i * c_i, c_i, add);
    if (i < m) vproduct_rows(1, n, k, a + i * a_i, a_i, a_k, b, b_k, c + i * c_i, c_i, add);
}
#endif
