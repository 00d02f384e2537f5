/* model/config.h - the keys of a model, for library code. */
#ifndef LCSM_MODEL_CONFIG_H
#define LCSM_MODEL_CONFIG_H
#include "eos/model_config.h"
#include "format/keys.h"

extern const lcsm_keys LCSM_MODEL_KEYS;

/* Whether blocks are those of language models. */
static inline bool lcsm_wiring_is_lm(const lcsm_model_config *cfg)
{
    return cfg->wiring == LCSM_WIRING_LM || cfg->wiring == LCSM_WIRING_AUTOENCODER;
}

/* The vocabulary of a model: the tokenizer's (0: none) unless another was asked for, as the
 * paper's, which is larger. */
ptrdiff_t lcsm_model_config_vocab(const lcsm_model_config *cfg, size_t tokenizer);

void lcsm_model_config_defaults(lcsm_model_config *cfg);

/* The number of blocks: `layers`, or if that is 0 the depth of the paper's language model, which is
 * 9 to 11 by the code and 10 for methods. */
ptrdiff_t lcsm_model_config_layers(const lcsm_model_config *cfg);

/* Which models read a key, for people; "": all. */
void lcsm_model_config_readers(const char *key, char text[LCSM_READERS_SIZE]);

/* Refuses a setting that is not the default and that the model does not read, but for sizes that a
 * comparison gives to all its models. `shared` (or NULL) are settings from which several models
 * begin: what they say counts only for the model that they name. */
lcsm_status lcsm_model_config_unused(const lcsm_model_config *cfg, const lcsm_model_config *shared,
                                     lcsm_error *err);

/* Gives such settings their defaults. */
void lcsm_model_config_drop_unused(lcsm_model_config *cfg);

/* The file of a recipe (lcsm_recipe_load). */
lcsm_status lcsm_recipe_find(char *path, size_t size, const char *name, lcsm_error *err);

/* Which setting names the model (layers_pattern, code or method, the first that is there), and its
 * value. */
const char *lcsm_model_config_kind(const lcsm_model_config *cfg);
const char *lcsm_model_config_name(const lcsm_model_config *cfg);

/* The second half of a block, of settings without a pattern. */
lcsm_channel lcsm_model_config_channel(const lcsm_model_config *cfg);
#endif
