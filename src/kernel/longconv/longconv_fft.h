/* longconv_fft.h - long convolutions by transforms: contract and scratch as in longconv.h. */
#ifndef LCSM_KERNEL_LONGCONV_FFT_H
#define LCSM_KERNEL_LONGCONV_FFT_H
#include "kernel/longconv/longconv.h"
#include <stdbool.h>

/* Whether they are faster than the direct sum. */
bool   K_(lcsm_longconv_by_fft)(ptrdiff_t T, ptrdiff_t L);
size_t K_(lcsm_longconv_fft_scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D);

void K_(lcsm_longconv_fft)(const R_(lcsm_longconv) *c, real *y, ptrdiff_t y_t, real *ws);
void K_(lcsm_longconv_fft_bwd)(const R_(lcsm_longconv) *c, const real *g_y, ptrdiff_t g_y_t,
                               real *g_u, ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws);
#endif
