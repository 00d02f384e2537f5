/*
 * toeplitz.h - a causal Toeplitz operator of n lags as a recurrence, exactly.
 *
 *     y_t[d] = sum_{r <= t} gamma^(t-r) t_{t-r}[d] v_r[d]              for t < n
 *
 * is the EOS operator with i = v, s = 1 and complex static states of K rows,
 *
 *     o_k = gamma exp(i phase_k),    phase_k = -2 pi (k+1) / (n+1)     e = E (K, D)
 *
 * because the lags, with their negative sum appended, are a sum of the n+1 roots of unity with
 * the weights b = DFT(t) / (n+1), b_0 = 0. Of each conjugate pair one is kept, doubled. From lag n
 * on the recurrence repeats itself, gamma^l t_(l mod n+1), so n is the longest length needed.
 *
 * Everything is in double. A channel takes time O(n f), f the sum of the prime factors of n+1:
 * best is n = 2^j - 1.
 */
#ifndef LCSM_BASE_TOEPLITZ_H
#define LCSM_BASE_TOEPLITZ_H
#include <stddef.h>

#include "base/cplx.h"
#include "base/error.h"

/* K: the rows of memory for n lags. */
static inline size_t lcsm_toeplitz_rows(size_t n)
{
    return (n + 1) / 2;
}

double lcsm_toeplitz_phase(size_t n, size_t k);

/* exp(2 pi i j / (n+1)) for j = 0 .. n, which the transforms below read. */
void lcsm_toeplitz_roots(size_t n, lcsm_cplx *roots);

/* One channel: lags t[0], t[stride] .. -> E (K), and the adjoint of that map: the gradient of E ->
 * that of the lags, written to g_t (n). work has room for 3 (n+1) numbers. */
void lcsm_toeplitz_channel(size_t n, const lcsm_cplx *roots, const double *t, size_t stride,
                           lcsm_cplx *E, lcsm_cplx *work);
void lcsm_toeplitz_channel_bwd(size_t n, const lcsm_cplx *roots, const lcsm_cplx *g_E, double *g_t,
                               lcsm_cplx *work);

/* t (n, D), without the decay -> phase (K) and E (K, D) of pairs. The log magnitude of o is that of
 * gamma. */
lcsm_status lcsm_toeplitz_convert(size_t n, size_t D, const double *t, double *phase, double *E,
                                  lcsm_error *err);
#endif
