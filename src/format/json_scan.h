/*
 * json_scan.h - strict JSON, looked at where it lies.
 *
 * For headers of files that come from anywhere: nothing is allocated, whatever the text says. A
 * text is checked whole, by lcsm_utf8_check and lcsm_json_check; only then may it be walked, and
 * the walk needs no checks of its own.
 */
#ifndef LCSM_FORMAT_JSON_SCAN_H
#define LCSM_FORMAT_JSON_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes at the start of text are UTF-8 (no overlong forms, no surrogates): size, if all
 * of them are. */
size_t lcsm_utf8_check(const char *text, size_t size);

/* Where whitespace from `at` on ends. */
size_t lcsm_json_space(const char *text, size_t size, size_t at);

/* Checks the one value (RFC 8259) that starts at *at and moves *at behind it. Returns NULL, or
 * what is wrong, with *at where it is. An array or object inside max_depth others is refused. */
const char *lcsm_json_check(const char *text, size_t size, unsigned max_depth, size_t *at);

/* A piece of a checked text: a value from its first letter, which tells its kind, to its end. */
typedef struct {
    const char *at, *end;
} lcsm_json_span;

/* The members of an object, or the items of an array, from first to last:
 *     lcsm_json_walk w = lcsm_json_enter(value);
 *     while (lcsm_json_step(&w, &key, &value)) ...
 * In an array the key is empty. */
typedef struct {
    const char *at;
    bool        object;
} lcsm_json_walk;

lcsm_json_walk lcsm_json_enter(lcsm_json_span value);
bool           lcsm_json_step(lcsm_json_walk *w, lcsm_json_span *key, lcsm_json_span *value);

/* Writes the letters that a string, given with its quotes, stands for, and returns how many. They
 * are fewer than the string's own; out may be NULL to count. There is no final zero. */
size_t lcsm_json_unescape(char *out, lcsm_json_span string);

/* A number without sign, fraction or exponent, below 2^63. */
bool lcsm_json_natural(uint64_t *out, lcsm_json_span number);

#endif
