/*
 * linear.c - y = x w^T + b, w [out, in].
 *
 *     g_x = g_y w        g_w = g_y^T x        g_b = column sums of g_y
 */
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "kernel/gemm/gemm_drive.h"

enum { X, W, B };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[X], *w = n->in[W], *b = n->in[B];
    if (x->shape.rank < 1 || w->shape.rank != 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x wants an axis and w two");
    if (x->cols != w->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the rows of x have %td numbers and those of w %td", x->cols, w->cols);
    if (b != NULL && (b->shape.rank != 1 || b->cols != w->rows))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "b must be [%td]", w->rows);
    n->shape[0]                        = x->shape;
    n->shape[0].dim[x->shape.rank - 1] = w->rows;
    n->fwd_scratch                     = R_(lcsm_gemm_bytes)(n->threads, x->rows, w->rows, w->cols);
    size_t for_x                       = R_(lcsm_gemm_bytes)(n->threads, x->rows, w->cols, w->rows);
    size_t for_w                       = R_(lcsm_gemm_bytes)(n->threads, w->rows, w->cols, x->rows);
    n->bwd_scratch                     = for_x > for_w ? for_x : for_w;
    return LCSM_OK;
}

static double flops(const lcsm_node *n)
{
    const lcsm_tensor *x = n->in[X], *w = n->in[W];
    return 2.0 * (double)x->rows * (double)w->rows * (double)w->cols;
}

/* C (M, N) = op(A) op(B). */
static void product(const lcsm_call *c, const lcsm_mat *A, bool ta, const lcsm_mat *Bm, bool tb,
                    const lcsm_mat *C, bool add)
{
    R_(lcsm_gemm) x = {.ta    = ta,
                       .tb    = tb,
                       .add   = add,
                       .M     = C->rows,
                       .N     = C->cols,
                       .K     = ta ? A->rows : A->cols,
                       .alpha = 1,
                       .A     = A->data,
                       .B     = Bm->data,
                       .C     = C->data,
                       .lda   = A->ld,
                       .ldb   = Bm->ld,
                       .ldc   = C->ld};
    R_(lcsm_gemm_parallel)(c->run->threads, kernels_of(c), &x, c->scratch);
}

static void forward(const lcsm_call *c)
{
    const lcsm_mat *y = &c->out[0], *b = &c->in[B];
    for (ptrdiff_t r = 0; r < y->rows && b->data != NULL; r++)
        memcpy(row_of(y, r), b->data, (size_t)y->cols * sizeof(real));
    product(c, &c->in[X], false, &c->in[W], true, y, b->data != NULL);
}

static void backward(const lcsm_call *c)
{
    const lcsm_mat *g_y = &c->g_out[0];
    if (c->g_in[X].data != NULL)
        product(c, g_y, false, &c->in[W], false, &c->g_in[X], c->g_in[X].add);
    if (c->g_in[W].data != NULL)
        product(c, g_y, true, &c->in[X], false, &c->g_in[W], c->g_in[W].add);
    if (c->g_in[B].data != NULL) R_(lcsm_sum_rows)(c, g_y, &c->g_in[B]);
}

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1, 1)}, {IN(1, 1)}),
    CASE("bias", NULL, {IN(2, 3, 5)}, {IN(4, 5)}, {IN(4)}),
    CASE("vector", NULL, {IN(17)}, {IN(9, 17)}, {IN(9)}),
    CASE("row", NULL, {IN(1, 33)}, {IN(17, 33)}),
    CASE("no-rows", NULL, {IN(0, 5)}, {IN(4, 5)}, {IN(4)}),
    CASE("no-columns", NULL, {IN(3, 0)}, {IN(4, 0)}, {IN(4)}),
    CASE("no-outputs", NULL, {IN(3, 5)}, {IN(0, 5)}, {IN(0)}),
    CASE("odd", NULL, {IN(3, 3, 7)}, {IN(17, 7)}, {IN(17)}),
    LARGE("sliced", NULL, {IN(259, 67)}, {IN(129, 67)}, {IN(129)}),
    LARGE("deep", NULL, {IN(33, 1025)}, {IN(65, 1025)}),
    LARGE("wide", NULL, {IN(5, 300)}, {IN(1031, 300)}, {IN(1031)}),
};

const lcsm_op R_(lcsm_op_linear) = {
    .name       = "linear",
    .in         = {"x", "w", "?b"},
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(W),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(B),
    CASES(TESTS),
};
