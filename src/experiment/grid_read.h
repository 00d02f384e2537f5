/* grid_read.h - grid.json as it stands, before it is expanded. */
#ifndef LCSM_EXPERIMENT_GRID_READ_H
#define LCSM_EXPERIMENT_GRID_READ_H
#include "experiment/grid.h"

/* What one scale multiplies. Borrowed from the grid's document. */
typedef struct {
    const json_t *fixed, *scale_fixed, *variants;
    const json_t *axes[LCSM_GRID_AXES]; /* arrays */
    double        lr[64];
    const json_t *rates; /* array of them, as it stands; NULL: given on the command line */
    size_t        lr_count, seeds;
} lcsm_grid_source;

/* The documents, from the catalogue or from a folder. */
lcsm_status lcsm_grid_load(lcsm_grid *g, const char *name, lcsm_error *err);

/* Checks the document's form and takes what belongs to the scale. */
lcsm_status lcsm_grid_read(lcsm_grid *g, lcsm_grid_source *out, const char *scale, lcsm_error *err);

/* A setting of a model or of training, by its key; an unknown one names the nearest of both. */
lcsm_status lcsm_setting_apply(lcsm_model_config *model, lcsm_train_config *train, const char *key,
                               const char *value, lcsm_error *err);

#endif
