/* op_repeat.c - every row so many times, one after the other: heads of keys or values that several
 * heads share, x (..., G, C) -> (..., G times, C). */
#include "graph/ops/op_pieces.h"

static ptrdiff_t times_of(const lcsm_node *n)
{
    const lcsm_repeat_attr *a = n->attr;
    return a->times;
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[0];
    ptrdiff_t          count;
    if (times_of(n) < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "times is %td; expected at least 1", times_of(n));
    if (x->shape.rank < 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have two axes");
    n->shape[0] = x->shape;
    if (__builtin_mul_overflow(times_of(n), lcsm_dim_last(&x->shape, 2), &count))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "times the last axis but one of x overflows");
    n->shape[0].dim[x->shape.rank - 2] = count;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        memcpy(row_of(&c->out[0], r), row_of(&c->in[0], r / times_of(c->node)),
               (size_t)c->in[0].cols * sizeof(real));
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c     = arg;
    ptrdiff_t        times = times_of(c->node);
    for (ptrdiff_t r = first; r < first + count; r++) {
        real *g_x = row_of(&c->g_in[0], r);
        for (ptrdiff_t j = 0; j < times; j++)
            kernels_of(c)->ew->add(c->g_in[0].cols, g_x, row_of(&c->g_out[0], r * times + j), g_x);
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->g_in[0].rows, c->g_in[0].cols * times_of(c->node),
                       backward_rows, c);
}

const lcsm_op R_(lcsm_op_repeat) = {
    .name      = "repeat",
    .in        = {"x"},
    .attr_size = sizeof(lcsm_repeat_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
};
