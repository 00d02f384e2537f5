/* blocks.c - numbers in blocks: the tensor types of GGUF files, and those of weights. */
#include "base/blocks.h"

#include <float.h>
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

/* What a half keeps of it. */
static float half_of(float x)
{
    return lcsm_half_to_float(lcsm_half_from_float(x));
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

/* ---- rounding to one number a block ------------------------------------------------------ */

static void encode_f16(unsigned char *out, const float *x)
{
    uint16_t half = lcsm_half_from_float(*x);
    memcpy(out, &half, sizeof half);
}

/* To the nearest, ties to even; a NaN stays one. */
static void encode_bf16(unsigned char *out, const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    bits     = nan ? bits | 0x00400000u : bits + 0x7FFFu + (bits >> 16 & 1);
    out[0]   = (unsigned char)(bits >> 16);
    out[1]   = (unsigned char)(bits >> 24);
}

/* ---- rounding to 32 numbers with a scale ------------------------------------------------- */

static void put_half(unsigned char *p, float x)
{
    encode_f16(p, &x);
}

void lcsm_block_encode_q8(unsigned char out[34], const float *x)
{
    float most = 0;
    for (int j = 0; j < 32; j++) most = fmaxf(most, fabsf(x[j]));
    float d = most / 127, by = d > 0 ? 1 / d : 0;
    put_half(out, d);
    for (int j = 0; j < 32; j++) out[2 + j] = (unsigned char)(int8_t)roundf(x[j] * by);
}

static float between(float x, float low, float high)
{
    return x < low ? low : (x > high ? high : x);
}

/* The nearest whole number from -8 to 63. */
static float whole(float x)
{
    return (float)((int)(x + 8.5f) - 8);
}

/* Levels -8 .. 7 of x / d, and the scale that fits them best: sum(x q) / sum(q q). */
static float fit_levels(float q[32], const float *x, float d)
{
    float xq = 0, qq = 0;
    for (int j = 0; j < 32; j++) {
        q[j] = whole(between(x[j] / d, -8, 7));
        xq += x[j] * q[j];
        qq += q[j] * q[j];
    }
    return qq > 0 ? xq / qq : 0;
}

static float miss_of(const float q[32], const float *x, float d)
{
    float miss = 0;
    for (int j = 0; j < 32; j++) miss += (x[j] - d * q[j]) * (x[j] - d * q[j]);
    return miss;
}

/* The number of largest magnitude is level -8 of the first scale that is tried; the others put it
 * elsewhere. The one with the least sum of squared errors is taken. */
static void encode_q4_0(unsigned char *out, const float *x)
{
    enum { TRIES = 13 };
    float most = 0, best = 0, least = INFINITY, q[32];
    for (int j = 0; j < 32; j++)
        if (fabsf(x[j]) > fabsf(most)) most = x[j];
    for (int k = 0; k < TRIES && most != 0; k++) {
        float d    = half_of(fit_levels(q, x, -most / (5.5f + 0.25f * (float)k)));
        float miss = d != 0 ? (void)fit_levels(q, x, d), miss_of(q, x, d) : INFINITY;
        if (miss < least) least = miss, best = d;
    }
    put_half(out, best);
    if (best != 0) (void)fit_levels(q, x, best);
    for (int j = 0; j < 16; j++) {
        int low = best != 0 ? (int)q[j] + 8 : 8, high = best != 0 ? (int)q[j + 16] + 8 : 8;
        out[2 + j] = (unsigned char)(low | high << 4);
    }
}

/* ---- rounding to 256 numbers in sub-blocks ------------------------------------------------ */

/* x ~ scale level - low, level 0 .. 15, scale and low not negative. */
typedef struct {
    float scale, low;
} affine;

static float level_of(float x, affine a)
{
    return a.scale > 0 ? whole(between((x + a.low) / a.scale, 0, 15)) : 0;
}

static float affine_miss(const float *x, affine a)
{
    float miss = 0;
    for (int j = 0; j < 32; j++) {
        float e = x[j] - (a.scale * level_of(x[j], a) - a.low);
        miss += e * e;
    }
    return miss;
}

/* Least squares for the levels that x has under a. */
static affine refit(const float *x, affine a)
{
    float n = 32, q = 0, qq = 0, sx = 0, xq = 0;
    for (int j = 0; j < 32; j++) {
        float l = level_of(x[j], a);
        q += l, qq += l * l, sx += x[j], xq += x[j] * l;
    }
    float det = n * qq - q * q;
    if (det <= 0) return a;
    affine b = {(n * xq - q * sx) / det, (q * xq - qq * sx) / det};
    if (b.low < 0) b = (affine){qq > 0 ? xq / qq : 0, 0};
    return b.scale > 0 ? b : a;
}

static affine fit_affine(const float *x)
{
    enum { TRIES = 9 };
    float low = 0, high = 0, least = INFINITY;
    for (int j = 0; j < 32; j++) low = fminf(low, x[j]), high = fmaxf(high, x[j]);
    affine best = {0, -low};
    for (int k = 0; k < TRIES && high > low; k++) {
        affine a    = {(high - low) / (13.0f + 0.5f * (float)k), -low};
        affine b    = refit(x, a);
        float  miss = affine_miss(x, b);
        if (miss < least) least = miss, best = b;
    }
    return best;
}

static void put_scales(unsigned char *s, int j, int scale, int low)
{
    if (j < 4) {
        s[j]     = (unsigned char)(s[j] | scale);
        s[j + 4] = (unsigned char)(s[j + 4] | low);
        return;
    }
    s[j + 4] = (unsigned char)((scale & 15) | (low & 15) << 4);
    s[j - 4] = (unsigned char)(s[j - 4] | (scale >> 4) << 6);
    s[j]     = (unsigned char)(s[j] | (low >> 4) << 6);
}

static int sixth(float x, float d)
{
    return d > 0 ? (int)whole(between(x / d, 0, 63)) : 0;
}

static void encode_q4_k(unsigned char *out, const float *x)
{
    affine a[8];
    float  scale = 0, low = 0;
    memset(out, 0, 144);
    for (int j = 0; j < 8; j++) {
        a[j]  = fit_affine(x + 32 * j);
        scale = fmaxf(scale, a[j].scale);
        low   = fmaxf(low, a[j].low);
    }
    float d = half_of(scale / 63), least = half_of(low / 63);
    put_half(out, d);
    put_half(out + 2, least);
    for (int j = 0; j < 8; j++) {
        int    by = sixth(a[j].scale, d), from = sixth(a[j].low, least);
        affine kept = {d * (float)by, least * (float)from};
        put_scales(out + 4, j, by, from);
        for (int l = 0; l < 32; l++) {
            unsigned char *to = &out[16 + 32 * (j / 2) + l];
            *to = (unsigned char)(*to | (int)level_of(x[32 * j + l], kept) << 4 * (j % 2));
        }
    }
}

/* ---- the table -------------------------------------------------------------------------- */

static const lcsm_block_type TYPES[] = {
    {0, "F32", 1, 4, decode_f32, NULL},
    {1, "F16", 1, 2, decode_f16, encode_f16},
    {30, "BF16", 1, 2, decode_bf16, encode_bf16},
    {8, "Q8_0", 32, 34, decode_q8_0, lcsm_block_encode_q8},
    {2, "Q4_0", 32, 18, decode_q4_0, encode_q4_0},
    {3, "Q4_1", 32, 20, decode_q4_1, NULL},
    {6, "Q5_0", 32, 22, decode_q5_0, NULL},
    {7, "Q5_1", 32, 24, decode_q5_1, NULL},
    {12, "Q4_K", 256, 144, decode_q4_k, encode_q4_k},
    {13, "Q5_K", 256, 176, decode_q5_k, NULL},
    {14, "Q6_K", 256, 210, decode_q6_k, NULL},
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

void lcsm_blocks_encode(unsigned char *out, const lcsm_block_type *type, const float *x,
                        size_t count)
{
    for (size_t j = 0; j < count; j += type->values, out += type->bytes) type->encode(out, x + j);
}

/* ---- types of weights ------------------------------------------------------------------- */

/* A row that is not a whole number of blocks has the type after it. */
static const struct {
    const char      *name;
    uint32_t         id; /* of its blocks */
    lcsm_weight_type otherwise;
} WEIGHTS[LCSM_WEIGHT_COUNT] = {
    [LCSM_WEIGHT_REAL] = {"f32", 0, LCSM_WEIGHT_REAL},
    [LCSM_WEIGHT_F16]  = {"f16", 1, LCSM_WEIGHT_REAL},
    [LCSM_WEIGHT_BF16] = {"bf16", 30, LCSM_WEIGHT_REAL},
    [LCSM_WEIGHT_Q8]   = {"q8", 8, LCSM_WEIGHT_F16},
    [LCSM_WEIGHT_Q4]   = {"q4", 2, LCSM_WEIGHT_F16},
    [LCSM_WEIGHT_Q4K]  = {"q4k", 12, LCSM_WEIGHT_Q4},
};

const char *lcsm_weight_name(lcsm_weight_type type)
{
    return WEIGHTS[type].name;
}

const lcsm_block_type *lcsm_weight_blocks(lcsm_weight_type type)
{
    return lcsm_block_type_of(WEIGHTS[type].id);
}

lcsm_weight_type lcsm_weight_fit(lcsm_weight_type type, size_t cols)
{
    while (cols % lcsm_weight_blocks(type)->values != 0) type = WEIGHTS[type].otherwise;
    return type;
}

size_t lcsm_weight_row(lcsm_weight_type type, size_t cols)
{
    const lcsm_block_type *b = lcsm_weight_blocks(type);
    return cols / b->values * b->bytes;
}

lcsm_status lcsm_weight_find(lcsm_weight_type *out, const char *name, lcsm_error *err)
{
    for (int j = 0; j < LCSM_WEIGHT_COUNT; j++)
        if (strcmp(WEIGHTS[j].name, name) == 0) {
            *out = (lcsm_weight_type)j;
            return LCSM_OK;
        }
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "\"%.40s\" is not a type of weights; expected f32, f16, bf16, q8, q4 or q4k",
                     name);
}

bool lcsm_weight_pack(lcsm_weight_type type, unsigned char *out, const float *x, size_t cols)
{
    enum { MOST = 256 };
    const lcsm_block_type *b = lcsm_weight_blocks(type);
    float                  back[MOST], largest = type >= LCSM_WEIGHT_Q4 ? 65504 : FLT_MAX;
    for (size_t j = 0; j < cols; j += b->values, out += b->bytes) {
        for (size_t k = 0; k < b->values; k++)
            if (!(fabsf(x[j + k]) <= largest)) return false; /* a NaN neither */
        b->encode(out, x + j);
        b->decode(back, out);
        for (size_t k = 0; k < b->values; k++)
            if (!isfinite(back[k])) return false;
    }
    return true;
}
