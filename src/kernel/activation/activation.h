/*
 * kernel/activation/activation.h - functions of one number, and their products for gated units.
 *
 *     fwd   y   = scale f(x)               glu_fwd   y   = f(a) b
 *     bwd   g_x = scale f'(x) g_y          glu_bwd   g_a = f'(a) b g_y,  g_b = f(a) g_y
 *
 * n numbers, contiguous. A gradient is added to what is there if its flag `add` is set; one that
 * is not wanted is NULL in glu_bwd. A result may be the memory of an operand, and a gradient that
 * of g_y; otherwise nothing overlaps. Time O(n).
 *
 * The scale covers the gate log o = log_sigmoid(z) / tau, whose output is the log decay that the
 * eos operator takes, and A = -exp(A_log). Every f and f' is finite for every finite x: what would
 * overflow stays at the largest number. NaN in, NaN out.
 */
#ifndef LCSM_KERNEL_ACTIVATION_H
#define LCSM_KERNEL_ACTIVATION_H
#include "kernel/kinds.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name;
    void (*fwd)(ptrdiff_t n, real scale, const real *x, real *y);
    void (*bwd)(ptrdiff_t n, real scale, const real *x, const real *g_y, real *g_x, bool add);
    void (*glu_fwd)(ptrdiff_t n, const real *a, const real *b, real *y);
    void (*glu_bwd)(ptrdiff_t n, const real *a, const real *b, const real *g_y, real *g_a,
                    bool add_a, real *g_b, bool add_b);
} R_(lcsm_activation);

extern const R_(lcsm_activation) K_(lcsm_activations)[LCSM_ACT_COUNT];
#endif
