/*
 * grid.h - an experiment's grid.json, and the runs that it stands for.
 *
 *     {"title": ..., "about": ..., "task": TASK | "several", "metric": "perplexity",
 *      "serial": true,                    one run at a time, with all threads: it is timed
 *      "fixed": {KEY: VALUE, ...},        settings of every run; keys are flags of lcsm train
 *      "variants": [{"label": "1-1-1-0", KEY: VALUE, ..., "at": {SCALE: {KEY: VALUE}}}],
 *      "scales": {"tiny": {"fixed": {...}, "axes": {KEY: [VALUE or {KEY: VALUE, ...}]},
 *                          "lr": [...], "seeds": 2, "tokenizer": 4096}, "small": ..., "paper":
 * ...}}
 *
 * A point of an axis, or a rate, is a number for its key, or an object that sets other keys along
 * with it: {"lr": 0.01, "weight_decay": 0.1}. A point of the axis "task", which a grid of several
 * tasks has, is {"task": "parity", ...}. What a variant and the points set wins over that. lr
 * may stand in a variant too; seed and task are no settings of a grid.
 * A variant {"every": "method", KEY: VALUE, ...} stands for one of each method, with its name as
 * label. "tokenizer" is the vocabulary of a BPE tokenizer that is trained on the data.
 */
#ifndef LCSM_EXPERIMENT_GRID_H
#define LCSM_EXPERIMENT_GRID_H
#include <lcsm/experiment.h>
#include <lcsm/train.h>

#include "format/json_doc.h"
#include "model/config.h"
#include "report/reading.h"
#include "train/settings.h"

enum { LCSM_GRID_SCALES = 3, LCSM_GRID_AXES = 4, LCSM_GRID_RUNS = 100000 };

#define LCSM_GRID_SEVERAL "several"

extern const char *const LCSM_GRID_SCALE_NAMES[LCSM_GRID_SCALES];

typedef struct {
    char              name[160];
    size_t            variant;
    double            axes[LCSM_GRID_AXES];
    double            lr, seed;
    unsigned          readings; /* those that train it so: a set of 1 << lcsm_reading */
    json_t           *settings; /* every key that is not a default */
    lcsm_model_config model;
    lcsm_train_config train;
    double            tokens; /* that are read, over the whole run */
} lcsm_grid_run;

/* {0} is empty and may be freed. */
typedef struct {
    char           name[80];
    lcsm_json_doc  grid, paper;
    const char    *title, *about, *task, *metric, *scale;
    const char    *axes[LCSM_GRID_AXES];
    const char   **variants; /* labels */
    lcsm_grid_run *runs;
    size_t         axis_count, variant_count, run_count;
    size_t         vocabulary; /* of the tokenizer to train; 0: none */
    bool           serial;
    unsigned       readings; /* those that are asked for */
} lcsm_grid;

/* Reads and checks an experiment of the catalogue, or of a folder, and expands it for the scale of
 * the options with their learning rates, seeds and variants. Every setting of every run is tried; a
 * key that is not known is an error that names the nearest. */
lcsm_status lcsm_grid_open(lcsm_grid *out, const lcsm_experiment_options *options, lcsm_error *err);
void        lcsm_grid_free(lcsm_grid *g);

#endif
