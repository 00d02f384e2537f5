/* train/settings.h - the settings of training as the library sees them: the fields behind the
 * handle lcsm_train_config, and their table. */
#ifndef LCSM_TRAIN_SETTINGS_H
#define LCSM_TRAIN_SETTINGS_H
#include <lcsm/train.h>

#include "format/keys.h"
#include "train/optimizer.h"
#include "train/schedule.h"

typedef enum { LCSM_TASK_LM, LCSM_TASK_MQAR } lcsm_task;

/* Every field is a key of config.json and a flag of the program; the table in settings.c
 * has their ranges, defaults and help. A budget of 0 is none. */
struct lcsm_train_config {
    int       task; /* lcsm_task */
    ptrdiff_t batch_size, seq_len, accumulate;
    ptrdiff_t steps, tokens, epochs;
    double    minutes;
    ptrdiff_t seed;

    int       optimizer; /* 0 adamw, 1 adam as fairseq has it */
    int       schedule;
    double    lr, lr_last, lr_start;
    ptrdiff_t warmup;
    double    beta1, beta2, eps, weight_decay, clip;
    bool      decay_all; /* weight decay also where a parameter says it wants none */

    bool carried, recompute;

    ptrdiff_t eval_every, eval_blocks, patience;
    double    stop_accuracy, valid_fraction;
    ptrdiff_t save_every, keep, log_every;
    bool      tensorboard;

    ptrdiff_t pairs, examples, test_examples;
    double    power;
    bool      fresh, random_non_queries;
};

extern const lcsm_keys LCSM_TRAIN_KEYS;

void lcsm_train_config_defaults(lcsm_train_config *cfg);

/* Which task reads a key; "": all. */
const char *lcsm_train_config_readers(const char *key);

/* Gives the settings that the task does not read their defaults. */
void lcsm_train_config_drop_unused(lcsm_train_config *cfg);

/* Refuses a setting that the task does not read and that is not the default. For what a person
 * says, as lcsm_model_config_unused. */
lcsm_status lcsm_train_config_unused(const lcsm_train_config *cfg, lcsm_error *err);

/* The settings that the task reads into the object; false when there is no memory. */
bool lcsm_train_config_write(const lcsm_train_config *cfg, json_t *object);

lcsm_adamw_config lcsm_train_adamw(const lcsm_train_config *cfg);

/* total and epoch are counted in updates. */
lcsm_schedule lcsm_train_schedule(const lcsm_train_config *cfg, int64_t total, int64_t epoch);

#endif
