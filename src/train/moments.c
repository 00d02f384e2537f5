/* moments.c - moments of the optimiser in 16 or 8 bits. */
#include "train/moments.h"

#include <math.h>
#include <string.h>

#define SNAP 1e-4f

enum { BLOCK = LCSM_MOMENTS_BLOCK, BLOCK_BYTES = BLOCK + (int)sizeof(float) };

size_t lcsm_moments_bytes(lcsm_moments type, size_t n)
{
    if (type == LCSM_MOMENTS_F32) return n * sizeof(float);
    if (type == LCSM_MOMENTS_BF16) return n * sizeof(uint16_t);
    return (n + BLOCK - 1) / BLOCK * BLOCK_BYTES;
}

/* 32 bits of chance for a place (SplitMix64). */
static uint32_t chance(uint64_t seed, size_t place)
{
    uint64_t z = seed + (uint64_t)place * 0x9E3779B97F4A7C15u;
    z          = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z          = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* ---- bfloat16 --------------------------------------------------------------------------- */

static void unpack_bf16(const void *packed, size_t first, size_t n, float *to)
{
    for (size_t j = 0; j < n; j++) {
        uint16_t half;
        memcpy(&half, (const char *)packed + (first + j) * sizeof half, sizeof half);
        uint32_t bits = (uint32_t)half << 16;
        memcpy(&to[j], &bits, sizeof bits);
    }
}

static void pack_bf16(void *packed, size_t first, size_t n, const float *from, uint64_t seed)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t bits;
        memcpy(&bits, &from[j], sizeof bits);
        if (isfinite(from[j])) bits += chance(seed, first + j) & 0xFFFF;
        uint16_t half = (uint16_t)(bits >> 16);
        memcpy((char *)packed + (first + j) * sizeof half, &half, sizeof half);
    }
}

/* ---- 8 bits ----------------------------------------------------------------------------- */

/* The magnitude of step q, as a part of the largest. */
static float level(bool second, int q)
{
    float x = (float)q / (second ? 255.0f : 127.0f);
    x *= x;
    return second ? x * x : x;
}

static void unpack_block(bool second, const unsigned char *block, size_t n, float *to)
{
    float s;
    memcpy(&s, block, sizeof s);
    for (size_t j = 0; j < n; j++) {
        int q = block[sizeof s + j];
        if (second) to[j] = s * level(true, q);
        else to[j] = q < 128 ? s * level(false, q) : -s * level(false, q - 128);
    }
}

/* The step of x in [0, 1], up or down by chance. */
static int step_of(bool second, float x, uint32_t random)
{
    int   most = second ? 255 : 127;
    float root = sqrtf(second ? sqrtf(x) : x);
    int   q    = (int)(root * (float)most);
    if (q >= most) return most;
    float low = level(second, q), up = level(second, q + 1), part = (x - low) / (up - low);
    if (part < SNAP) part = 0; /* a step, but for rounding */
    if (part > 1 - SNAP) part = 1;
    if ((float)(random >> 8) * 0x1p-24f < part) q++;
    return second && q == 0 && x > 0 ? 1 : q;
}

static void pack_block(bool second, unsigned char *block, size_t n, const float *from,
                       uint64_t seed, size_t place)
{
    float s = 0;
    for (size_t j = 0; j < n; j++) s = fmaxf(s, fabsf(from[j]));
    memcpy(block, &s, sizeof s);
    for (size_t j = 0; j < n; j++) {
        float x             = s > 0 ? fabsf(from[j]) / s : 0;
        int   q             = step_of(second, x, chance(seed, place + j));
        block[sizeof s + j] = (unsigned char)(from[j] < 0 && q > 0 ? q + 128 : q);
    }
}

/* ---- all types -------------------------------------------------------------------------- */

void lcsm_moments_unpack(lcsm_moments type, bool second, const void *packed, size_t first, size_t n,
                         float *to)
{
    if (type == LCSM_MOMENTS_BF16) unpack_bf16(packed, first, n, to);
    for (size_t j = 0; type == LCSM_MOMENTS_8BIT && j < n; j += BLOCK)
        unpack_block(second, (const unsigned char *)packed + (first + j) / BLOCK * BLOCK_BYTES,
                     n - j < BLOCK ? n - j : BLOCK, to + j);
}

void lcsm_moments_pack(lcsm_moments type, bool second, void *packed, size_t first, size_t n,
                       const float *from, uint64_t seed)
{
    if (type == LCSM_MOMENTS_BF16) pack_bf16(packed, first, n, from, seed);
    for (size_t j = 0; type == LCSM_MOMENTS_8BIT && j < n; j += BLOCK)
        pack_block(second, (unsigned char *)packed + (first + j) / BLOCK * BLOCK_BYTES,
                   n - j < BLOCK ? n - j : BLOCK, from + j, seed, first + j);
}
