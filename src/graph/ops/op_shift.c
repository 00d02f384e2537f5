/*
 * op_shift.c - token shift: y_t = x_{t-1} + mu (x_t - x_{t-1}).
 *
 * Carried state: the last token of each sequence, whose gradient comes from the first step of the
 * next run. Reversed time has none.
 */
#include "graph/ops/sequence.h"

enum { X, MU, RESET };

static void layout(pieces *a, const sequences *s, real **g_mu)
{
    *g_mu = take_reals(a, s->B * s->ranges, s->D);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_shift_attr *a = n->attr;
    const lcsm_tensor     *x = n->in[X], *mu = n->in[MU];
    pieces                 m  = {0};
    sequences              s  = sequences_of(x);
    lcsm_status            st = check_sequences(x, n->in[RESET], err);
    real                  *g_mu;
    if (st != LCSM_OK) return st;
    if (mu->shape.rank != 1 || mu->cols != x->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "mu must be [%td]", x->cols);
    n->shape[0] = x->shape;
    n->steps    = a->reverse ? LCSM_STEPS_WHOLE : LCSM_STEPS_CARRIED;
    if (!a->reverse) {
        n->n_state        = 1;
        n->state[0].dtype = LCSM_REAL_DTYPE;
        n->state[0].shape = lcsm_dims(s.B, s.D);
    }
    layout(&m, &s, &g_mu);
    return measured(&m, &n->bwd_scratch, err);
}

typedef struct {
    const lcsm_call *c;
    sequences        s;
    real            *g_mu;
} job;

static R_(lcsm_shift) problem(const job *j, ptrdiff_t b)
{
    const lcsm_call       *c = j->c;
    const lcsm_shift_attr *a = c->node->attr;
    R_(lcsm_shift)         p = {.T = j->s.T, .D = j->s.D, .mu = c->in[MU].data};
    p.x                      = start_of(&j->s, &c->in[X], b, a->reverse);
    p.x_t                    = step_of(&c->in[X], a->reverse);
    p.resets                 = resets_of(&j->s, &c->in[RESET], b, a->reverse);
    if (c->state_in[0] != NULL) p.past = (const real *)c->state_in[0] + b * j->s.D;
    return p;
}

static void forward_range(void *arg, size_t item, int worker)
{
    const job             *j = arg;
    const lcsm_shift_attr *a = j->c->node->attr;
    const lcsm_mat        *y = &j->c->out[0];
    range                  r = range_of(&j->s, item);
    R_(lcsm_shift)         p = problem(j, r.b);
    (void)worker;
    kernels_of(j->c)->shift->fwd(&p, r.t0, r.t1, start_of(&j->s, y, r.b, a->reverse),
                                 step_of(y, a->reverse));
}

/* Without a step the old token stays. */
static void carry(const job *j)
{
    const lcsm_call *c     = j->c;
    size_t           bytes = (size_t)j->s.D * sizeof(real);
    for (ptrdiff_t b = 0; b < j->s.B; b++) {
        R_(lcsm_shift) p    = problem(j, b);
        const real    *last = j->s.T > 0 ? row_of(&c->in[X], (b + 1) * j->s.T - 1) : p.past;
        real          *to   = (real *)c->state_out[0] + b * j->s.D;
        if (last == NULL) memset(to, 0, bytes);
        else memmove(to, last, bytes);
    }
}

static void forward(const lcsm_call *c)
{
    job j = {.c = c, .s = sequences_of(c->node->in[X])};
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.s.ranges), forward_range, &j);
    if (c->state_out[0] != NULL) carry(&j);
}

static void backward_range(void *arg, size_t item, int worker)
{
    const job             *j   = arg;
    const lcsm_shift_attr *a   = j->c->node->attr;
    const lcsm_mat        *g_y = &j->c->g_out[0], *g_x = &j->c->g_in[X];
    range                  r    = range_of(&j->s, item);
    R_(lcsm_shift)         p    = problem(j, r.b);
    real                  *g_mu = j->g_mu == NULL ? NULL : j->g_mu + (ptrdiff_t)item * p.D;
    (void)worker;
    if (g_mu != NULL) memset(g_mu, 0, (size_t)p.D * sizeof(real));
    kernels_of(j->c)->shift->bwd(&p, r.t0, r.t1, start_of(&j->s, g_y, r.b, a->reverse),
                                 step_of(g_y, a->reverse), start_of(&j->s, g_x, r.b, a->reverse),
                                 step_of(g_x, a->reverse), g_x->add, g_mu);
}

static void add(ptrdiff_t n, const real *from, real *to)
{
    for (ptrdiff_t d = 0; d < n; d++) to[d] += from[d];
}

/* The last token has the gradient of what is carried, and the one before the first its part of the
 * first step's. */
static void carry_back(const job *j)
{
    const lcsm_call *c    = j->c;
    const real      *left = c->g_state_out[0], *mu = c->in[MU].data;
    real            *read = c->g_state_in[0];
    ptrdiff_t        D = j->s.D, T = j->s.T;
    for (ptrdiff_t b = 0; b < j->s.B; b++) {
        R_(lcsm_shift) p   = problem(j, b);
        real          *g_x = row_if(&c->g_in[X], (b + 1) * T - 1);
        if (left != NULL && T > 0 && g_x != NULL) add(D, left + b * D, g_x);
        if (left != NULL && T == 0 && read != NULL) add(D, left + b * D, read + b * D);
        if (read == NULL || T == 0 || lcsm_resets_at(&p.resets, 0)) continue;
        const real *g_y = row_of(&c->g_out[0], b * T);
        for (ptrdiff_t d = 0; d < D; d++) read[b * D + d] += (1 - mu[d]) * g_y[d];
    }
}

static void backward(const lcsm_call *c)
{
    pieces    a     = {.base = c->scratch};
    job       j     = {.c = c, .s = sequences_of(c->node->in[X])};
    ptrdiff_t items = j.s.B * j.s.ranges;
    layout(&a, &j.s, &j.g_mu);
    if (c->g_in[MU].data == NULL) j.g_mu = NULL;
    lcsm_parallel_for(c->run->pool, (size_t)items, backward_range, &j);
    sum_partials(c, j.g_mu, items, &c->g_in[MU]);
    carry_back(&j);
}

static double flops(const lcsm_node *n)
{
    return 3.0 * (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_shift) = {
    .name       = "shift",
    .in         = {"x", "mu", "?#reset"},
    .attr_size  = sizeof(lcsm_shift_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(MU) | LCSM_BIT(RESET),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(MU),
    .rounds_in  = LCSM_BIT(X),
};
