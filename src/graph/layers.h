/*
 * graph/layers.h - builders of the ops that layers are made of. As those of graph/graph.h they
 * return NULL once a graph has failed. Time is the axis before the last; a reset mask (I32, the
 * axes of x but the last) is not 0 where a new sequence begins, and may be NULL.
 */
#ifndef LCSM_GRAPH_LAYERS_H
#define LCSM_GRAPH_LAYERS_H
#include "graph/attr.h"
#include "graph/graph.h"

/* f(x), and scale f(x). */
lcsm_tensor *lcsm_activate(lcsm_graph *g, lcsm_act act, lcsm_tensor *x);
lcsm_tensor *lcsm_activate_scaled(lcsm_graph *g, lcsm_act act, lcsm_tensor *x, double scale);
/* The log decay log(sigmoid(z)) / tau, as the eos operator takes it. */
lcsm_tensor *lcsm_gate(lcsm_graph *g, lcsm_tensor *z, double tau);
/* f(a) b. */
lcsm_tensor *lcsm_glu(lcsm_graph *g, lcsm_act act, lcsm_tensor *a, lcsm_tensor *b);

/* Over the last axis. w and b are [cols], or NULL for 1 and 0. */
lcsm_tensor *lcsm_layer_norm(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b,
                             double eps);
lcsm_tensor *lcsm_rms_norm(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, double eps);
/* Any kind, in heads; w and b may be [cols / heads], one for all heads. */
lcsm_tensor *lcsm_head_norm(lcsm_graph *g, const lcsm_norm_attr *a, lcsm_tensor *x, lcsm_tensor *w,
                            lcsm_tensor *b);

/* x (..., T, D), w [D, W], b [D] or NULL. */
lcsm_tensor *lcsm_short_conv(lcsm_graph *g, const lcsm_conv_attr *a, lcsm_tensor *x, lcsm_tensor *w,
                             lcsm_tensor *b, lcsm_tensor *reset);
/* u (..., T, D), kernel [L, D]: y_t = sum_l kernel_l u_{t-l}. */
lcsm_tensor *lcsm_long_conv(lcsm_graph *g, lcsm_tensor *u, lcsm_tensor *kernel);
/* x_{t-1} + mu (x_t - x_{t-1}), mu [D]. */
lcsm_tensor *lcsm_token_shift(lcsm_graph *g, const lcsm_shift_attr *a, lcsm_tensor *x,
                              lcsm_tensor *mu, lcsm_tensor *reset);
/* x (..., T, H K) by position times theta; a DOUBLE rotation gives (..., T, H 2K). */
lcsm_tensor *lcsm_rotation(lcsm_graph *g, const lcsm_rotate_attr *a, lcsm_tensor *x,
                           lcsm_tensor *theta);

/* The mean loss. details, where the attribute asks for them, get the loss of each row, and
 * 1 for each row that is right. */
lcsm_tensor *lcsm_cross_entropy(lcsm_graph *g, const lcsm_loss_attr *a, lcsm_tensor *logits,
                                lcsm_tensor *targets, lcsm_tensor *details[2]);
/* The same from x (..., D) and the weight [V, D] of the logits, which are never all in memory. */
lcsm_tensor *lcsm_linear_cross_entropy(lcsm_graph *g, const lcsm_loss_attr *a, lcsm_tensor *x,
                                       lcsm_tensor *w, lcsm_tensor *targets,
                                       lcsm_tensor *details[2]);

/* q, k (..., T, H K), v (..., T, H D) -> (..., T, H D). */
lcsm_tensor *lcsm_softmax_attention(lcsm_graph *g, const lcsm_attention_attr *a, lcsm_tensor *q,
                                    lcsm_tensor *k, lcsm_tensor *v, lcsm_tensor *reset);

#endif
