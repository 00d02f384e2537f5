/* merges.h - which pairs of tokens become one, and in which order: a hash table of pairs. */
#ifndef LCSM_TEXT_MERGES_H
#define LCSM_TEXT_MERGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { LCSM_NO_RANK = -1 };

typedef struct {
    uint64_t pair; /* left << 32 | right; all ones: empty */
    int32_t  rank; /* the lowest is merged first */
    int32_t  id;   /* what the two become */
} lcsm_merge;

/* {0} is empty: nothing merges; it may be freed. */
typedef struct {
    lcsm_merge *slots;
    uint64_t    mask;
    size_t      count;
} lcsm_merges;

lcsm_status lcsm_merges_create(lcsm_merges *m, size_t count, lcsm_error *err);
void        lcsm_merges_free(lcsm_merges *m);

/* At most as many as _create made room for. A pair that is there gets the new rank. */
void lcsm_merges_put(lcsm_merges *m, int32_t left, int32_t right, int32_t rank, int32_t id);

static inline uint64_t lcsm_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static inline uint64_t lcsm_pair_slot(uint64_t pair, uint64_t mask)
{
    return (pair * UINT64_C(0x9E3779B97F4A7C15) >> 24) & mask;
}

/* The merge of two tokens, or NULL. */
static inline const lcsm_merge *lcsm_merges_find(const lcsm_merges *m, int32_t left, int32_t right)
{
    uint64_t pair = lcsm_pair(left, right);
    if (m->count == 0) return NULL;
    for (uint64_t at = lcsm_pair_slot(pair, m->mask);; at = (at + 1) & m->mask) {
        if (m->slots[at].pair == pair) return &m->slots[at];
        if (m->slots[at].pair == UINT64_MAX) return NULL;
    }
}

#endif
