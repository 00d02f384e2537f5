/*
 * blocks_dot.c - products with weights in blocks, read once, as they lie.
 *
 * f16 and bf16 become reals in registers. Of the types with levels (q8, q4, q4k) the products of a
 * block are integers, exact in 16 and 32 bits, if A has levels too; its rounding is the only
 * difference from the product with the unpacked weights: at most max|a| / 254 of a block for each
 * number. A row of B meets up to four rows of A at once, and every pair has a sum of its own, so a
 * result depends on neither M nor N. B is one stream, of which what comes soon is asked for.
 */
#include "kernel/gemm/blocks_dot.h"

#include "kernel/vec.h"

typedef R_(lcsm_gemm) gemm;

/* DOTS rows of A at once; LINE numbers of 16 bits are a cache line. */
enum { DOTS = 4, BLOCK = 32, LINE = 32, AHEAD = BLOCKS_AHEAD };

#if defined(__AVX2__) && !LCSM_REAL_IS_DOUBLE
#define LEVELS 1
#include "kernel/gemm/levels_avx2.h"
#elif VEC_NEON
#define LEVELS 1
#include "kernel/gemm/levels_neon.h"
#else
#define LEVELS 0
#endif

/* ---- one number a block ------------------------------------------------------------------- */

static real half_at(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return lcsm_half_to_float(half);
}

static real bf16_at(const unsigned char *p)
{
    uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
    float    x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#if LCSM_REAL_IS_DOUBLE
VEC_INLINE vec load_f16(const unsigned char *p)
{
    return (vec){half_at(p), half_at(p + 2)};
}

VEC_INLINE vec load_bf16(const unsigned char *p)
{
    return (vec){bf16_at(p), bf16_at(p + 2)};
}
#else
VEC_INLINE uvec load_u16(const unsigned char *p)
{
    typedef uint16_t shorts __attribute__((vector_size(VW * sizeof(uint16_t))));
    shorts           v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, uvec);
}

/* A half is sign, 5 bits of exponent, 10 of fraction. Its magnitude in the place of a float's is
 * that float times 2^-112, subnormal ones too. */
VEC_INLINE vec load_f16(const unsigned char *p)
{
#if VW == 16
    __m256i h;
    memcpy(&h, p, sizeof h);
    return (vec)_mm512_cvtph_ps(h);
#elif VW == 8
    __m128i h;
    memcpy(&h, p, sizeof h);
    return (vec)_mm256_cvtph_ps(h);
#elif VEC_NEON
    uint16x4_t h;
    memcpy(&h, p, sizeof h);
    return (vec)vcvt_f32_f16(vreinterpret_f16_u16(h));
#else
    uvec h = load_u16(p), wide = (h & 0x7FFF) << 13;
    vec  x = vselect((ivec)(h & 0x7FFF) >= 0x7C00, (vec)(wide | 0x7F800000u), (vec)wide * 0x1p112f);
    return (vec)((uvec)x | (h & 0x8000) << 16);
#endif
}

VEC_INLINE vec load_bf16(const unsigned char *p)
{
#if VEC_NEON
    uint16x4_t h;
    uvec       wide;
    memcpy(&h, p, sizeof h);
    __asm__("shll %0.4s, %1.4h, #16" : "=w"(wide) : "w"(h)); /* no name of all compilers for it */
    return (vec)wide;
#else
    return (vec)(load_u16(p) << 16);
#endif
}
#endif

#define ONE_A_BLOCK(type)                                                                          \
    static void unpack_##type(const unsigned char *p, ptrdiff_t n, real *to)                       \
    {                                                                                              \
        ptrdiff_t k = 0;                                                                           \
        for (; k + VW <= n; k += VW) vstore(to + k, load_##type(p + 2 * k));                       \
        for (; k < n; k++) to[k] = type##_at(p + 2 * k);                                           \
    }                                                                                              \
    VEC_INLINE void row_##type(int count, ptrdiff_t K, const real *a, ptrdiff_t lda,               \
                               const unsigned char *b, real *out)                                  \
    {                                                                                              \
        vec       s[DOTS], t[DOTS];                                                                \
        ptrdiff_t k = 0;                                                                           \
        VEC_UNROLL                                                                                 \
        for (int j = 0; j < count; j++) s[j] = t[j] = vzero();                                     \
        for (; k + LINE <= K; k += LINE) {                                                         \
            ask_now(b + 2 * k + AHEAD);                                                            \
            VEC_UNROLL                                                                             \
            for (int l = 0; l < LINE; l += 2 * VW) {                                               \
                vec v = load_##type(b + 2 * (k + l)), w = load_##type(b + 2 * (k + l + VW));       \
                VEC_UNROLL                                                                         \
                for (int j = 0; j < count; j++) {                                                  \
                    s[j] += v * vload(a + j * lda + k + l);                                        \
                    t[j] += w * vload(a + j * lda + k + l + VW);                                   \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; k + VW <= K; k += VW) {                                                             \
            vec v = load_##type(b + 2 * k);                                                        \
            VEC_UNROLL                                                                             \
            for (int j = 0; j < count; j++) s[j] += v * vload(a + j * lda + k);                    \
        }                                                                                          \
        for (int j = 0; j < count; j++) out[j] = vsum(s[j] + t[j]);                                \
        for (; k < K; k++)                                                                         \
            for (int j = 0; j < count; j++) out[j] += a[j * lda + k] * type##_at(b + 2 * k);       \
    }                                                                                              \
    static void dots_##type(const gemm *x, ptrdiff_t i, int count, const unsigned char *b,         \
                            real *out)                                                             \
    {                                                                                              \
        const real *a = x->A + i * x->lda;                                                         \
        if (count == DOTS) row_##type(DOTS, x->K, a, x->lda, b, out);                              \
        else                                                                                       \
            for (int j = 0; j < count; j++)                                                        \
                row_##type(1, x->K, a + j * x->lda, x->lda, b, out + j);                           \
    }

#define f16_at half_at
ONE_A_BLOCK(f16)
ONE_A_BLOCK(bf16)
#undef f16_at

/* ---- blocks with a scale ------------------------------------------------------------------ */

#if LEVELS
static void unpack_q8(const unsigned char *p, ptrdiff_t n, real *to)
{
    for (ptrdiff_t k = 0; k < n; k += BLOCK, p += 34)
        put_block(load_32(p + 2), scale_at(p), 0, to + k);
}

static void unpack_q4(const unsigned char *p, ptrdiff_t n, real *to)
{
    for (ptrdiff_t k = 0; k < n; k += BLOCK, p += 18)
        put_block(less_eight(load_nibbles(p + 2)), scale_at(p), 0, to + k);
}

static void unpack_q4k(const unsigned char *p, ptrdiff_t n, real *to)
{
    for (ptrdiff_t k = 0; k < n; k += 8 * BLOCK, p += 144) {
        uint64_t scales, lows;
        float    d = scale_at(p), least = scale_at(p + 2);
        six_bits(p + 4, &scales, &lows);
        for (int j = 0; j < 8; j++) {
            level_bytes w = load_32(p + 16 + 32 * (j / 2));
            put_block(j % 2 == 0 ? low_halves(w) : high_halves(w),
                      d * (float)(scales >> 8 * j & 63), least * (float)(lows >> 8 * j & 63),
                      to + k + BLOCK * j);
        }
    }
}

/* ---- levels of A -------------------------------------------------------------------------- */

/* A row: a scale for each block, scale times the sum of its levels, and the levels. */
typedef struct {
    float  *d, *s;
    int8_t *q;
} level_row;

VEC_INLINE level_row levels_of(const void *levels, ptrdiff_t K, ptrdiff_t i)
{
    ptrdiff_t blocks = K / BLOCK;
    float    *d      = (float *)(uintptr_t)levels + i * blocks * 10;
    return (level_row){d, d + blocks, (int8_t *)(d + 2 * blocks)};
}

/* A NaN or an infinity becomes a scale that is NaN: levels could not say it. */
static void round_row(const float *a, ptrdiff_t K, level_row r)
{
    for (ptrdiff_t k = 0; k < K / BLOCK; k++) {
        int32_t sum;
        bool    finite;
        float   scale = round_block(a + k * BLOCK, r.q + k * BLOCK, &sum, &finite);
        r.d[k]        = finite ? scale : NAN;
        r.s[k]        = r.d[k] * (float)sum;
    }
}

/* ---- blocks with levels ------------------------------------------------------------------- */

VEC_INLINE void row_q8(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                       float *out)
{
    level_sums s[DOTS];
    for (int j = 0; j < count; j++) s[j] = level_splat(0);
    for (ptrdiff_t k = 0; k < K / BLOCK; k++, b += 34) {
        level_bytes w = load_32(b + 2);
        float       d = scale_at(b);
        ask_now(b + AHEAD);
        for (int j = 0; j < count; j++)
            s[j] += level_splat(d * a[j].d[k]) * products(w, load_32(a[j].q + k * BLOCK));
    }
    for (int j = 0; j < count; j++) out[j] = total(s[j]);
}

/* Levels 0 .. 15 stand for -8 .. 7: eight times the sum of A comes off. */
VEC_INLINE void row_q4(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                       float *out)
{
    level_sums s[DOTS];
    float      less[DOTS];
    for (int j = 0; j < count; j++) s[j] = level_splat(0), less[j] = 0;
    for (ptrdiff_t k = 0; k < K / BLOCK; k++, b += 18) {
        level_bytes w = load_nibbles(b + 2);
        float       d = scale_at(b);
        if (k % 2 == 0) ask_now(b + AHEAD);
        for (int j = 0; j < count; j++) {
            level_bytes v = load_32(a[j].q + k * BLOCK);
            s[j] += level_splat(d * a[j].d[k]) * products_of_small(w, v);
            less[j] += d * a[j].s[k];
        }
    }
    for (int j = 0; j < count; j++) out[j] = total(s[j]) - 8 * less[j];
}

/* One block of 256: the sums with its levels, and what the minima take off. */
VEC_INLINE void block_q4k(const unsigned char *p, level_row a, ptrdiff_t k, level_sums *s,
                          level_sums *less)
{
    uint64_t scales, lows;
    float    by[8];
    six_bits(p + 4, &scales, &lows);
    eight_times(scales, scale_at(p), a.d + k, by);
    *less = add_eight_times(*less, lows, scale_at(p + 2), a.s + k);
    for (int j = 0; j < 8; j += 2) {
        level_bytes w = load_32(p + 16 + 16 * j);
        level_bytes v = load_32(a.q + (k + j) * BLOCK), u = load_32(a.q + (k + j + 1) * BLOCK);
        *s += level_splat(by[j]) * products_of_small(low_halves(w), v);
        *s += level_splat(by[j + 1]) * products_of_small(high_halves(w), u);
    }
}

VEC_INLINE void row_q4k(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                        float *out)
{
    level_sums s[DOTS], less[DOTS];
    for (int j = 0; j < count; j++) s[j] = less[j] = level_splat(0);
    for (ptrdiff_t k = 0; k < K / BLOCK; k += 8, b += 144) {
        for (int at = 0; at < 144; at += 64) ask_now(b + AHEAD + at);
        for (int j = 0; j < count; j++) block_q4k(b, a[j], k, &s[j], &less[j]);
    }
    for (int j = 0; j < count; j++) out[j] = total(s[j] - less[j]);
}
#else
#define ANY_BLOCK(name, type)                                                                      \
    static void unpack_##name(const unsigned char *p, ptrdiff_t n, real *to)                       \
    {                                                                                              \
        unpack_any(lcsm_weight_blocks(type), p, n, to);                                            \
    }

static void unpack_any(const lcsm_block_type *b, const unsigned char *p, ptrdiff_t n, real *to)
{
    float     one[LCSM_WEIGHT_BLOCK];
    ptrdiff_t step = (ptrdiff_t)b->values;
    for (ptrdiff_t k = 0; k < n; k += step, p += b->bytes) {
        b->decode(one, p);
        for (ptrdiff_t j = 0; j < step; j++) to[k + j] = one[j];
    }
}

ANY_BLOCK(q8, LCSM_WEIGHT_Q8)
ANY_BLOCK(q4, LCSM_WEIGHT_Q4)
ANY_BLOCK(q4k, LCSM_WEIGHT_Q4K)
#endif

/* Without levels of A: unpacked, some blocks at a time. */
static void dots_unpacked(const gemm *x, ptrdiff_t i, int count, const unsigned char *b, real *out)
{
    VEC_ALIGNED real part[LCSM_WEIGHT_BLOCK];
    for (int j = 0; j < count; j++) {
        vec s = vzero();
        for (ptrdiff_t k = 0; k < x->K; k += LCSM_WEIGHT_BLOCK) {
            ptrdiff_t   n  = x->K - k < LCSM_WEIGHT_BLOCK ? x->K - k : LCSM_WEIGHT_BLOCK;
            const real *a  = x->A + (i + j) * x->lda + k;
            size_t      at = lcsm_weight_row(x->type, (size_t)k);
            K_(lcsm_blocks_unpack)(x->type, b + at, n, part);
            for (ptrdiff_t l = 0; l < n; l += VW) s += vload(a + l) * vload(part + l);
        }
        out[j] = vsum(s);
    }
}

#if LEVELS
#define LEVEL_DOTS(type)                                                                           \
    static void dots_##type(const gemm *x, ptrdiff_t i, int count, const unsigned char *b,         \
                            real *out)                                                             \
    {                                                                                              \
        level_row a[DOTS];                                                                         \
        if (x->levels == NULL) {                                                                   \
            dots_unpacked(x, i, count, b, out);                                                    \
            return;                                                                                \
        }                                                                                          \
        for (int j = 0; j < count; j++) a[j] = levels_of(x->levels, x->K, i + j);                  \
        if (count == DOTS) row_##type(DOTS, x->K, a, b, out);                                      \
        else                                                                                       \
            for (int j = 0; j < count; j++) row_##type(1, x->K, a + j, b, out + j);                \
    }
LEVEL_DOTS(q8)
LEVEL_DOTS(q4)
LEVEL_DOTS(q4k)
#else
#define dots_q8  dots_unpacked
#define dots_q4  dots_unpacked
#define dots_q4k dots_unpacked
#endif

/* ---- the table ---------------------------------------------------------------------------- */

static const struct {
    void (*unpack)(const unsigned char *p, ptrdiff_t n, real *to);
    /* `count` <= DOTS rows of A, from row i on, with a row of B. */
    void (*dots)(const gemm *x, ptrdiff_t i, int count, const unsigned char *b, real *out);
    bool levels;
} TYPES[LCSM_WEIGHT_COUNT] = {
    [LCSM_WEIGHT_F16]  = {unpack_f16, dots_f16, false},
    [LCSM_WEIGHT_BF16] = {unpack_bf16, dots_bf16, false},
    [LCSM_WEIGHT_Q8]   = {unpack_q8, dots_q8, LEVELS},
    [LCSM_WEIGHT_Q4]   = {unpack_q4, dots_q4, LEVELS},
    [LCSM_WEIGHT_Q4K]  = {unpack_q4k, dots_q4k, LEVELS},
};

void K_(lcsm_blocks_unpack)(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n,
                            real *to)
{
    TYPES[type].unpack(blocks, n, to);
}

bool K_(lcsm_blocks_levels)(const gemm *x, void *to)
{
    if (!TYPES[x->type].levels) return false;
#if LEVELS
    for (ptrdiff_t i = 0; i < x->M; i++) round_row(x->A + i * x->lda, x->K, levels_of(to, x->K, i));
#else
    (void)to;
#endif
    return true;
}

void K_(lcsm_blocks_dots)(const gemm *x)
{
    for (ptrdiff_t j = 0; j < x->N; j++)
        for (ptrdiff_t i = 0; i < x->M; i += DOTS) {
            real out[DOTS], *c = x->C + i * x->ldc + j;
            int  count = x->M - i < DOTS ? (int)(x->M - i) : DOTS;
            TYPES[x->type].dots(x, i, count, x->blocks + j * x->ldb, out);
            for (int r = 0; r < count; r++)
                c[r * x->ldc] = (x->add ? c[r * x->ldc] : 0) + x->alpha * out[r];
        }
}
