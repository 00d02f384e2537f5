/*
 * op_concat.c - tensors side by side along the last axis.
 *
 * An input that the planner put into its place in the output needs no copy, and neither does its
 * gradient.
 */
#include "graph/ops/ops.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    lcsm_shape want = n->in[0]->shape;
    ptrdiff_t  cols = 0;
    if (want.rank < 1) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the first input has no axis");
    for (int j = 0; j < n->n_in; j++) {
        if (n->in[j] == NULL)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "input %d of %d is missing", j, n->n_in);
        lcsm_shape s            = n->in[j]->shape;
        want.dim[want.rank - 1] = n->in[j]->cols;
        if (!lcsm_shape_equal(&s, &want))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "only the last axis may differ");
        cols += n->in[j]->cols;
    }
    want.dim[want.rank - 1] = cols;
    n->shape[0]             = want;
    return LCSM_OK;
}

/* The columns of the joint matrix that belong to input j. */
static lcsm_mat part(const lcsm_call *c, const lcsm_mat *joint, int j)
{
    lcsm_mat  m  = *joint;
    ptrdiff_t at = 0;
    for (int i = 0; i < j; i++) at += c->node->in[i]->cols;
    m.data = (real *)joint->data + at;
    m.cols = c->node->in[j]->cols;
    return m;
}

static void forward(const lcsm_call *c)
{
    for (int j = 0; j < c->node->n_in; j++) {
        lcsm_mat to = part(c, &c->out[0], j);
        for (ptrdiff_t r = 0; r < to.rows && to.data != c->in[j].data; r++)
            memcpy(row_of(&to, r), row_of(&c->in[j], r), (size_t)to.cols * sizeof(real));
    }
}

static void backward(const lcsm_call *c)
{
    for (int j = 0; j < c->node->n_in; j++) {
        lcsm_mat        from = part(c, &c->g_out[0], j);
        const lcsm_mat *to   = &c->g_in[j];
        if (to->data == NULL || to->data == from.data) continue;
        for (ptrdiff_t r = 0; r < to->rows; r++)
            kernels_of(c)->ew->scale(to->cols, 1, row_of(&from, r), to->add, row_of(to, r));
    }
}

const lcsm_op R_(lcsm_op_concat) = {
    .name  = "concat",
    .in    = {"x1", "?x2", "?x3", "?x4", "?x5", "?x6", "?x7", "?x8", "?x9", "?x10", "?x11", "?x12",
              "?x13", "?x14", "?x15", "?x16"},
    .shape = shape,
    .forward    = forward,
    .backward   = backward,
    .overwrites = ~0u,
};
