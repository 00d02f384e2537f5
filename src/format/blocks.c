/* blocks.c - the tensor types of GGUF files. */
#include "format/blocks.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* ---- half precision --------------------------------------------------------------------- */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float lcsm_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31;
    uint32_t fraction = half & 1023;
    if (exponent == 31) return from_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent > 0) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float x = ldexpf((float)fraction, -24);
    return sign != 0 ? -x : x;
}

uint16_t lcsm_half_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return sign | 0x7E00;
    if (bits >= 0x47800000u) return sign | 0x7C00; /* 65536 and above */
    if (bits >= 0x38800000u) {                     /* normal: a carry moves the exponent */
        uint32_t odd = bits >> 13 & 1;
        return (uint16_t)(sign | ((bits - 0x38000000u + 0xFFF + odd) >> 13));
    }
    return (uint16_t)(sign | (uint16_t)lrintf(ldexpf(from_bits(bits), 24)));
}

static float half_at(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return lcsm_half_to_float(half);
}

/* ---- one number a block ----------------------------------------------------------------- */

static void decode_f32(float *out, const unsigned char *p)
{
    memcpy(out, p, sizeof *out);
}

static void decode_f16(float *out, const unsigned char *p)
{
    *out = half_at(p);
}

static void decode_bf16(float *out, const unsigned char *p)
{
    *out = from_bits((uint32_t)p[0] << 16 | (uint32_t)p[1] << 24);
}

/* ---- 32 numbers: a scale, and a lowest value or none ------------------------------------ */

static void decode_q8_0(float *out, const unsigned char *p)
{
    float d = half_at(p);
    for (int j = 0; j < 32; j++) out[j] = d * (float)(int8_t)p[2 + j];
}

/* Number j of the 32 in 16 bytes: low halves first. */
static int nibble(const unsigned char *q, int j)
{
    return j < 16 ? q[j] & 15 : q[j - 16] >> 4;
}

static int fifth_bit(const unsigned char *h, int j)
{
    return (h[j / 8] >> j % 8 & 1) << 4;
}

static void decode_q4_0(float *out, const unsigned char *p)
{
    float d = half_at(p);
    for (int j = 0; j < 32; j++) out[j] = d * (float)(nibble(p + 2, j) - 8);
}

static void decode_q4_1(float *out, const unsigned char *p)
{
    float d = half_at(p), low = half_at(p + 2);
    for (int j = 0; j < 32; j++) out[j] = d * (float)nibble(p + 4, j) + low;
}

static void decode_q5_0(float *out, const unsigned char *p)
{
    float d = half_at(p);
    for (int j = 0; j < 32; j++)
        out[j] = d * (float)((nibble(p + 6, j) | fifth_bit(p + 2, j)) - 16);
}

static void decode_q5_1(float *out, const unsigned char *p)
{
    float d = half_at(p), low = half_at(p + 2);
    for (int j = 0; j < 32; j++) out[j] = d * (float)(nibble(p + 8, j) | fifth_bit(p + 4, j)) + low;
}

/* ---- 256 numbers in sub-blocks ---------------------------------------------------------- */

/* Scale and minimum of sub-block j, 6 bits each, in 12 bytes. */
static void scales_of(const unsigned char *s, int j, int *scale, int *low)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *low   = s[j + 4] & 63;
        return;
    }
    *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    *low   = s[j + 4] >> 4 | (s[j] >> 6) << 4;
}

/* h: the fifth bits, or NULL. */
static void decode_k(float *out, const unsigned char *p, const unsigned char *h,
                     const unsigned char *q)
{
    float d = half_at(p), least = half_at(p + 2);
    for (int j = 0; j < 8; j++) {
        int scale, low;
        scales_of(p + 4, j, &scale, &low);
        float by = d * (float)scale, from = least * (float)low;
        for (int l = 0; l < 32; l++) {
            int v = q[32 * (j / 2) + l] >> 4 * (j % 2) & 15;
            if (h != NULL) v += (h[l] >> j & 1) << 4;
            out[32 * j + l] = by * (float)v - from;
        }
    }
}

static void decode_q4_k(float *out, const unsigned char *p)
{
    decode_k(out, p, NULL, p + 16);
}

static void decode_q5_k(float *out, const unsigned char *p)
{
    decode_k(out, p, p + 16, p + 48);
}

static void decode_q6_k(float *out, const unsigned char *p)
{
    const unsigned char *ql = p, *qh = p + 128, *sc = p + 192;
    float                d = half_at(p + 208);
    for (int j = 0; j < 256; j++) {
        int a = j / 128, g = j / 32 % 4, l = j % 32;
        int v = (ql[64 * a + 32 * (g % 2) + l] >> 4 * (g / 2) & 15)
              | (qh[32 * a + l] >> 2 * g & 3) << 4;
        out[j] = d * (float)(int8_t)sc[8 * a + 2 * g + l / 16] * (float)(v - 32);
    }
}

/* ---- the table -------------------------------------------------------------------------- */

static const lcsm_block_type TYPES[] = {
    {0, "F32", 1, 4, decode_f32},        {1, "F16", 1, 2, decode_f16},
    {30, "BF16", 1, 2, decode_bf16},     {8, "Q8_0", 32, 34, decode_q8_0},
    {2, "Q4_0", 32, 18, decode_q4_0},    {3, "Q4_1", 32, 20, decode_q4_1},
    {6, "Q5_0", 32, 22, decode_q5_0},    {7, "Q5_1", 32, 24, decode_q5_1},
    {12, "Q4_K", 256, 144, decode_q4_k}, {13, "Q5_K", 256, 176, decode_q5_k},
    {14, "Q6_K", 256, 210, decode_q6_k},
};

const lcsm_block_type *lcsm_block_type_of(uint32_t id)
{
    for (size_t j = 0; j < COUNT(TYPES); j++)
        if (TYPES[j].id == id) return &TYPES[j];
    return NULL;
}

void lcsm_blocks_decode(float *out, const lcsm_block_type *type, const unsigned char *data,
                        size_t count)
{
    for (size_t j = 0; j < count; j += type->values, data += type->bytes)
        type->decode(out + j, data);
}

void lcsm_block_encode_q8(unsigned char out[34], const float *x)
{
    float most = 0;
    for (int j = 0; j < 32; j++) most = fmaxf(most, fabsf(x[j]));
    float    d = most / 127, by = d > 0 ? 1 / d : 0;
    uint16_t half = lcsm_half_from_float(d);
    memcpy(out, &half, sizeof half);
    for (int j = 0; j < 32; j++) out[2 + j] = (unsigned char)(int8_t)roundf(x[j] * by);
}
