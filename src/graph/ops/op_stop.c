/* op_stop.c - the same numbers, through which no gradient passes. */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    (void)err;
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

static void rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->scale(c->out[0].cols, 1, row_of(&c->in[0], r), false,
                                 row_of(&c->out[0], r));
}

static void forward(const lcsm_call *c)
{
    if (c->out[0].data != c->in[0].data)
        lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, rows, c);
}

const lcsm_op R_(lcsm_op_stop) = {
    .name     = "stop",
    .in       = {"x"},
    .shape    = shape,
    .forward  = forward,
    .in_place = LCSM_BIT(0),
};
