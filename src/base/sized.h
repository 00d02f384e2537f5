/*
 * sized.h - public structs that begin with their size, so that they can grow.
 *
 * A caller writes {.size = sizeof options}. The library then knows which members the caller's
 * header has: those that are missing count as zero, and those that this library does not know yet
 * must be zero. A size of 0, or one below that of the first version, is refused.
 *
 * A new member goes behind all others and begins at the old sizeof or later: in padding of the old
 * struct a caller may have left anything.
 */
#ifndef LCSM_BASE_SIZED_H
#define LCSM_BASE_SIZED_H
#include <stddef.h>

#include "base/error.h"

/* Copies a struct of a caller (NULL: all zero) to *own, of `size` bytes. `first` is how many the
 * first version had, `type` its name in messages. */
lcsm_status lcsm_sized_take(void *own, size_t size, size_t first, const void *given,
                            const char *type, lcsm_error *err);

/* Refuses a result whose size is not set. */
lcsm_status lcsm_sized_check(const void *result, size_t first, const char *type, lcsm_error *err);

/* Copies *own, of `size` bytes, to a result of a caller as far as the caller knows it; what this
 * library does not know becomes zero. Without a size nothing is written. */
void lcsm_sized_fill(void *result, const void *own, size_t size);

/* The same with a type; `last` is the last member of its first version and stays that. */
#define LCSM_TAKE(type, last, own, given, err)                                                     \
    lcsm_sized_take((own), sizeof(type), offsetof(type, last) + sizeof((own)->last), (given),      \
                    #type, (err))
#define LCSM_SIZED(type, last, result, err)                                                        \
    lcsm_sized_check((result), offsetof(type, last) + sizeof((result)->last), #type, (err))

#endif
