/* op_mul.c - y = a b; b has the shape of a or is a vector for every row. */
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

/* to = x y for all rows; either may be a vector. */
typedef struct {
    const lcsm_call *c;
    lcsm_mat         x, y, to;
} job;

static void product_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job *j = arg;
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(j->c)->ew->mul(j->to.cols, row_of(&j->x, r), row_of(&j->y, r), j->to.add,
                                  row_of(&j->to, r));
}

static void product(const lcsm_call *c, lcsm_mat x, lcsm_mat y, lcsm_mat to)
{
    job j = {c, every_row(x), every_row(y), to};
    lcsm_parallel_rows(c->run->pool, to.rows, to.cols, product_rows, &j);
}

static void product_terms(const void *arg, ptrdiff_t r, ptrdiff_t first, ptrdiff_t n, real *out)
{
    const job *j = arg;
    kernels_of(j->c)->ew->mul(n, row_of(&j->x, r) + first, row_of(&j->y, r) + first, false, out);
}

static void forward(const lcsm_call *c)
{
    lcsm_mat y = c->out[0];
    y.add      = false;
    product(c, c->in[A], c->in[B], y);
}

/* The one that may be g_out's memory comes last. */
static void backward(const lcsm_call *c)
{
    lcsm_mat g = c->g_out[0];
    if (c->g_in[B].data != NULL) {
        job j = {c, g, c->in[A], c->g_in[B]};
        if (is_row_vector(c->node->in[B], c->node->in[A]))
            R_(lcsm_reduce_rows)(c, g.rows, product_terms, &j, &c->g_in[B]);
        else product(c, g, c->in[A], c->g_in[B]);
    }
    if (c->g_in[A].data != NULL) product(c, g, c->in[B], c->g_in[A]);
}

static double flops(const lcsm_node *n)
{
    return (double)lcsm_tensor_count(n->in[A]);
}

const lcsm_op R_(lcsm_op_mul) = {
    .name          = "mul",
    .in            = {"a", "b"},
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(A) | LCSM_BIT(B),
    .in_place      = LCSM_BIT(A) | LCSM_BIT(B),
    .grad_in_place = LCSM_BIT(A),
    .overwrites    = LCSM_BIT(A) | LCSM_BIT(B),
    .rounds_in     = LCSM_BIT(A) | LCSM_BIT(B),
};
