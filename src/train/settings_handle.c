/* settings_handle.c - the settings of training as a handle. */
#include <stdlib.h>
#include <string.h>

#include "train/settings.h"

lcsm_status lcsm_train_config_clone(lcsm_train_config **out, const lcsm_train_config *cfg,
                                    lcsm_error *err)
{
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the settings of training");
    **out = *cfg;
    return LCSM_OK;
}

lcsm_status lcsm_train_config_create(lcsm_train_config **out, lcsm_error *err)
{
    lcsm_train_config standard;
    lcsm_train_config_defaults(&standard);
    return lcsm_train_config_clone(out, &standard, err);
}

void lcsm_train_config_free(lcsm_train_config *cfg)
{
    free(cfg);
}

lcsm_status lcsm_train_config_set_number(lcsm_train_config *cfg, const char *key, double value,
                                         lcsm_error *err)
{
    return lcsm_keys_set_number(&LCSM_TRAIN_KEYS, cfg, key, value, err);
}

lcsm_status lcsm_train_config_get(const lcsm_train_config *cfg, const char *key, char *value,
                                  size_t size, lcsm_error *err)
{
    return lcsm_keys_get(&LCSM_TRAIN_KEYS, cfg, key, value, size, err);
}

double lcsm_train_config_number(const lcsm_train_config *cfg, const char *key)
{
    return lcsm_keys_number(&LCSM_TRAIN_KEYS, cfg, key);
}

static bool info_of(const lcsm_key *k, lcsm_setting_info *out)
{
    char readers[LCSM_READERS_SIZE] = "";
    if (k != NULL) lcsm_train_config_readers(k->name, readers);
    return lcsm_key_info(k, readers, out);
}

bool lcsm_train_config_key(size_t index, lcsm_setting_info *out)
{
    return info_of(index < LCSM_TRAIN_KEYS.count ? &LCSM_TRAIN_KEYS.rows[index] : NULL, out);
}

bool lcsm_train_config_find(const char *key, lcsm_setting_info *out)
{
    return info_of(lcsm_keys_find(&LCSM_TRAIN_KEYS, key), out);
}
