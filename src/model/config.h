/* model/config.h - the keys of a model, for library code. */
#ifndef LCSM_MODEL_CONFIG_H
#define LCSM_MODEL_CONFIG_H
#include <lcsm/config.h>

#include "format/keys.h"

extern const lcsm_keys LCSM_MODEL_KEYS;
#endif
