/* utf8.h - one character of UTF-8 at a time (no overlong forms, no surrogates). */
#ifndef LCSM_TEXT_UTF8_H
#define LCSM_TEXT_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t code;
    unsigned size;    /* 1..4, or 0: no character begins here */
    unsigned bad;     /* without a character: the bytes that one U+FFFD stands for, 1..3 */
    bool     partial; /* the text ends within what may become a character */
} lcsm_utf8_n;

/* The character at the start of size > 0 bytes. */
lcsm_utf8_n lcsm_utf8_next(const unsigned char *p, size_t size);

/* The White_Space of Unicode. */
bool lcsm_utf8_is_space(uint32_t code);

/* Writes a character, returns its 1 to 4 bytes. */
size_t lcsm_utf8_put(char *out, uint32_t code);

#endif
