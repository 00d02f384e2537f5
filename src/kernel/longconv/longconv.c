/*
 * longconv.c - the long convolution in vectors over the channels.
 *
 * Many lags take transforms (longconv_fft.c). Few are summed directly: the forward pass and both
 * gradients are one sum, over sequences that run forwards or backwards:
 *
 *     y_j   = sum_l k_l u_{j-l}            g_u reversed = k * (g_y reversed)
 *                                          g_k reversed = (g_y reversed) * u
 */
#include "kernel/longconv/longconv_fft.h"
#include "kernel/vec.h"

/* Outputs of a block: each lag then costs two loads for BLOCK multiply-adds. */
enum { BLOCK = 4 };

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

/* y_j = sum_l k_l u_{j-l} for the outputs j >= first. */
static void sum(const line *k, const line *u, const line_out *y, ptrdiff_t first, ptrdiff_t D)
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

/* ---- sequences --------------------------------------------------------------------------- */

static void forward(const R_(lcsm_longconv) *c, real *y, ptrdiff_t y_t, real *ws)
{
    if (K_(lcsm_longconv_by_fft)(c->T, c->L)) {
        K_(lcsm_longconv_fft)(c, y, y_t, ws);
        return;
    }
    line k = {c->k, c->k_l, c->L};
    for (ptrdiff_t b = 0; b < c->B; b++) {
        line     u  = {c->u + b * c->T * c->u_t, c->u_t, c->T};
        line_out to = {y + b * c->T * y_t, y_t, c->T, false};
        sum(&k, &u, &to, 0, c->D);
    }
}

/* The gradients of steps that end at `last`. */
static void backward_sequence(const R_(lcsm_longconv) *c, ptrdiff_t last, const real *g_y,
                              ptrdiff_t g_y_t, real *g_u, ptrdiff_t g_u_t, real *g_k,
                              ptrdiff_t g_k_l)
{
    line k = {c->k, c->k_l, c->L}, u = {c->u + (last - c->T + 1) * c->u_t, c->u_t, c->T};
    line g = {g_y + last * g_y_t, -g_y_t, c->T};
    if (g_u != NULL) {
        line_out to = {g_u + last * g_u_t, -g_u_t, c->T, true};
        sum(&k, &g, &to, 0, c->D);
    }
    if (g_k != NULL && c->L > 0) {
        line_out to = {g_k + (c->T - 1) * g_k_l, -g_k_l, c->T, true};
        sum(&g, &u, &to, c->L < c->T ? c->T - c->L : 0, c->D);
    }
}

static void backward(const R_(lcsm_longconv) *c, const real *g_y, ptrdiff_t g_y_t, real *g_u,
                     ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws)
{
    if (c->T == 0) return;
    if (K_(lcsm_longconv_by_fft)(c->T, c->L)) {
        K_(lcsm_longconv_fft_bwd)(c, g_y, g_y_t, g_u, g_u_t, g_k, g_k_l, ws);
        return;
    }
    for (ptrdiff_t b = 1; b <= c->B; b++)
        backward_sequence(c, b * c->T - 1, g_y, g_y_t, g_u, g_u_t, g_k, g_k_l);
}

const R_(lcsm_longconv_kernels) K_(lcsm_longconv_channels) = {K_(lcsm_longconv_fft_scratch),
                                                              forward, backward};
