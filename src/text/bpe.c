/*
 * bpe.c - byte-pair merging.
 *
 * Short words: look through all pairs for the lowest rank, again and again, which for a dozen bytes
 * beats everything else. Long ones: a heap of pairs over a linked list.
 */
#include "text/bpe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 48 };

static int32_t rank_of(const lcsm_merges *m, int32_t left, int32_t right)
{
    const lcsm_merge *found = lcsm_merges_find(m, left, right);
    return found == NULL ? LCSM_NO_RANK : found->rank;
}

/* No rank is the largest number when it is seen without its sign. */
static bool lower(int32_t a, int32_t b)
{
    return (uint32_t)a < (uint32_t)b;
}

static size_t merge_short(const lcsm_merges *m, int32_t *ids, size_t count)
{
    int32_t ranks[SHORT];
    for (size_t j = 0; j + 1 < count; j++) ranks[j] = rank_of(m, ids[j], ids[j + 1]);
    while (count > 1) {
        size_t best = 0;
        for (size_t j = 1; j + 1 < count; j++)
            if (lower(ranks[j], ranks[best])) best = j;
        if (ranks[best] == LCSM_NO_RANK) break;
        ids[best] = lcsm_merges_find(m, ids[best], ids[best + 1])->id;
        count--;
        memmove(&ids[best + 1], &ids[best + 2], (count - best - 1) * sizeof *ids);
        if (best + 1 < count)
            memmove(&ranks[best], &ranks[best + 1], (count - best - 1) * sizeof *ranks);
        if (best + 1 < count) ranks[best] = rank_of(m, ids[best], ids[best + 1]);
        if (best > 0) ranks[best - 1] = rank_of(m, ids[best - 1], ids[best]);
    }
    return count;
}

/* ---- long words ------------------------------------------------------------------------- */

void lcsm_bpe_room_free(lcsm_bpe_room *room)
{
    free(room->ids);
    free(room->ranks);
    free(room->next);
    free(room->before);
    free(room->heap);
    *room = (lcsm_bpe_room){0};
}

/* Each merge takes a pair away and adds at most two, so 3 n places are enough. */
static lcsm_status reserve(lcsm_bpe_room *room, size_t count, lcsm_error *err)
{
    lcsm_bpe_room next = {0};
    if (count <= room->capacity) return LCSM_OK;
    if (count < UINT32_MAX) {
        next = (lcsm_bpe_room){
            .ids           = malloc(count * sizeof *next.ids),
            .ranks         = malloc(count * sizeof *next.ranks),
            .next          = malloc(count * sizeof *next.next),
            .before        = malloc(count * sizeof *next.before),
            .heap          = malloc(3 * count * sizeof *next.heap),
            .capacity      = count,
            .heap_capacity = 3 * count,
        };
    }
    bool complete = next.ids != NULL && next.ranks != NULL && next.next != NULL
                 && next.before != NULL && next.heap != NULL;
    lcsm_bpe_room_free(complete ? room : &next);
    if (!complete)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a word of %zu bytes", count);
    *room = next;
    return LCSM_OK;
}

static void push(lcsm_bpe_room *r, int32_t rank, uint32_t place)
{
    uint64_t key = (uint64_t)(uint32_t)rank << 32 | place;
    size_t   at  = r->heap_count++;
    assert(at < r->heap_capacity);
    for (; at > 0 && key < r->heap[(at - 1) / 2]; at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    r->heap[at] = key;
}

static uint64_t pop(lcsm_bpe_room *r)
{
    uint64_t top = r->heap[0], key = r->heap[--r->heap_count];
    size_t   at = 0, count = r->heap_count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && r->heap[child + 1] < r->heap[child]) child++;
        if (key <= r->heap[child]) break;
        r->heap[at] = r->heap[child];
    }
    if (count > 0) r->heap[at] = key;
    return top;
}

/* Looks up the pair that begins at a place. */
static void rank_at(const lcsm_merges *m, lcsm_bpe_room *r, uint32_t place, uint32_t end)
{
    uint32_t right  = r->next[place];
    r->ranks[place] = right == end ? LCSM_NO_RANK : rank_of(m, r->ids[place], r->ids[right]);
    if (r->ranks[place] != LCSM_NO_RANK) push(r, r->ranks[place], place);
}

static void merge_at(const lcsm_merges *m, lcsm_bpe_room *r, uint32_t place, uint32_t end)
{
    uint32_t right  = r->next[place];
    r->ids[place]   = lcsm_merges_find(m, r->ids[place], r->ids[right])->id;
    r->ranks[right] = LCSM_NO_RANK; /* nothing begins there any more */
    r->next[place]  = r->next[right];
    if (r->next[place] != end) r->before[r->next[place]] = place;
    rank_at(m, r, place, end);
    if (place > 0) rank_at(m, r, r->before[place], end);
}

static size_t merge_long(const lcsm_merges *m, lcsm_bpe_room *r, int32_t *ids, uint32_t count)
{
    size_t left   = 0;
    r->heap_count = 0;
    memcpy(r->ids, ids, count * sizeof *ids);
    for (uint32_t j = 0; j < count; j++) {
        r->next[j]   = j + 1;
        r->before[j] = j - 1;
    }
    for (uint32_t j = 0; j < count; j++) rank_at(m, r, j, count);
    while (r->heap_count > 0) {
        uint64_t top   = pop(r);
        uint32_t place = (uint32_t)top;
        if (r->ranks[place] == (int32_t)(top >> 32)) merge_at(m, r, place, count);
    }
    for (uint32_t j = 0; j < count; j = r->next[j]) ids[left++] = r->ids[j];
    return left;
}

lcsm_status lcsm_bpe(const lcsm_merges *merges, lcsm_bpe_room *room, int32_t *ids, size_t *count,
                     lcsm_error *err)
{
    if (*count < 2) return LCSM_OK;
    if (*count <= SHORT) {
        *count = merge_short(merges, ids, *count);
        return LCSM_OK;
    }
    lcsm_status st = reserve(room, *count, err);
    if (st == LCSM_OK) *count = merge_long(merges, room, ids, (uint32_t)*count);
    return st;
}
