/*
 * kernel/conv/conv.h - short causal convolution, one filter of W taps for each channel.
 *
 *     z_t = b + sum_j w[:, j] x_{t-W+1+j}          y_t = z_t, or silu(z_t)
 *
 *   x      (T, D), steps x_t reals apart; a negative x_t runs time backwards
 *   w      (D, W), filters w_d reals apart
 *   past   (W-1, D) contiguous: what came before x_0, oldest first; NULL for zeros
 *
 * What came before a reset counts as zero.
 *
 * A call does steps t0 .. t1 - 1 and may look at all of x, so ranges are independent. Backward
 * writes g_x of its range (or adds, if the flag is set), for which it reads g_y of up to W - 1
 * steps more, and adds the range's part to g_w (D, W), contiguous, and g_b; each may be NULL. z is
 * computed again from x. Nothing overlaps. Time O((t1 - t0) D W); ws has LCSM_CONV_SCRATCH(W, D)
 * reals.
 */
#ifndef LCSM_KERNEL_CONV_H
#define LCSM_KERNEL_CONV_H
#include "kernel/reset.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

#define LCSM_CONV_SCRATCH(W, D) (3 * (W) * (D))

typedef struct {
    ptrdiff_t   T, D, W;
    const real *x, *w, *b, *past; /* b (D) or NULL */
    ptrdiff_t   x_t, w_d;
    lcsm_resets resets;
    bool        silu;
    bool        turned; /* forward: ws is as the last call with this filter left it */
} R_(lcsm_conv);

typedef struct {
    void (*fwd)(const R_(lcsm_conv) *c, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t,
                real *ws);
    void (*bwd)(const R_(lcsm_conv) *c, ptrdiff_t t0, ptrdiff_t t1, const real *g_y,
                ptrdiff_t g_y_t, real *g_x, ptrdiff_t g_x_t, bool add, real *g_w, real *g_b,
                real *ws);
} R_(lcsm_conv_kernels);

extern const R_(lcsm_conv_kernels) K_(lcsm_conv_steps);

/* How many taps meet tokens of the same sequence: 1 .. W, counting the current token. */
static inline ptrdiff_t R_(lcsm_conv_seen)(const R_(lcsm_conv) *c, ptrdiff_t t)
{
    ptrdiff_t seen = 1;
    while (seen < c->W && (t - seen + 1 < 0 || !lcsm_resets_at(&c->resets, t - seen + 1))) seen++;
    return seen;
}

/* The inputs of a step, counting steps of the past as negative; NULL where there is none. */
static inline const real *R_(lcsm_conv_input)(const R_(lcsm_conv) *c, ptrdiff_t t)
{
    if (t >= 0) return c->x + t * c->x_t;
    return c->past == NULL ? NULL : c->past + (c->W - 1 + t) * c->D;
}
#endif
