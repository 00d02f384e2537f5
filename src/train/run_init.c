/* run_init.c - the model that a run begins with. */
#include "train/run_init.h"

#include <stdlib.h>
#include <string.h>

#include "format/json_doc.h"
#include "format/run_folder.h"
#include "model/model_weights.h"

/* ---- two models that must be alike -------------------------------------------------------- */

/* A value as a flag would have it; a text that is empty is none. */
static const char *value_text(char text[LCSM_KEY_TEXT_SIZE], const json_t *value)
{
    return *lcsm_setting_text(text, value) == '\0' ? "none" : text;
}

lcsm_status lcsm_run_same(const char *key, json_t *want, json_t *have, lcsm_run_whose whose,
                          lcsm_error *err)
{
    static const char *const TEXTS[][2] = {
        [LCSM_RUN_ITS_OWN] = {"run", "a run keeps its model: omit it, or train in another folder"},
        [LCSM_RUN_INIT]    = {"model that the run begins with (--init)", "omit it"}};
    json_t *a = json_object_get(want, key), *b = json_object_get(have, key);
    char    given[LCSM_KEY_TEXT_SIZE], own[LCSM_KEY_TEXT_SIZE];
    if (a == b || json_equal(a, b)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is %s, but the %s has %s; %s", key,
                     value_text(given, a), TEXTS[whose][0], value_text(own, b), TEXTS[whose][1]);
}

static bool is_one_of(const char *key, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(key, *list) == 0) return true;
    return false;
}

/* What a fine-tuned model may have otherwise than the one that it begins with. */
static bool is_free(const char *key, const json_t *have)
{
    static const char *const ALWAYS[]  = {"dropout", NULL};
    static const char *const ADAPTER[] = {"adapter", "adapter_scale", "adapter_matrices", NULL};
    if (is_one_of(key, ALWAYS)) return true;
    if (strcmp(key, "initial_memory") == 0) return json_object_get(have, key) == NULL;
    return is_one_of(key, ADAPTER) && json_object_get(have, "adapter") == NULL;
}

lcsm_status lcsm_run_same_model(json_t *want, json_t *have, lcsm_run_whose whose, lcsm_error *err)
{
    static const char *const FIRST[] = {"layers_pattern", "code", "method"};
    for (size_t k = 0; k < COUNT(FIRST); k++)
        LCSM_OR_RETURN(lcsm_run_same(FIRST[k], want, have, whose, err));
    for (size_t k = 0; k < LCSM_MODEL_KEYS.count; k++) {
        const char *key = LCSM_MODEL_KEYS.rows[k].name;
        if (whose == LCSM_RUN_INIT && is_free(key, have)) continue;
        LCSM_OR_RETURN(lcsm_run_same(key, want, have, whose, err));
    }
    return LCSM_OK;
}

/* ---- a new run ---------------------------------------------------------------------------- */

static lcsm_status check_model(const lcsm_run_inputs *j, const char *folder, lcsm_error *err)
{
    lcsm_model_config model;
    lcsm_status       st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_model_config_load(&model, folder, err));
    json_t *want = lcsm_model_config_json(&j->model_cfg), *have = lcsm_model_config_json(&model);
    if (want == NULL || have == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the settings of a run");
    if (st == LCSM_OK) st = lcsm_run_same_model(want, have, LCSM_RUN_INIT, err);
    json_decref(want);
    json_decref(have);
    return st;
}

/* As the model has seen text so far. A released one was not trained line by line. */
static lcsm_status find_ends(lcsm_train_config *cfg, const char *folder, lcsm_error *err)
{
    lcsm_train_config own;
    lcsm_error        why = {0};
    if (cfg->ends != 0 || !lcsm_task_reads(lcsm_train_task(cfg), "ends")) return LCSM_OK;
    lcsm_status st        = lcsm_run_settings(folder, NULL, &own, &why);
    bool        by_others = st == LCSM_ERR_ARGUMENT; /* it has no settings of training */
    if (st != LCSM_OK && !by_others) {
        if (err != NULL) *err = why;
        return st;
    }
    cfg->ends = 1 + (by_others ? LCSM_ENDS_FILE : LCSM_ENDS_LINE);
    if (!by_others && own.ends != 0) cfg->ends = own.ends;
    return LCSM_OK;
}

/* A whole path, so that the run can be resumed from anywhere. */
static lcsm_status keep_path(lcsm_run_inputs *j, const char *folder, lcsm_error *err)
{
    char   *path = realpath(folder, NULL);
    json_t *text = json_string(path != NULL ? path : folder);
    j->init      = strdup(path != NULL ? path : folder);
    free(path);
    json_decref(text);
    if (j->init == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the path %s", folder);
    return text != NULL
             ? LCSM_OK
             : lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the path %s is not UTF-8, so the run's settings cannot hold it", folder);
}

/* ---- a run that is resumed ---------------------------------------------------------------- */

static lcsm_status read_init(lcsm_run_inputs *j, lcsm_error *err)
{
    lcsm_json_doc doc    = {0};
    lcsm_status   st     = LCSM_OK;
    const char   *folder = NULL, *sum = "";
    char          path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_run_config(path, j->run, err));
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    if (json_object_get(doc.root, "init") == NULL) goto cleanup;
    LCSM_TRY(lcsm_json_get_text(&folder, lcsm_json_need(&root, "init"), err));
    LCSM_TRY(lcsm_json_get_text(&sum, lcsm_json_need(&root, "init_sha256"), err));
    (void)snprintf(j->init_sha256, sizeof j->init_sha256, "%s", sum);
    j->init = strdup(folder);
    if (j->init == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the path %s", folder);
cleanup:
    lcsm_json_doc_free(&doc);
    return lcsm_file_fault(st, err);
}

lcsm_status lcsm_run_init_open(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err)
{
    if (want->resume && want->init != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "a run that is resumed has its weights; --init is for a new run");
    if (want->resume) return read_init(j, err);
    if (want->init == NULL) return LCSM_OK;
    LCSM_OR_RETURN(check_model(j, want->init, err));
    LCSM_OR_RETURN(find_ends(&j->cfg, want->init, err));
    return keep_path(j, want->init, err);
}

/* ---- the weights -------------------------------------------------------------------------- */

lcsm_status lcsm_run_init_take(lcsm_run_inputs *j, lcsm_error *err)
{
    lcsm_weights weights = {0};
    lcsm_status  st      = LCSM_OK;
    char         sum[LCSM_SHA256_TEXT];
    LCSM_TRY(lcsm_weights_open(&weights, j->init, 0, err));
    LCSM_TRY(lcsm_model_take_base(j->model->params, &weights, err));
    LCSM_TRY(lcsm_weights_sha256(sum, &weights, err));
    if (j->init_sha256[0] != '\0' && strcmp(j->init_sha256, sum) != 0)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_FORMAT,
                           "the weights in %s have changed since the run began: their SHA-256 is "
                           "%.12s..., and was %.12s...",
                           j->init, sum, j->init_sha256));
    memcpy(j->init_sha256, sum, sizeof sum);
cleanup:
    lcsm_weights_close(&weights);
    return st;
}
