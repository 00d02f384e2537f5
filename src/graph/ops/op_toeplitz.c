/*
 * op_toeplitz.c - the lags of a decaying Toeplitz operator as states of a recurrence
 * (base/toeplitz.h): t [n, D] -> log and phase [K] of o, and the pairs e [K, D, 2], K the rows of
 * memory for n lags. Work items are channels, in double.
 */
#include "base/toeplitz.h"
#include "graph/ops/op_pieces.h"

enum { LOG, PHASE, E };

typedef struct {
    const lcsm_call *c;
    ptrdiff_t        n, D, K;
    lcsm_cplx       *roots; /* n + 1 */
    lcsm_cplx       *work;  /* of each worker: 3 (n + 1) */
    lcsm_cplx       *rows;  /* of each worker: K */
    double          *lags;  /* of each worker: n */
} job;

static job job_of(const lcsm_node *node)
{
    job j = {.n = node->in[0]->rows, .D = node->in[0]->cols};
    j.K   = (ptrdiff_t)lcsm_toeplitz_rows((size_t)j.n);
    return j;
}

static void layout(pieces *p, const lcsm_node *n, job *j)
{
    j->roots = lcsm_take(p, 1, j->n + 1, sizeof *j->roots);
    j->work  = lcsm_take(p, n->threads, 3 * (j->n + 1), sizeof *j->work);
    j->rows  = lcsm_take(p, n->threads, j->K, sizeof *j->rows);
    j->lags  = lcsm_take(p, n->threads, j->n, sizeof *j->lags);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_toeplitz_attr *a = n->attr;
    pieces                    p = {0};
    job                       j = job_of(n);
    if (!(a->gamma > 0 && a->gamma <= 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "gamma is %g; expected more than 0 and at most 1",
                         a->gamma);
    if (n->in[0]->shape.rank != 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "t must be [n, D]");
    n->n_out        = 3;
    n->shape[LOG]   = lcsm_dims(j.K);
    n->shape[PHASE] = lcsm_dims(j.K);
    n->shape[E]     = lcsm_dims(j.K, j.D, 2);
    layout(&p, n, &j);
    n->fwd_scratch = p.used;
    return measured(&p, &n->bwd_scratch, err);
}

static job start(const lcsm_call *c)
{
    pieces p = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&p, c->node, &j);
    lcsm_toeplitz_roots((size_t)j.n, j.roots);
    return j;
}

static void forward_channel(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  d    = (ptrdiff_t)item;
    lcsm_cplx *rows = j->rows + worker * j->K;
    double    *lags = j->lags + worker * j->n;
    for (ptrdiff_t l = 0; l < j->n; l++) lags[l] = (double)row_of(&j->c->in[0], l)[d];
    lcsm_toeplitz_channel((size_t)j->n, j->roots, lags, 1, rows, j->work + worker * 3 * (j->n + 1));
    for (ptrdiff_t k = 0; k < j->K; k++) {
        real *e = row_of(&j->c->out[E], k * j->D + d);
        e[0]    = (real)rows[k].re;
        e[1]    = (real)rows[k].im;
    }
}

static void forward(const lcsm_call *c)
{
    const lcsm_toeplitz_attr *a = c->node->attr;
    job                       j = start(c);
    for (ptrdiff_t k = 0; k < j.K; k++) {
        ((real *)c->out[LOG].data)[k]   = (real)log(a->gamma);
        ((real *)c->out[PHASE].data)[k] = (real)lcsm_toeplitz_phase((size_t)j.n, (size_t)k);
    }
    lcsm_parallel_for(c->run->pool, (size_t)j.D, forward_channel, &j);
}

static void backward_channel(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  d    = (ptrdiff_t)item;
    lcsm_cplx *rows = j->rows + worker * j->K;
    double    *lags = j->lags + worker * j->n;
    for (ptrdiff_t k = 0; k < j->K; k++) {
        const real *e = row_of(&j->c->g_out[E], k * j->D + d);
        rows[k]       = (lcsm_cplx){(double)e[0], (double)e[1]};
    }
    lcsm_toeplitz_channel_bwd((size_t)j->n, j->roots, rows, lags,
                              j->work + worker * 3 * (j->n + 1));
    for (ptrdiff_t l = 0; l < j->n; l++) row_of(&j->c->g_in[0], l)[d] += (real)lags[l];
}

/* log and phase do not depend on the lags. */
static void backward(const lcsm_call *c)
{
    if (c->g_out[E].data == NULL) return;
    job j = start(c);
    lcsm_parallel_for(c->run->pool, (size_t)j.D, backward_channel, &j);
}

/* As a transform by powers of two. */
static double flops(const lcsm_node *n)
{
    job j = job_of(n);
    return 5 * (double)j.D * (double)j.n * log2((double)j.n + 1);
}

const lcsm_op R_(lcsm_op_toeplitz) = {
    .name      = "toeplitz",
    .in        = {"t"},
    .attr_size = sizeof(lcsm_toeplitz_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
};
