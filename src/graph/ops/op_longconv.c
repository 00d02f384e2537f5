/*
 * op_longconv.c - causal convolution over whole sequences: u (..., T, D), kernel [L, D] -> (..., T,
 * D).
 *
 * A work item is some channels of all sequences, so that the kernel's gradient is one sum; without
 * it, in forward, of some sequences if the channels alone do not keep all threads busy. Nothing is
 * carried: a state would be as long as the sequence.
 */
#include "graph/ops/op_pieces.h"

enum { U, KERNEL };
enum { TILE = 64 };

typedef struct {
    const lcsm_call *c;
    ptrdiff_t        B, T, D, L, tiles;
    ptrdiff_t        group; /* sequences of an item of forward */
    real            *ws;
    size_t           ws_size;
} job;

static job job_of(const lcsm_node *n)
{
    const R_(lcsm_kernels) *k = n->kernels;
    const lcsm_shape       *u = &n->in[U]->shape;
    job j = {.B = 1, .T = lcsm_dim_last(u, 2), .D = n->in[U]->cols, .L = n->in[KERNEL]->rows};
    for (int i = 0; i < u->rank - 2; i++) j.B *= u->dim[i];
    j.tiles   = blocks_of(j.D, TILE);
    j.group   = j.tiles < n->threads ? 1 : j.B;
    j.ws_size = k->longconv->scratch(j.T, j.L, TILE);
    return j;
}

static void layout(pieces *p, const lcsm_node *n, job *j)
{
    j->ws = take_reals(p, n->threads, (ptrdiff_t)j->ws_size);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *u = n->in[U], *k = n->in[KERNEL];
    pieces             p = {0};
    if (u->shape.rank < 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "u must have the axes T and D");
    if (k->shape.rank != 2 || k->cols != u->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the kernel must be [L, %td]", u->cols);
    n->shape[0] = u->shape;
    n->steps    = LCSM_STEPS_WHOLE;
    job j       = job_of(n);
    layout(&p, n, &j);
    n->fwd_scratch = p.used;
    return measured(&p, &n->bwd_scratch, err);
}

/* Channels d0 .. of n sequences from b on. */
static R_(lcsm_longconv) problem(const job *j, ptrdiff_t b, ptrdiff_t n, ptrdiff_t d0)
{
    const lcsm_mat *u = &j->c->in[U], *k = &j->c->in[KERNEL];
    return (R_(lcsm_longconv)){.B   = n,
                               .T   = j->T,
                               .L   = j->L,
                               .D   = at_most(j->D - d0, TILE),
                               .u   = row_of(u, b * j->T) + d0,
                               .k   = row_of(k, 0) + d0,
                               .u_t = u->ld,
                               .k_l = k->ld};
}

static void forward_tile(void *arg, size_t item, int worker)
{
    const job      *j = arg;
    const lcsm_mat *y = &j->c->out[0];
    ptrdiff_t b = (ptrdiff_t)item / j->tiles * j->group, d0 = (ptrdiff_t)item % j->tiles * TILE;
    R_(lcsm_longconv) p = problem(j, b, at_most(j->B - b, j->group), d0);
    kernels_of(j->c)->longconv->fwd(&p, row_of(y, b * j->T) + d0, y->ld,
                                    j->ws + (size_t)worker * j->ws_size);
}

static void forward(const lcsm_call *c)
{
    pieces p = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&p, c->node, &j);
    lcsm_parallel_for(c->run->pool, (size_t)(blocks_of(j.B, j.group) * j.tiles), forward_tile, &j);
}

static void backward_tile(void *arg, size_t item, int worker)
{
    const job        *j   = arg;
    const lcsm_mat   *g_y = &j->c->g_out[0], *g_u = &j->c->g_in[U], *g_k = &j->c->g_in[KERNEL];
    ptrdiff_t         d0   = (ptrdiff_t)item * TILE;
    real             *to_u = row_if(g_u, 0), *to_k = row_if(g_k, 0);
    R_(lcsm_longconv) p = problem(j, 0, j->B, d0);
    kernels_of(j->c)->longconv->bwd(
        &p, row_of(g_y, 0) + d0, g_y->ld, to_u == NULL ? NULL : to_u + d0, g_u->ld,
        to_k == NULL ? NULL : to_k + d0, g_k->ld, j->ws + (size_t)worker * j->ws_size);
}

static void backward(const lcsm_call *c)
{
    pieces p = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&p, c->node, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.tiles, backward_tile, &j);
}

/* As the direct sum, or as two transforms of n log2 n / 2 butterflies and a product if that is
 * less.
 */
static double flops(const lcsm_node *n)
{
    job    j    = job_of(n);
    double lags = (double)at_most(j.L, j.T), direct = 2 * lags - lags * lags / fmax(1, (double)j.T);
    return (double)lcsm_tensor_count(n->in[U]) * fmin(direct, 10 * log2(lags + 1) + 6);
}

const lcsm_op R_(lcsm_op_longconv) = {
    .name      = "longconv",
    .in        = {"u", "kernel"},
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = LCSM_BIT(U) | LCSM_BIT(KERNEL),
    .rounds_in = LCSM_BIT(U),
};
