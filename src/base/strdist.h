/* strdist.h - how many single-letter edits lie between two words, capitals as small letters, and
 * the name that a mistyped one probably means. */
#ifndef LCSM_BASE_STRDIST_H
#define LCSM_BASE_STRDIST_H
#include <stddef.h>

/* Letters beyond this many are not compared. */
enum { LCSM_STRDIST_MAX = 63 };

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
size_t lcsm_strdist(const char *a, const char *b);

/* The entry of names (count of them) that is nearest to name; NULL when none is near enough to be
 * meant. */
const char *lcsm_suggest(const char *name, const char *const *names, size_t count);

#endif
