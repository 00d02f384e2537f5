/* bench_attention.c - softmax attention at the sizes of the operator, for comparison. */
#include <math.h>

#include "base/rng.h"
#include "bench/frame.h"
#include "graph/case.h"
#include "graph/layers.h"

typedef struct {
    ptrdiff_t B, T, H, K, D;
} sizes;

static const sizes LARGE = {4, 2048, 4, 64, 128}, SMALL = {1, 160, 2, 64, 128};

/* Float kernels against the double reference. */
#define ERROR_BOUND 2e-5

/* One graph of one op: q, k, v -> y. */
typedef struct {
    lcsm_params *params;
    lcsm_graph  *g;
    lcsm_tensor *in[3], *y;
} attention;

static void close_graph(attention *a)
{
    lcsm_graph_free(a->g);
    lcsm_params_free(a->params);
    *a = (attention){0};
}

/* Numbers that are the same in both types. */
static void fill(const lcsm_tensor *t, void *data, uint32_t purpose)
{
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(t); j++) {
        double x = 2 * lcsm_rng_uniform(7, purpose, (uint64_t)(j % 65537)) - 1;
        lcsm_case_set(t, data, j / t->cols, j % t->cols, (double)(float)x);
    }
}

static lcsm_status make_graph(attention *a, const lcsm_context *ctx, lcsm_dtype dtype, sizes n,
                              bool train, lcsm_error *err)
{
    static const char *const  names[] = {"q", "k", "v"};
    const lcsm_attention_attr attr    = {.heads = n.H, .causal = true};
    const ptrdiff_t           width[] = {n.K, n.K, n.D};
    LCSM_OR_RETURN(lcsm_params_create(&a->params, dtype, 0, err));
    LCSM_OR_RETURN(lcsm_graph_create(&a->g, ctx, a->params, err));
    for (int j = 0; j < 3; j++) {
        a->in[j] = lcsm_input(a->g, names[j], dtype, lcsm_dims(n.B, n.T, n.H * width[j]));
        if (train && a->in[j] != NULL) lcsm_keep_grad(a->g, a->in[j]);
    }
    a->y = lcsm_softmax_attention(a->g, &attr, a->in[0], a->in[1], a->in[2], NULL);
    if (a->y != NULL) {
        lcsm_keep(a->g, a->y);
        if (train) lcsm_seed(a->g, a->y);
    }
    LCSM_OR_RETURN(lcsm_graph_plan(a->g, &(lcsm_plan_options){.train = train}, err));
    for (int j = 0; j < 3; j++)
        if (a->in[j] != NULL) fill(a->in[j], a->in[j]->data, (uint32_t)j);
    if (train && a->y != NULL) fill(a->y, a->y->grad, 3);
    return LCSM_OK;
}

static lcsm_status pass_of(const attention *a, bool train, lcsm_error *err)
{
    lcsm_status st = lcsm_graph_forward(a->g, NULL, err);
    return st == LCSM_OK && train ? lcsm_graph_backward(a->g, NULL, err) : st;
}

static double difference(const lcsm_tensor *t, const void *got, const lcsm_tensor *u,
                         const void *want)
{
    double worst = 0, scale = 0;
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(t); j++) {
        double x = lcsm_case_get(t, got, j / t->cols, j % t->cols);
        double y = lcsm_case_get(u, want, j / u->cols, j % u->cols);
        worst    = fmax(worst, isfinite(x) ? fabs(x - y) : INFINITY);
        scale    = fmax(scale, fabs(y));
    }
    return worst / scale;
}

static lcsm_status verify(const lcsm_bench_frame *b, double *error, lcsm_error *err)
{
    lcsm_status st;
    attention   f = {0}, d = {0};
    LCSM_TRY(make_graph(&f, b->ctx[b->runs - 1], LCSM_F32, SMALL, true, err));
    LCSM_TRY(make_graph(&d, b->reference, LCSM_F64, SMALL, true, err));
    LCSM_TRY(pass_of(&f, true, err));
    LCSM_TRY(pass_of(&d, true, err));
    *error = difference(f.y, f.y->data, d.y, d.y->data);
    for (int j = 0; j < 3; j++)
        *error = fmax(*error, difference(f.in[j], f.in[j]->grad, d.in[j], d.in[j]->grad));
cleanup:
    close_graph(&f);
    close_graph(&d);
    return st;
}

typedef struct {
    attention a[LCSM_BENCH_RUNS];
    bool      train;
} timed;

static lcsm_status timed_pass(void *arg, int run, lcsm_error *err)
{
    const timed *x = arg;
    return pass_of(&x->a[run], x->train, err);
}

static lcsm_status time_pass(lcsm_bench_frame *b, const char *name, int pass, double error,
                             lcsm_error *err)
{
    lcsm_status     st = LCSM_OK;
    timed           x  = {.train = pass == LCSM_BENCH_BOTH};
    lcsm_bench_time t[LCSM_BENCH_RUNS];
    double          cells = (double)(LARGE.B * LARGE.T * LARGE.H * LARGE.K * LARGE.D);
    lcsm_bench_progress(b, name);
    for (int run = 0; run < b->runs; run++)
        LCSM_TRY(make_graph(&x.a[run], b->ctx[run], LCSM_F32, LARGE, x.train, err));
    LCSM_TRY(lcsm_bench_measure(b, LCSM_RATE_FMA, timed_pass, &x, t, err));
    for (int run = 0; run < b->runs; run++) {
        lcsm_bench_row row = lcsm_bench_row_of(b, name, run);
        row.error          = error;
        row.note           = "for comparison, by the same count of useful work";
        lcsm_bench_set_time(b, &row, run, t, cells * (x.train ? 12 : 4));
        lcsm_bench_set(&row, LCSM_BENCH_PEAK, row.gflops / row.peak_gflops, NAN);
        lcsm_bench_emit(b, &row);
    }
cleanup:
    for (int run = 0; run < b->runs; run++) close_graph(&x.a[run]);
    return st;
}

lcsm_status lcsm_bench_attention(lcsm_bench_frame *b, lcsm_error *err)
{
    char   name[LCSM_BENCH_PASSES][LCSM_BENCH_NAME];
    double error;
    for (int pass = 0; pass < LCSM_BENCH_PASSES; pass++)
        lcsm_bench_name(name[pass], "softmax-attention", pass, LARGE.B, LARGE.T, LARGE.H, LARGE.K,
                        LARGE.D);
    if (!lcsm_bench_wanted(b, name[0]) && !lcsm_bench_wanted(b, name[1])) return LCSM_OK;
    LCSM_OR_RETURN(verify(b, &error, err));
    for (int pass = 0; pass < LCSM_BENCH_PASSES; pass++) {
        if (!lcsm_bench_wanted(b, name[pass])) continue;
        if (error <= ERROR_BOUND) LCSM_OR_RETURN(time_pass(b, name[pass], pass, error, err));
        else lcsm_bench_not_timed(b, name[pass], error, true, "WRONG, not timed");
    }
    return LCSM_OK;
}
