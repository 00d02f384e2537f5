/* utf8.c - characters of UTF-8. */
#include "text/utf8.h"

/* By the first byte: length, its bits, and the range of the second byte. */
static unsigned lead(unsigned char c, uint32_t *bits, unsigned char *low, unsigned char *high)
{
    *low  = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (c >= 0xC2 && c <= 0xDF) return *bits = c & 0x1Fu, 2;
    if (c >= 0xE0 && c <= 0xEF) return *bits = c & 0x0Fu, 3;
    if (c >= 0xF0 && c <= 0xF4) return *bits = c & 0x07u, 4;
    return 0;
}

lcsm_utf8_n lcsm_utf8_next(const unsigned char *p, size_t size)
{
    unsigned char low, high;
    uint32_t      code = 0;
    if (p[0] < 0x80) return (lcsm_utf8_n){.code = p[0], .size = 1};
    unsigned length = lead(p[0], &code, &low, &high);
    if (length == 0) return (lcsm_utf8_n){.bad = 1};
    for (unsigned j = 1; j < length; j++) {
        if (j == size) return (lcsm_utf8_n){.bad = j, .partial = true};
        if (p[j] < low || p[j] > high) return (lcsm_utf8_n){.bad = j};
        code = code << 6 | (p[j] & 0x3Fu);
        low  = 0x80;
        high = 0xBF;
    }
    return (lcsm_utf8_n){.code = code, .size = length};
}

bool lcsm_utf8_is_space(uint32_t code)
{
    if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A)
        || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

size_t lcsm_utf8_put(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t j = size - 1; j > 0; j--, code >>= 6) out[j] = (char)(0x80 | (code & 0x3F));
    static const unsigned MARKS[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0]                        = (char)(MARKS[size] | code);
    return size;
}
