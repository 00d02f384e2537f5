/*
 * op_top_k.c - the largest numbers of each row: y = x where x + bias is among the `count` largest
 * of its row, and 0 elsewhere; of equal ones the first.
 *
 *     g_x = g_y where y was taken
 *
 * bias [n] only chooses; it has no gradient.
 */
#include "graph/ops/column.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_top_k_attr *a = n->attr;
    if (n->in[0]->shape.rank < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have at least one axis");
    if (a->count < 1 || a->count > n->in[0]->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%td of %td numbers are asked for", a->count,
                         n->in[0]->cols);
    if (n->in[1] != NULL && !lcsm_shape_equal(&n->in[1]->shape, &lcsm_dims(n->in[0]->cols)))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "bias must have one number for each column");
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

/* Whether number j is among the k largest: fewer than k stand before it. */
static bool taken(ptrdiff_t n, ptrdiff_t k, const real *x, const real *bias, ptrdiff_t j)
{
    real      own    = x[j] + (bias != NULL ? bias[j] : 0);
    ptrdiff_t before = 0;
    for (ptrdiff_t i = 0; i < n && before < k; i++) {
        real other = x[i] + (bias != NULL ? bias[i] : 0);
        before += other > own || (other == own && i < j);
    }
    return before < k;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call       *c = arg;
    const lcsm_top_k_attr *a = c->node->attr;
    ptrdiff_t              n = c->in[0].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r);
        for (ptrdiff_t j = 0; j < n; j++)
            row_of(&c->out[0], r)[j] = taken(n, a->count, x, c->in[1].data, j) ? x[j] : 0;
    }
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call       *c = arg;
    const lcsm_top_k_attr *a = c->node->attr;
    ptrdiff_t              n = c->in[0].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r), *g = row_of(&c->g_out[0], r);
        for (ptrdiff_t j = 0; j < n; j++)
            if (taken(n, a->count, x, c->in[1].data, j)) row_of(&c->g_in[0], r)[j] += g[j];
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols * c->out[0].cols, forward_rows,
                       c);
}

static void backward(const lcsm_call *c)
{
    if (c->g_in[0].data == NULL) return;
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->in[0].cols * c->in[0].cols, backward_rows,
                       c);
}

const lcsm_op R_(lcsm_op_top_k) = {
    .name      = "top_k",
    .in        = {"x", "?bias"},
    .attr_size = sizeof(lcsm_top_k_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .bwd_in    = LCSM_BIT(0) | LCSM_BIT(1),
};
