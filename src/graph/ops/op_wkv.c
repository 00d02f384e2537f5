/*
 * op_wkv.c - RWKV-4's average of values with decay, bonus and denominator (kernel/wkv/wkv.h).
 *
 * Work items are tiles of channels of a sequence. The decay is given as log(-w). Carried state: p,
 * q and o of every channel. Reversed time has none.
 */
#include "graph/ops/sequence.h"

enum { KEY, VALUE, DECAY, FIRST, RESET };
enum { TILE = 128 };

typedef struct {
    const lcsm_call *c;
    sequences        s;
    ptrdiff_t        tiles; /* of a sequence */
    real            *w;     /* the log decays */
    real            *memory, *ws;
    real            *g_w, *g_u; /* (B, D): of each sequence */
    size_t           ws_size;
} job;

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t rows = backward ? j->s.B : 0;
    j->ws_size     = backward ? LCSM_WKV_SCRATCH(j->s.T, TILE) : 0;
    j->w           = take_reals(a, 1, j->s.D);
    j->memory      = take_reals(a, n->threads, 3 * TILE);
    j->ws          = take_reals(a, n->threads, (ptrdiff_t)j->ws_size);
    j->g_w         = take_reals(a, rows, j->s.D);
    j->g_u         = take_reals(a, rows, j->s.D);
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

static void state_shapes(lcsm_node *n)
{
    const lcsm_wkv_attr *a = n->attr;
    sequences            s = sequences_of(n->in[KEY]);
    if (a->reverse) return;
    n->n_state = 3;
    for (int j = 0; j < 3; j++) {
        n->state[j].dtype = LCSM_REAL_DTYPE;
        n->state[j].shape = lcsm_dims(s.B, s.D);
    }
    n->state[2].start = (double)LCSM_WKV_EMPTY;
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *k  = n->in[KEY];
    lcsm_status        st = check_sequences(k, n->in[RESET], err);
    if (st != LCSM_OK) return st;
    if (!lcsm_shape_equal(&k->shape, &n->in[VALUE]->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "k and v must have the same shape");
    if (!is_row_vector(n->in[DECAY], k) || !is_row_vector(n->in[FIRST], k))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "decay and first must be [%td]", k->cols);
    n->shape[0] = k->shape;
    state_shapes(n);
    st = measure(n, false, &n->fwd_scratch, err);
    return st == LCSM_OK ? measure(n, true, &n->bwd_scratch, err) : st;
}

static void decays(job *j)
{
    const real *td = j->c->in[DECAY].data;
    for (ptrdiff_t d = 0; d < j->s.D; d++) j->w[d] = -R_FN(exp)(td[d]);
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
    const lcsm_wkv_attr *a = j->c->node->attr;
    real                *p = start_of(&j->s, m, w.b, a->reverse);
    return p == NULL ? NULL : p + w.d;
}

static ptrdiff_t step(const job *j, const lcsm_mat *m)
{
    const lcsm_wkv_attr *a = j->c->node->attr;
    return step_of(m, a->reverse);
}

static R_(lcsm_wkv) problem(const job *j, place w)
{
    const lcsm_call     *c = j->c;
    const lcsm_wkv_attr *a = c->node->attr;
    R_(lcsm_wkv)         x = {.T = j->s.T, .D = w.n, .w = j->w + w.d};
    x.k                    = columns(j, &c->in[KEY], w);
    x.v                    = columns(j, &c->in[VALUE], w);
    x.u                    = (const real *)c->in[FIRST].data + w.d;
    x.k_t                  = step(j, &c->in[KEY]);
    x.v_t                  = step(j, &c->in[VALUE]);
    x.resets               = resets_of(&j->s, &c->in[RESET], w.b, a->reverse);
    return x;
}

/* The memory before the sequence, in a worker's own place. */
static R_(lcsm_wkv_memory) memory_in(const job *j, place w, int worker)
{
    real       *m    = j->memory + (size_t)worker * 3 * TILE;
    const real *p[3] = {j->c->state_in[0], j->c->state_in[1], j->c->state_in[2]};
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t d = 0; d < w.n; d++)
            m[k * TILE + d] = p[k] != NULL ? p[k][w.b * j->s.D + w.d + d]
                            : k == 2       ? LCSM_WKV_EMPTY
                                           : 0;
    return (R_(lcsm_wkv_memory)){m, m + TILE, m + 2 * TILE};
}

static void memory_out(const job *j, place w, R_(lcsm_wkv_memory) m)
{
    const real *from[3] = {m.p, m.q, m.o};
    for (int k = 0; k < j->c->node->n_state; k++)
        if (j->c->state_out[k] != NULL)
            memcpy((real *)j->c->state_out[k] + w.b * j->s.D + w.d, from[k],
                   (size_t)w.n * sizeof(real));
}

static void forward_tile(void *arg, size_t item, int worker)
{
    const job          *j = arg;
    const lcsm_mat     *y = &j->c->out[0];
    place               w = place_of(j, item);
    R_(lcsm_wkv)        x = problem(j, w);
    R_(lcsm_wkv_memory) m = memory_in(j, w, worker);
    kernels_of(j->c)->wkv->fwd(&x, m, columns(j, y, w), step(j, y));
    memory_out(j, w, m);
}

static void forward(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, false, &j);
    decays(&j);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), forward_tile, &j);
}

static void backward_tile(void *arg, size_t item, int worker)
{
    const job         *j = arg;
    const lcsm_call   *c = j->c;
    place              w = place_of(j, item);
    R_(lcsm_wkv)       x = problem(j, w);
    R_(lcsm_wkv_grads) g = {.y     = columns(j, &c->out[0], w),
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
    kernels_of(c)->wkv->bwd(&x, memory_in(j, w, worker), &g, j->ws + (size_t)worker * j->ws_size);
    for (ptrdiff_t d = 0; d < w.n; d++) g.g_w[d] *= x.w[d];
}

static void backward(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, true, &j);
    decays(&j);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), backward_tile, &j);
    sum_partials(c, j.g_w, j.s.B, &c->g_in[DECAY]);
    sum_partials(c, j.g_u, j.s.B, &c->g_in[FIRST]);
}

/* Two exponentials of about ten operations, and as many again. */
static double flops(const lcsm_node *n)
{
    return 40.0 * (double)lcsm_tensor_count(n->in[KEY]);
}

const lcsm_op R_(lcsm_op_wkv) = {
    .name      = "wkv",
    .in        = {"k", "v", "decay", "first", "?#reset"},
    .attr_size = sizeof(lcsm_wkv_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in = LCSM_BIT(KEY) | LCSM_BIT(VALUE) | LCSM_BIT(DECAY) | LCSM_BIT(FIRST) | LCSM_BIT(RESET),
    .bwd_out    = LCSM_BIT(0),
    .overwrites = LCSM_BIT(KEY) | LCSM_BIT(VALUE) | LCSM_BIT(DECAY) | LCSM_BIT(FIRST),
};
