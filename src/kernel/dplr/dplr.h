/*
 * kernel/dplr/dplr.h - state spaces with a diagonal plus low-rank matrix: one sequence, a tile of
 * LCSM_DPLR_LANES channels, each with its own M complex states, halves of conjugate pairs.
 *
 * The bilinear step with A = diag(Lambda) - P P^* and g = 2 / dt,
 *
 *     (g - A) m_t = (g + A) m_{t-1} + 2 B u_t             y_t = 2 Re(sum C m_t)
 *
 * takes O(M) operations: with D0 = 1 / (g - Lambda), den = 1 + P^* D0 P, both inner products with
 * P and the correction of the inverse come together in one real number S_t,
 *
 *     S_t = 2 Re(sum v m_{t-1}) + beta u_t                v = 2 g conj(P) D0 / den
 *     m_t = a m_{t-1} - w S_t + b u_t                     a = (g + Lambda) D0, w = D0 P, b = 2 D0 B
 *                                                         beta = 4 Re(sum conj(P) D0 B) / den
 *
 * The kernels see only these coefficients, in the order of the enum: (M, 10, LANES), then beta
 * (LANES). dplr_drive.h makes them and takes their gradients back.
 *
 *   m     (M, 2, LANES), in m_0, out m_T
 *   u, y  (T, n), n <= LANES channels, steps u_t and y_t apart; negative ones run time backwards
 *   tape  m before every step t that is a multiple of LCSM_DPLR_CELL: (cells, M, 2, LANES)
 *
 * Backward, with G the gradient of m_t (real and imaginary part), after G += 2 conj(C) g_y:
 *
 *     g_S = -sum Re(conj(w) G)       g_u = sum Re(conj(b) G) + beta g_S
 *     g_C += 2 conj(m_t) g_y    g_w -= S_t G    g_b += u_t G    g_beta += u_t g_S
 *     g_a += G conj(m_{t-1})    g_v += 2 g_S conj(m_{t-1})      G <- conj(a) G + 2 g_S conj(v)
 *
 * It adds to the gradients g of the coefficients (layout as theirs), and to g_u if the flag is set;
 * g_u may be NULL. Nothing overlaps. Time O(T M LANES); ws has LCSM_DPLR_SCRATCH(M) reals.
 */
#ifndef LCSM_KERNEL_DPLR_H
#define LCSM_KERNEL_DPLR_H
#include "kernel/reset.h"
#include "kernel/variant.h"

enum {
    LCSM_DPLR_A,
    LCSM_DPLR_W     = 2,
    LCSM_DPLR_B     = 4,
    LCSM_DPLR_V     = 6,
    LCSM_DPLR_C     = 8, /* each a row of real and a row of imaginary parts */
    LCSM_DPLR_ROWS  = 10,
    LCSM_DPLR_LANES = 16,
    LCSM_DPLR_CELL  = 32,
};

/* Reals of one memory, of all coefficients, of the scratch: the memories around the steps of a cell
 * and their S, an empty memory, and G. */
#define LCSM_DPLR_MEMORY(M)  (2 * (size_t)(M)*LCSM_DPLR_LANES)
#define LCSM_DPLR_COEF(M)    ((LCSM_DPLR_ROWS * (size_t)(M) + 1) * LCSM_DPLR_LANES)
#define LCSM_DPLR_SCRATCH(M) ((LCSM_DPLR_CELL + 3) * (LCSM_DPLR_MEMORY(M) + LCSM_DPLR_LANES))

typedef struct {
    ptrdiff_t   T, M, n;
    const real *coef, *u;
    ptrdiff_t   u_t;
    lcsm_resets resets;
} R_(lcsm_dplr);

typedef struct {
    const real *g_y;
    real       *g_u, *g;
    ptrdiff_t   g_y_t, g_u_t;
    bool        add;
} R_(lcsm_dplr_grads);

typedef struct {
    void (*fwd)(const R_(lcsm_dplr) *x, real *m, real *y, ptrdiff_t y_t, real *tape);
    void (*bwd)(const R_(lcsm_dplr) *x, real *tape, const R_(lcsm_dplr_grads) *g, real *ws);
} R_(lcsm_dplr_kernels);

extern const R_(lcsm_dplr_kernels) K_(lcsm_dplr_steps);
#endif
