/* arena.c - the bump allocator; arena.h says how it is used. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/sanitizer.h"
#include "base/size.h"

/* The room behind each piece that nobody may touch. */
#define GAP (LCSM_ASAN ? LCSM_ALIGN : (size_t)0)

static void prepare(unsigned char *p, size_t bytes)
{
    LCSM_UNPOISON(p, bytes);
#ifndef NDEBUG
    memset(p, 0xff, bytes);
#else
    (void)p;
    (void)bytes;
#endif
}

/* The end of a piece of the given size that begins at a->used, the gap included. */
static bool piece_end(const lcsm_arena *a, size_t bytes, size_t *end)
{
    return lcsm_round_up(bytes, LCSM_ALIGN, end) && lcsm_size_add(*end, GAP, end)
        && lcsm_size_add(a->used, *end, end) && (a->base == NULL || *end <= a->capacity);
}

void *lcsm_arena_take(lcsm_arena *a, size_t count, size_t size)
{
    size_t bytes, end;
    if (a->failed || !lcsm_size_mul(count, size, &bytes) || !piece_end(a, bytes, &end)) {
        a->failed = true;
        return NULL;
    }
    unsigned char *p = a->base == NULL ? NULL : a->base + a->used;
    a->used          = end;
    if (p != NULL) prepare(p, bytes);
    return p;
}

static void *take_matrix(lcsm_arena *a, size_t rows, size_t cols, size_t size)
{
    size_t count;
    if (lcsm_size_mul(rows, cols, &count)) return lcsm_arena_take(a, count, size);
    a->failed = true;
    return NULL;
}

float *lcsm_arena_f32(lcsm_arena *a, size_t rows, size_t cols)
{
    return take_matrix(a, rows, cols, sizeof(float));
}

double *lcsm_arena_f64(lcsm_arena *a, size_t rows, size_t cols)
{
    return take_matrix(a, rows, cols, sizeof(double));
}

lcsm_status lcsm_arena_reserve(lcsm_arena *a, lcsm_error *err)
{
    assert(a->base == NULL);
    if (a->failed) return lcsm_fail(err, LCSM_ERR_MEMORY, "a size is too large to address");

    size_t         bytes = a->used > 0 ? a->used : LCSM_ALIGN;
    unsigned char *base  = lcsm_block_alloc(bytes);
    if (base == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for %zu bytes", bytes);
    LCSM_POISON(base, bytes);
    *a = (lcsm_arena){.base = base, .capacity = bytes, .owned = true};
    return LCSM_OK;
}

lcsm_arena lcsm_arena_over(void *base, size_t capacity)
{
    assert(base != NULL && (uintptr_t)base % LCSM_ALIGN == 0);
    LCSM_POISON(base, capacity);
    return (lcsm_arena){.base = base, .capacity = capacity};
}

void lcsm_arena_rewind(lcsm_arena *a, size_t used)
{
    assert(used <= a->used);
    if (a->base != NULL) LCSM_POISON(a->base + used, a->used - used);
    a->used = used;
}

void lcsm_arena_free(lcsm_arena *a)
{
    if (a->base != NULL) LCSM_UNPOISON(a->base, a->capacity);
    if (a->owned) free(a->base);
    *a = (lcsm_arena){0};
}
