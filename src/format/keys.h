/*
 * format/keys.h - settings as a table: one row a key.
 *
 * A table over a plain struct parses flags and JSON, checks ranges and words, writes the struct
 * back in full, and describes itself, so a key exists once. Keys are the names of flags
 * without their dashes and of JSON members: `d_model` is --d-model.
 */
#ifndef LCSM_FORMAT_KEYS_H
#define LCSM_FORMAT_KEYS_H
#include <jansson.h>
#include <lcsm/config.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { LCSM_KEY_TEXT_SIZE = 512 };

typedef struct {
    const char       *name;
    lcsm_setting_type type; /* ptrdiff_t, double, bool, char [LCSM_KEY_TEXT_SIZE], or int: the
                             * number of the word in `words` */
    size_t      offset;
    double      min, max; /* of numbers */
    const char *standard; /* the default, as a user would write it */
    const char *words;    /* of a choice, "one|two|three" */
    const char *help;
} lcsm_key;

/* Rows of a table over the struct that LCSM_KEY_OWNER names. */
#define LCSM_KEY_ROW(key, type, field, low, high, standard, words, help)                           \
    {                                                                                              \
        key, type, offsetof(LCSM_KEY_OWNER, field), low, high, standard, words, help               \
    }
#define LCSM_INT_ROW(key, field, low, high, standard, help)                                        \
    LCSM_KEY_ROW(key, LCSM_SETTING_INT, field, low, high, standard, NULL, help)
#define LCSM_REAL_ROW(key, field, low, high, standard, help)                                       \
    LCSM_KEY_ROW(key, LCSM_SETTING_REAL, field, low, high, standard, NULL, help)
#define LCSM_BOOL_ROW(key, field, standard, help)                                                  \
    LCSM_KEY_ROW(key, LCSM_SETTING_BOOL, field, 0, 1, standard, NULL, help)
#define LCSM_TEXT_ROW(key, field, standard, help)                                                  \
    LCSM_KEY_ROW(key, LCSM_SETTING_TEXT, field, 0, 0, standard, NULL, help)
#define LCSM_WORD_ROW(key, field, standard, words, help)                                           \
    LCSM_KEY_ROW(key, LCSM_SETTING_CHOICE, field, 0, 0, standard, words, help)

typedef struct {
    const char     *what; /* "model", for messages */
    const lcsm_key *rows;
    size_t          count;
} lcsm_keys;

void lcsm_keys_defaults(const lcsm_keys *keys, void *settings);

/* The default of one key, which there must be. */
void lcsm_keys_reset(const lcsm_keys *keys, void *settings, const char *name);

/* From text, as in a flag; dashes and underscores are the same. */
lcsm_status lcsm_keys_set(const lcsm_keys *keys, void *settings, const char *name, const char *text,
                          lcsm_error *err);

/* From a number; a bool is 0 or 1. */
lcsm_status lcsm_keys_set_number(const lcsm_keys *keys, void *settings, const char *name,
                                 double value, lcsm_error *err);

/* The value of a key as text that lcsm_keys_set takes, and as a number: NAN if it is none. */
lcsm_status lcsm_keys_get(const lcsm_keys *keys, const void *settings, const char *name, char *text,
                          size_t size, lcsm_error *err);
double      lcsm_keys_number(const lcsm_keys *keys, const void *settings, const char *name);

/* Fills what the caller knows of *out, if it is not NULL; false for a NULL key. */
bool lcsm_key_info(const lcsm_key *key, const char *readers, lcsm_setting_info *out);

enum { LCSM_READERS_SIZE = sizeof((lcsm_setting_info *)NULL)->readers };

/* Whether every number is in its range, every choice one of its words, every text ended: for
 * structs that a program filled by itself. */
lcsm_status lcsm_keys_check(const lcsm_keys *keys, const void *settings, lcsm_error *err);

/* From a JSON object; members that `others` (if not NULL) knows are skipped, unknown ones are
 * errors that name the nearest key. place is the file for messages. */
lcsm_status lcsm_keys_read(const lcsm_keys *keys, const lcsm_keys *others, void *settings,
                           json_t *object, const char *place, lcsm_error *err);

/* The same, but members that are no keys are left to others: for files that programs write. */
lcsm_status lcsm_keys_pick(const lcsm_keys *keys, void *settings, json_t *object, const char *place,
                           lcsm_error *err);

/* A value as a flag would have it; nothing for what is no text, number or truth. */
const char *lcsm_setting_text(char text[LCSM_KEY_TEXT_SIZE], const json_t *value);

/* Every key into the object; false when there is no memory. */
bool lcsm_keys_write(const lcsm_keys *keys, const void *settings, json_t *object);

/* The row of a name, or NULL. */
const lcsm_key *lcsm_keys_find(const lcsm_keys *keys, const char *name);

/* Whether two structs of the table have the same value for a key. */
bool lcsm_key_same(const lcsm_key *key, const void *a, const void *b);

/* The name of the table that is nearest, for suggestions. */
const char *lcsm_keys_nearest(const lcsm_keys *keys, const char *name);

#endif
