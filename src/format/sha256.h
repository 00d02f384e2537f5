/* sha256.h - SHA-256 (FIPS 180-4), for names of contents; checksums of large files are xxHash. */
#ifndef LCSM_FORMAT_SHA256_H
#define LCSM_FORMAT_SHA256_H
#include <stddef.h>

enum { LCSM_SHA256_TEXT = 65 };

/* Writes 64 lower-case hexadecimal digits and a zero. */
void lcsm_sha256(char text[LCSM_SHA256_TEXT], const void *data, size_t size);

#endif
