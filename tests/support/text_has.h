/* text_has.h - what stands in a text. */
#ifndef LCSM_TEXT_HAS_H
#define LCSM_TEXT_HAS_H
#include <string.h>

#include "test.h"

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) fail_msg("no \"%s\" in the text", part);
}

static inline size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        n++;
    }
    return n;
}

#endif
