/*
 * train/run_init.h - a run that begins with the weights of another model, trained or imported.
 *
 * The run has the settings and the tokenizer of that model, and its config.json says where the
 * weights came from and what they were, as "init" and "init_sha256".
 */
#ifndef LCSM_TRAIN_RUN_INIT_H
#define LCSM_TRAIN_RUN_INIT_H
#include "train/run_inputs.h"

/* Whose model it is that a setting contradicts. */
typedef enum { LCSM_RUN_ITS_OWN, LCSM_RUN_INIT } lcsm_run_whose;

/* Refuses a key with two values. */
lcsm_status lcsm_run_same(const char *key, json_t *want, json_t *have, lcsm_run_whose whose,
                          lcsm_error *err);

/* The same for every setting of a model, but for those that its weights do not depend on where the
 * model is that of --init. */
lcsm_status lcsm_run_same_model(json_t *want, json_t *have, lcsm_run_whose whose, lcsm_error *err);

/* Checks what the job says of the model that a new run begins with, or reads what a run that is
 * resumed began with; nothing where there is none. */
lcsm_status lcsm_run_init_open(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err);

/* Its weights into the run's model. Those of a run that knows their SHA-256 must be the same. */
lcsm_status lcsm_run_init_take(lcsm_run_inputs *j, lcsm_error *err);

#endif
