/*
 * json_write.h - JSON texts, written member by member.
 *
 * Members keep the order in which they are put. Numbers are written so that reading gives the same
 * number back, with as few digits as do that, whatever the locale. A failure is sticky: put
 * freely, ask once, in _finish.
 *
 *     lcsm_json_writer w = lcsm_json_writer_pretty();
 *     lcsm_json_open_object(&w, NULL);
 *     lcsm_json_put_int(&w, "layers", 12);
 *     lcsm_json_close(&w);
 *     LCSM_TRY(lcsm_json_writer_finish(&w, err));        the text is w.text
 *     lcsm_json_writer_free(&w);
 */
#ifndef LCSM_FORMAT_JSON_WRITE_H
#define LCSM_FORMAT_JSON_WRITE_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { LCSM_JSON_WRITE_DEPTH = 32 };

typedef struct {
    lcsm_strbuf text;
    bool        pretty;  /* one member a line, two spaces a level; otherwise no space at all */
    bool        follows; /* something stands before in the innermost array or object */
    unsigned    depth;
    char        close[LCSM_JSON_WRITE_DEPTH]; /* the closing bracket of each level */
    struct {
        size_t name, size; /* of the last member, as it stands in text */
        size_t count;      /* members or elements so far */
    } last[LCSM_JSON_WRITE_DEPTH];
    const char *problem; /* the first one, or NULL */
    lcsm_status status;  /* of the problem */
    char        where[200];
} lcsm_json_writer;

static inline lcsm_json_writer lcsm_json_writer_pretty(void)
{
    return (lcsm_json_writer){.pretty = true};
}

static inline lcsm_json_writer lcsm_json_writer_compact(void)
{
    return (lcsm_json_writer){0};
}

/* key is the member's name in an object and NULL in an array and at the top. */
void lcsm_json_open_object(lcsm_json_writer *w, const char *key);
void lcsm_json_open_array(lcsm_json_writer *w, const char *key);
void lcsm_json_close(lcsm_json_writer *w);

void lcsm_json_put_int(lcsm_json_writer *w, const char *key, int64_t value);
void lcsm_json_put_size(lcsm_json_writer *w, const char *key, size_t value); /* < 2^63 */
void lcsm_json_put_real(lcsm_json_writer *w, const char *key, double value); /* finite */
void lcsm_json_put_bool(lcsm_json_writer *w, const char *key, bool value);
void lcsm_json_put_text(lcsm_json_writer *w, const char *key, const char *value); /* UTF-8 */
void lcsm_json_put_null(lcsm_json_writer *w, const char *key);
void lcsm_json_put_value(lcsm_json_writer *w, const char *key, json_t *value); /* whatever it is */

/* Ends a pretty text with a line end, and says whether the text is what was asked for: every level
 * closed, every number finite, every text UTF-8. The message says where it is not. A number that
 * is not finite is LCSM_ERR_NUMBER, all else LCSM_ERR_ARGUMENT. */
lcsm_status lcsm_json_writer_finish(lcsm_json_writer *w, lcsm_error *err);

void lcsm_json_writer_free(lcsm_json_writer *w);

#endif
