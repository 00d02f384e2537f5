/* grid_read.c - the documents of an experiment, checked member by member. */
#include "experiment/grid_read.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/strdist.h"
#include "eos/code.h"
#include "eos/method.h"
#include "experiment/catalogue.h"
#include "model/config.h"
#include "report/record.h"
#include "report/study.h"
#include "train/settings.h"

/* ---- documents ----------------------------------------------------------------------------- */

static lcsm_status load_folder(lcsm_grid *g, const char *folder, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, folder, "grid.json", err));
    LCSM_OR_RETURN(lcsm_json_doc_read(&g->grid, path, LCSM_JSON_CONFIG_SIZE, err));
    LCSM_OR_RETURN(lcsm_path_join(path, folder, "paper.json", err));
    if (lcsm_path_exists(path))
        LCSM_OR_RETURN(lcsm_json_doc_read(&g->paper, path, LCSM_JSON_CONFIG_SIZE, err));
    return LCSM_OK;
}

static lcsm_status load_row(lcsm_grid *g, const lcsm_catalogue_row *row, lcsm_error *err)
{
    char label[112];
    (void)snprintf(label, sizeof label, "%s/grid.json", row->name);
    LCSM_OR_RETURN(
        lcsm_json_doc_parse(&g->grid, label, (const char *)row->grid, row->grid_size, err));
    (void)snprintf(label, sizeof label, "%s/paper.json", row->name);
    return lcsm_json_doc_parse(&g->paper, label, (const char *)row->paper, row->paper_size, err);
}

static lcsm_status unknown_name(const char *name, lcsm_error *err)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t      count = 0;
    while (count < LCSM_CATALOGUE_COUNT && count < MOST) {
        names[count] = LCSM_CATALOGUE[count].name;
        count++;
    }
    const char *near = lcsm_suggest(name, names, count);
    char        path[LCSM_PATH_MAX];
    if (lcsm_path_join(path, name, "grid.json", NULL) == LCSM_OK && lcsm_path_exists(path))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "unknown experiment \"%.60s\"; for the folder use ./%.60s", name, name);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "unknown experiment \"%.60s\"%s%s%s", name,
                     near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                     near == NULL ? "; see lcsm experiment list" : "?");
}

lcsm_status lcsm_grid_load(lcsm_grid *g, const char *name, lcsm_error *err)
{
    bool folder = strchr(name, '/') != NULL;
    if (folder) {
        size_t length = strlen(name);
        while (length > 1 && name[length - 1] == '/') length--;
        size_t start = length;
        while (start > 0 && name[start - 1] != '/') start--;
        (void)snprintf(g->name, sizeof g->name, "%.*s", (int)(length - start), name + start);
        return load_folder(g, name, err);
    }
    (void)snprintf(g->name, sizeof g->name, "%s", name);
    for (size_t j = 0; j < LCSM_CATALOGUE_COUNT; j++)
        if (strcmp(LCSM_CATALOGUE[j].name, name) == 0) return load_row(g, &LCSM_CATALOGUE[j], err);
    return unknown_name(name, err);
}

/* ---- members ------------------------------------------------------------------------------- */

/* Keys of lcsm train that have a place of their own in a grid, and are none of its settings. */
static const struct {
    const char *key, *want;
} ELSEWHERE[] = {
    {"task", "none here: it belongs beside \"title\", or is an axis"},
    {"seed", "none here: a scale has \"seeds\""},
    {"lr", "none here: a scale has the list \"lr\", and a variant may have its own learning rate"},
};

/* Settings, or axes by their keys. A rate may be set by variants and by the list of rates, and the
 * task by an axis: `may` is such a key, or "". */
static lcsm_status check_settings(const lcsm_json *object, const char *may, lcsm_error *err)
{
    for (size_t j = 0; j < COUNT(ELSEWHERE); j++) {
        lcsm_json v = lcsm_json_may(object, ELSEWHERE[j].key);
        if (v.value != NULL && strcmp(may, ELSEWHERE[j].key) != 0)
            return lcsm_json_fail(&v, err, "%s", ELSEWHERE[j].want);
    }
    return LCSM_OK;
}

/* A point of an axis, or a rate: a number, or settings among which the number has the key. */
static lcsm_status read_point(double *out, lcsm_json point, const char *key, double least,
                              double most, lcsm_error *err)
{
    lcsm_json value = json_is_object(point.value) ? lcsm_json_need(&point, key) : point;
    LCSM_OR_RETURN(check_settings(&point, key, err));
    if (strcmp(key, "task") == 0) return lcsm_axis_read(out, value, err);
    return lcsm_json_get_real(out, value, least, most, err);
}

static lcsm_status read_axes(lcsm_grid *g, lcsm_grid_source *out, const lcsm_json *scale,
                             lcsm_error *err)
{
    lcsm_json axes = lcsm_json_may(scale, "axes");
    if (axes.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_object(&axes, axes, err));
    LCSM_OR_RETURN(check_settings(&axes, "task", err));
    for (lcsm_json a = lcsm_json_first(&axes); a.value != NULL; a = lcsm_json_next(&a)) {
        lcsm_json points;
        if (g->axis_count == LCSM_GRID_AXES)
            return lcsm_json_fail(&axes, err, "at most %d axes", LCSM_GRID_AXES);
        LCSM_OR_RETURN(lcsm_json_get_array(&points, a, 1, 1000, err));
        for (size_t j = 0; j < lcsm_json_count(&points); j++) {
            double number;
            LCSM_OR_RETURN(
                read_point(&number, lcsm_json_item(&points, j), a.key, -INFINITY, INFINITY, err));
        }
        out->axes[g->axis_count] = a.value;
        g->axes[g->axis_count++] = a.key;
    }
    return LCSM_OK;
}

static lcsm_status read_rates(lcsm_grid_source *out, const lcsm_json *scale, lcsm_error *err)
{
    lcsm_json list;
    LCSM_OR_RETURN(lcsm_json_get_array(&list, lcsm_json_need(scale, "lr"), 1, COUNT(out->lr), err));
    for (size_t j = 0; j < lcsm_json_count(&list); j++) {
        lcsm_json item = lcsm_json_item(&list, j);
        LCSM_OR_RETURN(read_point(&out->lr[j], item, "lr", 0, 1e3, err));
        for (size_t i = 0; i < j; i++)
            if (out->lr[i] == out->lr[j]) /* runs are told apart by it */
                return lcsm_json_fail(&item, err, "a different rate: %g is already in the list",
                                      out->lr[j]);
        out->lr_count++;
    }
    out->rates = list.value;
    out->seeds = 1;
    return lcsm_json_get_size(&out->seeds, lcsm_json_may(scale, "seeds"), 1, 1000, err);
}

static lcsm_status read_scale(lcsm_grid *g, lcsm_grid_source *out, const lcsm_json *root,
                              const char *name, lcsm_error *err)
{
    static const char *const known[] = {"fixed", "axes", "lr", "seeds", "tokenizer"};
    size_t                   number  = LCSM_GRID_SCALES;
    lcsm_json                scales, scale, fixed;
    for (size_t j = 0; j < LCSM_GRID_SCALES; j++)
        if (strcmp(name, LCSM_GRID_SCALE_NAMES[j]) == 0) number = j;
    if (number == LCSM_GRID_SCALES)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "unknown scale \"%.40s\"; expected tiny, small or paper", name);
    g->scale = LCSM_GRID_SCALE_NAMES[number];
    LCSM_OR_RETURN(lcsm_json_get_object(&scales, lcsm_json_need(root, "scales"), err));
    LCSM_OR_RETURN(lcsm_json_known_keys(&scales, LCSM_GRID_SCALE_NAMES, LCSM_GRID_SCALES, err));
    LCSM_OR_RETURN(lcsm_json_get_object(&scale, lcsm_json_need(&scales, g->scale), err));
    LCSM_OR_RETURN(lcsm_json_known_keys(&scale, known, COUNT(known), err));
    LCSM_OR_RETURN(lcsm_json_get_object(&fixed, lcsm_json_need(&scale, "fixed"), err));
    LCSM_OR_RETURN(check_settings(&fixed, "", err));
    out->scale_fixed = fixed.value;
    LCSM_OR_RETURN(
        lcsm_json_get_size(&g->vocabulary, lcsm_json_may(&scale, "tokenizer"), 257, 1 << 20, err));
    LCSM_OR_RETURN(read_axes(g, out, &scale, err));
    return read_rates(out, &scale, err);
}

/* What a variant sets at single scales, which the grid must have. */
static lcsm_status check_at(const lcsm_json *variant, const lcsm_json *scales, lcsm_error *err)
{
    lcsm_json at = lcsm_json_may(variant, "at");
    if (at.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_object(&at, at, err));
    LCSM_OR_RETURN(lcsm_json_known_keys(&at, LCSM_GRID_SCALE_NAMES, LCSM_GRID_SCALES, err));
    for (lcsm_json m = lcsm_json_first(&at); m.value != NULL; m = lcsm_json_next(&m)) {
        LCSM_OR_RETURN(lcsm_json_get_object(&m, m, err));
        LCSM_OR_RETURN(check_settings(&m, "lr", err));
        if (!lcsm_json_has(scales, m.key))
            LCSM_OR_RETURN(lcsm_json_fail(&m, err, "none: \"scales\" has no \"%s\"", m.key));
    }
    return LCSM_OK;
}

/* A variant of each row of the method table, with the settings of this one. */
static bool add_methods(json_t *list, size_t at, const json_t *settings)
{
    bool ok = true;
    for (size_t j = 0; j < LCSM_METHOD_COUNT && ok; j++) {
        if (LCSM_METHODS[j].states == lcsm_code_build) continue; /* by a code, or by keys */
        json_t *one = json_copy((json_t *)(uintptr_t)settings);
        ok          = json_object_set_new(one, "label", json_string(LCSM_METHODS[j].name)) == 0
          && json_object_set_new(one, "method", json_string(LCSM_METHODS[j].name)) == 0;
        ok = json_array_insert_new(list, at++, one) == 0 && ok;
    }
    return ok;
}

/* {"every": "method", KEY: VALUE, ...} stands for a variant of each method. */
static lcsm_status expand_methods(const lcsm_json *list, json_t *array, lcsm_error *err)
{
    static const char *const words[] = {"method"};
    for (size_t j = 0; j < lcsm_json_count(list); j++) {
        lcsm_json item  = lcsm_json_item(list, j), object;
        lcsm_json every = {0};
        size_t    which;
        LCSM_OR_RETURN(lcsm_json_get_object(&object, item, err));
        if (!lcsm_json_has(&object, "every")) continue;
        every = lcsm_json_need(&object, "every");
        LCSM_OR_RETURN(lcsm_json_get_choice(&which, every, words, COUNT(words), err));
        json_t *settings = json_incref(json_array_get(array, j));
        bool    ok = json_array_remove(array, j) == 0 && json_object_del(settings, "every") == 0
               && add_methods(array, j, settings);
        json_decref(settings);
        if (!ok)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for the variants of an experiment");
    }
    return LCSM_OK;
}

static lcsm_status read_variants(lcsm_grid *g, lcsm_grid_source *out, const lcsm_json *root,
                                 lcsm_error *err)
{
    lcsm_json list, scales = lcsm_json_may(root, "scales");
    LCSM_OR_RETURN(lcsm_json_get_array(&list, lcsm_json_need(root, "variants"), 1, 1000, err));
    LCSM_OR_RETURN(expand_methods(&list, json_object_get(g->grid.root, "variants"), err));
    g->variants = calloc(lcsm_json_count(&list), sizeof *g->variants);
    if (g->variants == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the variants of %s", g->name);
    for (; g->variant_count < lcsm_json_count(&list); g->variant_count++) {
        lcsm_json row = lcsm_json_item(&list, g->variant_count), object;
        LCSM_OR_RETURN(lcsm_json_get_object(&object, row, err));
        LCSM_OR_RETURN(lcsm_json_get_text(&g->variants[g->variant_count],
                                          lcsm_json_need(&object, "label"), err));
        LCSM_OR_RETURN(check_settings(&object, "lr", err));
        LCSM_OR_RETURN(check_at(&object, &scales, err));
    }
    out->variants = list.value;
    return LCSM_OK;
}

/* ---- the paper's rows and findings --------------------------------------------------------- */

/* Labels of variants that there are. */
static lcsm_status check_labels(const lcsm_grid *g, lcsm_json v, size_t least, lcsm_error *err)
{
    lcsm_json list;
    size_t    which;
    if (v.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_array(&list, v, least, 1000, err));
    for (size_t j = 0; j < lcsm_json_count(&list); j++)
        LCSM_OR_RETURN(lcsm_json_get_choice(&which, lcsm_json_item(&list, j), g->variants,
                                            g->variant_count, err));
    return LCSM_OK;
}

static lcsm_status check_row(const lcsm_grid *g, const lcsm_json *item, lcsm_error *err)
{
    static const char *const keys[] = {"label", "valid", "test", "parameters"};
    lcsm_json                row;
    size_t                   which;
    double                   number;
    LCSM_OR_RETURN(lcsm_json_get_object(&row, *item, err));
    LCSM_OR_RETURN(lcsm_json_known_keys(&row, keys, COUNT(keys), err));
    LCSM_OR_RETURN(lcsm_json_get_choice(&which, lcsm_json_need(&row, "label"), g->variants,
                                        g->variant_count, err));
    for (size_t j = 1; j < COUNT(keys); j++)
        LCSM_OR_RETURN(
            lcsm_json_get_real(&number, lcsm_json_may(&row, keys[j]), -INFINITY, INFINITY, err));
    return LCSM_OK;
}

static bool is_axis(const lcsm_grid *g, const char *key)
{
    lcsm_json root = lcsm_json_root(&g->grid), scales = lcsm_json_need(&root, "scales");
    bool      found = false;
    for (lcsm_json s = lcsm_json_first(&scales); s.value != NULL; s = lcsm_json_next(&s))
        found = found || json_object_get(json_object_get(s.value, "axes"), key) != NULL;
    return found;
}

/* Points on axes, which another scale than this one may have. */
static lcsm_status check_points(const lcsm_grid *g, lcsm_json v, lcsm_error *err)
{
    lcsm_json at;
    double    number;
    if (v.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_object(&at, v, err));
    for (lcsm_json m = lcsm_json_first(&at); m.value != NULL; m = lcsm_json_next(&m)) {
        if (!is_axis(g, m.key)) LCSM_OR_RETURN(lcsm_json_fail(&m, err, "the key of an axis"));
        LCSM_OR_RETURN(lcsm_axis_read(&number, m, err));
    }
    return LCSM_OK;
}

static lcsm_status check_finding(const lcsm_grid *g, const lcsm_json *item, lcsm_error *err)
{
    static const char *const keys[] = {"text", "better", "than", "by", "any", "rising", "at"};
    lcsm_json                finding;
    const char              *text;
    double                   number;
    bool                     any;
    LCSM_OR_RETURN(lcsm_json_get_object(&finding, *item, err));
    LCSM_OR_RETURN(lcsm_json_known_keys(&finding, keys, COUNT(keys), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&text, lcsm_json_need(&finding, "text"), err));
    if (lcsm_json_has(&finding, "better") != lcsm_json_has(&finding, "than"))
        LCSM_OR_RETURN(lcsm_json_fail(&finding, err, "better and than together"));
    LCSM_OR_RETURN(check_labels(g, lcsm_json_may(&finding, "better"), 1, err));
    LCSM_OR_RETURN(check_labels(g, lcsm_json_may(&finding, "than"), 1, err));
    LCSM_OR_RETURN(check_labels(g, lcsm_json_may(&finding, "rising"), 2, err));
    LCSM_OR_RETURN(check_points(g, lcsm_json_may(&finding, "at"), err));
    LCSM_OR_RETURN(lcsm_json_get_real(&number, lcsm_json_may(&finding, "by"), 0, INFINITY, err));
    return lcsm_json_get_bool(&any, lcsm_json_may(&finding, "any"), err);
}

static lcsm_status check_paper(const lcsm_grid *g, lcsm_error *err)
{
    static const struct {
        const char *key;
        lcsm_status (*check)(const lcsm_grid *g, const lcsm_json *item, lcsm_error *err);
    } lists[]                        = {{"rows", check_row}, {"findings", check_finding}};
    static const char *const known[] = {"source", "rows", "findings"};
    lcsm_json                root    = lcsm_json_root(&g->paper);
    const char              *source;
    if (root.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_known_keys(&root, known, COUNT(known), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&source, lcsm_json_may(&root, "source"), err));
    for (size_t k = 0; k < COUNT(lists); k++) {
        lcsm_json list = lcsm_json_may(&root, lists[k].key);
        LCSM_OR_RETURN(lcsm_json_get_array(&list, list, 0, 1000, err));
        for (size_t j = 0; j < lcsm_json_count(&list); j++) {
            lcsm_json item = lcsm_json_item(&list, j);
            LCSM_OR_RETURN(lists[k].check(g, &item, err));
        }
    }
    return LCSM_OK;
}

/* One of the table, or "several": then it is an axis. */
static lcsm_status read_task(lcsm_grid *g, lcsm_json name, lcsm_error *err)
{
    const char *names[LCSM_TASK_COUNT + 1];
    size_t      task;
    for (size_t j = 0; j < LCSM_TASK_COUNT; j++) names[j] = LCSM_TASKS[j]->name;
    names[LCSM_TASK_COUNT] = LCSM_GRID_SEVERAL;
    LCSM_OR_RETURN(lcsm_json_get_choice(&task, name, names, LCSM_TASK_COUNT + 1, err));
    g->task = names[task];
    return LCSM_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

lcsm_status lcsm_grid_read(lcsm_grid *g, lcsm_grid_source *out, const char *scale, lcsm_error *err)
{
    static const char *const known[] = {"title",  "about", "task",     "metric",
                                        "serial", "fixed", "variants", "scales"};
    lcsm_json                root    = lcsm_json_root(&g->grid), fixed;
    const lcsm_metric       *metric;
    g->about = "";
    LCSM_OR_RETURN(lcsm_json_known_keys(&root, known, COUNT(known), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&g->title, lcsm_json_need(&root, "title"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&g->about, lcsm_json_may(&root, "about"), err));
    LCSM_OR_RETURN(read_task(g, lcsm_json_need(&root, "task"), err));
    LCSM_OR_RETURN(lcsm_metric_read(&metric, lcsm_json_need(&root, "metric"), err));
    LCSM_OR_RETURN(lcsm_json_get_bool(&g->serial, lcsm_json_may(&root, "serial"), err));
    g->metric = metric->name;
    fixed     = lcsm_json_may(&root, "fixed");
    LCSM_OR_RETURN(lcsm_json_get_object(&fixed, fixed, err));
    LCSM_OR_RETURN(check_settings(&fixed, "", err));
    out->fixed = fixed.value;
    LCSM_OR_RETURN(read_variants(g, out, &root, err));
    LCSM_OR_RETURN(read_scale(g, out, &root, scale, err));
    bool axis = false, several = strcmp(g->task, LCSM_GRID_SEVERAL) == 0;
    for (size_t j = 0; j < g->axis_count; j++) axis = axis || strcmp(g->axes[j], "task") == 0;
    if (axis != several) {
        lcsm_json task = lcsm_json_need(&root, "task");
        return lcsm_json_fail(&task, err, "\"several\" if task is an axis, and one task otherwise");
    }
    return check_paper(g, err);
}

/* ---- settings ------------------------------------------------------------------------------ */

lcsm_status lcsm_setting_apply(lcsm_model_config *model, lcsm_train_config *train, const char *key,
                               const char *value, lcsm_error *err)
{
    if (lcsm_model_config_find(key, NULL)) return lcsm_model_config_set(model, key, value, err);
    if (lcsm_train_config_find(key, NULL)) return lcsm_train_config_set(train, key, value, err);
    const char *of_model = lcsm_keys_nearest(&LCSM_MODEL_KEYS, key);
    const char *of_train = lcsm_keys_nearest(&LCSM_TRAIN_KEYS, key);
    bool        nearer   = lcsm_strdist(key, of_model) <= lcsm_strdist(key, of_train);
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%.60s is not a known key; did you mean %s?", key,
                     nearer ? of_model : of_train);
}
