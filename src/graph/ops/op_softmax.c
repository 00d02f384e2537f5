/*
 * op_softmax.c - y = exp(x) / sum exp(x) over the last axis, by the largest x.
 *
 *     g_x = y (g_y - y . g_y)
 */
#include "graph/ops/column.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    if (n->in[0]->shape.rank < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have at least one axis");
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

static void forward_row(ptrdiff_t n, const real *x, real *y)
{
    real top = n > 0 ? x[0] : 0, sum = 0;
    for (ptrdiff_t j = 1; j < n; j++) top = x[j] > top ? x[j] : top;
    for (ptrdiff_t j = 0; j < n; j++) sum += y[j] = R_FN(exp)(x[j] - top);
    for (ptrdiff_t j = 0; j < n; j++) y[j] /= sum;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        forward_row(c->in[0].cols, row_of(&c->in[0], r), row_of(&c->out[0], r));
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    ptrdiff_t        n = c->out[0].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *y = row_of(&c->out[0], r), *g = row_of(&c->g_out[0], r);
        real        mean = dot(n, y, g);
        for (ptrdiff_t j = 0; j < n; j++) put_number(&c->g_in[0], r, j, y[j] * (g[j] - mean));
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, 16 * c->out[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, 4 * c->out[0].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return 4.0 * (double)lcsm_tensor_count(n->in[0]);
}

const lcsm_op R_(lcsm_op_softmax) = {
    .name          = "softmax",
    .in            = {"x"},
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_out       = LCSM_BIT(0),
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
};
