/* op_constant.c - a tensor that holds one number everywhere. It has no inputs and no gradient. */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_constant_attr *a = n->attr;
    if (!isfinite(a->value))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the value is %g; expected a finite number",
                         a->value);
    n->shape[0] = a->shape;
    return LCSM_OK;
}

static void forward(const lcsm_call *c)
{
    const lcsm_constant_attr *a = c->node->attr;
    for (ptrdiff_t r = 0; r < c->out[0].rows; r++) {
        real *y = row_of(&c->out[0], r);
        for (ptrdiff_t j = 0; j < c->out[0].cols; j++) y[j] = (real)a->value;
    }
}

const lcsm_op R_(lcsm_op_constant) = {
    .name      = "constant",
    .attr_size = sizeof(lcsm_constant_attr),
    .shape     = shape,
    .forward   = forward,
};
