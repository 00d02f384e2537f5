/*
 * op_dplr.c - a diagonal plus low-rank state space for each channel (kernel/dplr/dplr.h).
 *
 * Work items are tiles of channels for a group of sequences; each group has its own sums of the
 * coefficients' gradients. The tape is saved between the passes. Carried state: m, (B, D, M) pairs.
 * Reversed time has none.
 */
#include "graph/ops/sequence.h"
#include "kernel/dplr/dplr_drive.h"

enum { U, LAMBDA, P, B, C, LOG_DT, RESET };
enum { LANES = LCSM_DPLR_LANES, GROUP = 8 };

typedef struct {
    const lcsm_call     *c;
    sequences            s;
    R_(lcsm_dplr_form)   form;
    R_(lcsm_dplr_params) x, g;
    ptrdiff_t            tiles, groups, cells;
    real                *coef;    /* of all tiles */
    real                *partial; /* gradients of the coefficients: of all groups and tiles */
    real                *memory;  /* of each worker */
    real                *ws;      /* of each worker */
} job;

static job job_of(const lcsm_node *n)
{
    const lcsm_dplr_attr *a = n->attr;
    job                   j = {.s = sequences_of(n->in[U])};
    j.form   = (R_(lcsm_dplr_form)){lcsm_dim_last(&n->in[LAMBDA]->shape, 2), a->log_re};
    j.tiles  = blocks_of(j.s.D, LANES);
    j.groups = blocks_of(j.s.B, GROUP);
    j.cells  = blocks_of(j.s.T, LCSM_DPLR_CELL);
    return j;
}

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t coef = (ptrdiff_t)LCSM_DPLR_COEF(j->form.M);
    ptrdiff_t ws   = backward ? (ptrdiff_t)LCSM_DPLR_SCRATCH(j->form.M) : 0;
    j->coef        = take_reals(a, j->tiles, coef);
    j->partial     = take_reals(a, backward ? j->groups * j->tiles : 0, coef);
    j->memory      = take_reals(a, n->threads, (ptrdiff_t)LCSM_DPLR_MEMORY(j->form.M));
    j->ws          = take_reals(a, n->threads, ws);
}

static real *tape_of(const job *j, void *saved, ptrdiff_t b, ptrdiff_t tile)
{
    if (saved == NULL) return NULL;
    return (real *)saved + (size_t)((b * j->tiles + tile) * j->cells) * LCSM_DPLR_MEMORY(j->form.M);
}

static lcsm_status check_states(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_shape *l = &n->in[LAMBDA]->shape;
    ptrdiff_t         D = n->in[U]->cols;
    if (l->rank != 3 || l->dim[0] != D || l->dim[2] != 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "lambda must be [%td, M, 2]", D);
    for (int k = P; k <= C; k++)
        if (!lcsm_shape_equal(&n->in[k]->shape, l))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must have the shape of lambda",
                             lcsm_op_input(n->op, k));
    if (!is_row_vector(n->in[LOG_DT], n->in[U]))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "log_dt must be [%td]", D);
    return LCSM_OK;
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_dplr_attr *a     = n->attr;
    pieces                saved = {0}, fwd = {0}, bwd = {0};
    LCSM_OR_RETURN(check_sequences(n->in[U], n->in[RESET], err));
    LCSM_OR_RETURN(check_states(n, err));
    job j       = job_of(n);
    n->shape[0] = n->in[U]->shape;
    if (!a->reverse) {
        n->n_state        = 1;
        n->state[0].dtype = LCSM_REAL_DTYPE;
        n->state[0].shape = lcsm_dims(j.s.B, j.s.D, j.form.M, 2);
    }
    layout(&fwd, n, false, &j);
    layout(&bwd, n, true, &j);
    take_reals(&saved, j.s.B * j.tiles * j.cells, (ptrdiff_t)LCSM_DPLR_MEMORY(j.form.M));
    LCSM_OR_RETURN(measured(&saved, &n->saved, err));
    LCSM_OR_RETURN(measured(&fwd, &n->fwd_scratch, err));
    return measured(&bwd, &n->bwd_scratch, err);
}

/* ---- coefficients ---- */

static R_(lcsm_dplr_params) params_of(const lcsm_mat *m)
{
    return (R_(lcsm_dplr_params)){.lambda = {m[LAMBDA].data, m[LAMBDA].ld},
                                  .P      = {m[P].data, m[P].ld},
                                  .B      = {m[B].data, m[B].ld},
                                  .C      = {m[C].data, m[C].ld},
                                  .log_dt = m[LOG_DT].data};
}

static ptrdiff_t lanes_of(const job *j, ptrdiff_t tile)
{
    return at_most(j->s.D - tile * LANES, LANES);
}

static real *coef_of(const job *j, real *all, ptrdiff_t tile)
{
    return all + (size_t)tile * LCSM_DPLR_COEF(j->form.M);
}

static void coef_tile(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  tile = (ptrdiff_t)item;
    (void)worker;
    R_(lcsm_dplr_coef)(j->form, &j->x, tile * LANES, lanes_of(j, tile), coef_of(j, j->coef, tile));
}

static job start(const lcsm_call *c, bool backward)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    j.x      = params_of(c->in);
    j.g      = params_of(c->g_in);
    layout(&a, c->node, backward, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.tiles, coef_tile, &j);
    return j;
}

/* ---- sequences ---- */

static R_(lcsm_dplr) problem(const job *j, ptrdiff_t b, ptrdiff_t tile)
{
    const lcsm_call      *c = j->c;
    const lcsm_dplr_attr *a = c->node->attr;
    R_(lcsm_dplr)         x = {.T = j->s.T, .M = j->form.M, .n = lanes_of(j, tile)};
    x.coef                  = coef_of(j, j->coef, tile);
    x.u                     = start_of(&j->s, &c->in[U], b, a->reverse) + tile * LANES;
    x.u_t                   = step_of(&c->in[U], a->reverse);
    x.resets                = resets_of(&j->s, &c->in[RESET], b, a->reverse);
    return x;
}

/* Between a carried state (B, D, M) of pairs and the memory (M, 2, LANES) of a tile. */
static void memory_in(const job *j, ptrdiff_t b, ptrdiff_t tile, const real *from, real *m)
{
    ptrdiff_t rows = 2 * j->form.M;
    memset(m, 0, LCSM_DPLR_MEMORY(j->form.M) * sizeof(real));
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile) && from != NULL; lane++)
        for (ptrdiff_t r = 0; r < rows; r++)
            m[r * LANES + lane] = from[(b * j->s.D + tile * LANES + lane) * rows + r];
}

static void memory_out(const job *j, ptrdiff_t b, ptrdiff_t tile, const real *m, real *to)
{
    ptrdiff_t rows = 2 * j->form.M;
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile) && to != NULL; lane++)
        for (ptrdiff_t r = 0; r < rows; r++)
            to[(b * j->s.D + tile * LANES + lane) * rows + r] = m[r * LANES + lane];
}

static void forward_item(void *arg, size_t item, int worker)
{
    const job            *j    = arg;
    const lcsm_call      *c    = j->c;
    const lcsm_dplr_attr *a    = c->node->attr;
    ptrdiff_t             tile = (ptrdiff_t)item % j->tiles, first = (ptrdiff_t)item / j->tiles;
    real                 *m = j->memory + (size_t)worker * LCSM_DPLR_MEMORY(j->form.M);
    for (ptrdiff_t b = first * GROUP; b < at_most((first + 1) * GROUP, j->s.B); b++) {
        R_(lcsm_dplr) x = problem(j, b, tile);
        memory_in(j, b, tile, c->state_in[0], m);
        kernels_of(c)->dplr->fwd(&x, m, start_of(&j->s, &c->out[0], b, a->reverse) + tile * LANES,
                                 step_of(&c->out[0], a->reverse), tape_of(j, c->saved, b, tile));
        memory_out(j, b, tile, m, c->state_out[0]);
    }
}

static void forward(const lcsm_call *c)
{
    job j = start(c, false);
    lcsm_parallel_for(c->run->pool, (size_t)(j.tiles * j.groups), forward_item, &j);
}

static void backward_item(void *arg, size_t item, int worker)
{
    const job            *j    = arg;
    const lcsm_call      *c    = j->c;
    const lcsm_dplr_attr *a    = c->node->attr;
    ptrdiff_t             tile = (ptrdiff_t)item % j->tiles, first = (ptrdiff_t)item / j->tiles;
    R_(lcsm_dplr_grads)   g = {.g     = coef_of(j, j->partial, (ptrdiff_t)item),
                               .g_y_t = step_of(&c->g_out[0], a->reverse),
                               .g_u_t = step_of(&c->g_in[U], a->reverse),
                               .add   = c->g_in[U].add};
    memset(g.g, 0, LCSM_DPLR_COEF(j->form.M) * sizeof(real));
    for (ptrdiff_t b = first * GROUP; b < at_most((first + 1) * GROUP, j->s.B); b++) {
        R_(lcsm_dplr) x = problem(j, b, tile);
        real         *u = start_of(&j->s, &c->g_in[U], b, a->reverse);
        g.g_y           = start_of(&j->s, &c->g_out[0], b, a->reverse) + tile * LANES;
        g.g_u           = u == NULL ? NULL : u + tile * LANES;
        kernels_of(c)->dplr->bwd(&x, tape_of(j, c->saved, b, tile), &g,
                                 j->ws + (size_t)worker * LCSM_DPLR_SCRATCH(j->form.M));
    }
}

/* The groups' sums, added in their order, mean gradients of the parameters. */
static void finish_tile(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  tile = (ptrdiff_t)item;
    real      *sum  = coef_of(j, j->partial, tile);
    (void)worker;
    for (ptrdiff_t group = 1; group < j->groups; group++) {
        const real *more = coef_of(j, j->partial, group * j->tiles + tile);
        for (size_t k = 0; k < LCSM_DPLR_COEF(j->form.M); k++) sum[k] += more[k];
    }
    R_(lcsm_dplr_coef_bwd)(j->form, &j->x, tile * LANES, lanes_of(j, tile), sum, &j->g);
}

static void backward(const lcsm_call *c)
{
    job j = start(c, true);
    lcsm_parallel_for(c->run->pool, (size_t)(j.tiles * j.groups), backward_item, &j);
    if (j.groups > 0) lcsm_parallel_for(c->run->pool, (size_t)j.tiles, finish_tile, &j);
}

static double flops(const lcsm_node *n)
{
    return 24.0 * (double)lcsm_tensor_count(n->in[U]) * (double)job_of(n).form.M;
}

const lcsm_op R_(lcsm_op_dplr) = {
    .name      = "dplr",
    .in        = {"u", "lambda", "P", "B", "C", "log_dt", "?#reset"},
    .attr_size = sizeof(lcsm_dplr_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = LCSM_BIT(U) | LCSM_BIT(LAMBDA) | LCSM_BIT(P) | LCSM_BIT(B) | LCSM_BIT(C)
            | LCSM_BIT(LOG_DT) | LCSM_BIT(RESET),
    .overwrites = LCSM_BIT(U),
};
