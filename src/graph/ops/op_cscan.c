/*
 * op_cscan.c - complex channels with memories of their own (kernel/cscan/cscan.h).
 *
 *     h_t = exp(log_t + i phase_t) h_{t-1} + x_t
 *
 * x and h are halves: all real parts of a step, then all imaginary ones. log and phase are for each
 * step or for all. Work items are tiles of channels of a sequence. Carried state: h, as halves.
 * Reversed time has none.
 */
#include "graph/ops/sequence.h"

enum { X, LOG, PHASE, RESET };
enum { TILE = 128 };

typedef struct {
    const lcsm_call *c;
    sequences        s; /* s.D counts complex channels */
    ptrdiff_t        tiles;
    real            *memory, *ws;     /* of each worker: 2 and 5 tiles */
    real            *g_log, *g_phase; /* (B, D): of each sequence, where they are static */
} job;

static job job_of(const lcsm_node *n)
{
    job j = {.s = sequences_of(n->in[X])};
    j.s.D /= 2;
    j.tiles = blocks_of(j.s.D, TILE);
    return j;
}

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t rows = backward ? j->s.B : 0;
    j->memory      = take_reals(a, n->threads, 2 * TILE);
    j->ws          = take_reals(a, n->threads, 5 * TILE);
    j->g_log       = take_reals(a, rows, j->s.D);
    j->g_phase     = take_reals(a, rows, j->s.D);
}

static bool is_static(const lcsm_node *n, int input)
{
    return n->in[input]->shape.rank == 1;
}

/* log and phase: [D], or the axes of x with half of the last. */
static lcsm_status check_factor(const lcsm_node *n, int input, lcsm_error *err)
{
    const lcsm_tensor *x    = n->in[X];
    lcsm_shape         want = x->shape;
    ptrdiff_t          D    = x->cols / 2;
    want.dim[want.rank - 1] = D;
    if (is_static(n, input) && n->in[input]->cols == D) return LCSM_OK;
    if (lcsm_shape_equal(&n->in[input]->shape, &want)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must be [%td] or (..., T, %td)",
                     lcsm_op_input(n->op, input), D, D);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_cscan_attr *a   = n->attr;
    const lcsm_tensor     *x   = n->in[X];
    pieces                 fwd = {0}, bwd = {0};
    LCSM_OR_RETURN(check_sequences(x, n->in[RESET], err));
    if (x->cols % 2 != 0)
        LCSM_OR_RETURN(lcsm_fail(err, LCSM_ERR_ARGUMENT,
                                 "x has %td columns; expected real and imaginary halves", x->cols));
    LCSM_OR_RETURN(check_factor(n, LOG, err));
    LCSM_OR_RETURN(check_factor(n, PHASE, err));
    job j       = job_of(n);
    n->shape[0] = x->shape;
    if (!a->reverse) {
        n->n_state        = 1;
        n->state[0].dtype = LCSM_REAL_DTYPE;
        n->state[0].shape = lcsm_dims(j.s.B, x->cols);
    }
    layout(&fwd, n, false, &j);
    layout(&bwd, n, true, &j);
    LCSM_OR_RETURN(measured(&fwd, &n->fwd_scratch, err));
    return measured(&bwd, &n->bwd_scratch, err);
}

static job start(const lcsm_call *c, bool backward)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, backward, &j);
    return j;
}

/* Columns d .. d + n - 1 of sequence b. */
typedef struct {
    ptrdiff_t b, d, n;
} place;

static place place_of(const job *j, size_t item)
{
    place w = {.b = (ptrdiff_t)item / j->tiles, .d = (ptrdiff_t)item % j->tiles * TILE};
    w.n     = at_most(j->s.D - w.d, TILE);
    return w;
}

static R_(lcsm_cscan_array) array_of(const job *j, const lcsm_mat *m, place w)
{
    const lcsm_cscan_attr *a = j->c->node->attr;
    real                  *p = start_of(&j->s, m, w.b, a->reverse);
    return (R_(lcsm_cscan_array)){p == NULL ? NULL : p + w.d, step_of(m, a->reverse), j->s.D};
}

/* log or phase, or their gradients; the gradient of a static one is the sequence's own. */
static R_(lcsm_cscan_array) factor_of(const job *j, int input, const lcsm_mat *m, real *fixed,
                                      place w)
{
    if (!is_static(j->c->node, input)) return array_of(j, m, w);
    return (R_(lcsm_cscan_array)){.p = m->data == NULL ? NULL : fixed + w.d};
}

static R_(lcsm_cscan) problem(const job *j, place w)
{
    const lcsm_call       *c = j->c;
    const lcsm_cscan_attr *a = c->node->attr;
    R_(lcsm_cscan)         x = {.T = j->s.T, .D = w.n};
    x.x                      = array_of(j, &c->in[X], w);
    x.log                    = factor_of(j, LOG, &c->in[LOG], c->in[LOG].data, w);
    x.phase                  = factor_of(j, PHASE, &c->in[PHASE], c->in[PHASE].data, w);
    x.resets                 = resets_of(&j->s, &c->in[RESET], w.b, a->reverse);
    return x;
}

/* The memory before the sequence, in a worker's own place. */
static real *memory_in(const job *j, place w, int worker)
{
    real       *m    = j->memory + (size_t)worker * 2 * TILE;
    const real *from = j->c->state_in[0];
    memset(m, 0, 2 * (size_t)w.n * sizeof(real));
    for (ptrdiff_t half = 0; half < 2 && from != NULL; half++)
        memcpy(m + half * w.n, from + (2 * w.b + half) * j->s.D + w.d, (size_t)w.n * sizeof(real));
    return m;
}

static void memory_out(const job *j, place w, const real *m)
{
    real *to = j->c->state_out[0];
    for (ptrdiff_t half = 0; half < 2 && to != NULL; half++)
        memcpy(to + (2 * w.b + half) * j->s.D + w.d, m + half * w.n, (size_t)w.n * sizeof(real));
}

static void forward_tile(void *arg, size_t item, int worker)
{
    const job     *j = arg;
    place          w = place_of(j, item);
    R_(lcsm_cscan) x = problem(j, w);
    real          *m = memory_in(j, w, worker);
    kernels_of(j->c)->cscan->fwd(&x, m, array_of(j, &j->c->out[0], w),
                                 j->ws + (size_t)worker * 5 * TILE);
    memory_out(j, w, m);
}

static void forward(const lcsm_call *c)
{
    job j = start(c, false);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), forward_tile, &j);
}

static void backward_tile(void *arg, size_t item, int worker)
{
    const job           *j     = arg;
    const lcsm_call     *c     = j->c;
    place                w     = place_of(j, item);
    R_(lcsm_cscan)       x     = problem(j, w);
    real                *g_log = j->g_log + w.b * j->s.D, *g_phase = j->g_phase + w.b * j->s.D;
    R_(lcsm_cscan_grads) g = {.h       = array_of(j, &c->out[0], w),
                              .g_h     = array_of(j, &c->g_out[0], w),
                              .g_x     = array_of(j, &c->g_in[X], w),
                              .g_log   = factor_of(j, LOG, &c->g_in[LOG], g_log, w),
                              .g_phase = factor_of(j, PHASE, &c->g_in[PHASE], g_phase, w),
                              .add     = c->g_in[X].add};
    for (ptrdiff_t d = w.d; d < w.d + w.n; d++) g_log[d] = g_phase[d] = 0;
    kernels_of(c)->cscan->bwd(&x, memory_in(j, w, worker), &g, j->ws + (size_t)worker * 5 * TILE);
}

static void backward(const lcsm_call *c)
{
    job j = start(c, true);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), backward_tile, &j);
    if (is_static(c->node, LOG)) sum_partials(c, j.g_log, j.s.B, &c->g_in[LOG]);
    if (is_static(c->node, PHASE)) sum_partials(c, j.g_phase, j.s.B, &c->g_in[PHASE]);
}

static double flops(const lcsm_node *n)
{
    double each = is_static(n, LOG) && is_static(n, PHASE) ? 8 : 30;
    return each * (double)lcsm_tensor_count(n->in[X]) / 2;
}

const lcsm_op R_(lcsm_op_cscan) = {
    .name       = "cscan",
    .in         = {"x", "log", "phase", "?#reset"},
    .attr_size  = sizeof(lcsm_cscan_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(LOG) | LCSM_BIT(PHASE) | LCSM_BIT(RESET),
    .bwd_out    = LCSM_BIT(0),
    .overwrites = LCSM_BIT(X),
};
