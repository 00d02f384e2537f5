/* word_count.c - open addressing, at most half full, over a pool of words. */
#include "text/word_count.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST = 1 << 12 };

void lcsm_word_count_free(lcsm_word_count *c)
{
    free(c->slots);
    lcsm_strbuf_free(&c->pool);
    *c = (lcsm_word_count){0};
}

static lcsm_status no_memory(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to count words");
}

/* The slot that has the word, or the empty one where it belongs. */
static lcsm_counted_word *slot_of(lcsm_word_count *c, const char *word, size_t size)
{
    size_t at = (size_t)XXH3_64bits(word, size) & c->mask;
    for (; c->slots[at].count != 0; at = (at + 1) & c->mask) {
        const lcsm_counted_word *w = &c->slots[at];
        if (w->size == size && memcmp(c->pool.text + w->at, word, size) == 0) break;
    }
    return &c->slots[at];
}

/* Moves the words that came more than `least` times into a table of so many slots. */
static lcsm_status rebuild(lcsm_word_count *c, size_t slots, uint64_t least, lcsm_error *err)
{
    lcsm_word_count next = {
        .slots = calloc(slots, sizeof *c->slots), .mask = slots - 1, .limit = c->limit};
    if (next.slots == NULL) return no_memory(err);
    for (size_t j = 0; c->slots != NULL && j <= c->mask; j++) {
        const lcsm_counted_word *w = &c->slots[j];
        if (w->count <= least) continue;
        const char        *word = c->pool.text + w->at;
        lcsm_counted_word *slot = slot_of(&next, word, w->size);
        *slot = (lcsm_counted_word){.count = w->count, .at = next.pool.size, .size = w->size};
        lcsm_strbuf_bytes(&next.pool, word, w->size);
        next.used++;
    }
    lcsm_word_count_free(c);
    *c = next;
    return next.pool.failed ? no_memory(err) : LCSM_OK;
}

static lcsm_status make_room(lcsm_word_count *c, lcsm_error *err)
{
    size_t limit = c->limit == 0 ? LCSM_COUNTED_WORDS : c->limit;
    if (c->slots == NULL) return rebuild(c, FIRST, 0, err);
    if (c->used >= limit)
        for (uint64_t least = 1; c->used > limit / 2; least++)
            LCSM_OR_RETURN(rebuild(c, c->mask + 1, least, err));
    if (2 * c->used > c->mask) LCSM_OR_RETURN(rebuild(c, 2 * (c->mask + 1), 0, err));
    return LCSM_OK;
}

static lcsm_status add(lcsm_word_count *c, const char *word, size_t size, lcsm_error *err)
{
    LCSM_OR_RETURN(make_room(c, err));
    lcsm_counted_word *slot = slot_of(c, word, size);
    if (slot->count == 0) {
        *slot = (lcsm_counted_word){.at = c->pool.size, .size = (uint32_t)size};
        lcsm_strbuf_bytes(&c->pool, word, size);
        if (c->pool.failed) return no_memory(err);
        c->used++;
    }
    slot->count++;
    return LCSM_OK;
}

lcsm_status lcsm_word_count_add(void *counts, const char *word, size_t size, lcsm_error *err)
{
    while (size > 0) {
        size_t now = size < LCSM_COUNTED_WORD ? size : LCSM_COUNTED_WORD;
        LCSM_OR_RETURN(add(counts, word, now, err));
        word += now;
        size -= now;
    }
    return LCSM_OK;
}
