/*
 * kernel/longconv/longconv.h - causal convolution over a whole sequence, channel by channel.
 *
 *     y_t = sum_{l <= min(t, L - 1)} k_l u_{t-l}
 *
 *   u, y   (B, T, D), steps u_t and y_t reals apart, sequences one behind the other
 *   k      (L, D), lags k_l reals apart
 *
 * fwd   writes y
 * bwd   adds to g_u (steps g_u_t apart) and to g_k (lags g_k_l apart); each may be NULL:
 *
 *           g_u_r = sum_l k_l g_y_{r+l}          g_k_l = sum_{b,t} g_y_t u_{t-l}
 *
 * Nothing overlaps. ws has scratch(T, L, D) reals, aligned to 64 bytes. Channels are independent: a
 * caller may split D.
 */
#ifndef LCSM_KERNEL_LONGCONV_H
#define LCSM_KERNEL_LONGCONV_H
#include "kernel/variant.h"
#include <stddef.h>

typedef struct {
    ptrdiff_t   B, T, L, D;
    const real *u, *k;
    ptrdiff_t   u_t, k_l;
} R_(lcsm_longconv);

typedef struct {
    size_t (*scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D);
    void (*fwd)(const R_(lcsm_longconv) *c, real *y, ptrdiff_t y_t, real *ws);
    void (*bwd)(const R_(lcsm_longconv) *c, const real *g_y, ptrdiff_t g_y_t, real *g_u,
                ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws);
} R_(lcsm_longconv_kernels);

extern const R_(lcsm_longconv_kernels) K_(lcsm_longconv_channels);
#endif
