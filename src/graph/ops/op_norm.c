/* op_norm.c - normalisation of the last axis, whole or in heads, with an optional affine map. */
#include "graph/ops/op_pieces.h"

enum { X, W, B };

/* Rows whose parts of g_w and g_b are summed into one partial row. */
enum { BLOCK = 64 };

/* Rows so wide take no longer than it takes to read them. */
enum { WIDE = 256 };

static ptrdiff_t width(const lcsm_tensor *w)
{
    return w == NULL ? 0 : w->cols;
}

static lcsm_status check(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_norm_attr *a = n->attr;
    const lcsm_tensor    *x = n->in[X], *w = n->in[W], *b = n->in[B];
    if ((unsigned)a->kind >= LCSM_NORM_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the kind is %d", (int)a->kind);
    if (!(a->eps >= 0 && isfinite(a->eps)))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eps is %g; expected a number >= 0", a->eps);
    if (x->shape.rank < 1 || a->heads < 1 || x->cols % a->heads != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%td heads do not divide the last axis", a->heads);
    for (int j = W; j <= B; j++) {
        ptrdiff_t have = width(n->in[j]);
        if (n->in[j] != NULL
            && (n->in[j]->shape.rank != 1 || (have != x->cols && have != x->cols / a->heads)))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must be [%td] or [%td]",
                             j == W ? "the weight" : "the bias", x->cols, x->cols / a->heads);
    }
    if (w != NULL && b != NULL && width(w) != width(b))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "weight and bias must have the same shape");
    return LCSM_OK;
}

/* Partial sums of backward: a row of g_w and one of g_b for each block of rows. */
static void layout(pieces *a, const lcsm_node *n, real **g_w, real **g_b)
{
    ptrdiff_t blocks = blocks_of(n->in[X]->rows, BLOCK);
    *g_w             = take_reals(a, blocks, width(n->in[W]));
    *g_b             = take_reals(a, blocks, width(n->in[B]));
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    pieces      a = {0};
    real       *g_w, *g_b;
    lcsm_status st = check(n, err);
    if (st != LCSM_OK) return st;
    n->shape[0] = n->in[X]->shape;
    n->cheap    = n->in[X]->cols >= WIDE;
    layout(&a, n, &g_w, &g_b);
    return measured(&a, &n->bwd_scratch, err);
}

/* Rows first .. first + count - 1 of a call. */
static R_(lcsm_norm) problem(const lcsm_call *c, ptrdiff_t count, const lcsm_mat *y)
{
    const lcsm_norm_attr *a = c->node->attr;
    const lcsm_tensor    *w = c->node->in[W] != NULL ? c->node->in[W] : c->node->in[B];
    R_(lcsm_norm)         n = {.kind = a->kind, .eps = (real)a->eps, .rows = count, .H = a->heads};
    n.D                     = c->in[X].cols / a->heads;
    n.x_row                 = c->in[X].ld;
    n.y_row                 = y->ld;
    n.w_head                = width(w) == c->in[X].cols ? n.D : 0;
    n.w                     = c->in[W].data;
    n.b                     = c->in[B].data;
    return n;
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    R_(lcsm_norm)    n = problem(c, count, &c->out[0]);
    kernels_of(c)->norm->fwd(&n, row_of(&c->in[X], first), row_of(&c->out[0], first));
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[X].rows, c->in[X].cols, forward_rows, c);
}

typedef struct {
    const lcsm_call *c;
    real            *g_w, *g_b; /* partial rows, or NULL */
} job;

static void backward_block(void *arg, size_t item, int worker)
{
    const job       *j     = arg;
    const lcsm_call *c     = j->c;
    ptrdiff_t        first = (ptrdiff_t)item * BLOCK;
    R_(lcsm_norm)    n     = problem(c, at_most(c->in[X].rows - first, BLOCK), &c->g_out[0]);
    const lcsm_mat  *g_x   = &c->g_in[X];
    ptrdiff_t        nw = width(c->node->in[W]), nb = width(c->node->in[B]);
    real            *g_w = j->g_w == NULL ? NULL : j->g_w + (ptrdiff_t)item * nw;
    real            *g_b = j->g_b == NULL ? NULL : j->g_b + (ptrdiff_t)item * nb;
    (void)worker;
    if (g_w != NULL) memset(g_w, 0, (size_t)nw * sizeof(real));
    if (g_b != NULL) memset(g_b, 0, (size_t)nb * sizeof(real));
    kernels_of(c)->norm->bwd(&n, row_of(&c->in[X], first), row_of(&c->g_out[0], first),
                             row_if(g_x, first), g_x->add, g_w, g_b);
}

static void backward(const lcsm_call *c)
{
    pieces    a = {.base = c->scratch};
    job       j = {.c = c};
    ptrdiff_t n = blocks_of(c->in[X].rows, BLOCK);
    layout(&a, c->node, &j.g_w, &j.g_b);
    if (c->g_in[W].data == NULL) j.g_w = NULL;
    if (c->g_in[B].data == NULL) j.g_b = NULL;
    lcsm_parallel_for(c->run->pool, (size_t)n, backward_block, &j);
    sum_partials(c, j.g_w, n, &c->g_in[W]);
    sum_partials(c, j.g_b, n, &c->g_in[B]);
}

static double flops(const lcsm_node *n)
{
    return 8.0 * (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_norm) = {
    .name          = "norm",
    .in            = {"x", "?weight", "?bias"},
    .attr_size     = sizeof(lcsm_norm_attr),
    .shape         = shape,
    .forward       = forward,
    .backward      = backward,
    .flops         = flops,
    .bwd_in        = LCSM_BIT(X) | LCSM_BIT(W),
    .in_place      = LCSM_BIT(X),
    .grad_in_place = LCSM_BIT(X),
    .overwrites    = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(B),
    .rounds_in     = LCSM_BIT(X),
};
