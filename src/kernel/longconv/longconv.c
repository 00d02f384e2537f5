/*
 * longconv.c - the long convolution in vectors over the channels.
 *
 * The forward pass and both gradients are one sum, over sequences that run forwards or backwards:
 *
 *     y_j   = sum_l k_l u_{j-l}            g_u reversed = k * (g_y reversed)
 *                                          g_k reversed = (g_y reversed) * u
 *
 * Short ones are summed directly, long ones by transforms (longconv_fft.c).
 */
#include "kernel/longconv/longconv_sum.h"
#include "kernel/vec.h"

/* Outputs of a block: each lag then costs two loads for BLOCK multiply-adds. */
enum { BLOCK = 4 };

/* VW columns, or the n < VW that exist. */
VEC_INLINE vec load(const line *x, ptrdiff_t j, ptrdiff_t d, ptrdiff_t n)
{
    const real *p = x->p + j * x->step + d;
    return n == VW ? vload(p) : vload_n(p, n);
}

/* The same, 0 outside of the sequence. */
VEC_INLINE vec load_or_0(const line *x, ptrdiff_t j, ptrdiff_t d, ptrdiff_t n)
{
    return j < 0 || j >= x->count ? vzero() : load(x, j, d, n);
}

/* BLOCK lags from l on. The ring holds the u that meet a lag: for lag l + s the one of output a is
 * number (a - s) mod BLOCK, so that a lag replaces one of them. */
VEC_INLINE void sum_lags(const line *k, const line *u, ptrdiff_t j, ptrdiff_t l, ptrdiff_t d,
                         ptrdiff_t n, bool inside, vec ring[BLOCK], vec y[BLOCK])
{
#pragma GCC unroll 4
    for (ptrdiff_t s = 0; s < BLOCK; s++) {
        vec lag = inside ? load(k, l + s, d, n) : load_or_0(k, l + s, d, n);
#pragma GCC unroll 4
        for (ptrdiff_t a = 0; a < BLOCK; a++) y[a] += lag * ring[(a - s) & (BLOCK - 1)];
        ptrdiff_t before             = j - l - s - 1;
        ring[(-s - 1) & (BLOCK - 1)] = inside ? load(u, before, d, n) : load_or_0(u, before, d, n);
    }
}

/* Outputs j .. j + BLOCK - 1 of n columns. */
VEC_INLINE void sum_block(const line *k, const line *u, ptrdiff_t j, ptrdiff_t d, ptrdiff_t n,
                          vec y[BLOCK])
{
    ptrdiff_t lags = k->count < j + BLOCK ? k->count : j + BLOCK, l = 0;
    ptrdiff_t inside = (k->count < j ? k->count : j) / BLOCK * BLOCK;
    vec       ring[BLOCK];
    for (ptrdiff_t a = 0; a < BLOCK; a++) {
        ring[a] = load_or_0(u, j + a, d, n);
        y[a]    = vzero();
    }
    for (; l < inside; l += BLOCK) sum_lags(k, u, j, l, d, n, true, ring, y);
    for (; l < lags; l += BLOCK) sum_lags(k, u, j, l, d, n, false, ring, y);
}

static void sum_direct(const line *k, const line *u, const line_out *y, ptrdiff_t first,
                       ptrdiff_t D)
{
    for (ptrdiff_t d = 0; d < D; d += VW)
        for (ptrdiff_t j = first; j < y->count; j += BLOCK) {
            ptrdiff_t n = D - d < VW ? D - d : VW;
            vec       sums[BLOCK];
            if (n == VW) sum_block(k, u, j, d, VW, sums);
            else sum_block(k, u, j, d, n, sums);
            for (ptrdiff_t a = 0; a < BLOCK && j + a < y->count; a++) {
                real *to = y->p + (j + a) * y->step + d;
                vstore_n(to, y->add ? vload_n(to, n) + sums[a] : sums[a], n);
            }
        }
}

/* The outputs from `first` on; at most `lags` of them, or of the lags, count. */
static void sum(const line *k, const line *u, const line_out *y, ptrdiff_t first, ptrdiff_t lags,
                ptrdiff_t D, real *ws)
{
    if (K_(lcsm_longconv_by_fft)(y->count, lags))
        K_(lcsm_longconv_fft)(k, u, y, first, lags, D, ws);
    else sum_direct(k, u, y, first, D);
}

static void forward(const R_(lcsm_longconv) *c, real *y, ptrdiff_t y_t, real *ws)
{
    line     k = {c->k, c->k_l, c->L}, u = {c->u, c->u_t, c->T};
    line_out to = {y, y_t, c->T, false};
    sum(&k, &u, &to, 0, c->L < c->T ? c->L : c->T, c->D, ws);
}

static void backward(const R_(lcsm_longconv) *c, const real *g_y, ptrdiff_t g_y_t, real *g_u,
                     ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws)
{
    if (c->T == 0) return;
    ptrdiff_t last = c->T - 1, lags = c->L < c->T ? c->L : c->T;
    line      k = {c->k, c->k_l, c->L}, u = {c->u, c->u_t, c->T};
    line      g = {g_y + last * g_y_t, -g_y_t, c->T};
    if (g_u != NULL) {
        line_out to = {g_u + last * g_u_t, -g_u_t, c->T, true};
        sum(&k, &g, &to, 0, lags, c->D, ws);
    }
    if (g_k != NULL && lags > 0) {
        line_out to = {g_k + last * g_k_l, -g_k_l, c->T, true};
        sum(&g, &u, &to, c->T - lags, lags, c->D, ws);
    }
}

const R_(lcsm_longconv_kernels) K_(lcsm_longconv_channels) = {K_(lcsm_longconv_fft_scratch),
                                                              forward, backward};
