/* utf8_stream.c - whole characters out of pieces of bytes. */
#include <lcsm/tokenizer.h>
#include <string.h>

#include "text/utf8.h"

static size_t put(char *out, const void *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return size;
}

/* Looks at what is held: sends a whole character, U+FFFD for bytes that cannot become one, or
 * nothing while it may still grow. */
static size_t settle(lcsm_utf8_stream *s, char *out)
{
    size_t size = 0;
    while (s->count > 0) {
        size_t      good = 0;
        lcsm_utf8_n n    = lcsm_utf8_next(s->held, s->count);
        if (n.partial) break;
        if (n.size > 0) size += put(out + size, s->held, good = n.size);
        else size += put(out + size, "\xEF\xBF\xBD", 3), good = n.bad;
        s->count -= good;
        memmove(s->held, s->held + good, s->count);
    }
    return size;
}

size_t lcsm_utf8_push(lcsm_utf8_stream *s, const char *bytes, size_t size, char *out)
{
    size_t written = 0;
    for (size_t j = 0; j < size; j++) {
        s->held[s->count++] = (unsigned char)bytes[j];
        written += settle(s, out + written);
    }
    return written;
}

size_t lcsm_utf8_end(lcsm_utf8_stream *s, char *out)
{
    size_t size = s->count > 0 ? put(out, "\xEF\xBF\xBD", 3) : 0;
    s->count    = 0;
    return size;
}
