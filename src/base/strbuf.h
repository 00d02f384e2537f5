/* strbuf.h - a string that grows. A failure is sticky: append freely, ask once. */
#ifndef LCSM_BASE_STRBUF_H
#define LCSM_BASE_STRBUF_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* {0} is the empty string. text ends in a zero byte, or is NULL before the first append. */
typedef struct {
    char  *text;
    size_t size, capacity;
    bool   failed;
} lcsm_strbuf;

void lcsm_strbuf_bytes(lcsm_strbuf *s, const char *bytes, size_t size);
void lcsm_strbuf_add(lcsm_strbuf *s, const char *text);
void lcsm_strbuf_printf(lcsm_strbuf *s, const char *fmt, ...) LCSM_PRINTF(2, 3);

/* The text so far, never NULL; "" after a failure. */
const char *lcsm_strbuf_text(const lcsm_strbuf *s);

void lcsm_strbuf_free(lcsm_strbuf *s);

#endif
