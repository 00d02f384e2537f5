/*
 * sized.h - public structs that begin with their size, so that they can grow.
 *
 * A caller writes {.size = sizeof options}. The library then knows which members the caller's
 * header has: those that are missing count as zero, and those that this library does not know yet
 * must be zero.
 */
#ifndef LCSM_BASE_SIZED_H
#define LCSM_BASE_SIZED_H
#include <stddef.h>

#include "base/error.h"

/* Copies a struct of options of a caller (NULL: all zero) to *own, of `size` bytes. */
lcsm_status lcsm_sized_take(void *own, size_t size, const void *given, const char *name,
                            lcsm_error *err);

/* The same for a variable. */
#define LCSM_TAKE(own, given, err) lcsm_sized_take((own), sizeof *(own), (given), #given, (err))

/* Copies *own, of `size` bytes, to a result of a caller as far as the caller knows it; what this
 * library does not know becomes zero. */
void lcsm_sized_fill(void *result, const void *own, size_t size);

/* Refuses a result whose size is not set. */
lcsm_status lcsm_sized_check(const void *result, const char *name, lcsm_error *err);

#endif
