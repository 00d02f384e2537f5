/*
 * eos_pairs_node.c - an eos node over conjugate pairs: every head one column of K complex rows with
 * a static o, a static a and b of rank one, e and s (kernel/eos/pairs). As in S4.
 *
 * Work items are tiles of heads for a group of sequences; each group has its own sums of the
 * operands' gradients. The tape is saved between the passes. Carried state: m, (B, H, K) pairs, as
 * its gradient is.
 * Reversed time has none.
 */
#include "graph/ops/eos_pairs_node.h"

#include <math.h>

#include "graph/eos_node.h"
#include "graph/ops/sequence.h"

enum { U = EOS_i, RESET = LCSM_EOS_RESET };
enum { LANES = LCSM_PAIRS_LANES, GROUP = 8 };

typedef struct {
    const lcsm_call *c;
    sequences        s;
    ptrdiff_t        M;
    real             scale; /* of y, by the 2 of a pair */
    ptrdiff_t        tiles, groups, cells;
    real            *coef;    /* of all tiles */
    real            *partial; /* gradients of the coefficients: of all groups and tiles */
    real            *memory;  /* of each worker */
    real            *ws;      /* of each worker */
} job;

static job job_of(const lcsm_node *n)
{
    const lcsm_eos_desc *d = &((const lcsm_eos_attr *)n->attr)->desc;
    job                  j = {.s = sequences_of(n->in[U]), .M = d->K};
    j.scale                = (real)(d->scale == 0 ? 0.5 : d->scale / 2);
    j.tiles                = blocks_of(j.s.D, LANES);
    j.groups               = blocks_of(j.s.B, GROUP);
    j.cells                = blocks_of(j.s.T, LCSM_PAIRS_CELL);
    return j;
}

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t coef = (ptrdiff_t)LCSM_PAIRS_COEF(j->M);
    ptrdiff_t ws   = backward ? (ptrdiff_t)LCSM_PAIRS_SCRATCH(j->M) : 0;
    j->coef        = take_reals(a, j->tiles, coef);
    j->partial     = take_reals(a, backward ? j->groups * j->tiles : 0, coef);
    j->memory      = take_reals(a, n->threads, (ptrdiff_t)LCSM_PAIRS_MEMORY(j->M));
    j->ws          = take_reals(a, n->threads, ws);
}

static real *tape_of(const job *j, void *saved, ptrdiff_t b, ptrdiff_t tile)
{
    if (saved == NULL) return NULL;
    return (real *)saved + (size_t)((b * j->tiles + tile) * j->cells) * LCSM_PAIRS_MEMORY(j->M);
}

static bool is_reversed(const lcsm_node *n)
{
    return ((const lcsm_eos_attr *)n->attr)->desc.reverse;
}

/* Static operands by row, packed; pairs where they are complex. */
static lcsm_status check_operands(const lcsm_node *n, lcsm_error *err)
{
    static const struct {
        int operand, width;
    } WANT[] = {{EOS_e, 2}, {EOS_s, 2}, {EOS_row, 1}, {EOS_row_phase, 1}, {EOS_a, 2}, {EOS_b, 2}};

    const lcsm_eos_desc *d    = &((const lcsm_eos_attr *)n->attr)->desc;
    bool                 fits = d->D == 1 && d->rank <= 1 && !d->read_before && !d->complex_y;
    for (size_t j = 0; j < COUNT(WANT); j++) {
        const lcsm_tensor *t = n->in[WANT[j].operand];
        fits                 = fits && t != NULL && t->ld == t->cols
            && lcsm_tensor_count(t) == d->H * d->K * WANT[j].width;
    }
    for (int j = 0; j < EOS_OPERANDS; j++) {
        bool known = j == EOS_i;
        for (size_t k = 0; k < COUNT(WANT); k++) known = known || WANT[k].operand == j;
        fits = fits && (known || n->in[j] == NULL);
    }
    if (fits && n->in[LCSM_EOS_M0] == NULL && n->in[LCSM_EOS_READ] == NULL) return LCSM_OK;
    return lcsm_fail(
        err, LCSM_ERR_UNSUPPORTED,
        "conjugate pairs need one column a head, and static complex e, s, a and b, row "
        "and row_phase");
}

lcsm_status R_(lcsm_eos_pairs_shape)(lcsm_node *n, lcsm_error *err)
{
    pieces saved = {0}, fwd = {0}, bwd = {0};
    LCSM_OR_RETURN(check_sequences(n->in[U], n->in[RESET], err));
    LCSM_OR_RETURN(check_operands(n, err));
    job j       = job_of(n);
    n->n_out    = 1;
    n->shape[0] = n->in[U]->shape;
    n->bwd_out  = 0;
    n->steps    = is_reversed(n) ? LCSM_STEPS_WHOLE : LCSM_STEPS_CARRIED;
    if (!is_reversed(n)) {
        n->n_state        = 1;
        n->state[0].dtype = LCSM_REAL_DTYPE;
        n->state[0].shape = lcsm_dims(j.s.B, j.s.D, j.M, 2);
    }
    layout(&fwd, n, false, &j);
    layout(&bwd, n, true, &j);
    take_reals(&saved, j.s.B * j.tiles * j.cells, (ptrdiff_t)LCSM_PAIRS_MEMORY(j.M));
    LCSM_OR_RETURN(measured(&saved, &n->saved, err));
    LCSM_OR_RETURN(measured(&fwd, &n->fwd_scratch, err));
    return measured(&bwd, &n->bwd_scratch, err);
}

/* ---- coefficients ---- */

static ptrdiff_t lanes_of(const job *j, ptrdiff_t tile)
{
    return at_most(j->s.D - tile * LANES, LANES);
}

static real *coef_of(const job *j, real *all, ptrdiff_t tile)
{
    return all + (size_t)tile * LCSM_PAIRS_COEF(j->M);
}

/* Number `at` of an operand's gradient, or of the operand. */
static real *number(const lcsm_mat *m, ptrdiff_t at)
{
    return m->data == NULL ? NULL : (real *)m->data + at;
}

static void put_pair(real *coef, int row, real f, const real *p)
{
    coef[row * LANES]       = f * p[0];
    coef[(row + 1) * LANES] = f * p[1];
}

/* The coefficients of a row of a head: o from its magnitude and phase in double, for whatever
 * rounding it has, it has again at every step. */
static void put_row(const job *j, ptrdiff_t at, real *coef)
{
    const lcsm_mat *in   = j->c->in;
    double          size = exp((double)*number(&in[EOS_row], at));
    double          turn = (double)*number(&in[EOS_row_phase], at);
    const real      o[2] = {(real)(size * cos(turn)), (real)(size * sin(turn))};
    put_pair(coef, LCSM_PAIRS_A, 1, o);
    put_pair(coef, LCSM_PAIRS_W, -1, number(&in[EOS_a], 2 * at));
    put_pair(coef, LCSM_PAIRS_B, 1, number(&in[EOS_e], 2 * at));
    put_pair(coef, LCSM_PAIRS_V, 1, number(&in[EOS_b], 2 * at));
    put_pair(coef, LCSM_PAIRS_C, j->scale, number(&in[EOS_s], 2 * at));
}

static void coef_tile(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  tile = (ptrdiff_t)item;
    real      *coef = coef_of(j, j->coef, tile);
    (void)worker;
    memset(coef, 0, LCSM_PAIRS_COEF(j->M) * sizeof(real));
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile); lane++)
        for (ptrdiff_t k = 0; k < j->M; k++)
            put_row(j, (tile * LANES + lane) * j->M + k, coef + k * LCSM_PAIRS_ROWS * LANES + lane);
}

static void add_number(const lcsm_mat *g, ptrdiff_t at, real x)
{
    real *to = number(g, at);
    if (to != NULL) *to = x + (g->add ? *to : 0);
}

static void add_pair(const lcsm_mat *g, ptrdiff_t at, real f, const real *p)
{
    add_number(g, 2 * at, f * p[0]);
    add_number(g, 2 * at + 1, f * p[LANES]);
}

/* The gradients of a row's operands from those of its coefficients. */
static void take_row(const job *j, ptrdiff_t at, const real *coef, const real *g)
{
    const lcsm_mat *to = j->c->g_in;
    const real     *o = coef + LCSM_PAIRS_A * LANES, *g_o = g + LCSM_PAIRS_A * LANES;
    add_number(&to[EOS_row], at, o[0] * g_o[0] + o[LANES] * g_o[LANES]);
    add_number(&to[EOS_row_phase], at, o[0] * g_o[LANES] - o[LANES] * g_o[0]);
    add_pair(&to[EOS_a], at, -1, g + LCSM_PAIRS_W * LANES);
    add_pair(&to[EOS_e], at, 1, g + LCSM_PAIRS_B * LANES);
    add_pair(&to[EOS_b], at, 1, g + LCSM_PAIRS_V * LANES);
    add_pair(&to[EOS_s], at, j->scale, g + LCSM_PAIRS_C * LANES);
}

static job start(const lcsm_call *c, bool backward)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, backward, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.tiles, coef_tile, &j);
    return j;
}

/* ---- sequences ---- */

static R_(lcsm_eos_pairs) problem(const job *j, ptrdiff_t b, ptrdiff_t tile)
{
    const lcsm_call   *c = j->c;
    R_(lcsm_eos_pairs) x = {.T = j->s.T, .M = j->M, .n = lanes_of(j, tile)};
    x.coef               = coef_of(j, j->coef, tile);
    x.u                  = start_of(&j->s, &c->in[U], b, is_reversed(c->node)) + tile * LANES;
    x.u_t                = step_of(&c->in[U], is_reversed(c->node));
    x.resets             = resets_of(&j->s, &c->in[RESET], b, is_reversed(c->node));
    return x;
}

/* Between a carried state (B, D, M) of pairs and the memory (M, 2, LANES) of a tile. */
static void memory_in(const job *j, ptrdiff_t b, ptrdiff_t tile, const real *from, real *m)
{
    ptrdiff_t rows = 2 * j->M;
    memset(m, 0, LCSM_PAIRS_MEMORY(j->M) * sizeof(real));
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile) && from != NULL; lane++)
        for (ptrdiff_t r = 0; r < rows; r++)
            m[r * LANES + lane] = from[(b * j->s.D + tile * LANES + lane) * rows + r];
}

static void memory_out(const job *j, ptrdiff_t b, ptrdiff_t tile, const real *m, real *to)
{
    ptrdiff_t rows = 2 * j->M;
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile) && to != NULL; lane++)
        for (ptrdiff_t r = 0; r < rows; r++)
            to[(b * j->s.D + tile * LANES + lane) * rows + r] = m[r * LANES + lane];
}

static void forward_item(void *arg, size_t item, int worker)
{
    const job       *j    = arg;
    const lcsm_call *c    = j->c;
    ptrdiff_t        tile = (ptrdiff_t)item % j->tiles, first = (ptrdiff_t)item / j->tiles;
    real            *m = j->memory + (size_t)worker * LCSM_PAIRS_MEMORY(j->M);
    for (ptrdiff_t b = first * GROUP; b < at_most((first + 1) * GROUP, j->s.B); b++) {
        R_(lcsm_eos_pairs) x = problem(j, b, tile);
        memory_in(j, b, tile, c->state_in[0], m);
        kernels_of(c)->eos_pairs->fwd(
            &x, m, start_of(&j->s, &c->out[0], b, is_reversed(c->node)) + tile * LANES,
            step_of(&c->out[0], is_reversed(c->node)), tape_of(j, c->saved, b, tile));
        memory_out(j, b, tile, m, c->state_out[0]);
    }
}

void R_(lcsm_eos_pairs_forward)(const lcsm_call *c)
{
    job j = start(c, false);
    lcsm_parallel_for(c->run->pool, (size_t)(j.tiles * j.groups), forward_item, &j);
}

static void backward_item(void *arg, size_t item, int worker)
{
    const job               *j    = arg;
    const lcsm_call         *c    = j->c;
    ptrdiff_t                tile = (ptrdiff_t)item % j->tiles, first = (ptrdiff_t)item / j->tiles;
    real                    *G = j->memory + (size_t)worker * LCSM_PAIRS_MEMORY(j->M);
    R_(lcsm_eos_pairs_grads) g = {.g     = coef_of(j, j->partial, (ptrdiff_t)item),
                                  .g_y_t = step_of(&c->g_out[0], is_reversed(c->node)),
                                  .g_u_t = step_of(&c->g_in[U], is_reversed(c->node)),
                                  .add   = c->g_in[U].add};
    memset(g.g, 0, LCSM_PAIRS_COEF(j->M) * sizeof(real));
    for (ptrdiff_t b = first * GROUP; b < at_most((first + 1) * GROUP, j->s.B); b++) {
        R_(lcsm_eos_pairs) x = problem(j, b, tile);
        real              *u = start_of(&j->s, &c->g_in[U], b, is_reversed(c->node));
        g.g_y = start_of(&j->s, &c->g_out[0], b, is_reversed(c->node)) + tile * LANES;
        g.g_u = u == NULL ? NULL : u + tile * LANES;
        memory_in(j, b, tile, c->g_state_out[0], G);
        kernels_of(c)->eos_pairs->bwd(&x, tape_of(j, c->saved, b, tile), &g, G,
                                      j->ws + (size_t)worker * LCSM_PAIRS_SCRATCH(j->M));
        memory_out(j, b, tile, G, c->g_state_in[0]);
    }
}

/* The groups' sums, added in their order, are the gradients. */
static void finish_tile(void *arg, size_t item, int worker)
{
    const job *j    = arg;
    ptrdiff_t  tile = (ptrdiff_t)item;
    real      *sum  = coef_of(j, j->partial, tile);
    (void)worker;
    for (ptrdiff_t group = 1; group < j->groups; group++) {
        const real *more = coef_of(j, j->partial, group * j->tiles + tile);
        for (size_t k = 0; k < LCSM_PAIRS_COEF(j->M); k++) sum[k] += more[k];
    }
    for (ptrdiff_t lane = 0; lane < lanes_of(j, tile); lane++)
        for (ptrdiff_t k = 0; k < j->M; k++) {
            ptrdiff_t at = k * LCSM_PAIRS_ROWS * LANES + lane;
            take_row(j, (tile * LANES + lane) * j->M + k, coef_of(j, j->coef, tile) + at, sum + at);
        }
}

void R_(lcsm_eos_pairs_backward)(const lcsm_call *c)
{
    job j = start(c, true);
    lcsm_parallel_for(c->run->pool, (size_t)(j.tiles * j.groups), backward_item, &j);
    if (j.groups > 0) lcsm_parallel_for(c->run->pool, (size_t)j.tiles, finish_tile, &j);
}
