/*
 * conv.c - the short convolution on vectors of channels.
 *
 * A tile of channels keeps its filters, turned so that a tap is a row, and in backward the
 * gradients of z for the last W steps and of the filters, in scratch that stays in the first cache
 * while time runs.
 */
#include "kernel/conv/conv.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_conv) conv;

enum { TILE = LCSM_CONV_TILE, WIDE = 4 };

/* Filters of channels d0 .. d0 + n - 1 as rows of a tap. */
static void turn(const conv *c, ptrdiff_t d0, ptrdiff_t n, real *wt)
{
    for (ptrdiff_t d = 0; d < n; d++)
        for (ptrdiff_t j = 0; j < c->W; j++) wt[j * TILE + d] = c->w[(d0 + d) * c->w_d + j];
}

/* z_t of N vectors of channels, d channels into the tile, of which `left` are there. */
VEC_INLINE void pre(const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t seen, ptrdiff_t d0,
                    ptrdiff_t d, ptrdiff_t left, int N, vec *z)
{
    for (int q = 0; q < N; q++)
        z[q] = c->b != NULL ? vload_m(c->b + d0 + d + q * VW, left - q * VW) : vzero();
    for (ptrdiff_t a = 0; a < seen; a++) {
        const real *x = R_(lcsm_conv_input)(c, t - a);
        const real *w = wt + (c->W - 1 - a) * TILE + d;
        if (x == NULL) break;
        for (int q = 0; q < N; q++)
            z[q] +=
                vload_m(w + q * VW, left - q * VW) * vload_m(x + d0 + d + q * VW, left - q * VW);
    }
}

VEC_INLINE void forward_part(const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t seen,
                             ptrdiff_t d0, ptrdiff_t d, ptrdiff_t left, int N, real *y)
{
    vec z[WIDE];
    pre(c, wt, t, seen, d0, d, left, N, z);
    for (int q = 0; q < N; q++) {
        vec v = c->silu ? z[q] * vsigmoid(z[q]) : z[q];
        vstore_m(y + d0 + d + q * VW, v, left - q * VW);
    }
}

static void forward(const conv *c, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t, real *wt)
{
    for (ptrdiff_t d0 = 0; d0 < c->D; d0 += TILE) {
        ptrdiff_t n = c->D - d0 < TILE ? c->D - d0 : TILE;
        turn(c, d0, n, wt);
        for (ptrdiff_t t = t0; t < t1; t++) {
            ptrdiff_t seen = R_(lcsm_conv_seen)(c, t), d = 0;
            for (; d + WIDE * VW <= n; d += WIDE * VW)
                forward_part(c, wt, t, seen, d0, d, WIDE * VW, WIDE, y + t * y_t);
            for (; d < n; d += VW) forward_part(c, wt, t, seen, d0, d, n - d, 1, y + t * y_t);
        }
    }
}

/* dL/dz_t of a tile into its row of the ring. */
VEC_INLINE void g_pre(const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t seen, ptrdiff_t d0,
                      ptrdiff_t n, const real *g_y, real *ring)
{
    for (ptrdiff_t d = 0; d < n; d += VW) {
        ptrdiff_t left = n - d;
        vec       g    = vload_m(g_y + d0 + d, left);
        if (c->silu) {
            vec z;
            pre(c, wt, t, seen, d0, d, left, 1, &z);
            vec s = vsigmoid(z);
            g     = g * (s + z * s * (1 - s));
        }
        vstore_m(ring + (t % c->W) * TILE + d, g, left);
    }
}

/* g_x_t of a tile from the ring's rows of the `live` steps that saw x_t. */
VEC_INLINE void g_input(const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t live, ptrdiff_t n,
                        const real *ring, real *g_x, bool add)
{
    for (ptrdiff_t d = 0; d < n; d += VW) {
        ptrdiff_t left = n - d;
        vec       sum  = vzero();
        for (ptrdiff_t a = 0; a < live; a++)
            sum += vload_m(wt + (c->W - 1 - a) * TILE + d, left)
                 * vload_m(ring + ((t + a) % c->W) * TILE + d, left);
        vput_m(g_x + d, sum, left, add);
    }
}

VEC_INLINE void g_filter(const conv *c, ptrdiff_t t, ptrdiff_t seen, ptrdiff_t d0, ptrdiff_t n,
                         const real *ring, real *gw)
{
    const real *g = ring + (t % c->W) * TILE;
    for (ptrdiff_t a = 0; a < seen; a++) {
        const real *x   = R_(lcsm_conv_input)(c, t - a);
        real       *row = gw + (c->W - 1 - a) * TILE;
        if (x == NULL) break;
        for (ptrdiff_t d = 0; d < n; d += VW)
            vput_m(row + d, vload_m(g + d, n - d) * vload_m(x + d0 + d, n - d), n - d, true);
    }
}

/* A tile: time runs backwards through the W - 1 steps after the range, which only fill the ring,
 * and through the range. */
static void backward_tile(const conv *c, ptrdiff_t t0, ptrdiff_t t1, ptrdiff_t d0, ptrdiff_t n,
                          const real *g_y, ptrdiff_t g_y_t, real *g_x, ptrdiff_t g_x_t, bool add,
                          real *g_w, real *g_b, real *ws)
{
    real     *wt = ws, *ring = ws + c->W * TILE, *gw = ws + 2 * c->W * TILE;
    ptrdiff_t end  = t1 + c->W - 1 < c->T ? t1 + c->W - 1 : c->T;
    ptrdiff_t live = 0;
    turn(c, d0, n, wt);
    for (ptrdiff_t j = 0; j < c->W * TILE; j++) gw[j] = 0;

    for (ptrdiff_t t = end - 1; t >= t0; t--) {
        ptrdiff_t seen = R_(lcsm_conv_seen)(c, t);
        g_pre(c, wt, t, seen, d0, n, g_y + t * g_y_t, ring);
        live = live < c->W ? live + 1 : c->W;
        if (t < t1) {
            if (g_x != NULL) g_input(c, wt, t, live, n, ring, g_x + t * g_x_t + d0, add);
            if (g_w != NULL) g_filter(c, t, seen, d0, n, ring, gw);
            for (ptrdiff_t d = 0; d < n && g_b != NULL; d += VW)
                vput_m(g_b + d0 + d, vload_m(ring + (t % c->W) * TILE + d, n - d), n - d, true);
        }
        if (R_(lcsm_conv_resets)(c, t)) live = 0;
    }
    for (ptrdiff_t d = 0; d < n && g_w != NULL; d++)
        for (ptrdiff_t j = 0; j < c->W; j++) g_w[(d0 + d) * c->W + j] += gw[j * TILE + d];
}

static void backward(const conv *c, ptrdiff_t t0, ptrdiff_t t1, const real *g_y, ptrdiff_t g_y_t,
                     real *g_x, ptrdiff_t g_x_t, bool add, real *g_w, real *g_b, real *ws)
{
    for (ptrdiff_t d0 = 0; d0 < c->D; d0 += TILE)
        backward_tile(c, t0, t1, d0, c->D - d0 < TILE ? c->D - d0 : TILE, g_y, g_y_t, g_x, g_x_t,
                      add, g_w, g_b, ws);
}

const R_(lcsm_conv_kernels) K_(lcsm_conv_steps) = {forward, backward};
