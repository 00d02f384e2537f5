/*
 * op_dropout.c - zero with probability rate, else times 1 / (1 - rate); the identity in evaluation.
 *
 * Whether element j is kept is a function of (seed, node, j), so backward and a second forward
 * make the same choice without a mask in memory. A part of a batch counts its elements as the whole
 * batch does, and so does a segment of its sequences, so cutting a batch changes nothing.
 */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_dropout_attr *a = n->attr;
    if (!(a->rate >= 0 && a->rate < 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the rate is %g; expected 0 <= rate < 1", a->rate);
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

typedef struct {
    const lcsm_call *c;
    const lcsm_mat  *from;
    lcsm_mat         to;
    real             factor;
    uint32_t         below;       /* drop where the word is below */
    ptrdiff_t        rows;        /* of a sequence here */
    ptrdiff_t        all, before; /* of a whole sequence, and of those before this segment */
} job;

/* The number of a row in the whole batch. */
static ptrdiff_t number(const job *j, ptrdiff_t row)
{
    ptrdiff_t b = row / j->rows;
    return (j->c->run->row + b) * j->all + j->before + row % j->rows;
}

static void drop_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job *j = arg;
    bool whole   = is_packed(j->from) && is_packed(&j->to) && j->all == j->rows; /* rows are one */
    R_(lcsm_drop) d = {.seed    = j->c->run->seed,
                       .purpose = (uint32_t)j->c->node->ordinal,
                       .below   = j->below,
                       .factor  = j->factor};
    for (ptrdiff_t r = first; r < first + count; r += whole ? count : 1) {
        d.first = (uint64_t)(number(j, r) * j->to.cols);
        kernels_of(j->c)->drop->run(&d, (whole ? count : 1) * j->to.cols, row_of(j->from, r),
                                    j->to.add, row_of(&j->to, r));
    }
}

static void find_rows(job *j)
{
    const lcsm_run *r = j->c->run;
    j->rows           = r->rows > 0 ? j->to.rows / r->rows : j->to.rows;
    if (j->rows == 0) j->rows = 1;
    j->all    = j->rows * (r->segments > 0 ? r->segments : 1);
    j->before = j->rows * r->segment;
}

static void run(const lcsm_call *c, const lcsm_mat *from, lcsm_mat to, bool add)
{
    const lcsm_dropout_attr *a    = c->node->attr;
    double                   rate = c->run->training ? a->rate : 0;
    job j    = {c, from, to, (real)(1 / (1 - rate)), (uint32_t)(rate * 4294967296.0), 0, 0, 0};
    j.to.add = add;
    find_rows(&j);
    if (rate == 0 && !add && to.data == from->data) return;
    lcsm_parallel_rows(c->run->pool, to.rows, 4 * to.cols, drop_rows, &j);
}

static void forward(const lcsm_call *c)
{
    run(c, &c->in[0], c->out[0], false);
}

static void backward(const lcsm_call *c)
{
    run(c, &c->g_out[0], c->g_in[0], c->g_in[0].add);
}

const lcsm_op R_(lcsm_op_dropout) = {
    .name          = "dropout",
    .in            = {"x"},
    .attr_size     = sizeof(lcsm_dropout_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .in_place      = LCSM_BIT(0),
    .grad_in_place = LCSM_BIT(0),
    .overwrites    = LCSM_BIT(0),
};
