/* op_add.c - y = a + b; b has the shape of a or is a vector for every row. */
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"

enum { A, B };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *a = n->in[A], *b = n->in[B];
    if (!lcsm_shape_equal(&a->shape, &b->shape) && !is_row_vector(b, a))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "b must be as a, or [%td]", a->cols);
    n->shape[0] = a->shape;
    return LCSM_OK;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    lcsm_mat         b = every_row(c->in[B]);
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->add(c->out[0].cols, row_of(&c->in[A], r), row_of(&b, r),
                               row_of(&c->out[0], r));
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->out[0].rows, c->out[0].cols, forward_rows, c);
}

/* The gradient of an input of the output's shape is that of the output. */
static void pass_rows(const void *arg, ptrdiff_t first, ptrdiff_t count, int j)
{
    const lcsm_call *c  = arg;
    const lcsm_mat  *to = &c->g_in[j];
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(c)->ew->scale(to->cols, 1, row_of(&c->g_out[0], r), to->add, row_of(to, r));
}

static void pass_a(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    pass_rows(arg, first, count, A);
}

static void pass_b(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    pass_rows(arg, first, count, B);
}

static void backward(const lcsm_call *c)
{
    lcsm_rows_task *const pass[] = {pass_a, pass_b};
    for (int j = A; j <= B; j++) {
        const lcsm_mat *to = &c->g_in[j];
        if (to->data == NULL || to->data == c->g_out[0].data) continue;
        if (is_row_vector(c->node->in[j], c->node->in[A])) R_(lcsm_sum_rows)(c, &c->g_out[0], to);
        else lcsm_parallel_rows(c->run->pool, to->rows, to->cols, pass[j], c);
    }
}

static double flops(const lcsm_node *n)
{
    return (double)lcsm_tensor_count(n->in[A]);
}

const lcsm_op R_(lcsm_op_add) = {
    .name          = "add",
    .in            = {"a", "b"},
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .in_place      = LCSM_BIT(A) | LCSM_BIT(B),
    .grad_in_place = LCSM_BIT(A) | LCSM_BIT(B),
    .grad_same     = LCSM_BIT(A) | LCSM_BIT(B),
    .overwrites    = LCSM_BIT(A) | LCSM_BIT(B),
};
