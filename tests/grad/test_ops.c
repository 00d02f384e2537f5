/*
 * Every op of the table, every case of its row: gradients against finite differences in double,
 * every kernel set and layout against double, any number of threads, and sequences in two parts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/case.h"
#include "lab/op_cases.h"
#include "test.h"

enum { SEED = 7 };

/* The two figures of the issue. Errors are relative to the largest number of the tensor. */
static const double GRADIENT_BOUND = 1e-7, FLOAT_BOUND = 2e-5;
/* Double kernel sets differ from the reference by the order of sums only: some 1e4 roundings. */
static const double DOUBLE_BOUND = 1e-12;

static const lcsm_run_options RUN = {.training = true, .seed = 12345};

static lcsm_context *new_context(lcsm_isa isa, int threads)
{
    lcsm_context        *ctx;
    lcsm_error           err;
    lcsm_context_options options = {.size = sizeof options, .isa = isa, .threads = threads};
    lcsm_context_create(&ctx, &options, &err);
    return ctx; /* NULL: this processor does not have it */
}

typedef void case_fn(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx);

static void for_all_cases(case_fn *fn, const lcsm_context *ctx)
{
    for (int op = 0; op < LCSM_OP_COUNT; op++) {
        lcsm_op_cases cases = lcsm_op_cases_of((lcsm_op_id)op);
        for (size_t j = 0; j < cases.count; j++) fn((lcsm_op_id)op, &cases.list[j], ctx);
    }
}

static lcsm_case_graph build(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx,
                             lcsm_dtype dtype, unsigned around, const lcsm_plan_options *opt)
{
    lcsm_case_graph c;
    lcsm_error      err = {0};
    if (lcsm_case_build(&c, ctx, dtype, op, test, around, -1, opt, &err) != LCSM_OK)
        fail_msg("%s %s: %s", lcsm_op_row(op, dtype)->name, test->name, err.text);
    lcsm_case_fill(&c, SEED, 0);
    return c;
}

static void run(const lcsm_case_graph *c, bool backward)
{
    lcsm_error err = {0};
    if (lcsm_graph_forward(c->g, &RUN, &err) != LCSM_OK
        || (backward && lcsm_graph_backward(c->g, &RUN, &err) != LCSM_OK))
        fail_msg("%s %s: %s", c->op->name, c->test->name, err.text);
}

/* ---- finite differences ---- */

/* sum of dy y over all outputs. */
static double loss(const lcsm_case_graph *c)
{
    double sum = 0;
    run(c, false);
    for (int j = 0; j < c->node->n_out; j++) {
        const lcsm_tensor *t = c->node->out[j];
        for (ptrdiff_t r = 0; r < t->rows; r++)
            for (ptrdiff_t i = 0; i < t->cols; i++)
                sum += lcsm_case_get(t, t->grad, r, i) * lcsm_case_get(t, t->data, r, i);
    }
    return sum;
}

static double loss_at(const lcsm_case_graph *c, const lcsm_tensor *t, ptrdiff_t r, ptrdiff_t i,
                      double x)
{
    double old = lcsm_case_get(t, t->data, r, i);
    lcsm_case_set(t, t->data, r, i, x);
    double l = loss(c);
    lcsm_case_set(t, t->data, r, i, old);
    return l;
}

/* Fourth-order central differences: with h = 1e-3 the method is good to about 1e-12. */
static double difference(const lcsm_case_graph *c, const lcsm_tensor *t, ptrdiff_t r, ptrdiff_t i)
{
    const double h = 1e-3;
    double       x = lcsm_case_get(t, t->data, r, i);
    return (8 * (loss_at(c, t, r, i, x + h) - loss_at(c, t, r, i, x - h))
            - (loss_at(c, t, r, i, x + 2 * h) - loss_at(c, t, r, i, x - 2 * h)))
         / (12 * h);
}

static void check_leaf(const lcsm_case_graph *c, int j)
{
    const lcsm_tensor *t     = c->leaf[j];
    ptrdiff_t          count = lcsm_tensor_count(t), step = count / 40 + 1;
    double            *g     = calloc((size_t)count + 1, sizeof *g);
    double             scale = 0, worst = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        g[i]  = lcsm_case_get(t, t->grad, i / t->cols, i % t->cols);
        scale = fmax(scale, fabs(g[i]));
    }
    for (ptrdiff_t i = 0; i < count; i += step) {
        double d = difference(c, t, i / t->cols, i % t->cols);
        scale    = fmax(scale, fabs(d));
        worst    = fmax(worst, isfinite(g[i]) ? fabs(g[i] - d) : INFINITY);
    }
    free(g);
    if (worst > GRADIENT_BOUND * fmax(scale, 1e-3))
        fail_msg("%s %s: the gradient of %s is off by %.2e of %.2e", c->op->name, c->test->name,
                 lcsm_op_input(c->op, j), worst, scale);
}

static void check_gradients(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx)
{
    if (test->large) return;
    const lcsm_plan_options opt = {.train = true, .separate = true};
    lcsm_case_graph         c   = build(op, test, ctx, LCSM_F64, 0, &opt);
    if (c.op->backward != NULL) {
        run(&c, true);
        for (int j = 0; j < LCSM_MAX_IN; j++)
            if (c.leaf[j] != NULL && c.leaf[j]->keep_grad) check_leaf(&c, j);
    }
    lcsm_case_free(&c);
}

TEST(ops_gradients_match_finite_differences)
{
    lcsm_context *ctx = new_context(LCSM_ISA_REFERENCE, 1);
    for_all_cases(check_gradients, ctx);
    lcsm_context_free(ctx);
}

/* ---- one run against another ---- */

static void compare(const lcsm_case_graph *c, const char *what, const lcsm_tensor *t,
                    const void *data, const lcsm_tensor *u, const void *want, double more,
                    double bound)
{
    double worst = 0, scale = 0;
    for (ptrdiff_t r = 0; r < t->rows; r++)
        for (ptrdiff_t i = 0; i < t->cols; i++) {
            double a = lcsm_case_get(t, data, r, i);
            double b = lcsm_case_get(u, want, r, i) + more;
            worst    = fmax(worst, isfinite(a) ? fabs(a - b) : INFINITY);
            scale    = fmax(scale, fabs(b));
        }
    if (worst > bound * fmax(scale, 1e-3))
        fail_msg("%s %s: %s is off by %.2e of %.2e", c->op->name, c->test->name, what, worst,
                 scale);
}

static void compare_all(const lcsm_case_graph *a, const lcsm_case_graph *b, double more,
                        double bound)
{
    for (int j = 0; j < a->node->n_out; j++)
        compare(a, "an output", a->node->out[j], a->node->out[j]->data, b->node->out[j],
                b->node->out[j]->data, 0, bound);
    for (int j = 0; j < LCSM_MAX_IN; j++)
        if (a->leaf[j] != NULL && a->leaf[j]->keep_grad)
            compare(a, lcsm_op_input(a->op, j), a->leaf[j], a->leaf[j]->grad, b->leaf[j],
                    b->leaf[j]->grad, more, bound);
}

static const unsigned AROUND[] = {0, LCSM_CASE_STRIDED, LCSM_CASE_COMPUTED, LCSM_CASE_BESIDE,
                                  LCSM_CASE_STRIDED | LCSM_CASE_COMPUTED | LCSM_CASE_BESIDE};

static void check_set(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx,
                      lcsm_dtype dtype, double bound)
{
    lcsm_context           *plain = new_context(LCSM_ISA_REFERENCE, 1);
    const lcsm_plan_options alone = {.train = true, .separate = true};
    lcsm_case_graph         want  = build(op, test, plain, LCSM_F64, 0, &alone);
    run(&want, true);
    for (size_t i = 0; i < COUNT(AROUND); i++) {
        /* AddressSanitizer watches the ends of every piece where memory is not shared. */
        const lcsm_plan_options opt = {.train = true, .separate = i % 2 == 1};
        lcsm_case_graph         c   = build(op, test, ctx, dtype, AROUND[i], &opt);
        run(&c, true);
        compare_all(&c, &want, (AROUND[i] & LCSM_CASE_BESIDE) != 0 ? 0.5 : 0, bound);
        lcsm_case_free(&c);
    }
    lcsm_case_free(&want);
    lcsm_context_free(plain);
}

static void check_float(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx)
{
    check_set(op, test, ctx, LCSM_F32, FLOAT_BOUND);
}

static void check_double(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx)
{
    check_set(op, test, ctx, LCSM_F64, DOUBLE_BOUND);
}

static void with_set(lcsm_isa isa, case_fn *fn)
{
    lcsm_context *ctx = new_context(isa, 2);
    if (ctx == NULL) return;
    for_all_cases(fn, ctx);
    lcsm_context_free(ctx);
}

TEST(ops_in_float_by_reference_match_double)
{
    with_set(LCSM_ISA_REFERENCE, check_float);
}

TEST(ops_in_float_by_portable_vectors_match_double)
{
    with_set(LCSM_ISA_PORTABLE, check_float);
}

TEST(ops_in_float_by_avx2_match_double)
{
    with_set(LCSM_ISA_AVX2, check_float);
}

TEST(ops_in_float_by_avx512_match_double)
{
    with_set(LCSM_ISA_AVX512, check_float);
}

TEST(ops_in_float_by_neon_match_double)
{
    with_set(LCSM_ISA_NEON, check_float);
}

TEST(ops_in_double_by_reference_and_vectors_agree)
{
    with_set(LCSM_ISA_REFERENCE, check_double);
    with_set(LCSM_ISA_PORTABLE, check_double);
}

/* ---- threads ---- */

static bool same_bits(const lcsm_tensor *t, const void *a, const lcsm_tensor *u, const void *b)
{
    size_t bytes = (size_t)lcsm_tensor_count(t) * lcsm_dtype_size(t->dtype);
    return lcsm_shape_equal(&t->shape, &u->shape) && memcmp(a, b, bytes) == 0;
}

static void check_threads(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *one)
{
    const lcsm_plan_options opt  = {.train = true};
    lcsm_context           *many = new_context(LCSM_ISA_AUTO, 3);
    lcsm_case_graph         a    = build(op, test, one, LCSM_F32, 0, &opt);
    lcsm_case_graph         b    = build(op, test, many, LCSM_F32, 0, &opt);
    run(&a, true);
    run(&b, true);
    for (int j = 0; j < a.node->n_out; j++)
        if (!same_bits(a.node->out[j], a.node->out[j]->data, b.node->out[j], b.node->out[j]->data))
            fail_msg("%s %s: 3 threads give other numbers", a.op->name, test->name);
    for (int j = 0; j < LCSM_MAX_IN; j++)
        if (a.leaf[j] != NULL && a.leaf[j]->keep_grad
            && !same_bits(a.leaf[j], a.leaf[j]->grad, b.leaf[j], b.leaf[j]->grad))
            fail_msg("%s %s: 3 threads give another gradient of %s", a.op->name, test->name,
                     lcsm_op_input(a.op, j));
    lcsm_case_free(&a);
    lcsm_case_free(&b);
    lcsm_context_free(many);
}

TEST(ops_with_any_number_of_threads_give_the_same_bits)
{
    lcsm_context *one = new_context(LCSM_ISA_AUTO, 1);
    for_all_cases(check_threads, one);
    lcsm_context_free(one);
}

/* ---- sequences in parts ---- */

/* The outputs with time of a run of steps t0 .. against those of the whole. */
static void compare_part(const lcsm_case_graph *part, const lcsm_case_graph *all, ptrdiff_t t0,
                         double bound)
{
    const lcsm_tensor *t = part->node->out[0], *u = all->node->out[0];
    ptrdiff_t          below = 1;
    for (int j = 2; j + 1 < t->shape.rank; j++) below *= t->shape.dim[j];
    double worst = 0, scale = 0;
    for (ptrdiff_t r = 0; r < t->rows; r++)
        for (ptrdiff_t i = 0; i < t->cols; i++) {
            ptrdiff_t b = r / (part->T * below), rest = r % (part->T * below);
            ptrdiff_t from = (b * all->T + t0) * below + rest;
            double    want = lcsm_case_get(u, u->data, from, i);
            double    got  = lcsm_case_get(t, t->data, r, i);
            worst          = fmax(worst, isfinite(got) ? fabs(got - want) : INFINITY);
            scale          = fmax(scale, fabs(want));
        }
    if (worst > bound * fmax(scale, 1e-3))
        fail_msg("%s %s: steps %td to %td alone are off by %.2e of %.2e", part->op->name,
                 part->test->name, t0, t0 + part->T, worst, scale);
}

static void run_part(const lcsm_case_graph *all, const lcsm_context *ctx, lcsm_op_id op,
                     lcsm_state *state, ptrdiff_t t0, ptrdiff_t T, bool train, double bound)
{
    lcsm_case_graph         part;
    lcsm_error              err  = {0};
    const lcsm_plan_options opt  = {.train = train};
    lcsm_run_options        with = RUN;
    with.state                   = state;
    if (lcsm_case_build(&part, ctx, lcsm_graph_dtype(all->g), op, all->test, 0, T, &opt, &err)
        != LCSM_OK)
        fail_msg("%s %s: %s", all->op->name, all->test->name, err.text);
    lcsm_case_fill(&part, SEED, t0);
    if (lcsm_graph_forward(part.g, &with, &err) != LCSM_OK)
        fail_msg("%s %s: %s", all->op->name, all->test->name, err.text);
    compare_part(&part, all, t0, bound);
    lcsm_case_free(&part);
}

static void check_split(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx,
                        lcsm_dtype dtype, double bound)
{
    const lcsm_plan_options opt   = {.train = true};
    lcsm_case_graph         all   = build(op, test, ctx, dtype, 0, &opt);
    lcsm_error              err   = {0};
    lcsm_state             *state = NULL;
    if (all.node->n_state > 0 && all.T > 0) {
        run(&all, false);
        assert_int_equal(lcsm_state_create(&state, all.g, &err), LCSM_OK);
        for (ptrdiff_t cut = 0; cut <= all.T; cut += all.T > 12 ? all.T / 5 : 1) {
            lcsm_state_clear(state);
            run_part(&all, ctx, op, state, 0, cut, cut % 2 == 0, bound);
            run_part(&all, ctx, op, state, cut, all.T - cut, cut % 3 == 0, bound);
        }
        lcsm_state_clear(state);
        for (ptrdiff_t t = 0; t < all.T && all.T <= 12; t++)
            run_part(&all, ctx, op, state, t, 1, false, bound);
    }
    lcsm_state_free(state);
    lcsm_case_free(&all);
}

static void check_split_float(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx)
{
    check_split(op, test, ctx, LCSM_F32, 1e-5); /* the figure */
}

static void check_split_double(lcsm_op_id op, const lcsm_op_case *test, const lcsm_context *ctx)
{
    check_split(op, test, ctx, LCSM_F64, DOUBLE_BOUND);
}

TEST(ops_with_carried_state_give_the_same_for_any_split)
{
    with_set(LCSM_ISA_AUTO, check_split_float);
    with_set(LCSM_ISA_REFERENCE, check_split_double);
}

/* ---- the table ---- */

TEST(ops_every_row_has_a_name_a_rule_forward_and_cases)
{
    for (int op = 0; op < LCSM_OP_COUNT; op++) {
        const lcsm_op *f32 = lcsm_op_row((lcsm_op_id)op, LCSM_F32);
        const lcsm_op *f64 = lcsm_op_row((lcsm_op_id)op, LCSM_F64);
        assert_non_null(f32->name);
        assert_string_equal(f32->name, f64->name);
        assert_true(f32->in[0] != NULL || f32->backward == NULL);
        assert_non_null(f32->shape);
        assert_non_null(f32->forward);
        assert_true(lcsm_op_cases_of((lcsm_op_id)op).count > 0);
        for (int other = 0; other < op; other++)
            assert_string_not_equal(f32->name, lcsm_op_row((lcsm_op_id)other, LCSM_F32)->name);
    }
}
