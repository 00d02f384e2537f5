/*
 * arena.h - measure, reserve once, hand out.
 *
 * A bump allocator. While base is NULL it only measures, so one layout function both
 * sizes a workspace and carves it, and the two cannot drift apart:
 *
 *     lcsm_arena a = {0};
 *     layout(&a, ws);                            measures: a.used is the need
 *     LCSM_TRY(lcsm_arena_reserve(&a, err));     one allocation of a.used bytes
 *     layout(&a, ws);                            the same calls, now with memory
 *
 * A piece is aligned to LCSM_ALIGN. In debug builds fresh memory has all bits set, which is
 * NaN in both precisions, so a read before a write shows. Under AddressSanitizer what lies
 * between pieces is poisoned.
 */
#ifndef LCSM_BASE_ARENA_H
#define LCSM_BASE_ARENA_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct {
    unsigned char *base;
    size_t         used, capacity;
    bool           failed; /* sticky: ask once, after the layout */
    bool           owned;  /* base came from lcsm_arena_reserve */
} lcsm_arena;

/* count elements of size bytes. NULL while measuring, and when the piece does not fit. */
void   *lcsm_arena_take(lcsm_arena *a, size_t count, size_t size);
float  *lcsm_arena_f32(lcsm_arena *a, size_t rows, size_t cols);
double *lcsm_arena_f64(lcsm_arena *a, size_t rows, size_t cols);

/* Turns a finished measurement into memory of that size. A measurement that overflowed is
 * LCSM_ERR_MEMORY too. */
lcsm_status lcsm_arena_reserve(lcsm_arena *a, lcsm_error *err);

/* An arena over memory of the caller, aligned to LCSM_ALIGN; give it to _free when done. */
lcsm_arena lcsm_arena_over(void *base, size_t capacity);

/* Takes back everything handed out since `used` was the given value. */
void lcsm_arena_rewind(lcsm_arena *a, size_t used);

/* Releases owned memory, unpoisons borrowed memory, leaves *a empty. */
void lcsm_arena_free(lcsm_arena *a);

#endif
