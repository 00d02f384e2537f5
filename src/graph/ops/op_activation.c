/* op_activation.c - y = scale f(x), f a row of the activation table. */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_activation_attr *a = n->attr;
    if ((unsigned)a->act >= LCSM_ACT_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the activation is %d; expected 0 to %d",
                         (int)a->act, LCSM_ACT_COUNT - 1);
    if (!isfinite(a->scale)) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the scale is %g", a->scale);
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

static const R_(lcsm_activation) *row(const lcsm_call *c)
{
    const lcsm_activation_attr *a = c->node->attr;
    return &kernels_of(c)->activations[a->act];
}

static real scale_of(const lcsm_call *c)
{
    const lcsm_activation_attr *a = c->node->attr;
    return (real)a->scale;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    const lcsm_mat  *x = &c->in[0], *y = &c->out[0];
    if (is_packed(x) && is_packed(y)) {
        row(c)->fwd(count * x->cols, scale_of(c), row_of(x, first), row_of(y, first));
        return;
    }
    for (ptrdiff_t r = first; r < first + count; r++)
        row(c)->fwd(x->cols, scale_of(c), row_of(x, r), row_of(y, r));
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    const lcsm_mat  *x = &c->in[0], *g_y = &c->g_out[0], *g_x = &c->g_in[0];
    if (is_packed(x) && is_packed(g_y) && is_packed(g_x)) {
        row(c)->bwd(count * x->cols, scale_of(c), row_of(x, first), row_of(g_y, first),
                    row_of(g_x, first), g_x->add);
        return;
    }
    for (ptrdiff_t r = first; r < first + count; r++)
        row(c)->bwd(x->cols, scale_of(c), row_of(x, r), row_of(g_y, r), row_of(g_x, r), g_x->add);
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->in[0].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].rows, c->in[0].cols, backward_rows, c);
}

/* Ten, as a polynomial and a division are. */
static double flops(const lcsm_node *n)
{
    return 10.0 * (double)lcsm_tensor_count(n->in[0]);
}

const lcsm_op R_(lcsm_op_activation) = {
    .name          = "activation",
    .in            = {"x"},
    .attr_size     = sizeof(lcsm_activation_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(0),
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
    .rounds_in     = LCSM_BIT(0),
};
