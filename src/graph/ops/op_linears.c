/*
 * op_linears.c - several linear maps of one input: y_j = x w_j^T, w_j [out, in].
 *
 *     g_x = sum of g_y_j w_j        g_w_j = g_y_j^T x
 */
#include "graph/ops/maps.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    int count = 1;
    while (MAPS_W + count < n->n_in && n->in[MAPS_W + count] != NULL) count++;
    return maps_shape(n, count, err);
}

static void forward(const lcsm_call *c)
{
    R_(lcsm_maps) m = maps_of(c, false, false);
    R_(lcsm_maps_fwd)(c->run->pool, kernels_of(c), &m, c->scratch);
}

static void backward(const lcsm_call *c)
{
    R_(lcsm_maps) m = maps_of(c, true, false);
    R_(lcsm_maps_bwd)(c->run->pool, kernels_of(c), &m, c->scratch);
}

const lcsm_op R_(lcsm_op_linears) = {
    .name       = "linears",
    .in         = {"x", "w0", "?w1", "?w2", "?w3", "?w4", "?w5", "?w6", "?w7"},
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = maps_flops,
    .bwd_in     = (LCSM_BIT(MAPS_W + LCSM_MAPS) - 1),
    .overwrites = (LCSM_BIT(MAPS_W + LCSM_MAPS) - 1),
    .blocks_in  = (LCSM_BIT(MAPS_W + LCSM_MAPS) - 1) & ~LCSM_BIT(MAPS_X),
    .rounds_in  = LCSM_BIT(MAPS_X),
    .takes_bf16 = LCSM_BIT(MAPS_X),
};
