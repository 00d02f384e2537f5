/* graph/ops/eos_mean_node.h - an eos node with running maximum and normaliser in one pass. */
#ifndef LCSM_GRAPH_OPS_EOS_MEAN_NODE_H
#define LCSM_GRAPH_OPS_EOS_MEAN_NODE_H
#include "graph/ops/ops.h"

/* Of a node whose input z (LCSM_EOS_Z) is there. */
lcsm_status R_(lcsm_eos_mean_shape)(lcsm_node *n, lcsm_error *err);
void R_(lcsm_eos_mean_forward)(const lcsm_call *c);
void R_(lcsm_eos_mean_backward)(const lcsm_call *c);
#endif
