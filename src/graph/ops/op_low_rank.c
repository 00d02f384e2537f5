/*
 * op_low_rank.c - a state space with A = diag(lambda) - P P^*, bilinear, in steps: the operands of
 * a recurrence with rank one over conjugate pairs. Of each channel, with g = 2 / dt, D0 = 1 / (g -
 * lambda), den = 1 + P^* D0 P and sums over both of a pair:
 *
 *     o = (g + lambda) D0        a = -D0 P        b = 2 g conj(P) D0 / den
 *     e = 2 D0 B + beta a        beta = 2 P^* D0 B / den
 *
 * lambda, P, B [D, M, 2], halves of conjugate pairs, log_dt [D] -> log |o| and arg o [D, M], and a,
 * b, e [D, M, 2]. Everything is computed in double.
 */
#include "base/cplx.h"
#include "graph/ops/op_pieces.h"

enum { LAMBDA, P, B, LOG_DT };
static const double LEAST = 1e-60; /* |o|^2 is at least this: its logarithm is kept finite */

enum { LOG, PHASE, OUT_A, OUT_B, OUT_E };

/* What all states of a channel share. */
typedef struct {
    double g, den, beta; /* 2 / dt, 1 + P^* D0 P, and of e */
} channel;

/* One state. */
typedef struct {
    lcsm_cplx lambda, P, B, D0;
} state;

static ptrdiff_t states_of(const lcsm_call *c)
{
    return lcsm_dim_last(&c->node->in[LAMBDA]->shape, 2);
}

static lcsm_cplx pair_at(const lcsm_mat *m, ptrdiff_t at)
{
    const real *p = row_if(m, at);
    return p == NULL ? (lcsm_cplx){0, 0} : (lcsm_cplx){(double)p[0], (double)p[1]};
}

static void put_pair(const lcsm_mat *m, ptrdiff_t at, lcsm_cplx v)
{
    real *p = row_of(m, at);
    p[0]    = (real)v.re;
    p[1]    = (real)v.im;
}

static void add_pair(const lcsm_mat *m, ptrdiff_t at, lcsm_cplx v)
{
    real *p = row_if(m, at);
    if (p == NULL) return;
    p[0] += (real)v.re;
    p[1] += (real)v.im;
}

static double number_at(const lcsm_mat *m, ptrdiff_t row, ptrdiff_t col)
{
    return m->data == NULL ? 0 : (double)row_of(m, row)[col];
}

static state state_at(const lcsm_call *c, ptrdiff_t at, double g)
{
    const lcsm_low_rank_attr *a = c->node->attr;
    state                     s = {.lambda = pair_at(&c->in[LAMBDA], at),
                                   .P      = pair_at(&c->in[P], at),
                                   .B      = pair_at(&c->in[B], at)};
    if (a->log_re) s.lambda.re = -exp(s.lambda.re);
    s.D0 = lcsm_crcp((lcsm_cplx){g - s.lambda.re, -s.lambda.im}, 0);
    return s;
}

static channel channel_at(const lcsm_call *c, ptrdiff_t d)
{
    ptrdiff_t M = states_of(c);
    channel   h = {.g = 2 * exp(-number_at(&c->in[LOG_DT], 0, d)), .den = 1};
    for (ptrdiff_t j = 0; j < M; j++) {
        state s = state_at(c, d * M + j, h.g);
        h.den += 2 * lcsm_cnorm(s.P) * s.D0.re;
        h.beta += 4 * lcsm_cmul(lcsm_conj_mul(s.P, s.D0), s.B).re;
    }
    h.beta /= h.den;
    return h;
}

static lcsm_cplx gate(state s, double g)
{
    return lcsm_cmul((lcsm_cplx){g + s.lambda.re, s.lambda.im}, s.D0);
}

static void forward_channels(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    ptrdiff_t        M = states_of(c);
    for (ptrdiff_t d = first; d < first + count; d++) {
        channel h = channel_at(c, d);
        for (ptrdiff_t j = 0; j < M; j++) {
            ptrdiff_t at = d * M + j;
            state     s  = state_at(c, at, h.g);
            lcsm_cplx o = gate(s, h.g), w = lcsm_cmul(s.D0, s.P);
            row_of(&c->out[LOG], d)[j]   = (real)(0.5 * log(fmax(lcsm_cnorm(o), LEAST)));
            row_of(&c->out[PHASE], d)[j] = (real)atan2(o.im, o.re);
            put_pair(&c->out[OUT_A], at, lcsm_cscale(-1, w));
            put_pair(&c->out[OUT_B], at, lcsm_cscale(2 * h.g / h.den, lcsm_conj_mul(s.P, s.D0)));
            put_pair(&c->out[OUT_E], at,
                     lcsm_csub(lcsm_cscale(2, lcsm_cmul(s.D0, s.B)), lcsm_cscale(h.beta, w)));
        }
    }
}

/* ---- gradients ---- */

/* Of o, w = -a, b0 = 2 D0 B and v = b at one state. */
typedef struct {
    lcsm_cplx o, w, b0, v;
} outer;

static outer outer_at(const lcsm_call *c, ptrdiff_t d, ptrdiff_t j, state s, channel h)
{
    ptrdiff_t at  = d * states_of(c) + j;
    lcsm_cplx o   = gate(s, h.g),
              l   = {number_at(&c->g_out[LOG], d, j), number_at(&c->g_out[PHASE], d, j)};
    lcsm_cplx g_e = pair_at(&c->g_out[OUT_E], at);
    outer     g   = {.b0 = g_e, .v = pair_at(&c->g_out[OUT_B], at)};
    g.o           = lcsm_cscale(1 / fmax(lcsm_cnorm(o), LEAST), lcsm_cmul(o, l));
    g.w = lcsm_cscale(-1, lcsm_cadd(pair_at(&c->g_out[OUT_A], at), lcsm_cscale(h.beta, g_e)));
    return g;
}

/* The gradients of beta and den, which all states share. */
static void shared_bwd(const lcsm_call *c, ptrdiff_t d, channel h, double *g_beta, double *g_den)
{
    ptrdiff_t M   = states_of(c);
    double    sum = 0;
    *g_beta       = 0;
    for (ptrdiff_t j = 0; j < M; j++) {
        state s = state_at(c, d * M + j, h.g);
        outer g = outer_at(c, d, j, s, h);
        *g_beta -= lcsm_conj_mul(lcsm_cmul(s.D0, s.P), g.b0).re;
        sum -= 2 * h.g * lcsm_conj_mul(lcsm_conj_mul(s.P, s.D0), g.v).re;
    }
    *g_den = sum / (h.den * h.den) - *g_beta * h.beta / h.den;
}

/* The gradients of one state; p = conj(P) D0. Returns the share of the gradient of g. */
static double state_bwd(const lcsm_call *c, ptrdiff_t at, state s, channel h, outer to,
                        double g_beta, double g_den)
{
    const lcsm_low_rank_attr *a = c->node->attr;

    lcsm_cplx p = lcsm_conj_mul(s.P, s.D0), sum = {h.g + s.lambda.re, s.lambda.im};
    lcsm_cplx g_p   = lcsm_cscale(2 * h.g / h.den, to.v);
    g_p             = lcsm_cadd(g_p, lcsm_cscale(4 / h.den * g_beta, lcsm_conj(s.B)));
    lcsm_cplx g_sum = lcsm_conj_mul(s.D0, to.o);

    lcsm_cplx g_D0 = lcsm_conj_mul(sum, to.o);
    g_D0           = lcsm_cadd(g_D0, lcsm_conj_mul(s.P, to.w));
    g_D0           = lcsm_cadd(g_D0, lcsm_cscale(2, lcsm_conj_mul(s.B, to.b0)));
    g_D0           = lcsm_cadd(g_D0, lcsm_cmul(s.P, g_p));
    g_D0.re += 2 * lcsm_cnorm(s.P) * g_den;
    lcsm_cplx g_inverse = lcsm_conj_mul(lcsm_cmul(s.D0, s.D0), g_D0); /* of lambda - g */

    lcsm_cplx g_P = lcsm_conj_mul(s.D0, to.w);
    g_P           = lcsm_cadd(g_P, lcsm_cmul(s.D0, lcsm_conj(g_p)));
    g_P           = lcsm_cadd(g_P, lcsm_cscale(4 * s.D0.re * g_den, s.P));

    lcsm_cplx g_B = lcsm_cscale(2, lcsm_conj_mul(s.D0, to.b0));
    g_B           = lcsm_cadd(g_B, lcsm_cscale(4 / h.den * g_beta, lcsm_conj(p)));

    lcsm_cplx g_lambda = lcsm_cadd(g_sum, g_inverse);
    if (a->log_re) g_lambda.re *= s.lambda.re;
    add_pair(&c->g_in[LAMBDA], at, g_lambda);
    add_pair(&c->g_in[P], at, g_P);
    add_pair(&c->g_in[B], at, g_B);
    return g_sum.re - g_inverse.re + 2 / h.den * lcsm_conj_mul(p, to.v).re;
}

static void backward_channels(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    ptrdiff_t        M = states_of(c);
    for (ptrdiff_t d = first; d < first + count; d++) {
        channel h = channel_at(c, d);
        double  g_beta, g_den, g_g = 0;
        shared_bwd(c, d, h, &g_beta, &g_den);
        for (ptrdiff_t j = 0; j < M; j++) {
            state s = state_at(c, d * M + j, h.g);
            g_g += state_bwd(c, d * M + j, s, h, outer_at(c, d, j, s, h), g_beta, g_den);
        }
        if (c->g_in[LOG_DT].data != NULL) row_of(&c->g_in[LOG_DT], 0)[d] += (real)(-h.g * g_g);
    }
}

/* ---- the row ---- */

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_shape *l = &n->in[LAMBDA]->shape;
    if (l->rank != 3 || l->dim[2] != 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "lambda must be [D, M, 2]");
    for (int k = P; k <= B; k++)
        if (!lcsm_shape_equal(&n->in[k]->shape, l))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must have the shape of lambda",
                             lcsm_op_input(n->op, k));
    if (n->in[LOG_DT]->shape.rank != 1 || n->in[LOG_DT]->cols != l->dim[0])
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "log_dt must be [%td]", l->dim[0]);
    n->n_out = 5;
    for (int k = LOG; k <= PHASE; k++) n->shape[k] = lcsm_dims(l->dim[0], l->dim[1]);
    for (int k = OUT_A; k <= OUT_E; k++) n->shape[k] = *l;
    return LCSM_OK;
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->node->in[LAMBDA]->shape.dim[0], 32 * states_of(c),
                       forward_channels, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->node->in[LAMBDA]->shape.dim[0], 128 * states_of(c),
                       backward_channels, c);
}

const lcsm_op R_(lcsm_op_low_rank) = {
    .name      = "low_rank",
    .in        = {"lambda", "P", "B", "log_dt"},
    .attr_size = sizeof(lcsm_low_rank_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .bwd_in    = LCSM_BIT(LAMBDA) | LCSM_BIT(P) | LCSM_BIT(B) | LCSM_BIT(LOG_DT),
};
