/* longconv_ref.c - the definition of the long convolution. */
#include "kernel/longconv/longconv.h"

typedef R_(lcsm_longconv) longconv;

static size_t scratch(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    (void)T, (void)L, (void)D;
    return 0;
}

static void forward(const longconv *c, real *y, ptrdiff_t y_t, real *ws)
{
    (void)ws;
    for (ptrdiff_t j = 0; j < c->B * c->T; j++) {
        for (ptrdiff_t d = 0; d < c->D; d++) y[j * y_t + d] = 0;
        for (ptrdiff_t l = 0; l <= j % c->T && l < c->L; l++)
            for (ptrdiff_t d = 0; d < c->D; d++)
                y[j * y_t + d] += c->k[l * c->k_l + d] * c->u[(j - l) * c->u_t + d];
    }
}

static void backward(const longconv *c, const real *g_y, ptrdiff_t g_y_t, real *g_u,
                     ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws)
{
    (void)ws;
    for (ptrdiff_t j = 0; j < c->B * c->T; j++)
        for (ptrdiff_t l = 0; l <= j % c->T && l < c->L; l++)
            for (ptrdiff_t d = 0; d < c->D; d++) {
                real g = g_y[j * g_y_t + d];
                if (g_u != NULL) g_u[(j - l) * g_u_t + d] += c->k[l * c->k_l + d] * g;
                if (g_k != NULL) g_k[l * g_k_l + d] += c->u[(j - l) * c->u_t + d] * g;
            }
}

const R_(lcsm_longconv_kernels) K_(lcsm_longconv_channels) = {scratch, forward, backward};
