/* jinja_call.c - filters, tests, functions and methods: tables of names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/jinja_run.h"
#include "text/utf8.h"

typedef lcsm_status call_fn(jinja_run *r, json_t *v, const jinja_args *args, json_t **out);

typedef struct {
    const char *name;
    size_t      most; /* arguments */
    call_fn    *call;
} call_row;

/* ---- arguments -------------------------------------------------------------------------- */

/* A string argument, or what stands for it. */
static lcsm_status text_arg(jinja_run *r, const jinja_args *args, size_t at, const char *name,
                            const char *standard, const char **text, size_t *size)
{
    const json_t *v = jinja_arg(args, at, name);
    *text           = standard;
    *size           = standard != NULL ? strlen(standard) : 0;
    if (v == NULL || (json_is_null(v) && standard == NULL)) return LCSM_OK;
    if (!json_is_string(v))
        return jinja_fail(r, "an argument is %s; expected a string", jinja_type(v));
    *text = json_string_value(v);
    *size = json_string_length(v);
    return LCSM_OK;
}

static json_int_t int_arg(const jinja_args *args, size_t at, const char *name, json_int_t standard)
{
    const json_t *v = jinja_arg(args, at, name);
    return json_is_integer(v) ? json_integer_value(v) : standard;
}

static lcsm_status need_text(jinja_run *r, const json_t *v, const char *what)
{
    if (json_is_string(v)) return LCSM_OK;
    return jinja_fail(r, "%s of %s; expected a string", what, jinja_type(v));
}

/* ---- stripping -------------------------------------------------------------------------- */

/* Whether the character at `at` is one of `set`, or white space where that is NULL. */
static bool in_set(const char *at, size_t size, const char *set, size_t set_size, size_t *length)
{
    lcsm_utf8_n n = lcsm_utf8_next((const unsigned char *)at, size);
    *length       = n.size > 0 ? n.size : 1;
    if (set == NULL)
        return n.size > 0 && (lcsm_utf8_is_space(n.code) || (n.code >= 0x1C && n.code <= 0x1F));
    for (size_t j = 0; j + *length <= set_size; j++)
        if (memcmp(set + j, at, *length) == 0) return true;
    return false;
}

static lcsm_status strip(jinja_run *r, json_t *v, const jinja_args *args, bool left, bool right,
                         json_t **out)
{
    const char *set, *at        = json_string_value(v);
    size_t      set_size, begin = 0, end, n;
    LCSM_OR_RETURN(text_arg(r, args, 0, "chars", NULL, &set, &set_size));
    LCSM_OR_RETURN(need_text(r, v, "white space"));
    end = json_string_length(v);
    while (left && begin < end && in_set(at + begin, end - begin, set, set_size, &n)) begin += n;
    while (right && end > begin) {
        size_t last = end - 1;
        while (last > begin && ((unsigned char)at[last] & 0xC0u) == 0x80) last--;
        if (!in_set(at + last, end - last, set, set_size, &n)) break;
        end = last;
    }
    return jinja_bytes(r, at + begin, end - begin, out);
}

static lcsm_status call_strip(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return strip(r, v, args, true, true, out);
}
static lcsm_status call_lstrip(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return strip(r, v, args, true, false, out);
}
static lcsm_status call_rstrip(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return strip(r, v, args, false, true, out);
}

/* trim takes what is not a string as its text. */
static lcsm_status call_trim(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    lcsm_strbuf s    = {0};
    json_t     *text = NULL;
    lcsm_status st   = jinja_print(r, &s, v);
    if (st == LCSM_OK) st = jinja_string(r, &s, &text);
    if (st == LCSM_OK) st = strip(r, text, args, true, true, out);
    lcsm_strbuf_free(&s);
    json_decref(text);
    return st;
}

/* ---- letters ---------------------------------------------------------------------------- */

typedef enum { UPPER, LOWER, TITLE, CAPITAL } letters;

/* Only ASCII letters change; a text with others is refused rather than done by half. */
static lcsm_status change(jinja_run *r, json_t *v, letters how, json_t **out)
{
    lcsm_strbuf s     = {0};
    bool        begin = true;
    LCSM_OR_RETURN(need_text(r, v, "letters"));
    for (size_t j = 0; j < json_string_length(v); j++) {
        unsigned char c = (unsigned char)json_string_value(v)[j];
        if (c >= 0x80) {
            lcsm_strbuf_free(&s);
            return jinja_fail(r, "upper and lower case of other letters than a to z");
        }
        bool up   = how == UPPER || (begin && how != LOWER);
        char made = (char)(up ? toupper(c) : tolower(c));
        begin     = how == TITLE && isalpha(c) == 0;
        lcsm_strbuf_bytes(&s, &made, 1);
    }
    return jinja_string(r, &s, out);
}

static lcsm_status call_upper(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return change(r, v, UPPER, out);
}
static lcsm_status call_lower(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return change(r, v, LOWER, out);
}
static lcsm_status call_title(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return change(r, v, TITLE, out);
}
static lcsm_status call_capitalize(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return change(r, v, CAPITAL, out);
}

/* ---- parts of strings ------------------------------------------------------------------- */

static lcsm_status put_piece(jinja_run *r, json_t *list, const char *at, size_t size)
{
    json_t *piece = NULL;
    LCSM_OR_RETURN(jinja_bytes(r, at, size, &piece));
    return json_array_append_new(list, piece) == 0 ? LCSM_OK : jinja_no_memory(r);
}

/* Words between white space. */
static lcsm_status split_words(jinja_run *r, const json_t *v, json_int_t most, json_t *out)
{
    const char *at = json_string_value(v), *end = at + json_string_length(v);
    for (size_t n;;) {
        while (at < end && in_set(at, (size_t)(end - at), NULL, 0, &n)) at += n;
        const char *begin = at;
        if (at == end) return LCSM_OK;
        if (most >= 0 && (json_int_t)json_array_size(out) == most) at = end;
        while (at < end && !in_set(at, (size_t)(end - at), NULL, 0, &n)) at += n;
        LCSM_OR_RETURN(put_piece(r, out, begin, (size_t)(at - begin)));
    }
}

static lcsm_status call_split(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *by;
    size_t      n;
    json_int_t  most = int_arg(args, 1, "maxsplit", -1);
    LCSM_OR_RETURN(need_text(r, v, "split"));
    LCSM_OR_RETURN(text_arg(r, args, 0, "sep", NULL, &by, &n));
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    if (by == NULL) return split_words(r, v, most, *out);
    if (n == 0) return jinja_fail(r, "split by an empty string");
    const char *at = json_string_value(v), *end = at + json_string_length(v), *next;
    while (most < 0 || (json_int_t)json_array_size(*out) < most) {
        LCSM_OR_RETURN(jinja_search(r, at, (size_t)(end - at), by, n, &next));
        if (next == NULL) break;
        LCSM_OR_RETURN(put_piece(r, *out, at, (size_t)(next - at)));
        at = next + n;
    }
    return put_piece(r, *out, at, (size_t)(end - at));
}

static lcsm_status call_splitlines(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    LCSM_OR_RETURN(need_text(r, v, "splitlines"));
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    const char *at = json_string_value(v), *end = at + json_string_length(v);
    while (at < end) {
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        LCSM_OR_RETURN(put_piece(r, *out, at, (size_t)(stop - at)));
        bool two = end - stop > 1 && stop[0] == '\r' && stop[1] == '\n';
        at       = stop + (two ? 2 : stop < end);
    }
    return LCSM_OK;
}

static lcsm_status call_replace(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *from, *to, *next;
    size_t      n, m;
    lcsm_strbuf s    = {0};
    json_int_t  most = int_arg(args, 2, "count", -1);
    LCSM_OR_RETURN(need_text(r, v, "replace"));
    LCSM_OR_RETURN(text_arg(r, args, 0, "old", "", &from, &n));
    LCSM_OR_RETURN(text_arg(r, args, 1, "new", "", &to, &m));
    if (n == 0) return jinja_fail(r, "replace of an empty string");
    const char *at = json_string_value(v), *end = at + json_string_length(v);
    for (lcsm_status st; most != 0 && s.size <= LCSM_JINJA_OUTPUT; most--) {
        st = jinja_search(r, at, (size_t)(end - at), from, n, &next);
        if (st != LCSM_OK) lcsm_strbuf_free(&s);
        if (st != LCSM_OK) return st;
        if (next == NULL) break;
        lcsm_strbuf_bytes(&s, at, (size_t)(next - at));
        lcsm_strbuf_bytes(&s, to, m);
        at = next + n;
    }
    lcsm_strbuf_bytes(&s, at, (size_t)(end - at));
    if (s.size <= LCSM_JINJA_OUTPUT) return jinja_string(r, &s, out);
    lcsm_strbuf_free(&s);
    return jinja_fail(r, "a text of more than %d bytes", LCSM_JINJA_OUTPUT);
}

/* One string, or a list of which one will do. */
static lcsm_status has_end(jinja_run *r, const json_t *v, const json_t *what, bool front, bool *out)
{
    json_t *item;
    size_t  at;
    LCSM_OR_RETURN(need_text(r, v, "startswith and endswith"));
    json_array_foreach(what, at, item)
    {
        if (!*out && json_is_string(item)) LCSM_OR_RETURN(has_end(r, v, item, front, out));
    }
    if (json_is_array(what)) return LCSM_OK;
    LCSM_OR_RETURN(need_text(r, what, "startswith and endswith"));
    size_t n = json_string_length(what), all = json_string_length(v);
    *out = n <= all
        && memcmp(json_string_value(v) + (front ? 0 : all - n), json_string_value(what), n) == 0;
    return LCSM_OK;
}

static lcsm_status call_startswith(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    bool yes = false;
    LCSM_OR_RETURN(has_end(r, v, jinja_arg(args, 0, NULL), true, &yes));
    return jinja_keep(r, json_boolean(yes), out);
}
static lcsm_status call_endswith(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    bool yes = false;
    LCSM_OR_RETURN(has_end(r, v, jinja_arg(args, 0, NULL), false, &yes));
    return jinja_keep(r, json_boolean(yes), out);
}

/* The place of the first, in characters; -1. */
static lcsm_status call_find(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *what, *found, *at = json_string_value(v);
    size_t      n;
    json_int_t  place = 0;
    LCSM_OR_RETURN(need_text(r, v, "find"));
    LCSM_OR_RETURN(text_arg(r, args, 0, NULL, "", &what, &n));
    LCSM_OR_RETURN(jinja_search(r, at, json_string_length(v), what, n, &found));
    for (; found != NULL && at < found; at++) place += ((unsigned char)*at & 0xC0u) != 0x80;
    return jinja_keep(r, json_integer(found != NULL ? place : -1), out);
}

static lcsm_status call_count(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *what;
    size_t      n;
    json_int_t  count = 0;
    LCSM_OR_RETURN(need_text(r, v, "count"));
    LCSM_OR_RETURN(text_arg(r, args, 0, NULL, "", &what, &n));
    if (n == 0) return jinja_fail(r, "count of an empty string");
    const char *at = json_string_value(v), *end = at + json_string_length(v);
    for (;; at += n, count++) {
        LCSM_OR_RETURN(jinja_search(r, at, (size_t)(end - at), what, n, &at));
        if (at == NULL) break;
    }
    return jinja_keep(r, json_integer(count), out);
}

/* ---- collections ------------------------------------------------------------------------ */

static lcsm_status call_length(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    if (v != NULL && !json_is_string(v) && !json_is_array(v) && !json_is_object(v))
        return jinja_fail(r, "the length of %s", jinja_type(v));
    LCSM_OR_RETURN(jinja_spend(r, json_string_length(v) / 8));
    size_t n = json_is_string(v) ? jinja_characters(v) : json_array_size(v) + json_object_size(v);
    return jinja_keep(r, json_integer((json_int_t)n), out);
}

static lcsm_status call_list(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return jinja_items(r, v, out);
}

static lcsm_status call_items(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *key;
    json_t     *item;
    (void)args;
    if (v != NULL && !json_is_object(v)) return jinja_fail(r, "items of %s", jinja_type(v));
    LCSM_OR_RETURN(jinja_spend(r, json_object_size(v)));
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    json_object_foreach(v, key, item)
    {
        if (json_array_append_new(*out, json_pack("[s, O]", key, item)) != 0)
            return jinja_no_memory(r);
    }
    return LCSM_OK;
}

static lcsm_status call_values(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *key;
    json_t     *item;
    (void)args;
    LCSM_OR_RETURN(jinja_spend(r, json_object_size(v)));
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    json_object_foreach(v, key, item)
    {
        if (json_array_append(*out, item) != 0) return jinja_no_memory(r);
    }
    return LCSM_OK;
}

static lcsm_status call_get(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_t *key = jinja_arg(args, 0, NULL), *standard = jinja_arg(args, 1, "default");
    if (!json_is_object(v)) return jinja_fail(r, "get of %s", jinja_type(v));
    json_t *found = json_is_string(key) ? json_object_get(v, json_string_value(key)) : NULL;
    if (found == NULL) found = standard != NULL ? standard : json_null();
    return jinja_keep(r, json_incref(found), out);
}

static lcsm_status edge(jinja_run *r, json_t *v, bool last, json_t **out)
{
    json_t *all = NULL;
    LCSM_OR_RETURN(jinja_items(r, v, &all));
    size_t n = json_array_size(all);
    *out     = n > 0 ? json_incref(json_array_get(all, last ? n - 1 : 0)) : NULL;
    json_decref(all);
    return LCSM_OK;
}

static lcsm_status call_first(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return edge(r, v, false, out);
}
static lcsm_status call_last(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)args;
    return edge(r, v, true, out);
}

static lcsm_status call_reverse(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_t     *all  = NULL;
    lcsm_strbuf text = {0};
    lcsm_status st;
    (void)args;
    LCSM_TRY(jinja_items(r, v, &all));
    LCSM_TRY(jinja_keep(r, json_array(), out));
    for (size_t j = json_array_size(all); j-- > 0;) {
        json_t *item = json_array_get(all, j);
        if (json_is_string(v)) lcsm_strbuf_add(&text, json_string_value(item));
        else if (json_array_append(*out, item) != 0) LCSM_TRY(jinja_no_memory(r));
    }
    if (json_is_string(v)) {
        json_decref(*out);
        *out = NULL;
        LCSM_TRY(jinja_string(r, &text, out));
    }
cleanup:
    lcsm_strbuf_free(&text);
    json_decref(all);
    return st;
}

/* An attribute of an item, "name" of a mapping; borrowed. */
static const json_t *attribute(const json_t *item, const json_t *name)
{
    return json_is_string(name) ? json_object_get(item, json_string_value(name)) : item;
}

static lcsm_status join_items(jinja_run *r, const json_t *all, const char *by, size_t n,
                              const json_t *name, lcsm_strbuf *s)
{
    size_t  at;
    json_t *item;
    json_array_foreach(all, at, item)
    {
        if (at > 0) lcsm_strbuf_bytes(s, by, n);
        LCSM_OR_RETURN(jinja_print(r, s, attribute(item, name)));
    }
    return LCSM_OK;
}

static lcsm_status call_join(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *by;
    size_t      n;
    json_t     *all = NULL;
    lcsm_strbuf s   = {0};
    lcsm_status st;
    LCSM_TRY(text_arg(r, args, 0, "d", "", &by, &n));
    LCSM_TRY(jinja_items(r, v, &all));
    LCSM_TRY(join_items(r, all, by, n, jinja_arg(args, 1, "attribute"), &s));
    LCSM_TRY(jinja_string(r, &s, out));
cleanup:
    lcsm_strbuf_free(&s);
    json_decref(all);
    return st;
}

/* 'text'.join(list) */
static lcsm_status method_join(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    jinja_args by = {.list = {v}, .count = 1};
    LCSM_OR_RETURN(need_text(r, v, "join"));
    return call_join(r, jinja_arg(args, 0, NULL), &by, out);
}

/* map('filter'), or map(attribute='name') */
static lcsm_status call_map(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_t     *all = NULL, *name = jinja_arg(args, JINJA_ARGUMENTS, "attribute"), *item;
    json_t     *filter = jinja_arg(args, 0, NULL);
    size_t      at;
    jinja_args  rest = {.count = 0};
    lcsm_status st;
    for (size_t j = 1; j < args->count && name == NULL; j++)
        rest.list[rest.count++] = args->list[j];
    LCSM_TRY(jinja_items(r, v, &all));
    LCSM_TRY(jinja_keep(r, json_array(), out));
    if (name == NULL && !json_is_string(filter))
        LCSM_TRY(jinja_fail(r, "map without a filter or an attribute"));
    json_array_foreach(all, at, item)
    {
        json_t *made =
            name != NULL ? json_incref((json_t *)(uintptr_t)attribute(item, name)) : NULL;
        if (name == NULL) LCSM_TRY(jinja_filter(r, json_string_value(filter), item, &rest, &made));
        if (json_array_append_new(*out, made != NULL ? made : json_null()) != 0)
            LCSM_TRY(jinja_no_memory(r));
    }
cleanup:
    json_decref(all);
    return st;
}

/* select, reject: by a test of the item, or with `attr` of its attribute; without one its truth. */
static lcsm_status choose(jinja_run *r, json_t *v, const jinja_args *args, bool attr, bool keep,
                          json_t **out)
{
    json_t     *all = NULL, *item, *name = attr ? jinja_arg(args, 0, NULL) : NULL;
    json_t     *test = jinja_arg(args, attr ? 1 : 0, NULL);
    size_t      at;
    jinja_args  rest = {.count = 0};
    lcsm_status st;
    for (size_t j = attr ? 2 : 1; j < args->count; j++) rest.list[rest.count++] = args->list[j];
    LCSM_TRY(jinja_items(r, v, &all));
    LCSM_TRY(jinja_keep(r, json_array(), out));
    json_array_foreach(all, at, item)
    {
        json_t *part = (json_t *)(uintptr_t)attribute(item, name);
        bool    yes  = jinja_truth(part);
        LCSM_TRY(jinja_spend(r, 1));
        if (json_is_string(test))
            LCSM_TRY(jinja_test(r, json_string_value(test), part, &rest, &yes));
        if (yes == keep && json_array_append(*out, item) != 0) LCSM_TRY(jinja_no_memory(r));
    }
cleanup:
    json_decref(all);
    return st;
}

static lcsm_status call_select(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return choose(r, v, args, false, true, out);
}
static lcsm_status call_reject(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return choose(r, v, args, false, false, out);
}
static lcsm_status call_selectattr(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return choose(r, v, args, true, true, out);
}
static lcsm_status call_rejectattr(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    return choose(r, v, args, true, false, out);
}

/* ---- other filters ---------------------------------------------------------------------- */

static lcsm_status call_string(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    lcsm_strbuf s  = {0};
    lcsm_status st = jinja_print(r, &s, v);
    (void)args;
    if (st == LCSM_OK) return jinja_string(r, &s, out);
    lcsm_strbuf_free(&s);
    return st;
}

static lcsm_status call_same(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)r;
    (void)args;
    *out = json_incref(v);
    return LCSM_OK;
}

static lcsm_status call_default(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    bool    falsy = jinja_truth(jinja_arg(args, 1, "boolean"));
    json_t *other = jinja_arg(args, 0, "default_value");
    if (v != NULL && (!falsy || jinja_truth(v))) return call_same(r, v, args, out);
    return other != NULL ? call_same(r, other, args, out) : jinja_keep(r, json_string(""), out);
}

static lcsm_status call_tojson(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    lcsm_strbuf s      = {0};
    json_int_t  indent = int_arg(args, JINJA_ARGUMENTS, "indent", int_arg(args, 0, NULL, -1));
    lcsm_status st     = LCSM_OK;
    for (size_t j = 0; j < args->count; j++)
        if (args->names[j] != NULL && strcmp(args->names[j], "indent") != 0
            && strcmp(args->names[j], "ensure_ascii") != 0)
            return jinja_fail(r, "tojson with %.40s is not supported", args->names[j]);
    if (jinja_truth(jinja_arg(args, JINJA_ARGUMENTS, "ensure_ascii")))
        return jinja_fail(r, "tojson with ensure_ascii is not supported");
    st = jinja_write_json(r, &s, v, indent < 0 || indent > 16 ? -1 : (int)indent);
    if (st == LCSM_OK) return jinja_string(r, &s, out);
    lcsm_strbuf_free(&s);
    return st;
}

static lcsm_status call_int(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_int_t n = int_arg(args, 0, "default", 0);
    if (json_is_string(v)) {
        char     *end;
        long long read = strtoll(json_string_value(v), &end, 10);
        if (end != json_string_value(v)) n = read;
    } else if (json_is_real(v)) {
        double x = json_real_value(v);
        if (x > -9e18 && x < 9e18) n = (json_int_t)x;
    } else if (v != NULL && !json_is_null(v))
        n = json_is_boolean(v) ? json_is_true(v) : json_integer_value(v);
    return jinja_keep(r, json_integer(n), out);
}

static lcsm_status call_abs(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_t     *zero  = json_integer(0);
    int         order = 0;
    lcsm_status st    = jinja_compare(r, v, zero, &order);
    if (st == LCSM_OK && order < 0) st = jinja_binary(r, JINJA_SUBTRACT, zero, v, out);
    else if (st == LCSM_OK) st = call_same(r, v, args, out);
    json_decref(zero);
    return st;
}

/* Spaces before each line but the first, unless that is asked for; blank lines stay blank. */
static lcsm_status call_indent(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_int_t  width = int_arg(args, 0, "width", 4);
    bool        first = jinja_truth(jinja_arg(args, 1, "first"));
    bool        blank = jinja_truth(jinja_arg(args, 2, "blank"));
    lcsm_strbuf s     = {0};
    LCSM_OR_RETURN(need_text(r, v, "indent"));
    if (width < 0 || width > 64) return jinja_fail(r, "indent by more than 64 spaces");
    const char *at = json_string_value(v), *end = at + json_string_length(v);
    for (bool begin = first; at < end; at++) {
        if (begin && (blank || *at != '\n')) lcsm_strbuf_printf(&s, "%*s", (int)width, "");
        lcsm_strbuf_bytes(&s, at, 1);
        begin = *at == '\n';
    }
    return jinja_string(r, &s, out);
}

/* ---- tables ----------------------------------------------------------------------------- */

static const call_row FILTERS[] = {
    {"trim", 1, call_trim},
    {"length", 0, call_length},
    {"count", 0, call_length},
    {"tojson", 2, call_tojson},
    {"upper", 0, call_upper},
    {"lower", 0, call_lower},
    {"title", 0, call_title},
    {"capitalize", 0, call_capitalize},
    {"replace", 3, call_replace},
    {"join", 2, call_join},
    {"default", 2, call_default},
    {"d", 2, call_default},
    {"first", 0, call_first},
    {"last", 0, call_last},
    {"list", 0, call_list},
    {"items", 0, call_items},
    {"reverse", 0, call_reverse},
    {"map", 4, call_map},
    {"select", 4, call_select},
    {"reject", 4, call_reject},
    {"selectattr", 4, call_selectattr},
    {"rejectattr", 4, call_rejectattr},
    {"string", 0, call_string},
    {"safe", 0, call_same},
    {"int", 1, call_int},
    {"abs", 0, call_abs},
    {"indent", 3, call_indent},
};

static const call_row STRING_METHODS[] = {
    {"strip", 1, call_strip},
    {"lstrip", 1, call_lstrip},
    {"rstrip", 1, call_rstrip},
    {"split", 2, call_split},
    {"splitlines", 0, call_splitlines},
    {"replace", 3, call_replace},
    {"startswith", 1, call_startswith},
    {"endswith", 1, call_endswith},
    {"upper", 0, call_upper},
    {"lower", 0, call_lower},
    {"title", 0, call_title},
    {"capitalize", 0, call_capitalize},
    {"find", 1, call_find},
    {"count", 1, call_count},
    {"join", 1, method_join},
};

static const call_row MAPPING_METHODS[] = {
    {"get", 2, call_get},
    {"items", 0, call_items},
    {"keys", 0, call_list},
    {"values", 0, call_values},
};

static lcsm_status call_in(jinja_run *r, const call_row *rows, size_t count, const char *what,
                           const char *name, json_t *v, const jinja_args *args, json_t **out)
{
    for (size_t j = 0; j < count; j++)
        if (strcmp(rows[j].name, name) == 0) {
            LCSM_OR_RETURN(jinja_args_most(r, args, rows[j].most, name));
            LCSM_OR_RETURN(jinja_spend(r, 4 + json_string_length(v) / 16));
            return rows[j].call(r, v, args, out);
        }
    return jinja_fail(r, "the %s %.40s of %s is not supported", what, name, jinja_type(v));
}

lcsm_status jinja_filter(jinja_run *r, const char *name, json_t *value, const jinja_args *args,
                         json_t **out)
{
    return call_in(r, FILTERS, COUNT(FILTERS), "filter", name, value, args, out);
}

lcsm_status jinja_method(jinja_run *r, json_t *of, const char *name, const jinja_args *args,
                         json_t **out)
{
    bool text = json_is_string(of);
    if (!text && !json_is_object(of))
        return jinja_fail(r, "the method %.40s of %s is not supported", name, jinja_type(of));
    return call_in(r, text ? STRING_METHODS : MAPPING_METHODS,
                   text ? COUNT(STRING_METHODS) : COUNT(MAPPING_METHODS), "method", name, of, args,
                   out);
}

/* ---- tests ------------------------------------------------------------------------------ */

static bool is_type(const char *name, const json_t *v, bool *known)
{
    bool text = json_is_string(v), list = json_is_array(v), map = json_is_object(v);
    const struct {
        const char *name;
        bool        is;
    } TYPES[] = {
        {"defined", v != NULL},
        {"undefined", v == NULL},
        {"none", json_is_null(v)},
        {"string", text},
        {"number", json_is_number(v) || json_is_boolean(v)},
        {"integer", json_is_integer(v)},
        {"float", json_is_real(v)},
        {"boolean", json_is_boolean(v)},
        {"true", json_is_true(v)},
        {"false", json_is_false(v)},
        {"mapping", map},
        {"sequence", text || list || map},
        {"iterable", text || list || map || v == NULL},
        {"callable", false},
    };
    for (size_t j = 0; j < COUNT(TYPES); j++)
        if (strcmp(TYPES[j].name, name) == 0) {
            *known = true;
            return TYPES[j].is;
        }
    return false;
}

/* A remainder of an integer. */
static lcsm_status divides(jinja_run *r, const json_t *v, json_int_t by, json_int_t rest, bool *out)
{
    if (!json_is_integer(v) || by == 0) return jinja_fail(r, "a remainder of %s", jinja_type(v));
    *out = (by == -1 ? 0 : json_integer_value(v) % by) == rest
        || (rest == 1 && json_integer_value(v) % by == -1);
    return LCSM_OK;
}

static lcsm_status test_order(jinja_run *r, const char *name, json_t *v, const jinja_args *args,
                              bool *out)
{
    static const struct {
        const char *names[4];
        jinja_op    op;
    } ORDERS[] = {
        {{"eq", "equalto", "==", "sameas"}, JINJA_EQ}, {{"ne", "!="}, JINJA_NE},
        {{"lt", "lessthan", "<"}, JINJA_LT},           {{"le", "<="}, JINJA_LE},
        {{"gt", "greaterthan", ">"}, JINJA_GT},        {{"ge", ">="}, JINJA_GE},
    };
    json_t *other = jinja_arg(args, 0, NULL);
    int     order = 0;
    for (size_t j = 0; j < COUNT(ORDERS); j++)
        for (size_t k = 0; k < 4 && ORDERS[j].names[k] != NULL; k++) {
            if (strcmp(ORDERS[j].names[k], name) != 0) continue;
            jinja_op op = ORDERS[j].op;
            if (op > JINJA_NE) LCSM_OR_RETURN(jinja_compare(r, v, other, &order));
            else LCSM_OR_RETURN(jinja_equal(r, v, other, out));
            if (op == JINJA_NE) *out = !*out;
            if (op > JINJA_NE)
                *out = op == JINJA_LT ? order < 0
                     : op == JINJA_LE ? order <= 0
                     : op == JINJA_GT ? order > 0
                                      : order >= 0;
            return LCSM_OK;
        }
    return jinja_fail(r, "the test %.40s is not supported", name);
}

lcsm_status jinja_test(jinja_run *r, const char *name, json_t *value, const jinja_args *args,
                       bool *out)
{
    bool known = false;
    *out       = is_type(name, value, &known);
    if (known) return jinja_args_most(r, args, 0, name);
    LCSM_OR_RETURN(jinja_args_most(r, args, 1, name));
    if (strcmp(name, "in") == 0) return jinja_contains(r, jinja_arg(args, 0, NULL), value, out);
    if (strcmp(name, "odd") == 0) return divides(r, value, 2, 1, out);
    if (strcmp(name, "even") == 0) return divides(r, value, 2, 0, out);
    if (strcmp(name, "divisibleby") == 0)
        return divides(r, value, int_arg(args, 0, NULL, 0), 0, out);
    return test_order(r, name, value, args, out);
}

/* ---- functions -------------------------------------------------------------------------- */

static lcsm_status call_raise(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const json_t *text = jinja_arg(args, 0, "message");
    (void)v;
    (void)out;
    return jinja_fail(r, "the template refuses the messages: %.100s",
                      json_is_string(text) ? json_string_value(text) : "");
}

static lcsm_status call_range(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    json_int_t first = int_arg(args, 0, NULL, 0), end = int_arg(args, 1, NULL, 0);
    json_int_t step = int_arg(args, 2, NULL, 1);
    (void)v;
    if (args->count == 1) end = first, first = 0;
    if (step == 0) return jinja_fail(r, "range with the step 0");
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    for (json_int_t j = first; step > 0 ? j < end : j > end;) {
        LCSM_OR_RETURN(jinja_spend(r, 8));
        if (json_array_append_new(*out, json_integer(j)) != 0) return jinja_no_memory(r);
        if (__builtin_add_overflow(j, step, &j)) break;
    }
    return LCSM_OK;
}

static lcsm_status call_dict(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    (void)v;
    LCSM_OR_RETURN(jinja_keep(r, json_object(), out));
    for (size_t j = 0; j < args->count; j++) {
        if (args->names[j] == NULL) return jinja_fail(r, "dict() takes named values");
        if (json_object_set(*out, args->names[j],
                            args->list[j] != NULL ? args->list[j] : json_null())
            != 0)
            return jinja_no_memory(r);
    }
    return jinja_shallow(r, *out);
}

/* Today's date, as models are told it. */
static lcsm_status call_strftime(jinja_run *r, json_t *v, const jinja_args *args, json_t **out)
{
    const char *format;
    char        text[256];
    size_t      size;
    struct tm   parts = {0};
    time_t      now   = time(NULL);
    (void)v;
    LCSM_OR_RETURN(text_arg(r, args, 0, "format", "%Y-%m-%d", &format, &size));
    if (localtime_r(&now, &parts) == NULL || size > 64) return jinja_fail(r, "a date too long");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    size = strftime(text, sizeof text, format, &parts);
#pragma GCC diagnostic pop
    return jinja_bytes(r, text, size, out);
}

lcsm_status jinja_function(jinja_run *r, const char *name, const jinja_args *args, json_t **out,
                           bool *known)
{
    static const call_row FUNCTIONS[] = {{"raise_exception", 1, call_raise},
                                         {"range", 3, call_range},
                                         {"dict", JINJA_ARGUMENTS, call_dict},
                                         {"strftime_now", 1, call_strftime}};
    for (size_t j = 0; j < COUNT(FUNCTIONS); j++)
        if (strcmp(FUNCTIONS[j].name, name) == 0) {
            *known = true;
            LCSM_OR_RETURN(jinja_args_most(r, args, FUNCTIONS[j].most, name));
            return FUNCTIONS[j].call(r, NULL, args, out);
        }
    return LCSM_OK;
}
