/*
 * kernel/norm/norm.h - normalisation of groups of D numbers, one affine map behind it.
 *
 *     h = (x - c) r          y = w h + b
 *
 *     LAYER         c = mean(x)    r = 1 / sqrt(mean((x - c)^2) + eps)
 *     RMS           c = 0          r = 1 / sqrt(mean(x^2) + eps)
 *     RMS_OUTSIDE   c = 0          r = 1 / (sqrt(mean(x^2)) + eps)
 *     L2            c = 0          r = 1 / sqrt(sum(x^2) + eps)
 *     SUM           c = 0          r = 1 / (sum(x) + eps)
 *
 * A row has H groups side by side (heads); rows are x_row and y_row reals apart. w and b may be
 * NULL; group h reads them at h * w_head, so 0 shares one weight among the heads.
 * Backward, with u = w g_y, is g_x += r (u - a - h s):
 *
 *     LAYER  a = mean(u), s = mean(u h)      L2   a = 0, s = sum(u h)
 *     RMS    a = 0, s = mean(u h)            SUM  a = sum(u h), s = 0
 *     RMS_OUTSIDE  a = 0, s = mean(u h) / (r sqrt(mean(x^2)))
 *
 * It adds to g_w and g_b, and to g_x if `add` is set; each may be NULL. c and r are computed again
 * from x. y may be x, and g_x may be g_y; else nothing overlaps. Time O(rows H D), no memory.
 */
#ifndef LCSM_KERNEL_NORM_H
#define LCSM_KERNEL_NORM_H
#include "kernel/kinds.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    lcsm_norm_kind kind;
    real           eps;
    ptrdiff_t      rows, H, D, x_row, y_row, w_head;
    const real    *w, *b;
} R_(lcsm_norm);

/* g_y has the strides of y, g_x those of x. */
typedef struct {
    void (*fwd)(const R_(lcsm_norm) *n, const real *x, real *y);
    void (*bwd)(const R_(lcsm_norm) *n, const real *x, const real *g_y, real *g_x, bool add,
                real *g_w, real *g_b);
} R_(lcsm_norm_kernels);

extern const R_(lcsm_norm_kernels) K_(lcsm_norm_rows);
#endif
