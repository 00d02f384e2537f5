/* config_handle.c - the settings of a model as a handle. */
#include <stdlib.h>
#include <string.h>

#include "model/config.h"

lcsm_status lcsm_model_config_clone(lcsm_model_config **out, const lcsm_model_config *cfg,
                                    lcsm_error *err)
{
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the settings of a model");
    **out = *cfg;
    return LCSM_OK;
}

lcsm_status lcsm_model_config_create(lcsm_model_config **out, lcsm_error *err)
{
    lcsm_model_config standard;
    lcsm_model_config_defaults(&standard);
    return lcsm_model_config_clone(out, &standard, err);
}

void lcsm_model_config_free(lcsm_model_config *cfg)
{
    free(cfg);
}

lcsm_status lcsm_model_config_set_number(lcsm_model_config *cfg, const char *key, double value,
                                         lcsm_error *err)
{
    return lcsm_keys_set_number(&LCSM_MODEL_KEYS, cfg, key, value, err);
}

lcsm_status lcsm_model_config_get(const lcsm_model_config *cfg, const char *key, char *value,
                                  size_t size, lcsm_error *err)
{
    return lcsm_keys_get(&LCSM_MODEL_KEYS, cfg, key, value, size, err);
}

double lcsm_model_config_number(const lcsm_model_config *cfg, const char *key)
{
    return lcsm_keys_number(&LCSM_MODEL_KEYS, cfg, key);
}

static bool info_of(const lcsm_key *k, lcsm_setting_info *out)
{
    char readers[LCSM_READERS_SIZE] = "";
    if (k != NULL) lcsm_model_config_readers(k->name, readers);
    return lcsm_key_info(k, readers, out);
}

bool lcsm_model_config_key(size_t index, lcsm_setting_info *out)
{
    return info_of(index < LCSM_MODEL_KEYS.count ? &LCSM_MODEL_KEYS.rows[index] : NULL, out);
}

bool lcsm_model_config_find(const char *key, lcsm_setting_info *out)
{
    return info_of(lcsm_keys_find(&LCSM_MODEL_KEYS, key), out);
}
