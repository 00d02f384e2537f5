/*
 * op_discretise.c - a diagonal state space in steps: lambda and dt give the oscillation o = exp(log
 * + i phase) and the factor F of its input (or output) coefficients. With z = dt lambda:
 *
 *     ZOH        o = exp(z)                      F = (exp(z) - 1) / lambda
 *     BILINEAR   o = (1 + z/2) / (1 - z/2)       F = dt / (1 - z/2)
 *     SOFTMAX    o = exp(z)                      F = (exp(z) - 1) / (lambda (exp(L z) - 1))
 *
 * The last reciprocal is conj(x) / (|x|^2 + eps). Two layouts:
 *
 *     columns   one dt for each of D channels: log_dt [D], re and im [K] or [K, D], coef [K, D, 2]
 *               of pairs or absent (1) -> log, phase [K, D], coef F [K, D, 2], as eos takes them
 *     rows      one dt for each of K states: re, im, log_dt [K], coef [2, K, C], a plane of real
 * and one of imaginary parts -> log, phase [K], coef F [2, K, C], a matrix for linear
 *
 * Everything is computed in double: the parameters are few, and gradients cancel for small z.
 */
#include "base/cplx.h"
#include "graph/ops/op_pieces.h"

enum { RE, IM, LOG_DT, COEF };
enum { LOG, PHASE, OUT };
enum { BLOCK = 16 }; /* columns of a work item */

/* ---- one state ---- */

typedef struct {
    lcsm_cplx lambda;
    double    dt;
} point;

typedef struct {
    lcsm_cplx log_o, F;
} step;

/* (exp(z) - 1) / z and its derivative; where the difference would cancel by the series, as f_1 with
 * f_n = 1 + z f_{n+1} / (n + 1). */
static lcsm_cplx phi(lcsm_cplx z, lcsm_cplx *derivative)
{
    if (lcsm_cnorm(z) < 0.01) {
        lcsm_cplx f = {1, 0}, slope = {0, 0};
        for (int n = 12; n >= 1; n--) { /* |z|^13 / 14! < 2e-24 */
            slope = lcsm_cscale(1.0 / (n + 1), lcsm_cadd(f, lcsm_cmul(z, slope)));
            f     = lcsm_cscale(1.0 / (n + 1), lcsm_cmul(z, f));
            f.re += 1;
        }
        *derivative = slope;
        return f;
    }
    lcsm_cplx e = lcsm_cexp(z), r = lcsm_crcp(z, 0);
    lcsm_cplx f = lcsm_cmul((lcsm_cplx){e.re - 1, e.im}, r);
    *derivative = lcsm_cmul(lcsm_csub(e, f), r);
    return f;
}

static step zoh(point p, const lcsm_discretise_attr *a)
{
    lcsm_cplx z = lcsm_cscale(p.dt, p.lambda), slope;
    (void)a;
    return (step){z, lcsm_cscale(p.dt, phi(z, &slope))};
}

/* Gradients go to that of lambda; that of dt is returned. */
static double zoh_bwd(point p, const lcsm_discretise_attr *a, step g, lcsm_cplx *g_lambda)
{
    lcsm_cplx z = lcsm_cscale(p.dt, p.lambda), slope;
    (void)a;
    phi(z, &slope);
    *g_lambda = lcsm_cscale(p.dt, g.log_o);
    *g_lambda = lcsm_cadd(*g_lambda, lcsm_cscale(p.dt * p.dt, lcsm_conj_mul(slope, g.F)));
    return lcsm_conj_mul(p.lambda, g.log_o).re + lcsm_conj_mul(lcsm_cexp(z), g.F).re;
}

/* log of 1 + w; the magnitude is kept away from 0, where o would be. */
static lcsm_cplx log_of(lcsm_cplx w)
{
    lcsm_cplx x = {1 + w.re, w.im};
    return (lcsm_cplx){0.5 * log(fmax(lcsm_cnorm(x), 1e-60)), atan2(x.im, x.re)};
}

static step bilinear(point p, const lcsm_discretise_attr *a)
{
    lcsm_cplx h = lcsm_cscale(0.5 * p.dt, p.lambda);
    (void)a;
    return (step){lcsm_csub(log_of(h), log_of(lcsm_cscale(-1, h))),
                  lcsm_cscale(p.dt, lcsm_crcp((lcsm_cplx){1 - h.re, -h.im}, 0))};
}

/* With b = 1 / (1 - z/2): d log o / dz = 1 / (1 - z^2/4), dF/d lambda = dt^2 b^2 / 2, dF/d dt =
 * b^2. */
static double bilinear_bwd(point p, const lcsm_discretise_attr *a, step g, lcsm_cplx *g_lambda)
{
    lcsm_cplx h = lcsm_cscale(0.5 * p.dt, p.lambda), h2 = lcsm_cmul(h, h);
    lcsm_cplx b   = lcsm_crcp((lcsm_cplx){1 - h.re, -h.im}, 0);
    lcsm_cplx g_z = lcsm_conj_mul(lcsm_crcp((lcsm_cplx){1 - h2.re, -h2.im}, 1e-60), g.log_o);
    lcsm_cplx g_F = lcsm_conj_mul(lcsm_cmul(b, b), g.F);
    (void)a;
    *g_lambda = lcsm_cadd(lcsm_cscale(p.dt, g_z), lcsm_cscale(0.5 * p.dt * p.dt, g_F));
    return lcsm_conj_mul(p.lambda, g_z).re + g_F.re;
}

/* exp(z) - 1 */
static lcsm_cplx less_one(lcsm_cplx z)
{
    lcsm_cplx slope;
    return lcsm_cmul(z, phi(z, &slope));
}

static step softmax(point p, const lcsm_discretise_attr *a)
{
    lcsm_cplx z = lcsm_cscale(p.dt, p.lambda);
    lcsm_cplx x = lcsm_cmul(p.lambda, less_one(lcsm_cscale((double)a->length, z)));
    return (step){z, lcsm_cmul(less_one(z), lcsm_crcp(x, a->eps))};
}

/* F = n r with n = exp(z) - 1 and r = conj(x) / (|x|^2 + eps), which is no analytic function: with
 * s = |x|^2 + eps, g_x = -(x / s)^2 g_r + eps / s^2 conj(g_r). */
static double softmax_bwd(point p, const lcsm_discretise_attr *a, step g, lcsm_cplx *g_lambda)
{
    double    L = (double)a->length;
    lcsm_cplx z = lcsm_cscale(p.dt, p.lambda), zL = lcsm_cscale(L, z), q = less_one(zL);
    lcsm_cplx x   = lcsm_cmul(p.lambda, q);
    double    s   = lcsm_cnorm(x) + a->eps;
    lcsm_cplx g_r = lcsm_conj_mul(less_one(z), g.F), x2 = lcsm_cmul(x, x);
    lcsm_cplx g_x = lcsm_cadd(lcsm_cscale(-1 / (s * s), lcsm_cmul(x2, g_r)),
                              lcsm_cscale(a->eps / (s * s), lcsm_conj(g_r)));
    lcsm_cplx g_n = lcsm_conj_mul(lcsm_crcp(x, a->eps), g.F), g_q = lcsm_conj_mul(p.lambda, g_x);
    lcsm_cplx g_z = lcsm_cadd(g.log_o, lcsm_conj_mul(lcsm_cexp(z), g_n));
    g_z           = lcsm_cadd(g_z, lcsm_cscale(L, lcsm_conj_mul(lcsm_cexp(zL), g_q)));
    *g_lambda     = lcsm_cadd(lcsm_cscale(p.dt, g_z), lcsm_conj_mul(q, g_x));
    return lcsm_conj_mul(p.lambda, g_z).re;
}

static const struct {
    step (*fwd)(point p, const lcsm_discretise_attr *a);
    double (*bwd)(point p, const lcsm_discretise_attr *a, step g, lcsm_cplx *g_lambda);
} KINDS[LCSM_DISCRETISE_COUNT] = {
    [LCSM_DISCRETISE_ZOH]      = {zoh, zoh_bwd},
    [LCSM_DISCRETISE_BILINEAR] = {bilinear, bilinear_bwd},
    [LCSM_DISCRETISE_SOFTMAX]  = {softmax, softmax_bwd},
};

/* ---- shapes ---- */

static ptrdiff_t blocks(const lcsm_node *n)
{
    return blocks_of(n->in[LOG_DT]->cols, BLOCK);
}

/* re and im [K] under columns: each block of columns has its own sums. */
static bool shares_lambda(const lcsm_node *n)
{
    const lcsm_discretise_attr *a = n->attr;
    return !a->rows && n->in[RE]->shape.rank == 1;
}

static void layout(pieces *p, const lcsm_node *n, real **g_re, real **g_im)
{
    ptrdiff_t items = shares_lambda(n) ? blocks(n) : 0;
    *g_re           = take_reals(p, items, n->in[RE]->cols);
    *g_im           = take_reals(p, items, n->in[RE]->cols);
}

static lcsm_status row_shapes(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *coef = n->in[COEF];
    ptrdiff_t          K    = n->in[RE]->cols;
    if (n->in[RE]->shape.rank != 1 || n->in[LOG_DT]->cols != K)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "re, im and log_dt must be [K]");
    if (coef == NULL || coef->shape.rank != 3 || coef->shape.dim[0] != 2 || coef->shape.dim[1] != K)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "coef must be [2, %td, C]", K);
    n->shape[LOG]   = lcsm_dims(K);
    n->shape[PHASE] = lcsm_dims(K);
    n->shape[OUT]   = coef->shape;
    return LCSM_OK;
}

static lcsm_status column_shapes(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *re = n->in[RE], *coef = n->in[COEF];
    ptrdiff_t          D = n->in[LOG_DT]->cols, K = re->shape.dim[0];
    if (re->shape.rank > 2 || (re->shape.rank == 2 && re->cols != D))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "re and im must be [K] or [K, %td]", D);
    n->shape[LOG]   = lcsm_dims(K, D);
    n->shape[PHASE] = lcsm_dims(K, D);
    n->shape[OUT]   = lcsm_dims(K, D, 2);
    if (coef != NULL && !lcsm_shape_equal(&coef->shape, &n->shape[OUT]))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "coef must be [%td, %td, 2]", K, D);
    return LCSM_OK;
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_discretise_attr *a = n->attr;
    real                       *g_re, *g_im;
    pieces                      m = {0};
    if ((unsigned)a->kind >= LCSM_DISCRETISE_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the kind is %d; expected 0 to %d", (int)a->kind,
                         LCSM_DISCRETISE_COUNT - 1);
    if (a->kind == LCSM_DISCRETISE_SOFTMAX && a->length < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the length is %td; expected at least 1",
                         a->length);
    if (!lcsm_shape_equal(&n->in[RE]->shape, &n->in[IM]->shape) || n->in[RE]->shape.rank < 1
        || n->in[LOG_DT]->shape.rank != 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "re and im must have the same shape, log_dt one axis");
    n->n_out       = 3;
    lcsm_status st = a->rows ? row_shapes(n, err) : column_shapes(n, err);
    if (st != LCSM_OK) return st;
    layout(&m, n, &g_re, &g_im);
    return measured(&m, &n->bwd_scratch, err);
}

/* ---- operands ---- */

typedef struct {
    const lcsm_call *c;
    real            *g_re, *g_im; /* of each block, if shares_lambda */
} job;

/* Where re and im of a state are: [K] is one row, [K, D] has a row for each state. */
static ptrdiff_t lambda_at(const lcsm_call *c, const lcsm_mat *m, ptrdiff_t k, ptrdiff_t d)
{
    return c->node->in[RE]->shape.rank == 1 ? k : k * m->ld + d;
}

static point point_at(const lcsm_call *c, ptrdiff_t k, ptrdiff_t d)
{
    const lcsm_discretise_attr *a = c->node->attr;
    double re = (double)((real *)c->in[RE].data)[lambda_at(c, &c->in[RE], k, d)];
    double im = (double)((real *)c->in[IM].data)[lambda_at(c, &c->in[IM], k, d)];
    double dt = exp((double)((real *)c->in[LOG_DT].data)[a->rows ? k : d]);
    return (point){{a->log_re ? -exp(re) : fmin(re, -a->margin), im}, dt};
}

/* The gradient of what is stored for Re lambda. */
static double stored_re(const lcsm_call *c, ptrdiff_t k, ptrdiff_t d, point p, double g)
{
    const lcsm_discretise_attr *a = c->node->attr;
    if (a->log_re) return g * p.lambda.re;
    return (double)((real *)c->in[RE].data)[lambda_at(c, &c->in[RE], k, d)] < -a->margin ? g : 0;
}

static void put(const lcsm_mat *m, ptrdiff_t at, double x)
{
    ((real *)m->data)[at] = (real)x;
}

static void add(const lcsm_mat *m, ptrdiff_t at, double x)
{
    if (m->data != NULL) ((real *)m->data)[at] += (real)x;
}

/* A gradient that is not there is 0. */
static double get(const lcsm_mat *m, ptrdiff_t at)
{
    return m->data == NULL ? 0 : (double)((real *)m->data)[at];
}

/* ---- columns ---- */

static lcsm_cplx pair_at(const lcsm_mat *m, ptrdiff_t at)
{
    return (lcsm_cplx){get(m, at * m->ld), get(m, at * m->ld + 1)};
}

static lcsm_cplx coef_at(const lcsm_call *c, ptrdiff_t at)
{
    return c->in[COEF].data == NULL ? (lcsm_cplx){1, 0} : pair_at(&c->in[COEF], at);
}

static void forward_columns(void *arg, size_t item, int worker)
{
    const lcsm_call            *c = ((const job *)arg)->c;
    const lcsm_discretise_attr *a = c->node->attr;
    const lcsm_mat             *o = c->out;
    ptrdiff_t                   D = o[LOG].cols, K = o[LOG].rows, end;
    (void)worker;
    end = at_most(D, (ptrdiff_t)(item + 1) * BLOCK);
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = (ptrdiff_t)item * BLOCK; d < end; d++) {
            step      s = KINDS[a->kind].fwd(point_at(c, k, d), a);
            lcsm_cplx x = lcsm_cmul(s.F, coef_at(c, k * D + d));
            put(&o[LOG], k * o[LOG].ld + d, s.log_o.re);
            put(&o[PHASE], k * o[PHASE].ld + d, s.log_o.im);
            put(&o[OUT], (k * D + d) * o[OUT].ld, x.re);
            put(&o[OUT], (k * D + d) * o[OUT].ld + 1, x.im);
        }
}

static void backward_state(const job *j, ptrdiff_t block, ptrdiff_t k, ptrdiff_t d)
{
    const lcsm_call            *c   = j->c;
    const lcsm_discretise_attr *a   = c->node->attr;
    const lcsm_mat             *g_o = c->g_out, *g = c->g_in;
    ptrdiff_t                   D = c->in[LOG_DT].cols, at = k * D + d;
    point                       p = point_at(c, k, d);
    lcsm_cplx g_x = pair_at(&g_o[OUT], at), F = KINDS[a->kind].fwd(p, a).F, g_lambda;
    step      gs = {{get(&g_o[LOG], k * g_o[LOG].ld + d), get(&g_o[PHASE], k * g_o[PHASE].ld + d)},
                    lcsm_conj_mul(coef_at(c, at), g_x)};
    lcsm_cplx g_coef = lcsm_conj_mul(F, g_x);
    double    g_dt   = KINDS[a->kind].bwd(p, a, gs, &g_lambda);
    double    g_re   = stored_re(c, k, d, p, g_lambda.re);
    add(&g[COEF], at * g[COEF].ld, g_coef.re);
    add(&g[COEF], at * g[COEF].ld + 1, g_coef.im);
    add(&g[LOG_DT], d, g_dt * p.dt);
    if (shares_lambda(c->node)) {
        j->g_re[block * c->in[RE].cols + k] += (real)g_re;
        j->g_im[block * c->in[RE].cols + k] += (real)g_lambda.im;
    } else {
        add(&g[RE], k * g[RE].ld + d, g_re);
        add(&g[IM], k * g[IM].ld + d, g_lambda.im);
    }
}

static void backward_columns(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  block = (ptrdiff_t)item, K = j->c->node->shape[LOG].dim[0];
    ptrdiff_t  end = at_most(j->c->in[LOG_DT].cols, (block + 1) * BLOCK);
    (void)worker;
    if (shares_lambda(j->c->node)) {
        memset(j->g_re + block * K, 0, (size_t)K * sizeof(real));
        memset(j->g_im + block * K, 0, (size_t)K * sizeof(real));
    }
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = block * BLOCK; d < end; d++) backward_state(j, block, k, d);
}

/* ---- rows ---- */

/* Row k of the plane of real or imaginary parts. */
static ptrdiff_t plane_at(const lcsm_call *c, const lcsm_mat *m, ptrdiff_t plane, ptrdiff_t k)
{
    return (plane * c->in[RE].cols + k) * m->ld;
}

static lcsm_cplx planes_at(const lcsm_call *c, const lcsm_mat *m, ptrdiff_t k, ptrdiff_t col)
{
    return (lcsm_cplx){get(m, plane_at(c, m, 0, k) + col), get(m, plane_at(c, m, 1, k) + col)};
}

static void forward_row(void *arg, size_t item, int worker)
{
    const lcsm_call            *c = ((const job *)arg)->c;
    const lcsm_discretise_attr *a = c->node->attr;
    const lcsm_mat             *o = c->out;
    ptrdiff_t                   k = (ptrdiff_t)item;
    step                        s = KINDS[a->kind].fwd(point_at(c, k, 0), a);
    (void)worker;
    put(&o[LOG], k, s.log_o.re);
    put(&o[PHASE], k, s.log_o.im);
    for (ptrdiff_t col = 0; col < o[OUT].cols; col++) {
        lcsm_cplx x = lcsm_cmul(s.F, planes_at(c, &c->in[COEF], k, col));
        put(&o[OUT], plane_at(c, &o[OUT], 0, k) + col, x.re);
        put(&o[OUT], plane_at(c, &o[OUT], 1, k) + col, x.im);
    }
}

static void backward_row(void *arg, size_t item, int worker)
{
    const lcsm_call            *c   = ((const job *)arg)->c;
    const lcsm_discretise_attr *a   = c->node->attr;
    const lcsm_mat             *g_o = c->g_out, *g = c->g_in;
    ptrdiff_t                   k  = (ptrdiff_t)item;
    point                       p  = point_at(c, k, 0);
    lcsm_cplx                   F  = KINDS[a->kind].fwd(p, a).F, g_lambda;
    step                        gs = {{get(&g_o[LOG], k), get(&g_o[PHASE], k)}, {0, 0}};
    (void)worker;
    for (ptrdiff_t col = 0; col < c->in[COEF].cols; col++) {
        lcsm_cplx g_x    = planes_at(c, &g_o[OUT], k, col);
        lcsm_cplx g_coef = lcsm_conj_mul(F, g_x);
        gs.F             = lcsm_cadd(gs.F, lcsm_conj_mul(planes_at(c, &c->in[COEF], k, col), g_x));
        add(&g[COEF], plane_at(c, &g[COEF], 0, k) + col, g_coef.re);
        add(&g[COEF], plane_at(c, &g[COEF], 1, k) + col, g_coef.im);
    }
    add(&g[LOG_DT], k, KINDS[a->kind].bwd(p, a, gs, &g_lambda) * p.dt);
    add(&g[RE], k, stored_re(c, k, 0, p, g_lambda.re));
    add(&g[IM], k, g_lambda.im);
}

/* ---- the row of the table ---- */

static void forward(const lcsm_call *c)
{
    const lcsm_discretise_attr *a = c->node->attr;
    job                         j = {.c = c};
    if (a->rows) lcsm_parallel_for(c->run->pool, (size_t)c->in[RE].cols, forward_row, &j);
    else lcsm_parallel_for(c->run->pool, (size_t)blocks(c->node), forward_columns, &j);
}

static void backward(const lcsm_call *c)
{
    const lcsm_discretise_attr *a = c->node->attr;
    pieces                      p = {.base = c->scratch};
    job                         j = {.c = c};
    layout(&p, c->node, &j.g_re, &j.g_im);
    if (a->rows) lcsm_parallel_for(c->run->pool, (size_t)c->in[RE].cols, backward_row, &j);
    else lcsm_parallel_for(c->run->pool, (size_t)blocks(c->node), backward_columns, &j);
    if (!shares_lambda(c->node)) return;
    sum_partials(c, j.g_re, blocks(c->node), &c->g_in[RE]);
    sum_partials(c, j.g_im, blocks(c->node), &c->g_in[IM]);
}

/* Exponentials, sines and reciprocals. */
static double flops(const lcsm_node *n)
{
    ptrdiff_t count;
    return lcsm_shape_count(&n->shape[OUT], &count) ? 60.0 * (double)count : 0;
}

const lcsm_op R_(lcsm_op_discretise) = {
    .name      = "discretise",
    .in        = {"re", "im", "log_dt", "?coef"},
    .attr_size = sizeof(lcsm_discretise_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = LCSM_BIT(RE) | LCSM_BIT(IM) | LCSM_BIT(LOG_DT) | LCSM_BIT(COEF),
};
