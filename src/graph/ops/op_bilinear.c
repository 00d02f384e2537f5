/*
 * op_bilinear.c - a dense state space in steps of D sizes: A [N, N], B [N], log_dt [D] ->
 * A_bar [D, N, N], B_bar [D, N],
 *
 *     M A_bar = I + dt/2 A        M B_bar = dt B        M = I - dt/2 A
 *
 * Backward with X = M^-T g_A_bar and y = M^-T g_B_bar: the gradient of dt/2 A is
 * Q = X (I + A_bar)^T + y B_bar^T, that of dt B is y, so
 *
 *     g_A += dt/2 Q          g_B += dt y          g_dt += A . Q / 2 + B . y
 *
 * Work items are channels, in blocks with sums of their own, in double: N is at most 256 and the
 * equations may be badly conditioned.
 */
#include "base/linalg.h"
#include "graph/ops/op_pieces.h"

enum { A, B, LOG_DT };
enum { A_BAR, B_BAR };
enum { MOST_STATES = 256, BLOCK = 8 };

/* The work of one worker: M factored, A_bar and B_bar side by side (N, N + 1), and gradients of
 * that shape. */
typedef struct {
    double *lu, *bar, *g;
    size_t *pivot;
} work;

typedef struct {
    const lcsm_call *c;
    ptrdiff_t        N, D, blocks;
    double          *work;     /* of all workers */
    size_t          *pivot;    /* of all workers */
    double          *partial;  /* sums of g_A and g_B of each block: (N, N + 1) */
    bool            *singular; /* of each channel */
} job;

static job job_of(const lcsm_node *n)
{
    job j    = {.N = n->in[A]->cols, .D = n->in[LOG_DT]->cols};
    j.blocks = blocks_of(j.D, BLOCK);
    return j;
}

static ptrdiff_t work_size(const job *j)
{
    return 3 * j->N * (j->N + 1);
}

static void layout(pieces *p, const lcsm_node *n, bool backward, job *j)
{
    j->work     = lcsm_take(p, n->threads, work_size(j), sizeof(double));
    j->pivot    = lcsm_take(p, n->threads, j->N, sizeof(size_t));
    j->partial  = lcsm_take(p, backward ? j->blocks : 0, j->N * (j->N + 1), sizeof(double));
    j->singular = lcsm_take(p, 1, j->D, sizeof(bool));
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *a   = n->in[A];
    pieces             fwd = {0}, bwd = {0};
    job                j = job_of(n);
    if (a->shape.rank != 2 || a->rows != a->cols || a->cols > MOST_STATES)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "A must be square, at most %d", MOST_STATES);
    if (n->in[B]->shape.rank != 1 || n->in[B]->cols != j.N || n->in[LOG_DT]->shape.rank != 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "B must be [%td] and log_dt [D]", j.N);
    n->n_out        = 2;
    n->shape[A_BAR] = lcsm_dims(j.D, j.N, j.N);
    n->shape[B_BAR] = lcsm_dims(j.D, j.N);
    layout(&fwd, n, false, &j);
    layout(&bwd, n, true, &j);
    lcsm_status st = measured(&fwd, &n->fwd_scratch, err);
    return st == LCSM_OK ? measured(&bwd, &n->bwd_scratch, err) : st;
}

static work work_of(const job *j, int worker)
{
    double   *p    = j->work + worker * work_size(j);
    ptrdiff_t size = j->N * (j->N + 1);
    return (work){p, p + size, p + 2 * size, j->pivot + worker * j->N};
}

static double step_at(const job *j, ptrdiff_t d)
{
    return exp((double)((const real *)j->c->in[LOG_DT].data)[d]);
}

static double a_at(const job *j, ptrdiff_t i, ptrdiff_t k)
{
    return (double)row_of(&j->c->in[A], i)[k];
}

static double b_at(const job *j, ptrdiff_t i)
{
    return (double)((const real *)j->c->in[B].data)[i];
}

/* A_bar and B_bar of a channel, and the factors of M. False if M is singular. */
static bool solve(const job *j, ptrdiff_t d, work w)
{
    ptrdiff_t N  = j->N;
    double    dt = step_at(j, d);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t k = 0; k < N; k++) {
            double half            = 0.5 * dt * a_at(j, i, k);
            w.lu[i * N + k]        = (i == k) - half;
            w.bar[i * (N + 1) + k] = (i == k) + half;
        }
        w.bar[i * (N + 1) + N] = dt * b_at(j, i);
    }
    if (!lcsm_lu_factor((size_t)N, w.lu, w.pivot)) return false;
    lcsm_lu_solve((size_t)N, w.lu, w.pivot, (size_t)N + 1, w.bar);
    return true;
}

static void forward_channel(void *arg, size_t item, int worker)
{
    const job *j = arg;
    ptrdiff_t  N = j->N, d = (ptrdiff_t)item;
    work       w   = work_of(j, worker);
    j->singular[d] = !solve(j, d, w);
    for (ptrdiff_t i = 0; i < N; i++) {
        real *a_bar = row_of(&j->c->out[A_BAR], d * N + i);
        for (ptrdiff_t k = 0; k < N; k++) a_bar[k] = (real)w.bar[i * (N + 1) + k];
        row_of(&j->c->out[B_BAR], d)[i] = (real)w.bar[i * (N + 1) + N];
    }
}

static void forward(const lcsm_call *c)
{
    pieces p = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&p, c->node, false, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.D, forward_channel, &j);
    for (ptrdiff_t d = 0; d < j.D; d++)
        if (j.singular[d]) {
            lcsm_call_fail(c, "I - dt/2 A is singular for channel %td, dt = %g", d, step_at(&j, d));
            return;
        }
}

/* ---- backward ---- */

/* X and y side by side. A gradient that is not there is 0. */
static void solve_adjoint(const job *j, ptrdiff_t d, work w)
{
    const lcsm_mat *g_a = &j->c->g_out[A_BAR], *g_b = &j->c->g_out[B_BAR];
    ptrdiff_t       N = j->N;
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t k = 0; k < N; k++)
            w.g[i * (N + 1) + k] = g_a->data == NULL ? 0 : (double)row_of(g_a, d * N + i)[k];
        w.g[i * (N + 1) + N] = g_b->data == NULL ? 0 : (double)row_of(g_b, d)[i];
    }
    lcsm_lu_solve_transposed((size_t)N, w.lu, w.pivot, (size_t)N + 1, w.g);
}

/* Q[i][k]: row i of (X, y) times row k of (I + A_bar, B_bar). */
static double q_at(const job *j, work w, ptrdiff_t i, ptrdiff_t k)
{
    ptrdiff_t     N = j->N;
    const double *x = w.g + i * (N + 1), *bar = w.bar + k * (N + 1);
    double        sum = x[k];
    for (ptrdiff_t c = 0; c <= N; c++) sum += x[c] * bar[c];
    return sum;
}

static void backward_channel(const job *j, ptrdiff_t d, work w, double *partial)
{
    ptrdiff_t N  = j->N;
    double    dt = step_at(j, d), g_dt = 0;
    solve(j, d, w);
    solve_adjoint(j, d, w);
    for (ptrdiff_t i = 0; i < N; i++) {
        double y = w.g[i * (N + 1) + N];
        for (ptrdiff_t k = 0; k < N; k++) {
            double q = q_at(j, w, i, k);
            partial[i * (N + 1) + k] += 0.5 * dt * q;
            g_dt += 0.5 * a_at(j, i, k) * q;
        }
        partial[i * (N + 1) + N] += dt * y;
        g_dt += b_at(j, i) * y;
    }
    if (j->c->g_in[LOG_DT].data != NULL) ((real *)j->c->g_in[LOG_DT].data)[d] += (real)(g_dt * dt);
}

static void backward_block(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  size = j->N * (j->N + 1), end = at_most(j->D, (ptrdiff_t)(item + 1) * BLOCK);
    double    *partial = j->partial + (ptrdiff_t)item * size;
    memset(partial, 0, (size_t)size * sizeof *partial);
    for (ptrdiff_t d = (ptrdiff_t)item * BLOCK; d < end; d++)
        backward_channel(j, d, work_of(j, worker), partial);
}

/* Adds column k of all blocks' sums, in their order, to the gradient of A or B. */
static double sum_at(const job *j, ptrdiff_t i, ptrdiff_t k)
{
    double sum = 0;
    for (ptrdiff_t block = 0; block < j->blocks; block++)
        sum += j->partial[(block * j->N + i) * (j->N + 1) + k];
    return sum;
}

static void backward(const lcsm_call *c)
{
    pieces p = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&p, c->node, true, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.blocks, backward_block, &j);
    for (ptrdiff_t i = 0; i < j.N; i++) {
        for (ptrdiff_t k = 0; k < j.N && c->g_in[A].data != NULL; k++)
            row_of(&c->g_in[A], i)[k] += (real)sum_at(&j, i, k);
        if (c->g_in[B].data != NULL) ((real *)c->g_in[B].data)[i] += (real)sum_at(&j, i, j.N);
    }
}

static double flops(const lcsm_node *n)
{
    job    j = job_of(n);
    double N = (double)j.N;
    return (double)j.D * N * N * (2 * N / 3 + 2 * (N + 1));
}

const lcsm_op R_(lcsm_op_bilinear) = {
    .name     = "bilinear",
    .in       = {"A", "B", "log_dt"},
    .shape    = shape,
    .forward  = forward,
    .backward = backward,
    .flops    = flops,
    .bwd_in   = LCSM_BIT(A) | LCSM_BIT(B) | LCSM_BIT(LOG_DT),
};
