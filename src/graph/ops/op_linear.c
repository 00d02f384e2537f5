/*
 * op_linear.c - y = x w^T + b, w [out, in].
 *
 *     g_x = g_y w        g_w = g_y^T x        g_b = column sums of g_y
 */
#include "graph/ops/maps.h"
#include "graph/ops/reduce.h"

enum { X = MAPS_X, W = MAPS_W, B };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *w = n->in[W], *b = n->in[B];
    lcsm_status        st = maps_shape(n, 1, err);
    if (st != LCSM_OK) return st;
    if (b != NULL && (b->shape.rank != 1 || b->cols != w->rows))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "b must be [%td]", w->rows);
    return LCSM_OK;
}

static void forward(const lcsm_call *c)
{
    const lcsm_mat *y = &c->out[0], *b = &c->in[B];
    R_(lcsm_maps)   m = maps_of(c, false, b->data != NULL);
    for (ptrdiff_t r = 0; r < y->rows && b->data != NULL; r++)
        memcpy(row_of(y, r), b->data, (size_t)y->cols * sizeof(real));
    R_(lcsm_maps_fwd)(c->run->pool, kernels_of(c), &m, c->scratch);
}

static void backward(const lcsm_call *c)
{
    R_(lcsm_maps) m = maps_of(c, true, false);
    R_(lcsm_maps_bwd)(c->run->pool, kernels_of(c), &m, c->scratch);
    if (c->g_in[B].data != NULL) R_(lcsm_sum_rows)(c, &c->g_out[0], &c->g_in[B]);
}

const lcsm_op R_(lcsm_op_linear) = {
    .name       = "linear",
    .in         = {"x", "w", "?b"},
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = maps_flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(W),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(B),
    .blocks_in  = LCSM_BIT(W),
    .rounds_in  = LCSM_BIT(X),
    .takes_bf16 = LCSM_BIT(X),
};
