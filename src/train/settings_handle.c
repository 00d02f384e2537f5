/* settings_handle.c - the settings of training as a handle. */
#include "train/settings.h"

#define H_(verb)    lcsm_train_config_##verb
#define HANDLE      lcsm_train_config
#define HANDLE_KEYS LCSM_TRAIN_KEYS
#define HANDLE_NAME "training"
#include "format/keys_handle.h"
