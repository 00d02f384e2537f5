/* json_doc.c - jansson behind typed getters that say what is wrong and where. */
#include "format/json_doc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/strdist.h"
#include "format/json_scan.h"

/* The scanner goes first: it is stricter than jansson, which takes a zero byte behind a number for
 * nothing, and it knows the limit of depth. */
static lcsm_status check_text(const char *label, const char *text, size_t size, lcsm_error *err)
{
    const char *problem = NULL;
    size_t      at = lcsm_utf8_check(text, size), line = 1, column = 1;
    if (at < size) {
        problem = "not UTF-8";
    } else {
        at      = lcsm_json_space(text, size, 0);
        problem = lcsm_json_check(text, size, LCSM_JSON_DEPTH, &at);
        if (problem == NULL) at = lcsm_json_space(text, size, at);
        if (problem == NULL && at < size) problem = "text after the value";
    }
    if (problem == NULL) return LCSM_OK;
    for (size_t j = 0; j < at; j++) {
        line += text[j] == '\n';
        column = text[j] == '\n' ? 1 : column + 1;
    }
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s:%zu:%zu: %s", label, line, column, problem);
}

lcsm_status lcsm_json_doc_parse(lcsm_json_doc *doc, const char *label, const char *text,
                                size_t size, lcsm_error *err)
{
    json_error_t problem;
    *doc           = (lcsm_json_doc){0};
    lcsm_status st = check_text(label, text, size, err);
    if (st != LCSM_OK) return st;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s:%d:%d: %s", label, problem.line, problem.column,
                         problem.text);
    doc->label = strdup(label);
    doc->root  = root;
    if (doc->label != NULL) return LCSM_OK;
    lcsm_json_doc_free(doc);
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its name", label);
}

lcsm_status lcsm_json_doc_read(lcsm_json_doc *doc, const char *path, size_t max_size,
                               lcsm_error *err)
{
    lcsm_file   file;
    lcsm_status st = LCSM_OK;
    *doc           = (lcsm_json_doc){0};
    LCSM_TRY(lcsm_file_read(&file, path, max_size, err));
    LCSM_TRY(lcsm_json_doc_parse(doc, path, (const char *)file.data, file.size, err));
cleanup:
    lcsm_file_close(&file);
    return st;
}

void lcsm_json_doc_free(lcsm_json_doc *doc)
{
    free(doc->label);
    json_decref(doc->root);
    *doc = (lcsm_json_doc){0};
}

lcsm_json lcsm_json_root(const lcsm_json_doc *doc)
{
    return (lcsm_json){.value = doc->root, .doc = doc};
}

lcsm_json lcsm_json_need(const lcsm_json *object, const char *key)
{
    return (lcsm_json){.value  = json_object_get(object->value, key),
                       .doc    = object->doc,
                       .parent = object,
                       .key    = key};
}

lcsm_json lcsm_json_may(const lcsm_json *object, const char *key)
{
    lcsm_json v = lcsm_json_need(object, key);
    v.optional  = true;
    return v;
}

lcsm_json lcsm_json_item(const lcsm_json *array, size_t index)
{
    return (lcsm_json){.value  = json_array_get(array->value, index),
                       .doc    = array->doc,
                       .parent = array,
                       .index  = index};
}

bool lcsm_json_has(const lcsm_json *object, const char *key)
{
    const json_t *value = json_object_get(object->value, key);
    return value != NULL && !json_is_null(value);
}

double lcsm_json_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

size_t lcsm_json_count(const lcsm_json *v)
{
    return json_is_array(v->value) ? json_array_size(v->value) : json_object_size(v->value);
}

/* jansson's iterators want a json_t without const, and change nothing in it. */
static json_t *unconst(const json_t *value)
{
    return (json_t *)(uintptr_t)value;
}

static lcsm_json member_at(const lcsm_json *object, void *place)
{
    const char *key = place == NULL ? NULL : json_object_iter_key(place);
    return (lcsm_json){.value  = place == NULL ? NULL : json_object_iter_value(place),
                       .doc    = object->doc,
                       .parent = object,
                       .key    = key};
}

lcsm_json lcsm_json_first(const lcsm_json *object)
{
    return member_at(object, json_object_iter(unconst(object->value)));
}

lcsm_json lcsm_json_next(const lcsm_json *member)
{
    json_t *object = unconst(member->parent->value);
    return member_at(member->parent,
                     json_object_iter_next(object, json_object_iter_at(object, member->key)));
}

/* "layers[3].norm" */
static void put_path(lcsm_strbuf *s, const lcsm_json *v)
{
    if (v->parent == NULL) return;
    put_path(s, v->parent);
    if (v->key == NULL) lcsm_strbuf_printf(s, "[%zu]", v->index);
    else lcsm_strbuf_printf(s, "%s%.80s", s->size > 0 ? "." : "", v->key);
}

/* "\"768\" (a string)" */
static void put_found(lcsm_strbuf *s, const json_t *value)
{
    if (value == NULL) {
        lcsm_strbuf_add(s, "missing");
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT: lcsm_strbuf_add(s, "an object"); break;
    case JSON_ARRAY: lcsm_strbuf_printf(s, "an array of %zu items", json_array_size(value)); break;
    case JSON_STRING:
        lcsm_strbuf_printf(s, "\"%.40s\" (a string)", json_string_value(value));
        break;
    case JSON_INTEGER: lcsm_strbuf_printf(s, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL: lcsm_strbuf_printf(s, "%.17g (a real)", json_real_value(value)); break;
    case JSON_TRUE: lcsm_strbuf_add(s, "true"); break;
    case JSON_FALSE: lcsm_strbuf_add(s, "false"); break;
    case JSON_NULL: lcsm_strbuf_add(s, "null"); break;
    }
}

lcsm_status lcsm_json_fail(const lcsm_json *v, lcsm_error *err, const char *want, ...)
{
    lcsm_strbuf path = {0}, found = {0};
    char        text[160];
    va_list     args;
    va_start(args, want);
    (void)vsnprintf(text, sizeof text, want, args);
    va_end(args);
    put_path(&path, v);
    put_found(&found, v->value);
    lcsm_status st = lcsm_fail(err, LCSM_ERR_CONFIG, "%s: %s is %s; expected %s", v->doc->label,
                               v->parent == NULL ? "the document" : lcsm_strbuf_text(&path),
                               lcsm_strbuf_text(&found), text);
    lcsm_strbuf_free(&path);
    lcsm_strbuf_free(&found);
    return st;
}

/* A getter has nothing to say about what may be absent and is. */
static bool absent(const lcsm_json *v)
{
    return v->value == NULL && v->optional;
}

lcsm_status lcsm_json_get_int(int64_t *out, lcsm_json v, int64_t min, int64_t max, lcsm_error *err)
{
    int64_t value = json_integer_value(v.value);
    if (absent(&v)) return LCSM_OK;
    if (!json_is_integer(v.value) || value < min || value > max)
        return lcsm_json_fail(&v, err, "an integer from %lld to %lld", (long long)min,
                              (long long)max);
    *out = value;
    return LCSM_OK;
}

lcsm_status lcsm_json_get_size(size_t *out, lcsm_json v, size_t min, size_t max, lcsm_error *err)
{
    int64_t     most  = max > (size_t)INT64_MAX ? INT64_MAX : (int64_t)max;
    int64_t     value = -1;
    lcsm_status st    = lcsm_json_get_int(&value, v, (int64_t)min, most, err);
    if (value >= 0) *out = (size_t)value;
    return st;
}

lcsm_status lcsm_json_get_real(double *out, lcsm_json v, double min, double max, lcsm_error *err)
{
    double value = json_number_value(v.value);
    if (absent(&v)) return LCSM_OK;
    if (!json_is_number(v.value) || !(value >= min && value <= max)) {
        if (isinf(min) && isinf(max)) return lcsm_json_fail(&v, err, "a number");
        return lcsm_json_fail(&v, err, "a number from %.6g to %.6g", min, max);
    }
    *out = value;
    return LCSM_OK;
}

lcsm_status lcsm_json_get_bool(bool *out, lcsm_json v, lcsm_error *err)
{
    if (absent(&v)) return LCSM_OK;
    if (!json_is_boolean(v.value)) return lcsm_json_fail(&v, err, "true or false");
    *out = json_is_true(v.value);
    return LCSM_OK;
}

lcsm_status lcsm_json_get_text(const char **out, lcsm_json v, lcsm_error *err)
{
    if (absent(&v)) return LCSM_OK;
    if (!json_is_string(v.value)) return lcsm_json_fail(&v, err, "a string");
    *out = json_string_value(v.value);
    return LCSM_OK;
}

/* "a", "b" or "c"; cut when it becomes long. */
static void put_names(lcsm_strbuf *s, const char *const *names, size_t count)
{
    enum { ENOUGH = 160 };
    for (size_t j = 0; j < count && s->size < ENOUGH; j++)
        lcsm_strbuf_printf(s, "%s\"%s\"", j == 0 ? "" : j + 1 == count ? " or " : ", ", names[j]);
    if (s->size >= ENOUGH) lcsm_strbuf_add(s, ", ...");
}

lcsm_status lcsm_json_get_choice(size_t *out, lcsm_json v, const char *const *names, size_t count,
                                 lcsm_error *err)
{
    const char *text = json_string_value(v.value);
    if (absent(&v)) return LCSM_OK;
    for (size_t j = 0; text != NULL && j < count; j++) {
        if (strcmp(text, names[j]) != 0) continue;
        *out = j;
        return LCSM_OK;
    }
    const char *near = text == NULL ? NULL : lcsm_suggest(text, names, count);
    if (near != NULL) return lcsm_json_fail(&v, err, "perhaps \"%s\"", near);
    lcsm_strbuf list = {0};
    put_names(&list, names, count);
    lcsm_status st = lcsm_json_fail(&v, err, "%s", lcsm_strbuf_text(&list));
    lcsm_strbuf_free(&list);
    return st;
}

lcsm_status lcsm_json_get_object(lcsm_json *out, lcsm_json v, lcsm_error *err)
{
    if (absent(&v)) return LCSM_OK;
    if (!json_is_object(v.value)) return lcsm_json_fail(&v, err, "an object");
    *out = v;
    return LCSM_OK;
}

lcsm_status lcsm_json_get_array(lcsm_json *out, lcsm_json v, size_t min, size_t max,
                                lcsm_error *err)
{
    size_t count = json_array_size(v.value);
    if (absent(&v)) return LCSM_OK;
    if (!json_is_array(v.value) || count < min || count > max) {
        if (min == max) return lcsm_json_fail(&v, err, "an array of %zu items", min);
        return lcsm_json_fail(&v, err, "an array of %zu to %zu items", min, max);
    }
    *out = v;
    return LCSM_OK;
}

static bool is_among(const char *key, const char *const *known, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (strcmp(key, known[j]) == 0) return true;
    return false;
}

lcsm_status lcsm_json_known_keys(const lcsm_json *object, const char *const *known, size_t count,
                                 lcsm_error *err)
{
    lcsm_json m = lcsm_json_first(object);
    while (m.value != NULL && is_among(m.key, known, count)) m = lcsm_json_next(&m);
    if (m.value == NULL) return LCSM_OK;

    lcsm_strbuf path = {0};
    put_path(&path, &m);
    const char *near = lcsm_suggest(m.key, known, count);
    lcsm_status st =
        lcsm_fail(err, LCSM_ERR_CONFIG, "%s: %s is not a known key%s%s%s", object->doc->label,
                  lcsm_strbuf_text(&path), near == NULL ? "" : "; did you mean \"",
                  near == NULL ? "" : near, near == NULL ? "" : "\"?");
    lcsm_strbuf_free(&path);
    return st;
}
