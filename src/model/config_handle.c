/* config_handle.c - the settings of a model as a handle. */
#include "model/config.h"

#define H_(verb)    lcsm_model_config_##verb
#define HANDLE      lcsm_model_config
#define HANDLE_KEYS LCSM_MODEL_KEYS
#define HANDLE_NAME "a model"
#include "format/keys_handle.h"
