/*
 * train/metrics.h - metrics.jsonl of a run: one JSON object a line, and TensorBoard events.
 *
 *     {"kind": "train", "step": 10, "tokens": 40960, "seconds": 1.5, "loss": 3.2, "lr": 0.001,
 *      "grad_norm": 0.7, "accuracy": 0.2, "tokens_per_second": 27000}
 *     {"kind": "eval", "step": ..., "tokens": ..., "seconds": ..., "split": "valid", "loss": ...,
 *      "perplexity": ..., "accuracy": ..., "score": ..., "bits_per_byte": ..., "word_perplexity":
 * ...}
 *     {"kind": "end", "reason": "steps", "step": ..., "tokens": ..., "seconds": ...,
 *      "best_loss": ..., "best_accuracy": ..., "peak_memory_bytes": ...}
 */
#ifndef LCSM_TRAIN_METRICS_H
#define LCSM_TRAIN_METRICS_H
#include <lcsm/train.h>

#include "train/settings.h"
#include "train/tensorboard.h"

typedef struct {
    const char       *run;
    lcsm_tensorboard *board; /* NULL: none */
} lcsm_metrics;

/* Writes an update, an evaluation or an end; other events leave no line. */
lcsm_status lcsm_metrics_write(const lcsm_metrics *m, const lcsm_train_event *e,
                               const lcsm_train_result *result, lcsm_error *err);

/* Whether the last line is an end: the run was not killed. */
bool lcsm_metrics_ended(const char *run);

/* What an evaluation says of a model; NAN: nothing. */
typedef struct {
    double loss, accuracy;
} lcsm_score;

/* By the loss, and where a task makes its examples by the accuracy first; anything is better than
 * nothing. */
bool lcsm_score_better(const lcsm_score *a, const lcsm_score *b, const lcsm_task *task);

/* Where a resumed run goes on: its last step and evaluation, and its best score. */
typedef struct {
    int64_t          step, evaluated;
    const lcsm_task *task;
    lcsm_score       best;
} lcsm_metrics_point;

/* Removes the lines of steps and evaluations after the point, which a resumed run writes again, and
 * ends and tests. */
lcsm_status lcsm_metrics_rewind(const char *run, const lcsm_metrics_point *at, lcsm_error *err);

/* Whether an evaluation after the point beats the best score: its model has taken the place of the
 * best one. Asked before the lines are removed. */
lcsm_status lcsm_metrics_beaten(const char *run, const lcsm_metrics_point *at, bool *beaten,
                                lcsm_error *err);

#endif
