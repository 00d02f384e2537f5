/*
 * train/schedule.h - the learning rate as a function of the steps done.
 *
 * Warm-up leads from `start` to `peak` in a straight line over `warmup` steps; then, with u steps
 * done, w = warmup and x = (u - w) / (total - w), at most 1:
 *
 *     constant       peak
 *     linear         peak + (last - peak) x
 *     cosine         last + (peak - last) (1 + cos(pi x)) / 2
 *     cosine-epoch   the same, but u counts only whole epochs of `epoch` steps
 *     inverse-sqrt   peak sqrt(w / u)
 */
#ifndef LCSM_TRAIN_SCHEDULE_H
#define LCSM_TRAIN_SCHEDULE_H
#include <stdint.h>

#include "base/error.h"

typedef enum {
    LCSM_SCHEDULE_CONSTANT,
    LCSM_SCHEDULE_LINEAR,
    LCSM_SCHEDULE_COSINE,
    LCSM_SCHEDULE_COSINE_EPOCH,
    LCSM_SCHEDULE_INVERSE_SQRT,
    LCSM_SCHEDULE_COUNT
} lcsm_schedule_kind;

typedef struct {
    lcsm_schedule_kind kind;
    double             peak;
    double             start; /* the rate of the first step of a warm-up; 0: peak / (warmup + 1) */
    double             last;  /* where linear and cosine end */
    int64_t            warmup;
    int64_t            total; /* steps, warm-up included; linear and cosine */
    int64_t            epoch; /* steps of an epoch; cosine-epoch */
} lcsm_schedule;

/* "constant" and so on; NULL beyond the last kind. */
const char *lcsm_schedule_name(lcsm_schedule_kind kind);

lcsm_status lcsm_schedule_check(const lcsm_schedule *s, lcsm_error *err);

/* The rate of the step that follows `done` completed ones, of a checked schedule. */
double lcsm_schedule_rate(const lcsm_schedule *s, int64_t done);

#endif
