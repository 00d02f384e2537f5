/* import_config.c - settings of a model from the config of a release. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "format/keys.h"
#include "model/import.h"

/* Keys that no release computes with: of training, of other programs, or read elsewhere. */
static const lcsm_import_key IGNORED[] = {
    LCSM_SKIPS("architectures|model_type|transformers_version|torch_dtype|dtype|use_cache"),
    LCSM_SKIPS("bos_token_id|eos_token_id|pad_token_id|initializer_range|max_position_embeddings"),
    LCSM_SKIPS("attention_dropout|output_router_logits|router_aux_loss_coef|residual_in_fp32"),
    LCSM_END,
};

/* ---- names ------------------------------------------------------------------------------ */

/* Whether the words "one|two" have this one. */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words;; at++) {
        size_t length = strcspn(at, "|");
        if (length == n && memcmp(at, word, n) == 0) return true;
        at += length;
        if (*at == '\0') return false;
    }
}

/* The value of the first of the names that the object has; *name is that name, or the first. */
static json_t *find_value(json_t *object, const char *names, char name[LCSM_KEY_TEXT_SIZE])
{
    json_t *value = NULL;
    for (const char *at = names; value == NULL;) {
        size_t length = strcspn(at, "|");
        (void)snprintf(name, LCSM_KEY_TEXT_SIZE, "%.*s", (int)length, at);
        value = json_object_get(object, name);
        if (at[length] == '\0') break;
        at += length + 1;
    }
    if (value == NULL)
        (void)snprintf(name, LCSM_KEY_TEXT_SIZE, "%.*s", (int)strcspn(names, "|"), names);
    return value;
}

static bool listed(const lcsm_import_key *keys, const char *name)
{
    for (; keys != NULL && keys->theirs != NULL; keys++)
        if (has_word(keys->theirs, name)) return true;
    return false;
}

/* ---- one key ---------------------------------------------------------------------------- */

static lcsm_status wrong_type(const lcsm_import_source *src, const char *name, const char *want,
                              lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s has the wrong type; expected %s", src->place,
                     name, want);
}

/* A value of the type that our key has, into it. */
static lcsm_status set_value(lcsm_model_config *cfg, const lcsm_import_source *src,
                             const char *name, const lcsm_key *key, const json_t *value,
                             lcsm_error *err)
{
    double number = json_number_value(value);
    if (key->type == LCSM_SETTING_BOOL) {
        if (!json_is_boolean(value)) return wrong_type(src, name, "true or false", err);
        number = json_is_true(value);
    } else if (!json_is_number(value)) return wrong_type(src, name, "a number", err);
    if (lcsm_keys_set_number(&LCSM_MODEL_KEYS, cfg, key->name, number, NULL) == LCSM_OK)
        return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is %.10g; expected %s%.10g to %.10g", src->place,
                     name, number, key->type == LCSM_SETTING_INT ? "a whole number from " : "",
                     key->min, key->max);
}

static lcsm_status check_only(const lcsm_import_source *src, const char *name, const char *only,
                              const json_t *value, lcsm_error *err)
{
    char        text[LCSM_KEY_TEXT_SIZE], list[LCSM_KEY_TEXT_SIZE];
    const char *quote = json_is_string(value) ? "\"" : "";
    if (has_word(only, lcsm_setting_text(text, value))) return LCSM_OK;
    (void)snprintf(list, sizeof list, "%s", only);
    for (char *at = list; *at != '\0'; at++)
        if (*at == '|') *at = ' ';
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s: %s is %s%.40s%s, which is not supported; expected %s", src->place, name,
                     quote, text[0] != '\0' ? text : "another type", quote, list);
}

lcsm_status lcsm_import_keys(lcsm_model_config *cfg, const lcsm_import_source *src, json_t *object,
                             const lcsm_import_key *keys, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (; keys != NULL && keys->theirs != NULL; keys++) {
        char            name[LCSM_KEY_TEXT_SIZE];
        json_t         *value = find_value(object, keys->theirs, name);
        const lcsm_key *key =
            keys->ours != NULL ? lcsm_keys_find(&LCSM_MODEL_KEYS, keys->ours) : NULL;
        if (value != NULL && keys->only != NULL)
            LCSM_OR_RETURN(check_only(src, name, keys->only, value, err));
        if (key == NULL) continue;
        if (value != NULL) LCSM_OR_RETURN(set_value(cfg, src, name, key, value, err));
        else if (keys->standard != NULL)
            LCSM_OR_RETURN(lcsm_model_config_set(cfg, keys->ours, keys->standard, err));
    }
    return st;
}

/* ---- all keys --------------------------------------------------------------------------- */

static void log_unknown(const lcsm_import_source *src, const lcsm_release *release)
{
    const char *name;
    json_t     *value;
    json_object_foreach(src->config, name, value)
    {
        bool known = listed(IGNORED, name);
        for (size_t j = 0; j < LCSM_IMPORT_LISTS; j++)
            known = known || listed(release->keys[j], name);
        if (!known)
            lcsm_log(&src->ctx->log, LCSM_LOG_INFO, "%s: unknown key %s is not used", src->place,
                     name);
    }
}

lcsm_status lcsm_import_settings(lcsm_import_plan *out, const lcsm_import_source *src,
                                 const lcsm_release *release, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    if (release->method != NULL)
        (void)snprintf(out->cfg.method, sizeof out->cfg.method, "%s", release->method);
    out->cfg.norm        = release->norm;
    out->cfg.embed_scale = 1;
    for (size_t j = 0; j < LCSM_IMPORT_LISTS; j++)
        LCSM_OR_RETURN(lcsm_import_keys(&out->cfg, src, src->config, release->keys[j], err));
    log_unknown(src, release);
    return st;
}

/* ---- what finishing functions ask ------------------------------------------------------- */

double lcsm_import_number(const lcsm_import_source *src, const char *key, double standard)
{
    json_t *value = json_object_get(src->config, key);
    return json_is_number(value) ? json_number_value(value) : standard;
}

bool lcsm_import_flag(const lcsm_import_source *src, const char *key, bool standard)
{
    json_t *value = json_object_get(src->config, key);
    return json_is_boolean(value) ? json_is_true(value) : standard;
}

lcsm_status lcsm_import_agree(const lcsm_import_source *src, const char *key, ptrdiff_t implied,
                              lcsm_error *err)
{
    double found = lcsm_import_number(src, key, (double)implied);
    if (found == (double)implied) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is %.10g, but the other keys imply %td",
                     src->place, key, found, implied);
}

lcsm_status lcsm_import_refuse(const lcsm_import_source *src, const char *key, const char *expected,
                               lcsm_error *err)
{
    char text[LCSM_KEY_TEXT_SIZE];
    (void)lcsm_setting_text(text, json_object_get(src->config, key));
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is %s, which is not supported; expected %s",
                     src->place, key, text[0] != '\0' ? text : "set", expected);
}

/* ---- patterns --------------------------------------------------------------------------- */

static bool repeats(const char *const *methods, ptrdiff_t layers, ptrdiff_t period)
{
    for (ptrdiff_t j = period; j < layers; j++)
        if (strcmp(methods[j], methods[j % period]) != 0) return false;
    return true;
}

lcsm_status lcsm_import_pattern(lcsm_model_config *cfg, const lcsm_import_source *src,
                                const char *const *methods, lcsm_error *err)
{
    ptrdiff_t   n  = 1;
    lcsm_strbuf s  = {0};
    lcsm_status st = LCSM_OK;
    while (!repeats(methods, cfg->layers, n)) n++;
    if (n == 1) {
        (void)snprintf(cfg->method, sizeof cfg->method, "%s", methods[0]);
        return LCSM_OK;
    }
    for (ptrdiff_t j = 0, run; j < n; j += run) {
        for (run = 1; j + run < n && strcmp(methods[j], methods[j + run]) == 0;) run++;
        lcsm_strbuf_printf(&s, "%s%s", j > 0 ? "," : "", methods[j]);
        if (run > 1) lcsm_strbuf_printf(&s, "*%td", run);
    }
    if (s.failed || s.size >= sizeof cfg->layers_pattern)
        st = lcsm_fail(err, LCSM_ERR_FORMAT,
                       "%s: the order of its layers needs a pattern of %zu characters; at most %zu "
                       "are supported",
                       src->place, s.size, sizeof cfg->layers_pattern - 1);
    else
        (void)snprintf(cfg->layers_pattern, sizeof cfg->layers_pattern, "%s", lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
    return st;
}
