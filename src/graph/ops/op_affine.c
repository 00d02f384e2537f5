/* op_affine.c - y = a x + b with numbers a and b, as in 1 - x. */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_affine_attr *a = n->attr;
    if (!isfinite(a->a) || !isfinite(a->b))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a is %g and b %g; expected finite numbers", a->a,
                         a->b);
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call        *c = arg;
    const lcsm_affine_attr *a = c->node->attr;
    real                    f = (real)a->a, b = (real)a->b;
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *x = row_of(&c->in[0], r);
        real       *y = row_of(&c->out[0], r);
        for (ptrdiff_t j = 0; j < c->in[0].cols; j++) y[j] = f * x[j] + b;
    }
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call        *c   = arg;
    const lcsm_affine_attr *a   = c->node->attr;
    const lcsm_mat         *g_x = &c->g_in[0];
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->scale(g_x->cols, (real)a->a, row_of(&c->g_out[0], r), g_x->add,
                                 row_of(g_x, r));
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->in[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->g_in[0].rows, c->g_in[0].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return 2.0 * (double)lcsm_tensor_count(n->in[0]);
}

const lcsm_op R_(lcsm_op_affine) = {
    .name          = "affine",
    .in            = {"x"},
    .attr_size     = sizeof(lcsm_affine_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
};
