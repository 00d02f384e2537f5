/*
 * kernel/eos/mean/eos_mean.h - the recurrence with running maximum, normaliser and a read with
 * bonus at K = D = 1, in one pass: the average of values of some channels of one sequence, as in
 * RWKV-4.
 *
 *     y_t = (p + exp(u + k_t) v_t) / (q + exp(u + k_t))
 *     p   = exp(w) p + exp(k_t) v_t         q = exp(w) q + exp(k_t)
 *
 * The memory is kept as (p, q, o) with the true values p exp(o) and q exp(o), and o the largest
 * exponent so far, so no exponential exceeds 1 and any key is fine. It is empty at p = q = 0,
 * o = LCSM_MEAN_EMPTY.
 *
 *   k, v, y  (T, D), rows k_t, v_t, y_t reals apart, columns contiguous; negative strides run
 *            time backwards
 *   w, u     (D): the logarithm of the decay, below 0, and the bonus of the current token
 *
 * Backward with L_t = log of the denominator: a forward sweep takes dp, dq, the derivatives of p
 * and q by w, along (scaled as p and q), a reverse sweep the gradients (gp, gq) exp(O):
 *
 *     b = g_y exp(u + k - L)          g_u += b (v - y)       g_w += g_y exp(o - L) (dp - y dq)
 *     a = exp(k + O)                  g_k  = b (v - y) + a (gp v + gq)      g_v = b + a gp
 *     gp <- exp(w) gp + g_y exp(-L)   gq <- exp(w) gq - g_y y exp(-L)
 *
 * bwd gets the memory from before the sequence, and spoils it, and in `r` the gradient of the true
 * values after it as (gp, gq, O), empty as a memory is; it leaves there that of the values before
 * it. It adds to g_w and g_u, and to g_k
 * and g_v if their flag is set; those may be NULL. Nothing overlaps. Time O(T D); ws has
 * LCSM_MEAN_SCRATCH(T, D) reals.
 */
#ifndef LCSM_KERNEL_EOS_MEAN_H
#define LCSM_KERNEL_EOS_MEAN_H
#include "kernel/reset.h"
#include "kernel/variant.h"

#define LCSM_MEAN_EMPTY         ((real)-1e38)
#define LCSM_MEAN_SCRATCH(T, D) (((size_t)(T) + 2) * (size_t)(D))

typedef struct {
    real *p, *q, *o; /* (D) each */
} R_(lcsm_eos_mean_memory);

typedef struct {
    ptrdiff_t   T, D;
    const real *k, *v, *w, *u;
    ptrdiff_t   k_t, v_t;
    lcsm_resets resets;
} R_(lcsm_eos_mean);

typedef struct {
    const real *y, *g_y;
    ptrdiff_t   y_t, g_y_t;
    real       *g_k, *g_v, *g_w, *g_u;
    ptrdiff_t   g_k_t, g_v_t;
    bool        add_k, add_v;
} R_(lcsm_eos_mean_grads);

typedef struct {
    void (*fwd)(const R_(lcsm_eos_mean) *x, R_(lcsm_eos_mean_memory) m, real *y, ptrdiff_t y_t);
    void (*bwd)(const R_(lcsm_eos_mean) *x, R_(lcsm_eos_mean_memory) m, R_(lcsm_eos_mean_memory) r,
                const R_(lcsm_eos_mean_grads) *g, real *ws);
} R_(lcsm_eos_mean_kernels);

extern const R_(lcsm_eos_mean_kernels) K_(lcsm_eos_mean_steps);
#endif
