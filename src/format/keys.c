/* keys.c - settings as a table. */
#include "format/keys.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/strdist.h"

static bool same_name(const char *a, const char *b)
{
    for (; *a != 0 && *b != 0; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
    return *a == *b;
}

bool lcsm_key_same(const lcsm_key *key, const void *a, const void *b)
{
    static const size_t sizes[] = {
        [LCSM_SETTING_INT] = sizeof(ptrdiff_t), [LCSM_SETTING_REAL] = sizeof(double),
        [LCSM_SETTING_BOOL] = sizeof(bool),     [LCSM_SETTING_TEXT] = LCSM_KEY_TEXT_SIZE,
        [LCSM_SETTING_CHOICE] = sizeof(int),
    };
    const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;
    if (key->type == LCSM_SETTING_TEXT) return strncmp(x, y, sizes[key->type]) == 0;
    return memcmp(x, y, sizes[key->type]) == 0;
}

const lcsm_key *lcsm_keys_find(const lcsm_keys *keys, const char *name)
{
    for (size_t j = 0; j < keys->count; j++)
        if (same_name(keys->rows[j].name, name)) return &keys->rows[j];
    return NULL;
}

const char *lcsm_keys_nearest(const lcsm_keys *keys, const char *name)
{
    const char *best = "";
    size_t      dist = (size_t)-1;
    for (size_t j = 0; j < keys->count; j++) {
        size_t d = lcsm_strdist(keys->rows[j].name, name);
        if (d < dist) {
            dist = d;
            best = keys->rows[j].name;
        }
    }
    return best;
}

/* ---- choices ---------------------------------------------------------------------------- */

/* The number of a word in "one|two|three", or -1. */
static int word_index(const char *words, const char *text)
{
    size_t n = strlen(text);
    for (int j = 0;; j++) {
        size_t len = strcspn(words, "|");
        if (len == n && memcmp(words, text, n) == 0) return j;
        if (words[len] == 0) return -1;
        words += len + 1;
    }
}

static void word_at(const char *words, int index, char out[LCSM_KEY_TEXT_SIZE])
{
    for (; index > 0; index--) words += strcspn(words, "|") + 1;
    snprintf(out, LCSM_KEY_TEXT_SIZE, "%.*s", (int)strcspn(words, "|"), words);
}

static void nearest_word(const char *words, const char *text, char out[LCSM_KEY_TEXT_SIZE])
{
    size_t best = SIZE_MAX;
    for (const char *w = words; *w != 0; w += strcspn(w, "|"), w += *w == '|') {
        char word[LCSM_KEY_TEXT_SIZE];
        word_at(w, 0, word);
        size_t distance = lcsm_strdist(word, text);
        if (distance >= best) continue;
        best = distance;
        memcpy(out, word, sizeof word);
    }
}

/* ---- one value -------------------------------------------------------------------------- */

static lcsm_status out_of_range(const char *place, const lcsm_key *k, double found, lcsm_error *err)
{
    bool whole  = k->type == LCSM_SETTING_INT;
    int  digits = whole ? 15 : 6; /* so that a whole number is printed whole */
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s%s is %.*g; expected %s%.*g to %.*g", place, k->name,
                     digits, found, whole ? "a whole number from " : "", digits, k->min, digits,
                     k->max);
}

static lcsm_status check_number(const char *place, const lcsm_key *k, double value, lcsm_error *err)
{
    bool whole = k->type == LCSM_SETTING_INT;
    if (!(value >= k->min && value <= k->max) || (whole && value != floor(value)))
        return out_of_range(place, k, value, err);
    return LCSM_OK;
}

static lcsm_status set_number(const char *place, const lcsm_key *k, void *field, double value,
                              lcsm_error *err)
{
    lcsm_status st = check_number(place, k, value, err);
    if (st != LCSM_OK) return st;
    if (k->type == LCSM_SETTING_INT) *(ptrdiff_t *)field = (ptrdiff_t)value;
    else *(double *)field = value;
    return LCSM_OK;
}

static lcsm_status set_text(const char *place, const lcsm_key *k, void *field, const char *text,
                            lcsm_error *err)
{
    if (k->type == LCSM_SETTING_CHOICE) {
        int  index                    = word_index(k->words, text);
        char near[LCSM_KEY_TEXT_SIZE] = "";
        if (index < 0) nearest_word(k->words, text, near);
        if (index < 0)
            return lcsm_fail(err, LCSM_ERR_CONFIG,
                             "%s%s is \"%.40s\"; expected one of %s; did you mean %s?", place,
                             k->name, text, k->words, near);
        *(int *)field = index;
        return LCSM_OK;
    }
    if (strlen(text) >= LCSM_KEY_TEXT_SIZE)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s%s has %zu characters; expected at most %d",
                         place, k->name, strlen(text), LCSM_KEY_TEXT_SIZE - 1);
    memcpy(field, text, strlen(text) + 1);
    return LCSM_OK;
}

static lcsm_status set_bool(const char *place, const lcsm_key *k, void *field, const char *text,
                            lcsm_error *err)
{
    int index = word_index("false|true|no|yes|0|1|off|on", text);
    if (index < 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s%s is \"%.40s\"; expected true or false", place,
                         k->name, text);
    *(bool *)field = index % 2 == 1;
    return LCSM_OK;
}

static lcsm_status set_from_text(const char *place, const lcsm_key *k, void *settings,
                                 const char *text, lcsm_error *err)
{
    void *field = (char *)settings + k->offset;
    if (k->type == LCSM_SETTING_TEXT || k->type == LCSM_SETTING_CHOICE)
        return set_text(place, k, field, text, err);
    if (k->type == LCSM_SETTING_BOOL) return set_bool(place, k, field, text, err);
    char  *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s%s is \"%.40s\"; expected a number", place,
                         k->name, text);
    return set_number(place, k, field, value, err);
}

void lcsm_keys_defaults(const lcsm_keys *keys, void *settings)
{
    for (size_t j = 0; j < keys->count; j++)
        (void)set_from_text("", &keys->rows[j], settings, keys->rows[j].standard, NULL);
}

void lcsm_keys_reset(const lcsm_keys *keys, void *settings, const char *name)
{
    const lcsm_key *k = lcsm_keys_find(keys, name);
    (void)set_from_text("", k, settings, k->standard, NULL);
}

static lcsm_status check_choice(const lcsm_key *k, int index, lcsm_error *err)
{
    int words = 1;
    for (const char *w = k->words; *w != 0; w++) words += *w == '|';
    if (index >= 0 && index < words) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is number %d of %s; expected 0 to %d", k->name,
                     index, k->words, words - 1);
}

static lcsm_status check_field(const lcsm_key *k, const void *field, lcsm_error *err)
{
    switch (k->type) {
    case LCSM_SETTING_INT: return check_number("", k, (double)*(const ptrdiff_t *)field, err);
    case LCSM_SETTING_REAL: return check_number("", k, *(const double *)field, err);
    case LCSM_SETTING_CHOICE: return check_choice(k, *(const int *)field, err);
    case LCSM_SETTING_TEXT:
        if (memchr(field, 0, LCSM_KEY_TEXT_SIZE) != NULL) return LCSM_OK;
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "%s is not terminated; expected at most %d characters", k->name,
                         LCSM_KEY_TEXT_SIZE - 1);
    default: return LCSM_OK;
    }
}

lcsm_status lcsm_keys_check(const lcsm_keys *keys, const void *settings, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < keys->count && st == LCSM_OK; j++)
        st = check_field(&keys->rows[j], (const char *)settings + keys->rows[j].offset, err);
    return st;
}

static lcsm_status unknown(const lcsm_keys *keys, const char *place, const char *name,
                           lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%sunknown %s setting \"%.60s\"; did you mean %s?",
                     place, keys->what, name, lcsm_keys_nearest(keys, name));
}

lcsm_status lcsm_keys_set(const lcsm_keys *keys, void *settings, const char *name, const char *text,
                          lcsm_error *err)
{
    const lcsm_key *k = lcsm_keys_find(keys, name);
    if (k == NULL) return unknown(keys, "", name, err);
    return set_from_text("", k, settings, text, err);
}

lcsm_status lcsm_keys_set_number(const lcsm_keys *keys, void *settings, const char *name,
                                 double value, lcsm_error *err)
{
    const lcsm_key *k = lcsm_keys_find(keys, name);
    if (k == NULL) return unknown(keys, "", name, err);
    void *field = (char *)settings + k->offset;
    if (k->type == LCSM_SETTING_INT || k->type == LCSM_SETTING_REAL)
        return set_number("", k, field, value, err);
    if (k->type != LCSM_SETTING_BOOL || (value != 0 && value != 1))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is %g; expected %s", k->name, value,
                         k->type == LCSM_SETTING_BOOL ? "0 or 1" : "a text");
    *(bool *)field = value == 1;
    return LCSM_OK;
}

double lcsm_keys_number(const lcsm_keys *keys, const void *settings, const char *name)
{
    const lcsm_key *k     = lcsm_keys_find(keys, name);
    const void     *field = k == NULL ? NULL : (const char *)settings + k->offset;
    if (k == NULL) return (double)NAN;
    if (k->type == LCSM_SETTING_INT) return (double)*(const ptrdiff_t *)field;
    if (k->type == LCSM_SETTING_REAL) return *(const double *)field;
    return k->type == LCSM_SETTING_BOOL ? (double)*(const bool *)field : (double)NAN;
}

/* The shortest text that is read back as the same number. */
static void number_text(double value, char out[LCSM_KEY_TEXT_SIZE])
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(out, LCSM_KEY_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) return;
    }
}

lcsm_status lcsm_keys_get(const lcsm_keys *keys, const void *settings, const char *name, char *text,
                          size_t size, lcsm_error *err)
{
    const lcsm_key *k = lcsm_keys_find(keys, name);
    char            out[LCSM_KEY_TEXT_SIZE];
    if (k == NULL) return unknown(keys, "", name, err);
    const void *field = (const char *)settings + k->offset;
    if (k->type == LCSM_SETTING_TEXT) memcpy(out, field, sizeof out);
    else if (k->type == LCSM_SETTING_CHOICE) word_at(k->words, *(const int *)field, out);
    else if (k->type == LCSM_SETTING_BOOL)
        (void)snprintf(out, sizeof out, "%s", *(const bool *)field ? "true" : "false");
    else number_text(lcsm_keys_number(keys, settings, name), out);
    if (strlen(out) >= size)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s has %zu letters, the buffer has room for %zu",
                         k->name, strlen(out), size == 0 ? 0 : size - 1);
    memcpy(text, out, strlen(out) + 1);
    return LCSM_OK;
}

bool lcsm_key_info(const lcsm_key *k, const char *readers, lcsm_setting_info *out)
{
    if (k == NULL || out == NULL) return k != NULL;
    lcsm_setting_info info = {.name     = k->name,
                              .type     = k->type,
                              .min      = k->min,
                              .max      = k->max,
                              .standard = k->standard,
                              .choices  = k->words == NULL ? "" : k->words,
                              .help     = k->help};
    (void)snprintf(info.readers, sizeof info.readers, "%s", readers);
    lcsm_sized_fill(out, &info, sizeof info);
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static lcsm_status set_from_json(const char *place, const lcsm_key *k, void *settings,
                                 const json_t *value, lcsm_error *err)
{
    void *field  = (char *)settings + k->offset;
    bool  number = k->type == LCSM_SETTING_INT || k->type == LCSM_SETTING_REAL;
    if (number && json_is_number(value))
        return set_number(place, k, field, json_number_value(value), err);
    if (k->type == LCSM_SETTING_BOOL && json_is_boolean(value)) {
        *(bool *)field = json_is_true(value);
        return LCSM_OK;
    }
    if (!number && k->type != LCSM_SETTING_BOOL && json_is_string(value))
        return set_text(place, k, field, json_string_value(value), err);
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s%s has the wrong type; expected %s", place, k->name,
                     number ? "a number"
                            : (k->type == LCSM_SETTING_BOOL ? "true or false" : "a string"));
}

/* A member that neither table has is an error if `strict`. */
static lcsm_status read_members(const lcsm_keys *keys, const lcsm_keys *others, bool strict,
                                void *settings, json_t *object, const char *place, lcsm_error *err)
{
    char        prefix[160];
    const char *name;
    json_t     *value;
    snprintf(prefix, sizeof prefix, "%.150s: ", place);
    if (!json_is_object(object))
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "%sexpected an object of settings, for example {\"seed\": 1}", prefix);
    json_object_foreach(object, name, value)
    {
        const lcsm_key *k    = lcsm_keys_find(keys, name);
        bool            skip = others != NULL && lcsm_keys_find(others, name) != NULL;
        if (k == NULL && (skip || !strict)) continue;
        if (k == NULL) return unknown(keys, prefix, name, err);
        lcsm_status st = set_from_json(prefix, k, settings, value, err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

lcsm_status lcsm_keys_read(const lcsm_keys *keys, const lcsm_keys *others, void *settings,
                           json_t *object, const char *place, lcsm_error *err)
{
    return read_members(keys, others, true, settings, object, place, err);
}

lcsm_status lcsm_keys_pick(const lcsm_keys *keys, void *settings, json_t *object, const char *place,
                           lcsm_error *err)
{
    return read_members(keys, NULL, false, settings, object, place, err);
}

static json_t *to_json(const lcsm_key *k, const void *settings)
{
    const void *field = (const char *)settings + k->offset;
    char        word[LCSM_KEY_TEXT_SIZE];
    switch (k->type) {
    case LCSM_SETTING_INT: return json_integer(*(const ptrdiff_t *)field);
    case LCSM_SETTING_REAL: return json_real(*(const double *)field);
    case LCSM_SETTING_BOOL: return json_boolean(*(const bool *)field);
    case LCSM_SETTING_TEXT: return json_string(field);
    default: word_at(k->words, *(const int *)field, word); return json_string(word);
    }
}

const char *lcsm_setting_text(char text[LCSM_KEY_TEXT_SIZE], const json_t *v)
{
    text[0] = '\0';
    if (json_is_string(v)) (void)snprintf(text, LCSM_KEY_TEXT_SIZE, "%s", json_string_value(v));
    if (json_is_integer(v))
        (void)snprintf(text, LCSM_KEY_TEXT_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    if (json_is_real(v)) (void)snprintf(text, LCSM_KEY_TEXT_SIZE, "%.10g", json_real_value(v));
    if (json_is_boolean(v))
        (void)snprintf(text, LCSM_KEY_TEXT_SIZE, "%s", json_is_true(v) ? "true" : "false");
    return text;
}

bool lcsm_keys_write(const lcsm_keys *keys, const void *settings, json_t *object)
{
    for (size_t j = 0; j < keys->count; j++)
        if (json_object_set_new(object, keys->rows[j].name, to_json(&keys->rows[j], settings)) != 0)
            return false;
    return true;
}
