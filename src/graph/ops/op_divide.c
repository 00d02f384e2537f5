/*
 * op_divide.c - y = x / q; den (..., 1) for x (..., C), or as x.
 *
 *     plain   q = den + eps        at least   q = max(den, eps)
 *     floor   q = max(|den|, exp(-mu)) + eps, mu as den, absent 0
 *
 *     g_x = g_y / q          g_den = -(g_y . y) / q dq/dden; none for mu
 */
#include <math.h>

#include "graph/ops/column.h"

enum { X, DEN, MU };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_divide_attr *a = n->attr;
    const lcsm_tensor      *x = n->in[X], *den = n->in[DEN];
    if (!is_column(den, x) && !lcsm_shape_equal(&den->shape, &x->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "den must be as x, or (..., 1)");
    if (n->in[MU] != NULL
        && (a->kind != LCSM_DIVIDE_FLOOR || !lcsm_shape_equal(&n->in[MU]->shape, &den->shape)))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "mu must be as den, of the floor kind");
    if (!(a->eps >= 0))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eps is %g; expected at least 0", a->eps);
    n->shape[0] = x->shape;
    return LCSM_OK;
}

static bool by_rows(const lcsm_call *c)
{
    return is_column(c->node->in[DEN], c->node->in[X]);
}

/* den at column j of row r, and the least that it counts as. */
typedef struct {
    real den, floor;
} divisor;

static divisor divisor_at(const lcsm_call *c, ptrdiff_t r, ptrdiff_t j)
{
    const lcsm_divide_attr *a = c->node->attr;
    divisor                 q = {row_of(&c->in[DEN], r)[j], (real)a->eps};
    if (a->kind == LCSM_DIVIDE_FLOOR)
        q.floor = c->in[MU].data == NULL ? 1 : R_FN(exp)(-row_of(&c->in[MU], r)[j]);
    return q;
}

static real quotient(const lcsm_divide_attr *a, divisor q)
{
    real size = a->kind == LCSM_DIVIDE_FLOOR ? R_FN(fabs)(q.den) : q.den, eps = (real)a->eps;
    if (a->kind == LCSM_DIVIDE_PLAIN) return q.den + eps;
    return (size > q.floor ? size : q.floor) + (a->kind == LCSM_DIVIDE_FLOOR ? eps : 0);
}

/* The gradient of den from that of the quotient. */
static real through(const lcsm_divide_attr *a, divisor q, real g)
{
    if (a->kind == LCSM_DIVIDE_PLAIN || q.den > q.floor) return g;
    return a->kind == LCSM_DIVIDE_FLOOR && -q.den > q.floor ? -g : 0;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call        *c = arg;
    const lcsm_divide_attr *a = c->node->attr;
    ptrdiff_t               n = c->in[X].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[X], r);
        real       *y = row_of(&c->out[0], r);
        if (by_rows(c))
            kernels_of(c)->ew->scale(n, 1 / quotient(a, divisor_at(c, r, 0)), x, false, y);
        else
            for (ptrdiff_t j = 0; j < n; j++) y[j] = x[j] / quotient(a, divisor_at(c, r, j));
    }
}

/* The gradient that may be g_y's memory comes last. */
static void backward_row(const lcsm_call *c, ptrdiff_t r)
{
    const lcsm_divide_attr *a   = c->node->attr;
    const lcsm_mat         *g_x = &c->g_in[X], *g_den = &c->g_in[DEN];
    const real             *y = row_of(&c->out[0], r), *g = row_of(&c->g_out[0], r);
    ptrdiff_t               n   = c->out[0].cols;
    divisor                 den = divisor_at(c, r, 0);
    real                    q   = quotient(a, den);
    if (g_den->data != NULL) put_number(g_den, r, 0, through(a, den, -dot(n, g, y) / q));
    if (g_x->data != NULL) kernels_of(c)->ew->scale(n, 1 / q, g, g_x->add, row_of(g_x, r));
}

static void backward_elements(const lcsm_call *c, ptrdiff_t r)
{
    const lcsm_divide_attr *a = c->node->attr;
    const real             *y = row_of(&c->out[0], r), *g = row_of(&c->g_out[0], r);
    for (ptrdiff_t j = 0; j < c->out[0].cols; j++) {
        divisor den = divisor_at(c, r, j);
        real    q = quotient(a, den), g_x = g[j] / q;
        if (c->g_in[DEN].data != NULL)
            put_number(&c->g_in[DEN], r, j, through(a, den, -g_x * y[j]));
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
    .in            = {"x", "den", "?mu"},
    .attr_size     = sizeof(lcsm_divide_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(DEN) | LCSM_BIT(MU),
    .bwd_out       = LCSM_BIT(0),
    .in_place      = LCSM_BIT(X),
    .grad_in_place = LCSM_BIT(X),
    .overwrites    = LCSM_BIT(X) | LCSM_BIT(DEN),
};
