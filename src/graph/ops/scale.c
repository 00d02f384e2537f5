/* scale.c - y = factor x. */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_scale_attr *a = n->attr;
    if (!isfinite(a->factor))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the factor is %g", a->factor);
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

typedef struct {
    const lcsm_call *c;
    const lcsm_mat  *from;
    lcsm_mat         to;
} job;

static void rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job             *j = arg;
    const lcsm_scale_attr *a = j->c->node->attr;
    for (ptrdiff_t r = first; r < first + count; r++)
        kernels_of(j->c)->ew->scale(j->to.cols, (real)a->factor, row_of(j->from, r), j->to.add,
                                    row_of(&j->to, r));
}

static void run(const lcsm_call *c, const lcsm_mat *from, lcsm_mat to, bool add)
{
    to.add = add;
    job j  = {c, from, to};
    lcsm_parallel_rows(c->run->threads, to.rows, to.cols, rows, &j);
}

static void forward(const lcsm_call *c)
{
    run(c, &c->in[0], c->out[0], false);
}

static void backward(const lcsm_call *c)
{
    run(c, &c->g_out[0], c->g_in[0], c->g_in[0].add);
}

static double flops(const lcsm_node *n)
{
    return (double)lcsm_tensor_count(n->in[0]);
}

static const lcsm_op_case TESTS[] = {
    CASE("one", &(lcsm_scale_attr){-0.5}, {IN(1)}),
    CASE("odd", &(lcsm_scale_attr){1.75}, {IN(2, 3, 17)}),
    CASE("zero", &(lcsm_scale_attr){0}, {IN(5, 9)}),
    CASE("empty", &(lcsm_scale_attr){2}, {IN(0, 3)}),
    LARGE("large", &(lcsm_scale_attr){0.3}, {IN(131, 257)}),
};

const lcsm_op R_(lcsm_op_scale) = {
    .name          = "scale",
    .in            = {"x"},
    .attr_size     = sizeof(lcsm_scale_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
    CASES(TESTS),
};
