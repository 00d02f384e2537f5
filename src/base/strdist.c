/* strdist.c - the distance between two words, and the nearest of several. */
#include "base/strdist.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* d[i][j] is the distance between the first i letters of a and the first j of b; only the
 * last three rows are kept. */
size_t lcsm_strdist(const char *a, const char *b)
{
    size_t na = strnlen(a, LCSM_STRDIST_MAX), nb = strnlen(b, LCSM_STRDIST_MAX);
    size_t d[3][LCSM_STRDIST_MAX + 1];

    for (size_t j = 0; j <= nb; j++) d[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = d[i % 3], *one = d[(i + 2) % 3], *two = d[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = min2(min2(one[j], now[j - 1]) + 1, one[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = min2(now[j], two[j - 2] + 1);
        }
    }
    return d[na % 3][nb];
}

const char *lcsm_suggest(const char *name, const char *const *names, size_t count)
{
    size_t      near = strlen(name) / 3 + 2; /* less than this: one slip in three letters */
    const char *best = NULL;
    for (size_t j = 0; j < count; j++) {
        size_t distance = lcsm_strdist(name, names[j]);
        if (distance >= near || distance >= strlen(names[j])) continue;
        best = names[j];
        near = distance;
    }
    return best;
}
