/* op_xent.c - cross-entropy from logits (..., V) and targets (...); loss.h has the meaning. */
#include "graph/ops/loss.h"

enum { LOGITS, TARGETS };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    pieces      a = {0};
    kept        k;
    lcsm_status st = loss_shape(n, n->in[LOGITS], n->in[TARGETS], err);
    if (st != LCSM_OK) return st;
    kept_scratch(&a, n->in[LOGITS]->rows, &k);
    return measured(&a, &n->fwd_scratch, err);
}

typedef struct {
    const lcsm_call *c;
    const int32_t   *targets;
    kept             k;
} job;

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job      *j = arg;
    const lcsm_mat *x = &j->c->in[LOGITS];
    for (ptrdiff_t i = first; i < first + count; i++) {
        const real       *z   = row_of(x, j->k.row[i]);
        R_(lcsm_xent_row) row = R_(lcsm_xent_empty)();
        kernels_of(j->c)->xent->scan(&row, 0, x->cols, z);
        keep_result(&j->k, i, &row);
        j->k.at_target[i] = z[j->targets[j->k.row[i]]];
    }
}

static void forward(const lcsm_call *c)
{
    const lcsm_mat *x       = &c->in[LOGITS];
    pieces          scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job             j = {.c = c, .targets = c->in[TARGETS].data};
    kept_scratch(&scratch, x->rows, &j.k);
    if (c->saved != NULL) kept_layout(&saved, x->rows, &j.k);
    if (!keep_rows(c, j.targets, x->rows, x->cols, &j.k)) return;
    lcsm_parallel_rows(c->run->pool, *j.k.count, x->cols, forward_rows, &j);
    loss_outputs(c, j.targets, &j.k);
}

static void backward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job      *j = arg;
    const lcsm_mat *x = &j->c->in[LOGITS], *g_x = &j->c->g_in[LOGITS];
    for (ptrdiff_t i = first; i < first + count; i++) {
        ptrdiff_t r = j->k.row[i];
        loss_back(j->c, &j->k, i, j->targets[r], 0, x->cols, row_of(x, r), row_of(g_x, r),
                  g_x->add);
    }
}

static void backward(const lcsm_call *c)
{
    const lcsm_mat *x     = &c->in[LOGITS];
    pieces          saved = {.base = c->saved};
    job             j     = {.c = c, .targets = c->in[TARGETS].data};
    kept_layout(&saved, x->rows, &j.k);
    if (!c->g_in[LOGITS].add) clear_left_out(&j.k, &c->g_in[LOGITS]);
    lcsm_parallel_rows(c->run->pool, *j.k.count, x->cols, backward_rows, &j);
}

static double flops(const lcsm_node *n)
{
    return 10.0 * (double)lcsm_tensor_count(n->in[LOGITS]);
}

const lcsm_op R_(lcsm_op_xent) = {
    .name       = "xent",
    .in         = {"logits", "#targets"},
    .attr_size  = sizeof(lcsm_loss_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(LOGITS) | LCSM_BIT(TARGETS),
    .overwrites = LCSM_BIT(LOGITS),
    .packed_out = LCSM_BIT(LOSS_ROWS) | LCSM_BIT(LOSS_RIGHT),
};
