/* toeplitz.c - lags to rows of memory, by a Fourier transform in double. */
#include "base/toeplitz.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static const double TWO_PI = 6.28318530717958647692;

/* A transform of length m: roots[j] = exp(2 pi i j / m); part has room for m numbers. */
typedef struct {
    size_t           m;
    const lcsm_cplx *roots;
    lcsm_cplx       *part;
} transform;

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p <= n / p; p++)
        if (n % p == 0) return p;
    return n;
}

/* out[k] = sum_j in[j * stride] exp(2 pi i j k / n): p transforms of every p-th number, joined. */
static void dft(const transform *f, size_t n, const lcsm_cplx *in, size_t stride, lcsm_cplx *out)
{
    if (n <= 1) {
        out[0] = in[0];
        return;
    }
    size_t p = smallest_factor(n), q = n / p;
    for (size_t r = 0; r < p; r++) dft(f, q, in + r * stride, stride * p, out + r * q);
    for (size_t k = 0; k < q; k++) {
        for (size_t j = 0; j < p; j++) {
            size_t    turn = (k + j * q) * (f->m / n), at = 0;
            lcsm_cplx sum = {0, 0};
            for (size_t r = 0; r < p; r++) {
                sum = lcsm_cadd(sum, lcsm_cmul(out[r * q + k], f->roots[at]));
                at  = (at + turn) % f->m;
            }
            f->part[j] = sum;
        }
        for (size_t j = 0; j < p; j++) out[k + j * q] = f->part[j];
    }
}

/* The weight of row k: it stands for a conjugate pair unless it is its own conjugate. */
static double weight(size_t m, size_t k)
{
    return (2 * (k + 1) == m ? 1.0 : 2.0) / (double)m;
}

double lcsm_toeplitz_phase(size_t n, size_t k)
{
    return -TWO_PI * (double)(k + 1) / (double)(n + 1);
}

void lcsm_toeplitz_roots(size_t n, lcsm_cplx *roots)
{
    for (size_t j = 0; j <= n; j++) {
        double angle = TWO_PI * (double)j / (double)(n + 1);
        roots[j]     = (lcsm_cplx){cos(angle), sin(angle)};
    }
}

void lcsm_toeplitz_channel(size_t n, const lcsm_cplx *roots, const double *t, size_t stride,
                           lcsm_cplx *E, lcsm_cplx *work)
{
    size_t     m = n + 1;
    transform  f = {m, roots, work};
    lcsm_cplx *x = work + m, *b = work + 2 * m;
    x[n] = (lcsm_cplx){0, 0};
    for (size_t j = 0; j < n; j++) {
        x[j] = (lcsm_cplx){t[j * stride], 0};
        x[n].re -= x[j].re;
    }
    dft(&f, m, x, 1, b);
    for (size_t k = 0; k < lcsm_toeplitz_rows(n); k++) {
        E[k] = lcsm_cscale(weight(m, k), b[k + 1]);
        if (2 * (k + 1) == m) E[k].im = 0;
    }
}

/* g_x_s = Re sum_k w_k conj(g_E_k) exp(2 pi i (k+1) s / m), and x_n = -sum t. */
void lcsm_toeplitz_channel_bwd(size_t n, const lcsm_cplx *roots, const lcsm_cplx *g_E, double *g_t,
                               lcsm_cplx *work)
{
    size_t     m = n + 1, K = lcsm_toeplitz_rows(n);
    transform  f = {m, roots, work};
    lcsm_cplx *x = work + m, *g = work + 2 * m;
    for (size_t j = 0; j < m; j++) x[j] = (lcsm_cplx){0, 0};
    for (size_t k = 0; k < K; k++) {
        x[k + 1] = lcsm_cscale(weight(m, k), lcsm_conj(g_E[k]));
        if (2 * (k + 1) == m) x[k + 1].im = 0;
    }
    dft(&f, m, x, 1, g);
    for (size_t j = 0; j < n; j++) g_t[j] = g[j].re - g[n].re;
}

lcsm_status lcsm_toeplitz_convert(size_t n, size_t D, const double *t, double *phase, double *E,
                                  lcsm_error *err)
{
    size_t m = n + 1, K = lcsm_toeplitz_rows(n);
    if (n == 0) return LCSM_OK;
    lcsm_cplx *roots = calloc(m, 5 * sizeof *roots);
    if (roots == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to convert %zu lags", n);
    lcsm_cplx *row = roots + m, *work = roots + 2 * m;
    lcsm_toeplitz_roots(n, roots);
    for (size_t k = 0; k < K; k++) phase[k] = lcsm_toeplitz_phase(n, k);
    for (size_t d = 0; d < D; d++) {
        lcsm_toeplitz_channel(n, roots, t + d, D, row, work);
        for (size_t k = 0; k < K; k++) {
            E[2 * (k * D + d)]     = row[k].re;
            E[2 * (k * D + d) + 1] = row[k].im;
        }
    }
    free(roots);
    return LCSM_OK;
}
