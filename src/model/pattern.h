/*
 * model/pattern.h - models whose layers have different mixers.
 *
 * The setting layers_pattern names a mixer for each layer and is repeated over the depth:
 *
 *     pattern = entry ("," entry)*        entry = mixer ("+" mixer)? ("*" times)?
 *
 * A mixer is a name of the method table, or a code. Two mixers of a layer read the same input, and
 * their results are added. Each mixer is built from the settings of the model with its own method
 * or code; the norm and the channel mixer of a block follow the first mixer that is named.
 */
#ifndef LCSM_MODEL_PATTERN_H
#define LCSM_MODEL_PATTERN_H
#include "eos/model_config.h"

enum { LCSM_LAYER_MIXERS = 2 }; /* that a layer may add */

/* Whether a name on the command line is a pattern and not a method or code. */
bool lcsm_pattern_is(const char *name);

/* Whether the pattern can be read, names what exists, and fits into the depth. */
lcsm_status lcsm_pattern_check(const lcsm_model_config *cfg, lcsm_error *err);

/* Layers after which the pattern begins again; 1 if there is none. */
ptrdiff_t lcsm_pattern_length(const lcsm_model_config *cfg);

/* The settings of mixer 0 or 1 of a layer, without a pattern: `out` may not be `cfg`. False if the
 * layer has no such mixer. */
bool lcsm_pattern_layer(lcsm_model_config *out, const lcsm_model_config *cfg, ptrdiff_t layer,
                        int mixer);
#endif
