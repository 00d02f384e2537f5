/*
 * model/model_weights.h - a model with weights, for library code.
 *
 * config.json of a run is one flat object:
 *
 *     {"model_type": "lcsm", "format_version": 1, every key of a model, every key of training}
 *
 * A reader takes the keys it knows. What a user writes by hand goes through
 * lcsm_settings_load, which refuses unknown keys, before it gets there.
 */
#ifndef LCSM_MODEL_WEIGHTS_H
#define LCSM_MODEL_WEIGHTS_H
#include <jansson.h>
#include <lcsm/model.h>

#include "format/sha256.h"
#include "format/weights.h"
#include "graph/params.h"
#include "model/config.h"

enum { LCSM_CONFIG_VERSION = 1 };

struct lcsm_model {
    const lcsm_context *ctx;
    lcsm_model_config   cfg;
    lcsm_params        *params;  /* closed, with values */
    lcsm_weights        weights; /* the files whose memory the values are, or empty */
    void               *settled; /* memory of values that were in the files, or NULL */
    size_t              settled_bytes;
};

/* The parameters as named tensors, in the order of the list, which they borrow. The caller frees
 * *out; it has params->count rows. */
lcsm_status lcsm_model_tensors(lcsm_named_tensor **out, const lcsm_params *params, lcsm_error *err);

/* Those that are trained, or those that are not, of a list that trains only some of its rows: they
 * are in files of their own. */
typedef enum { LCSM_TENSORS_BASE, LCSM_TENSORS_TRAINED } lcsm_tensors_part;
lcsm_status lcsm_model_tensors_of(lcsm_named_tensor **out, size_t *count, const lcsm_params *params,
                                  lcsm_tensors_part part, lcsm_error *err);

/* Values from a file: every parameter must be there in its shape, and no other tensor. */
lcsm_status lcsm_model_take(lcsm_params *params, const lcsm_weights *weights, lcsm_error *err);

/* The same for a list with values, of which those that fine-tuning adds stay where the file has
 * none. */
lcsm_status lcsm_model_take_base(lcsm_params *params, const lcsm_weights *weights, lcsm_error *err);

/* The same without a copy where a tensor may be used as it lies; *weights outlives the list. */
lcsm_status lcsm_model_map(lcsm_params *params, const lcsm_context *ctx,
                           const lcsm_model_config *cfg, const lcsm_weights *weights,
                           lcsm_error *err);

/* STREAMED rows that lie in mapped files go to large pages of memory, if there is enough: the
 * model's `settled`. Before sessions are made. And gives it back if no row is there any more. */
void lcsm_model_settle(lcsm_model *model);
void lcsm_model_unsettle(lcsm_model *model);

/* Flags the parameters that may be blocks (LCSM_PARAM_STREAMED). */
lcsm_status lcsm_model_find_streamed(lcsm_params *params, const lcsm_context *ctx,
                                     const lcsm_model_config *cfg, lcsm_error *err);

/* An open list of the model's parameters. */
lcsm_status lcsm_model_list(lcsm_params **out, const lcsm_context *ctx,
                            const lcsm_model_config *cfg, uint64_t seed, lcsm_error *err);

/* A model around a list, which it owns from then on; values are reserved if there are none. On
 * failure the list is freed. */
lcsm_status lcsm_model_wrap(lcsm_model **out, const lcsm_context *ctx, const lcsm_model_config *cfg,
                            lcsm_params *params, lcsm_error *err);

/* The settings in the config.json of a run folder. Keys that are not a model's are skipped: they
 * are those of its training. */
lcsm_status lcsm_model_config_load(lcsm_model_config *cfg, const char *folder, lcsm_error *err);

/* {"model_type": ..., "format_version": ..., all model keys}; NULL when there is no memory. */
json_t *lcsm_model_config_json(const lcsm_model_config *cfg);

/* The SHA-256 of settings and weights: what a saved state belongs to. */
lcsm_status lcsm_model_sha256(char text[LCSM_SHA256_TEXT], const lcsm_model *model,
                              lcsm_error *err);

/* Writes config.json from such an object, and the weights of the list. */
lcsm_status lcsm_model_store(const char *folder, json_t *config, const lcsm_params *params,
                             lcsm_error *err);
#endif
