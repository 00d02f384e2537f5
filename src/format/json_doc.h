/*
 * json_doc.h - JSON documents: config files, manifests, indexes.
 *
 * Reading is strict: no duplicate keys, no trailing text, UTF-8, a limit on size and depth. What is
 * read is reached through lcsm_json values, which know where they stand, so that every message
 * names the file, the path of keys, what was found and what would do:
 *
 *     config.json: ssm_cfg.d_state is "16" (a string), want an integer 1..4096
 *
 * Ownership  A document is given to _free. An lcsm_json is a plain value: it borrows from the
 *            document, from its parent and from the key it was asked for, which must outlive it.
 *            Strings are borrowed from the document.
 */
#ifndef LCSM_FORMAT_JSON_DOC_H
#define LCSM_FORMAT_JSON_DOC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

enum {
    LCSM_JSON_DEPTH       = 64,
    LCSM_JSON_CONFIG_SIZE = 1 << 20,  /* what a config file may have */
    LCSM_JSON_LARGE_SIZE  = 64 << 20, /* a tokenizer, an index of shards */
};

/* {0} is empty and may be freed. */
typedef struct {
    char   *label; /* the file's name in messages */
    json_t *root;
} lcsm_json_doc;

/* Reads a file of at most max_size bytes, or the text itself, which is called label in messages.
 * The top must be an object or an array. */
lcsm_status lcsm_json_doc_read(lcsm_json_doc *doc, const char *path, size_t max_size,
                               lcsm_error *err);
lcsm_status lcsm_json_doc_parse(lcsm_json_doc *doc, const char *label, const char *text,
                                size_t size, lcsm_error *err);
void        lcsm_json_doc_free(lcsm_json_doc *doc);

/* A value and the way to it. */
typedef struct lcsm_json {
    const json_t           *value; /* NULL: there is none */
    const lcsm_json_doc    *doc;
    const struct lcsm_json *parent;   /* NULL: the root */
    const char             *key;      /* in an object; NULL in an array */
    size_t                  index;    /* in an array */
    bool                    optional; /* a getter takes its absence and leaves *out alone */
} lcsm_json;

lcsm_json lcsm_json_root(const lcsm_json_doc *doc);

/* The member that must be there, the one that may be absent, and the item of an array:
 *     LCSM_TRY(lcsm_json_get_int(&layers, lcsm_json_need(&root, "layers"), 1, 100, err));
 * null is a value like others; where it means absent, ask lcsm_json_has first. */
lcsm_json lcsm_json_need(const lcsm_json *object, const char *key);
lcsm_json lcsm_json_may(const lcsm_json *object, const char *key);
lcsm_json lcsm_json_item(const lcsm_json *array, size_t index);

/* There, and not null. */
bool lcsm_json_has(const lcsm_json *object, const char *key);

/* A number of an object that may lack it, or be NULL; NAN: there is none. */
double lcsm_json_number(const json_t *object, const char *key);

/* Members or items; 0 for anything else. */
size_t lcsm_json_count(const lcsm_json *v);

/* The members of an object in the order of the file:
 *     for (lcsm_json m = lcsm_json_first(&v); m.value != NULL; m = lcsm_json_next(&m)) ... */
lcsm_json lcsm_json_first(const lcsm_json *object);
lcsm_json lcsm_json_next(const lcsm_json *member);

/* What the value is, if it is of that kind and within the limits. A real may be written as an
 * integer, never an integer as a real. */
lcsm_status lcsm_json_get_int(int64_t *out, lcsm_json v, int64_t min, int64_t max, lcsm_error *err);
lcsm_status lcsm_json_get_size(size_t *out, lcsm_json v, size_t min, size_t max, lcsm_error *err);
lcsm_status lcsm_json_get_real(double *out, lcsm_json v, double min, double max, lcsm_error *err);
lcsm_status lcsm_json_get_bool(bool *out, lcsm_json v, lcsm_error *err);
lcsm_status lcsm_json_get_text(const char **out, lcsm_json v, lcsm_error *err);
/* The index of the text in names; one that is not there gets the nearest as a suggestion. */
lcsm_status lcsm_json_get_choice(size_t *out, lcsm_json v, const char *const *names, size_t count,
                                 lcsm_error *err);
lcsm_status lcsm_json_get_object(lcsm_json *out, lcsm_json v, lcsm_error *err);
/* Of min to max items. */
lcsm_status lcsm_json_get_array(lcsm_json *out, lcsm_json v, size_t min, size_t max,
                                lcsm_error *err);

/* Fails on the first member whose key is not among the known ones, and names the nearest. */
lcsm_status lcsm_json_known_keys(const lcsm_json *object, const char *const *known, size_t count,
                                 lcsm_error *err);

/* Fails with "FILE: PATH is FOUND, want WANT", or "... is missing, want ...". */
lcsm_status lcsm_json_fail(const lcsm_json *v, lcsm_error *err, const char *want, ...)
    LCSM_PRINTF(3, 4);

#endif
