/*
 * task/draw.h - the random numbers of one example, in the order in which they are asked for.
 *
 * They are a function of the seed, the purpose, the number of the example and of how many were
 * drawn before, so an example can be made by itself.
 */
#ifndef LCSM_TASK_DRAW_H
#define LCSM_TASK_DRAW_H
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

typedef struct {
    uint64_t seed, index;
    uint32_t purpose, draws;
} lcsm_draw;

static inline lcsm_u32x4 lcsm_draw_next(lcsm_draw *d)
{
    lcsm_u32x4 counter = {{(uint32_t)d->index, (uint32_t)(d->index >> 32), d->purpose, ++d->draws}};
    return lcsm_philox(counter, (uint32_t)d->seed, (uint32_t)(d->seed >> 32));
}

/* first .. first + count - 1; no number is more likely than another by more than 2^-32 count. */
static inline int32_t lcsm_draw_from(lcsm_draw *d, int64_t first, int64_t count)
{
    uint64_t word = lcsm_draw_next(d).v[0];
    return (int32_t)(first + (int64_t)((word * (uint64_t)count) >> 32));
}

/* 0 .. count - 1. */
static inline int32_t lcsm_draw_below(lcsm_draw *d, int64_t count)
{
    return lcsm_draw_from(d, 0, count);
}

/* The same, but none of the n numbers list[0], list[stride], ... */
static inline int32_t lcsm_draw_new(lcsm_draw *d, int64_t first, int64_t count, const int32_t *list,
                                    int64_t n, int64_t stride)
{
    for (;;) {
        int32_t drawn = lcsm_draw_from(d, first, count);
        int64_t j     = 0;
        while (j < n && list[stride * j] != drawn) j++;
        if (j == n) return drawn;
    }
}

/* True with this chance. */
static inline bool lcsm_draw_chance(lcsm_draw *d, double chance)
{
    return (double)lcsm_draw_next(d).v[0] * 0x1p-32 < chance;
}

#endif
