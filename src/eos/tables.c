/* tables.c - fixed decays, angles and initial values by their formulas. */
#include "eos/tables.h"

#include <math.h>
#include <stdlib.h>

#include "base/cplx.h"
#include "base/linalg.h"
#include "base/size.h"

static const double PI = 3.14159265358979323846;

/* ---- decays ---- */

static size_t power_of_two_up_to(size_t n)
{
    size_t p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

void lcsm_alibi_slopes(size_t n, double *slopes)
{
    size_t p = power_of_two_up_to(n);
    for (size_t j = 0; j < p && j < n; j++) slopes[j] = exp2(-8.0 * (double)(j + 1) / (double)p);
    for (size_t j = p; j < n; j++)
        slopes[j] = exp2(-8.0 * (double)(2 * (j - p) + 1) / (double)(2 * p));
}

void lcsm_alibi_decays(size_t n, double *decays)
{
    lcsm_alibi_slopes(n, decays);
    for (size_t j = 0; j < n; j++) decays[j] = exp(-decays[j]);
}

double lcsm_alibi_gate(double slope, double tau)
{
    return -log(expm1(tau * slope));
}

void lcsm_retnet_gammas(size_t heads, double *gammas)
{
    for (size_t h = 0; h < heads; h++) gammas[h] = 1 - exp2(-5.0 - (double)h);
}

void lcsm_retnet_angles(size_t dk, double *angles)
{
    size_t pairs = dk / 2;
    for (size_t j = 0; j < pairs; j++)
        angles[j] = pairs == 1 ? 1 : pow(10000, -(double)j / (double)(pairs - 1));
}

void lcsm_tnl_decays(size_t layer, size_t layers, size_t heads, double *decays)
{
    double factor = layers == 1 ? 1 : 1 - (double)layer / (double)(layers - 1) + 1e-5;
    lcsm_alibi_slopes(heads, decays);
    for (size_t h = 0; h < heads; h++) decays[h] = exp(-decays[h] * factor);
}

/* ---- angles and gates ---- */

void lcsm_thetas(size_t n, size_t width, double *thetas)
{
    for (size_t j = 0; j < n; j++) thetas[j] = pow(10000, -2.0 * (double)j / (double)width);
}

void lcsm_thetas_even(size_t n, double *thetas)
{
    for (size_t j = 0; j < n; j++) thetas[j] = PI * ((double)j + 0.5) / (double)n;
}

void lcsm_hgrn_bounds(size_t layers, size_t D, const double *gamma, double *bounds)
{
    for (size_t d = 0; d < D; d++) {
        double top = -INFINITY, sum = 0, below = 0;
        for (size_t l = 0; l < layers; l++) top = fmax(top, gamma[l * D + d]);
        for (size_t l = 0; l < layers; l++) sum += exp(gamma[l * D + d] - top);
        for (size_t l = 0; l < layers; l++) {
            below += l == 0 ? 0 : exp(gamma[l * D + d] - top) / sum;
            bounds[l * D + d] = below;
        }
    }
}

double lcsm_inverse_softplus(double x)
{
    return x + log(-expm1(-x));
}

double lcsm_logit(double x)
{
    return log(x) - log1p(-x);
}

/* ---- RWKV-4 ---- */

/* 0 in the first layer, 1 in the last. */
static double depth(size_t layer, size_t layers)
{
    return layers == 1 ? 0 : (double)layer / (double)(layers - 1);
}

void lcsm_rwkv4_decay(size_t D, size_t layer, size_t layers, double *td)
{
    double power = 0.7 + 1.3 * depth(layer, layers);
    for (size_t h = 0; h < D; h++)
        td[h] = -5 + 8 * pow(D == 1 ? 0 : (double)h / (double)(D - 1), power);
}

void lcsm_rwkv4_first(size_t D, double *u)
{
    for (size_t h = 0; h < D; h++) u[h] = log(0.3) + 0.5 * ((double)((h + 1) % 3) - 1);
}

void lcsm_rwkv4_mixes(lcsm_rwkv4_mix mix, size_t D, size_t layer, size_t layers, double *mu)
{
    double rest  = 1 - (double)layer / (double)layers;
    double power = mix == LCSM_RWKV4_MIX_R ? 0.5 * rest : rest;
    double more  = mix == LCSM_RWKV4_MIX_V ? 0.3 * depth(layer, layers) : 0;
    for (size_t h = 0; h < D; h++) mu[h] = pow((double)h / (double)D, power) + more;
}

/* ---- state spaces ---- */

static double hippo_root(size_t a)
{
    return sqrt(2 * (double)a + 1);
}

void lcsm_hippo_legs(size_t N, double *A, double *B, double *P)
{
    for (size_t a = 0; a < N; a++) {
        for (size_t b = 0; b < N; b++)
            A[a * N + b] = a > b ? -hippo_root(a) * hippo_root(b) : a == b ? -(double)(a + 1) : 0;
        B[a] = hippo_root(a);
        P[a] = sqrt((double)a + 0.5);
    }
}

/* n^2 pairs, or NULL. */
static double *pairs_new(size_t n)
{
    size_t count;
    if (!lcsm_size_mul(n, n, &count) || !lcsm_size_mul(count, 2 * sizeof(double), &count))
        return NULL;
    return calloc(1, count);
}

static lcsm_status no_memory(size_t n, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY,
                     "not enough memory for the eigenvectors of a %zu x %zu matrix", n, n);
}

/* -i S for the skew-symmetric S with S[a][b] = -scale sqrt((2a+1)(2b+1)) below the diagonal. */
static void hermitian_of_skew(size_t n, double scale, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double s               = i == j ? 0 : scale * hippo_root(i) * hippo_root(j);
            a[2 * (i * n + j)]     = 0;
            a[2 * (i * n + j) + 1] = i > j ? s : -s;
        }
}

/* v^* B as a pair. */
static void share_of_b(size_t N, const double *v, double out[2])
{
    out[0] = out[1] = 0;
    for (size_t i = 0; i < N; i++) {
        out[0] += v[2 * i] * hippo_root(i);
        out[1] -= v[2 * i + 1] * hippo_root(i);
    }
}

/* Turns v by a phase so that v^* B >= 0. */
static void fix_phase(size_t N, double *v)
{
    double c[2];
    share_of_b(N, v, c);
    double r = lcsm_hypot(c[0], c[1]);
    if (!(r > 0)) return;
    for (size_t i = 0; i < N; i++) {
        double re = v[2 * i], im = v[2 * i + 1];
        v[2 * i]     = (c[0] * re - c[1] * im) / r;
        v[2 * i + 1] = (c[0] * im + c[1] * re) / r;
    }
}

/* A + P P^T + 1/2 is -sqrt(..)/2 below the diagonal and +sqrt(..)/2 above. */
lcsm_status lcsm_hippo_eigen(size_t N, double *w, double *v, lcsm_error *err)
{
    double *a = pairs_new(N);
    if (a == NULL) return no_memory(N, err);
    hermitian_of_skew(N, 0.5, a);
    lcsm_hermitian_eigen(N, a, w, v);
    for (size_t k = 0; k < N; k++) fix_phase(N, v + 2 * k * N);
    free(a);
    return LCSM_OK;
}

static lcsm_status check_even(size_t N, lcsm_error *err)
{
    if (N % 2 == 0 && N > 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "the state size is %zu; expected an even number above 0", N);
}

/* P = B / sqrt(2), and by the phase of v both are real. */
lcsm_status lcsm_hippo_dplr(size_t N, double *lambda, double *P, double *B, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    double     *v = NULL, *w = NULL;
    LCSM_TRY(check_even(N, err));
    v = pairs_new(N);
    w = calloc(N + 1, sizeof *w);
    if (v == NULL || w == NULL) {
        st = no_memory(N, err);
        goto cleanup;
    }
    LCSM_TRY(lcsm_hippo_eigen(N, w, v, err));
    for (size_t k = 0; k < N / 2; k++) {
        lambda[2 * k]     = -0.5;
        lambda[2 * k + 1] = w[k];
        share_of_b(N, v + 2 * k * N, B + 2 * k);
        B[2 * k + 1] = 0;
        P[2 * k]     = B[2 * k] * sqrt(0.5);
        P[2 * k + 1] = 0;
    }
cleanup:
    free(v);
    free(w);
    return st;
}

/* The n largest eigenvalues of -i S, S the skew part of the HiPPO matrix of size 2 n, ascending,
 * as the imaginary parts of out. */
static lcsm_status positive_half(size_t n, double *out, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    double     *a = pairs_new(2 * n), *v = pairs_new(2 * n), *w = calloc(2 * n + 1, sizeof *w);
    if (a == NULL || v == NULL || w == NULL) {
        st = no_memory(2 * n, err);
        goto cleanup;
    }
    hermitian_of_skew(2 * n, 0.5, a);
    lcsm_hermitian_eigen(2 * n, a, w, v);
    for (size_t j = 0; j < n; j++) {
        out[2 * j]     = -0.5;
        out[2 * j + 1] = w[n + j];
    }
cleanup:
    free(a);
    free(v);
    free(w);
    return st;
}

lcsm_status lcsm_dss_lambda(size_t N, double *lambda, lcsm_error *err)
{
    lcsm_status st = positive_half(N, lambda, err);
    if (st != LCSM_OK) return st;
    for (size_t j = 0; j < N / 2; j++) {
        double x                    = lambda[2 * j + 1];
        lambda[2 * j + 1]           = lambda[2 * (N - 1 - j) + 1];
        lambda[2 * (N - 1 - j) + 1] = x;
    }
    return LCSM_OK;
}

lcsm_status lcsm_s4d_init(lcsm_s4d_kind kind, size_t N, double *A, lcsm_error *err)
{
    lcsm_status st = check_even(N, err);
    if (st != LCSM_OK) return st;
    if (kind == LCSM_S4D_LEGS) return positive_half(N / 2, A, err);
    for (size_t j = 0; j < N / 2; j++) {
        double x = (double)j, n = (double)N;
        A[2 * j]     = kind == LCSM_S4D_REAL ? -(x + 1) : -0.5;
        A[2 * j + 1] = kind == LCSM_S4D_LIN ? PI * x
                     : kind == LCSM_S4D_INV ? n / PI * (n / (2 * x + 1) - 1)
                                            : 0;
    }
    return LCSM_OK;
}
