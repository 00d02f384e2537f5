/* op_reverse.c - a sequence (B, T, C) with time running backwards. */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    if (n->in[0]->shape.rank != 3)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have the axes B, T, C");
    n->shape[0] = n->in[0]->shape;
    n->steps    = LCSM_STEPS_WHOLE;
    return LCSM_OK;
}

typedef struct {
    const lcsm_call *c;
    const lcsm_mat  *from;
    lcsm_mat         to;
} job;

static void mirror_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job *j = arg;
    ptrdiff_t  T = j->c->node->in[0]->shape.dim[1];
    for (ptrdiff_t r = first; r < first + count; r++) {
        ptrdiff_t other = r - r % T + (T - 1 - r % T);
        kernels_of(j->c)->ew->scale(j->to.cols, 1, row_of(j->from, other), j->to.add,
                                    row_of(&j->to, r));
    }
}

static void run(const lcsm_call *c, const lcsm_mat *from, lcsm_mat to, bool add)
{
    job j    = {c, from, to};
    j.to.add = add;
    lcsm_parallel_rows(c->run->pool, to.rows, to.cols, mirror_rows, &j);
}

static void forward(const lcsm_call *c)
{
    run(c, &c->in[0], c->out[0], false);
}

static void backward(const lcsm_call *c)
{
    run(c, &c->g_out[0], c->g_in[0], c->g_in[0].add);
}

const lcsm_op R_(lcsm_op_reverse) = {
    .name       = "reverse",
    .in         = {"x"},
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .overwrites = LCSM_BIT(0),
};
