/*
 * kernel/rotate/rotate.h - rotation of features by an angle that grows with the position.
 *
 * A row x has H heads of K numbers; head h reads angle j at (h * head + j), so head = 0 shares one
 * set of angles. With c_j, s_j the cosine and sine of the angle:
 *
 *     PAIRS    J = K/2   (x_2j, x_2j+1)    -> (x_2j c_j - x_2j+1 s_j,  x_2j+1 c_j + x_2j s_j)
 *     HALVES   J = K/2   (x_j, x_j+J)      -> (x_j c_j - x_j+J s_j,    x_j+J c_j + x_j s_j)
 *     DOUBLE   J = K      x_j              -> y_j = x_j c_j,  y_j+K = x_j s_j        (2K numbers)
 *
 * table   makes c and s, with room for 2n each, of the angles position * theta_j, j < n. Angles are
 *         formed and reduced to one turn in double, so that a position of many millions costs
 *         no accuracy. In which order they lie there is the set's own business.
 * apply   y = rotation of x, one row
 * back    one row of the gradient: g_x (added if the flag is set) from g_y, and
 *         g_theta_j += position dL/d(angle_j), in double, because the sum over time has terms as
 *         large as the position; each may be NULL
 *
 * Nothing overlaps, except that y may be x, and g_x g_y, if it is not DOUBLE. Time O(H K).
 */
#ifndef LCSM_KERNEL_ROTATE_H
#define LCSM_KERNEL_ROTATE_H
#include "kernel/kinds.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    lcsm_rotate_kind kind;
    ptrdiff_t        H, K, head; /* head: 0, or angles of a head */
    const real      *c, *s;
    double           position;
} R_(lcsm_rotate);

typedef struct {
    void (*table)(lcsm_rotate_kind kind, ptrdiff_t n, double position, const real *theta, real *c,
                  real *s);
    void (*apply)(const R_(lcsm_rotate) *r, const real *x, real *y);
    void (*back)(const R_(lcsm_rotate) *r, const real *x, const real *g_y, real *g_x, bool add,
                 double *g_theta);
} R_(lcsm_rotate_kernels);

extern const R_(lcsm_rotate_kernels) K_(lcsm_rotate_rows);
#endif
