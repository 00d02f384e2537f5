/*
 * lcsm/suggest.h - the known name that a mistyped one probably means.
 *
 * Threads    Safe from any thread; allocates nothing.
 */
#ifndef LCSM_SUGGEST_H
#define LCSM_SUGGEST_H
#include <stddef.h>

#include <lcsm/export.h>

LCSM_BEGIN_DECLS

/* The entry of names (count of them) nearest to name in single-letter edits, swaps of
 * neighbours included, capitals as small letters; NULL when none is near enough to be meant. */
LCSM_API const char *lcsm_suggest(const char *name, const char *const *names, size_t count);

LCSM_END_DECLS
#endif
