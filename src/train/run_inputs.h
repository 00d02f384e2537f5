/*
 * train/run_inputs.h - what a run works with: settings, tokenizer, data, model, trainer; and how it
 * is written into config.json.
 */
#ifndef LCSM_TRAIN_RUN_INPUTS_H
#define LCSM_TRAIN_RUN_INPUTS_H
#include <jansson.h>
#include <lcsm/tokenizer.h>

#include "format/sha256.h"
#include "train/budget.h"
#include "train/trainer.h"

typedef struct {
    const lcsm_context *ctx;
    lcsm_dist          *dist;
    const char         *run;
    lcsm_model_config   model_cfg;
    lcsm_train_config   cfg;
    json_t             *paths[3]; /* of data, valid and test; NULL: none */
    char               *init;     /* the folder that the weights began with; NULL: none */
    char                init_sha256[LCSM_SHA256_TEXT]; /* of those weights */
    lcsm_tokenizer     *tok;                           /* NULL: no text */
    lcsm_dataset       *texts[3];                      /* as they are given */
    lcsm_dataset       *part[2];                       /* what the data were split into */
    lcsm_batches        train;
    lcsm_batches        valid, test; /* T is 0 if there is no such evaluation */
    lcsm_model         *model;
    lcsm_trainer       *trainer;
    lcsm_evaluator      tester; /* of evaluations of another length; empty: the trainer's */
    int                 lock;   /* of the folder; -1: none */
    lcsm_budget         budget;
    lcsm_schedule       schedule; /* over all of the steps, if their number is known */
    int64_t             data;     /* tokens, or examples, of the training data */
    int64_t             hash;     /* of those tokens, without its last bit; 0: no text */
} lcsm_run_inputs;

/* Opens everything and writes nothing; the folder of a run that is resumed is locked. Collective:
 * ranks whose inputs are not the same are refused. */
lcsm_status lcsm_run_inputs_open(lcsm_run_inputs *j, const lcsm_context *ctx,
                                 const lcsm_train_job *want, const lcsm_train_hooks *hooks,
                                 lcsm_error *err);
void        lcsm_run_inputs_close(lcsm_run_inputs *j);

/* The keys of both tables that are read; NULL when there is no memory. */
json_t *lcsm_run_inputs_settings(const lcsm_run_inputs *j);

/* Of rank 0. Writes the settings; a new run gets its folder, locked, and its tokenizer too. */
lcsm_status lcsm_run_inputs_store(lcsm_run_inputs *j, bool resume, lcsm_error *err);

#endif
