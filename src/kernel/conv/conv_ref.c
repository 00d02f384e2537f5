/* conv_ref.c - the definition of the short convolution. */
#include "kernel/conv/conv.h"

static real sigma(real z)
{
    real e = R_FN(exp)(-R_FN(fabs)(z));
    return z < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* Token `back` steps before t as channel d sees it; 0 beyond the start of the sequence. */
static real input(const R_(lcsm_conv) *c, ptrdiff_t t, ptrdiff_t back, ptrdiff_t d)
{
    const real *x = R_(lcsm_conv_input)(c, t - back);
    return x == NULL || back >= R_(lcsm_conv_seen)(c, t) ? 0 : x[d];
}

static real pre(const R_(lcsm_conv) *c, ptrdiff_t t, ptrdiff_t d)
{
    real z = c->b != NULL ? c->b[d] : 0;
    for (ptrdiff_t j = 0; j < c->W; j++) z += c->w[d * c->w_d + j] * input(c, t, c->W - 1 - j, d);
    return z;
}

static void forward(const R_(lcsm_conv) *c, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t,
                    real *ws)
{
    (void)ws;
    for (ptrdiff_t t = t0; t < t1; t++)
        for (ptrdiff_t d = 0; d < c->D; d++) {
            real z         = pre(c, t, d);
            y[t * y_t + d] = c->silu ? z * sigma(z) : z;
        }
}

/* dL/dz_t */
static real g_pre(const R_(lcsm_conv) *c, ptrdiff_t t, ptrdiff_t d, real g)
{
    if (!c->silu) return g;
    real z = pre(c, t, d);
    return g * sigma(z) * (1 + z * sigma(-z));
}

static void backward(const R_(lcsm_conv) *c, ptrdiff_t t0, ptrdiff_t t1, const real *g_y,
                     ptrdiff_t g_y_t, real *g_x, ptrdiff_t g_x_t, bool add, real *g_w, real *g_b,
                     real *ws)
{
    (void)ws;
    for (ptrdiff_t t = t0; t < t1; t++)
        for (ptrdiff_t d = 0; d < c->D; d++) {
            real g = g_pre(c, t, d, g_y[t * g_y_t + d]);
            if (g_b != NULL) g_b[d] += g;
            for (ptrdiff_t j = 0; j < c->W && g_w != NULL; j++)
                g_w[d * c->W + j] += g * input(c, t, c->W - 1 - j, d);
            if (g_x == NULL) continue;

            real sum = 0;
            for (ptrdiff_t a = 0; a < c->W && t + a < c->T; a++)
                if (a < R_(lcsm_conv_seen)(c, t + a))
                    sum += c->w[d * c->w_d + c->W - 1 - a]
                         * g_pre(c, t + a, d, g_y[(t + a) * g_y_t + d]);
            g_x[t * g_x_t + d] = add ? g_x[t * g_x_t + d] + sum : sum;
        }
}

const R_(lcsm_conv_kernels) K_(lcsm_conv_steps) = {forward, backward};
