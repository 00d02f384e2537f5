/*
 * word_count.h - how often each word comes, in bounded memory.
 *
 * When there are too many different words, those that came once are forgotten, then those that
 * came twice, until half of them are left.
 */
#ifndef LCSM_TEXT_WORD_COUNT_H
#define LCSM_TEXT_WORD_COUNT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { LCSM_COUNTED_WORD = 256, LCSM_COUNTED_WORDS = 4000000 };

typedef struct {
    uint64_t count; /* 0: empty */
    size_t   at;    /* in pool */
    uint32_t size;
} lcsm_counted_word;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_counted_word *slots;
    size_t             mask, used;
    lcsm_strbuf        pool;
    size_t             limit; /* 0: LCSM_COUNTED_WORDS */
} lcsm_word_count;

/* An lcsm_word_fn. A word longer than LCSM_COUNTED_WORD counts in pieces. */
lcsm_status lcsm_word_count_add(void *counts, const char *word, size_t size, lcsm_error *err);

void lcsm_word_count_free(lcsm_word_count *c);

#endif
