/* size.h - arithmetic on sizes that says when it overflows instead of wrapping. */
#ifndef LCSM_BASE_SIZE_H
#define LCSM_BASE_SIZE_H
#include <stdbool.h>
#include <stddef.h>

/* What every block of numbers is aligned to: a cache line, and the widest vector. */
#define LCSM_ALIGN ((size_t)64)

static inline bool lcsm_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool lcsm_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* The smallest multiple of align, a power of two, that is not below n. */
static inline bool lcsm_round_up(size_t n, size_t align, size_t *out)
{
    size_t sum;
    if (!lcsm_size_add(n, align - 1, &sum)) return false;
    *out = sum & ~(align - 1);
    return true;
}

#endif
