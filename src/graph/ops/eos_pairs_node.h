/* graph/ops/eos_pairs_node.h - an eos node over conjugate pairs. */
#ifndef LCSM_GRAPH_OPS_EOS_PAIRS_NODE_H
#define LCSM_GRAPH_OPS_EOS_PAIRS_NODE_H
#include "graph/ops/ops.h"

/* Of a node whose attributes say pairs. */
lcsm_status R_(lcsm_eos_pairs_shape)(lcsm_node *n, lcsm_error *err);
void R_(lcsm_eos_pairs_forward)(const lcsm_call *c);
void R_(lcsm_eos_pairs_backward)(const lcsm_call *c);
#endif
