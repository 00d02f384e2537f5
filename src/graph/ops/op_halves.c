/* op_halves.c - pairs (re, im) side by side become all real parts, then all imaginary ones: the
 * last axis (x_0, x_1, x_2, ...) as (x_0, x_2, ..., x_1, x_3, ...). */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[0];
    if (x->shape.rank < 1 || x->cols % 2 != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the last axis of x must be even");
    n->shape[0] = x->shape;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    ptrdiff_t        D = c->in[0].cols / 2;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r);
        real       *y = row_of(&c->out[0], r);
        for (ptrdiff_t d = 0; d < D; d++) {
            y[d]     = x[2 * d];
            y[D + d] = x[2 * d + 1];
        }
    }
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    ptrdiff_t        D = c->g_in[0].cols / 2;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *g   = row_of(&c->g_out[0], r);
        real       *g_x = row_of(&c->g_in[0], r);
        for (ptrdiff_t d = 0; d < D; d++) {
            g_x[2 * d] += g[d];
            g_x[2 * d + 1] += g[D + d];
        }
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->in[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->g_in[0].rows, c->g_in[0].cols, backward_rows, c);
}

const lcsm_op R_(lcsm_op_halves) = {
    .name     = "halves",
    .in       = {"x"},
    .shape    = shape,
    .forward  = forward,
    .backward = backward,
};
