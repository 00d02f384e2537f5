/*
 * eos/tables.h - numbers that the methods start from: fixed decays, angles, initial values.
 *
 * All in double. Arrays are the caller's; complex numbers are pairs (re, im). Counts are at least
 * 1 unless said otherwise.
 */
#ifndef LCSM_EOS_TABLES_H
#define LCSM_EOS_TABLES_H
#include <stddef.h>

#include "base/error.h"

/* ---- decays ---- */

/* ALiBi: 2^(-8 j / n) for j = 1..n if n is a power of two; else the slopes of the largest power p
 * below n, and after them the 1st, 3rd, 5th ... of 2 p. The decay is exp(-slope). */
void lcsm_alibi_slopes(size_t n, double *slopes);
void lcsm_alibi_decays(size_t n, double *decays);

/* The z at which the gate sigmoid(z)^(1/tau) is exp(-slope). */
double lcsm_alibi_gate(double slope, double tau);

/* RetNet: 1 - 2^(-5-h) for head h, and 10000^(-j / (dk/2 - 1)) for pair j < dk/2. */
void lcsm_retnet_gammas(size_t heads, double *gammas);
void lcsm_retnet_angles(size_t dk, double *angles);

/* TNL: exp(-slope_h (1 - layer / (layers - 1) + 1e-5)); the factor is 1 if there is one layer. */
void lcsm_tnl_decays(size_t layer, size_t layers, size_t heads, double *decays);

/* ---- angles and gates ---- */

/* 10000^(-2 j / width) for j < n: code 11 (n = k, width = D), LRPE (n = width = H k), HGRN. */
void lcsm_thetas(size_t n, size_t width, double *thetas);

/* pi (j + 1/2) / n: with all frequencies, a sum of cosines can stand out at any one lag. */
void lcsm_thetas_even(size_t n, double *thetas);

/* HGRN's lower bounds of all layers from gamma (layers, D): the cumulative sum over layers of the
 * softmax over layers, without layer 0's share. */
void lcsm_hgrn_bounds(size_t layers, size_t D, const double *gamma, double *bounds);

double lcsm_inverse_softplus(double x); /* x > 0 */
double lcsm_logit(double x);            /* 0 < x < 1: the inverse of the sigmoid */

/* ---- RWKV-4, layer l of L, D channels ---- */

void lcsm_rwkv4_decay(size_t D, size_t layer, size_t layers, double *td);
void lcsm_rwkv4_first(size_t D, double *u);

typedef enum {
    LCSM_RWKV4_MIX_K,
    LCSM_RWKV4_MIX_V,
    LCSM_RWKV4_MIX_R,
    LCSM_RWKV4_MIX_FFN, /* both mixes of the channel mixing */
} lcsm_rwkv4_mix;

void lcsm_rwkv4_mixes(lcsm_rwkv4_mix mix, size_t D, size_t layer, size_t layers, double *mu);

/* ---- state spaces ---- */

/* HiPPO-LegS: A (N, N), B (N) and the P (N) for which A + P P^T + 1/2 is skew-symmetric. */
void lcsm_hippo_legs(size_t N, double *A, double *B, double *P);

/*
 * A + P P^T = V (-1/2 + i diag(w)) V^*: w (N) ascending, and the columns of V as rows of v (N, N)
 * pairs, each with the phase that makes its share v^* B of B real and not negative.
 */
lcsm_status lcsm_hippo_eigen(size_t N, double *w, double *v, lcsm_error *err);

/* A = diag(lambda) - P P^* in that basis, and B: the N / 2 entries with Im lambda < 0, as pairs.
 * N is even. */
lcsm_status lcsm_hippo_dplr(size_t N, double *lambda, double *P, double *B, lcsm_error *err);

/* DSS: N pairs -1/2 + i w, w the positive eigenvalues of the skew part of the HiPPO matrix of
 * size 2 N, the largest first. */
lcsm_status lcsm_dss_lambda(size_t N, double *lambda, lcsm_error *err);

/* S4D: N / 2 pairs A_j. N is even. */
typedef enum {
    LCSM_S4D_LIN,  /* -1/2 + i pi j */
    LCSM_S4D_INV,  /* -1/2 + i (N / pi) (N / (2 j + 1) - 1) */
    LCSM_S4D_LEGS, /* -1/2 + i w_j, the positive w of lcsm_hippo_eigen, ascending */
    LCSM_S4D_REAL, /* -(j + 1) */
} lcsm_s4d_kind;

lcsm_status lcsm_s4d_init(lcsm_s4d_kind kind, size_t N, double *A, lcsm_error *err);

#endif
