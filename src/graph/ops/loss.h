/*
 * graph/ops/loss.h - what the two forms of cross-entropy share: which rows count, and what comes of
 * their losses.
 *
 * Rows whose target is the attribute `ignore` are left out; the loss is the mean over the others,
 * and 0 if there are none. With z > 0 a row's loss has z lse^2 added, which keeps logits small.
 * Outputs: the mean; with `details` also the loss of every row (0 where it is left out), and for
 * every row 1 if its largest logit is at the target, else 0.
 */
#ifndef LCSM_GRAPH_OPS_LOSS_H
#define LCSM_GRAPH_OPS_LOSS_H
#include "graph/ops/op_pieces.h"

enum { LOSS_MEAN, LOSS_ROWS, LOSS_RIGHT };

/* The rows that count. The first four are for backward too. */
typedef struct {
    int64_t *count;
    int64_t *row; /* their numbers, in order */
    real    *lse;
    real    *from;      /* what exponentials are taken from, where it is not lse */
    real    *at_target; /* the logit */
    int64_t *best;      /* where the largest logit is */
} kept;

static inline void kept_layout(pieces *a, ptrdiff_t rows, kept *k)
{
    k->count = lcsm_take(a, 1, 1, sizeof *k->count);
    k->row   = lcsm_take(a, rows, 1, sizeof *k->row);
    k->lse   = take_reals(a, rows, 1);
    k->from  = take_reals(a, rows, 1);
}

static inline void kept_scratch(pieces *a, ptrdiff_t rows, kept *k)
{
    kept_layout(a, rows, k);
    k->at_target = take_reals(a, rows, 1);
    k->best      = lcsm_take(a, rows, 1, sizeof *k->best);
}

/* One target for each row of x. Fills all of the node but the scratch sizes. */
static inline lcsm_status loss_shape(lcsm_node *n, const lcsm_tensor *x, const lcsm_tensor *targets,
                                     lcsm_error *err)
{
    const lcsm_loss_attr *a = n->attr;
    pieces                m = {0};
    kept                  k;
    if (x->shape.rank < 1 || targets->rows * targets->cols != x->rows
        || (targets->rows > 1 && targets->ld != targets->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "targets must be %td numbers, one for each row",
                         x->rows);
    if (!(a->z >= 0 && isfinite(a->z)))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "z is %g; expected a number >= 0", a->z);
    n->n_out             = a->details ? 3 : 1;
    n->shape[LOSS_MEAN]  = lcsm_dims(1);
    n->shape[LOSS_ROWS]  = targets->shape;
    n->shape[LOSS_RIGHT] = targets->shape;
    kept_layout(&m, x->rows, &k);
    return measured(&m, &n->saved, err);
}

/* Lists the rows that count; false, with a message, if a target is no class. */
static inline bool keep_rows(const lcsm_call *c, const int32_t *targets, ptrdiff_t rows,
                             ptrdiff_t classes, const kept *k)
{
    const lcsm_loss_attr *a = c->node->attr;
    *k->count               = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        if (targets[r] == a->ignore) continue;
        if (targets[r] < 0 || targets[r] >= classes) {
            lcsm_call_fail(c, "target %d at position %td; expected 0 to %td or %d", (int)targets[r],
                           r, classes - 1, (int)a->ignore);
            return false;
        }
        k->row[(*k->count)++] = r;
    }
    return true;
}

/* Row i of the list is done, but for its logit at the target. */
static inline void keep_result(const kept *k, ptrdiff_t i, const R_(lcsm_xent_row) *row)
{
    k->lse[i]  = row->max + R_FN(log)(row->sum);
    k->best[i] = row->best;
}

static inline void loss_outputs(const lcsm_call *c, const int32_t *targets, const kept *k)
{
    const lcsm_loss_attr *a     = c->node->attr;
    const lcsm_mat       *rows  = &c->out[LOSS_ROWS];
    size_t                bytes = a->details ? (size_t)(rows->rows * rows->cols) * sizeof(real) : 0;
    real                 *each  = a->details ? rows->data : NULL;
    real                 *right = a->details ? c->out[LOSS_RIGHT].data : NULL;
    double                sum   = 0;
    if (a->details) memset(each, 0, bytes);
    if (a->details) memset(right, 0, bytes);
    for (int64_t i = 0; i < *k->count; i++) {
        real loss = k->lse[i] - k->at_target[i] + (real)a->z * k->lse[i] * k->lse[i];
        sum += (double)loss;
        if (!a->details) continue;
        each[k->row[i]]  = loss;
        right[k->row[i]] = k->best[i] == targets[k->row[i]];
    }
    *row_of(&c->out[LOSS_MEAN], 0) = (real)(*k->count > 0 ? sum / (double)*k->count : 0);
}

/* Zeros for the rows that do not count. */
static inline void clear_left_out(const kept *k, const lcsm_mat *g)
{
    int64_t i = 0;
    for (ptrdiff_t r = 0; r < g->rows; r++)
        if (i < *k->count && k->row[i] == r) i++;
        else memset(row_of(g, r), 0, (size_t)g->cols * sizeof(real));
}

/* dL/d(loss of row i of the list). */
static inline real loss_weight(const lcsm_call *c, const kept *k, ptrdiff_t i)
{
    const real *mean = c->g_out[LOSS_MEAN].data, *rows = c->g_out[LOSS_ROWS].data;
    return (mean != NULL ? *mean / (real)*k->count : 0) + (rows != NULL ? rows[k->row[i]] : 0);
}

/* The gradients of n logits of row i, the first of class `base`; g may be z. */
static inline void loss_back(const lcsm_call *c, const kept *k, ptrdiff_t i, int32_t target,
                             ptrdiff_t base, ptrdiff_t n, const real *z, real *g, bool add)
{
    const lcsm_loss_attr *a      = c->node->attr;
    real                  weight = loss_weight(c, k, i), lse = k->lse[i];
    kernels_of(c)->xent->soft(n, lse, weight * (1 + 2 * (real)a->z * lse), z, g, add);
    if (target >= base && target < base + n) g[target - base] -= weight;
}
#endif
