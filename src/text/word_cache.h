/*
 * word_cache.h - the ids of words that were seen before.
 *
 * Text consists of few words that come often: of WikiText's some are looked up a hundred thousand
 * times. The cache grows up to a limit, and is then emptied.
 */
#ifndef LCSM_TEXT_WORD_CACHE_H
#define LCSM_TEXT_WORD_CACHE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LCSM_CACHED_WORD = 48 }; /* bytes of a word that is worth keeping, at most */

typedef struct {
    uint64_t hash; /* 0: empty */
    uint32_t word, ids;
    uint8_t  size, count;
} lcsm_cached_word;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_cached_word *slots;
    size_t            mask, used;
    char             *words;
    int32_t          *ids;
    size_t            word_size, word_room, id_count, id_room;
} lcsm_word_cache;

void lcsm_word_cache_free(lcsm_word_cache *c);

uint64_t lcsm_word_hash(const char *word, size_t size);

/* The ids of a word of at most LCSM_CACHED_WORD bytes, or NULL. */
const int32_t *lcsm_word_cache_find(const lcsm_word_cache *c, uint64_t hash, const char *word,
                                    size_t size, size_t *count);

/* Keeps a word; without memory it does not. */
void lcsm_word_cache_put(lcsm_word_cache *c, uint64_t hash, const char *word, size_t size,
                         const int32_t *ids, size_t count);

#endif
