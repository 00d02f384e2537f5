/*
 * graph/mixers.h - builders of the ops that single methods need beside the eos operator. As those
 * of graph/graph.h they return NULL once a graph has failed. Time is the axis before the last; a
 * reset mask (I32, the axes of the first input but the last) is not 0 where a new sequence begins,
 * and may be NULL.
 */
#ifndef LCSM_GRAPH_MIXERS_H
#define LCSM_GRAPH_MIXERS_H
#include "graph/attr.h"
#include "graph/graph.h"

/* S4 with A = diag(lambda) - P P^*, bilinear: lambda, P, B [D, M, 2], halves of conjugate pairs,
 * log_dt [D] -> operands of a recurrence over pairs, graph/ops/op_low_rank.c. */
typedef struct {
    lcsm_tensor *log, *phase; /* [D, M] */
    lcsm_tensor *a, *b, *e;   /* [D, M, 2] */
} lcsm_low_rank_tensors;

lcsm_low_rank_tensors lcsm_low_rank(lcsm_graph *g, const lcsm_low_rank_attr *a, lcsm_tensor *lambda,
                                    lcsm_tensor *P, lcsm_tensor *B, lcsm_tensor *log_dt);
/* The recurrence with them: i (B, T, D), C [D, M, 2] -> 2 Re(C m), (B, T, D). */
lcsm_eos_operands lcsm_low_rank_operands(const lcsm_low_rank_tensors *x, lcsm_tensor *i,
                                         lcsm_tensor *C);

/* Diagonal state spaces in steps; graph/ops/op_discretise.c has formulas and shapes. coef may be
 * NULL. */
typedef struct {
    lcsm_tensor *log, *phase, *coef;
} lcsm_discrete;

lcsm_discrete lcsm_discretise(lcsm_graph *g, const lcsm_discretise_attr *a, lcsm_tensor *re,
                              lcsm_tensor *im, lcsm_tensor *log_dt, lcsm_tensor *coef);

/* S4 with any A [N, N]: B [N], log_dt [D] -> A_bar [D, N, N], B_bar [D, N]. */
typedef struct {
    lcsm_tensor *A, *B;
} lcsm_bilinear_tensors;

lcsm_bilinear_tensors lcsm_bilinear(lcsm_graph *g, lcsm_tensor *A, lcsm_tensor *B,
                                    lcsm_tensor *log_dt);

/* HGRN's lower bounds of all layers from gamma [L, D]. */
lcsm_tensor *lcsm_lower_bounds(lcsm_graph *g, lcsm_tensor *gamma);
/* The feature map of fast weight programmers: (..., k) -> (..., 2 k nu). */
lcsm_tensor *lcsm_dpfp(lcsm_graph *g, lcsm_tensor *x, ptrdiff_t nu);
/* The features 1, x_i, x_i^2 and x_i x_j with the factors of a: (..., d) -> (..., F). */
lcsm_tensor *lcsm_quadratic(lcsm_graph *g, const lcsm_quadratic_attr *a, lcsm_tensor *x);
/* x where x + bias is among the largest of its row, and 0 elsewhere; bias [cols] may be NULL. */
lcsm_tensor *lcsm_top_k(lcsm_graph *g, const lcsm_top_k_attr *a, lcsm_tensor *x, lcsm_tensor *bias);
/* exp(x) / sum exp(x) over the last axis. */
lcsm_tensor *lcsm_softmax(lcsm_graph *g, lcsm_tensor *x);
/* (first + step l) w + b for l < count: w, b [C] -> [count, C]; b may be NULL. */
lcsm_tensor *lcsm_positions(lcsm_graph *g, const lcsm_positions_attr *a, lcsm_tensor *w,
                            lcsm_tensor *b);

/* Row l of x [L, C] times gamma^l. */
lcsm_tensor *lcsm_decay_rows(lcsm_graph *g, lcsm_tensor *x, double gamma);
/* The lags t [n, C], which decay by gamma, as states of a recurrence: log and phase [K] of o, and e
 * [K, C, 2] of pairs; s is 1 (base/toeplitz.h). */
lcsm_discrete lcsm_toeplitz(lcsm_graph *g, lcsm_tensor *t, double gamma);

/* ---- small ones ---- */

/* The same number everywhere; it has no gradient. */
lcsm_tensor *lcsm_constant(lcsm_graph *g, lcsm_shape shape, double value);
/* a x + b. */
lcsm_tensor *lcsm_affine(lcsm_graph *g, lcsm_tensor *x, double a, double b);
/* x / (den + eps), x / max(den, eps) or x / (max(|den|, exp(-mu)) + eps); den and mu as x or
 * (..., 1), mu NULL but for the last kind. */
lcsm_tensor *lcsm_divide(lcsm_graph *g, const lcsm_divide_attr *a, lcsm_tensor *x, lcsm_tensor *den,
                         lcsm_tensor *mu);

/* The running maximum of writes times exp(z): the gate and the factor of the writes that keep the
 * memory small, and mu; all as z (B, T, C). row as z, [C] or NULL, mu0 (B, C) or NULL: carried. */
typedef struct {
    lcsm_tensor *row, *write, *mu;
} lcsm_running_max_tensors;

lcsm_running_max_tensors lcsm_running_max(lcsm_graph *g, const lcsm_running_max_attr *a,
                                          lcsm_tensor *row, lcsm_tensor *z, lcsm_tensor *mu0,
                                          lcsm_tensor *reset);
/* The running product of the signs of x (..., T, C), 1 and -1; it has no gradient. */
lcsm_tensor *lcsm_running_signs(lcsm_graph *g, lcsm_tensor *x);
/* s x with s (..., 1). */
lcsm_tensor *lcsm_scale_rows(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *s);
/* Every head so many times: (..., G, C) -> (..., G times, C). */
lcsm_tensor *lcsm_repeat(lcsm_graph *g, lcsm_tensor *x, ptrdiff_t times);
/* Pairs (re, im) along the last axis -> real parts, then imaginary ones. */
lcsm_tensor *lcsm_halves(lcsm_graph *g, lcsm_tensor *x);

#endif
