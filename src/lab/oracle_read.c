/* oracle_read.c - oracle files of the three formats, checked before anything is run. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "lab/oracle.h"

/* Where the reader is, for messages. */
typedef struct {
    const char *path, *name, *array;
} place;

/* ---- arrays ----------------------------------------------------------------------------- */

static lcsm_status bad_array(const place *at, const char *what, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %s: array %s: %s", at->path, at->name,
                     at->array, what);
}

static lcsm_status read_shape(lcsm_oracle_array *a, const json_t *shape, const place *at,
                              lcsm_error *err)
{
    size_t rank = json_array_size(shape), count = 1;
    if (!json_is_array(shape)) return bad_array(at, "no \"shape\" list", err);
    if (rank > LCSM_ORACLE_RANK) return bad_array(at, "more than 5 axes", err);
    for (size_t j = 0; j < rank; j++) {
        const json_t *n = json_array_get(shape, j);
        if (!json_is_integer(n) || json_integer_value(n) < 0
            || json_integer_value(n) > PTRDIFF_MAX / 16)
            return bad_array(at, "\"shape\" contains something other than sizes", err);
        a->dim[j] = (ptrdiff_t)json_integer_value(n);
        if (!lcsm_size_mul(count, (size_t)a->dim[j], &count) || count > PTRDIFF_MAX / 16)
            return bad_array(at, "the product of \"shape\" overflows", err);
    }
    a->rank    = (int)rank;
    a->count   = count;
    a->numbers = a->is_complex ? 2 * count : count;
    return LCSM_OK;
}

/* Whether a nested list holds null, which stands for NaN and the infinite. */
static bool has_null(const json_t *data)
{
    for (size_t j = 0; j < json_array_size(data); j++)
        if (has_null(json_array_get(data, j))) return true;
    return json_is_null(data);
}

/* How many numbers a nested list holds. */
static size_t leaves(const json_t *data)
{
    if (!json_is_array(data)) return 1;
    size_t n = 0;
    for (size_t j = 0; j < json_array_size(data); j++) n += leaves(json_array_get(data, j));
    return n;
}

/* Copies numbers; a nested list must have the axes of the shape. False on anything else. */
static bool copy_numbers(const lcsm_oracle_array *a, const json_t *data, int axis, double **next)
{
    if (json_is_number(data)) {
        *(*next)++ = json_number_value(data);
        return true;
    }
    if (!json_is_array(data)) return false;
    size_t n      = json_array_size(data);
    bool   nested = n > 0 && json_is_array(json_array_get(data, 0));
    if ((nested || axis > 0) && (axis >= a->rank || n != (size_t)a->dim[axis])) return false;
    for (size_t j = 0; j < n; j++) {
        const json_t *item = json_array_get(data, j);
        if (json_is_array(item) != nested || !copy_numbers(a, item, axis + 1, next)) return false;
    }
    return true;
}

static lcsm_status read_array(lcsm_oracle_array *a, const json_t *object, const place *at,
                              lcsm_error *err)
{
    const json_t *data = json_object_get(object, "data");
    *a                 = (lcsm_oracle_array){.name = at->array};
    if (!json_is_object(object) || data == NULL)
        return bad_array(at, "expected an object with \"shape\" and \"data\"", err);
    a->is_complex  = json_is_true(json_object_get(object, "complex"));
    lcsm_status st = read_shape(a, json_object_get(object, "shape"), at, err);
    if (st != LCSM_OK) return st;
    if (has_null(data)) return bad_array(at, "it holds NaN or infinite numbers", err);
    size_t found = leaves(data);
    if (found != a->numbers)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: case %s: array %s: \"data\" has %zu numbers; its shape needs %zu",
                         at->path, at->name, at->array, found, a->numbers);
    double *next = a->data = malloc((a->numbers + 1) * sizeof *next);
    if (next == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for array %s", at->path,
                         at->array);
    if (copy_numbers(a, data, 0, &next)) return LCSM_OK;
    return bad_array(at, "\"data\" is not a list of numbers of its shape", err);
}

static lcsm_status read_arrays(lcsm_oracle_arrays *out, json_t *object, const char *what, place at,
                               lcsm_error *err)
{
    const char *name;
    json_t     *value;
    size_t      n = json_object_size(object);
    if (object == NULL) return LCSM_OK;
    if (!json_is_object(object))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %s: \"%s\" is not an object", at.path,
                         at.name, what);
    out->list = calloc(n + 1, sizeof *out->list);
    if (out->list == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for %zu arrays", at.path, n);
    json_object_foreach(object, name, value)
    {
        at.array       = name;
        lcsm_status st = read_array(&out->list[out->count++], value, &at, err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

/* ---- cases ------------------------------------------------------------------------------ */

static lcsm_status read_case(lcsm_oracle_case *c, const json_t *object, const char *grads,
                             const char *path, lcsm_error *err)
{
    const struct {
        const char         *key;
        lcsm_oracle_arrays *to;
    } parts[] = {
        {"inputs", &c->inputs}, {"outputs", &c->outputs}, {"dy", &c->dy}, {grads, &c->grads}};
    for (size_t j = 0; j < COUNT(parts); j++) {
        place       at = {path, c->name, ""};
        lcsm_status st =
            read_arrays(parts[j].to, json_object_get(object, parts[j].key), parts[j].key, at, err);
        if (st != LCSM_OK) return st;
    }
    if (c->outputs.count == 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %s has no outputs", path, c->name);
    if (c->config != NULL && !json_is_object(c->config))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %s: its settings are not an object", path,
                         c->name);
    return LCSM_OK;
}

/* Room for one more case, with its name. */
static lcsm_oracle_case *add_case(lcsm_oracle *o, const char *group, const char *name)
{
    lcsm_oracle_case *more = realloc(o->cases, (o->count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    o->cases           = more;
    o->cases[o->count] = (lcsm_oracle_case){.group = group, .name = name};
    return &o->cases[o->count++];
}

static lcsm_status no_room(const char *path, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for a case", path);
}

static lcsm_status read_titled(lcsm_oracle *o, const char *path, lcsm_error *err)
{
    const json_t *format = json_object_get(o->document.root, "format");
    const json_t *cases  = json_object_get(o->document.root, "cases");
    if (!json_is_string(format) || strcmp(json_string_value(format), "lcsm-oracle-1") != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: \"format\" is %s; expected lcsm-oracle-1", path,
                         json_is_string(format) ? json_string_value(format) : "no text");
    if (!json_is_array(cases))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: no list \"cases\"", path);
    for (size_t j = 0; j < json_array_size(cases); j++) {
        const json_t *object = json_array_get(cases, j);
        const char   *name   = json_string_value(json_object_get(object, "name"));
        if (name == NULL)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %zu has no name", path, j + 1);
        const json_t     *config = json_object_get(object, "config");
        const char       *op     = json_string_value(json_object_get(config, "op"));
        lcsm_oracle_case *c      = add_case(o, op == NULL ? "" : op, name);
        if (c == NULL) return no_room(path, err);
        c->config      = config;
        lcsm_status st = read_case(c, object, "grads", path, err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

/* The loss of the groups format is the plain sum of y: dy is all ones. */
static lcsm_status add_ones(lcsm_oracle_case *c, const char *path, lcsm_error *err)
{
    const lcsm_oracle_array *y = lcsm_oracle_find(&c->outputs, "y");
    if (c->grads.count == 0) return LCSM_OK;
    if (y == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: case %s has gradients but no output y", path,
                         c->name);
    c->dy.list = calloc(1, sizeof *c->dy.list);
    if (c->dy.list == NULL) return no_room(path, err);
    c->dy.count      = 1;
    c->dy.list[0]    = *y;
    double *ones     = malloc((y->numbers + 1) * sizeof *ones);
    c->dy.list->data = ones;
    if (ones == NULL) return no_room(path, err);
    for (size_t j = 0; j < y->numbers; j++) ones[j] = 1;
    return LCSM_OK;
}

/* Number types of fewer bits than float32, by the half ulp of 1. */
static double half_ulp_of(json_t *outputs)
{
    static const struct {
        const char *name;
        double      half_ulp;
    } TYPES[]        = {{"float16", 0x1p-11}, {"bfloat16", 0x1p-8}};
    double      most = 0;
    const char *name;
    json_t     *value;
    json_object_foreach(outputs, name, value)
    {
        const char *type = json_string_value(json_object_get(value, "dtype"));
        for (size_t j = 0; type != NULL && j < COUNT(TYPES); j++)
            if (strcmp(type, TYPES[j].name) == 0 && TYPES[j].half_ulp > most)
                most = TYPES[j].half_ulp;
    }
    return most;
}

/* A case of others' files, which may be refused. */
static lcsm_status read_foreign(lcsm_oracle_case *c, const json_t *object, const char *path,
                                lcsm_error *err)
{
    c->single      = true;
    c->half_ulp    = half_ulp_of(json_object_get(object, "outputs"));
    c->config      = json_object_get(object, "attributes");
    lcsm_status st = read_case(c, object, "gradients", path, err);
    if (st == LCSM_OK && json_object_get(object, "op") == NULL) st = add_ones(c, path, err);
    if (st != LCSM_ERR_FORMAT) return st;
    (void)snprintf(c->refused, sizeof c->refused, "%s", err->text);
    return LCSM_OK;
}

static lcsm_status read_group(lcsm_oracle *o, const char *group, json_t *cases, const char *path,
                              lcsm_error *err)
{
    const char *name;
    json_t     *object;
    json_object_foreach(cases, name, object)
    {
        if (!json_is_object(json_object_get(object, "inputs"))) continue; /* as "meta" */
        lcsm_oracle_case *c = add_case(o, group, name);
        if (c == NULL) return no_room(path, err);
        lcsm_status st = read_foreign(c, object, path, err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

static lcsm_status read_operator(lcsm_oracle *o, const char *name, const json_t *object,
                                 const char *path, lcsm_error *err)
{
    lcsm_oracle_case *c = add_case(o, json_string_value(json_object_get(object, "op")), name);
    if (c == NULL) return no_room(path, err);
    return read_foreign(c, object, path, err);
}

/* Files without "format": operators name their "op", everything else is a group of cases. */
static lcsm_status read_untitled(lcsm_oracle *o, const char *path, lcsm_error *err)
{
    const char *name;
    json_t     *object;
    json_object_foreach(o->document.root, name, object)
    {
        lcsm_status st = json_is_string(json_object_get(object, "op"))
                           ? read_operator(o, name, object, path, err)
                           : read_group(o, name, object, path, err);
        if (st != LCSM_OK) return st;
    }
    if (o->count > 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s is not an oracle file; expected \"format\": \"lcsm-oracle-1\", or cases "
                     "with \"inputs\" and \"outputs\"",
                     path);
}

/* A copy of the text in which NaN, Infinity and -Infinity, which some writers take for JSON, are
 * null; to has room for twice the text. Returns its size. */
static size_t copy_strict(char *to, const char *text, size_t size)
{
    static const char *const WORDS[] = {"NaN", "-Infinity", "Infinity"};
    bool                     quoted  = false;
    size_t                   used    = 0;
    for (size_t at = 0; at < size;) {
        size_t word = 0;
        if (text[at] == '"' && (at == 0 || text[at - 1] != '\\')) quoted = !quoted;
        for (size_t j = 0; !quoted && word == 0 && j < COUNT(WORDS); j++) {
            size_t n = strlen(WORDS[j]);
            if (size - at >= n && memcmp(text + at, WORDS[j], n) == 0) word = n;
        }
        memcpy(to + used, word > 0 ? "null" : text + at, word > 0 ? 4 : 1);
        used += word > 0 ? 4 : 1;
        at += word > 0 ? word : 1;
    }
    return used;
}

static lcsm_status read_document(lcsm_json_doc *doc, const char *path, lcsm_error *err)
{
    lcsm_file   file = {0};
    char       *text = NULL;
    lcsm_status st;
    LCSM_TRY(lcsm_file_read(&file, path, LCSM_JSON_LARGE_SIZE, err));
    text = malloc(2 * file.size + 1);
    if (text == NULL) {
        st = no_room(path, err);
        goto cleanup;
    }
    size_t size = copy_strict(text, (const char *)file.data, file.size);
    LCSM_TRY(lcsm_json_doc_parse(doc, path, text, size, err));
cleanup:
    free(text);
    lcsm_file_close(&file);
    return st;
}

lcsm_status lcsm_oracle_read(lcsm_oracle *out, const char *path, lcsm_error *err)
{
    *out           = (lcsm_oracle){0};
    lcsm_status st = read_document(&out->document, path, err);
    if (st != LCSM_OK) return st;
    st = json_object_get(out->document.root, "format") != NULL ? read_titled(out, path, err)
                                                               : read_untitled(out, path, err);
    if (st != LCSM_OK) lcsm_oracle_free(out);
    return st;
}

static void free_arrays(lcsm_oracle_arrays *a)
{
    for (size_t j = 0; j < a->count; j++) free(a->list[j].data);
    free(a->list);
}

void lcsm_oracle_free(lcsm_oracle *o)
{
    for (size_t j = 0; j < o->count; j++) {
        free_arrays(&o->cases[j].inputs);
        free_arrays(&o->cases[j].outputs);
        free_arrays(&o->cases[j].dy);
        free_arrays(&o->cases[j].grads);
    }
    free(o->cases);
    lcsm_json_doc_free(&o->document);
    *o = (lcsm_oracle){0};
}

const lcsm_oracle_array *lcsm_oracle_find(const lcsm_oracle_arrays *a, const char *name)
{
    for (size_t j = 0; j < a->count; j++)
        if (strcmp(a->list[j].name, name) == 0) return &a->list[j];
    return NULL;
}
