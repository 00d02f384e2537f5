/* attention_ref.c - the definition of softmax attention. */
#include "kernel/attention/attention.h"

typedef R_(lcsm_attention) attention;

static const real *key(const attention *a, ptrdiff_t j)
{
    return j < a->past.n ? a->past.k + j * a->past.k_t : a->now.k + (j - a->past.n) * a->now.k_t;
}

static const real *value(const attention *a, ptrdiff_t j)
{
    return j < a->past.n ? a->past.v + j * a->past.v_t : a->now.v + (j - a->past.n) * a->now.v_t;
}

static real dot(ptrdiff_t n, const real *x, const real *y)
{
    real sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

/* Scores of a query against lo .. hi - 1, and log sum exp of them. */
static real scores(const attention *a, ptrdiff_t t, real *z)
{
    real max = -(real)INFINITY, sum = 0;
    for (ptrdiff_t j = a->lo[t]; j < a->hi[t]; j++) {
        z[j] = a->scale * dot(a->K, a->q + t * a->q_t, key(a, j));
        max  = z[j] > max ? z[j] : max;
    }
    for (ptrdiff_t j = a->lo[t]; j < a->hi[t]; j++) sum += R_FN(exp)(z[j] - max);
    return max + R_FN(log)(sum);
}

static void forward(const attention *a, real *y, ptrdiff_t y_t, real *lse, real *z)
{
    for (ptrdiff_t t = 0; t < a->T; t++) {
        real *yt = y + t * y_t;
        for (ptrdiff_t d = 0; d < a->D; d++) yt[d] = 0;
        lse[t] = scores(a, t, z);
        for (ptrdiff_t j = a->lo[t]; j < a->hi[t]; j++)
            for (ptrdiff_t d = 0; d < a->D; d++) yt[d] += R_FN(exp)(z[j] - lse[t]) * value(a, j)[d];
    }
}

static void backward(const attention *a, const real *y, ptrdiff_t y_t, const real *lse,
                     const real *g_y, ptrdiff_t g_y_t, const R_(lcsm_attention_grads) *g, real *z)
{
    for (ptrdiff_t t = 0; t < a->T; t++) {
        const real *q = a->q + t * a->q_t, *gy = g_y + t * g_y_t;
        real        mean = dot(a->D, gy, y + t * y_t);
        scores(a, t, z);
        for (ptrdiff_t j = a->lo[t]; j < a->hi[t]; j++) {
            real      p   = R_FN(exp)(z[j] - lse[t]);
            real      g_z = a->scale * p * (dot(a->D, gy, value(a, j)) - mean);
            ptrdiff_t now = j - a->past.n;
            for (ptrdiff_t k = 0; k < a->K && g->q != NULL; k++)
                g->q[t * g->q_t + k] += g_z * key(a, j)[k];
            if (now < 0) continue;
            for (ptrdiff_t k = 0; k < a->K && g->k != NULL; k++)
                g->k[now * g->k_t + k] += g_z * q[k];
            for (ptrdiff_t d = 0; d < a->D && g->v != NULL; d++)
                g->v[now * g->v_t + d] += p * gy[d];
        }
    }
}

const R_(lcsm_attention_kernels) K_(lcsm_attention_head) = {forward, backward};
