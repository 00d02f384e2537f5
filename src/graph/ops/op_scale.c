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
};
