/*
 * kernel/adamw/adamw.h - one step of Adam with decoupled weight decay, over flat arrays.
 *
 *     g <- grad_scale g                     m <- beta1 m + (1 - beta1) g
 *     p <- keep p                           v <- beta2 v + (1 - beta2) g^2
 *     p <- p - rate m / (root sqrt(v) + eps)
 *
 * keep = 1 - lr weight_decay. The two styles differ in where eps enters, with c1 = 1 - beta1^t and
 * c2 = 1 - beta2^t after t steps:
 *
 *     torch     rate = lr / c1              root = 1 / sqrt(c2)
 *     fairseq   rate = lr sqrt(c2) / c1     root = 1
 *
 * step     the above for n elements; nothing overlaps
 * squares  the sum of g^2 in double
 * Time O(n).
 */
#ifndef LCSM_KERNEL_ADAMW_H
#define LCSM_KERNEL_ADAMW_H
#include "kernel/variant.h"
#include <stddef.h>

typedef struct {
    real grad_scale, beta1, beta2, keep, rate, root, eps;
} R_(lcsm_adamw);

typedef struct {
    void (*step)(const R_(lcsm_adamw) *a, ptrdiff_t n, const real *g, real *p, real *m, real *v);
    double (*squares)(ptrdiff_t n, const real *g);
} R_(lcsm_adamw_kernels);

extern const R_(lcsm_adamw_kernels) K_(lcsm_adamw_flat);
#endif
