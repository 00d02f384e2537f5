/*
 * eos_mean_node.c - an eos node whose writes are scaled by exp(z), read before the step and divided
 * by their sum: every head a channel, K = D = 1, e = s = 1, the gate static (kernel/eos/mean).
 *
 *     y_t = (p + bonus exp(z_t) i_t) / (q + bonus exp(z_t))
 *     p   = exp(row) p + exp(z_t) i_t       q = exp(row) q + exp(z_t)
 *
 * The prologue and the epilogue of the operator in one pass with it. Work items are tiles of
 * channels of a sequence. Carried state: p, q and the running maximum of every channel; of its
 * gradient too, which is that of the values without it. Reversed time has none. A memory that
 * is trained begins with p and q of start, of which a q below 0 counts as 0, and a maximum of 0.
 */
#include "graph/ops/eos_mean_node.h"

#include <math.h>

#include "graph/eos_node.h"
#include "graph/ops/sequence.h"

enum {
    KEY   = LCSM_EOS_Z,
    VALUE = EOS_i,
    DECAY = EOS_row,
    FIRST = EOS_bonus,
    RESET = LCSM_EOS_RESET,
    START = LCSM_EOS_START
};
enum { TILE = 128 };

typedef struct {
    const lcsm_call *c;
    sequences        s;
    ptrdiff_t        tiles; /* of a sequence */
    real            *u;     /* logarithms of the bonus */
    real            *memory, *after, *ws;
    real            *g_w, *g_u; /* (B, D): of each sequence */
    real            *g_start;   /* (B, 2 D) */
    size_t           ws_size;
} job;

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t rows = backward ? j->s.B : 0;
    j->ws_size     = backward ? LCSM_MEAN_SCRATCH(j->s.T, TILE) : 0;
    j->u           = take_reals(a, 1, j->s.D);
    j->memory      = take_reals(a, n->threads, 3 * TILE);
    j->after       = take_reals(a, backward ? n->threads : 0, 3 * TILE);
    j->ws          = take_reals(a, n->threads, (ptrdiff_t)j->ws_size);
    j->g_w         = take_reals(a, rows, j->s.D);
    j->g_u         = take_reals(a, rows, j->s.D);
    j->g_start     = take_reals(a, n->in[START] != NULL ? rows : 0, 2 * j->s.D);
}

static job job_of(const lcsm_node *n)
{
    job j   = {.s = sequences_of(n->in[KEY])};
    j.tiles = blocks_of(j.s.D, TILE);
    return j;
}

static lcsm_status measure(const lcsm_node *n, bool backward, size_t *bytes, lcsm_error *err)
{
    pieces a = {0};
    job    j = job_of(n);
    layout(&a, n, backward, &j);
    return measured(&a, bytes, err);
}

static bool is_reversed(const lcsm_node *n)
{
    return ((const lcsm_eos_attr *)n->attr)->desc.reverse;
}

static void state_shapes(lcsm_node *n)
{
    sequences s = sequences_of(n->in[KEY]);
    n->steps    = is_reversed(n) ? LCSM_STEPS_WHOLE : LCSM_STEPS_CARRIED;
    if (is_reversed(n)) return;
    n->n_state = 3;
    for (int j = 0; j < 3; j++) {
        n->state[j].dtype = LCSM_REAL_DTYPE;
        n->state[j].shape = lcsm_dims(s.B, s.D);
    }
    n->state[2].start = (double)LCSM_MEAN_EMPTY;
    for (int j = 0; j < 2 && n->in[START] != NULL; j++) {
        n->state[j].begin = n->in[START];
        n->state[j].at    = j * s.D;
        n->state[2].start = 0;
    }
}

static lcsm_status check_start(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *start = n->in[START];
    if (start == NULL) return LCSM_OK;
    if (start->rows != 2 || start->cols != n->in[KEY]->cols || start->ld != start->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "start must be [2, %td], packed",
                         n->in[KEY]->cols);
    return n->in[RESET] == NULL ? LCSM_OK
                                : lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "start excludes reset");
}

/* A static operand of ones. */
static bool is_one(const lcsm_tensor *t)
{
    const lcsm_tensor *root = t;
    while (root->parent != NULL) root = root->parent;
    return root->node != NULL && root->node->op == lcsm_op_row(LCSM_OP_constant, LCSM_REAL_DTYPE)
        && ((const lcsm_constant_attr *)root->node->attr)->value == 1;
}

lcsm_status R_(lcsm_eos_mean_shape)(lcsm_node *n, lcsm_error *err)
{
    const lcsm_eos_desc *d = &((const lcsm_eos_attr *)n->attr)->desc;
    const lcsm_tensor   *k = n->in[KEY], *row = n->in[DECAY], *bonus = n->in[FIRST];
    lcsm_status          st = check_sequences(k, n->in[RESET], err);
    if (st != LCSM_OK) return st;
    if (d->K != 1 || d->D != 1 || !d->read_before || d->row.axes != 0 || row == NULL
        || bonus == NULL || !is_one(n->in[EOS_e]) || !is_one(n->in[EOS_s])
        || n->in[LCSM_EOS_M0] != NULL || n->in[LCSM_EOS_READ] != NULL)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "z with a read before the step needs K = D = 1, e = s = 1, a static row "
                         "and a bonus");
    if (!lcsm_shape_equal(&k->shape, &n->in[VALUE]->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "z must be as i");
    if (!is_row_vector(row, k) || !is_row_vector(bonus, k))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "row and bonus must be [%td]", k->cols);
    LCSM_OR_RETURN(check_start(n, err));
    n->n_out    = 1;
    n->shape[0] = k->shape;
    n->bwd_out  = LCSM_BIT(0);
    state_shapes(n);
    st = measure(n, false, &n->fwd_scratch, err);
    return st == LCSM_OK ? measure(n, true, &n->bwd_scratch, err) : st;
}

static void bonuses(job *j)
{
    const real *bonus = j->c->in[FIRST].data;
    for (ptrdiff_t d = 0; d < j->s.D; d++) j->u[d] = R_FN(log)(bonus[d]);
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

static real *columns(const job *j, const lcsm_mat *m, place w)
{
    real *p = start_of(&j->s, m, w.b, is_reversed(j->c->node));
    return p == NULL ? NULL : p + w.d;
}

static ptrdiff_t step(const job *j, const lcsm_mat *m)
{
    return step_of(m, is_reversed(j->c->node));
}

static R_(lcsm_eos_mean) problem(const job *j, place w)
{
    const lcsm_call  *c = j->c;
    R_(lcsm_eos_mean) x = {.T = j->s.T, .D = w.n, .u = j->u + w.d};
    x.k                 = columns(j, &c->in[KEY], w);
    x.v                 = columns(j, &c->in[VALUE], w);
    x.w                 = (const real *)c->in[DECAY].data + w.d;
    x.k_t               = step(j, &c->in[KEY]);
    x.v_t               = step(j, &c->in[VALUE]);
    x.resets            = resets_of(&j->s, &c->in[RESET], w.b, is_reversed(c->node));
    return x;
}

/* The memory before the sequence, in a worker's own place. */
static R_(lcsm_eos_mean_memory) memory_in(const job *j, place w, int worker)
{
    real       *m     = j->memory + (size_t)worker * 3 * TILE;
    const real *p[3]  = {j->c->state_in[0], j->c->state_in[1], j->c->state_in[2]};
    const real *start = j->c->in[START].data;
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t d = 0; d < w.n; d++)
            m[k * TILE + d] = p[k] != NULL  ? p[k][w.b * j->s.D + w.d + d]
                            : k == 2        ? (start != NULL ? 0 : LCSM_MEAN_EMPTY)
                            : start != NULL ? start[k * j->s.D + w.d + d]
                                            : 0;
    for (ptrdiff_t d = 0; d < w.n; d++) m[TILE + d] = m[TILE + d] > 0 ? m[TILE + d] : 0;
    return (R_(lcsm_eos_mean_memory)){m, m + TILE, m + 2 * TILE};
}

static void memory_out(const job *j, place w, R_(lcsm_eos_mean_memory) m)
{
    const real *from[3] = {m.p, m.q, m.o};
    for (int k = 0; k < j->c->node->n_state; k++)
        if (j->c->state_out[k] != NULL)
            memcpy((real *)j->c->state_out[k] + w.b * j->s.D + w.d, from[k],
                   (size_t)w.n * sizeof(real));
}

/* The gradient of what is carried; where it is zero it is empty. */
static R_(lcsm_eos_mean_memory) after_in(const job *j, place w, int worker)
{
    real       *r    = j->after + (size_t)worker * 3 * TILE;
    const real *p[3] = {j->c->g_state_out[0], j->c->g_state_out[1], j->c->g_state_out[2]};
    ptrdiff_t   at   = w.b * j->s.D + w.d;
    for (ptrdiff_t d = 0; d < w.n; d++) {
        bool none       = p[0] == NULL || (p[0][at + d] == 0 && p[1][at + d] == 0);
        r[d]            = none ? 0 : p[0][at + d];
        r[TILE + d]     = none ? 0 : p[1][at + d];
        r[2 * TILE + d] = none ? LCSM_MEAN_EMPTY : p[2][at + d];
    }
    return (R_(lcsm_eos_mean_memory)){r, r + TILE, r + 2 * TILE};
}

static void after_out(const job *j, place w, R_(lcsm_eos_mean_memory) r)
{
    const real *from[3] = {r.p, r.q, r.o};
    for (int k = 0; k < j->c->node->n_state; k++)
        if (j->c->g_state_in[k] != NULL)
            memcpy((real *)j->c->g_state_in[k] + w.b * j->s.D + w.d, from[k],
                   (size_t)w.n * sizeof(real));
}

/* That of the start: of true values; a q below 0 may only grow. */
static void start_out(const job *j, place w, R_(lcsm_eos_mean_memory) r)
{
    const real *from[2] = {r.p, r.q}, *q = j->c->in[START].data;
    if (q == NULL || j->c->state_in[0] != NULL) return;
    q += j->s.D + w.d;
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t d = 0; d < w.n; d++) {
            real g = from[k][d] == 0 ? 0 : from[k][d] * R_FN(exp)(r.o[d]);
            if (k == 1 && q[d] <= 0 && g > 0) g = 0;
            j->g_start[(w.b * 2 + k) * j->s.D + w.d + d] = g;
        }
}

static void forward_tile(void *arg, size_t item, int worker)
{
    const job               *j = arg;
    const lcsm_mat          *y = &j->c->out[0];
    place                    w = place_of(j, item);
    R_(lcsm_eos_mean)        x = problem(j, w);
    R_(lcsm_eos_mean_memory) m = memory_in(j, w, worker);
    kernels_of(j->c)->eos_mean->fwd(&x, m, columns(j, y, w), step(j, y));
    memory_out(j, w, m);
}

void R_(lcsm_eos_mean_forward)(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, false, &j);
    bonuses(&j);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), forward_tile, &j);
}

static void backward_tile(void *arg, size_t item, int worker)
{
    const job              *j = arg;
    const lcsm_call        *c = j->c;
    place                   w = place_of(j, item);
    R_(lcsm_eos_mean)       x = problem(j, w);
    R_(lcsm_eos_mean_grads) g = {.y     = columns(j, &c->out[0], w),
                                 .g_y   = columns(j, &c->g_out[0], w),
                                 .y_t   = step(j, &c->out[0]),
                                 .g_y_t = step(j, &c->g_out[0]),
                                 .g_k   = columns(j, &c->g_in[KEY], w),
                                 .g_v   = columns(j, &c->g_in[VALUE], w),
                                 .g_w   = j->g_w + w.b * j->s.D + w.d,
                                 .g_u   = j->g_u + w.b * j->s.D + w.d,
                                 .g_k_t = step(j, &c->g_in[KEY]),
                                 .g_v_t = step(j, &c->g_in[VALUE]),
                                 .add_k = c->g_in[KEY].add,
                                 .add_v = c->g_in[VALUE].add};
    for (ptrdiff_t d = 0; d < w.n; d++) g.g_w[d] = g.g_u[d] = 0;
    R_(lcsm_eos_mean_memory) r = after_in(j, w, worker);
    kernels_of(c)->eos_mean->bwd(&x, memory_in(j, w, worker), r, &g,
                                 j->ws + (size_t)worker * j->ws_size);
    after_out(j, w, r);
    start_out(j, w, r);
    const real *bonus = (const real *)c->in[FIRST].data + w.d;
    for (ptrdiff_t d = 0; d < w.n; d++) g.g_u[d] /= bonus[d];
}

void R_(lcsm_eos_mean_backward)(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, true, &j);
    bonuses(&j);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), backward_tile, &j);
    sum_partials(c, j.g_w, j.s.B, &c->g_in[DECAY]);
    sum_partials(c, j.g_u, j.s.B, &c->g_in[FIRST]);
    lcsm_mat both = c->g_in[START]; /* p and q as one row */
    both.rows = 1, both.cols = both.ld = 2 * j.s.D;
    if (c->state_in[0] == NULL) sum_partials(c, j.g_start, j.s.B, &both);
}
