/* op_positions.c - a linear map of positions: y [n, C], y_l = (first + step l) w + b, w and b [C].
 */
#include "graph/ops/reduce.h"

enum { W, B };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_positions_attr *a = n->attr;
    const lcsm_tensor         *w = n->in[W], *b = n->in[B];
    if (a->count < 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the count is %td; expected at least 0", a->count);
    if (w->shape.rank != 1) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must have one axis");
    if (b != NULL && (b->shape.rank != 1 || b->cols != w->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "b must be [%td]", w->cols);
    n->shape[0] = lcsm_dims(a->count, w->cols);
    return LCSM_OK;
}

static real position(const lcsm_call *c, ptrdiff_t l)
{
    const lcsm_positions_attr *a = c->node->attr;
    return (real)(a->first + a->step * (double)l);
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    const real      *w = c->in[W].data, *b = c->in[B].data;
    for (ptrdiff_t l = first; l < first + count; l++) {
        real *y = row_of(&c->out[0], l), p = position(c, l);
        for (ptrdiff_t j = 0; j < c->out[0].cols; j++) y[j] = p * w[j] + (b == NULL ? 0 : b[j]);
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, forward_rows, c);
}

static void terms(const void *arg, ptrdiff_t r, ptrdiff_t first, ptrdiff_t n, real *out)
{
    const lcsm_call *c = arg;
    kernels_of(c)->ew->scale(n, position(c, r), row_of(&c->g_out[0], r) + first, false, out);
}

static void backward(const lcsm_call *c)
{
    const lcsm_mat *g = &c->g_out[0];
    if (c->g_in[W].data != NULL) R_(lcsm_reduce_rows)(c, g->rows, terms, c, &c->g_in[W]);
    if (c->g_in[B].data != NULL) R_(lcsm_sum_rows)(c, g, &c->g_in[B]);
}

const lcsm_op R_(lcsm_op_positions) = {
    .name       = "positions",
    .in         = {"w", "?b"},
    .attr_size  = sizeof(lcsm_positions_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .overwrites = LCSM_BIT(W) | LCSM_BIT(B),
};
