/* frame.c - contexts, rates, the timing loop and rows of benchmarks. */
#include "bench/frame.h"
#include "base/sized.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REPS = 400, MIN_REPS = 3 };

/* Long beside the time that a sleeping thread takes to wake up. */
#define PROBE_SECONDS 4e-3

static const char *const PASS_NAMES[LCSM_BENCH_PASSES] = {"fwd", "fwd+bwd"};

/* ---- the machine ---- */

static lcsm_status open_contexts(lcsm_bench_frame *b, lcsm_error *err)
{
    lcsm_context_options o = {.size = sizeof o, .isa = b->options.isa};
    lcsm_status          st;
    for (int run = 0; run < b->runs; run++) {
        o.threads = b->threads[run];
        if ((st = lcsm_context_create(&b->ctx[run], &o, err)) != LCSM_OK) return st;
    }
    o.isa = LCSM_ISA_REFERENCE;
    if ((st = lcsm_context_create(&b->reference, &o, err)) != LCSM_OK) return st;
    return lcsm_probe_create(&b->probe, b->ctx[0], PROBE_SECONDS, err);
}

lcsm_status lcsm_bench_open(lcsm_bench_frame *b, const lcsm_bench_options *options,
                            const lcsm_bench_sink *sink, lcsm_error *err)
{
    *b = (lcsm_bench_frame){.runs = 1, .threads = {1}};
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_bench_options, filter, &b->options, options, err));
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_bench_sink, user, &b->sink, sink, err));
    if (b->options.seconds <= 0) b->options.seconds = b->options.quick ? 0.2 : 1;
    if (b->options.threads > 0) {
        b->threads[0] = b->options.threads;
    } else if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        b->runs       = 2;
        b->threads[1] = 2;
    }
    lcsm_status st = open_contexts(b, err);
    if (st != LCSM_OK) lcsm_bench_close(b);
    return st;
}

void lcsm_bench_close(lcsm_bench_frame *b)
{
    lcsm_probe_free(b->probe);
    lcsm_context_free(b->reference);
    for (int run = 0; run < LCSM_BENCH_RUNS; run++) lcsm_context_free(b->ctx[run]);
    *b = (lcsm_bench_frame){0};
}

static void probe(lcsm_bench_frame *b, int run, lcsm_rate rate)
{
    double now         = lcsm_probe_rate(b->probe, rate, b->ctx[run]->pool);
    b->best[run][rate] = fmax(b->best[run][rate], now);
}

void lcsm_bench_measure_machine(lcsm_bench_frame *b)
{
    enum { TIMES = 20 };
    lcsm_bench_progress(b, "the peak of this machine");
    for (int run = 0; run < b->runs; run++) {
        for (int j = 0; j < TIMES; j++)
            for (int rate = 0; rate < LCSM_RATE_COUNT; rate++) probe(b, run, (lcsm_rate)rate);
        const double *r = b->best[run];
        if (b->sink.machine != NULL)
            b->sink.machine(b->sink.user, &(lcsm_bench_machine){
                                              sizeof(lcsm_bench_machine), b->threads[run],
                                              lcsm_context_isa_name(b->ctx[run]),
                                              r[LCSM_RATE_FMA] * 1e-9, r[LCSM_RATE_EXP] * 1e-9,
                                              r[LCSM_RATE_GATE] * 1e-9, r[LCSM_RATE_READ] * 1e-9});
    }
}

/* ---- timing ---- */

lcsm_status lcsm_bench_measure(lcsm_bench_frame *b, lcsm_rate rate, lcsm_bench_pass *pass,
                               void *arg, lcsm_bench_time *t, lcsm_error *err)
{
    double end;
    for (int run = 0; run < b->runs; run++) {
        LCSM_OR_RETURN(pass(arg, run, err)); /* touches all memory */
        t[run]                      = (lcsm_bench_time){INFINITY, 1};
        b->best[run][LCSM_RATE_FMA] = b->best[run][rate] = 0;
    }
    end = lcsm_now() + b->options.seconds;
    for (int rep = 0; rep < MIN_REPS || (rep < MAX_REPS && lcsm_now() < end); rep++)
        for (int run = 0; run < b->runs; run++) {
            probe(b, run, LCSM_RATE_FMA);
            if (rate != LCSM_RATE_FMA) probe(b, run, rate);
            double from = lcsm_now(), used = lcsm_processor_time();
            LCSM_OR_RETURN(pass(arg, run, err));
            double took = lcsm_now() - from;
            if (took >= t[run].seconds) continue;
            t[run].seconds = took;
            t[run].share   = (lcsm_processor_time() - used) / (took * b->threads[run]);
        }
    return LCSM_OK;
}

/* ---- names and rows ---- */

bool lcsm_bench_wanted(const lcsm_bench_frame *b, const char *name)
{
    return b->options.filter == NULL || strstr(name, b->options.filter) != NULL;
}

void lcsm_bench_progress(const lcsm_bench_frame *b, const char *text)
{
    if (b->sink.progress != NULL) b->sink.progress(b->sink.user, text);
}

void lcsm_bench_name(char name[LCSM_BENCH_NAME], const char *what, int pass, ptrdiff_t B,
                     ptrdiff_t T, ptrdiff_t H, ptrdiff_t K, ptrdiff_t D)
{
    (void)snprintf(name, LCSM_BENCH_NAME, "%s/%s/B%td-T%td-H%td-K%td-D%td", what, PASS_NAMES[pass],
                   B, T, H, K, D);
}

lcsm_bench_row lcsm_bench_row_of(const lcsm_bench_frame *b, const char *name, int run)
{
    lcsm_bench_row row = {.size        = sizeof row,
                          .name        = name,
                          .threads     = b->threads[run],
                          .seconds     = NAN,
                          .share       = NAN,
                          .gflops      = NAN,
                          .peak_gflops = NAN,
                          .error       = NAN,
                          .form        = "",
                          .note        = ""};
    for (int j = 0; j < LCSM_BENCH_FIGURES; j++)
        row.figure[j] = (lcsm_bench_result){NAN, NAN, true};
    return row;
}

void lcsm_bench_set_time(const lcsm_bench_frame *b, lcsm_bench_row *row, int run,
                         const lcsm_bench_time *t, double flops)
{
    row->seconds     = t[run].seconds;
    row->share       = t[run].share;
    row->gflops      = flops / row->seconds * 1e-9;
    row->peak_gflops = b->best[run][LCSM_RATE_FMA] * 1e-9;
}

void lcsm_bench_set(lcsm_bench_row *row, lcsm_bench_figure which, double value, double target)
{
    bool at_least =
        which == LCSM_BENCH_PEAK || which == LCSM_BENCH_SPEEDUP || which == LCSM_BENCH_TIMES;
    bool met           = isnan(target) || (at_least ? value >= target : value <= target);
    row->figure[which] = (lcsm_bench_result){value, target, met};
}

void lcsm_bench_emit(const lcsm_bench_frame *b, const lcsm_bench_row *row)
{
    if (b->sink.row != NULL) b->sink.row(b->sink.user, row);
}

void lcsm_bench_not_timed(const lcsm_bench_frame *b, const char *name, double error, bool wrong,
                          const char *note)
{
    for (int run = 0; run < b->runs; run++) {
        lcsm_bench_row row = lcsm_bench_row_of(b, name, run);
        row.error          = error;
        row.wrong          = wrong;
        row.note           = note;
        lcsm_bench_emit(b, &row);
    }
}

bool lcsm_bench_fits(const lcsm_bench_frame *b, const char *name, double bytes)
{
    char   note[96];
    double have = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes < have) return true;
    (void)snprintf(note, sizeof note, "not timed: needs %.1f GB, %.1f GB are free", bytes * 1e-9,
                   have * 1e-9);
    lcsm_bench_not_timed(b, name, NAN, false, note);
    return false;
}
