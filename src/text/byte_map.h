/*
 * byte_map.h - how tokens are written in tokenizer.json: one printable character for each byte.
 *
 * Bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are written as the character of the same number, the
 * other 68, in their order, as U+0100, U+0101 and so on: a space is U+0120.
 */
#ifndef LCSM_TEXT_BYTE_MAP_H
#define LCSM_TEXT_BYTE_MAP_H
#include <stdint.h>

#include "base/strbuf.h"

/* The character of a byte. */
uint32_t lcsm_byte_map_code(unsigned byte);

/* Appends the characters of the bytes. */
void lcsm_byte_map_write(lcsm_strbuf *out, const char *bytes, size_t size);

/* The bytes of a token as it is written, into out, which has room for as many as the text has, and
 * how many they are. A text with any other character stands for itself; then *mapped is false. */
size_t lcsm_byte_map_read(char *out, const char *text, size_t size, bool *mapped);

#endif
