/* train/settings.h - the settings of training as the library sees them: the fields behind the
 * handle lcsm_train_config, and their table. */
#ifndef LCSM_TRAIN_SETTINGS_H
#define LCSM_TRAIN_SETTINGS_H
#include <lcsm/train.h>

#include "format/keys.h"
#include "task/task.h"
#include "train/optimizer.h"
#include "train/schedule.h"

typedef enum { LCSM_PRECISION_FLOAT32, LCSM_PRECISION_BF16 } lcsm_precision;

/* Every field is a key of config.json and a flag of the program; the table in settings.c
 * has their ranges, defaults and help. A budget of 0 is none. */
struct lcsm_train_config {
    int       task; /* a row of LCSM_TASKS */
    ptrdiff_t batch_size, seq_len, accumulate, shards, segments;
    ptrdiff_t steps, tokens, epochs;
    double    minutes;
    ptrdiff_t seed;

    int       optimizer;       /* 0 adamw, 1 adam as fairseq has it */
    int       optimizer_state; /* lcsm_moments */
    int       schedule;
    double    lr, lr_last, lr_start;
    ptrdiff_t warmup;
    double    beta1, beta2, eps, weight_decay, clip;
    bool      decay_all; /* weight decay also where a parameter says it wants none */

    bool carried, recompute;
    int  precision; /* 0 float32, 1 bf16 */

    ptrdiff_t eval_every, eval_blocks, patience;
    double    stop_accuracy, valid_fraction;
    int       ends; /* 0 auto, else one more than a value of lcsm_text_ends */
    ptrdiff_t save_every, keep, log_every;
    bool      tensorboard;

    ptrdiff_t pairs, examples, test_examples, test_len, items, updates, order;
    double    power, noise;
    bool      fresh, random_non_queries;
};

extern const lcsm_keys LCSM_TRAIN_KEYS;

void lcsm_train_config_defaults(lcsm_train_config *cfg);

/* Whether the end-of-text token stands for every line end, which it does unless a run says
 * otherwise. */
bool lcsm_train_ends_lines(const lcsm_train_config *cfg);

/* The row of the task. */
const lcsm_task *lcsm_train_task(const lcsm_train_config *cfg);

/* What its generator reads, for examples of training or of the test. */
lcsm_task_config lcsm_train_task_config(const lcsm_train_config *cfg, ptrdiff_t vocab, bool test);

/* Positions of a sequence in evaluations. */
ptrdiff_t lcsm_train_test_len(const lcsm_train_config *cfg);

/* Targets of a sequence of training, at most; 0: every position may have one. */
ptrdiff_t lcsm_train_labels(const lcsm_train_config *cfg);

/* The vocabulary of a model that does not say it; 0: that of bytes. */
size_t lcsm_train_vocab(const lcsm_train_config *cfg);

/* Reads the task of an object, if it has one, and with it the values of the task. To be called
 * before the other settings of the object are read, which come over them. */
lcsm_status lcsm_train_config_take_task(lcsm_train_config *cfg, const json_t *object,
                                        lcsm_error *err);

/* Which tasks read a key; "": all. */
void lcsm_train_config_readers(const char *key, char text[LCSM_READERS_SIZE]);

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
