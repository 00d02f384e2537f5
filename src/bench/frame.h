/*
 * bench/frame.h - what benchmarks share: contexts, the machine's rates, the timing loop, rows.
 *
 * A repetition measures, for each number of threads in turn, the peak and then the pass, so all of
 * them see the same machine. The best of each counts: the best time of the case, and the best rate
 * of the machine beside it, since a busy neighbour can only make either of them worse. Rates of
 * other cases do not count: a processor's clock changes by a third from one second to the next.
 */
#ifndef LCSM_BENCH_FRAME_H
#define LCSM_BENCH_FRAME_H
#include <lcsm/bench.h>

#include "base/clock.h"
#include "base/error.h"
#include "kernel/probe/rates.h"

enum { LCSM_BENCH_RUNS = 2, LCSM_BENCH_NAME = 96 };
enum { LCSM_BENCH_FWD, LCSM_BENCH_BOTH, LCSM_BENCH_PASSES };

typedef struct {
    lcsm_bench_options options;
    lcsm_bench_sink    sink;
    int                runs; /* numbers of threads */
    int                threads[LCSM_BENCH_RUNS];
    lcsm_context      *ctx[LCSM_BENCH_RUNS], *reference;
    lcsm_probe_bench  *probe;
    double             best[LCSM_BENCH_RUNS][LCSM_RATE_COUNT]; /* rates beside the case */
} lcsm_bench_frame;

/* The best time of a pass, and which part of it the threads were on a processor. */
typedef struct {
    double seconds, share;
} lcsm_bench_time;

/* One pass with the run-th number of threads. */
typedef lcsm_status lcsm_bench_pass(void *arg, int run, lcsm_error *err);

lcsm_status lcsm_bench_open(lcsm_bench_frame *b, const lcsm_bench_options *options,
                            const lcsm_bench_sink *sink, lcsm_error *err);
void        lcsm_bench_close(lcsm_bench_frame *b);

void lcsm_bench_measure_machine(lcsm_bench_frame *b);

/* Times a pass with every number of threads; the rate, beside that of FMA, is measured too unless
 * it is LCSM_RATE_FMA. */
lcsm_status lcsm_bench_measure(lcsm_bench_frame *b, lcsm_rate rate, lcsm_bench_pass *pass,
                               void *arg, lcsm_bench_time *t, lcsm_error *err);

bool lcsm_bench_wanted(const lcsm_bench_frame *b, const char *name);
void lcsm_bench_progress(const lcsm_bench_frame *b, const char *text);
void lcsm_bench_name(char name[LCSM_BENCH_NAME], const char *what, int pass, ptrdiff_t B,
                     ptrdiff_t T, ptrdiff_t H, ptrdiff_t K, ptrdiff_t D);

/* A row with nothing measured; the time and what follows from it and the work in flops; a figure
 * and whether it meets its target (NAN: none). */
lcsm_bench_row lcsm_bench_row_of(const lcsm_bench_frame *b, const char *name, int run);
void           lcsm_bench_set_time(const lcsm_bench_frame *b, lcsm_bench_row *row, int run,
                                   const lcsm_bench_time *t, double flops);
void lcsm_bench_set(lcsm_bench_row *row, lcsm_bench_figure which, double value, double target);
void lcsm_bench_emit(const lcsm_bench_frame *b, const lcsm_bench_row *row);
/* Rows for every number of threads that say why there is no time. */
void lcsm_bench_not_timed(const lcsm_bench_frame *b, const char *name, double error, bool wrong,
                          const char *note);

/* True if so many bytes are free; a row says so if not. */
bool lcsm_bench_fits(const lcsm_bench_frame *b, const char *name, double bytes);

/* The comparison with softmax attention; products in float and in bfloat16. */
lcsm_status lcsm_bench_attention(lcsm_bench_frame *b, lcsm_error *err);
lcsm_status lcsm_bench_products(lcsm_bench_frame *b, lcsm_error *err);

#endif
