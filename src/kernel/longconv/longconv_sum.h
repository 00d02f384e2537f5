/* longconv_sum.h - the one sum of the long convolution, directly or by transforms. */
#ifndef LCSM_KERNEL_LONGCONV_SUM_H
#define LCSM_KERNEL_LONGCONV_SUM_H
#include "kernel/longconv/longconv.h"
#include <stdbool.h>

/* A sequence of `count` steps, `step` reals apart (backwards if negative); D columns each. */
typedef struct {
    const real *p;
    ptrdiff_t   step, count;
} line;

typedef struct {
    real     *p;
    ptrdiff_t step, count;
    bool      add; /* to what is there, else it is overwritten */
} line_out;

/* Whether transforms are faster for T outputs and L lags (or the other way round); never in double
 * or without a library. */
bool   K_(lcsm_longconv_by_fft)(ptrdiff_t T, ptrdiff_t L);
size_t K_(lcsm_longconv_fft_scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D);

/* y_j = sum_l k_l u_{j-l} for the outputs j >= first. Either k has `lags` steps or only the last
 * `lags` outputs are wanted, so sums that wrap around after T + lags - 1 steps do no harm. */
void K_(lcsm_longconv_fft)(const line *k, const line *u, const line_out *y, ptrdiff_t first,
                           ptrdiff_t lags, ptrdiff_t D, real *ws);
#endif
