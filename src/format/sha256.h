/* sha256.h - SHA-256 (FIPS 180-4), for names of contents; checksums of large files are xxHash. */
#ifndef LCSM_FORMAT_SHA256_H
#define LCSM_FORMAT_SHA256_H
#include <stddef.h>
#include <stdint.h>

enum { LCSM_SHA256_TEXT = 65 };

/* Piece by piece. data may be NULL if size is 0. */
typedef struct {
    uint32_t      h[8];
    uint64_t      size;
    unsigned char rest[64];
} lcsm_sha256_sum;

lcsm_sha256_sum lcsm_sha256_begin(void);
void            lcsm_sha256_add(lcsm_sha256_sum *s, const void *data, size_t size);
void            lcsm_sha256_end(char text[LCSM_SHA256_TEXT], const lcsm_sha256_sum *s);

/* Writes 64 lower-case hexadecimal digits and a zero. */
void lcsm_sha256(char text[LCSM_SHA256_TEXT], const void *data, size_t size);

#endif
