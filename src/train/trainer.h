/*
 * train/trainer.h - what a trainer holds: a model, the graph of its updates, the optimiser, and
 * the memory that is carried from update to update.
 *
 * An update runs `accumulate` batches forward and backward, unit by unit (train/shards.h), weighs
 * each by the targets that count in it, so that the gradient is that of the mean over all of them,
 * and takes one step. Of several ranks each runs its own units and steps its own slice of the
 * parameters, which then go to all. The same graph evaluates: forward only, without dropout.
 */
#ifndef LCSM_TRAIN_TRAINER_H
#define LCSM_TRAIN_TRAINER_H
#include <lcsm/train.h>

#include "train/evaluator.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/segments.h"
#include "train/settings.h"
#include "train/shards.h"

struct lcsm_trainer {
    lcsm_model       *model;
    lcsm_train_config cfg;
    lcsm_schedule     schedule;
    lcsm_evaluator    e; /* the graph of a unit, which learns too; its own state is NULL, or that
                            of segments */
    lcsm_optimizer    *optimizer; /* of the own slice */
    lcsm_shards        shards;
    lcsm_segments      segments; /* closed if there is one */
    lcsm_state       **states;   /* of each own shard; NULL unless the memory is carried */
    int32_t           *rows;     /* tokens, targets and resets of a unit; NULL if it is the batch */
    struct lcsm_votes *votes;    /* what all ranks say of a step */
    int64_t            tokens;   /* targets that counted in all updates */
    const lcsm_watch  *watch;    /* sees the steps of updates, the optimiser's too; NULL: nobody */
    struct {
        double computed; /* seconds of the own units */
        double waiting;  /* seconds in which the ranks waited for each other, the mean of them */
        int    slowest;  /* the rank that computed longest so far */
    } ranks;
};

/* Freezes what these settings do not train: where a model has adapters, all but them. */
lcsm_status lcsm_train_freeze(lcsm_model *model, const lcsm_train_config *cfg, lcsm_error *err);

/* As lcsm_trainer_create; epoch counts updates, for schedules that need it. All ranks make one
 * together, with the same values of the model, and take their steps together. */
lcsm_status lcsm_trainer_make(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                              lcsm_dist *dist, int64_t total, int64_t epoch, lcsm_error *err);

/* Own units. */
int lcsm_trainer_units(const lcsm_trainer *t);

#endif
