/* vocab.c - a pool of bytes and a hash table over it. */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

lcsm_status lcsm_vocab_create(lcsm_vocab *v, size_t count, lcsm_error *err)
{
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    *v = (lcsm_vocab){
        .entries = calloc(count + 1, sizeof *v->entries),
        .count   = count,
        .slots   = calloc(slots, sizeof *v->slots),
        .mask    = slots - 1,
    };
    if (v->entries != NULL && v->slots != NULL) return LCSM_OK;
    lcsm_vocab_free(v);
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a vocabulary of %zu tokens",
                     count);
}

void lcsm_vocab_free(lcsm_vocab *v)
{
    free(v->entries);
    free(v->slots);
    lcsm_strbuf_free(&v->pool);
    *v = (lcsm_vocab){0};
}

/* The slot that has these bytes, or the empty one where they belong. */
static size_t slot_of(const lcsm_vocab *v, const char *bytes, size_t size)
{
    size_t slot = (size_t)XXH3_64bits(bytes, size) & v->mask;
    for (; v->slots[slot] != 0; slot = (slot + 1) & v->mask) {
        const lcsm_vocab_entry *e = &v->entries[v->slots[slot] - 1];
        if (e->size == size && memcmp(v->pool.text + e->at, bytes, size) == 0) break;
    }
    return slot;
}

bool lcsm_vocab_put(lcsm_vocab *v, int32_t id, const char *bytes, size_t size, bool mapped)
{
    if (id < 0 || (size_t)id >= v->count || v->entries[id].there) return false;
    if (size > UINT32_MAX || v->pool.size > UINT32_MAX - size) return false;
    size_t slot    = slot_of(v, bytes, size);
    v->entries[id] = (lcsm_vocab_entry){
        .at = (uint32_t)v->pool.size, .size = (uint32_t)size, .there = true, .mapped = mapped};
    lcsm_strbuf_bytes(&v->pool, bytes, size);
    if (v->pool.failed) return false;
    if (v->slots[slot] == 0) v->slots[slot] = id + 1;
    if (size > v->longest) v->longest = size;
    v->tokens++;
    return true;
}

int32_t lcsm_vocab_find(const lcsm_vocab *v, const char *bytes, size_t size)
{
    return v->slots[slot_of(v, bytes, size)] - 1;
}

int32_t lcsm_vocab_find_mapped(const lcsm_vocab *v, const char *bytes, size_t size)
{
    int32_t id = lcsm_vocab_find(v, bytes, size);
    return id >= 0 && v->entries[id].mapped ? id : -1;
}

const char *lcsm_vocab_bytes(const lcsm_vocab *v, int32_t id, size_t *size)
{
    *size = 0;
    if (id < 0 || (size_t)id >= v->count || !v->entries[id].there) return NULL;
    *size = v->entries[id].size;
    return v->pool.text + v->entries[id].at;
}
