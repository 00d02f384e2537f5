/*
 * keys_handle.h - the functions of a handle that is set by key, over the table of its keys.
 * Included once for each kind of handle, after H_ (its functions, lcsm_..._verb), HANDLE (its
 * type), HANDLE_KEYS and HANDLE_NAME (what it holds, for messages) are defined.
 */
#include <stdlib.h>

#include "format/keys.h"

lcsm_status H_(clone)(HANDLE **out, const HANDLE *cfg, lcsm_error *err)
{
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY,
                         "not enough memory for the settings of " HANDLE_NAME);
    **out = *cfg;
    return LCSM_OK;
}

lcsm_status H_(create)(HANDLE **out, lcsm_error *err)
{
    HANDLE standard;
    H_(defaults)(&standard);
    return H_(clone)(out, &standard, err);
}

void H_(free)(HANDLE *cfg)
{
    free(cfg);
}

lcsm_status H_(set_number)(HANDLE *cfg, const char *key, double value, lcsm_error *err)
{
    return lcsm_keys_set_number(&HANDLE_KEYS, cfg, key, value, err);
}

lcsm_status H_(get)(const HANDLE *cfg, const char *key, char *value, size_t size, lcsm_error *err)
{
    return lcsm_keys_get(&HANDLE_KEYS, cfg, key, value, size, err);
}

double H_(number)(const HANDLE *cfg, const char *key)
{
    return lcsm_keys_number(&HANDLE_KEYS, cfg, key);
}

static bool info_of(const lcsm_key *k, lcsm_setting_info *out)
{
    char readers[LCSM_READERS_SIZE] = "";
    if (k != NULL) H_(readers)(k->name, readers);
    return lcsm_key_info(k, readers, out);
}

bool H_(key)(size_t index, lcsm_setting_info *out)
{
    return info_of(index < HANDLE_KEYS.count ? &HANDLE_KEYS.rows[index] : NULL, out);
}

bool H_(find)(const char *key, lcsm_setting_info *out)
{
    return info_of(lcsm_keys_find(&HANDLE_KEYS, key), out);
}
