/* pair_table.c - a hash table of pairs, and a heap whose counts are put right when they are seen.
 */
#include "text/pair_table.h"

#include <stdlib.h>
#include <string.h>

#include "text/merges.h"

enum { FIRST = 1 << 10 };

void lcsm_pair_table_free(lcsm_pair_table *t)
{
    for (size_t j = 0; j < t->info_count; j++) free(t->infos[j].words);
    free(t->infos);
    free(t->slots);
    free(t->heap);
    free(t->gained);
    *t = (lcsm_pair_table){0};
}

/* The block, or a larger one, with room for one more than `count` things; NULL: no memory, and the
 * block is as it was. */
static void *grown(void *block, size_t count, size_t *room, size_t unit)
{
    if (count < *room) return block;
    size_t more = 2 * *room + 16;
    void  *next = realloc(block, more * unit);
    if (next != NULL) *room = more;
    return next;
}

/* ---- the hash table --------------------------------------------------------------------- */

static size_t slot_of(const lcsm_pair_table *t, uint64_t pair)
{
    size_t at = (size_t)lcsm_pair_slot(pair, t->mask);
    while (t->slots[at] != 0 && t->infos[t->slots[at] - 1].pair != pair) at = (at + 1) & t->mask;
    return at;
}

static bool rehash(lcsm_pair_table *t)
{
    size_t    slots = t->slots == NULL ? FIRST : 2 * (t->mask + 1);
    uint32_t *next  = calloc(slots, sizeof *next);
    if (next == NULL) return false;
    free(t->slots);
    t->slots = next;
    t->mask  = slots - 1;
    for (size_t j = 0; j < t->info_count; j++)
        t->slots[slot_of(t, t->infos[j].pair)] = (uint32_t)j + 1;
    return true;
}

static lcsm_pair_info *info_of(lcsm_pair_table *t, uint64_t pair)
{
    if ((t->slots == NULL || 2 * t->info_count > t->mask) && !rehash(t)) return NULL;
    size_t slot = slot_of(t, pair);
    if (t->slots[slot] != 0) return &t->infos[t->slots[slot] - 1];
    void *next = t->info_count >= UINT32_MAX - 1
                   ? NULL
                   : grown(t->infos, t->info_count, &t->info_room, sizeof *t->infos);
    if (next == NULL) return NULL;
    t->infos                = next;
    t->infos[t->info_count] = (lcsm_pair_info){.pair = pair};
    t->slots[slot]          = (uint32_t)++t->info_count;
    return &t->infos[t->info_count - 1];
}

static bool note_word(lcsm_pair_info *info, uint32_t word)
{
    if (info->word_count > 0 && info->words[info->word_count - 1] == word) return true;
    if (info->word_count == info->word_room) {
        uint32_t  more = info->word_room < 4 ? 4 : 2 * info->word_room;
        uint32_t *next = realloc(info->words, more * sizeof *next);
        if (next == NULL) return false;
        info->words     = next;
        info->word_room = more;
    }
    info->words[info->word_count++] = word;
    return true;
}

bool lcsm_pair_table_change(lcsm_pair_table *t, int32_t left, int32_t right, int64_t change,
                            uint32_t word)
{
    lcsm_pair_info *info = info_of(t, lcsm_pair(left, right));
    if (info == NULL) return false;
    info->count += change;
    if (change < 0) return true;
    if (!note_word(info, word)) return false;
    if (info->queued) return true;
    void *next = grown(t->gained, t->gained_count, &t->gained_room, sizeof *t->gained);
    if (next == NULL) return false;
    t->gained                    = next;
    t->gained[t->gained_count++] = (uint32_t)(info - t->infos);
    info->queued                 = true;
    return true;
}

/* ---- the heap --------------------------------------------------------------------------- */

static bool before(lcsm_pair_rank a, lcsm_pair_rank b)
{
    return a.count != b.count ? a.count > b.count : a.pair < b.pair;
}

static bool push(lcsm_pair_table *t, lcsm_pair_rank rank)
{
    void *next = grown(t->heap, t->heap_count, &t->heap_room, sizeof *t->heap);
    if (next == NULL) return false;
    t->heap   = next;
    size_t at = t->heap_count++;
    for (; at > 0 && before(rank, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    t->heap[at] = rank;
    return true;
}

/* Puts a rank in the place of the first one, and where it belongs. */
static void sift(lcsm_pair_table *t, lcsm_pair_rank rank)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < t->heap_count; at = child) {
        if (child + 1 < t->heap_count && before(t->heap[child + 1], t->heap[child])) child++;
        if (!before(t->heap[child], rank)) break;
        t->heap[at] = t->heap[child];
    }
    t->heap[at] = rank;
}

bool lcsm_pair_table_queue(lcsm_pair_table *t)
{
    for (size_t j = 0; j < t->gained_count; j++) {
        lcsm_pair_info *info = &t->infos[t->gained[j]];
        info->queued         = false;
        if (info->count > 0 && !push(t, (lcsm_pair_rank){info->count, info->pair})) return false;
    }
    t->gained_count = 0;
    return true;
}

const lcsm_pair_info *lcsm_pair_table_pop(lcsm_pair_table *t)
{
    while (t->heap_count > 0) {
        lcsm_pair_rank        top  = t->heap[0];
        const lcsm_pair_info *info = &t->infos[t->slots[slot_of(t, top.pair)] - 1];
        if (info->count != top.count) { /* it has changed since it was queued */
            sift(t, (lcsm_pair_rank){info->count, top.pair});
            continue;
        }
        lcsm_pair_rank last = t->heap[--t->heap_count];
        if (t->heap_count > 0) sift(t, last);
        return info;
    }
    return NULL;
}
