/*
 * bench_products.c - the products of linear maps in bfloat16 beside the same ones in float, in
 * turns, and both beside the multiply-adds of float that the processor can do.
 */
#include <math.h>
#include <stdio.h>

#include "base/size.h"
#include "bench/frame.h"
#include "kernel/gemm/gemm_case.h"

/* The widest map of a language model's layer and its head, 2,048 tokens. */
static const lcsm_product_sizes SIZES[]      = {{.rows = 2048, .in = 512, .out = 2048},
                                                {.rows = 2048, .in = 512, .out = 50265}};
static const char *const        NAMES[]      = {"y", "g_x", "g_w"};
static const char *const        PRECISIONS[] = {"f32", "bf16"};

/* Differences from the reference, of the largest number: sums of some hundred terms, in float; and
 * how much faster bfloat16 is to be where the processor has an instruction for it. */
#define ERROR_BOUND  2e-5
#define TIMES_TARGET 1.8

typedef struct {
    const lcsm_bench_frame *b;
    lcsm_gemm_case         *product;
    double                  best[LCSM_BENCH_RUNS][2]; /* seconds in float, in bfloat16 */
} timed;

static lcsm_status pass(void *arg, int run, lcsm_error *err)
{
    timed *t = arg;
    (void)err;
    for (int half = 0; half < 2; half++) {
        double from = lcsm_now();
        lcsm_gemm_case_run(t->product, t->b->ctx[run], half == 1);
        t->best[run][half] = fmin(t->best[run][half], lcsm_now() - from);
    }
    return LCSM_OK;
}

static void name_of(char name[LCSM_BENCH_NAME], const lcsm_product_sizes *n, int half)
{
    (void)snprintf(name, LCSM_BENCH_NAME, "product/%s/%s/rows%td-in%td-out%td", NAMES[n->kind],
                   PRECISIONS[half], n->rows, n->in, n->out);
}

/* The worst of both, on a problem that is quick to do by definition. */
static lcsm_status verify(const lcsm_bench_frame *b, lcsm_product_kind kind, double *error,
                          lcsm_error *err)
{
    const lcsm_product_sizes n = {kind, 150, 70, 210};
    const lcsm_context      *c = b->ctx[b->runs - 1];
    lcsm_gemm_case          *p = NULL;
    LCSM_OR_RETURN(lcsm_gemm_case_create(&p, &n, b->threads[b->runs - 1], err));
    *error = lcsm_gemm_case_difference(p, c, false, b->reference, false);
    *error = fmax(*error, lcsm_gemm_case_difference(p, c, true, b->reference, true));
    lcsm_gemm_case_free(p);
    return LCSM_OK;
}

static void emit(const lcsm_bench_frame *b, const timed *t, const lcsm_product_sizes *n, int half,
                 double error)
{
    char   name[LCSM_BENCH_NAME];
    double flops = 2.0 * (double)n->rows * (double)n->in * (double)n->out;
    name_of(name, n, half);
    for (int run = 0; run < b->runs; run++) {
        bool            native = lcsm_context_isa(b->ctx[run]) >= LCSM_ISA_AVX512_BF16;
        lcsm_bench_row  row    = lcsm_bench_row_of(b, name, run);
        lcsm_bench_time time[LCSM_BENCH_RUNS];
        for (int j = 0; j < b->runs; j++) time[j] = (lcsm_bench_time){t->best[j][half], NAN};
        row.error = error;
        lcsm_bench_set_time(b, &row, run, time, flops);
        lcsm_bench_set(&row, LCSM_BENCH_PEAK, row.gflops / row.peak_gflops, NAN);
        if (half == 1)
            lcsm_bench_set(&row, LCSM_BENCH_TIMES, t->best[run][0] / t->best[run][1],
                           native ? TIMES_TARGET : NAN);
        lcsm_bench_emit(b, &row);
    }
}

static lcsm_status time_one(lcsm_bench_frame *b, const lcsm_product_sizes *n, double error,
                            lcsm_error *err)
{
    timed           t = {.b = b};
    lcsm_bench_time unused[LCSM_BENCH_RUNS];
    for (int run = 0; run < b->runs; run++) t.best[run][0] = t.best[run][1] = INFINITY;
    LCSM_OR_RETURN(lcsm_gemm_case_create(&t.product, n, b->threads[b->runs - 1], err));
    lcsm_status st = lcsm_bench_measure(b, LCSM_RATE_FMA, pass, &t, unused, err);
    lcsm_gemm_case_free(t.product);
    for (int half = 0; half < 2 && st == LCSM_OK; half++) emit(b, &t, n, half, error);
    return st;
}

lcsm_status lcsm_bench_products(lcsm_bench_frame *b, lcsm_error *err)
{
    char   name[2][LCSM_BENCH_NAME];
    double error = 0;
    for (size_t j = 0; j < (b->options.quick ? 1 : COUNT(SIZES)); j++)
        for (int kind = 0; kind < LCSM_PRODUCT_COUNT; kind++) {
            lcsm_product_sizes n = SIZES[j];
            n.kind               = (lcsm_product_kind)kind;
            for (int half = 0; half < 2; half++) name_of(name[half], &n, half);
            if (!lcsm_bench_wanted(b, name[0]) && !lcsm_bench_wanted(b, name[1])) continue;
            lcsm_bench_progress(b, name[1]);
            if (!lcsm_bench_fits(b, name[1], lcsm_gemm_case_bytes(&n))) continue;
            LCSM_OR_RETURN(verify(b, n.kind, &error, err));
            if (error <= ERROR_BOUND) LCSM_OR_RETURN(time_one(b, &n, error, err));
            else lcsm_bench_not_timed(b, name[1], error, true, "WRONG, not timed");
        }
    return LCSM_OK;
}
