/* bench_eos.c - the EOS operator beside the peak of this machine: operand forms by sizes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/eos_run.h"
#include "bench/frame.h"

/* What a case is held against beside the FMA peak. ROUNDED: forward has products of bfloat16
 * numbers where the processor has them. */
typedef enum { PLAIN, EXPONENTIALS, GATES, ROUNDED } basis;

/* Two large sizes; the one of Mamba; two of models with many heads. */
typedef enum { SQUARE, WIDE, HEADS } shapes;

/* A product with the memory more, of rank 1. */
#define RANK_1 1.5

#define NONE NAN
typedef struct {
    const char *name, *of; /* of: the row of check/eos_case.c */
    basis       basis;
    shapes      shapes;
    double      work; /* beside the useful operations of a memory that only decays */
    double      peak[LCSM_BENCH_PASSES], evals[LCSM_BENCH_PASSES];
} bench_case;

/* The targets are those of the project: fractions of the peak, multiples of the evaluations. */
static const bench_case CASES[] = {
    {"ones", "ones", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"scalar-static", "scalar-static", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"scalar-token", "scalar-token", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"row-static", "row-static", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"row-token", "row-token", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"col-static", "col-static", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"col-token", "col-token", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"outer-static", "outer-static", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"outer-token", "outer-token", PLAIN, SQUARE, 1, {0.50, 0.40}, {NONE, NONE}},
    {"delta", "delta", PLAIN, SQUARE, RANK_1, {0.50, 0.40}, {NONE, NONE}},
    {"delta-scalar", "delta-scalar", PLAIN, HEADS, RANK_1, {0.50, 0.40}, {NONE, NONE}},
    {"gated-delta", "delta-row", PLAIN, HEADS, RANK_1, {0.50, 0.40}, {NONE, NONE}},
    {"low-rank", "low-rank", PLAIN, HEADS, RANK_1, {0.40, 0.32}, {NONE, NONE}},
    {"groups", "groups", PLAIN, HEADS, 1, {0.65, 0.55}, {NONE, NONE}},
    {"before", "before-bonus", PLAIN, HEADS, 1, {NONE, NONE}, {NONE, NONE}},
    {"low-rank-phase", "low-rank-phase", PLAIN, HEADS, RANK_1, {NONE, NONE}, {NONE, NONE}},
    {"ones-bf16", "ones", ROUNDED, SQUARE, 1, {NONE, NONE}, {NONE, NONE}},
    {"scalar-token-bf16", "scalar-token", ROUNDED, SQUARE, 1, {NONE, NONE}, {NONE, NONE}},
    {"row-token-bf16", "row-token", ROUNDED, SQUARE, 1, {NONE, NONE}, {NONE, NONE}},
    {"full-static", "full-static", PLAIN, SQUARE, 1, {0.25, NONE}, {NONE, NONE}},
    {"full-token", "full-token", PLAIN, SQUARE, 1, {0.25, NONE}, {NONE, NONE}},
    {"mamba", "gen-exp", EXPONENTIALS, WIDE, 1, {NONE, NONE}, {1.5, 4}},
    {"gate-6", "gate-6", GATES, WIDE, 1, {NONE, NONE}, {1.5, 4}},
    {"gate-7", "gate-7", GATES, WIDE, 1, {NONE, NONE}, {1.5, 4}},
    {"gate-8", "gate-8", GATES, WIDE, 1, {NONE, NONE}, {1.5, 4}},
    {"gate-9", "gate-9", GATES, WIDE, 1, {NONE, NONE}, {1.5, 4}},
    {"row-phase-static", "row-phase-static", PLAIN, SQUARE, 1, {NONE, NONE}, {NONE, NONE}},
    {"row-phase-token", "row-phase-token", PLAIN, SQUARE, 1, {NONE, NONE}, {NONE, NONE}},
};
/* Long sequences are timed with this case. */
static const bench_case LONG = {"row-token", "row-token",  PLAIN,       SQUARE,
                                1,           {NONE, NONE}, {NONE, NONE}};

static const lcsm_eos_sizes SIZES[][2] = {
    [SQUARE] = {{4, 2048, 4, 64, 128}, {8, 512, 1, 128, 512}},
    [WIDE]   = {{1, 2048, 1, 16, 1536}},
    [HEADS]  = {{4, 2048, 4, 64, 128}, {4, 2048, 8, 128, 128}},
};

#define SPEEDUP_TARGET 1.8
#define MEMORY_TARGET  1.0
#define LENGTH_TARGET  1.1
/* Float kernels against the double reference, as in the checks of the operator. */
#define ERROR_BOUND 2e-5
/* Four rounded factors, of terms of either sign (docs/numerics.md). */
#define BF16_BOUND 0x1p-7

static lcsm_rate rate_of(basis kind)
{
    static const lcsm_rate rates[] = {LCSM_RATE_FMA, LCSM_RATE_EXP, LCSM_RATE_GATE, LCSM_RATE_FMA};
    return rates[kind];
}

static void name_of(char name[LCSM_BENCH_NAME], const char *what, int pass, const lcsm_eos_desc *n)
{
    lcsm_bench_name(name, what, pass, n->B, n->T, n->H, n->K, n->D);
}

static const lcsm_eos_case *find_case(const char *name)
{
    size_t j = 0;
    while (j + 1 < LCSM_EOS_CASE_COUNT && strcmp(LCSM_EOS_CASES[j].name, name) != 0) j++;
    return &LCSM_EOS_CASES[j];
}

/* ---- right or wrong --------------------------------------------------------------------- */

enum { ARRAYS = EOS_OPERANDS + 2 };

/* Errors of y, the last memory, and every gradient. */
static void errors(const lcsm_eos_problem *p, const lcsm_eos_result *got,
                   const lcsm_eos_result *want, double error[ARRAYS])
{
    for (int j = 0; j < EOS_OPERANDS; j++)
        error[j] = lcsm_relative_error(got->grad[j], want->grad[j], p->size[j]);
    error[EOS_OPERANDS]     = lcsm_relative_error(got->y, want->y, p->y_size);
    error[EOS_OPERANDS + 1] = lcsm_relative_error(got->m_T, want->m_T, p->m_size);
}

/*
 * The kernels that will be timed, on a shorter batch, against the double reference. A gradient that
 * sums millions of terms of either sign, as that of one static number, is beyond the accuracy of
 * float: there a kernel may be as far from double as twice the plain loop in float is.
 */
static lcsm_status verify(const lcsm_bench_frame *b, const lcsm_eos_case *c, lcsm_eos_sizes n,
                          bool bf16, double *worst, bool *right, lcsm_error *err)
{
    const lcsm_eos_setting set  = {.decay = 0.1, .seed = 21};
    const lcsm_context    *fast = b->ctx[b->runs - 1];
    ptrdiff_t              most = b->options.quick ? 160 : 544; /* several chunks */
    lcsm_eos_problem       p    = {0};
    lcsm_eos_result        got = {0}, want              = {0};
    double                 error[ARRAYS], plain[ARRAYS] = {0};
    lcsm_status            st;
    n.B = 1;
    n.H = n.H < 2 ? n.H : 2;
    n.T = n.T < most ? n.T : most;
    LCSM_TRY(lcsm_eos_problem_make(&p, c, n, &set, err));
    p.desc.bf16_products = bf16;
    LCSM_TRY(lcsm_eos_result_make(&got, &p, err));
    LCSM_TRY(lcsm_eos_result_make(&want, &p, err));
    LCSM_TRY(lcsm_eos_case_run_f64(b->reference, &p, LCSM_FORM_RECURRENT, 0, true, &want, err));
    LCSM_TRY(lcsm_eos_case_run_f32(fast, &p, LCSM_FORM_AUTO, 0, true, &got, err));
    errors(&p, &got, &want, error);
    *worst = 0;
    for (int j = 0; j < ARRAYS; j++) *worst = fmax(*worst, error[j]);
    *right = *worst <= (bf16 ? BF16_BOUND : ERROR_BOUND);
    if (*right || bf16) goto cleanup;
    LCSM_TRY(lcsm_eos_case_run_f32(b->reference, &p, LCSM_FORM_RECURRENT, 0, true, &got, err));
    errors(&p, &got, &want, plain);
    *right = true;
    for (int j = 0; j < ARRAYS; j++) *right = *right && error[j] <= fmax(ERROR_BOUND, 2 * plain[j]);
cleanup:
    lcsm_eos_problem_free(&p);
    lcsm_eos_result_free(&got);
    lcsm_eos_result_free(&want);
    return st;
}

/* ---- figures ---------------------------------------------------------------------------- */

static double cells(const lcsm_eos_desc *d)
{
    return (double)d->B * (double)d->T * (double)d->H * (double)d->K * (double)d->D;
}

/* (T/C) K D + C K D floats for a sequence and head, of each plane of the memory. */
static double allowed_bytes(const lcsm_eos_desc *d, const lcsm_eos *op)
{
    double C = (double)lcsm_eos_chosen_chunk(op), planes = lcsm_eos_is_complex(op) ? 2 : 1;
    double steps = ceil((double)d->T / C) + C;
    return (double)(d->B * d->H) * steps * (double)(d->K * d->D) * planes * sizeof(float);
}

static void memory_figure(lcsm_bench_row *row, const lcsm_eos_run *r, int run)
{
    const lcsm_eos *op = r->plan[run].op;
    row->extra_bytes   = lcsm_eos_tape(op) + lcsm_eos_backward_workspace(op);
    lcsm_bench_set(row, LCSM_BENCH_MEMORY, (double)row->extra_bytes / allowed_bytes(&r->desc, op),
                   MEMORY_TARGET);
}

static void figures(const lcsm_bench_frame *b, const bench_case *c, const lcsm_eos_run *r,
                    const lcsm_bench_time *t, int pass, int run, lcsm_bench_row *row)
{
    const lcsm_eos *op     = r->plan[run].op;
    double          work   = cells(&r->desc) * c->work * (pass == LCSM_BENCH_FWD ? 4 : 12);
    double          planes = lcsm_eos_is_complex(op) ? 2 : 1;
    lcsm_bench_set_time(b, row, run, t, work * planes);
    row->form  = lcsm_eos_form_name(lcsm_eos_chosen_form(op));
    row->chunk = lcsm_eos_chosen_chunk(op);
    lcsm_bench_set(row, LCSM_BENCH_PEAK, row->gflops / row->peak_gflops, c->peak[pass]);
    if (c->basis == EXPONENTIALS || c->basis == GATES) {
        double alone = cells(&r->desc) / b->best[run][rate_of(c->basis)];
        lcsm_bench_set(row, LCSM_BENCH_EVALS, row->seconds / alone, c->evals[pass]);
    }
    if (pass == LCSM_BENCH_BOTH) memory_figure(row, r, run);
}

/* Says so where the plain loop is timed, where somebody else had the processor, and where memory is
 * the limit: the time to read every array once is a large part. */
static void write_note(const lcsm_bench_frame *b, const lcsm_eos_run *r, const lcsm_bench_row *row,
                       int pass, int run, char note[LCSM_BENCH_NAME])
{
    double bytes = (double)lcsm_eos_run_bytes(&r->desc, pass == LCSM_BENCH_BOTH);
    double read  = bytes / b->best[run][LCSM_RATE_READ];
    *note        = '\0';
    if (lcsm_eos_chosen_form(r->plan[run].op) == LCSM_FORM_RECURRENT)
        (void)snprintf(note, LCSM_BENCH_NAME, "%s", lcsm_eos_reason(r->plan[run].op));
    else if (row->share < 0.9)
        (void)snprintf(note, LCSM_BENCH_NAME, "its threads were running %.0f %% of the time",
                       100 * row->share);
    else if (read > 0.25 * row->seconds)
        (void)snprintf(note, LCSM_BENCH_NAME, "reading its %.2f GB once takes %.1f ms",
                       bytes * 1e-9, read * 1e3);
}

/* ---- one case --------------------------------------------------------------------------- */

typedef struct {
    lcsm_eos_run run;
    bool         grads;
} timed;

static lcsm_status timed_pass(void *arg, int run, lcsm_error *err)
{
    timed *x = arg;
    return lcsm_eos_run_pass(&x->run, run, x->grads, err);
}

/* Whether the arrays fit; plans take less than half of them. */
static bool fits(const lcsm_bench_frame *b, const char *name, const lcsm_eos_desc *d, bool grads)
{
    return lcsm_bench_fits(b, name, 1.5 * (double)lcsm_eos_run_bytes(d, grads));
}

static lcsm_status time_pass(lcsm_bench_frame *b, const bench_case *c, const lcsm_eos_case *of,
                             const lcsm_eos_desc *desc, int pass, double error, lcsm_error *err)
{
    lcsm_status     st;
    timed           x = {.grads = pass == LCSM_BENCH_BOTH};
    lcsm_bench_time t[LCSM_BENCH_RUNS];
    char            name[LCSM_BENCH_NAME];
    name_of(name, c->name, pass, desc);
    if (!lcsm_bench_wanted(b, name) || !fits(b, name, desc, x.grads)) return LCSM_OK;
    lcsm_bench_progress(b, name);
    LCSM_TRY(lcsm_eos_run_make(&x.run, of, desc, x.grads, err));
    for (int run = 0; run < b->runs; run++)
        LCSM_TRY(lcsm_eos_run_plan(&x.run, b->ctx[run], x.grads, err));
    LCSM_TRY(lcsm_bench_measure(b, rate_of(c->basis), timed_pass, &x, t, err));
    for (int run = 0; run < b->runs; run++) {
        char           note[LCSM_BENCH_NAME];
        lcsm_bench_row row = lcsm_bench_row_of(b, name, run);
        row.error          = error;
        figures(b, c, &x.run, t, pass, run, &row);
        if (b->threads[run] == 2 && b->threads[0] == 1)
            lcsm_bench_set(&row, LCSM_BENCH_SPEEDUP, t[0].seconds / t[run].seconds, SPEEDUP_TARGET);
        write_note(b, &x.run, &row, pass, run, note);
        row.note = note;
        lcsm_bench_emit(b, &row);
    }
cleanup:
    lcsm_eos_run_free(&x.run);
    return st;
}

/* Verifies, then times forward, and forward and backward. */
static lcsm_status bench_one(lcsm_bench_frame *b, const bench_case *c, lcsm_eos_sizes n,
                             lcsm_error *err)
{
    lcsm_status   st = LCSM_OK;
    lcsm_eos_case of = *find_case(c->of);
    lcsm_eos_desc desc;
    double        error;
    bool          right;
    char          name[LCSM_BENCH_PASSES][LCSM_BENCH_NAME];
    if (of.gen == LCSM_GEN_GATE) of.tau = 16;
    LCSM_OR_RETURN(lcsm_eos_run_describe(&desc, &of, n, err));
    desc.bf16_products = c->basis == ROUNDED;
    for (int pass = 0; pass < LCSM_BENCH_PASSES; pass++) name_of(name[pass], c->name, pass, &desc);
    if (!lcsm_bench_wanted(b, name[0]) && !lcsm_bench_wanted(b, name[1])) return LCSM_OK;
    lcsm_bench_progress(b, name[0]);
    LCSM_OR_RETURN(verify(b, &of, n, c->basis == ROUNDED, &error, &right, err));
    for (int pass = 0; pass < LCSM_BENCH_PASSES; pass++) {
        if (right) LCSM_OR_RETURN(time_pass(b, c, &of, &desc, pass, error, err));
        else if (lcsm_bench_wanted(b, name[pass]))
            lcsm_bench_not_timed(b, name[pass], error, true, "WRONG, not timed");
    }
    return st;
}

/* ---- long sequences --------------------------------------------------------------------- */

/* As many tokens in one long sequence as in several short ones, in turn. */
static lcsm_status measure_length(lcsm_eos_run *r, lcsm_eos_run *part, int run, bool grads,
                                  double *whole, double *parts, lcsm_error *err)
{
    enum { REPS = 4 };
    ptrdiff_t times = r->desc.T / part->desc.T;
    *whole = *parts = INFINITY;
    for (int rep = 0; rep < REPS; rep++) {
        double from = lcsm_now();
        LCSM_OR_RETURN(lcsm_eos_run_pass(r, run, grads, err));
        double middle = lcsm_now();
        for (ptrdiff_t j = 0; j < times; j++)
            LCSM_OR_RETURN(lcsm_eos_run_pass(part, run, grads, err));
        double end = lcsm_now();
        *whole     = fmin(*whole, middle - from);
        *parts     = fmin(*parts, end - middle);
    }
    return LCSM_OK;
}

static lcsm_status length_row(lcsm_bench_frame *b, const char *name, lcsm_eos_run *whole,
                              lcsm_eos_run *part, int pass, int run, lcsm_error *err)
{
    lcsm_status     st                 = LCSM_OK;
    bool            grads              = pass == LCSM_BENCH_BOTH;
    lcsm_bench_time t[LCSM_BENCH_RUNS] = {{NAN, 1}, {NAN, 1}};
    double          parts;
    char            note[64];
    LCSM_OR_RETURN(lcsm_eos_run_plan(whole, b->ctx[run], grads, err));
    LCSM_OR_RETURN(lcsm_eos_run_plan(part, b->ctx[run], grads, err));
    LCSM_OR_RETURN(measure_length(whole, part, run, grads, &t[run].seconds, &parts, err));
    lcsm_bench_row row = lcsm_bench_row_of(b, name, run);
    figures(b, &LONG, whole, t, pass, run, &row);
    lcsm_bench_set(&row, LCSM_BENCH_LENGTH, t[run].seconds / parts, LENGTH_TARGET);
    (void)snprintf(note, sizeof note, "beside %td x T%td", whole->desc.T / part->desc.T,
                   part->desc.T);
    row.note = note;
    lcsm_bench_emit(b, &row);
    return st;
}

static lcsm_status bench_length(lcsm_bench_frame *b, int pass, ptrdiff_t T, ptrdiff_t short_T,
                                lcsm_error *err)
{
    lcsm_status          st;
    bool                 grads = pass == LCSM_BENCH_BOTH;
    const lcsm_eos_case *of    = find_case(LONG.of);
    lcsm_eos_run         whole = {0}, part = {0};
    lcsm_eos_desc        desc[2];
    char                 name[LCSM_BENCH_NAME];
    LCSM_TRY(lcsm_eos_run_describe(&desc[0], of, (lcsm_eos_sizes){1, T, 1, 64, 128}, err));
    LCSM_TRY(lcsm_eos_run_describe(&desc[1], of, (lcsm_eos_sizes){1, short_T, 1, 64, 128}, err));
    name_of(name, LONG.name, pass, &desc[0]);
    if (!lcsm_bench_wanted(b, name) || !fits(b, name, &desc[0], grads)) return LCSM_OK;
    lcsm_bench_progress(b, name);
    LCSM_TRY(lcsm_eos_run_make(&whole, of, &desc[0], grads, err));
    LCSM_TRY(lcsm_eos_run_make(&part, of, &desc[1], grads, err));
    for (int run = 0; run < b->runs; run++)
        LCSM_TRY(length_row(b, name, &whole, &part, pass, run, err));
cleanup:
    lcsm_eos_run_free(&whole);
    lcsm_eos_run_free(&part);
    return st;
}

/* ---- all of it -------------------------------------------------------------------------- */

static lcsm_status run_all(lcsm_bench_frame *b, lcsm_error *err)
{
    ptrdiff_t T = b->options.quick ? 100000 : 1000000;
    lcsm_bench_measure_machine(b);
    for (size_t j = 0; j < COUNT(CASES); j++) {
        const lcsm_eos_sizes *sizes = SIZES[CASES[j].shapes];
        for (int k = 0; k < (b->options.quick ? 1 : 2) && sizes[k].B > 0; k++)
            LCSM_OR_RETURN(bench_one(b, &CASES[j], sizes[k], err));
    }
    for (int pass = 0; pass < LCSM_BENCH_PASSES; pass++)
        LCSM_OR_RETURN(bench_length(b, pass, T, 10000, err));
    LCSM_OR_RETURN(lcsm_bench_attention(b, err));
    return lcsm_bench_products(b, err);
}

lcsm_status lcsm_bench_eos(const lcsm_bench_options *options, const lcsm_bench_sink *sink,
                           lcsm_error *err)
{
    lcsm_bench_frame b;
    lcsm_status      st = lcsm_bench_open(&b, options, sink, err);
    if (st != LCSM_OK) return st;
    st = run_all(&b, err);
    lcsm_bench_close(&b);
    return st;
}
