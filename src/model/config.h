/* model/config.h - the keys of a model, for library code. */
#ifndef LCSM_MODEL_CONFIG_H
#define LCSM_MODEL_CONFIG_H
#include <lcsm/config.h>

#include "format/keys.h"

extern const lcsm_keys LCSM_MODEL_KEYS;

/* The vocabulary of a model: the tokenizer's (0: none) unless another was asked for, as the
 * paper's, which is larger. */
ptrdiff_t lcsm_model_config_vocab(const lcsm_model_config *cfg, size_t tokenizer);

/* False for a setting that does nothing in this model. */
bool lcsm_model_config_reads(const lcsm_model_config *cfg, const char *key);

/* Gives such settings their defaults. */
void lcsm_model_config_drop_unused(lcsm_model_config *cfg);

/* The second half of a block. */
lcsm_channel lcsm_model_config_channel(const lcsm_model_config *cfg);
#endif
