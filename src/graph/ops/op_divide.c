/*
 * op_divide.c - y = x / q, q = den + eps or max(den, eps); den (..., 1) for x (..., C), or as x.
 *
 *     g_x = g_y / q          g_den = -(g_y . y) / q, or 0 where den is below eps
 */
#include "graph/ops/column.h"

enum { X, DEN };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_divide_attr *a = n->attr;
    const lcsm_tensor      *x = n->in[X], *den = n->in[DEN];
    if (!is_column(den, x) && !lcsm_shape_equal(&den->shape, &x->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "den must be as x, or (..., 1)");
    if (!(a->eps >= 0))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eps is %g; expected at least 0", a->eps);
    n->shape[0] = x->shape;
    return LCSM_OK;
}

static bool by_rows(const lcsm_call *c)
{
    return is_column(c->node->in[DEN], c->node->in[X]);
}

static real quotient(const lcsm_divide_attr *a, real den)
{
    if (a->clamp) return den > (real)a->eps ? den : (real)a->eps;
    return den + (real)a->eps;
}

/* The gradient of den from that of q. */
static real through(const lcsm_divide_attr *a, real den, real g)
{
    return a->clamp && !(den > (real)a->eps) ? 0 : g;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call        *c = arg;
    const lcsm_divide_attr *a = c->node->attr;
    ptrdiff_t               n = c->in[X].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[X], r), *den = row_of(&c->in[DEN], r);
        real       *y = row_of(&c->out[0], r);
        if (by_rows(c)) kernels_of(c)->ew->scale(n, 1 / quotient(a, den[0]), x, false, y);
        else
            for (ptrdiff_t j = 0; j < n; j++) y[j] = x[j] / quotient(a, den[j]);
    }
}

/* The gradient that may be g_y's memory comes last. */
static void backward_row(const lcsm_call *c, ptrdiff_t r)
{
    const lcsm_divide_attr *a   = c->node->attr;
    const lcsm_mat         *g_x = &c->g_in[X], *g_den = &c->g_in[DEN];
    const real             *den = row_of(&c->in[DEN], r), *y = row_of(&c->out[0], r);
    const real             *g = row_of(&c->g_out[0], r);
    ptrdiff_t               n = c->out[0].cols;
    real                    q = quotient(a, den[0]);
    if (g_den->data != NULL) put_number(g_den, r, 0, through(a, den[0], -dot(n, g, y) / q));
    if (g_x->data != NULL) kernels_of(c)->ew->scale(n, 1 / q, g, g_x->add, row_of(g_x, r));
}

static void backward_elements(const lcsm_call *c, ptrdiff_t r)
{
    const lcsm_divide_attr *a   = c->node->attr;
    const real             *den = row_of(&c->in[DEN], r), *y = row_of(&c->out[0], r);
    const real             *g = row_of(&c->g_out[0], r);
    for (ptrdiff_t j = 0; j < c->out[0].cols; j++) {
        real q = quotient(a, den[j]), g_x = g[j] / q;
        if (c->g_in[DEN].data != NULL)
            put_number(&c->g_in[DEN], r, j, through(a, den[j], -g_x * y[j]));
        if (c->g_in[X].data != NULL) put_number(&c->g_in[X], r, j, g_x);
    }
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t r = first; r < first + count; r++) {
        if (by_rows(c)) backward_row(c, r);
        else backward_elements(c, r);
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[X].rows, c->in[X].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_divide) = {
    .name          = "divide",
    .in            = {"x", "den"},
    .attr_size     = sizeof(lcsm_divide_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(DEN),
    .bwd_out       = LCSM_BIT(0),
    .in_place      = LCSM_BIT(X),
    .grad_in_place = LCSM_BIT(X),
    .overwrites    = LCSM_BIT(X) | LCSM_BIT(DEN),
};
