/*
 * linear_cross_entropy.c - cross-entropy of x w^T (x (..., D), w [V, D]) that never holds all
 * logits; loss.h has the meaning.
 *
 * Rows that do not count are dropped first and cost nothing. Forward takes blocks of rows on all
 * threads; each runs through the vocabulary in blocks and keeps the log of the sum of its
 * exponentials. Backward takes larger blocks of rows one after the other, and for each block of
 * the vocabulary computes the logits again, turns them to gradients g, and adds g w to g_x and
 * g^T x to g_w, all threads together. So every sum has one order, whatever the threads.
 */
#include "graph/ops/loss.h"

enum { X, W, TARGETS };

/* A block of logits is VOCAB wide. ROWS and SLICE are the rows of a work item, STAGE those that
 * backward has under way: memory is STAGE (VOCAB + 2 D), work between two joins SLICE x VOCAB x D.
 */
enum { VOCAB = 512, ROWS = 256, STAGE = 1024, SLICE = 256 };

typedef struct {
    const lcsm_call *c;
    const int32_t   *targets;
    kept             k;
    real            *x, *z, *g_x; /* gathered rows, logits, gradients of the gathered rows */
    real            *ws;          /* for products, of each worker */
    size_t           ws_size;
    ptrdiff_t        at, n;  /* backward: rows of the list that are under way */
    ptrdiff_t        v0, nv; /* and classes */
} job;

static void layout_products(pieces *p, const lcsm_node *n, job *j)
{
    ptrdiff_t D = n->in[X]->cols;
    size_t    z = lcsm_gemm_scratch(ROWS, VOCAB, D), g_x = lcsm_gemm_scratch(SLICE, D, VOCAB);
    size_t    g_w = lcsm_gemm_scratch(SLICE, D, STAGE);
    j->ws_size    = z > g_x ? z : g_x;
    j->ws_size    = j->ws_size > g_w ? j->ws_size : g_w;
    j->ws         = take_reals(p, n->threads, (ptrdiff_t)j->ws_size);
}

/* A product by a worker. */
static void multiply(const job *j, const R_(lcsm_gemm) *p, int worker)
{
    kernels_of(j->c)->gemm->run(p, j->ws + (size_t)worker * j->ws_size);
}

static void layout_forward(pieces *p, const lcsm_node *n, job *j)
{
    kept_scratch(p, n->in[X]->rows, &j->k);
    layout_products(p, n, j);
    j->x = take_reals(p, (ptrdiff_t)n->threads * ROWS, n->in[X]->cols);
    j->z = take_reals(p, (ptrdiff_t)n->threads * ROWS, at_most(n->in[W]->rows, VOCAB));
}

static void layout_backward(pieces *p, const lcsm_node *n, job *j)
{
    ptrdiff_t rows = at_most(n->in[X]->rows, STAGE);
    layout_products(p, n, j);
    j->x   = take_reals(p, rows, n->in[X]->cols);
    j->g_x = take_reals(p, rows, n->in[X]->cols);
    j->z   = take_reals(p, rows, at_most(n->in[W]->rows, VOCAB));
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[X], *w = n->in[W];
    pieces             fwd = {0}, bwd = {0};
    job                j;
    lcsm_status        st = loss_shape(n, x, n->in[TARGETS], err);
    if (st != LCSM_OK) return st;
    if (w->shape.rank != 2 || w->cols != x->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must be [V, %td]", x->cols);
    layout_forward(&fwd, n, &j);
    layout_backward(&bwd, n, &j);
    st = measured(&fwd, &n->fwd_scratch, err);
    return st == LCSM_OK ? measured(&bwd, &n->bwd_scratch, err) : st;
}

/* ---- forward ---- */

/* Rows first .. first + n - 1 of the list, one after the other in `to`. */
static void gather(const job *j, ptrdiff_t first, ptrdiff_t n, real *to)
{
    const lcsm_mat *x = &j->c->in[X];
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(to + i * x->cols, row_of(x, j->k.row[first + i]), (size_t)x->cols * sizeof(real));
}

/* z (n, nv), rows VOCAB apart at most: n gathered rows times classes v0 .. v0 + nv - 1. */
static void logits(const job *j, const real *x, ptrdiff_t n, ptrdiff_t v0, ptrdiff_t nv, real *z,
                   int worker)
{
    const lcsm_mat *w = &j->c->in[W];
    R_(lcsm_gemm)   p = {.tb = true, .M = n, .N = nv, .K = w->cols, .alpha = 1};
    p.A               = x;
    p.lda             = w->cols;
    p.B               = row_of(w, v0);
    p.ldb             = w->ld;
    p.C               = z;
    p.ldc             = at_most(w->rows, VOCAB);
    multiply(j, &p, worker);
}

static void forward_rows(void *arg, size_t item, int worker)
{
    const job *j = arg;
    ptrdiff_t  V = j->c->in[W].rows, width = at_most(V, VOCAB), first = (ptrdiff_t)item * ROWS;
    ptrdiff_t  n = at_most(*j->k.count - first, ROWS);
    real      *x = j->x + (ptrdiff_t)worker * ROWS * j->c->in[X].cols;
    real      *z = j->z + (ptrdiff_t)worker * ROWS * width;
    R_(lcsm_xent_row) row[ROWS];
    real              at_target[ROWS];
    for (ptrdiff_t i = 0; i < n; i++) row[i] = R_(lcsm_xent_empty)();
    gather(j, first, n, x);
    for (ptrdiff_t v = 0; v < V; v += VOCAB) {
        ptrdiff_t nv = at_most(V - v, VOCAB);
        logits(j, x, n, v, nv, z, worker);
        for (ptrdiff_t i = 0; i < n; i++) {
            ptrdiff_t target = j->targets[j->k.row[first + i]] - v;
            kernels_of(j->c)->xent->scan(&row[i], v, nv, z + i * width);
            if (target >= 0 && target < nv) at_target[i] = z[i * width + target];
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) keep_result(&j->k, first + i, &row[i], at_target[i]);
}

static void forward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = {.c = c, .targets = c->in[TARGETS].data};
    layout_forward(&scratch, c->node, &j);
    if (c->saved != NULL) kept_layout(&saved, c->in[X].rows, &j.k);
    if (!keep_rows(c, j.targets, c->in[X].rows, c->in[W].rows, &j.k)) return;
    lcsm_parallel_for(c->run->threads, (size_t)blocks_of(*j.k.count, ROWS), forward_rows, &j);
    loss_outputs(c, j.targets, &j.k);
}

/* ---- backward ---- */

/* Logits of a slice of the rows under way, turned to gradients. */
static void logits_back(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  width = at_most(j->c->in[W].rows, VOCAB), first = (ptrdiff_t)item * SLICE;
    ptrdiff_t  n = at_most(j->n - first, SLICE);
    real      *z = j->z + first * width;
    logits(j, j->x + first * j->c->in[X].cols, n, j->v0, j->nv, z, worker);
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t at = j->at + first + i;
        loss_back(j->c, &j->k, at, j->targets[j->k.row[at]], j->v0, j->nv, z + i * width,
                  z + i * width, false);
    }
}

/* g_x of a slice of rows += g w. */
static void add_g_x(const job *j, ptrdiff_t first, int worker)
{
    const lcsm_mat *w = &j->c->in[W];
    R_(lcsm_gemm)   p = {
          .add = j->v0 > 0, .M = at_most(j->n - first, SLICE), .N = w->cols, .K = j->nv};
    p.alpha = 1;
    p.lda   = at_most(w->rows, VOCAB);
    p.A     = j->z + first * p.lda;
    p.B     = row_of(w, j->v0);
    p.ldb   = w->ld;
    p.C     = j->g_x + first * w->cols;
    p.ldc   = w->cols;
    multiply(j, &p, worker);
}

/* g_w of a slice of classes += g^T x. */
static void add_g_w(const job *j, ptrdiff_t first, int worker)
{
    const lcsm_mat *g_w = &j->c->g_in[W];
    R_(lcsm_gemm)   p   = {
            .ta = true, .add = g_w->add || j->at > 0, .M = at_most(j->nv - first, SLICE)};
    p.N     = g_w->cols;
    p.K     = j->n;
    p.alpha = 1;
    p.lda   = at_most(g_w->rows, VOCAB);
    p.A     = j->z + first;
    p.B     = j->x;
    p.ldb   = g_w->cols;
    p.C     = row_of(g_w, j->v0 + first);
    p.ldc   = g_w->ld;
    multiply(j, &p, worker);
}

static void products_back(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  first = (ptrdiff_t)item * SLICE, rows = blocks_of(j->n, SLICE) * SLICE;
    if (first < rows) {
        if (j->c->g_in[X].data != NULL) add_g_x(j, first, worker);
    } else if (j->c->g_in[W].data != NULL) {
        add_g_w(j, first - rows, worker);
    }
}

static void scatter(const job *j)
{
    const lcsm_mat *g = &j->c->g_in[X];
    for (ptrdiff_t i = 0; i < j->n; i++)
        kernels_of(j->c)->ew->scale(g->cols, 1, j->g_x + i * g->cols, g->add,
                                    row_of(g, j->k.row[j->at + i]));
}

static void stage_back(job *j)
{
    int       threads = j->c->run->threads;
    ptrdiff_t V       = j->c->in[W].rows;
    gather(j, j->at, j->n, j->x);
    for (j->v0 = 0; j->v0 < V; j->v0 += VOCAB) {
        j->nv             = at_most(V - j->v0, VOCAB);
        size_t row_part   = (size_t)blocks_of(j->n, SLICE),
               class_part = (size_t)blocks_of(j->nv, SLICE);
        lcsm_parallel_for(threads, row_part, logits_back, j);
        lcsm_parallel_for(threads, row_part + class_part, products_back, j);
    }
    if (j->c->g_in[X].data != NULL) scatter(j);
}

static void backward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = {.c = c, .targets = c->in[TARGETS].data};
    kept_layout(&saved, c->in[X].rows, &j.k);
    layout_backward(&scratch, c->node, &j);
    if (c->g_in[X].data != NULL && !c->g_in[X].add) clear_left_out(&j.k, &c->g_in[X]);
    if (c->g_in[W].data != NULL && !c->g_in[W].add && *j.k.count == 0) clear_rows(&c->g_in[W]);
    for (j.at = 0; j.at < *j.k.count; j.at += STAGE) {
        j.n = at_most(*j.k.count - j.at, STAGE);
        stage_back(&j);
    }
}

static double flops(const lcsm_node *n)
{
    return 2.0 * (double)lcsm_tensor_count(n->in[X]) * (double)n->in[W]->rows;
}

#define LOSS(ignore, z, details) (&(lcsm_loss_attr){ignore, z, details})

static const lcsm_op_case TESTS[] = {
    CASE("mean", LOSS(-100, 0, false), {IN(5, 4)}, {IN(7, 4)}, {IN(5), .lo = 0, .hi = 7}),
    CASE("ignored", LOSS(1, 0, false), {IN(2, 9, 5)}, {IN(3, 5)}, {IN(2, 9), .lo = 0, .hi = 3}),
    CASE("all-ignored", LOSS(0, 0, true), {IN(3, 3)}, {IN(4, 3)}, {IN(3), .lo = 0, .hi = 1}),
    CASE("details", LOSS(-100, 0, true), {IN(2, 3, 5)}, {IN(17, 5)}, {IN(2, 3), .lo = 0, .hi = 17}),
    CASE("z", LOSS(2, 0.01, true), {IN(3, 9)}, {IN(33, 9)}, {IN(3), .lo = 0, .hi = 33}),
    CASE("one", LOSS(-100, 0, false), {IN(1, 1)}, {IN(1, 1)}, {IN(1), .lo = 0, .hi = 1}),
    CASE("no-rows", LOSS(-100, 0, true), {IN(0, 3)}, {IN(4, 3)}, {IN(0), .lo = 0, .hi = 3}),
    LARGE("large", LOSS(2, 0, true), {IN(3, 199, 33)}, {IN(1031, 33)},
          {IN(3, 199), .lo = 0, .hi = 1031}),
    LARGE("many", LOSS(1, 0, false), {IN(1100, 9)}, {IN(65, 9)}, {IN(1100), .lo = 0, .hi = 65}),
};

const lcsm_op R_(lcsm_op_linear_xent) = {
    .name       = "linear_xent",
    .in         = {"x", "w", "#targets"},
    .attr_size  = sizeof(lcsm_loss_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(TARGETS),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(W),
    .packed_out = LCSM_BIT(LOSS_ROWS),
    CASES(TESTS),
};
