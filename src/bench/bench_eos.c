/*
 * bench_eos.c - the EOS operator beside the peak of this machine: operand forms by sizes.
 *
 * A repetition measures, for each number of threads in turn, the peak and then the pass, so all of
 * them see the same machine. The best of each counts: the best time of the case, and the best rate
 * of the machine so far, since a busy neighbour can only make either of them worse.
 */
#include <lcsm/bench.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/eos_run.h"
#include "kernel/probe/rates.h"

enum { FWD, BOTH, PASSES };
static const char *const PASS_NAMES[PASSES] = {"fwd", "fwd+bwd"};

/* What a case is held against beside the FMA peak. */
typedef enum { PLAIN, EXPONENTIALS, GATES } basis;

#define NONE NAN
typedef struct {
    const char *name, *of; /* of: the row of check/eos_case.c */
    basis       basis;
    bool        square; /* has the two large sizes; otherwise the one of Mamba */
    double      peak[PASSES], evals[PASSES];
} bench_case;

/* The targets are those of the project: fractions of the peak, multiples of the evaluations. */
static const bench_case CASES[] = {
    {"ones", "ones", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"scalar-static", "scalar-static", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"scalar-token", "scalar-token", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"row-static", "row-static", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"row-token", "row-token", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"col-static", "col-static", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"col-token", "col-token", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"outer-static", "outer-static", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"outer-token", "outer-token", PLAIN, true, {0.50, 0.40}, {NONE, NONE}},
    {"delta", "delta", PLAIN, true, {0.30, 0.25}, {NONE, NONE}},
    {"gated-delta", "delta-row", PLAIN, true, {0.30, 0.25}, {NONE, NONE}},
    {"full-static", "full-static", PLAIN, true, {0.25, NONE}, {NONE, NONE}},
    {"full-token", "full-token", PLAIN, true, {0.25, NONE}, {NONE, NONE}},
    {"mamba", "gen-exp", EXPONENTIALS, false, {NONE, NONE}, {1.5, 4}},
    {"gate-6", "gate-6", GATES, false, {NONE, NONE}, {1.5, 4}},
    {"gate-7", "gate-7", GATES, false, {NONE, NONE}, {1.5, 4}},
    {"gate-8", "gate-8", GATES, false, {NONE, NONE}, {1.5, 4}},
    {"gate-9", "gate-9", GATES, false, {NONE, NONE}, {1.5, 4}},
    {"row-phase-static", "row-phase-static", PLAIN, true, {NONE, NONE}, {NONE, NONE}},
    {"row-phase-token", "row-phase-token", PLAIN, true, {NONE, NONE}, {NONE, NONE}},
};

static const lcsm_eos_sizes SQUARE[] = {{4, 2048, 4, 64, 128}, {8, 512, 1, 128, 512}};
static const lcsm_eos_sizes WIDE[]   = {{1, 2048, 1, 16, 1536}};

#define SPEEDUP_TARGET 1.8
#define MEMORY_TARGET  1.0
#define LENGTH_TARGET  1.1
/* Float kernels against the double reference, as in the checks of the operator. */
#define ERROR_BOUND 2e-5

enum { MAX_NAME = 96, MAX_REPS = 400, MIN_REPS = 3 };

typedef struct {
    lcsm_bench_options     options;
    const lcsm_bench_sink *sink;
    int                    runs; /* numbers of threads */
    int                    threads[LCSM_EOS_RUN_PLANS];
    lcsm_context          *ctx[LCSM_EOS_RUN_PLANS], *reference;
    lcsm_probe_bench      *probe;
    double                 best[LCSM_EOS_RUN_PLANS][LCSM_RATE_COUNT]; /* rates since the start */
} bench;

static void progress(const bench *b, const char *text)
{
    if (b->sink->progress != NULL) b->sink->progress(b->sink->user, text);
}

static bool wanted(const bench *b, const char *name)
{
    return b->options.filter == NULL || strstr(name, b->options.filter) != NULL;
}

/* The best time of a pass, and which part of it the threads were on a processor. */
typedef struct {
    double seconds, share;
} best_time;

/* ---- the machine ------------------------------------------------------------------------ */

static void probe(bench *b, int run, lcsm_rate rate)
{
    double now         = lcsm_probe_rate(b->probe, rate, b->threads[run]);
    b->best[run][rate] = fmax(b->best[run][rate], now);
}

static void measure_machine(bench *b)
{
    enum { TIMES = 20 };
    progress(b, "the peak of this machine");
    for (int run = 0; run < b->runs; run++) {
        for (int j = 0; j < TIMES; j++)
            for (int rate = 0; rate < LCSM_RATE_COUNT; rate++) probe(b, run, (lcsm_rate)rate);
        const double *r = b->best[run];
        if (b->sink->machine != NULL)
            b->sink->machine(
                b->sink->user,
                &(lcsm_bench_machine){b->threads[run], lcsm_context_isa_name(b->ctx[run]),
                                      r[LCSM_RATE_FMA] * 1e-9, r[LCSM_RATE_EXP] * 1e-9,
                                      r[LCSM_RATE_GATE] * 1e-9, r[LCSM_RATE_READ] * 1e-9});
    }
}

/* ---- one case --------------------------------------------------------------------------- */

static lcsm_rate rate_of(basis kind)
{
    return kind == EXPONENTIALS ? LCSM_RATE_EXP : LCSM_RATE_GATE;
}

static double worst_error(const lcsm_eos_problem *p, const lcsm_eos_result *got,
                          const lcsm_eos_result *want)
{
    double worst = lcsm_relative_error(got->y, want->y, p->y_size);
    worst        = fmax(worst, lcsm_relative_error(got->m_T, want->m_T, p->m_size));
    for (int j = 0; j < EOS_OPERANDS; j++)
        worst = fmax(worst, lcsm_relative_error(got->grad[j], want->grad[j], p->size[j]));
    return worst;
}

/* The kernels that will be timed, on a shorter batch, against the double reference. */
static lcsm_status verify(const bench *b, const lcsm_eos_case *c, lcsm_eos_sizes n, double *error,
                          lcsm_error *err)
{
    const lcsm_eos_setting set  = {.decay = 0.1, .seed = 21};
    const lcsm_context    *fast = b->ctx[b->runs - 1];
    ptrdiff_t              most = b->options.quick ? 160 : 544; /* several chunks */
    lcsm_eos_problem       p    = {0};
    lcsm_eos_result        got = {0}, want = {0};
    lcsm_status            st;
    n.B = 1;
    n.H = n.H < 2 ? n.H : 2;
    n.T = n.T < most ? n.T : most;
    LCSM_TRY(lcsm_eos_problem_make(&p, c, n, &set, err));
    LCSM_TRY(lcsm_eos_result_make(&got, &p, err));
    LCSM_TRY(lcsm_eos_result_make(&want, &p, err));
    LCSM_TRY(lcsm_eos_case_run_f64(b->reference, &p, LCSM_FORM_RECURRENT, 0, true, &want, err));
    LCSM_TRY(lcsm_eos_case_run_f32(fast, &p, LCSM_FORM_AUTO, 0, true, &got, err));
    *error = worst_error(&p, &got, &want);
cleanup:
    lcsm_eos_problem_free(&p);
    lcsm_eos_result_free(&got);
    lcsm_eos_result_free(&want);
    return st;
}

static lcsm_status measure(bench *b, const bench_case *c, lcsm_eos_run *r, bool grads, best_time *t,
                           lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    double      end;
    for (int run = 0; run < b->runs; run++) {
        LCSM_TRY(lcsm_eos_run_pass(r, run, grads, err)); /* touches all memory */
        t[run].seconds = INFINITY;
    }
    end = lcsm_now() + b->options.seconds;
    for (int rep = 0; rep < MIN_REPS || (rep < MAX_REPS && lcsm_now() < end); rep++)
        for (int run = 0; run < b->runs; run++) {
            probe(b, run, LCSM_RATE_FMA);
            if (c->basis != PLAIN) probe(b, run, rate_of(c->basis));
            double from = lcsm_now(), used = lcsm_processor_time();
            LCSM_TRY(lcsm_eos_run_pass(r, run, grads, err));
            double took = lcsm_now() - from;
            if (took >= t[run].seconds) continue;
            t[run].seconds = took;
            t[run].share   = (lcsm_processor_time() - used) / (took * b->threads[run]);
        }
cleanup:
    return st;
}

/* ---- rows ------------------------------------------------------------------------------- */

static void set_figure(lcsm_bench_row *row, lcsm_bench_figure which, double value, double target)
{
    bool at_least      = which == LCSM_BENCH_PEAK || which == LCSM_BENCH_SPEEDUP;
    bool met           = isnan(target) || (at_least ? value >= target : value <= target);
    row->figure[which] = (lcsm_bench_result){value, target, met};
}

static lcsm_bench_row empty_row(const char *name, int threads)
{
    lcsm_bench_row row = {.name        = name,
                          .threads     = threads,
                          .seconds     = NAN,
                          .gflops      = NAN,
                          .peak_gflops = NAN,
                          .error       = NAN,
                          .form        = "",
                          .note        = ""};
    for (int j = 0; j < LCSM_BENCH_FIGURES; j++)
        row.figure[j] = (lcsm_bench_result){NAN, NAN, true};
    return row;
}

static void emit(const bench *b, const lcsm_bench_row *row)
{
    if (b->sink->row != NULL) b->sink->row(b->sink->user, row);
}

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
    set_figure(row, LCSM_BENCH_MEMORY, (double)row->extra_bytes / allowed_bytes(&r->desc, op),
               MEMORY_TARGET);
}

static void figures(const bench *b, const bench_case *c, const lcsm_eos_run *r, const best_time *t,
                    int pass, int run, lcsm_bench_row *row)
{
    const lcsm_eos *op     = r->plan[run].op;
    double          work   = cells(&r->desc) * (pass == FWD ? 4 : 12);
    double          planes = lcsm_eos_is_complex(op) ? 2 : 1;
    row->seconds           = t[run].seconds;
    row->gflops            = work * planes / row->seconds * 1e-9;
    row->peak_gflops       = b->best[run][LCSM_RATE_FMA] * 1e-9;
    row->form              = lcsm_eos_form_name(lcsm_eos_chosen_form(op));
    row->chunk             = lcsm_eos_chosen_chunk(op);
    set_figure(row, LCSM_BENCH_PEAK, row->gflops / row->peak_gflops, c->peak[pass]);
    if (c->basis != PLAIN) {
        double alone = cells(&r->desc) / b->best[run][rate_of(c->basis)];
        set_figure(row, LCSM_BENCH_EVALS, row->seconds / alone, c->evals[pass]);
    }
    if (b->threads[run] == 2 && b->threads[0] == 1)
        set_figure(row, LCSM_BENCH_SPEEDUP, t[0].seconds / t[run].seconds, SPEEDUP_TARGET);
    if (pass == BOTH) memory_figure(row, r, run);
}

/* Says so where memory is the limit (the time to read every array once is a large part), and where
 * somebody else had the processor. */
static void write_note(const bench *b, const lcsm_eos_run *r, const best_time *t, int pass, int run,
                       char note[MAX_NAME])
{
    double bytes = (double)lcsm_eos_run_bytes(&r->desc, pass == BOTH);
    double read  = bytes / b->best[run][LCSM_RATE_READ];
    *note        = '\0';
    if (t[run].share < 0.9)
        (void)snprintf(note, MAX_NAME, "its threads had a processor %.0f %% of the time",
                       100 * t[run].share);
    else if (read > 0.25 * t[run].seconds)
        (void)snprintf(note, MAX_NAME, "reading its %.2f GB once takes %.1f ms", bytes * 1e-9,
                       read * 1e3);
}

static void not_timed(const bench *b, const char *name, double error, bool wrong, const char *note)
{
    for (int run = 0; run < b->runs; run++) {
        lcsm_bench_row row = empty_row(name, b->threads[run]);
        row.error          = error;
        row.wrong          = wrong;
        row.note           = note;
        emit(b, &row);
    }
}

static double free_bytes(void)
{
    return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* True if the arrays fit; a row says so if not. Plans take less than the arrays. */
static bool fits(const bench *b, const char *name, const lcsm_eos_desc *desc, bool grads)
{
    char   note[96];
    double need = 1.5 * (double)lcsm_eos_run_bytes(desc, grads), have = free_bytes();
    if (need < have) return true;
    (void)snprintf(note, sizeof note, "not timed: needs %.1f GB, %.1f GB are free", need * 1e-9,
                   have * 1e-9);
    not_timed(b, name, NAN, false, note);
    return false;
}

static void name_of(char name[MAX_NAME], const char *what, int pass, const lcsm_eos_desc *n)
{
    (void)snprintf(name, MAX_NAME, "%s/%s/B%td-T%td-H%td-K%td-D%td", what, PASS_NAMES[pass], n->B,
                   n->T, n->H, n->K, n->D);
}

static lcsm_status time_pass(bench *b, const bench_case *c, const lcsm_eos_case *of,
                             const lcsm_eos_desc *desc, int pass, double error, lcsm_error *err)
{
    lcsm_status  st;
    lcsm_eos_run r = {0};
    best_time    t[LCSM_EOS_RUN_PLANS];
    char         name[MAX_NAME];
    name_of(name, c->name, pass, desc);
    if (!wanted(b, name) || !fits(b, name, desc, pass == BOTH)) return LCSM_OK;
    progress(b, name);
    LCSM_TRY(lcsm_eos_run_make(&r, of, desc, pass == BOTH, err));
    for (int run = 0; run < b->runs; run++)
        LCSM_TRY(lcsm_eos_run_plan(&r, b->ctx[run], pass == BOTH, err));
    LCSM_TRY(measure(b, c, &r, pass == BOTH, t, err));
    for (int run = 0; run < b->runs; run++) {
        char           note[MAX_NAME];
        lcsm_bench_row row = empty_row(name, b->threads[run]);
        row.error          = error;
        figures(b, c, &r, t, pass, run, &row);
        write_note(b, &r, t, pass, run, note);
        row.note = note;
        emit(b, &row);
    }
cleanup:
    lcsm_eos_run_free(&r);
    return st;
}

static const lcsm_eos_case *find_case(const char *name)
{
    size_t j = 0;
    while (j + 1 < LCSM_EOS_CASE_COUNT && strcmp(LCSM_EOS_CASES[j].name, name) != 0) j++;
    return &LCSM_EOS_CASES[j];
}

/* Verifies, then times forward, and forward and backward. */
static lcsm_status bench_one(bench *b, const bench_case *c, lcsm_eos_sizes n, lcsm_error *err)
{
    lcsm_status   st;
    lcsm_eos_case of = *find_case(c->of);
    lcsm_eos_desc desc;
    double        error;
    char          name[PASSES][MAX_NAME];
    if (of.gen == LCSM_GEN_GATE) of.tau = 16;
    LCSM_TRY(lcsm_eos_run_describe(&desc, &of, n, err));
    for (int pass = 0; pass < PASSES; pass++) name_of(name[pass], c->name, pass, &desc);
    if (!wanted(b, name[FWD]) && !wanted(b, name[BOTH])) return LCSM_OK;
    progress(b, name[FWD]);
    LCSM_TRY(verify(b, &of, n, &error, err));
    for (int pass = 0; pass < PASSES; pass++) {
        if (error <= ERROR_BOUND) LCSM_TRY(time_pass(b, c, &of, &desc, pass, error, err));
        else if (wanted(b, name[pass])) not_timed(b, name[pass], error, true, "WRONG, not timed");
    }
cleanup:
    return st;
}

/* ---- long sequences --------------------------------------------------------------------- */

/* As many tokens in one long sequence as in several short ones, in turn. */
static lcsm_status measure_length(lcsm_eos_run *r, lcsm_eos_run *part, int run, bool grads,
                                  double *whole, double *parts, lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    ptrdiff_t   times = r->desc.T / part->desc.T;
    *whole = *parts = INFINITY;
    for (int rep = 0; rep < MIN_REPS + 1; rep++) {
        double from = lcsm_now();
        LCSM_TRY(lcsm_eos_run_pass(r, run, grads, err));
        double middle = lcsm_now();
        for (ptrdiff_t j = 0; j < times; j++) LCSM_TRY(lcsm_eos_run_pass(part, run, grads, err));
        double end = lcsm_now();
        *whole     = fmin(*whole, middle - from);
        *parts     = fmin(*parts, end - middle);
    }
cleanup:
    return st;
}

static lcsm_status bench_length(bench *b, const bench_case *c, int pass, ptrdiff_t T,
                                ptrdiff_t short_T, lcsm_error *err)
{
    lcsm_status          st;
    const lcsm_eos_case *of       = find_case(c->of);
    lcsm_eos_run         long_run = {0}, short_run = {0};
    lcsm_eos_desc        desc[2];
    char                 name[MAX_NAME];
    LCSM_TRY(lcsm_eos_run_describe(&desc[0], of, (lcsm_eos_sizes){1, T, 1, 64, 128}, err));
    LCSM_TRY(lcsm_eos_run_describe(&desc[1], of, (lcsm_eos_sizes){1, short_T, 1, 64, 128}, err));
    name_of(name, c->name, pass, &desc[0]);
    if (!wanted(b, name) || !fits(b, name, &desc[0], pass == BOTH)) return LCSM_OK;
    progress(b, name);
    LCSM_TRY(lcsm_eos_run_make(&long_run, of, &desc[0], pass == BOTH, err));
    LCSM_TRY(lcsm_eos_run_make(&short_run, of, &desc[1], pass == BOTH, err));
    for (int run = 0; run < b->runs; run++) {
        best_time t[LCSM_EOS_RUN_PLANS] = {{NAN, 1}, {NAN, 1}};
        double    parts;
        char      note[64];
        LCSM_TRY(lcsm_eos_run_plan(&long_run, b->ctx[run], pass == BOTH, err));
        LCSM_TRY(lcsm_eos_run_plan(&short_run, b->ctx[run], pass == BOTH, err));
        LCSM_TRY(
            measure_length(&long_run, &short_run, run, pass == BOTH, &t[run].seconds, &parts, err));
        lcsm_bench_row row  = empty_row(name, b->threads[run]);
        bench_case     bare = *c;
        bare.peak[pass]     = NAN; /* only the length is asked here */
        figures(b, &bare, &long_run, t, pass, run, &row);
        row.figure[LCSM_BENCH_SPEEDUP] = (lcsm_bench_result){NAN, NAN, true};
        set_figure(&row, LCSM_BENCH_LENGTH, t[run].seconds / parts, LENGTH_TARGET);
        (void)snprintf(note, sizeof note, "beside %td x T%td", T / short_T, short_T);
        row.note = note;
        emit(b, &row);
    }
cleanup:
    lcsm_eos_run_free(&long_run);
    lcsm_eos_run_free(&short_run);
    return st;
}

/* ---- all of it -------------------------------------------------------------------------- */

static lcsm_status run_all(bench *b, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    measure_machine(b);
    for (size_t j = 0; j < COUNT(CASES); j++) {
        const lcsm_eos_sizes *sizes = CASES[j].square ? SQUARE : WIDE;
        size_t                count = CASES[j].square && !b->options.quick ? COUNT(SQUARE) : 1;
        for (size_t k = 0; k < count; k++) LCSM_TRY(bench_one(b, &CASES[j], sizes[k], err));
    }
    const bench_case *row = NULL;
    for (size_t j = 0; j < COUNT(CASES); j++)
        if (strcmp(CASES[j].name, "row-token") == 0) row = &CASES[j];
    ptrdiff_t T = b->options.quick ? 100000 : 1000000;
    for (int pass = 0; pass < PASSES; pass++) LCSM_TRY(bench_length(b, row, pass, T, 10000, err));
cleanup:
    return st;
}

static lcsm_status open_contexts(bench *b, lcsm_error *err)
{
    lcsm_context_options o = {.isa = b->options.isa, .threads = b->threads[0]};
    lcsm_status          st;
    for (int run = 0; run < b->runs; run++) {
        o.threads = b->threads[run];
        if ((st = lcsm_context_create(&b->ctx[run], &o, err)) != LCSM_OK) return st;
    }
    o.isa = LCSM_ISA_REFERENCE;
    if ((st = lcsm_context_create(&b->reference, &o, err)) != LCSM_OK) return st;
    return lcsm_probe_create(&b->probe, b->ctx[0], 1e-3, err);
}

lcsm_status lcsm_bench_eos(const lcsm_bench_options *options, const lcsm_bench_sink *sink,
                           lcsm_error *err)
{
    bench       b = {.options = *options, .sink = sink, .runs = 1, .threads = {1}};
    lcsm_status st;
    if (b.options.seconds <= 0) b.options.seconds = b.options.quick ? 0.2 : 1;
    if (options->threads > 0) {
        b.threads[0] = options->threads;
    } else if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        b.runs       = 2;
        b.threads[1] = 2;
    }
    LCSM_TRY(open_contexts(&b, err));
    LCSM_TRY(run_all(&b, err));
cleanup:
    lcsm_probe_free(b.probe);
    lcsm_context_free(b.reference);
    for (int run = 0; run < LCSM_EOS_RUN_PLANS; run++) lcsm_context_free(b.ctx[run]);
    return st;
}
