/* base64.c - bytes as text (RFC 4648, with padding). */
#include "serve/base64.h"

void lcsm_base64_add(lcsm_strbuf *out, const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b     = bytes;
    for (size_t j = 0; j < size; j += 3) {
        unsigned three  = (unsigned)b[j] << 16;
        char     four[] = "====";
        if (j + 1 < size) three |= (unsigned)b[j + 1] << 8;
        if (j + 2 < size) three |= (unsigned)b[j + 2];
        for (size_t k = 0; k < 4 && j + k <= size; k++)
            four[k] = digits[three >> (18 - 6 * k) & 63];
        lcsm_strbuf_bytes(out, four, 4);
    }
}
