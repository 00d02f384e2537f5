/*
 * kernel/shift/shift.h - token shift: every channel blends a token with the one before it.
 *
 *     y_t = x_{t-1} + mu (x_t - x_{t-1})
 *
 *   x      (T, D), steps x_t reals apart; a negative x_t runs time backwards
 *   past   (D): x_{-1}, or NULL for zeros
 *
 * The token before a reset counts as zero.
 *
 * A call does steps t0 .. t1 - 1 and may look at all of x, so ranges are independent. Backward
 * writes g_x of its range (or adds, if the flag is set), for which it reads g_y of one step more,
 * and adds the range's part to g_mu; each may be NULL. Nothing overlaps. Time O((t1 - t0) D).
 */
#ifndef LCSM_KERNEL_SHIFT_H
#define LCSM_KERNEL_SHIFT_H
#include "kernel/reset.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    ptrdiff_t   T, D;
    const real *x, *mu, *past;
    ptrdiff_t   x_t;
    lcsm_resets resets;
} R_(lcsm_shift);

typedef struct {
    void (*fwd)(const R_(lcsm_shift) *s, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t);
    void (*bwd)(const R_(lcsm_shift) *s, ptrdiff_t t0, ptrdiff_t t1, const real *g_y,
                ptrdiff_t g_y_t, real *g_x, ptrdiff_t g_x_t, bool add, real *g_mu);
} R_(lcsm_shift_kernels);

extern const R_(lcsm_shift_kernels) K_(lcsm_shift_steps);

/* The token before step t, or NULL where the sequence starts. */
static inline const real *R_(lcsm_shift_before)(const R_(lcsm_shift) *s, ptrdiff_t t)
{
    if (lcsm_resets_at(&s->resets, t)) return NULL;
    return t > 0 ? s->x + (t - 1) * s->x_t : s->past;
}
#endif
