/*
 * kernel/eos/pairs/eos_pairs.h - the recurrence with a static o and a static a and b of rank one,
 * over conjugate pairs: one sequence, a tile of LCSM_PAIRS_LANES heads of one column, each with its
 * own M complex rows, which stand for themselves and their conjugates. As in S4.
 *
 *     S_t = 2 Re(sum v m_{t-1})          m_t = a m_{t-1} - w S_t + b u_t
 *     y_t = 2 Re(sum C m_t)
 *
 * In the words of the operator a is o, -w is a, v is b, b is e, C is s and u is i. The kernels get
 * these coefficients in the order of the enum: (M, 10, LANES).
 *
 *   m     (M, 2, LANES), in m_0, out m_T
 *   u, y  (T, n), n <= LANES heads, steps u_t and y_t apart; negative ones run time backwards
 *   tape  m before every step t that is a multiple of LCSM_PAIRS_CELL: (cells, M, 2, LANES)
 *
 * Backward, with G the gradient of m_t (real and imaginary part), after G += 2 conj(C) g_y:
 *
 *     g_S = -sum Re(conj(w) G)       g_u = sum Re(conj(b) G)
 *     g_C += 2 conj(m_t) g_y    g_w -= S_t G    g_b += u_t G
 *     g_a += G conj(m_{t-1})    g_v += 2 g_S conj(m_{t-1})      G <- conj(a) G + 2 g_S conj(v)
 *
 * bwd gets in g_m (layout as m) the gradient of m_T and leaves there that of m_0. It adds to the
 * gradients g of the coefficients (layout as theirs), and to g_u if the flag is set; g_u may be
 * NULL. Nothing overlaps. Time O(T M LANES); ws has LCSM_PAIRS_SCRATCH(M) reals.
 */
#ifndef LCSM_KERNEL_EOS_PAIRS_H
#define LCSM_KERNEL_EOS_PAIRS_H
#include "kernel/reset.h"
#include "kernel/variant.h"

enum {
    LCSM_PAIRS_A,
    LCSM_PAIRS_W     = 2,
    LCSM_PAIRS_B     = 4,
    LCSM_PAIRS_V     = 6,
    LCSM_PAIRS_C     = 8, /* each a row of real and a row of imaginary parts */
    LCSM_PAIRS_ROWS  = 10,
    LCSM_PAIRS_LANES = 16,
    LCSM_PAIRS_CELL  = 32,
};

/* Reals of one memory, of all coefficients, of the scratch: the memories around the steps of a cell
 * and their S, an empty memory, and G. */
#define LCSM_PAIRS_MEMORY(M)  (2 * (size_t)(M)*LCSM_PAIRS_LANES)
#define LCSM_PAIRS_COEF(M)    (LCSM_PAIRS_ROWS * (size_t)(M)*LCSM_PAIRS_LANES)
#define LCSM_PAIRS_SCRATCH(M) ((LCSM_PAIRS_CELL + 3) * (LCSM_PAIRS_MEMORY(M) + LCSM_PAIRS_LANES))

typedef struct {
    ptrdiff_t   T, M, n;
    const real *coef, *u;
    ptrdiff_t   u_t;
    lcsm_resets resets;
} R_(lcsm_eos_pairs);

typedef struct {
    const real *g_y;
    real       *g_u, *g;
    ptrdiff_t   g_y_t, g_u_t;
    bool        add;
} R_(lcsm_eos_pairs_grads);

typedef struct {
    void (*fwd)(const R_(lcsm_eos_pairs) *x, real *m, real *y, ptrdiff_t y_t, real *tape);
    void (*bwd)(const R_(lcsm_eos_pairs) *x, real *tape, const R_(lcsm_eos_pairs_grads) *g,
                real *g_m, real *ws);
} R_(lcsm_eos_pairs_kernels);

extern const R_(lcsm_eos_pairs_kernels) K_(lcsm_eos_pairs_steps);
#endif
