/*
 * kernel/ew/ew.h - sums, products and blends, element by element.
 *
 * n numbers, contiguous. With `add` the result is added to y, else y is overwritten. y may be the
 * memory of an operand; otherwise nothing overlaps. Time O(n).
 */
#ifndef LCSM_KERNEL_EW_H
#define LCSM_KERNEL_EW_H
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    /* y = a + b */
    void (*add)(ptrdiff_t n, const real *a, const real *b, real *y);
    /* y = s a, y = a b */
    void (*scale)(ptrdiff_t n, real s, const real *a, bool add, real *y);
    void (*mul)(ptrdiff_t n, const real *a, const real *b, bool add, real *y);
    /* y = a + w (b - a) */
    void (*lerp)(ptrdiff_t n, const real *a, const real *b, const real *w, real *y);
    /* y = g (1 - w),  y = g (b - a) */
    void (*lerp_a)(ptrdiff_t n, const real *g, const real *w, bool add, real *y);
    void (*lerp_w)(ptrdiff_t n, const real *g, const real *a, const real *b, bool add, real *y);
    /* The sum of n numbers. */
    real (*sum)(ptrdiff_t n, const real *a);
} R_(lcsm_ew_kernels);

extern const R_(lcsm_ew_kernels) K_(lcsm_ew);

#endif
