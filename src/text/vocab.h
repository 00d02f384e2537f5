/*
 * vocab.h - tokens: the bytes of an id, and the id of bytes.
 *
 * Ownership  What is put is copied. {0} is empty and may be freed.
 */
#ifndef LCSM_TEXT_VOCAB_H
#define LCSM_TEXT_VOCAB_H
#include <stdint.h>

#include "base/strbuf.h"

typedef struct {
    uint32_t at, size; /* in pool */
    bool     there;
    bool     mapped; /* written in the characters of bytes, so that merges can make it */
    bool     special;
} lcsm_vocab_entry;

typedef struct {
    lcsm_vocab_entry *entries; /* by id */
    size_t            count;   /* one more than the largest id */
    size_t            tokens;  /* that are there */
    size_t            longest;
    lcsm_strbuf       pool;
    int32_t          *slots; /* open addressing: id + 1, or 0 */
    size_t            mask;
} lcsm_vocab;

/* Room for ids 0 .. count - 1. */
lcsm_status lcsm_vocab_create(lcsm_vocab *v, size_t count, lcsm_error *err);
void        lcsm_vocab_free(lcsm_vocab *v);

/* false: the id is taken, or there is no memory. Equal bytes may have several ids; the first that
 * was put is found. */
bool lcsm_vocab_put(lcsm_vocab *v, int32_t id, const char *bytes, size_t size, bool mapped);

/* -1: there is none. */
int32_t lcsm_vocab_find(const lcsm_vocab *v, const char *bytes, size_t size);
int32_t lcsm_vocab_find_mapped(const lcsm_vocab *v, const char *bytes, size_t size);

/* NULL: no such token. */
const char *lcsm_vocab_bytes(const lcsm_vocab *v, int32_t id, size_t *size);

#endif
