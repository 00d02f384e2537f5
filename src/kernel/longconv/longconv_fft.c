/*
 * longconv_fft.c - long convolutions by real transforms of KissFFT, float only.
 *
 * A few channels at a time are copied to arrays that run with time, so that memory is read by
 * whole lines. Transforms of N >= T + lags - 1 numbers keep what wraps around away from the outputs
 * that count.
 */
#include "kernel/longconv/longconv_sum.h"
#include "kernel/vec.h"

#if LCSM_HAVE_FFT && !LCSM_REAL_IS_DOUBLE
#include <kiss_fftr.h>

enum { CHANNELS = 8 };

/* A direct sum costs about L / (2 VW) operations a number, transforms some 300: measured. */
bool K_(lcsm_longconv_by_fft)(ptrdiff_t T, ptrdiff_t L)
{
    ptrdiff_t lags = L < T ? L : T;
    return lags > 128 * VW;
}

/* The smallest even size from n on whose half has no prime factor above 5. */
static int fast_size(ptrdiff_t n)
{
    static const int primes[] = {2, 3, 5};
    for (ptrdiff_t half = (n + 1) / 2;; half++) {
        ptrdiff_t rest = half;
        for (int j = 0; j < 3; j++)
            while (rest % primes[j] == 0) rest /= primes[j];
        if (rest == 1) return (int)(2 * half);
    }
}

static size_t reals_of(size_t bytes)
{
    return (bytes + 63) / 64 * (64 / sizeof(real));
}

static size_t plan_bytes(int N, int inverse)
{
    size_t bytes = 0;
    kiss_fftr_alloc(N, inverse, NULL, &bytes);
    return bytes;
}

/* Pieces of the scratch. */
typedef struct {
    int           N;
    kiss_fftr_cfg forth, back;
    kiss_fft_cpx *a, *b; /* N / 2 + 1 */
    real         *k, *u; /* (CHANNELS, N) */
} work;

static size_t lay_out(work *w, ptrdiff_t T, ptrdiff_t L, real *ws)
{
    ptrdiff_t lags = L < T ? L : T;
    w->N           = fast_size(T + lags - 1);
    size_t forth = plan_bytes(w->N, 0), back = plan_bytes(w->N, 1);
    size_t spectrum = reals_of(((size_t)w->N / 2 + 1) * sizeof(kiss_fft_cpx));
    size_t channels = reals_of(CHANNELS * (size_t)w->N * sizeof(real));
    size_t total    = reals_of(forth) + reals_of(back) + 2 * spectrum + 2 * channels;
    if (ws == NULL) return total;
    w->forth = kiss_fftr_alloc(w->N, 0, ws, &forth), ws += reals_of(forth);
    w->back  = kiss_fftr_alloc(w->N, 1, ws, &back), ws += reals_of(back);
    w->a     = (kiss_fft_cpx *)(void *)ws, ws += spectrum;
    w->b     = (kiss_fft_cpx *)(void *)ws, ws += spectrum;
    w->k = ws, w->u = ws + channels;
    return total;
}

size_t K_(lcsm_longconv_fft_scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    work w;
    (void)D;
    return K_(lcsm_longconv_by_fft)(T, L) ? lay_out(&w, T, L, NULL) : 0;
}

static void columns_in(const line *x, ptrdiff_t most, ptrdiff_t d, ptrdiff_t n, int N, real *to)
{
    ptrdiff_t count = x->count < most ? x->count : most;
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t c = 0; c < n; c++) to[c * N + j] = x->p[j * x->step + d + c];
    for (ptrdiff_t c = 0; c < n; c++)
        memset(to + c * N + count, 0, (size_t)(N - count) * sizeof(real));
}

static void columns_out(const line_out *y, ptrdiff_t first, ptrdiff_t d, ptrdiff_t n, int N,
                        const real *from)
{
    for (ptrdiff_t j = first; j < y->count; j++)
        for (ptrdiff_t c = 0; c < n; c++) {
            real *to = y->p + j * y->step + d + c;
            *to      = from[c * N + j] + (y->add ? *to : 0);
        }
}

/* One channel: u becomes k * u. */
static void convolve(const work *w, const real *k, real *u)
{
    real scale = 1 / (real)w->N;
    kiss_fftr(w->forth, k, w->a);
    kiss_fftr(w->forth, u, w->b);
    for (int j = 0; j <= w->N / 2; j++) {
        kiss_fft_cpx a = w->a[j], b = w->b[j];
        w->b[j].r = (a.r * b.r - a.i * b.i) * scale;
        w->b[j].i = (a.r * b.i + a.i * b.r) * scale;
    }
    kiss_fftri(w->back, w->b, u);
}

void K_(lcsm_longconv_fft)(const line *k, const line *u, const line_out *y, ptrdiff_t first,
                           ptrdiff_t lags, ptrdiff_t D, real *ws)
{
    work w;
    lay_out(&w, y->count, lags, ws);
    for (ptrdiff_t d = 0; d < D; d += CHANNELS) {
        ptrdiff_t n = D - d < CHANNELS ? D - d : CHANNELS;
        columns_in(k, y->count, d, n, w.N, w.k);
        columns_in(u, y->count, d, n, w.N, w.u);
        for (ptrdiff_t c = 0; c < n; c++) convolve(&w, w.k + c * w.N, w.u + c * w.N);
        columns_out(y, first, d, n, w.N, w.u);
    }
}

#else

bool K_(lcsm_longconv_by_fft)(ptrdiff_t T, ptrdiff_t L)
{
    (void)T, (void)L;
    return false;
}

size_t K_(lcsm_longconv_fft_scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    (void)T, (void)L, (void)D;
    return 0;
}

void K_(lcsm_longconv_fft)(const line *k, const line *u, const line_out *y, ptrdiff_t first,
                           ptrdiff_t lags, ptrdiff_t D, real *ws)
{
    (void)k, (void)u, (void)y, (void)first, (void)lags, (void)D, (void)ws;
}

#endif
