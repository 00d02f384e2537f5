/* word_cache.c - open addressing, at most half full, over two pools. */
#include "text/word_cache.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST = 1 << 10, MOST = 1 << 18 };

void lcsm_word_cache_free(lcsm_word_cache *c)
{
    free(c->slots);
    free(c->words);
    free(c->ids);
    *c = (lcsm_word_cache){0};
}

uint64_t lcsm_word_hash(const char *word, size_t size)
{
    return XXH3_64bits(word, size) | 1; /* 0 means empty */
}

const int32_t *lcsm_word_cache_find(const lcsm_word_cache *c, uint64_t hash, const char *word,
                                    size_t size, size_t *count)
{
    if (c->slots == NULL) return NULL;
    for (size_t at = (hash >> 1) & c->mask; c->slots[at].hash != 0; at = (at + 1) & c->mask) {
        const lcsm_cached_word *w = &c->slots[at];
        if (w->hash != hash || w->size != size || memcmp(c->words + w->word, word, size) != 0)
            continue;
        *count = w->count;
        return c->ids + w->ids;
    }
    return NULL;
}

static void insert(lcsm_word_cache *c, lcsm_cached_word w)
{
    size_t at = (w.hash >> 1) & c->mask;
    while (c->slots[at].hash != 0) at = (at + 1) & c->mask;
    c->slots[at] = w;
    c->used++;
}

/* Twice as many slots; at the limit, the same, empty. */
static bool grow(lcsm_word_cache *c)
{
    size_t count = c->slots == NULL ? 0 : c->mask + 1;
    if (count >= MOST) {
        memset(c->slots, 0, count * sizeof *c->slots);
        c->used = c->word_size = c->id_count = 0;
        return true;
    }
    lcsm_word_cache   old   = *c;
    size_t            more  = count == 0 ? FIRST : 2 * count;
    lcsm_cached_word *slots = calloc(more, sizeof *slots);
    if (slots == NULL) return false;
    c->slots = slots;
    c->mask  = more - 1;
    c->used  = 0;
    for (size_t j = 0; j < count; j++)
        if (old.slots[j].hash != 0) insert(c, old.slots[j]);
    free(old.slots);
    return true;
}

static bool reserve(void **block, size_t *room, size_t want, size_t unit)
{
    if (want <= *room) return true;
    void *more = realloc(*block, 2 * want * unit);
    if (more == NULL) return false;
    *block = more;
    *room  = 2 * want;
    return true;
}

void lcsm_word_cache_put(lcsm_word_cache *c, uint64_t hash, const char *word, size_t size,
                         const int32_t *ids, size_t count)
{
    if ((c->slots == NULL || 2 * c->used > c->mask) && !grow(c)) return;
    void *words = c->words, *numbers = c->ids;
    bool  fits = reserve(&words, &c->word_room, c->word_size + size, 1)
             && reserve(&numbers, &c->id_room, c->id_count + count + 1, sizeof *ids);
    c->words = words;
    c->ids   = numbers;
    if (!fits) return;
    memcpy(c->words + c->word_size, word, size);
    memcpy(c->ids + c->id_count, ids, count * sizeof *ids);
    insert(c, (lcsm_cached_word){.hash  = hash,
                                 .word  = (uint32_t)c->word_size,
                                 .ids   = (uint32_t)c->id_count,
                                 .size  = (uint8_t)size,
                                 .count = (uint8_t)count});
    c->word_size += size;
    c->id_count += count;
}
