/*
 * transform.h - Fourier transforms of VW channels side by side, for products of polynomials.
 *
 * A sequence is a polynomial x(z) = sum_j x_j z^j modulo z^n - i, n = 16, 32, 64 .. Of two real
 * ones the product is p + i q: p the coefficients below z^n of the whole product, q those from z^n
 * on. So n complex numbers hold a whole convolution of n by n reals, without padding.
 *
 * The transform is x(z) at the n roots of z^n = i. One step halves a polynomial modulo z^n - c:
 *
 *     z^n - c = (z^(n/2) - w) (z^(n/2) + w),  w^2 = c:      a + b z^(n/2)  ->  a + w b,  a - w b
 *
 * Each half has one w, for the one modulo z^(n/2) + w it is i times that of its sibling, and
 * roots[h] is that of node h of the tree: root 1, halves 2h and 2h + 1. Values come out in the
 * order of the leaves and go back from there. The transform is unitary but for a factor n.
 */
#ifndef LCSM_KERNEL_LONGCONV_TRANSFORM_H
#define LCSM_KERNEL_LONGCONV_TRANSFORM_H
#include "kernel/vecpair.h"

typedef struct {
    real re, im;
} root;

/* Fills roots[1 .. n - 1]. */
void K_(lcsm_transform_roots)(ptrdiff_t n, root *roots);

/* x (n) in place; back is n times the inverse. Time O(n log n). */
void K_(lcsm_transform)(ptrdiff_t n, const root *roots, pair *x);
void K_(lcsm_transform_back)(ptrdiff_t n, const root *roots, pair *x);
#endif
