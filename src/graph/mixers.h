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

/* RWKV-4: k, v (..., T, D), decay = log(-w) [D], first = the bonus [D] -> wkv (..., T, D). */
lcsm_tensor *lcsm_wkv(lcsm_graph *g, const lcsm_wkv_attr *a, lcsm_tensor *k, lcsm_tensor *v,
                      lcsm_tensor *decay, lcsm_tensor *first, lcsm_tensor *reset);

/* S4 with A = diag(lambda) - P P^*, bilinear: u (..., T, D), the others [D, M, 2], halves of
 * conjugate pairs -> y = 2 Re(C m) (..., T, D). */
typedef struct {
    lcsm_tensor *lambda, *P, *B, *C;
    lcsm_tensor *log_dt; /* [D] */
} lcsm_dplr_tensors;

lcsm_tensor *lcsm_dplr(lcsm_graph *g, const lcsm_dplr_attr *a, lcsm_tensor *u,
                       const lcsm_dplr_tensors *x, lcsm_tensor *reset);

/* Complex channels, h = exp(log + i phase) h + x: x and h (..., T, 2 D), real parts before the
 * imaginary ones; log and phase [D] or (..., T, D). S5 and complex HGRN. */
lcsm_tensor *lcsm_cscan(lcsm_graph *g, const lcsm_cscan_attr *a, lcsm_tensor *x, lcsm_tensor *log,
                        lcsm_tensor *phase, lcsm_tensor *reset);

/* Diagonal state spaces in steps; graph/ops/op_discretise.c has formulas and shapes. coef may be
 * NULL. */
typedef struct {
    lcsm_tensor *log, *phase, *coef;
} lcsm_discrete;

lcsm_discrete lcsm_discretise(lcsm_graph *g, const lcsm_discretise_attr *a, lcsm_tensor *re,
                              lcsm_tensor *im, lcsm_tensor *log_dt, lcsm_tensor *coef);

#endif
