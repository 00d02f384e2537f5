/*
 * op_conv.c - short causal convolution, depthwise: y_t = b + sum_j w[:, j] x_{t-W+1+j}, then
 * silu or not.
 *
 * Carried state: the last W - 1 inputs of each sequence, oldest first, whose gradients come from
 * the first steps of the next run. Reversed time has none.
 */
#include "graph/ops/sequence.h"

enum { X, W, B, RESET };

/* W - 1 inputs, or none. */
static ptrdiff_t back(const lcsm_node *n)
{
    return n->in[W]->cols - 1;
}

/* Scratch of each worker; parts of g_w and g_b for each range, and of g_w their sum. */
typedef struct {
    const lcsm_call *c;
    sequences        s;
    real            *ws, *g_w, *g_b;
    size_t           ws_size;
    unsigned char   *turned; /* forward: of each worker, whether its filters are */
} job;

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t items = backward ? j->s.B * j->s.ranges : 0;
    j->ws_size      = (size_t)LCSM_CONV_SCRATCH(n->in[W]->cols, j->s.D);
    j->ws           = take_reals(a, n->threads, (ptrdiff_t)j->ws_size);
    j->g_w          = take_reals(a, items + 1, lcsm_tensor_count(n->in[W]));
    j->g_b          = take_reals(a, items, j->s.D);
    j->turned       = lcsm_take(a, backward ? 0 : n->threads, 1, 1);
}

static lcsm_status measure(lcsm_node *n, bool backward, size_t *bytes, lcsm_error *err)
{
    pieces a = {0};
    job    j = {.s = sequences_of(n->in[X])};
    layout(&a, n, backward, &j);
    return measured(&a, bytes, err);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_conv_attr *a = n->attr;
    const lcsm_tensor    *x = n->in[X], *w = n->in[W], *b = n->in[B];
    lcsm_status           st = check_sequences(x, n->in[RESET], err);
    if (st != LCSM_OK) return st;
    if (w->shape.rank != 2 || w->rows != x->cols || w->cols < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must be [%td, W], W at least 1", x->cols);
    if (b != NULL && (b->shape.rank != 1 || b->cols != x->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "b must be [%td]", x->cols);
    n->shape[0] = x->shape;
    if (back(n) > 0) n->steps = a->reverse ? LCSM_STEPS_WHOLE : LCSM_STEPS_CARRIED;
    if (!a->reverse && back(n) > 0) {
        n->n_state        = 1;
        n->state[0].dtype = LCSM_REAL_DTYPE;
        n->state[0].shape = lcsm_dims(sequences_of(x).B, back(n), x->cols);
    }
    st = measure(n, false, &n->fwd_scratch, err);
    return st == LCSM_OK ? measure(n, true, &n->bwd_scratch, err) : st;
}

static R_(lcsm_conv) problem(const job *j, ptrdiff_t b)
{
    const lcsm_call      *c = j->c;
    const lcsm_conv_attr *a = c->node->attr;
    R_(lcsm_conv)         p = {.T = j->s.T, .D = j->s.D, .W = back(c->node) + 1, .silu = a->silu};
    p.x                     = start_of(&j->s, &c->in[X], b, a->reverse);
    p.x_t                   = step_of(&c->in[X], a->reverse);
    p.w                     = c->in[W].data;
    p.w_d                   = c->in[W].ld;
    p.b                     = c->in[B].data;
    p.resets                = resets_of(&j->s, &c->in[RESET], b, a->reverse);
    if (c->state_in[0] != NULL) p.past = (const real *)c->state_in[0] + b * back(c->node) * j->s.D;
    return p;
}

static void forward_range(void *arg, size_t item, int worker)
{
    const job            *j = arg;
    const lcsm_conv_attr *a = j->c->node->attr;
    const lcsm_mat       *y = &j->c->out[0];
    range                 r = range_of(&j->s, item);
    R_(lcsm_conv)         p = problem(j, r.b);
    p.turned                = j->turned[worker] != 0;
    j->turned[worker]       = 1;
    kernels_of(j->c)->conv->fwd(&p, r.t0, r.t1, start_of(&j->s, y, r.b, a->reverse),
                                step_of(y, a->reverse), j->ws + (size_t)worker * j->ws_size);
}

/* The inputs of the last W - 1 steps, or zeros from before the last reset. `to` may be where the
 * old ones are: each is read before its place is taken. */
static void carry(const job *j, ptrdiff_t b)
{
    const lcsm_call *c = j->c;
    ptrdiff_t        n = back(c->node), D = j->s.D;
    ptrdiff_t        fresh = last_reset(&j->s, &c->in[RESET], b);
    real            *to    = (real *)c->state_out[0] + b * n * D;
    R_(lcsm_conv)    p     = problem(j, b);
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t   t    = j->s.T - n + k;
        const real *from = t < fresh ? NULL : R_(lcsm_conv_input)(&p, t);
        if (from == NULL) memset(to + k * D, 0, (size_t)D * sizeof(real));
        else memmove(to + k * D, from, (size_t)D * sizeof(real));
    }
}

static void forward(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = {.c = c, .s = sequences_of(c->node->in[X])};
    layout(&a, c->node, false, &j);
    memset(j.turned, 0, (size_t)c->node->threads);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.s.ranges), forward_range, &j);
    for (ptrdiff_t b = 0; b < j.s.B && c->state_out[0] != NULL; b++) carry(&j, b);
}

static void backward_range(void *arg, size_t item, int worker)
{
    const job            *j   = arg;
    const lcsm_conv_attr *a   = j->c->node->attr;
    const lcsm_mat       *g_y = &j->c->g_out[0], *g_x = &j->c->g_in[X];
    range                 r   = range_of(&j->s, item);
    R_(lcsm_conv)         p   = problem(j, r.b);
    real                 *g_w = j->g_w == NULL ? NULL : j->g_w + (ptrdiff_t)item * p.D * p.W;
    real                 *g_b = j->g_b == NULL ? NULL : j->g_b + (ptrdiff_t)item * p.D;
    if (g_w != NULL) memset(g_w, 0, (size_t)(p.D * p.W) * sizeof(real));
    if (g_b != NULL) memset(g_b, 0, (size_t)p.D * sizeof(real));
    kernels_of(j->c)->conv->bwd(&p, r.t0, r.t1, start_of(&j->s, g_y, r.b, a->reverse),
                                step_of(g_y, a->reverse), start_of(&j->s, g_x, r.b, a->reverse),
                                step_of(g_x, a->reverse), g_x->add, g_w, g_b,
                                j->ws + (size_t)worker * j->ws_size);
}

static void sum_filters(const job *j, ptrdiff_t items)
{
    const lcsm_mat *g_w   = &j->c->g_in[W];
    ptrdiff_t       count = g_w->rows * g_w->cols;
    lcsm_mat        sum   = {.data = j->g_w + items * count, .rows = 1, .cols = count, .ld = count};
    sum_partials(j->c, j->g_w, items, &sum);
    for (ptrdiff_t d = 0; d < g_w->rows; d++)
        kernels_of(j->c)->ew->scale(g_w->cols, 1, (const real *)sum.data + d * g_w->cols, g_w->add,
                                    row_of(g_w, d));
}

/* dL/dz of a step, from that of y. */
static real before_silu(const R_(lcsm_conv) *p, ptrdiff_t t, ptrdiff_t d, real g)
{
    real      z    = p->b == NULL ? 0 : p->b[d], e, sigma;
    ptrdiff_t seen = R_(lcsm_conv_seen)(p, t);
    if (!p->silu) return g;
    for (ptrdiff_t k = 0; k < seen; k++) {
        const real *x = R_(lcsm_conv_input)(p, t - k);
        z += x == NULL ? 0 : p->w[d * p->w_d + p->W - 1 - k] * x[d];
    }
    e     = R_FN(exp)(-R_FN(fabs)(z));
    sigma = z < 0 ? e / (1 + e) : 1 / (1 + e);
    return g * sigma * (1 + z * (1 - sigma));
}

/* The gradient of the input `ago` steps before the first, by the steps that see it. */
static void add_past(const job *j, const R_(lcsm_conv) *p, ptrdiff_t b, ptrdiff_t ago, real *to)
{
    for (ptrdiff_t t = 0; t + ago < p->W && t < p->T; t++) {
        const real *g_y = row_of(&j->c->g_out[0], b * p->T + t);
        if (R_(lcsm_conv_seen)(p, t) <= t + ago) continue;
        for (ptrdiff_t d = 0; d < p->D; d++)
            to[d] += p->w[d * p->w_d + p->W - 1 - t - ago] * before_silu(p, t, d, g_y[d]);
    }
}

/* The last inputs have the gradients of what is carried, and so have those before the first if
 * there are fewer steps, beside their own. */
static void carry_back(const job *j, ptrdiff_t b)
{
    const lcsm_call *c = j->c;
    ptrdiff_t        n = back(c->node), D = j->s.D;
    ptrdiff_t        fresh = last_reset(&j->s, &c->in[RESET], b);
    const real      *left  = c->g_state_out[0];
    real            *read  = c->g_state_in[0];
    R_(lcsm_conv)    p     = problem(j, b);
    for (ptrdiff_t k = 0; k < n && left != NULL; k++) {
        ptrdiff_t   t  = j->s.T - n + k;
        real       *to = t >= 0       ? row_if(&c->g_in[X], b * j->s.T + t)
                       : read != NULL ? read + (b * n + n + t) * D
                                      : NULL;
        const real *g  = left + (b * n + k) * D;
        if (to == NULL || t < fresh) continue;
        for (ptrdiff_t d = 0; d < D; d++) to[d] += g[d];
    }
    for (ptrdiff_t k = 0; k < n && read != NULL; k++)
        add_past(j, &p, b, n - k, read + (b * n + k) * D);
}

static void backward(const lcsm_call *c)
{
    pieces    a     = {.base = c->scratch};
    job       j     = {.c = c, .s = sequences_of(c->node->in[X])};
    ptrdiff_t items = j.s.B * j.s.ranges;
    layout(&a, c->node, true, &j);
    if (c->g_in[W].data == NULL) j.g_w = NULL;
    if (c->g_in[B].data == NULL) j.g_b = NULL;
    lcsm_parallel_for(c->run->pool, (size_t)items, backward_range, &j);
    if (j.g_w != NULL) sum_filters(&j, items);
    sum_partials(c, j.g_b, items, &c->g_in[B]);
    if (c->node->n_state == 0) return;
    for (ptrdiff_t b = 0; b < j.s.B; b++) carry_back(&j, b);
}

static double flops(const lcsm_node *n)
{
    return 2.0 * (double)n->in[W]->cols * (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_conv) = {
    .name       = "conv",
    .in         = {"x", "w", "?b", "?#reset"},
    .attr_size  = sizeof(lcsm_conv_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(B) | LCSM_BIT(RESET),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(B),
    .rounds_in  = LCSM_BIT(X),
};
