/*
 * train/budget.h - how long a run is: what its budgets say at a step and a time.
 *
 * Steps are known before a run; what a budget of time buys is known only from the steps that were
 * made. Evaluation takes at most a tenth of a budget of time.
 */
#ifndef LCSM_TRAIN_BUDGET_H
#define LCSM_TRAIN_BUDGET_H
#include "train/batches.h"
#include "train/schedule.h"

typedef struct {
    int64_t steps;      /* 0: only time ends the run */
    double  seconds;    /* 0: only steps do */
    int64_t eval_every; /* steps between evaluations; 0: ten times a run */
    bool    evaluates;
} lcsm_budget;

/* Where a run is. */
typedef struct {
    int64_t step;
    double  seconds;      /* of the run so far */
    double  eval_seconds; /* of these, in evaluations */
} lcsm_budget_at;

/* The smallest of the budgets of steps, tokens and epochs; epoch counts steps. With no budget at
 * all, 1000 steps. */
lcsm_budget lcsm_budget_of(const lcsm_train_config *cfg, int64_t epoch, bool evaluates);

/* How much of the run is done, 0 .. 1. */
double lcsm_budget_done(const lcsm_budget *b, int64_t step, double seconds);

/* How many steps the run will have, as far as is known now; 0: not at all. */
int64_t lcsm_budget_steps(const lcsm_budget *b, const lcsm_budget_at *at);

/* How many evaluations a run of so many steps has. */
int64_t lcsm_budget_evaluations(const lcsm_budget *b, int64_t steps);

/* Seconds that each evaluation from now on may take, so that all of them take a tenth of the time;
 * INFINITY without a budget of time. */
double lcsm_budget_allowance(const lcsm_budget *b, const lcsm_budget_at *at);

/* The schedule at this point: stretched over the steps or, where only time ends the run, over what
 * the time will buy, with a warm-up of a tenth of that at most. */
lcsm_schedule lcsm_budget_schedule(const lcsm_budget *b, const lcsm_budget_at *at,
                                   const lcsm_schedule *whole);

#endif
