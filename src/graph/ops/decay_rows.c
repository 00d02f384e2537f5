/* decay_rows.c - row l times gamma^l: the lags of a decaying kernel, x [L, C]. */
#include "graph/ops/pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_decay_rows_attr *a = n->attr;
    if (!(a->gamma > 0 && a->gamma <= 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "gamma is %g, want more than 0 and at most 1",
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
    const job                  *j = arg;
    const lcsm_decay_rows_attr *a = j->c->node->attr;
    for (ptrdiff_t l = first; l < first + count; l++)
        kernels_of(j->c)->ew->scale(j->to.cols, (real)pow(a->gamma, (double)l), row_of(j->from, l),
                                    j->to.add, row_of(&j->to, l));
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

#define DECAY(gamma) (&(lcsm_decay_rows_attr){gamma})

static const lcsm_op_case TESTS[] = {
    CASE("odd", DECAY(0.9), {IN(5, 17)}),     CASE("one", DECAY(0.5), {IN(1)}),
    CASE("none", DECAY(1), {IN(3, 2)}),       CASE("empty", DECAY(0.9), {IN(0, 3)}),
    CASE("no-columns", DECAY(1), {IN(3, 0)}), LARGE("large", DECAY(0.99), {IN(301, 65)}),
};

const lcsm_op R_(lcsm_op_decay_rows) = {
    .name          = "decay_rows",
    .in            = {"x"},
    .attr_size     = sizeof(lcsm_decay_rows_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
    CASES(TESTS),
};
