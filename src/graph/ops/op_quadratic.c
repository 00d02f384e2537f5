/*
 * op_quadratic.c - terms of second order, x (..., d) -> (..., F):
 *
 *     y = [1, linear x_i, square x_i^2, product x_i x_j for i < j]
 *
 * without the first two where linear is 0: F = 1 + d + d (d + 1) / 2, or d (d + 1) / 2.
 */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_quadratic_attr *a = n->attr;
    const lcsm_tensor         *x = n->in[0];
    ptrdiff_t                  F;
    if (x->shape.rank < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have at least one axis");
    if (__builtin_mul_overflow(x->cols, x->cols + 1, &F))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the square of the last axis of x overflows");
    F                                  = F / 2 + (a->linear != 0 ? 1 + x->cols : 0);
    n->shape[0]                        = x->shape;
    n->shape[0].dim[x->shape.rank - 1] = F;
    return LCSM_OK;
}

static void forward_row(const lcsm_quadratic_attr *a, ptrdiff_t d, const real *x, real *y)
{
    if (a->linear != 0) {
        *y++ = 1;
        for (ptrdiff_t i = 0; i < d; i++) *y++ = (real)a->linear * x[i];
    }
    for (ptrdiff_t i = 0; i < d; i++) *y++ = (real)a->square * x[i] * x[i];
    for (ptrdiff_t i = 0; i < d; i++)
        for (ptrdiff_t j = i + 1; j < d; j++) *y++ = (real)a->product * x[i] * x[j];
}

static void backward_row(const lcsm_quadratic_attr *a, ptrdiff_t d, const real *x, const real *g,
                         real *g_x)
{
    if (a->linear != 0) {
        g++;
        for (ptrdiff_t i = 0; i < d; i++) g_x[i] += (real)a->linear * *g++;
    }
    for (ptrdiff_t i = 0; i < d; i++) g_x[i] += 2 * (real)a->square * x[i] * *g++;
    for (ptrdiff_t i = 0; i < d; i++)
        for (ptrdiff_t j = i + 1; j < d; j++, g++) {
            g_x[i] += (real)a->product * x[j] * *g;
            g_x[j] += (real)a->product * x[i] * *g;
        }
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        forward_row(c->node->attr, c->in[0].cols, row_of(&c->in[0], r), row_of(&c->out[0], r));
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        backward_row(c->node->attr, c->in[0].cols, row_of(&c->in[0], r), row_of(&c->g_out[0], r),
                     row_of(&c->g_in[0], r));
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->out[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, 2 * c->g_out[0].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    ptrdiff_t count = 0;
    (void)lcsm_shape_count(&n->shape[0], &count);
    return 2.0 * (double)count;
}

const lcsm_op R_(lcsm_op_quadratic) = {
    .name      = "quadratic",
    .in        = {"x"},
    .attr_size = sizeof(lcsm_quadratic_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = LCSM_BIT(0),
    .rounds_in = LCSM_BIT(0),
};
