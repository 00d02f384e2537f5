/* settings_file.c - settings of models and of training in JSON files. */
#include <string.h>

#include "base/file.h"
#include "base/strdist.h"
#include "format/json_doc.h"
#include "format/json_write.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "train/settings.h"

/* The key of either table that a mistyped one probably means; NULL if none is near. */
static const char *nearest_key(const char *name)
{
    const char *both[] = {lcsm_keys_nearest(&LCSM_TRAIN_KEYS, name),
                          lcsm_keys_nearest(&LCSM_MODEL_KEYS, name)};
    return lcsm_suggest(name, both, COUNT(both));
}

/* Before either table reads it, so that the nearest key is that of both. */
static lcsm_status known_keys(json_t *object, const char *path, lcsm_error *err)
{
    const char *name;
    json_t     *value;
    json_object_foreach(object, name, value)
    {
        if (lcsm_model_config_find(name, NULL) || lcsm_train_config_find(name, NULL)) continue;
        const char *near = nearest_key(name);
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s: unknown setting \"%.60s\"%s%s%s", path, name,
                         near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                         near == NULL ? "" : "?");
    }
    return LCSM_OK;
}

/* A run's config.json says more than its settings; one of an earlier version has all of them, read
 * or not, and a method beside its code. */
static bool is_of_run(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    return type != NULL && strcmp(type, "lcsm") == 0;
}

static lcsm_status one_model(const json_t *object, const char *path, lcsm_error *err)
{
    static const char *const names[] = {"method", "code", "layers_pattern"};
    const char              *first = NULL, *value = NULL;
    for (size_t j = 0; j < COUNT(names); j++) {
        const char *text = json_string_value(json_object_get(object, names[j]));
        if (text == NULL || *text == '\0') continue;
        if (first != NULL)
            return lcsm_fail(err, LCSM_ERR_CONFIG,
                             "%s: \"%s\" is %.40s and \"%s\" is %.40s, but a model is one of them; "
                             "remove the other",
                             path, first, value, names[j], text);
        first = names[j];
        value = text;
    }
    return LCSM_OK;
}

static lcsm_status take_model(lcsm_model_config *model, json_t *object, const char *path,
                              lcsm_error *err)
{
    lcsm_status st = lcsm_keys_pick(&LCSM_MODEL_KEYS, model, object, path, err);
    if (st != LCSM_OK) return st;
    bool method  = json_object_get(object, "method") != NULL;
    bool code    = json_object_get(object, "code") != NULL;
    bool pattern = json_object_get(object, "layers_pattern") != NULL;
    /* Not the code or the pattern of a recipe that came before. */
    if ((method || pattern) && !code) model->code[0] = 0;
    if ((method || code) && !pattern) model->layers_pattern[0] = 0;
    if (is_of_run(object)) lcsm_model_config_drop_unused(model);
    return LCSM_OK;
}

static lcsm_status take_train(lcsm_train_config *train, json_t *object, const char *path,
                              lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_train_config_take_task(train, object, err));
    lcsm_status st = lcsm_keys_pick(&LCSM_TRAIN_KEYS, train, object, path, err);
    if (st == LCSM_OK && is_of_run(object)) lcsm_train_config_drop_unused(train);
    return st;
}

lcsm_status lcsm_settings_load(const char *path, lcsm_model_config *model, lcsm_train_config *train,
                               lcsm_error *err)
{
    lcsm_json_doc doc = {0};
    lcsm_status   st  = LCSM_OK;
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    if (!is_of_run(doc.root)) {
        LCSM_TRY(known_keys(doc.root, path, err));
        LCSM_TRY(one_model(doc.root, path, err));
    }
    if (model != NULL) LCSM_TRY(take_model(model, doc.root, path, err));
    if (train != NULL) LCSM_TRY(take_train(train, doc.root, path, err));
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

lcsm_status lcsm_recipe_load(const char *name, lcsm_model_config *model, lcsm_train_config *train,
                             lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    lcsm_status st = lcsm_recipe_find(path, sizeof path, name, err);
    return st == LCSM_OK ? lcsm_settings_load(path, model, train, err) : st;
}

lcsm_status lcsm_settings_save(const char *path, const lcsm_model_config *model,
                               const lcsm_train_config *train, lcsm_error *err)
{
    lcsm_status      st     = LCSM_OK;
    lcsm_json_writer w      = lcsm_json_writer_pretty();
    json_t          *object = model != NULL ? lcsm_model_config_json(model) : json_object();
    bool             ok     = object != NULL;
    (void)json_object_del(object, "model_type"); /* which is a run's */
    (void)json_object_del(object, "format_version");
    if (ok && train != NULL) ok = lcsm_train_config_write(train, object);
    if (!ok) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for settings", path));
    lcsm_json_put_value(&w, NULL, object);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    LCSM_TRY(lcsm_file_write_atomic(path, lcsm_strbuf_text(&w.text), w.text.size, err));
cleanup:
    json_decref(object);
    lcsm_json_writer_free(&w);
    return st;
}
