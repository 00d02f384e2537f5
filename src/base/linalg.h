/*
 * linalg.h - small dense matrices in double, row-major: linear equations and Hermitian
 * eigenvectors.
 *
 * For parameters, which are few and must be right: no threads, no allocation, time O(n^3).
 */
#ifndef LCSM_BASE_LINALG_H
#define LCSM_BASE_LINALG_H
#include <stdbool.h>
#include <stddef.h>

/* A (n, n) becomes its factors L and U with rows exchanged as pivot (n) says. False, with A
 * spoilt, if A is singular. */
bool lcsm_lu_factor(size_t n, double *a, size_t *pivot);

/* X (n, cols) <- A^-1 X, and A^-T X. */
void lcsm_lu_solve(size_t n, const double *lu, const size_t *pivot, size_t cols, double *x);
void lcsm_lu_solve_transposed(size_t n, const double *lu, const size_t *pivot, size_t cols,
                              double *x);

/*
 * The eigenvalues w (n), ascending, of a Hermitian A (n, n) of pairs (re, im), and unit
 * eigenvectors: row k of v (n, n), pairs too, belongs to w[k], so A = sum_k w_k v_k v_k^*. A is
 * spoilt. By Jacobi's rotations: w is good to a few n units of the last place of the largest.
 */
void lcsm_hermitian_eigen(size_t n, double *a, double *w, double *v);

#endif
