/* op_glu.c - y = f(a) b, f a row of the activation table. */
#include "graph/ops/op_pieces.h"

enum { A, B };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_glu_attr *a = n->attr;
    if ((unsigned)a->act >= LCSM_ACT_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the activation is %d; expected 0 to %d",
                         (int)a->act, LCSM_ACT_COUNT - 1);
    if (!lcsm_shape_equal(&n->in[A]->shape, &n->in[B]->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a and b must have the same shape");
    n->shape[0] = n->in[A]->shape;
    n->cheap    = true;
    return LCSM_OK;
}

static const R_(lcsm_activation) *row(const lcsm_call *c)
{
    const lcsm_glu_attr *a = c->node->attr;
    return &kernels_of(c)->activations[a->act];
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    const lcsm_mat  *a = &c->in[A], *b = &c->in[B], *y = &c->out[0];
    if (is_packed(a) && is_packed(b) && is_packed(y)) {
        row(c)->glu_fwd(count * a->cols, row_of(a, first), row_of(b, first), row_of(y, first));
        return;
    }
    for (ptrdiff_t r = first; r < first + count; r++)
        row(c)->glu_fwd(a->cols, row_of(a, r), row_of(b, r), row_of(y, r));
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c   = arg;
    const lcsm_mat  *g_a = &c->g_in[A], *g_b = &c->g_in[B];
    for (ptrdiff_t r = first; r < first + count; r++)
        row(c)->glu_bwd(c->in[A].cols, row_of(&c->in[A], r), row_of(&c->in[B], r),
                        row_of(&c->g_out[0], r), row_if(g_a, r), g_a->add, row_if(g_b, r),
                        g_b->add);
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[A].rows, c->in[A].cols, forward_rows, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[A].rows, c->in[A].cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return 11.0 * (double)lcsm_tensor_count(n->in[A]);
}

const lcsm_op R_(lcsm_op_glu) = {
    .name          = "glu",
    .in            = {"a", "b"},
    .attr_size     = sizeof(lcsm_glu_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(A) | LCSM_BIT(B),
    .in_place      = LCSM_BIT(A) | LCSM_BIT(B),
    .grad_in_place = LCSM_BIT(A) | LCSM_BIT(B),
    .overwrites    = LCSM_BIT(A) | LCSM_BIT(B),
    .rounds_in     = LCSM_BIT(A) | LCSM_BIT(B),
};
