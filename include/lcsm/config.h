/*
 * lcsm/config.h - settings of models and of training, by key.
 *
 *     lcsm_model_config *cfg;
 *     lcsm_model_config_create(&cfg, err);                    every key has its default
 *     lcsm_model_config_set(cfg, "method", "mamba", err);
 *     lcsm_model_config_set_number(cfg, "d_model", 256, err);
 *
 * A key is a member of config.json and an option of the program: "d_model" is --d-model. Dashes and
 * underscores are the same. lcsm_model_config_key lists the keys with their types, ranges, defaults
 * and help. New versions of the library may add keys; they never change what a key means.
 *
 * Ownership  What _create and _clone return, the caller gives to _free; _free(NULL) is fine.
 *            Functions that take settings copy them. Strings of an lcsm_setting_info live as long
 *            as the program.
 * Threads    Several threads may read the same settings; only one at a time may change them.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. A
 *            setting that is refused stays as it was.
 */
#ifndef LCSM_CONFIG_H
#define LCSM_CONFIG_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

typedef struct lcsm_model_config lcsm_model_config;
typedef struct lcsm_train_config lcsm_train_config;

typedef enum {
    LCSM_SETTING_INT    = 0, /* a whole number */
    LCSM_SETTING_REAL   = 1,
    LCSM_SETTING_BOOL   = 2, /* "true" or "false"; 1 or 0 as a number */
    LCSM_SETTING_TEXT   = 3,
    LCSM_SETTING_CHOICE = 4, /* one of a few words */
} lcsm_setting_type;

/* What there is to know about a key. The library may know more members than the caller: `size`,
 * which the caller sets to sizeof(lcsm_setting_info), says how many are filled. */
typedef struct {
    size_t            size;
    const char       *name;
    lcsm_setting_type type;
    double            min, max;     /* of numbers */
    const char       *standard;     /* the default, as text */
    const char       *choices;      /* of a choice, "one|two|three"; otherwise "" */
    const char       *help;         /* a few words */
    char              readers[256]; /* which models or tasks read it; "": all */
} lcsm_setting_info;

/* ---- a model ---------------------------------------------------------------------------- */

LCSM_API lcsm_status lcsm_model_config_create(lcsm_model_config **out, lcsm_error *err);
LCSM_API lcsm_status lcsm_model_config_clone(lcsm_model_config **out, const lcsm_model_config *cfg,
                                             lcsm_error *err);
LCSM_API void        lcsm_model_config_free(lcsm_model_config *cfg);

/* Sets a key from text, of any type, or from a number: whole, real, or 0 and 1 for a bool. A method
 * takes the place of a code that was set before. */
LCSM_API lcsm_status lcsm_model_config_set(lcsm_model_config *cfg, const char *key,
                                           const char *value, lcsm_error *err);
LCSM_API lcsm_status lcsm_model_config_set_number(lcsm_model_config *cfg, const char *key,
                                                  double value, lcsm_error *err);

/* The value of a key as text, of any type, which _set takes again. 64 bytes are always enough. */
LCSM_API lcsm_status lcsm_model_config_get(const lcsm_model_config *cfg, const char *key,
                                           char *value, size_t size, lcsm_error *err);
/* The value of a number or bool; NAN for a key that is neither. */
LCSM_API double lcsm_model_config_number(const lcsm_model_config *cfg, const char *key);

/* Whether all settings together make a model: its method or code, and ranges. What only the sizes
 * can show, lcsm_model_describe and lcsm_model_create say. */
LCSM_API lcsm_status lcsm_model_config_check(const lcsm_model_config *cfg, lcsm_error *err);

/* False for a key that has no effect in this model. Such settings do no harm. */
LCSM_API bool lcsm_model_config_reads(const lcsm_model_config *cfg, const char *key);

/* The key with number 0, 1, ..., or of that name; false if there is none. out may be NULL. */
LCSM_API bool lcsm_model_config_key(size_t index, lcsm_setting_info *out);
LCSM_API bool lcsm_model_config_find(const char *key, lcsm_setting_info *out);

/* ---- training --------------------------------------------------------------------------- */

LCSM_API lcsm_status lcsm_train_config_create(lcsm_train_config **out, lcsm_error *err);
LCSM_API lcsm_status lcsm_train_config_clone(lcsm_train_config **out, const lcsm_train_config *cfg,
                                             lcsm_error *err);
LCSM_API void        lcsm_train_config_free(lcsm_train_config *cfg);

/* As for a model. */
LCSM_API lcsm_status lcsm_train_config_set(lcsm_train_config *cfg, const char *key,
                                           const char *value, lcsm_error *err);
LCSM_API lcsm_status lcsm_train_config_set_number(lcsm_train_config *cfg, const char *key,
                                                  double value, lcsm_error *err);
LCSM_API lcsm_status lcsm_train_config_get(const lcsm_train_config *cfg, const char *key,
                                           char *value, size_t size, lcsm_error *err);
LCSM_API double      lcsm_train_config_number(const lcsm_train_config *cfg, const char *key);
LCSM_API lcsm_status lcsm_train_config_check(const lcsm_train_config *cfg, lcsm_error *err);
LCSM_API bool        lcsm_train_config_reads(const lcsm_train_config *cfg, const char *key);
LCSM_API bool        lcsm_train_config_key(size_t index, lcsm_setting_info *out);
LCSM_API bool        lcsm_train_config_find(const char *key, lcsm_setting_info *out);

/* Gives a model the wiring of the task, as lcsm_train does: "mqar" for recall, unless the model has
 * another one than "lm". */
LCSM_API void lcsm_train_wire(const lcsm_train_config *cfg, lcsm_model_config *model);

/* ---- files ------------------------------------------------------------------------------ */

/* The keys of a JSON file over the settings; others stay. Either handle may be NULL. A key that
 * neither models nor training have is an error that names the nearest. The config.json of a run is
 * such a file too. */
LCSM_API lcsm_status lcsm_settings_load(const char *path, lcsm_model_config *model,
                                        lcsm_train_config *train, lcsm_error *err);

/* Every key that the model and the task read as a JSON file. Either handle may be NULL. */
LCSM_API lcsm_status lcsm_settings_save(const char *path, const lcsm_model_config *model,
                                        const lcsm_train_config *train, lcsm_error *err);

/* The same from a recipe: a name with a dot or a slash is a path; others are looked for in recipes/
 * of the working folder, and then where recipes are installed. */
LCSM_API lcsm_status lcsm_recipe_load(const char *name, lcsm_model_config *model,
                                      lcsm_train_config *train, lcsm_error *err);

/* All settings of a run, from the config.json of its folder. A model that was imported has no
 * training: LCSM_ERR_ARGUMENT, unless train is NULL. */
LCSM_API lcsm_status lcsm_run_settings(const char *run, lcsm_model_config *model,
                                       lcsm_train_config *train, lcsm_error *err);

LCSM_END_DECLS
#endif
