/*
 * op_running_max.c - the running maximum of writes that are scaled by exp(z_t), beside the log gate
 * row_t <= 0 of their memory:
 *
 *     mu_t = max(row_t + mu_{t-1}, z_t)
 *     row'_t = row_t + mu_{t-1} - mu_t <= 0          write_t = exp(z_t - mu_t) <= 1
 *
 * A memory with the gate row' and writes scaled by write is m exp(-mu): it never overflows. What is
 * divided by its own normaliser does not depend on mu, so mu is a constant in backward:
 *
 *     g_row = g_row'          g_z = write g_write
 *
 * z (..., T, C); row as z or [C], absent 0; mu0 (..., C) or absent: then mu is carried, from
 * `start` on. After LCSM_MAX_EMPTY, an empty memory, row' is 0: there is nothing to decay.
 */
#include "graph/ops/sequence.h"

enum { ROW, Z, MU0, RESET };
enum { GATE, WRITE, MU };
enum { TILE = 128 };

typedef struct {
    const lcsm_call *c;
    sequences        s;
    ptrdiff_t        tiles; /* of a sequence */
    real            *g_row; /* (B, C): of each sequence */
} job;

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

static job job_of(const lcsm_node *n, const lcsm_call *c)
{
    job j   = {.c = c, .s = sequences_of(n->in[Z])};
    j.tiles = blocks_of(j.s.D, TILE);
    return j;
}

static bool has_static_row(const lcsm_node *n)
{
    return n->in[ROW] != NULL && is_row_vector(n->in[ROW], n->in[Z]);
}

static void layout(pieces *a, const lcsm_node *n, job *j)
{
    j->g_row = take_reals(a, has_static_row(n) ? j->s.B : 0, j->s.D);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_running_max_attr *a = n->attr;
    const lcsm_tensor           *z = n->in[Z], *row = n->in[ROW], *mu0 = n->in[MU0];
    job                          j  = job_of(n, NULL);
    pieces                       m  = {0};
    lcsm_status                  st = check_sequences(z, n->in[RESET], err);
    if (st != LCSM_OK) return st;
    if (row != NULL && !has_static_row(n) && !lcsm_shape_equal(&row->shape, &z->shape))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "row must be as z, or [%td]", z->cols);
    if (mu0 != NULL && (mu0->rows != j.s.B || mu0->cols != z->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "mu0 must be [%td, %td]", j.s.B, z->cols);
    n->n_out = 3;
    n->steps = mu0 == NULL ? LCSM_STEPS_CARRIED : LCSM_STEPS_WHOLE;
    for (int k = 0; k < n->n_out; k++) n->shape[k] = z->shape;
    if (mu0 == NULL) {
        n->n_state  = 1;
        n->state[0] = (lcsm_state_spec){
            .dtype = LCSM_REAL_DTYPE, .shape = lcsm_dims(j.s.B, j.s.D), .start = a->start};
    }
    layout(&m, n, &j);
    return measured(&m, &n->bwd_scratch, err);
}

static real *columns(const lcsm_mat *m, ptrdiff_t row, ptrdiff_t d)
{
    real *p = row_if(m, row);
    return p == NULL ? NULL : p + d;
}

/* mu before the first step, or NULL for the start. */
static const real *before(const job *j, place w)
{
    const real *carried = j->c->state_in[0];
    if (j->c->in[MU0].data != NULL) return columns(&j->c->in[MU0], w.b, w.d);
    return carried == NULL ? NULL : carried + w.b * j->s.D + w.d;
}

static void step(ptrdiff_t n, const real *row, const real *z, const real *old, real start,
                 real *gate, real *write, real *mu)
{
    for (ptrdiff_t d = 0; d < n; d++) {
        real was = old == NULL ? start : old[d], f = row == NULL ? 0 : row[d], to = f + was;
        real max = to > z[d] ? to : z[d];
        gate[d]  = was > (real)LCSM_MAX_EMPTY / 2 ? to - max : 0;
        write[d] = R_FN(exp)(z[d] - max);
        mu[d]    = max;
    }
}

static void forward_tile(void *arg, size_t item, int worker)
{
    const job                   *j      = arg;
    const lcsm_call             *c      = j->c;
    const lcsm_running_max_attr *a      = c->node->attr;
    place                        w      = place_of(j, item);
    lcsm_resets                  resets = resets_of(&j->s, &c->in[RESET], w.b, false);
    const real                  *old    = before(j, w);
    bool                         still  = has_static_row(c->node);
    (void)worker;
    for (ptrdiff_t t = 0; t < j->s.T; t++) {
        ptrdiff_t r = w.b * j->s.T + t;
        if (lcsm_resets_at(&resets, t)) old = NULL;
        step(w.n, columns(&c->in[ROW], still ? 0 : r, w.d), columns(&c->in[Z], r, w.d), old,
             (real)a->start, columns(&c->out[GATE], r, w.d), columns(&c->out[WRITE], r, w.d),
             columns(&c->out[MU], r, w.d));
        old = columns(&c->out[MU], r, w.d);
    }
    if (c->state_out[0] == NULL) return;
    real *to = (real *)c->state_out[0] + w.b * j->s.D + w.d;
    for (ptrdiff_t d = 0; d < w.n; d++) to[d] = old == NULL ? (real)a->start : old[d];
}

static void forward(const lcsm_call *c)
{
    job j = job_of(c->node, c);
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), forward_tile, &j);
}

static void add_or_set(ptrdiff_t n, bool add, const real *x, const real *factor, real *to)
{
    for (ptrdiff_t d = 0; d < n; d++) {
        real g = x == NULL ? 0 : factor == NULL ? x[d] : x[d] * factor[d];
        to[d]  = add ? to[d] + g : g;
    }
}

static void backward_tile(void *arg, size_t item, int worker)
{
    const job       *j = arg;
    const lcsm_call *c = j->c;
    place            w = place_of(j, item);
    real *sum = has_static_row(c->node) && j->g_row != NULL ? j->g_row + w.b * j->s.D + w.d : NULL;
    (void)worker;
    for (ptrdiff_t d = 0; sum != NULL && d < w.n; d++) sum[d] = 0;
    for (ptrdiff_t r = w.b * j->s.T; r < (w.b + 1) * j->s.T; r++) {
        real *g_z   = columns(&c->g_in[Z], r, w.d);
        real *g_row = sum == NULL ? columns(&c->g_in[ROW], r, w.d) : sum;
        if (g_z != NULL)
            add_or_set(w.n, c->g_in[Z].add, columns(&c->g_out[WRITE], r, w.d),
                       columns(&c->out[WRITE], r, w.d), g_z);
        if (g_row != NULL)
            add_or_set(w.n, sum != NULL || c->g_in[ROW].add, columns(&c->g_out[GATE], r, w.d), NULL,
                       g_row);
    }
}

static void backward(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node, c);
    layout(&a, c->node, &j);
    if (c->g_in[ROW].data == NULL) j.g_row = NULL;
    lcsm_parallel_for(c->run->pool, (size_t)(j.s.B * j.tiles), backward_tile, &j);
    if (j.g_row != NULL && has_static_row(c->node)) sum_partials(c, j.g_row, j.s.B, &c->g_in[ROW]);
}

static double flops(const lcsm_node *n)
{
    return 16.0 * (double)lcsm_tensor_count(n->in[Z]);
}

const lcsm_op R_(lcsm_op_running_max) = {
    .name       = "running_max",
    .in         = {"?row", "z", "?mu0", "?#reset"},
    .attr_size  = sizeof(lcsm_running_max_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(Z) | LCSM_BIT(ROW),
    .bwd_out    = LCSM_BIT(WRITE),
    .overwrites = LCSM_BIT(ROW) | LCSM_BIT(Z),
};
