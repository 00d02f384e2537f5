/*
 * op_lerp.c - y = a + w (b - a); w has the shape of a or is a vector for every row.
 *
 *     g_a = g_y (1 - w)      g_b = g_y w      g_w = g_y (b - a)
 */
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"

enum { A, B, W };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *a = n->in[A], *b = n->in[B], *w = n->in[W];
    if (!lcsm_shape_equal(&a->shape, &b->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a and b differ");
    if (!lcsm_shape_equal(&a->shape, &w->shape) && !is_row_vector(w, a))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must be as a, or [%td]", a->cols);
    n->shape[0] = a->shape;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    lcsm_mat         w = every_row(c->in[W]);
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->lerp(c->out[0].cols, row_of(&c->in[A], r), row_of(&c->in[B], r),
                                row_of(&w, r), row_of(&c->out[0], r));
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, forward_rows, c);
}

/* Row by row: the gradients of w and b, then that of a, which may be the memory of g_out. */
static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call           *c   = arg;
    const R_(lcsm_ew_kernels) *ew  = kernels_of(c)->ew;
    const lcsm_mat            *g_a = &c->g_in[A], *g_b = &c->g_in[B], *g_w = &c->g_in[W];
    lcsm_mat                   w      = every_row(c->in[W]);
    bool                       vector = is_row_vector(c->node->in[W], c->node->in[A]);
    for (ptrdiff_t r = first; r < first + count; r++) {
        const real *g = row_of(&c->g_out[0], r);
        if (g_w->data != NULL && !vector)
            ew->lerp_w(w.cols, g, row_of(&c->in[A], r), row_of(&c->in[B], r), g_w->add,
                       row_of(g_w, r));
        if (g_b->data != NULL) ew->mul(w.cols, g, row_of(&w, r), g_b->add, row_of(g_b, r));
        if (g_a->data != NULL) ew->lerp_a(w.cols, g, row_of(&w, r), g_a->add, row_of(g_a, r));
    }
}

static void w_terms(const void *arg, ptrdiff_t r, ptrdiff_t first, ptrdiff_t n, real *out)
{
    const lcsm_call *c = arg;
    kernels_of(c)->ew->lerp_w(n, row_of(&c->g_out[0], r) + first, row_of(&c->in[A], r) + first,
                              row_of(&c->in[B], r) + first, false, out);
}

static void backward(const lcsm_call *c)
{
    const lcsm_mat *g = &c->g_out[0];
    if (c->g_in[W].data != NULL && is_row_vector(c->node->in[W], c->node->in[A]))
        R_(lcsm_reduce_rows)(c, g->rows, w_terms, c, &c->g_in[W]);
    lcsm_parallel_rows(c->run->pool, g->rows, 3 * g->cols, backward_rows, c);
}

static double flops(const lcsm_node *n)
{
    return 3.0 * (double)lcsm_tensor_count(n->in[A]);
}

const lcsm_op R_(lcsm_op_lerp) = {
    .name          = "lerp",
    .in            = {"a", "b", "w"},
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(A) | LCSM_BIT(B) | LCSM_BIT(W),
    .in_place      = LCSM_BIT(A) | LCSM_BIT(B),
    .grad_in_place = LCSM_BIT(A),
    .overwrites    = LCSM_BIT(A) | LCSM_BIT(B) | LCSM_BIT(W),
    .rounds_in     = LCSM_BIT(A) | LCSM_BIT(B) | LCSM_BIT(W),
};
