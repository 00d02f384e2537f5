/* op_scale_rows.c - y = s x with one number s for each row: x (..., C), s (..., 1). */
#include "graph/ops/column.h"

enum { X, S };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    if (!is_column(n->in[S], n->in[X]))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "s must have the axes of x with a last one of 1");
    n->shape[0] = n->in[X]->shape;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->scale(c->in[X].cols, row_of(&c->in[S], r)[0], row_of(&c->in[X], r),
                                 false, row_of(&c->out[0], r));
}

/* The gradient that may be g_y's memory comes last. */
static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c   = arg;
    const lcsm_mat  *g_x = &c->g_in[X], *g_s = &c->g_in[S];
    ptrdiff_t        n = c->in[X].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *g = row_of(&c->g_out[0], r);
        if (g_s->data != NULL) put_number(g_s, r, 0, dot(n, g, row_of(&c->in[X], r)));
        if (g_x->data != NULL)
            kernels_of(c)->ew->scale(n, row_of(&c->in[S], r)[0], g, g_x->add, row_of(g_x, r));
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[X].rows, c->in[X].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[X].rows, c->in[X].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_scale_rows) = {
    .name          = "scale_rows",
    .in            = {"x", "s"},
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(X) | LCSM_BIT(S),
    .in_place      = LCSM_BIT(X),
    .grad_in_place = LCSM_BIT(X),
    .overwrites    = LCSM_BIT(X) | LCSM_BIT(S),
    .rounds_in     = LCSM_BIT(X),
};
