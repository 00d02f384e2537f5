/*
 * ops_check.c - proves every op of the graph on this machine, by the cases of its row:
 *
 *   gradient   backward in double by the references against finite differences
 *   float      the context's float kernels, forward and backward, against double
 *   split      an op with a carried state, a sequence cut in two, against the whole
 *   segments   the same with backward, where gradients are carried too
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "check/verdict.h"
#include "lab/lab.h"
#include "lab/op_cases.h"

/* Finite differences of fourth order with step 2.5e-4: what they leave out, step^4 / 30 of the
 * fifth derivative, counts where a static phase turns for 67 steps (1.4e-7 with 1e-3); their
 * rounding is about 1e-12. Float has the bound of verdict.h. */
#define GRADIENT_BOUND 1e-7

enum { SEED = 11, MAX_NAME = 96 };

/* Tensors smaller than this are compared as if so large: sums of numbers of size 1 may give exact
 * zeros, as the gradient of a softmax over one class. */
#define LEAST_SCALE 1e-2

typedef struct {
    const lcsm_context       *ctx;
    lcsm_context             *reference;
    const lcsm_check_options *options;
    lcsm_check_sink          *sink;
    void                     *user;
    lcsm_op_id                op;
    const lcsm_op_case       *test;
    char                      name[MAX_NAME];
} checker;

static const lcsm_run_options RUN = {.training = true, .seed = 12345};

static void note(lcsm_measure *slot, lcsm_measure found, lcsm_verdict *v, const char *what)
{
    if (lcsm_measure_note(slot, found))
        (void)snprintf(v->detail, sizeof v->detail, "worst: %s", what);
}

static void emit(const checker *c, const char *group, const char *precision, const lcsm_verdict *v)
{
    lcsm_verdict_emit(v, group, c->name, precision, c->sink, c->user);
}

/* separate: what backward leaves outlives another forward. */
static lcsm_status build_planned(const checker *c, lcsm_case_graph *out, const lcsm_context *ctx,
                                 lcsm_dtype dtype, ptrdiff_t T, ptrdiff_t t0, bool train,
                                 bool separate, lcsm_error *err)
{
    const lcsm_plan_options opt = {.train = train, .separate = separate};
    lcsm_status             st  = lcsm_case_build(out, ctx, dtype, c->op, c->test, 0, T, &opt, err);
    if (st == LCSM_OK) lcsm_case_fill(out, SEED, t0);
    return st;
}

static lcsm_status build(const checker *c, lcsm_case_graph *out, const lcsm_context *ctx,
                         lcsm_dtype dtype, ptrdiff_t T, ptrdiff_t t0, bool train, lcsm_error *err)
{
    return build_planned(c, out, ctx, dtype, T, t0, train, false, err);
}

static lcsm_status run(const lcsm_case_graph *g, lcsm_error *err)
{
    lcsm_status st = lcsm_graph_forward(g->g, &RUN, err);
    return st == LCSM_OK && g->op->backward != NULL ? lcsm_graph_backward(g->g, &RUN, err) : st;
}

static bool has_gradient(const lcsm_case_graph *g, int j)
{
    return g->leaf[j] != NULL && g->leaf[j]->keep_grad && g->op->backward != NULL;
}

/* ---- finite differences ----------------------------------------------------------------- */

/* The sum of dy y over all outputs, with one number of an input changed. */
static lcsm_status loss_at(const lcsm_case_graph *g, const lcsm_tensor *t, ptrdiff_t at, double x,
                           double *loss, lcsm_error *err)
{
    double      old = lcsm_case_get(t, t->data, at / t->cols, at % t->cols);
    lcsm_status st;
    lcsm_case_set(t, t->data, at / t->cols, at % t->cols, x);
    st    = lcsm_graph_forward(g->g, &RUN, err);
    *loss = 0;
    for (int j = 0; j < g->node->n_out; j++) {
        const lcsm_tensor *y = g->node->out[j];
        for (ptrdiff_t k = 0; k < lcsm_tensor_count(y); k++)
            *loss += lcsm_case_get(y, y->grad, k / y->cols, k % y->cols)
                   * lcsm_case_get(y, y->data, k / y->cols, k % y->cols);
    }
    lcsm_case_set(t, t->data, at / t->cols, at % t->cols, old);
    return st;
}

static lcsm_status difference(const lcsm_case_graph *g, const lcsm_tensor *t, ptrdiff_t at,
                              double *out, lcsm_error *err)
{
    static const double step[] = {-5e-4, -2.5e-4, 2.5e-4, 5e-4}, weight[] = {1, -8, 8, -1};
    double              x = lcsm_case_get(t, t->data, at / t->cols, at % t->cols), sum = 0, loss;
    for (size_t j = 0; j < COUNT(step); j++) {
        lcsm_status st = loss_at(g, t, at, x + step[j], &loss, err);
        if (st != LCSM_OK) return st;
        sum += weight[j] * loss;
    }
    *out = sum / 3e-3;
    return LCSM_OK;
}

/* Some numbers of one input; the gradients of all of them give the scale. */
static lcsm_status check_input(const checker *c, const lcsm_case_graph *g, int j, lcsm_verdict *w,
                               lcsm_error *err)
{
    const lcsm_tensor *t     = g->leaf[j];
    ptrdiff_t          count = lcsm_tensor_count(t), most = c->options->full ? 40 : 8;
    double             scale = 0, off = 0, d;
    for (ptrdiff_t k = 0; k < count; k++)
        scale = fmax(scale, fabs(lcsm_case_get(t, t->grad, k / t->cols, k % t->cols)));
    for (ptrdiff_t k = 0; k < count; k += count / most + 1) {
        double      x  = lcsm_case_get(t, t->grad, k / t->cols, k % t->cols);
        lcsm_status st = difference(g, t, k, &d, err);
        if (st != LCSM_OK) return st;
        scale = fmax(scale, fabs(d));
        off   = fmax(off, isfinite(x) ? fabs(x - d) : INFINITY);
    }
    note(&w->gradient, lcsm_measure_fixed(off / fmax(scale, LEAST_SCALE), GRADIENT_BOUND), w,
         lcsm_op_input(g->op, j));
    return LCSM_OK;
}

static lcsm_status check_gradients(const checker *c, lcsm_error *err)
{
    lcsm_status     st = LCSM_OK;
    lcsm_case_graph g  = {0};
    lcsm_verdict    w  = LCSM_NO_VERDICT;
    if (c->test->large || lcsm_op_row(c->op, LCSM_F64)->backward == NULL) return LCSM_OK;
    LCSM_TRY(build_planned(c, &g, c->reference, LCSM_F64, -1, 0, true, true, err));
    LCSM_TRY(run(&g, err));
    for (int j = 0; j < LCSM_MAX_IN; j++)
        if (has_gradient(&g, j)) LCSM_TRY(check_input(c, &g, j, &w, err));
    emit(c, "gradient", "double", &w);
cleanup:
    lcsm_case_free(&g);
    return st;
}

/* ---- float ------------------------------------------------------------------------------ */

/* One tensor of the op in float, by the plain kernels in float, and in double. */
typedef struct {
    const lcsm_tensor *fast, *plain, *exact;
    bool               gradient;
} trio;

static double number(const lcsm_tensor *t, bool gradient, ptrdiff_t k)
{
    return lcsm_case_get(t, gradient ? t->grad : t->data, k / t->cols, k % t->cols);
}

static lcsm_measure compare(const trio *x)
{
    double off = 0, plain = 0, scale = LEAST_SCALE;
    for (ptrdiff_t k = 0; k < lcsm_tensor_count(x->fast); k++) {
        double a = number(x->fast, x->gradient, k), b = number(x->exact, x->gradient, k);
        off   = fmax(off, isfinite(a) ? fabs(a - b) : INFINITY);
        plain = fmax(plain, fabs(number(x->plain, x->gradient, k) - b));
        scale = fmax(scale, fabs(b));
    }
    return lcsm_measure_float(off / scale, plain / scale);
}

static lcsm_verdict compare_all(const lcsm_case_graph *f, const lcsm_case_graph *p,
                                const lcsm_case_graph *d)
{
    lcsm_verdict v = LCSM_NO_VERDICT;
    for (int j = 0; j < f->node->n_out; j++) {
        trio x = {f->node->out[j], p->node->out[j], d->node->out[j], false};
        note(&v.output, compare(&x), &v, "an output");
    }
    for (int j = 0; j < LCSM_MAX_IN; j++) {
        trio x = {f->leaf[j], p->leaf[j], d->leaf[j], true};
        if (has_gradient(f, j)) note(&v.gradient, compare(&x), &v, lcsm_op_input(f->op, j));
    }
    return v;
}

static lcsm_status check_float(const checker *c, lcsm_error *err)
{
    lcsm_status     st = LCSM_OK;
    lcsm_case_graph f = {0}, p = {0}, d = {0};
    bool            train = lcsm_op_row(c->op, LCSM_F64)->backward != NULL;
    LCSM_TRY(build(c, &f, c->ctx, LCSM_F32, -1, 0, train, err));
    LCSM_TRY(build(c, &p, c->reference, LCSM_F32, -1, 0, train, err));
    LCSM_TRY(build(c, &d, c->reference, LCSM_F64, -1, 0, train, err));
    LCSM_TRY(run(&f, err));
    LCSM_TRY(run(&p, err));
    LCSM_TRY(run(&d, err));
    lcsm_verdict v = compare_all(&f, &p, &d);
    emit(c, "float", "float", &v);
cleanup:
    lcsm_case_free(&f);
    lcsm_case_free(&p);
    lcsm_case_free(&d);
    return st;
}

/* ---- carried state ---------------------------------------------------------------------- */

/* The whole sequence: in double, and by the plain kernels in float. */
typedef struct {
    lcsm_case_graph exact, plain;
} whole;

/* Steps t0 to t0 + T of the part against the same steps of the whole. */
static lcsm_measure compare_part(const lcsm_tensor *t, const whole *all, ptrdiff_t t0, ptrdiff_t T)
{
    const lcsm_tensor *u = all->exact.node->out[0], *p = all->plain.node->out[0];
    double             off = 0, plain = 0, scale = LEAST_SCALE;
    ptrdiff_t          below = 1; /* rows of a step */
    for (int j = 2; j + 1 < t->shape.rank; j++) below *= t->shape.dim[j];
    for (ptrdiff_t k = 0; T > 0 && k < lcsm_tensor_count(t); k++) {
        ptrdiff_t row = k / t->cols, b = row / (T * below), rest = row % (T * below);
        ptrdiff_t at   = ((b * all->exact.T + t0) * below + rest) * u->cols + k % t->cols;
        double    want = number(u, false, at), got = number(t, false, k);
        off   = fmax(off, isfinite(got) ? fabs(got - want) : INFINITY);
        plain = fmax(plain, fabs(number(p, false, at) - want));
        scale = fmax(scale, fabs(want));
    }
    return lcsm_measure_float(off / scale, plain / scale);
}

static lcsm_status check_part(const checker *c, const whole *all, lcsm_state *state, ptrdiff_t t0,
                              ptrdiff_t T, lcsm_verdict *v, lcsm_error *err)
{
    lcsm_status      st;
    lcsm_case_graph  part = {0};
    lcsm_run_options with = RUN;
    char             where[MAX_NAME];
    with.state = state;
    LCSM_TRY(build(c, &part, c->ctx, LCSM_F32, T, t0, false, err));
    LCSM_TRY(lcsm_graph_forward(part.g, &with, err));
    (void)snprintf(where, sizeof where, "steps %td to %td of %td", t0, t0 + T, all->exact.T);
    note(&v->output, compare_part(part.node->out[0], all, t0, T), v, where);
cleanup:
    lcsm_case_free(&part);
    return st;
}

static lcsm_status check_cuts(const checker *c, const whole *all, lcsm_error *err)
{
    lcsm_status     st;
    lcsm_state     *state = NULL;
    lcsm_case_graph like  = {0};
    lcsm_verdict    v     = LCSM_NO_VERDICT;
    const ptrdiff_t T     = all->exact.T;
    LCSM_TRY(build(c, &like, c->ctx, LCSM_F32, -1, 0, false, err));
    LCSM_TRY(lcsm_state_create(&state, like.g, err));
    for (ptrdiff_t cut = 0; cut <= T; cut += T / (c->options->full ? 12 : 4) + 1) {
        lcsm_state_clear(state);
        LCSM_TRY(check_part(c, all, state, 0, cut, &v, err));
        LCSM_TRY(check_part(c, all, state, cut, T - cut, &v, err));
    }
    emit(c, "split", "float", &v);
cleanup:
    lcsm_state_free(state);
    lcsm_case_free(&like);
    return st;
}

static lcsm_status check_split(const checker *c, lcsm_error *err)
{
    lcsm_status st;
    whole       all = {0};
    LCSM_TRY(build(c, &all.exact, c->reference, LCSM_F64, -1, 0, false, err));
    if (all.exact.node->n_state == 0 || all.exact.T == 0) goto cleanup;
    LCSM_TRY(build(c, &all.plain, c->reference, LCSM_F32, -1, 0, false, err));
    LCSM_TRY(lcsm_graph_forward(all.exact.g, &RUN, err));
    LCSM_TRY(lcsm_graph_forward(all.plain.g, &RUN, err));
    LCSM_TRY(check_cuts(c, &all, err));
cleanup:
    lcsm_case_free(&all.exact);
    lcsm_case_free(&all.plain);
    return st;
}

/* ---- carried gradients -------------------------------------------------------------------- */

/* Two segments of a sequence and what they carry. */
typedef struct {
    lcsm_case_graph part[2];
    lcsm_state     *state[2], *grad;
} segments;

static void free_segments(segments *s)
{
    for (int k = 0; k < 2; k++) {
        lcsm_state_free(s->state[k]);
        lcsm_case_free(&s->part[k]);
    }
    lcsm_state_free(s->grad);
}

/* Forward one after the other, and backward in the other order. */
static lcsm_status run_segments(segments *s, lcsm_error *err)
{
    lcsm_run_options with = RUN;
    LCSM_OR_RETURN(lcsm_state_create(&s->grad, s->part[0].g, err));
    lcsm_state_zero(s->grad);
    for (int k = 0; k < 2; k++) {
        LCSM_OR_RETURN(lcsm_state_create(&s->state[k], s->part[0].g, err));
        if (k == 1) LCSM_OR_RETURN(lcsm_state_copy(s->state[1], s->state[0], err));
        with.state = s->state[k];
        LCSM_OR_RETURN(lcsm_graph_forward(s->part[k].g, &with, err));
    }
    with.state_grad = s->grad;
    for (int k = 1; k >= 0 && s->part[0].op->backward != NULL; k--) {
        with.state = s->state[k];
        LCSM_OR_RETURN(lcsm_graph_backward(s->part[k].g, &with, err));
    }
    return LCSM_OK;
}

/* Element k of an input's gradient: of the segment that has the step, or the sum of both. */
static double joined(const segments *s, int input, ptrdiff_t k)
{
    const lcsm_tensor *a = s->part[0].leaf[input], *b = s->part[1].leaf[input];
    ptrdiff_t          below = a->cols, cut = s->part[0].T, T = cut + s->part[1].T;
    if (!s->part[0].test->in[input].time) return number(a, true, k) + number(b, true, k);
    for (int j = 2; j + 1 < a->shape.rank; j++) below *= a->shape.dim[j];
    ptrdiff_t row = k / below, t = row % T, at = row / T;
    return t < cut ? number(a, true, (at * cut + t) * below + k % below)
                   : number(b, true, (at * (T - cut) + t - cut) * below + k % below);
}

static lcsm_measure compare_joined(const segments *s, const whole *all, int input)
{
    const lcsm_tensor *u = all->exact.leaf[input], *p = all->plain.leaf[input];
    double             off = 0, plain = 0, scale = LEAST_SCALE;
    for (ptrdiff_t k = 0; k < lcsm_tensor_count(u); k++) {
        double want = number(u, true, k), got = joined(s, input, k);
        off   = fmax(off, isfinite(got) ? fabs(got - want) : INFINITY);
        plain = fmax(plain, fabs(number(p, true, k) - want));
        scale = fmax(scale, fabs(want));
    }
    return lcsm_measure_float(off / scale, plain / scale);
}

static lcsm_status check_segment_cut(const checker *c, const whole *all, ptrdiff_t cut,
                                     lcsm_verdict *v, lcsm_error *err)
{
    lcsm_status st;
    segments    s = {0};
    char        where[MAX_NAME];
    LCSM_TRY(build_planned(c, &s.part[0], c->ctx, LCSM_F32, cut, 0, true, true, err));
    LCSM_TRY(
        build_planned(c, &s.part[1], c->ctx, LCSM_F32, all->exact.T - cut, cut, true, true, err));
    LCSM_TRY(run_segments(&s, err));
    for (int j = 0; j < LCSM_MAX_IN; j++) {
        if (!has_gradient(&all->exact, j)) continue;
        (void)snprintf(where, sizeof where, "%s, cut after %td of %td steps",
                       lcsm_op_input(s.part[0].op, j), cut, all->exact.T);
        note(&v->gradient, compare_joined(&s, all, j), v, where);
    }
cleanup:
    free_segments(&s);
    return st;
}

static lcsm_status check_segments(const checker *c, lcsm_error *err)
{
    lcsm_status  st;
    whole        all = {0};
    lcsm_verdict v   = LCSM_NO_VERDICT;
    if (lcsm_op_row(c->op, LCSM_F64)->backward == NULL) return LCSM_OK;
    LCSM_TRY(build_planned(c, &all.exact, c->reference, LCSM_F64, -1, 0, true, true, err));
    if (all.exact.node->steps != LCSM_STEPS_CARRIED || all.exact.T == 0) goto cleanup;
    LCSM_TRY(build_planned(c, &all.plain, c->reference, LCSM_F32, -1, 0, true, true, err));
    LCSM_TRY(run(&all.exact, err));
    LCSM_TRY(run(&all.plain, err));
    for (ptrdiff_t cut = 0; cut <= all.exact.T;
         cut += all.exact.T / (c->options->full ? 12 : 4) + 1)
        LCSM_TRY(check_segment_cut(c, &all, cut, &v, err));
    emit(c, "segments", "float", &v);
cleanup:
    lcsm_case_free(&all.exact);
    lcsm_case_free(&all.plain);
    return st;
}

/* ---- all of it -------------------------------------------------------------------------- */

static lcsm_status check_case(checker *c, lcsm_error *err)
{
    (void)snprintf(c->name, sizeof c->name, "%s/%s", lcsm_op_row(c->op, LCSM_F64)->name,
                   c->test->name);
    if (c->options->filter != NULL && strstr(c->name, c->options->filter) == NULL) return LCSM_OK;
    LCSM_OR_RETURN(check_gradients(c, err));
    LCSM_OR_RETURN(check_float(c, err));
    LCSM_OR_RETURN(check_split(c, err));
    return check_segments(c, err);
}

lcsm_status lcsm_lab_check_ops(const lcsm_context *ctx, const lcsm_check_options *options,
                               lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    const lcsm_context_options plain = {
        .size = sizeof plain, .isa = LCSM_ISA_REFERENCE, .threads = 1};
    lcsm_check_options own;
    checker            c = {.ctx = ctx, .options = &own, .sink = sink, .user = user};
    lcsm_status        st;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_check_options, filter, &own, options, err));
    LCSM_TRY(lcsm_context_create(&c.reference, &plain, err));
    for (int op = 0; op < LCSM_OP_COUNT; op++) {
        lcsm_op_cases cases = lcsm_op_cases_of((lcsm_op_id)op);
        c.op                = (lcsm_op_id)op;
        for (size_t j = 0; j < cases.count; j++) {
            c.test = &cases.list[j];
            LCSM_TRY(check_case(&c, err));
        }
    }
cleanup:
    lcsm_context_free(c.reference);
    return st;
}
