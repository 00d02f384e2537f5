/*
 * pair_table.h - pairs of tokens while merges are learned: how often each comes, in which words,
 * and which comes most often.
 */
#ifndef LCSM_TEXT_PAIR_TABLE_H
#define LCSM_TEXT_PAIR_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t  pair; /* left << 32 | right */
    int64_t   count;
    uint32_t *words; /* where it is, or was */
    uint32_t  word_count, word_room;
    bool      queued; /* gained since the last _queue */
} lcsm_pair_info;

typedef struct {
    int64_t  count;
    uint64_t pair;
} lcsm_pair_rank;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_pair_info *infos;
    size_t          info_count, info_room;
    uint32_t       *slots; /* number of the info + 1, or 0 */
    size_t          mask;
    lcsm_pair_rank *heap; /* the largest count first; of equal ones the smallest pair */
    size_t          heap_count, heap_room;
    uint32_t       *gained; /* infos that shall be queued */
    size_t          gained_count, gained_room;
} lcsm_pair_table;

void lcsm_pair_table_free(lcsm_pair_table *t);

/* Changes a count; a gain also notes the word. false: no memory. */
bool lcsm_pair_table_change(lcsm_pair_table *t, int32_t left, int32_t right, int64_t change,
                            uint32_t word);

/* Lets the pairs that gained take part in _pop. */
bool lcsm_pair_table_queue(lcsm_pair_table *t);

/* Takes the pair with the largest count out of the queue; NULL if there is none. It lives until the
 * next change. */
const lcsm_pair_info *lcsm_pair_table_pop(lcsm_pair_table *t);

#endif
