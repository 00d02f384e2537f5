/*
 * eos_conv_power.h - powers of a static o, as the convolution form needs them.
 *
 * Arrays over the memory are (Kp, Dv): rows and columns rounded up to tiles, the padding of
 * coefficients is 0. Complex ones are two such planes.
 */
#ifndef LCSM_KERNEL_EOS_CONV_POWER_H
#define LCSM_KERNEL_EOS_CONV_POWER_H
#include "kernel/eos/scan/eos_scan_tile.h"
#include "kernel/vecpair.h"

typedef struct {
    scan      p; /* kinds of the operands */
    ptrdiff_t T, Kp, Dv;
    double   *log, *phase;
    real     *o[2];
} powers;

VEC_INLINE pair pair_load(real *const plane[2], ptrdiff_t at)
{
    return (pair){vload(plane[RE] + at), plane[IM] == NULL ? vzero() : vload(plane[IM] + at)};
}

VEC_INLINE void pair_store(real *const plane[2], ptrdiff_t at, pair a)
{
    vstore(plane[RE] + at, a.re);
    if (plane[IM] != NULL) vstore(plane[IM] + at, a.im);
}

/* Takes scratch, and fills it when there is some. */
void K_(lcsm_powers_plan)(powers *w, const seq *x, pieces *c);
void K_(lcsm_powers_fill)(const powers *w);
/* o^l at row k and the VW columns from d on. */
pair K_(lcsm_power)(const powers *w, ptrdiff_t k, ptrdiff_t d, ptrdiff_t l);
/* The factors of o without the complement. */
pair K_(lcsm_power_other)(const powers *w, ptrdiff_t k, ptrdiff_t d);

/* f_l = Re(sum_k a o^l) for l < T; f is (T, Dv). */
void K_(lcsm_power_series)(const powers *w, real *const a[2], real *f);
/* q = sum_l f_l o^l and its derivative by o; steps of f are f_l apart. */
void K_(lcsm_power_sums)(const powers *w, const real *f, ptrdiff_t f_l, real *const q[2],
                         real *const dq[2]);
#endif
