/*
 * op_attention.c - softmax attention: q (..., T, H K), k (..., T, G K), v (..., T, G D) ->
 * (..., T, H D). Each of the G heads of k and v serves H / G heads of q.
 *
 * A query sees the keys of its own sequence: all of them, or with `causal` those up to its step,
 * with a window only the nearest. Carried state of a causal one with a cache: keys and values of
 * all steps so far, or of the last that a window needs, how many there are, and where the current
 * sequence begins among them.
 */
#include "graph/ops/op_pieces.h"

enum { Q, K, V, RESET };
enum { KEYS, VALUES, LENGTH, START };

typedef struct {
    const lcsm_call *c;
    ptrdiff_t        B, T, H, G, K, D;
    int32_t         *lo, *hi; /* (B, T): the keys that a query sees */
    real            *lse;     /* (B, H, T) */
    real            *ws;
    size_t           ws_size;
} job;

static job job_of(const lcsm_node *n)
{
    const lcsm_attention_attr *a = n->attr;
    const lcsm_shape          *x = &n->in[Q]->shape;
    job                        j = {.B = 1, .T = lcsm_dim_last(x, 2), .H = a->heads};
    for (int k = 0; k < x->rank - 2; k++) j.B *= x->dim[k];
    j.G       = a->kv_heads > 0 ? a->kv_heads : a->heads;
    j.K       = n->in[Q]->cols / j.H;
    j.D       = n->in[V]->cols / j.G;
    j.ws_size = R_(lcsm_attention_scratch)(j.T, a->cache + j.T, j.K, j.D);
    return j;
}

static void layout_saved(pieces *p, job *j)
{
    j->lo  = lcsm_take(p, j->B, j->T, sizeof(int32_t));
    j->hi  = lcsm_take(p, j->B, j->T, sizeof(int32_t));
    j->lse = lcsm_take(p, j->B * j->H, j->T, sizeof(real));
}

static void layout_scratch(pieces *p, const lcsm_node *n, job *j)
{
    j->ws = take_reals(p, n->threads, (ptrdiff_t)j->ws_size);
}

static bool same_steps(const lcsm_tensor *a, const lcsm_tensor *b)
{
    return a->rows == b->rows && a->shape.rank == b->shape.rank
        && lcsm_dim_last(&a->shape, 2) == lcsm_dim_last(&b->shape, 2);
}

static lcsm_status check_heads(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_attention_attr *a = n->attr;
    const lcsm_tensor         *q = n->in[Q], *k = n->in[K], *v = n->in[V];
    ptrdiff_t                  G = a->kv_heads > 0 ? a->kv_heads : a->heads;
    if (q->shape.rank < 2 || !same_steps(q, k) || !same_steps(q, v))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "q, k and v must have the same axes, except the last");
    if (a->heads < 1 || q->cols % a->heads != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%td heads do not divide the last axis", a->heads);
    if (a->kv_heads < 0 || a->heads % G != 0 || v->cols % G != 0
        || k->cols != q->cols / a->heads * G)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%td heads of k and v, %td of q; expected a divisor, and heads of k as "
                         "wide as those of q",
                         G, a->heads);
    return LCSM_OK;
}

static lcsm_status check(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_attention_attr *a = n->attr;
    const lcsm_tensor         *q = n->in[Q], *reset = n->in[RESET];
    lcsm_status                st = check_heads(n, err);
    if (st != LCSM_OK) return st;
    if (a->window < 0 || (a->window > 0 && a->cache > 0 && a->cache < a->window - 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "a window of %td steps and a cache of %td; expected a cache that holds "
                         "the window without its last step",
                         a->window, a->cache);
    if (!(a->scale >= 0 && isfinite(a->scale)))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the scale is %g; expected a number >= 0",
                         a->scale);
    if (a->cache < 0 || a->cache > INT32_MAX / 2 || q->rows > INT32_MAX / 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a cache of %td steps; expected 0 to %d", a->cache,
                         INT32_MAX / 2);
    if (a->cache > 0 && !a->causal)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "only causal attention has a cache");
    if (reset != NULL
        && (reset->cols != lcsm_dim_last(&q->shape, 2) || reset->rows * reset->cols != q->rows))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the resets must have the axes of q but the last");
    return LCSM_OK;
}

static void states(lcsm_node *n, const job *j)
{
    const lcsm_attention_attr *a = n->attr;
    n->n_state                   = 4;
    n->room                      = a->window > 0 ? 0 : a->cache;
    n->state[KEYS]               = (lcsm_state_spec){.dtype = LCSM_REAL_DTYPE,
                                                     .shape = lcsm_dims(j->B, a->cache, j->G * j->K)};
    n->state[VALUES]             = (lcsm_state_spec){.dtype = LCSM_REAL_DTYPE,
                                                     .shape = lcsm_dims(j->B, a->cache, j->G * j->D)};
    n->state[LENGTH]             = (lcsm_state_spec){.dtype = LCSM_I64, .shape = lcsm_dims(j->B)};
    n->state[START]              = (lcsm_state_spec){.dtype = LCSM_I64, .shape = lcsm_dims(j->B)};
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_attention_attr *a     = n->attr;
    pieces                     saved = {0}, fwd = {0}, bwd = {0};
    lcsm_status                st = check(n, err);
    if (st != LCSM_OK) return st;
    job j       = job_of(n);
    n->steps    = LCSM_STEPS_WHOLE;
    n->shape[0] = n->in[V]->shape;

    n->shape[0].dim[n->shape[0].rank - 1] = j.H * j.D;
    if (a->cache > 0) states(n, &j);
    layout_saved(&saved, &j);
    layout_scratch(&bwd, n, &j);
    layout_scratch(&fwd, n, &j);
    layout_saved(&fwd, &j);
    st = measured(&saved, &n->saved, err);
    if (st == LCSM_OK) st = measured(&fwd, &n->fwd_scratch, err);
    return st == LCSM_OK ? measured(&bwd, &n->bwd_scratch, err) : st;
}

/* ---- who sees what ---- */

static int64_t state_number(const lcsm_call *c, int state, ptrdiff_t b)
{
    const int64_t *p = c->state_in[state];
    return p == NULL ? 0 : p[b];
}

static const int32_t *resets(const job *j, ptrdiff_t b)
{
    const lcsm_mat *m = &j->c->in[RESET];
    return m->data == NULL ? NULL : (const int32_t *)m->data + b * m->ld;
}

/* Further bounds of step t, if there is a window. */
static void narrow(const lcsm_attention_attr *a, int32_t t, int32_t *lo, int32_t *hi)
{
    if (a->window == 0) return;
    int64_t first = (int64_t)t + 1 - a->window, end = (int64_t)t + a->window;
    if (first > *lo) *lo = (int32_t)first;
    if (end < *hi) *hi = (int32_t)end;
}

/* Keys count from the first of the cache. */
static void ranges(const job *j, ptrdiff_t b)
{
    const lcsm_attention_attr *a     = j->c->node->attr;
    const int32_t             *reset = resets(j, b);
    int32_t                    past  = (int32_t)state_number(j->c, LENGTH, b);
    int32_t                    start = (int32_t)state_number(j->c, START, b), end;
    int32_t                   *lo = j->lo + b * j->T, *hi = j->hi + b * j->T;
    for (ptrdiff_t t = 0; t < j->T; t++) {
        if (reset != NULL && reset[t] != 0) start = past + (int32_t)t;
        lo[t] = start;
    }
    end = past + (int32_t)j->T;
    for (ptrdiff_t t = j->T - 1; t >= 0; t--) {
        hi[t] = a->causal ? past + (int32_t)t + 1 : end;
        if (reset != NULL && reset[t] != 0) end = past + (int32_t)t;
        narrow(a, past + (int32_t)t, &lo[t], &hi[t]);
    }
}

static R_(lcsm_attention) problem(const job *j, ptrdiff_t b, ptrdiff_t h)
{
    const lcsm_call           *c   = j->c;
    const lcsm_attention_attr *a   = c->node->attr;
    ptrdiff_t                  row = b * j->T, g = h / (j->H / j->G);
    R_(lcsm_attention)         p = {.T = j->T, .K = j->K, .D = j->D};
    p.scale   = (real)(a->scale > 0 ? a->scale : 1 / sqrt((double)(j->K > 0 ? j->K : 1)));
    p.q       = row_of(&c->in[Q], row) + h * j->K;
    p.q_t     = c->in[Q].ld;
    p.lo      = j->lo + row;
    p.hi      = j->hi + row;
    p.now.n   = j->T;
    p.now.k   = row_of(&c->in[K], row) + g * j->K;
    p.now.v   = row_of(&c->in[V], row) + g * j->D;
    p.now.k_t = c->in[K].ld;
    p.now.v_t = c->in[V].ld;
    if (a->cache == 0 || c->state_in[KEYS] == NULL) return p;
    p.past.n   = (ptrdiff_t)state_number(c, LENGTH, b);
    p.past.k_t = j->G * j->K;
    p.past.v_t = j->G * j->D;
    p.past.k   = (const real *)c->state_in[KEYS] + b * a->cache * p.past.k_t + g * j->K;
    p.past.v   = (const real *)c->state_in[VALUES] + b * a->cache * p.past.v_t + g * j->D;
    return p;
}

/* ---- forward ---- */

static void forward_head(void *arg, size_t item, int worker)
{
    const job         *j = arg;
    const lcsm_mat    *y = &j->c->out[0];
    ptrdiff_t          b = (ptrdiff_t)item / j->H, h = (ptrdiff_t)item % j->H;
    R_(lcsm_attention) p = problem(j, b, h);
    kernels_of(j->c)->attention->fwd(&p, row_of(y, b * j->T) + h * j->D, y->ld,
                                     j->lse + (ptrdiff_t)item * j->T,
                                     j->ws + (size_t)worker * j->ws_size);
}

/* Steps, the oldest, that no longer fit into the cache. */
static ptrdiff_t dropped(const job *j, ptrdiff_t past)
{
    const lcsm_attention_attr *a    = j->c->node->attr;
    ptrdiff_t                  more = past + j->T - a->cache;
    return more > 0 ? more : 0;
}

/* Old rows move to the front or are copied there, new ones follow them. */
static void append(const job *j, int state, const lcsm_mat *rows, ptrdiff_t b)
{
    const lcsm_call           *c   = j->c;
    const lcsm_attention_attr *a   = c->node->attr;
    size_t                     row = (size_t)rows->cols * sizeof(real);
    ptrdiff_t      past = (ptrdiff_t)state_number(c, LENGTH, b), gone = dropped(j, past);
    size_t         at = (size_t)(b * a->cache);
    unsigned char *to = (unsigned char *)c->state_out[state] + at * row;
    if (c->state_in[state] != NULL && gone < past
        && (gone > 0 || c->state_in[state] != c->state_out[state]))
        memmove(to, (const unsigned char *)c->state_in[state] + (at + (size_t)gone) * row,
                (size_t)(past - gone) * row);
    for (ptrdiff_t t = gone > past ? gone - past : 0; t < j->T; t++)
        memcpy(to + (size_t)(past + t - gone) * row, row_of(rows, b * j->T + t), row);
}

static void carry(const job *j)
{
    const lcsm_call *c      = j->c;
    int64_t         *length = c->state_out[LENGTH], *start = c->state_out[START];
    for (ptrdiff_t b = 0; b < j->B; b++) {
        int64_t past = state_number(c, LENGTH, b), gone = dropped(j, (ptrdiff_t)past);
        int64_t first = j->T > 0 ? j->lo[b * j->T + j->T - 1] : state_number(c, START, b);
        append(j, KEYS, &c->in[K], b);
        append(j, VALUES, &c->in[V], b);
        start[b]  = first > gone ? first - gone : 0;
        length[b] = past + j->T - gone;
    }
}

/* What is carried may come from a file. */
static bool has_room(const job *j)
{
    const lcsm_attention_attr *a = j->c->node->attr;
    for (ptrdiff_t b = 0; b < j->B; b++) {
        int64_t past = state_number(j->c, LENGTH, b), start = state_number(j->c, START, b);
        if (start < 0 || start > past || past > a->cache) {
            lcsm_call_fail(j->c, "steps %lld to %lld are carried, but the cache holds %td",
                           (long long)start, (long long)past, a->cache);
            return false;
        }
        if (j->c->state_out[KEYS] == NULL || a->window > 0 || past <= a->cache - j->T) continue;
        ptrdiff_t last = (ptrdiff_t)past + j->T;
        lcsm_call_fail(j->c,
                       "step %td of a sequence, but the cache holds %td, the model's max_length; "
                       "use fewer tokens, or a model with a larger max_length",
                       last, a->cache);
        j->c->run->error.status = LCSM_ERR_UNSUPPORTED; /* no argument is wrong by itself */
        return false;
    }
    return true;
}

static void forward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = job_of(c->node);
    j.c      = c;
    layout_scratch(&scratch, c->node, &j);
    layout_saved(c->saved != NULL ? &saved : &scratch, &j);
    if (!has_room(&j)) return;
    for (ptrdiff_t b = 0; b < j.B; b++) ranges(&j, b);
    lcsm_parallel_for(c->run->pool, (size_t)(j.B * j.H), forward_head, &j);
    if (c->state_out[KEYS] != NULL) carry(&j);
}

/* ---- backward ---- */

static real *head_of(const lcsm_mat *m, ptrdiff_t row, ptrdiff_t column)
{
    return m->data == NULL ? NULL : row_of(m, row) + column;
}

static void backward_head(const job *j, ptrdiff_t b, ptrdiff_t h, int worker)
{
    const lcsm_mat    *y = &j->c->out[0], *g_y = &j->c->g_out[0], *g = j->c->g_in;
    ptrdiff_t          row = b * j->T, kv = h / (j->H / j->G);
    R_(lcsm_attention) p = problem(j, b, h);
    R_(lcsm_attention_grads)
    grads = {head_of(&g[Q], row, h * j->K),
             head_of(&g[K], row, kv * j->K),
             head_of(&g[V], row, kv * j->D),
             g[Q].ld,
             g[K].ld,
             g[V].ld};
    kernels_of(j->c)->attention->bwd(&p, row_of(y, row) + h * j->D, y->ld,
                                     j->lse + (b * j->H + h) * j->T, row_of(g_y, row) + h * j->D,
                                     g_y->ld, &grads, j->ws + (size_t)worker * j->ws_size);
}

/* The heads that share a head of k and v add to its gradient one after the other. */
static void backward_group(void *arg, size_t item, int worker)
{
    const job *j = arg;
    ptrdiff_t  b = (ptrdiff_t)item / j->G, g = (ptrdiff_t)item % j->G, heads = j->H / j->G;
    for (ptrdiff_t h = g * heads; h < (g + 1) * heads; h++) backward_head(j, b, h, worker);
}

static void backward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = job_of(c->node);
    j.c      = c;
    layout_scratch(&scratch, c->node, &j);
    layout_saved(&saved, &j);
    lcsm_parallel_for(c->run->pool, (size_t)(j.B * j.G), backward_group, &j);
}

static double flops(const lcsm_node *n)
{
    const lcsm_attention_attr *a = n->attr;
    double                     T = (double)lcsm_dim_last(&n->in[Q]->shape, 2), keys = T;
    if (a->causal) keys = 0.5 * T;
    if (a->window > 0) keys = fmin(keys, (double)a->window);
    return 2 * keys * (double)n->in[Q]->rows
         * (double)(n->in[Q]->cols + lcsm_dim_last(&n->shape[0], 1));
}

const lcsm_op R_(lcsm_op_attention) = {
    .name       = "attention",
    .in         = {"q", "k", "v", "?#reset"},
    .attr_size  = sizeof(lcsm_attention_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(Q) | LCSM_BIT(K) | LCSM_BIT(V),
    .bwd_out    = LCSM_BIT(0),
    .rounds_in  = LCSM_BIT(Q) | LCSM_BIT(K) | LCSM_BIT(V),
    .rounds_out = LCSM_BIT(0),
};
