/*
 * kernel/dplr/dplr_drive.h - between the parameters of a diagonal plus low-rank state space and the
 * coefficients of kernel/dplr/dplr.h, in double.
 */
#ifndef LCSM_KERNEL_DPLR_DRIVE_H
#define LCSM_KERNEL_DPLR_DRIVE_H
#include "kernel/dplr/dplr.h"

/* Pairs (re, im) for (D, M) states, ld reals apart. */
typedef struct {
    real     *p;
    ptrdiff_t ld;
} R_(lcsm_dplr_pairs);

/* Parameters, or their gradients, where each may have p = NULL. */
typedef struct {
    R_(lcsm_dplr_pairs) lambda, P, B, C;
    real               *log_dt; /* (D) */
} R_(lcsm_dplr_params);

/* How the real part of lambda is stored. */
typedef struct {
    ptrdiff_t M;
    bool      log_re; /* as log(-Re lambda) */
} R_(lcsm_dplr_form);

/* The coefficients of channels d .. d + n - 1, n <= LCSM_DPLR_LANES; zeros in the other lanes. */
void R_(lcsm_dplr_coef)(R_(lcsm_dplr_form) f, const R_(lcsm_dplr_params) *x, ptrdiff_t d,
                        ptrdiff_t n, real *coef);

/* Adds to g what the gradients of these coefficients mean for the parameters. */
void R_(lcsm_dplr_coef_bwd)(R_(lcsm_dplr_form) f, const R_(lcsm_dplr_params) *x, ptrdiff_t d,
                            ptrdiff_t n, const real *g_coef, const R_(lcsm_dplr_params) *g);
#endif
