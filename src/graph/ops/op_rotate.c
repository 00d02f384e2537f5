/*
 * op_rotate.c - rotation of features by position: x (..., T, H K) with angles position * theta.
 *
 * theta is [J], shared by the heads, or [H J]; J is K/2 for pairs and halves, K for doubled
 * features. Where only the first `width` features of a head turn, J is width/2, theta is shared,
 * and the others are copied. Carried state: the position of each sequence, counted from where it
 * began. A range of steps is a work item: it makes the sines of a step once for all sequences that
 * stand at the same position.
 */
#include "graph/ops/op_pieces.h"

enum { X, THETA };
enum { STEPS = 16 };

typedef struct {
    const lcsm_call *c;
    ptrdiff_t        B, T, ranges, angles;
    real            *cs;      /* tables of each worker: cosines and sines, 2 x 2 x angles */
    double          *g_theta; /* of each range */
} job;

static job job_of(const lcsm_node *n)
{
    const lcsm_shape *x = &n->in[X]->shape;
    job               j = {.B = 1, .T = lcsm_dim_last(x, 2), .angles = n->in[THETA]->cols};
    for (int k = 0; k < x->rank - 2; k++) j.B *= x->dim[k];
    j.ranges = blocks_of(j.T, STEPS);
    return j;
}

static void layout(pieces *a, const lcsm_node *n, bool backward, job *j)
{
    ptrdiff_t sums = backward ? j->ranges : 0;
    j->cs          = take_reals(a, n->threads, 4 * j->angles);
    j->g_theta     = lcsm_take(a, sums, j->angles, sizeof(double));
}

static lcsm_status measure(const lcsm_node *n, bool backward, size_t *bytes, lcsm_error *err)
{
    pieces a = {0};
    job    j = job_of(n);
    layout(&a, n, backward, &j);
    return measured(&a, bytes, err);
}

/* Features of a head, and how many of them turn. */
static ptrdiff_t features(const lcsm_node *n)
{
    const lcsm_rotate_attr *a = n->attr;
    return n->in[X]->cols / a->heads;
}

static ptrdiff_t turning(const lcsm_node *n)
{
    const lcsm_rotate_attr *a = n->attr;
    return a->width > 0 ? a->width : features(n);
}

static ptrdiff_t angles_of_head(const lcsm_node *n)
{
    const lcsm_rotate_attr *a = n->attr;
    return a->kind == LCSM_ROTATE_DOUBLE ? turning(n) : turning(n) / 2;
}

static lcsm_status check_width(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_rotate_attr *a = n->attr;
    if (a->width == 0) return LCSM_OK;
    if (a->width < 0 || a->width > features(n) || a->width % 2 != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%td features of a head turn; expected an even number, at most %td",
                         a->width, features(n));
    if (a->kind == LCSM_ROTATE_DOUBLE || n->in[THETA]->cols != a->width / 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "a part of a head turns by angles that the heads share, and not doubled");
    return LCSM_OK;
}

static lcsm_status check(const lcsm_node *n, lcsm_error *err)
{
    const lcsm_rotate_attr *a = n->attr;
    const lcsm_tensor      *x = n->in[X], *theta = n->in[THETA];
    if ((unsigned)a->kind >= LCSM_ROTATE_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the kind is %d", (int)a->kind);
    if (x->shape.rank < 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have the axes T and H K");
    if (a->heads < 1 || x->cols % a->heads != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%td heads do not divide the last axis", a->heads);
    lcsm_status st = check_width(n, err);
    if (st != LCSM_OK) return st;
    if (a->kind != LCSM_ROTATE_DOUBLE && turning(n) % 2 != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a head has %td features; expected an even number",
                         turning(n));
    ptrdiff_t J = angles_of_head(n);
    if (theta->shape.rank != 1 || (theta->cols != J && theta->cols != J * a->heads))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "theta must be [%td] or [%td]", J, J * a->heads);
    return LCSM_OK;
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_rotate_attr *a  = n->attr;
    lcsm_status             st = check(n, err);
    if (st != LCSM_OK) return st;
    n->shape[0] = n->in[X]->shape;
    if (a->kind == LCSM_ROTATE_DOUBLE) n->shape[0].dim[n->shape[0].rank - 1] *= 2;
    n->steps          = LCSM_STEPS_CARRIED;
    n->n_state        = 1;
    n->state[0].dtype = LCSM_I64;
    n->state[0].shape = lcsm_dims(job_of(n).B);
    st                = measure(n, false, &n->fwd_scratch, err);
    return st == LCSM_OK ? measure(n, true, &n->bwd_scratch, err) : st;
}

static int64_t position(const job *j, ptrdiff_t b)
{
    const int64_t *start = j->c->state_in[0];
    return start == NULL ? 0 : start[b];
}

/* Step t of sequence b with its table, which is made anew if the position is not that of the
 * sequence before. */
static R_(lcsm_rotate) turn(const job *j, ptrdiff_t b, ptrdiff_t t, int worker)
{
    const lcsm_rotate_attr *a = j->c->node->attr;
    real                   *c = j->cs + (ptrdiff_t)worker * 4 * j->angles, *s = c + 2 * j->angles;
    int64_t                 here = position(j, b) + t;
    if (b == 0 || position(j, b) != position(j, b - 1))
        kernels_of(j->c)->rotate->table(a->kind, j->angles, (double)here, j->c->in[THETA].data, c,
                                        s);
    ptrdiff_t J = angles_of_head(j->c->node), R = turning(j->c->node);
    return (R_(lcsm_rotate)){
        a->kind,     R < features(j->c->node) ? 1 : a->heads, R, j->angles == J ? 0 : J, c, s,
        (double)here};
}

/* A row; head by head where only a part of each turns. */
static void apply(const job *j, const R_(lcsm_rotate) *r, const real *x, real *y)
{
    const lcsm_rotate_attr *a = j->c->node->attr;
    ptrdiff_t               K = features(j->c->node);
    for (ptrdiff_t h = 0; h < a->heads; h += r->H) {
        kernels_of(j->c)->rotate->apply(r, x + h * K, y + h * K);
        for (ptrdiff_t k = r->K; k < K; k++) y[h * K + k] = x[h * K + k];
    }
}

static void back(const job *j, const R_(lcsm_rotate) *r, const real *x, const real *g_y, real *g_x,
                 double *g_theta)
{
    const lcsm_rotate_attr *a   = j->c->node->attr;
    ptrdiff_t               K   = features(j->c->node);
    bool                    add = j->c->g_in[X].add;
    for (ptrdiff_t h = 0; h < a->heads; h += r->H) {
        real *gx = g_x == NULL ? NULL : g_x + h * K;
        kernels_of(j->c)->rotate->back(r, x + h * K, g_y + h * K, gx, add, g_theta);
        for (ptrdiff_t k = r->K; k < K && gx != NULL; k++)
            gx[k] = (add ? gx[k] : 0) + g_y[h * K + k];
    }
}

static void forward_steps(void *arg, size_t item, int worker)
{
    const job *j   = arg;
    ptrdiff_t  end = at_most((ptrdiff_t)(item + 1) * STEPS, j->T);
    for (ptrdiff_t t = (ptrdiff_t)item * STEPS; t < end; t++)
        for (ptrdiff_t b = 0; b < j->B; b++) {
            R_(lcsm_rotate) r = turn(j, b, t, worker);
            apply(j, &r, row_of(&j->c->in[X], b * j->T + t), row_of(&j->c->out[0], b * j->T + t));
        }
}

static void forward(const lcsm_call *c)
{
    pieces   a   = {.base = c->scratch};
    job      j   = job_of(c->node);
    int64_t *end = c->state_out[0];
    j.c          = c;
    layout(&a, c->node, false, &j);
    lcsm_parallel_for(c->run->pool, (size_t)j.ranges, forward_steps, &j);
    for (ptrdiff_t b = 0; b < j.B && end != NULL; b++) end[b] = position(&j, b) + j.T;
}

static void backward_steps(void *arg, size_t item, int worker)
{
    const job      *j       = arg;
    const lcsm_mat *g_x     = &j->c->g_in[X];
    ptrdiff_t       end     = at_most((ptrdiff_t)(item + 1) * STEPS, j->T);
    double         *g_theta = j->g_theta == NULL ? NULL : j->g_theta + (ptrdiff_t)item * j->angles;
    for (ptrdiff_t k = 0; k < j->angles && g_theta != NULL; k++) g_theta[k] = 0;
    for (ptrdiff_t t = (ptrdiff_t)item * STEPS; t < end; t++)
        for (ptrdiff_t b = 0; b < j->B; b++) {
            ptrdiff_t       row = b * j->T + t;
            R_(lcsm_rotate) r   = turn(j, b, t, worker);
            back(j, &r, row_of(&j->c->in[X], row), row_of(&j->c->g_out[0], row), row_if(g_x, row),
                 g_theta);
        }
}

static void sum_theta(const job *j, const lcsm_mat *to)
{
    real *g = to->data;
    for (ptrdiff_t k = 0; k < j->angles; k++) {
        double sum = to->add ? (double)g[k] : 0;
        for (ptrdiff_t r = 0; r < j->ranges; r++) sum += j->g_theta[r * j->angles + k];
        g[k] = (real)sum;
    }
}

static void backward(const lcsm_call *c)
{
    pieces a = {.base = c->scratch};
    job    j = job_of(c->node);
    j.c      = c;
    layout(&a, c->node, true, &j);
    if (c->g_in[THETA].data == NULL) j.g_theta = NULL;
    lcsm_parallel_for(c->run->pool, (size_t)j.ranges, backward_steps, &j);
    if (j.g_theta != NULL) sum_theta(&j, &c->g_in[THETA]);
}

static double flops(const lcsm_node *n)
{
    return 3.0 * (double)lcsm_tensor_count(n->in[X]);
}

const lcsm_op R_(lcsm_op_rotate) = {
    .name       = "rotate",
    .in         = {"x", "theta"},
    .attr_size  = sizeof(lcsm_rotate_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(THETA),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(THETA),
    .rounds_in  = LCSM_BIT(X),
};
