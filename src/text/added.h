/*
 * added.h - added tokens: texts that become one id wherever they stand, before anything else.
 *
 * The leftmost is taken, and the longest of those that begin there. A token may swallow the
 * whitespace beside it (lstrip, rstrip), or count only where no word goes on (single_word).
 */
#ifndef LCSM_TEXT_ADDED_H
#define LCSM_TEXT_ADDED_H
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

typedef struct {
    char   *text;
    size_t  size;
    int32_t id;
    bool    special, single_word, lstrip, rstrip;
} lcsm_added_token;

/* A set that is looked for at the same time. {0} is empty and may be freed. */
typedef struct {
    lcsm_added_token *tokens; /* sorted by text, when sealed */
    size_t            count, capacity;
    bool              begins[256]; /* a token begins with this byte */
} lcsm_added;

/* Copies the text, which is not empty. */
lcsm_status lcsm_added_put(lcsm_added *a, const lcsm_added_token *token, lcsm_error *err);
/* After the last _put. */
void lcsm_added_seal(lcsm_added *a);
void lcsm_added_free(lcsm_added *a);

/* A token in a text: bytes begin .. end - 1 are used up, spaces that it swallows included. */
typedef struct {
    const lcsm_added_token *token; /* NULL: there is none any more */
    size_t                  begin, end;
} lcsm_added_match;

typedef struct {
    const lcsm_added *added;
    const char       *text;
    size_t            size;
    size_t            at;      /* where the search goes on */
    size_t            done;    /* what is used up */
    bool              special; /* special tokens count */
} lcsm_added_search;

lcsm_added_match lcsm_added_next(lcsm_added_search *s);

#endif
