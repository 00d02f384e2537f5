/* strbuf.c - a string that grows by doubling. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* Makes room for `more` letters and the final zero. */
static bool grow(lcsm_strbuf *s, size_t more)
{
    size_t need;
    if (s->failed || !lcsm_size_add(s->size, more, &need) || !lcsm_size_add(need, 1, &need))
        goto fail;
    if (need <= s->capacity) return true;

    size_t capacity = s->capacity > 0 ? s->capacity : 64;
    while (capacity < need)
        if (!lcsm_size_mul(capacity, 2, &capacity)) goto fail;
    char *text = realloc(s->text, capacity);
    if (text == NULL) goto fail;
    s->text     = text;
    s->capacity = capacity;
    return true;
fail:
    s->failed = true;
    return false;
}

void lcsm_strbuf_bytes(lcsm_strbuf *s, const char *bytes, size_t size)
{
    if (!grow(s, size)) return;
    if (size > 0) memcpy(s->text + s->size, bytes, size);
    s->size += size;
    s->text[s->size] = '\0';
}

void lcsm_strbuf_add(lcsm_strbuf *s, const char *text)
{
    lcsm_strbuf_bytes(s, text, strlen(text));
}

void lcsm_strbuf_printf(lcsm_strbuf *s, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    if (length < 0) s->failed = true;
    if (length >= 0 && grow(s, (size_t)length)) {
        (void)vsnprintf(s->text + s->size, (size_t)length + 1, fmt, again);
        s->size += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

const char *lcsm_strbuf_text(const lcsm_strbuf *s)
{
    return s->text == NULL || s->failed ? "" : s->text;
}

void lcsm_strbuf_free(lcsm_strbuf *s)
{
    free(s->text);
    *s = (lcsm_strbuf){0};
}
