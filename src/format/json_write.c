/* json_write.c - JSON texts over a growing string. */
#include "format/json_write.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json_scan.h"

/* The place that is being written: layers[2].norm; "" at the top, or without memory. */
static void put_place(lcsm_strbuf *out, const lcsm_json_writer *w)
{
    for (unsigned j = 0; j < w->depth && !w->text.failed && w->last[j].count > 0; j++) {
        if (w->close[j] == ']') {
            lcsm_strbuf_printf(out, "[%zu]", w->last[j].count - 1);
            continue;
        }
        if (j > 0) lcsm_strbuf_add(out, ".");
        lcsm_strbuf_bytes(out, w->text.text + w->last[j].name, w->last[j].size);
    }
}

static void fail_at(lcsm_json_writer *w, lcsm_status status, const char *what, const char *after)
{
    enum { SHOWN = 80 }; /* bytes of what stands before the place inside a text */
    lcsm_strbuf where = {0};
    if (w->problem != NULL) return;
    w->problem = what;
    w->status  = status;
    put_place(&where, w);
    size_t size = strlen(after), from = size > SHOWN ? size - SHOWN : 0;
    while (from < size && ((unsigned char)after[from] & 0xC0) == 0x80) from++;
    if (size > 0)
        lcsm_strbuf_printf(&where, "%safter \"%s%s\"", where.size > 0 ? " " : "",
                           from > 0 ? "..." : "", after + from);
    (void)snprintf(w->where, sizeof w->where, "%s%.190s", where.size > 0 ? ": " : "",
                   lcsm_strbuf_text(&where));
    lcsm_strbuf_free(&where);
}

static void problem(lcsm_json_writer *w, const char *what)
{
    fail_at(w, LCSM_ERR_ARGUMENT, what, "");
}

/* Names the text before the first wrong byte. */
static void fail_utf8(lcsm_json_writer *w, const char *text, size_t good)
{
    lcsm_strbuf before = {0};
    lcsm_strbuf_bytes(&before, text, good);
    fail_at(w, LCSM_ERR_ARGUMENT, "a text is not UTF-8", lcsm_strbuf_text(&before));
    lcsm_strbuf_free(&before);
}

static void quoted(lcsm_json_writer *w, const char *text)
{
    size_t size = strlen(text), good = lcsm_utf8_check(text, size);
    if (good != size) {
        fail_utf8(w, text, good);
        return;
    }
    lcsm_strbuf_add(&w->text, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        size_t plain = 0;
        while (p[plain] != '\0' && p[plain] != '"' && p[plain] != '\\'
               && (unsigned char)p[plain] >= 0x20)
            plain++;
        lcsm_strbuf_bytes(&w->text, p, plain);
        p += plain;
        if (*p == '\0') break;
        if (*p == '"' || *p == '\\') lcsm_strbuf_printf(&w->text, "\\%c", *p);
        else if (*p == '\n') lcsm_strbuf_add(&w->text, "\\n");
        else lcsm_strbuf_printf(&w->text, "\\u%04x", (unsigned)(unsigned char)*p);
    }
    lcsm_strbuf_add(&w->text, "\"");
}

static void new_line(lcsm_json_writer *w)
{
    if (!w->pretty) return;
    lcsm_strbuf_printf(&w->text, "\n%*s", (int)(2 * w->depth), "");
}

/* All that stands before a value: comma, line, name. */
static void before(lcsm_json_writer *w, const char *key)
{
    bool in_object = w->depth > 0 && w->close[w->depth - 1] == '}';
    if (in_object != (key != NULL)) problem(w, "a name is missing, or is not expected here");
    if (w->depth == 0 && w->follows) problem(w, "a second value at the top");
    if (w->follows) lcsm_strbuf_add(&w->text, ",");
    if (w->depth > 0) new_line(w);
    w->follows = true;
    if (w->depth > 0) w->last[w->depth - 1].count++;
    if (key == NULL) return;
    size_t start = w->text.size;
    quoted(w, key);
    if (in_object && w->text.size > start + 1) {
        w->last[w->depth - 1].name = start + 1;
        w->last[w->depth - 1].size = w->text.size - start - 2;
    }
    lcsm_strbuf_add(&w->text, w->pretty ? ": " : ":");
}

static void open_level(lcsm_json_writer *w, const char *key, const char *open, char close)
{
    before(w, key);
    if (w->depth == LCSM_JSON_WRITE_DEPTH) {
        problem(w, "the nesting is too deep");
        return;
    }
    lcsm_strbuf_add(&w->text, open);
    w->close[w->depth]      = close;
    w->last[w->depth].count = w->last[w->depth].size = 0;
    w->depth++;
    w->follows = false;
}

void lcsm_json_open_object(lcsm_json_writer *w, const char *key)
{
    open_level(w, key, "{", '}');
}

void lcsm_json_open_array(lcsm_json_writer *w, const char *key)
{
    open_level(w, key, "[", ']');
}

void lcsm_json_close(lcsm_json_writer *w)
{
    if (w->depth == 0) {
        problem(w, "more levels closed than opened");
        return;
    }
    w->depth--;
    if (w->follows) new_line(w);
    lcsm_strbuf_bytes(&w->text, &w->close[w->depth], 1);
    w->follows = true;
}

void lcsm_json_put_int(lcsm_json_writer *w, const char *key, int64_t value)
{
    before(w, key);
    lcsm_strbuf_printf(&w->text, "%lld", (long long)value);
}

void lcsm_json_put_size(lcsm_json_writer *w, const char *key, size_t value)
{
    if (value > (size_t)INT64_MAX) problem(w, "a size is 2^63 or more");
    else lcsm_json_put_int(w, key, (int64_t)value);
}

/* The fewest digits that read back as value: 17 always do. printf and strtod share a locale; its
 * decimal point becomes a dot afterwards. A whole number gets ".0" and so stays a real. */
void lcsm_json_put_real(lcsm_json_writer *w, const char *key, double value)
{
    char text[64];
    before(w, key);
    if (!isfinite(value)) {
        fail_at(w, LCSM_ERR_NUMBER, "a number is NaN or infinite", "");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    const char *point = localeconv()->decimal_point;
    char       *found = strstr(text, point);
    if (found != NULL) {
        size_t length = strlen(point);
        memmove(found + 1, found + length, strlen(found + length) + 1);
        *found = '.';
    }
    lcsm_strbuf_add(&w->text, text);
    if (strpbrk(text, ".e") == NULL) lcsm_strbuf_add(&w->text, ".0");
}

void lcsm_json_put_bool(lcsm_json_writer *w, const char *key, bool value)
{
    before(w, key);
    lcsm_strbuf_add(&w->text, value ? "true" : "false");
}

void lcsm_json_put_text(lcsm_json_writer *w, const char *key, const char *value)
{
    before(w, key);
    quoted(w, value);
}

void lcsm_json_put_null(lcsm_json_writer *w, const char *key)
{
    before(w, key);
    lcsm_strbuf_add(&w->text, "null");
}

static void put_members(lcsm_json_writer *w, json_t *object)
{
    const char *name;
    json_t     *value;
    json_object_foreach(object, name, value) lcsm_json_put_value(w, name, value);
}

static void put_elements(lcsm_json_writer *w, json_t *array)
{
    for (size_t j = 0; j < json_array_size(array); j++)
        lcsm_json_put_value(w, NULL, json_array_get(array, j));
}

void lcsm_json_put_value(lcsm_json_writer *w, const char *key, json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lcsm_json_open_object(w, key);
        put_members(w, value);
        lcsm_json_close(w);
        break;
    case JSON_ARRAY:
        lcsm_json_open_array(w, key);
        put_elements(w, value);
        lcsm_json_close(w);
        break;
    case JSON_STRING: lcsm_json_put_text(w, key, json_string_value(value)); break;
    case JSON_INTEGER: lcsm_json_put_int(w, key, json_integer_value(value)); break;
    case JSON_REAL: lcsm_json_put_real(w, key, json_real_value(value)); break;
    case JSON_TRUE:
    case JSON_FALSE: lcsm_json_put_bool(w, key, json_is_true(value)); break;
    default: lcsm_json_put_null(w, key);
    }
}

lcsm_status lcsm_json_writer_finish(lcsm_json_writer *w, lcsm_error *err)
{
    if (w->depth > 0 || !w->follows) problem(w, "the text is not complete");
    if (w->pretty) lcsm_strbuf_add(&w->text, "\n");
    if (w->problem != NULL)
        return lcsm_fail(err, w->status, "JSON cannot be written: %s%s", w->problem, w->where);
    if (w->text.failed)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a JSON text of %zu bytes",
                         w->text.size);
    return LCSM_OK;
}

void lcsm_json_writer_free(lcsm_json_writer *w)
{
    lcsm_strbuf_free(&w->text);
    *w = (lcsm_json_writer){0};
}
