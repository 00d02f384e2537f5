/* strdist.h - how many single-letter edits lie between two words, capitals as small letters. */
#ifndef LCSM_BASE_STRDIST_H
#define LCSM_BASE_STRDIST_H
#include <stddef.h>

/* Letters beyond this many are not compared. */
enum { LCSM_STRDIST_MAX = 63 };

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
size_t lcsm_strdist(const char *a, const char *b);

#endif
