/*
 * train/run_checkpoint.h - a checkpoint of a run: all that the next step depends on.
 *
 *     model.safetensors       values; where most are frozen, adapter.safetensors has the others
 *     optimizer.safetensors   m.NAME and v.NAME, and `memory` if it is carried: that of each shard
 *     progress.json           where the run stands
 *
 * A run that goes on from one ends with the same bits as one that was never interrupted. Ranks save
 * and load together: rank 0 reads and writes, and the files do not depend on how many they are.
 */
#ifndef LCSM_TRAIN_RUN_CHECKPOINT_H
#define LCSM_TRAIN_RUN_CHECKPOINT_H
#include "model/model_weights.h"
#include "train/trainer.h"

typedef struct {
    int64_t step, tokens;
    int64_t evaluated;         /* the step of the last evaluation; 0: none */
    int64_t worse;             /* evaluations since the best one */
    int64_t data;              /* tokens of the training data, to see that it is the same */
    int64_t hash;              /* of those tokens; 0: not known */
    int64_t eval_blocks;       /* of every evaluation, as time allows; 0: not known yet */
    int64_t read;              /* tokens that the steps read, targets or not */
    double  seconds;           /* of the run, in all sessions */
    double  step_seconds;      /* of these, in the steps that `read` counts */
    double  eval_seconds;      /* of these, in evaluations */
    double  evaluated_seconds; /* when the last evaluation began */
    double  best_loss;         /* NAN: no evaluation yet */
    double  best_accuracy;     /* NAN: no evaluation yet */
} lcsm_progress;

lcsm_status lcsm_run_checkpoint_save(const char *run, const lcsm_trainer *t, const lcsm_progress *p,
                                     size_t keep, lcsm_error *err);

/* The values that rank 0 has, to all ranks. */
lcsm_status lcsm_run_values_share(const lcsm_trainer *t, lcsm_error *err);

/* The file of a run, and of its checkpoints, that has what is trained. */
const char *lcsm_run_model_file(const lcsm_params *p);

/* Writes it; or, where not all is trained, the file of the rest, which stays as it is. */
lcsm_status lcsm_run_model_store(const char *run, const lcsm_params *p, lcsm_tensors_part part,
                                 lcsm_error *err);

/* The values of the model of a run, as one of its folders has them. */
lcsm_status lcsm_run_model_take(lcsm_trainer *t, const char *run, const char *folder,
                                lcsm_error *err);

/* Is told what was passed over, and why. */
typedef void lcsm_run_checkpoint_note(void *user, const char *text);

/* The newest checkpoint that verifies; *found is false, and nothing has changed, if there is none
 * at all. If there are some and none verifies, that is an error. */
lcsm_status lcsm_run_checkpoint_load(const char *run, lcsm_trainer *t, lcsm_progress *p,
                                     bool *found, lcsm_run_checkpoint_note *note, void *user,
                                     lcsm_error *err);

#endif
