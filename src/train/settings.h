/* train/settings.h - the table of the settings of training. */
#ifndef LCSM_TRAIN_SETTINGS_H
#define LCSM_TRAIN_SETTINGS_H
#include <lcsm/train.h>

#include "format/keys.h"
#include "train/optimizer.h"
#include "train/schedule.h"

extern const lcsm_keys LCSM_TRAIN_KEYS;

/* What goes together. */
lcsm_status lcsm_train_config_check(const lcsm_train_config *cfg, lcsm_error *err);

/* The settings that the task reads into the object; false when there is no memory. */
bool lcsm_train_config_write(const lcsm_train_config *cfg, json_t *object);

lcsm_adamw_config lcsm_train_adamw(const lcsm_train_config *cfg);

/* total and epoch are counted in updates. */
lcsm_schedule lcsm_train_schedule(const lcsm_train_config *cfg, int64_t total, int64_t epoch);

#endif
