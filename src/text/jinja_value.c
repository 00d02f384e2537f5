/* jinja_value.c - values: their truth, order, arithmetic and text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/jinja_run.h"
#include "text/utf8.h"

#define FLOAT_TEXT 32

bool jinja_truth(const json_t *v)
{
    if (json_is_string(v)) return json_string_length(v) > 0;
    if (json_is_array(v)) return json_array_size(v) > 0;
    if (json_is_object(v)) return json_object_size(v) > 0;
    return json_is_true(v) || json_number_value(v) != 0;
}

const char *jinja_type(const json_t *v)
{
    static const char *const NAMES[] = {
        [JSON_OBJECT] = "a mapping",   [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "none"};
    return v == NULL ? "undefined" : NAMES[json_typeof(v)];
}

lcsm_status jinja_keep(const jinja_run *r, json_t *value, json_t **out)
{
    *out = value;
    return value != NULL ? LCSM_OK : jinja_no_memory(r);
}

lcsm_status jinja_bytes(jinja_run *r, const char *bytes, size_t size, json_t **out)
{
    LCSM_OR_RETURN(jinja_spend(r, size / 64 + 1));
    return jinja_keep(r, json_stringn(bytes, size), out);
}

lcsm_status jinja_string(jinja_run *r, lcsm_strbuf *from, json_t **out)
{
    lcsm_status st =
        from->failed ? jinja_no_memory(r) : jinja_bytes(r, lcsm_strbuf_text(from), from->size, out);
    lcsm_strbuf_free(from);
    return st;
}

static lcsm_status check_depth(jinja_run *r, const json_t *v, int depth)
{
    const char *key;
    json_t     *item;
    size_t      at;
    LCSM_OR_RETURN(jinja_spend(r, 1));
    if (depth > LCSM_JINJA_DEPTH)
        return jinja_fail(r, "a value is nested more than %d levels deep", LCSM_JINJA_DEPTH);
    json_array_foreach(v, at, item)
    {
        if (json_is_array(item) || json_is_object(item))
            LCSM_OR_RETURN(check_depth(r, item, depth + 1));
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, item)
    {
        if (json_is_array(item) || json_is_object(item))
            LCSM_OR_RETURN(check_depth(r, item, depth + 1));
    }
    return LCSM_OK;
}

lcsm_status jinja_shallow(jinja_run *r, const json_t *v)
{
    return check_depth(r, v, 0);
}

/* ---- characters ------------------------------------------------------------------------- */

static bool begins(char c)
{
    return ((unsigned char)c & 0xC0u) != 0x80;
}

size_t jinja_characters(const json_t *text)
{
    const char *at    = json_string_value(text);
    size_t      count = 0, size = json_string_length(text);
    for (size_t j = 0; j < size; j++) count += begins(at[j]);
    return count;
}

size_t jinja_place(const json_t *text, size_t character)
{
    const char *at   = json_string_value(text);
    size_t      size = json_string_length(text), j = 0;
    for (; j < size; j++)
        if (begins(at[j]) && character-- == 0) return j;
    return size;
}

static lcsm_status characters(jinja_run *r, const json_t *text, json_t *out)
{
    const char *at   = json_string_value(text);
    size_t      size = json_string_length(text);
    for (size_t j = 0, n; j < size; j += n) {
        for (n = 1; j + n < size && !begins(at[j + n]);) n++;
        if (json_array_append_new(out, json_stringn(at + j, n)) != 0) return jinja_no_memory(r);
    }
    return LCSM_OK;
}

lcsm_status jinja_items(jinja_run *r, json_t *v, json_t **out)
{
    const char *key;
    json_t     *item;
    lcsm_status st = LCSM_OK;
    if (json_is_array(v)) {
        *out = json_incref(v);
        return LCSM_OK;
    }
    *out = json_array();
    if (*out == NULL) return jinja_no_memory(r);
    LCSM_OR_RETURN(
        jinja_spend(r, json_is_string(v) ? json_string_length(v) / 4 : json_object_size(v)));
    if (json_is_string(v)) return characters(r, v, *out);
    json_object_foreach(v, key, item)
    {
        if (json_array_append_new(*out, json_string(key)) != 0) st = jinja_no_memory(r);
    }
    if (v != NULL && !json_is_object(v)) st = jinja_fail(r, "%s has no items", jinja_type(v));
    return st;
}

lcsm_status jinja_search(jinja_run *r, const char *text, size_t size, const char *what, size_t n,
                         const char **out)
{
    *out = n == 0 ? text : NULL;
    LCSM_OR_RETURN(jinja_spend(r, size / 64));
    for (const char *end = text + size; n > 0 && (size_t)(end - text) >= n; text++) {
        text = memchr(text, what[0], (size_t)(end - text) - n + 1);
        if (text == NULL) return LCSM_OK;
        LCSM_OR_RETURN(jinja_spend(r, n / 64 + 1));
        if (memcmp(text, what, n) != 0) continue;
        *out = text;
        return LCSM_OK;
    }
    return LCSM_OK;
}

/* ---- order ------------------------------------------------------------------------------ */

static bool is_number(const json_t *v)
{
    return json_is_number(v) || json_is_boolean(v);
}

static double number(const json_t *v)
{
    return json_is_boolean(v) ? (double)json_is_true(v) : json_number_value(v);
}

static lcsm_status equal_lists(jinja_run *r, const json_t *a, const json_t *b, bool *out)
{
    json_t *item;
    size_t  at;
    *out = json_array_size(a) == json_array_size(b);
    json_array_foreach(a, at, item)
    {
        if (*out) LCSM_OR_RETURN(jinja_equal(r, item, json_array_get(b, at), out));
    }
    return LCSM_OK;
}

static lcsm_status equal_objects(jinja_run *r, const json_t *a, const json_t *b, bool *out)
{
    const char *key;
    json_t     *item;
    *out = json_object_size(a) == json_object_size(b);
    json_object_foreach((json_t *)(uintptr_t)a, key, item)
    {
        if (*out) LCSM_OR_RETURN(jinja_equal(r, item, json_object_get(b, key), out));
    }
    return LCSM_OK;
}

lcsm_status jinja_equal(jinja_run *r, const json_t *a, const json_t *b, bool *out)
{
    LCSM_OR_RETURN(jinja_spend(r, 1));
    if (json_is_array(a) && json_is_array(b)) return equal_lists(r, a, b, out);
    if (json_is_object(a) && json_is_object(b)) return equal_objects(r, a, b, out);
    if (is_number(a) && is_number(b)) *out = number(a) == number(b);
    else if (json_is_string(a) && json_is_string(b)) {
        size_t n = json_string_length(a);
        LCSM_OR_RETURN(jinja_spend(r, n / 64));
        *out = n == json_string_length(b)
            && memcmp(json_string_value(a), json_string_value(b), n) == 0;
    } else *out = (a == NULL && b == NULL) || (json_is_null(a) && json_is_null(b));
    return LCSM_OK;
}

lcsm_status jinja_compare(jinja_run *r, const json_t *a, const json_t *b, int *out)
{
    if (is_number(a) && is_number(b)) {
        *out = (number(a) > number(b)) - (number(a) < number(b));
        return LCSM_OK;
    }
    if (!json_is_string(a) || !json_is_string(b))
        return jinja_fail(r, "%s and %s have no order", jinja_type(a), jinja_type(b));
    size_t n = json_string_length(a), m = json_string_length(b), least = n < m ? n : m;
    LCSM_OR_RETURN(jinja_spend(r, least / 64));
    *out = memcmp(json_string_value(a), json_string_value(b), least);
    if (*out == 0) *out = (n > m) - (n < m);
    return LCSM_OK;
}

lcsm_status jinja_contains(jinja_run *r, const json_t *all, const json_t *one, bool *out)
{
    json_t *item;
    size_t  at;
    *out = false;
    if (json_is_string(all)) {
        if (!json_is_string(one))
            return jinja_fail(r, "%s is not a part of a string", jinja_type(one));
        const char *found;
        LCSM_OR_RETURN(jinja_search(r, json_string_value(all), json_string_length(all),
                                    json_string_value(one), json_string_length(one), &found));
        *out = found != NULL;
        return LCSM_OK;
    }
    if (json_is_object(all))
        *out = json_is_string(one) && json_object_get(all, json_string_value(one)) != NULL;
    else if (all != NULL && !json_is_array(all))
        return jinja_fail(r, "%s has no items", jinja_type(all));
    json_array_foreach(all, at, item)
    {
        if (!*out) LCSM_OR_RETURN(jinja_equal(r, item, one, out));
    }
    return LCSM_OK;
}

/* ---- arithmetic ------------------------------------------------------------------------- */

static lcsm_status join(jinja_run *r, const json_t *a, const json_t *b, json_t **out)
{
    lcsm_strbuf s = {0};
    lcsm_status st;
    if (json_is_array(a)) {
        LCSM_OR_RETURN(jinja_spend(r, json_array_size(a) + json_array_size(b)));
        LCSM_OR_RETURN(jinja_keep(r, json_copy((json_t *)(uintptr_t)a), out));
        return json_array_extend(*out, (json_t *)(uintptr_t)b) == 0 ? LCSM_OK : jinja_no_memory(r);
    }
    st = jinja_print(r, &s, a);
    if (st == LCSM_OK) st = jinja_print(r, &s, b);
    if (st == LCSM_OK) return jinja_string(r, &s, out);
    lcsm_strbuf_free(&s);
    return st;
}

static lcsm_status repeat(jinja_run *r, const json_t *text, json_int_t times, json_t **out)
{
    lcsm_strbuf s = {0};
    size_t      n = json_string_length(text);
    if (times > 0 && n > 0 && (size_t)times > LCSM_JINJA_OUTPUT / n)
        return jinja_fail(r, "a text of more than %d bytes", LCSM_JINJA_OUTPUT);
    for (json_int_t j = 0; j < times && n > 0; j++)
        lcsm_strbuf_bytes(&s, json_string_value(text), n);
    return jinja_string(r, &s, out);
}

/* Python's: rounded down, and a remainder of the divisor's sign. */
static lcsm_status integers(jinja_run *r, jinja_op op, json_int_t a, json_int_t b, json_t **out)
{
    json_int_t v    = 0;
    bool       over = op == JINJA_ADD      ? __builtin_add_overflow(a, b, &v)
                    : op == JINJA_SUBTRACT ? __builtin_sub_overflow(a, b, &v)
                    : op == JINJA_MULTIPLY ? __builtin_mul_overflow(a, b, &v)
                                           : b == -1 && __builtin_sub_overflow(0, a, &v);
    if (over) return jinja_fail(r, "a number is too large");
    if (b == 0 && (op == JINJA_FLOOR || op == JINJA_MODULO))
        return jinja_fail(r, "a division by zero");
    if (op == JINJA_FLOOR && b != -1) v = a / b - (a % b != 0 && (a < 0) != (b < 0));
    if (op == JINJA_MODULO) v = b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return jinja_keep(r, json_integer(v), out);
}

static lcsm_status reals(jinja_run *r, jinja_op op, double a, double b, json_t **out)
{
    double v = op == JINJA_ADD      ? a + b
             : op == JINJA_SUBTRACT ? a - b
             : op == JINJA_MULTIPLY ? a * b
             : op == JINJA_DIVIDE   ? a / b
             : op == JINJA_FLOOR    ? floor(a / b)
                                    : a - b * floor(a / b);
    if (!isfinite(v)) return jinja_fail(r, "a number is too large");
    return jinja_keep(r, json_real(v), out);
}

static json_int_t integer(const json_t *v)
{
    return json_is_boolean(v) ? (json_int_t)json_is_true(v) : json_integer_value(v);
}

lcsm_status jinja_binary(jinja_run *r, jinja_op op, json_t *a, json_t *b, json_t **out)
{
    if (op == JINJA_CONCAT || (op == JINJA_ADD && json_is_string(a) && json_is_string(b))
        || (op == JINJA_ADD && json_is_array(a) && json_is_array(b)))
        return op == JINJA_CONCAT && json_is_array(a) ? jinja_fail(r, "a list with ~")
                                                      : join(r, a, b, out);
    if (op == JINJA_MULTIPLY && json_is_string(a) && json_is_integer(b))
        return repeat(r, a, json_integer_value(b), out);
    if (!is_number(a) || !is_number(b))
        return jinja_fail(r, "%s and %s cannot be combined so", jinja_type(a), jinja_type(b));
    if (op >= JINJA_DIVIDE && op <= JINJA_MODULO && number(b) == 0)
        return jinja_fail(r, "a division by zero");
    if (op != JINJA_DIVIDE && !json_is_real(a) && !json_is_real(b))
        return integers(r, op, integer(a), integer(b), out);
    return reals(r, op, number(a), number(b), out);
}

/* ---- text ------------------------------------------------------------------------------- */

/* The fewest digits that read back as the same number, as Python writes it. */
static void put_real(lcsm_strbuf *out, double v)
{
    char text[FLOAT_TEXT];
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    double size = fabs(v);
    if (strchr(text, 'e') != NULL && size < 1e16 && size >= 1)
        (void)snprintf(text, sizeof text, "%.1f", v);
    lcsm_strbuf_add(out, text);
    if (strpbrk(text, ".en") == NULL) lcsm_strbuf_add(out, ".0");
}

/* As Python writes a string in a list. */
static void put_quoted(lcsm_strbuf *out, const json_t *v)
{
    const char *at   = json_string_value(v);
    size_t      size = json_string_length(v);
    char quote       = memchr(at, '\'', size) != NULL && memchr(at, '"', size) == NULL ? '"' : '\'';
    lcsm_strbuf_bytes(out, &quote, 1);
    for (size_t j = 0; j < size; j++) {
        unsigned char c = (unsigned char)at[j];
        if (c == '\n') lcsm_strbuf_add(out, "\\n");
        else if (c == '\r') lcsm_strbuf_add(out, "\\r");
        else if (c == '\t') lcsm_strbuf_add(out, "\\t");
        else if (c < ' ' || c == 127) lcsm_strbuf_printf(out, "\\x%02x", c);
        else {
            if (c == '\\' || c == (unsigned char)quote) lcsm_strbuf_add(out, "\\");
            lcsm_strbuf_bytes(out, &at[j], 1);
        }
    }
    lcsm_strbuf_bytes(out, &quote, 1);
}

static lcsm_status put_python(jinja_run *r, lcsm_strbuf *out, const json_t *v, int depth);

static lcsm_status put_items(jinja_run *r, lcsm_strbuf *out, const json_t *v, int depth)
{
    const char *key, *between = "";
    json_t     *item;
    size_t      at;
    json_array_foreach(v, at, item)
    {
        lcsm_strbuf_add(out, between);
        LCSM_OR_RETURN(put_python(r, out, item, depth));
        between = ", ";
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, item)
    {
        json_t *name = json_string(key);
        lcsm_strbuf_add(out, between);
        put_quoted(out, name);
        json_decref(name);
        lcsm_strbuf_add(out, ": ");
        LCSM_OR_RETURN(put_python(r, out, item, depth));
        between = ", ";
    }
    return LCSM_OK;
}

static lcsm_status check_size(jinja_run *r, const lcsm_strbuf *out)
{
    if (out->failed) return jinja_no_memory(r);
    if (out->size > LCSM_JINJA_OUTPUT)
        return jinja_fail(r, "a text of more than %d bytes", LCSM_JINJA_OUTPUT);
    return LCSM_OK;
}

static lcsm_status put_python(jinja_run *r, lcsm_strbuf *out, const json_t *v, int depth)
{
    LCSM_OR_RETURN(jinja_spend(r, 1));
    if (depth > LCSM_JINJA_DEPTH) return jinja_fail(r, "a value is nested too deeply");
    bool list = json_is_array(v);
    if (list || json_is_object(v)) {
        lcsm_strbuf_add(out, list ? "[" : "{");
        LCSM_OR_RETURN(put_items(r, out, v, depth + 1));
        lcsm_strbuf_add(out, list ? "]" : "}");
    } else if (json_is_string(v)) {
        LCSM_OR_RETURN(jinja_spend(r, json_string_length(v) / 64));
        put_quoted(out, v);
    } else if (json_is_integer(v))
        lcsm_strbuf_printf(out, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v)) put_real(out, json_real_value(v));
    else if (v != NULL)
        lcsm_strbuf_add(out, json_is_true(v) ? "True" : json_is_false(v) ? "False" : "None");
    return check_size(r, out);
}

lcsm_status jinja_print(jinja_run *r, lcsm_strbuf *out, const json_t *v)
{
    if (!json_is_string(v)) return put_python(r, out, v, 0);
    LCSM_OR_RETURN(jinja_spend(r, json_string_length(v) / 64 + 1));
    lcsm_strbuf_bytes(out, json_string_value(v), json_string_length(v));
    return check_size(r, out);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_json_string(lcsm_strbuf *out, const char *at, size_t size)
{
    static const char FROM[] = "\"\\\n\r\t\b\f", TO[] = "\"\\nrtbf";
    lcsm_strbuf_add(out, "\"");
    for (size_t j = 0; j < size; j++) {
        const char *known = at[j] != '\0' ? strchr(FROM, at[j]) : NULL;
        if (known != NULL) lcsm_strbuf_printf(out, "\\%c", TO[known - FROM]);
        else if ((unsigned char)at[j] < ' ')
            lcsm_strbuf_printf(out, "\\u%04x", (unsigned)(unsigned char)at[j]);
        else lcsm_strbuf_bytes(out, &at[j], 1);
    }
    lcsm_strbuf_add(out, "\"");
}

static void new_line(lcsm_strbuf *out, int indent, int depth)
{
    if (indent < 0) return;
    lcsm_strbuf_add(out, "\n");
    for (int j = 0; j < indent * depth; j++) lcsm_strbuf_add(out, " ");
}

static lcsm_status put_json(jinja_run *r, lcsm_strbuf *out, const json_t *v, int indent, int depth)
{
    const char *key;
    json_t     *item;
    size_t      at, done = 0;
    bool        list = json_is_array(v);
    LCSM_OR_RETURN(jinja_spend(r, 1 + (json_is_string(v) ? json_string_length(v) / 16 : 0)));
    if (depth > LCSM_JINJA_DEPTH) return jinja_fail(r, "a value is nested too deeply");
    if (v == NULL) return jinja_fail(r, "tojson of an undefined value");
    if (json_is_string(v)) put_json_string(out, json_string_value(v), json_string_length(v));
    else if (json_is_boolean(v) || json_is_null(v))
        lcsm_strbuf_add(out, json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null");
    if (json_is_number(v)) return put_python(r, out, v, depth);
    if (!list && !json_is_object(v)) return check_size(r, out);
    lcsm_strbuf_add(out, list ? "[" : "{");
    json_array_foreach(v, at, item)
    {
        if (done++ > 0) lcsm_strbuf_add(out, indent < 0 ? ", " : ",");
        new_line(out, indent, depth + 1);
        LCSM_OR_RETURN(put_json(r, out, item, indent, depth + 1));
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, item)
    {
        if (done++ > 0) lcsm_strbuf_add(out, indent < 0 ? ", " : ",");
        new_line(out, indent, depth + 1);
        put_json_string(out, key, strlen(key));
        lcsm_strbuf_add(out, ": ");
        LCSM_OR_RETURN(put_json(r, out, item, indent, depth + 1));
    }
    if (done > 0) new_line(out, indent, depth);
    lcsm_strbuf_add(out, list ? "]" : "}");
    return check_size(r, out);
}

lcsm_status jinja_write_json(jinja_run *r, lcsm_strbuf *out, const json_t *v, int indent)
{
    return put_json(r, out, v, indent, 0);
}
