/*
 * train/trainer.h - what a trainer holds: a model, the graph of its updates, the optimiser, and
 * the memory that is carried from update to update.
 *
 * An update runs `accumulate` batches forward and backward, weighs each by the targets that count
 * in it, so that the gradient is that of the mean over all of them, and takes one step. The same
 * graph evaluates: forward only, without dropout.
 */
#ifndef LCSM_TRAIN_TRAINER_H
#define LCSM_TRAIN_TRAINER_H
#include <lcsm/train.h>

#include "train/evaluator.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/settings.h"

struct lcsm_trainer {
    lcsm_model       *model;
    lcsm_train_config cfg;
    lcsm_schedule     schedule;
    lcsm_evaluator    e; /* the graph of a batch, which learns too; its own state is NULL */
    lcsm_optimizer   *optimizer;
    lcsm_state       *state;  /* NULL unless the memory is carried */
    int64_t           tokens; /* targets that counted in all updates */
    const lcsm_watch *watch;  /* sees the steps of updates, the optimiser's too; NULL: nobody */
};

/* As lcsm_trainer_create; epoch counts updates, for schedules that need it. */
lcsm_status lcsm_trainer_make(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                              int64_t total, int64_t epoch, lcsm_error *err);

#endif
