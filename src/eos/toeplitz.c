/* toeplitz.c - lags to rows of memory, by a Fourier transform in double. */
#include "eos/toeplitz.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cplx.h"
#include "base/size.h"

/* A transform of length m: roots[j] = exp(2 pi i j / m); part has room for m numbers. */
typedef struct {
    size_t     m;
    lcsm_cplx *roots, *part;
} transform;

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p <= n / p; p++)
        if (n % p == 0) return p;
    return n;
}

/* out[k] = sum_j in[j * stride] exp(2 pi i j k / n): p transforms of every p-th number, joined. */
static void dft(const transform *f, size_t n, const double *in, size_t stride, lcsm_cplx *out)
{
    if (n <= 1) {
        out[0] = (lcsm_cplx){in[0], 0};
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

/* The lags of one channel and their negative sum. */
static void column(size_t n, size_t D, const double *t, double *x)
{
    x[n] = 0;
    for (size_t j = 0; j < n; j++) {
        x[j] = t[j * D];
        x[n] -= x[j];
    }
}

static void convert(const transform *f, size_t D, const double *t, double *x, lcsm_cplx *b,
                    double *E)
{
    size_t n = f->m - 1, K = lcsm_toeplitz_rows(n);
    for (size_t d = 0; d < D; d++) {
        column(n, D, t + d, x);
        dft(f, f->m, x, 1, b);
        for (size_t k = 0; k < K; k++) {
            bool   alone           = 2 * (k + 1) == f->m; /* its own conjugate */
            double scale           = (alone ? 1.0 : 2.0) / (double)f->m;
            E[2 * (k * D + d)]     = b[k + 1].re * scale;
            E[2 * (k * D + d) + 1] = alone ? 0 : b[k + 1].im * scale;
        }
    }
}

lcsm_status lcsm_toeplitz_convert(size_t n, size_t D, const double *t, double *phase, double *E,
                                  lcsm_error *err)
{
    const double tau = 6.28318530717958647692;
    size_t       m   = n + 1, bytes;
    if (n == 0) return LCSM_OK;
    if (!lcsm_size_mul(m, 4 * sizeof(lcsm_cplx), &bytes)) bytes = SIZE_MAX;
    lcsm_cplx *memory = malloc(bytes);
    if (memory == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory to convert %zu lags", n);

    transform f = {m, memory, memory + m};
    for (size_t j = 0; j < m; j++) {
        double angle = tau * (double)j / (double)m;
        f.roots[j]   = (lcsm_cplx){cos(angle), sin(angle)};
    }
    for (size_t k = 0; k < lcsm_toeplitz_rows(n); k++)
        phase[k] = -tau * (double)(k + 1) / (double)m;
    convert(&f, D, t, (double *)(memory + 3 * m), memory + 2 * m, E);
    free(memory);
    return LCSM_OK;
}
