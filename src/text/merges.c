/* merges.c - open addressing, at most half full. */
#include "text/merges.h"

#include <stdlib.h>
#include <string.h>

lcsm_status lcsm_merges_create(lcsm_merges *m, size_t count, lcsm_error *err)
{
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    *m = (lcsm_merges){.slots = malloc(slots * sizeof *m->slots), .mask = slots - 1};
    if (m->slots == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu merges", count);
    memset(m->slots, 0xFF, slots * sizeof *m->slots);
    return LCSM_OK;
}

void lcsm_merges_free(lcsm_merges *m)
{
    free(m->slots);
    *m = (lcsm_merges){0};
}

void lcsm_merges_put(lcsm_merges *m, int32_t left, int32_t right, int32_t rank, int32_t id)
{
    uint64_t pair = lcsm_pair(left, right), at = lcsm_pair_slot(pair, m->mask);
    while (m->slots[at].pair != UINT64_MAX && m->slots[at].pair != pair) at = (at + 1) & m->mask;
    m->count += m->slots[at].pair != pair;
    m->slots[at] = (lcsm_merge){.pair = pair, .rank = rank, .id = id};
}
