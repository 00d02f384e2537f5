/* bpe.h - a word as tokens: merges the pair of the lowest rank, the leftmost first, to the end. */
#ifndef LCSM_TEXT_BPE_H
#define LCSM_TEXT_BPE_H
#include "text/merges.h"

/* Memory for long words, used again and again. {0} is empty and may be freed. */
typedef struct {
    int32_t  *ids, *ranks;
    uint32_t *next, *before;
    uint64_t *heap; /* rank << 32 | place, the smallest first */
    size_t    capacity, heap_count, heap_capacity;
} lcsm_bpe_room;

void lcsm_bpe_room_free(lcsm_bpe_room *room);

/* Merges ids[0 .. count - 1] in place and says in *count how many are left. Time O(n log n). */
lcsm_status lcsm_bpe(const lcsm_merges *merges, lcsm_bpe_room *room, int32_t *ids, size_t *count,
                     lcsm_error *err);

#endif
