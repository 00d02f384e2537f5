/* op_sum.c - the sum or the mean of all numbers. */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_sum_attr *a = n->attr;
    if (a->mean && lcsm_tensor_count(n->in[0]) == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the mean of no numbers is undefined");
    n->shape[0] = lcsm_dims(1);
    return LCSM_OK;
}

static real factor(const lcsm_call *c)
{
    const lcsm_sum_attr *a = c->node->attr;
    return a->mean ? 1 / (real)lcsm_tensor_count(c->node->in[0]) : 1;
}

static void forward(const lcsm_call *c)
{
    const lcsm_mat *x   = &c->in[0];
    double          sum = 0; /* of row sums, so that many rows do not add up to much rounding */
    for (ptrdiff_t r = 0; r < x->rows; r++)
        sum += (double)kernels_of(c)->ew->sum(x->cols, row_of(x, r));
    *row_of(&c->out[0], 0) = factor(c) * (real)sum;
}

static void backward(const lcsm_call *c)
{
    const lcsm_mat *to = &c->g_in[0];
    real            g  = factor(c) * *row_of(&c->g_out[0], 0);
    for (ptrdiff_t r = 0; r < to->rows; r++)
        for (ptrdiff_t j = 0; j < to->cols; j++) {
            real *p = row_of(to, r) + j;
            *p      = to->add ? *p + g : g;
        }
}

const lcsm_op R_(lcsm_op_sum) = {
    .name       = "sum",
    .in         = {"x"},
    .attr_size  = sizeof(lcsm_sum_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .overwrites = LCSM_BIT(0),
};
