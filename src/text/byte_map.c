/* byte_map.c - the characters of bytes. */
#include "text/byte_map.h"

#include <string.h>

#include "text/utf8.h"

static bool shows_itself(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

uint32_t lcsm_byte_map_code(unsigned byte)
{
    uint32_t code = 0x100;
    if (shows_itself(byte)) return byte;
    for (unsigned other = 0; other < byte; other++) code += !shows_itself(other);
    return code;
}

/* -1: the character is not in the map. */
static int byte_of(uint32_t code)
{
    uint32_t other = 0x100;
    if (code < 0x100) return shows_itself(code) ? (int)code : -1;
    for (unsigned byte = 0; byte < 0x100; byte++)
        if (!shows_itself(byte) && other++ == code) return (int)byte;
    return -1;
}

void lcsm_byte_map_write(lcsm_strbuf *out, const char *bytes, size_t size)
{
    char letter[4];
    for (size_t j = 0; j < size; j++)
        lcsm_strbuf_bytes(out, letter,
                          lcsm_utf8_put(letter, lcsm_byte_map_code((unsigned char)bytes[j])));
}

size_t lcsm_byte_map_read(char *out, const char *text, size_t size, bool *mapped)
{
    size_t written = 0;
    *mapped        = true;
    for (size_t at = 0; at < size;) {
        lcsm_utf8_n n    = lcsm_utf8_next((const unsigned char *)text + at, size - at);
        int         byte = n.size == 0 ? -1 : byte_of(n.code);
        if (byte < 0) {
            memcpy(out, text, size);
            *mapped = false;
            return size;
        }
        out[written++] = (char)byte;
        at += n.size;
    }
    return written;
}
