/* sha256.c - SHA-256 in the words of FIPS 180-4. */
#include "format/sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The fractions of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return (x >> n) | (x << (32 - n));
}

static void block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (size_t t = 0; t < 16; t++, p += 4)
        w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (size_t t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t]        = s1 + w[t - 7] + s0 + w[t - 16];
    }
    memcpy(v, h, sizeof v);
    for (size_t t = 0; t < 64; t++) {
        uint32_t s1     = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1     = v[7] + s1 + choose + K[t] + w[t];
        uint32_t s0     = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        uint32_t most   = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + most;
    }
    for (size_t j = 0; j < 8; j++) h[j] += v[j];
}

lcsm_sha256_sum lcsm_sha256_begin(void)
{
    return (lcsm_sha256_sum){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void lcsm_sha256_add(lcsm_sha256_sum *s, const void *data, size_t size)
{
    const unsigned char *p    = data;
    size_t               kept = (size_t)(s->size % 64), room = 64 - kept;
    s->size += size;
    if (size < room) {
        if (size > 0) memcpy(s->rest + kept, p, size);
        return;
    }
    memcpy(s->rest + kept, p, room);
    block(s->h, s->rest);
    for (p += room, size -= room; size >= 64; p += 64, size -= 64) block(s->h, p);
    if (size > 0) memcpy(s->rest, p, size);
}

void lcsm_sha256_end(char text[LCSM_SHA256_TEXT], const lcsm_sha256_sum *sum)
{
    lcsm_sha256_sum s         = *sum;
    unsigned char   tail[128] = {0};
    size_t          left = (size_t)(s.size % 64), tail_size = left < 56 ? 64 : 128;
    uint64_t        bits = s.size * 8;
    if (left > 0) memcpy(tail, s.rest, left);
    tail[left] = 0x80;
    for (size_t j = 0; j < 8; j++) tail[tail_size - 1 - j] = (unsigned char)(bits >> (8 * j));
    for (size_t at = 0; at < tail_size; at += 64) block(s.h, tail + at);
    for (size_t j = 0; j < 8; j++) (void)snprintf(text + 8 * j, 9, "%08x", (unsigned)s.h[j]);
}

void lcsm_sha256(char text[LCSM_SHA256_TEXT], const void *data, size_t size)
{
    lcsm_sha256_sum s = lcsm_sha256_begin();
    lcsm_sha256_add(&s, data, size);
    lcsm_sha256_end(text, &s);
}
