/*
 * lcsm/bench_train.h - time whole updates of a model: how fast, where the time goes, how much
 * memory, beside what this machine can do.
 *
 * Ownership  Everything is in the struct that is filled; its strings live as long as the program.
 * Threads    A benchmark belongs to one thread and uses as many as its options say.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 */
#ifndef LCSM_BENCH_TRAIN_H
#define LCSM_BENCH_TRAIN_H
#include <lcsm/bench.h>
#include <lcsm/config.h>
#include <lcsm/train.h>

LCSM_BEGIN_DECLS

enum { LCSM_BENCH_OPS = 48 };

/* Seconds of an update in the steps of one op, recomputation under backward. */
typedef struct {
    const char *op; /* a name of the op table, "optimizer", or "other" */
    double      forward, backward;
} lcsm_bench_share;

typedef struct {
    size_t      size; /* sizeof(lcsm_bench_update), set by the caller */
    int         threads;
    const char *isa;
    double      seconds, median; /* of an update: the best, and the median */
    int         updates;
    double      share;                        /* of the best that its threads had a processor */
    double      tokens_per_update, examples;  /* an update's */
    double      flops_per_token;              /* useful ones: forward, and twice that backward */
    double      gflops, peak_gflops, gb_read; /* of the best update; what the machine can do */
    double      beside; /* an update's fraction of the peak during it, the median */
    size_t      parameters, values, gradients, moments; /* a count, then bytes */
    size_t arena, live, unshared; /* bytes of values and gradients under way; at least; at most */
    size_t max_rss;               /* bytes of the process, its most */
    double loss;                  /* of the last update */

    lcsm_bench_share shares[LCSM_BENCH_OPS]; /* of the best update, the largest first */
    size_t           share_count;
} lcsm_bench_update;

/* The model and the batch of train's task that the peers' scripts train: the paper's GLA for "lm",
 * code 1-1-1-0 for "mqar". Every other setting becomes a default. */
LCSM_API void lcsm_bench_train_settings(lcsm_model_config *model, lcsm_train_config *train);

/* Updates on random tokens, or on recall examples. Of the options `threads`, `isa` and `seconds`
 * count; 0 seconds are 10. */
LCSM_API lcsm_status lcsm_bench_train(lcsm_bench_update *out, const lcsm_bench_options *options,
                                      const lcsm_model_config *model,
                                      const lcsm_train_config *train, lcsm_error *err);

LCSM_END_DECLS
#endif
