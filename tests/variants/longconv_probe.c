/* longconv_probe.c - the long convolution of one variant, called with numbers in double. */
#include "longconv_probe.h"
#include "kernel/longconv/longconv.h"

#include <stdlib.h>

enum { GAP = 3 }; /* between rows */

/* Rows with gaps, which hold a number that must survive. */
static real *spread(const double *from, ptrdiff_t rows, ptrdiff_t D)
{
    real *to = calloc((size_t)(rows * (D + GAP)) + 1, sizeof(real));
    for (ptrdiff_t j = 0; j < rows; j++) {
        for (ptrdiff_t d = 0; d < D; d++)
            to[j * (D + GAP) + d] = from == NULL ? 0 : (real)from[j * D + d];
        for (ptrdiff_t d = D; d < D + GAP; d++) to[j * (D + GAP) + d] = 77;
    }
    return to;
}

static void gather(real *from, ptrdiff_t rows, ptrdiff_t D, double *to)
{
    for (ptrdiff_t j = 0; j < rows; j++) {
        for (ptrdiff_t d = 0; d < D; d++) to[j * D + d] = (double)from[j * (D + GAP) + d];
        for (ptrdiff_t d = D; d < D + GAP; d++)
            if (from[j * (D + GAP) + d] != 77) to[j * D] = (double)NAN; /* written beside */
    }
}

void K_(longconv_probe)(ptrdiff_t B, ptrdiff_t T, ptrdiff_t L, ptrdiff_t D, const double *u,
                        const double *k, const double *g_y, double *y, double *g_u, double *g_k)
{
    const R_(lcsm_longconv_kernels) *f = &K_(lcsm_longconv_channels);
    real     *x = spread(u, B * T, D), *h = spread(k, L, D), *g = spread(g_y, B * T, D);
    real     *out = spread(NULL, B * T, D), *gx = spread(g_u, B * T, D), *gh = spread(g_k, L, D);
    real     *ws        = aligned_alloc(64, (f->scratch(T, L, D) * sizeof(real) / 64 + 1) * 64);
    ptrdiff_t step      = D + GAP;
    R_(lcsm_longconv) c = {B, T, L, D, x, h, step, step};
    f->fwd(&c, out, step, ws);
    f->bwd(&c, g, step, g_u == NULL ? NULL : gx, step, g_k == NULL ? NULL : gh, step, ws);
    gather(out, B * T, D, y);
    if (g_u != NULL) gather(gx, B * T, D, g_u);
    if (g_k != NULL) gather(gh, L, D, g_k);
    free(x), free(h), free(g), free(out), free(gx), free(gh), free(ws);
}
