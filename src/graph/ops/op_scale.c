/* op_scale.c - row r times factor gamma^r: a multiple, or the lags of a decaying kernel. */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_scale_attr *a = n->attr;
    if (!isfinite(a->factor))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the factor is %g", a->factor);
    if (!(a->gamma > 0 && a->gamma <= 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "gamma is %g; expected more than 0 and at most 1",
                         a->gamma);
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
        kernels_of(j->c)->ew->scale(j->to.cols, (real)(a->factor * pow(a->gamma, (double)r)),
                                    row_of(j->from, r), j->to.add, row_of(&j->to, r));
}

static void run(const lcsm_call *c, const lcsm_mat *from, lcsm_mat to, bool add)
{
    to.add = add;
    job j  = {c, from, to};
    lcsm_parallel_rows(c->run->pool, to.rows, to.cols, rows, &j);
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

#define SCALE(factor, gamma) (&(lcsm_scale_attr){factor, gamma})

static const lcsm_op_case TESTS[] = {
    CASE("one", SCALE(-0.5, 1), {IN(1)}),
    CASE("odd", SCALE(1.75, 1), {IN(2, 3, 17)}),
    CASE("zero", SCALE(0, 1), {IN(5, 9)}),
    CASE("empty", SCALE(2, 0.9), {IN(0, 3)}),
    CASE("no-columns", SCALE(1, 0.9), {IN(3, 0)}),
    CASE("decay", SCALE(1, 0.9), {IN(5, 17)}),
    CASE("both", SCALE(-3, 0.5), {IN(2, 3, 5)}),
    LARGE("large", SCALE(0.3, 1), {IN(131, 257)}),
    LARGE("large-decay", SCALE(1, 0.99), {IN(301, 65)}),
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
