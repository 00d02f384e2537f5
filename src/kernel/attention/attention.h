/*
 * kernel/attention/attention.h - softmax attention of one head, without ever storing T x T numbers.
 *
 *     y_t = sum_j p_tj v_j,   p_tj = exp(scale q_t . k_j - lse_t),   lo_t <= j < hi_t
 *
 * Keys and values come from two places, `past` (a cache) and then `now`; lo and hi count through
 * both. A step that sees nothing (hi_t <= lo_t) gives zeros. Steps of an array are *_t reals apart.
 *
 * fwd   writes y (T, D) and lse (T)
 * bwd   takes y, lse and g_y and adds to g_q and to g_k, g_v of `now`; each may be NULL
 *
 * Nothing overlaps. Time O(T S (K + D)) for S keys, of which those that no query of a block sees
 * cost nothing; ws has lcsm_attention_scratch reals.
 */
#ifndef LCSM_KERNEL_ATTENTION_H
#define LCSM_KERNEL_ATTENTION_H
#include "kernel/variant.h"
#include <stddef.h>
#include <stdint.h>

enum { LCSM_ATTENTION_BLOCK = 64 }; /* queries, and keys, of a block */

typedef struct {
    ptrdiff_t   n; /* keys */
    const real *k, *v;
    ptrdiff_t   k_t, v_t;
} R_(lcsm_attention_keys);

typedef struct {
    ptrdiff_t               T, K, D;
    real                    scale;
    const real             *q;
    ptrdiff_t               q_t;
    R_(lcsm_attention_keys) past, now;
    const int32_t          *lo, *hi; /* (T) */
} R_(lcsm_attention);

typedef struct {
    real     *q, *k, *v;
    ptrdiff_t q_t, k_t, v_t;
} R_(lcsm_attention_grads);

typedef struct {
    void (*fwd)(const R_(lcsm_attention) *a, real *y, ptrdiff_t y_t, real *lse, real *ws);
    void (*bwd)(const R_(lcsm_attention) *a, const real *y, ptrdiff_t y_t, const real *lse,
                const real *g_y, ptrdiff_t g_y_t, const R_(lcsm_attention_grads) *g, real *ws);
} R_(lcsm_attention_kernels);

extern const R_(lcsm_attention_kernels) K_(lcsm_attention_head);

/* Reals of scratch for S keys, T queries. */
static inline size_t R_(lcsm_attention_scratch)(ptrdiff_t T, ptrdiff_t S, ptrdiff_t K, ptrdiff_t D)
{
    size_t block = LCSM_ATTENTION_BLOCK;
    return 2 * block * block + block * (size_t)(K + D) + 2 * (size_t)T + (size_t)S;
}
#endif
