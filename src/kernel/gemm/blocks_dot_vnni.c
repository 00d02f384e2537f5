/*
 * blocks_dot_vnni.c - blocks of levels by vpdpbusd, which adds the products of four bytes to each
 * lane of 32 bits.
 *
 * A vector has the levels of two blocks of q8, the low or high halves of four of q4, or two
 * sub-blocks of q4k. One factor of the instruction is unsigned: levels of B are moved up to 0 ..
 * 255 or 0 .. 15, and what that adds to a block, a multiple of the sum of the levels of A, comes
 * off. Levels of A lie in the order of those of B.
 */
#include "kernel/gemm/blocks_dot.h"
#include "kernel/gemm/levels_avx2.h"
#include "kernel/vec.h"

typedef R_(lcsm_gemm) gemm;

/* Everything but the products with levels is that of AVX-512. */
extern const R_(lcsm_gemm_kernels) lcsm_gemm_products_f32_avx512;

/* Rows of A and of B at once; numbers of a block; numbers of q4 that a vector has. */
enum { ROWS = 4, COLS = 4, BLOCK = 32, WHOLE = 128 };

/* Of each block of A a scale, what comes off (scale times the sum of its levels), and the levels.
 */
typedef struct {
    float  *d, *s;
    int8_t *q;
} level_row;

static level_row row_at(const void *levels, ptrdiff_t K, ptrdiff_t i)
{
    float *d = (float *)(uintptr_t)levels + i * (K / BLOCK) * 10;
    return (level_row){d, d + K / BLOCK, (int8_t *)(d + 2 * (K / BLOCK))};
}

/* ---- levels of A -------------------------------------------------------------------------- */

static void put_q8(int8_t *q, ptrdiff_t K, ptrdiff_t k, __m256i levels)
{
    (void)K;
    _mm256_storeu_si256((__m256i *)(void *)(q + k), levels);
}

/* Of each four blocks the low halves come first, then the high ones; so of what is left. */
static void put_q4(int8_t *q, ptrdiff_t K, ptrdiff_t k, __m256i levels)
{
    ptrdiff_t first = k / WHOLE * WHOLE, n = K - first < WHOLE ? K - first : WHOLE;
    int8_t   *to = q + first + (k - first) / 2;
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(levels));
    _mm_storeu_si128((__m128i *)(void *)(to + n / 2), _mm256_extracti128_si256(levels, 1));
}

/* Of four sub-blocks the first and third, then the second and fourth. */
static void put_q4k(int8_t *q, ptrdiff_t K, ptrdiff_t k, __m256i levels)
{
    ptrdiff_t in = k % WHOLE / BLOCK;
    (void)K;
    _mm256_storeu_si256((__m256i *)(void *)(q + k - k % WHOLE + 64 * (in % 2) + 32 * (in / 2)),
                        levels);
}

/* ---- rows of B ---------------------------------------------------------------------------- */

VEC_INLINE __m512i load_64(const void *p)
{
    return _mm512_loadu_si512(p);
}

/* 16 halves, chosen from 32, as floats. */
VEC_INLINE __m512 scales_of(__m512i halves, __m512i lanes)
{
    return _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(lanes, halves)));
}

/* Vectors of a row of A, and of one of B with it: one or two blocks of q8, or one to four of q4. */
VEC_INLINE __mmask64 bytes_of(int count)
{
    return count >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1;
}

/* The first numbers of p, each in as many lanes as `lanes` says. */
VEC_INLINE __m512 spread(const float *p, int count, __m512i lanes)
{
    return _mm512_permutexvar_ps(lanes, _mm512_maskz_loadu_ps((__mmask16)bytes_of(count), p));
}

VEC_INLINE void step_q8(int count, const level_row *a, ptrdiff_t k, const unsigned char *p,
                        int blocks, __m512 *s)
{
    const __m512i two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i at  = _mm512_castsi256_si512(
         _mm256_setr_epi16(0, 0, 0, 0, 0, 0, 0, 0, 17, 17, 17, 17, 17, 17, 17, 17));
    __m512i w = _mm512_castsi256_si512(load_32(p + 2));
    if (blocks == 2) w = _mm512_inserti64x4(w, load_32(p + 36), 1);
    __m512i halves = _mm512_maskz_loadu_epi8(bytes_of(blocks == 2 ? 64 : 2), p);
    w              = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
    __m512 d       = scales_of(halves, at);
    VEC_UNROLL
    for (int j = 0; j < count; j++) {
        __m512i q   = _mm512_maskz_loadu_epi8(bytes_of(BLOCK * blocks), a[j].q + k);
        __m512i n   = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w, q);
        __m512  by  = spread(a[j].d + k / BLOCK, blocks, two);
        __m512  off = spread(a[j].s + k / BLOCK, blocks, two);
        s[j]        = _mm512_fmadd_ps(d, _mm512_fmsub_ps(_mm512_cvtepi32_ps(n), by, off), s[j]);
    }
}

VEC_INLINE void row_q8(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                       __m512 *s)
{
    ptrdiff_t k = 0;
    for (; k + 64 <= K; k += 64, b += 68) {
        ask_now(b + BLOCKS_AHEAD);
        step_q8(count, a, k, b, 2, s);
    }
    if (k < K) step_q8(count, a, k, b, 1, s);
}

/* The 16 bytes of each of up to four blocks. */
VEC_INLINE __m512i nibbles_of(const unsigned char *p, int blocks)
{
    __m512i w = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(p + 2)));
    VEC_UNROLL
    for (int j = 1; j < blocks; j++)
        w = _mm512_mask_broadcast_i32x4(
            w, (__mmask16)(15 << 4 * j),
            _mm_loadu_si128((const __m128i *)(const void *)(p + 18 * j + 2)));
    return w;
}

VEC_INLINE void step_q4(int count, const level_row *a, ptrdiff_t k, const unsigned char *p,
                        int blocks, __m512 *s)
{
    const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i at   = _mm512_castsi256_si512(
          _mm256_setr_epi16(0, 0, 0, 0, 9, 9, 9, 9, 18, 18, 18, 18, 27, 27, 27, 27));
    const __m512i low  = _mm512_set1_epi8(15);
    __mmask64     part = bytes_of(16 * blocks);
    __m512i       w = nibbles_of(p, blocks), high = _mm512_srli_epi16(w, 4);
    __m512        d = scales_of(_mm512_maskz_loadu_epi8(bytes_of(18 * blocks), p), at);
    VEC_UNROLL
    for (int j = 0; j < count; j++) {
        const int8_t *q = a[j].q + k;
        __m512i       n = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_and_si512(w, low),
                                              _mm512_maskz_loadu_epi8(part, q));
        n               = _mm512_dpbusd_epi32(n, _mm512_and_si512(high, low),
                                              _mm512_maskz_loadu_epi8(part, q + 16 * blocks));
        __m512 by       = spread(a[j].d + k / BLOCK, blocks, four);
        __m512 off      = spread(a[j].s + k / BLOCK, blocks, four);
        s[j]            = _mm512_fmadd_ps(d, _mm512_fmsub_ps(_mm512_cvtepi32_ps(n), by, off), s[j]);
    }
}

VEC_INLINE void row_q4(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                       __m512 *s)
{
    ptrdiff_t k = 0;
    for (; k + WHOLE <= K; k += WHOLE, b += 72) {
        ask_now(b + BLOCKS_AHEAD);
        step_q4(count, a, k, b, 4, s);
    }
    switch ((K - k) / BLOCK) {
    case 3: step_q4(count, a, k, b, 3, s); break;
    case 2: step_q4(count, a, k, b, 2, s); break;
    case 1: step_q4(count, a, k, b, 1, s); break;
    default: break;
    }
}

/* Sub-blocks i and i + 2, a scale in each half. */
VEC_INLINE __m512 two_of(__m512 by, int i)
{
    __m512i low = _mm512_set1_epi32(i), high = _mm512_set1_epi32(i + 2);
    return _mm512_permutexvar_ps(_mm512_mask_blend_epi32(0xFF00, low, high), by);
}

VEC_INLINE void step_q4k(const level_row *a, ptrdiff_t k, const unsigned char *p, __m512 *s,
                         __m256 *less)
{
    const __m512i low = _mm512_set1_epi8(15), none = _mm512_setzero_si512();
    uint64_t      scales, lows;
    six_bits(p + 4, &scales, &lows);
    __m256 by = eight_of(scales) * _mm256_set1_ps(scale_at(p)) * _mm256_loadu_ps(a->d + k / BLOCK);
    *less     = add_eight_times(*less, lows, scale_at(p + 2), a->s + k / BLOCK);
    VEC_UNROLL
    for (int h = 0; h < 2; h++) {
        const int8_t *q = a->q + k + WHOLE * h;
        __m512i       w = load_64(p + 16 + 64 * h), high = _mm512_srli_epi16(w, 4);
        __m512i       even = _mm512_dpbusd_epi32(none, _mm512_and_si512(w, low), load_64(q));
        __m512i       odd = _mm512_dpbusd_epi32(none, _mm512_and_si512(high, low), load_64(q + 64));
        __m512        all = _mm512_castps256_ps512(by);
        *s                = _mm512_fmadd_ps(_mm512_cvtepi32_ps(even), two_of(all, 4 * h), *s);
        *s                = _mm512_fmadd_ps(_mm512_cvtepi32_ps(odd), two_of(all, 4 * h + 1), *s);
    }
}

VEC_INLINE void row_q4k(int count, ptrdiff_t K, const level_row *a, const unsigned char *b,
                        __m512 *s)
{
    __m256 less[ROWS];
    VEC_UNROLL
    for (int j = 0; j < count; j++) less[j] = level_splat(0);
    for (ptrdiff_t k = 0; k < K; k += 2 * WHOLE, b += 144) {
        ask_now(b + BLOCKS_AHEAD);
        ask_now(b + BLOCKS_AHEAD + 64);
        VEC_UNROLL
        for (int j = 0; j < count; j++) step_q4k(&a[j], k, b, &s[j], &less[j]);
    }
    VEC_UNROLL
    for (int j = 0; j < count; j++) s[j] -= _mm512_zextps256_ps512(less[j]);
}

/* ---- the product -------------------------------------------------------------------------- */

/* `count` rows of A with `cols` rows of B, each pair a vector of sums. */
#define GROUP(type)                                                                                \
    VEC_INLINE void rows_##type(int count, const gemm *x, const level_row *a,                      \
                                const unsigned char *b, int cols, __m512 s[][COLS])                \
    {                                                                                              \
        for (int r = 0; r < cols; r++) {                                                           \
            __m512 sum[ROWS];                                                                      \
            VEC_UNROLL                                                                             \
            for (int j = 0; j < count; j++) sum[j] = _mm512_setzero_ps();                          \
            row_##type(count, x->K, a, b + r * x->ldb, sum);                                       \
            for (int j = 0; j < count; j++) s[j][r] = sum[j];                                      \
        }                                                                                          \
    }                                                                                              \
    static void group_##type(const gemm *x, const level_row *a, int count, const unsigned char *b, \
                             int cols, __m512 s[][COLS])                                           \
    {                                                                                              \
        if (count == ROWS) rows_##type(ROWS, x, a, b, cols, s);                                    \
        else                                                                                       \
            for (int j = 0; j < count; j++) rows_##type(1, x, a + j, b, cols, s + j);              \
    }
GROUP(q8)
GROUP(q4)
GROUP(q4k)

static const struct {
    void (*put)(int8_t *q, ptrdiff_t K, ptrdiff_t k, __m256i levels); /* those of block k */
    float off; /* what comes off for a level of A, a lane of the 8, 4 or 32 that a block has */
    void (*group)(const gemm *x, const level_row *a, int count, const unsigned char *b, int cols,
                  __m512 s[][COLS]);
} TYPES[LCSM_WEIGHT_COUNT] = {
    [LCSM_WEIGHT_Q8]  = {put_q8, 128.0f / 8, group_q8},
    [LCSM_WEIGHT_Q4]  = {put_q4, 8.0f / 4, group_q4},
    [LCSM_WEIGHT_Q4K] = {put_q4k, 1, group_q4k},
};

/* A NaN or an infinity becomes a scale that is NaN: levels could not say it. */
static void round_row(const gemm *x, const float *a, level_row r)
{
    for (ptrdiff_t k = 0; k < x->K; k += BLOCK) {
        __m256i q;
        int32_t sum;
        bool    finite;
        float   scale  = round_block(a + k, (int8_t *)&q, &sum, &finite);
        r.d[k / BLOCK] = finite ? scale : NAN;
        r.s[k / BLOCK] = r.d[k / BLOCK] * (float)sum * TYPES[x->type].off;
        TYPES[x->type].put(r.q, x->K, k, q);
    }
}

static bool levels(const gemm *x, void *to)
{
    if (TYPES[x->type].put == NULL) return false;
    for (ptrdiff_t i = 0; i < x->M; i++) round_row(x, x->A + i * x->lda, row_at(to, x->K, i));
    return true;
}

static void put(const gemm *x, real *c, __m512 s[COLS], int cols)
{
    real sums[COLS];
    vsums4((vec)s[0], (vec)s[1], (vec)s[2], (vec)s[3], sums, COLS);
    for (int r = 0; r < cols; r++) c[r] = (x->add ? c[r] : 0) + x->alpha * sums[r];
}

static void dots(const gemm *x)
{
    if (x->levels == NULL) {
        lcsm_gemm_products_f32_avx512.dots(x);
        return;
    }
    __m512 s[ROWS][COLS] = {{{0}}};
    for (ptrdiff_t j = 0; j < x->N; j += COLS)
        for (ptrdiff_t i = 0; i < x->M; i += ROWS) {
            level_row a[ROWS];
            int       cols  = x->N - j < COLS ? (int)(x->N - j) : COLS;
            int       count = x->M - i < ROWS ? (int)(x->M - i) : ROWS;
            for (int r = 0; r < count; r++) a[r] = row_at(x->levels, x->K, i + r);
            TYPES[x->type].group(x, a, count, x->blocks + j * x->ldb, cols, s);
            for (int r = 0; r < count; r++) put(x, x->C + (i + r) * x->ldc + j, s[r], cols);
        }
}

static void pack(const gemm *x, ptrdiff_t piece, real *packed)
{
    lcsm_gemm_products_f32_avx512.pack(x, piece, packed);
}

static void run(const gemm *x, const real *packed, real *ws)
{
    lcsm_gemm_products_f32_avx512.run(x, packed, ws);
}

static void unpack(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n, real *to)
{
    lcsm_gemm_products_f32_avx512.unpack(type, blocks, n, to);
}

const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {pack, run, dots, unpack, levels};
