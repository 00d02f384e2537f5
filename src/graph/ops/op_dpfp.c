/*
 * op_dpfp.c - the deterministic feature map of fast weight programmers, x (..., k) -> (..., 2 k
 * nu):
 *
 *     r = relu([x, -x])           y = [r * roll(r, 1), ..., r * roll(r, nu)]
 *
 * where roll(r, i)[j] = r[j - i], indices modulo 2 k.
 */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_dpfp_attr *a = n->attr;
    const lcsm_tensor    *x = n->in[0];
    ptrdiff_t             cols;
    if (a->nu < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "nu is %td; expected at least 1", a->nu);
    if (x->shape.rank < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have at least one axis");
    if (__builtin_mul_overflow(2 * a->nu, x->cols, &cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "2 nu times the last axis of x overflows");
    n->shape[0]                        = x->shape;
    n->shape[0].dim[x->shape.rank - 1] = cols;
    return LCSM_OK;
}

/* r[j] for any j; k > 0. */
static real rolled(const real *x, ptrdiff_t k, ptrdiff_t j)
{
    j      = (j % (2 * k) + 2 * k) % (2 * k);
    real v = j < k ? x[j] : -x[j - k];
    return v > 0 ? v : 0;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call      *c = arg;
    const lcsm_dpfp_attr *a = c->node->attr;
    ptrdiff_t             k = c->in[0].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r);
        real       *y = row_of(&c->out[0], r);
        for (ptrdiff_t i = 1; i <= a->nu; i++)
            for (ptrdiff_t j = 0; j < 2 * k; j++) *y++ = rolled(x, k, j) * rolled(x, k, j - i);
    }
}

/* The gradient of r[j]: it meets roll(r, i) at j and, rolled itself, r at j + i. */
static real g_r(const real *x, const real *g, ptrdiff_t k, ptrdiff_t nu, ptrdiff_t j)
{
    real sum = 0;
    for (ptrdiff_t i = 1; i <= nu; i++, g += 2 * k)
        sum += g[j] * rolled(x, k, j - i) + g[(j + i) % (2 * k)] * rolled(x, k, j + i);
    return sum;
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call      *c = arg;
    const lcsm_dpfp_attr *a = c->node->attr;
    ptrdiff_t             k = c->in[0].cols;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r), *g = row_of(&c->g_out[0], r);
        real       *g_x = row_of(&c->g_in[0], r);
        for (ptrdiff_t j = 0; j < k; j++) {
            if (x[j] > 0) g_x[j] += g_r(x, g, k, a->nu, j);
            if (x[j] < 0) g_x[j] -= g_r(x, g, k, a->nu, k + j);
        }
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, 4 * c->out[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, 8 * c->g_out[0].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    const lcsm_dpfp_attr *a = n->attr;
    return 2.0 * (double)a->nu * (double)lcsm_tensor_count(n->in[0]);
}

const lcsm_op R_(lcsm_op_dpfp) = {
    .name      = "dpfp",
    .in        = {"x"},
    .attr_size = sizeof(lcsm_dpfp_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = LCSM_BIT(0),
    .rounds_in = LCSM_BIT(0),
};
