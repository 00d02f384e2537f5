/*
 * gemm_bf16.c - products of numbers of bfloat16 by vdpbf16ps, which adds two products to each lane.
 *
 * A unit is a pair of numbers that follow each other in the depth; of an odd depth the last has a
 * zero. So op(A) is (M, K / 2) of units and op(B) (K / 2, N), and the product is that of
 * gemm_blocks.h with another term. Rows of A that are stored in bfloat16 are read where they lie.
 *
 * The instruction rounds each sum to the nearest, takes numbers below 2^-126 for 0 and gives 0
 * for them, whatever the processor is set to.
 */
#include "kernel/bf16.h"
#include "kernel/gemm/transpose.h"
#include "kernel/gemm/units.h"

#define GEMM_EACH(p)       unit_each(p)
#define GEMM_TERM(v, e, b) unit_sum(v, e, b)
#define GEMM_SUM(v, alpha) vhold((v) * (alpha)) /* before it is added, in every kind of tile */
#define GEMM_ASK_STEPS     2 /* of reals there are twice as many lines as of units */
#include "kernel/gemm/gemm_blocks.h"

/* The product in units; its A is where op(A) lies as units, or `bf16` says that it does not. */
typedef struct {
    gemm        units; /* first: place_a finds the product by it */
    const gemm *x;
} product;

/* A or B as it is stored. */
typedef struct {
    const real          *reals;
    const unsigned char *halves;
    ptrdiff_t            ld; /* in bytes */
} matrix;

static matrix matrix_of(lcsm_weight_type type, const real *p, const unsigned char *blocks,
                        ptrdiff_t ld)
{
    if (type == LCSM_WEIGHT_REAL) return (matrix){.reals = p, .ld = ld * (ptrdiff_t)sizeof(real)};
    return (matrix){.halves = blocks, .ld = ld};
}

/* ---- units ---- */

/* Units for which memory is asked ahead: of A's columns, of B's rows. */
enum { AHEAD = 4, ROWS_AHEAD = 4 };

/* n numbers side by side as units, the others 0. */
VEC_INLINE vec along(const matrix *m, ptrdiff_t row, ptrdiff_t col, ptrdiff_t n)
{
    if (m->halves != NULL)
        return (vec)_mm512_maskz_loadu_epi16(unit_mask(n), m->halves + row * m->ld + 2 * col);
    return units_along((const real *)(const void *)((const char *)m->reals + row * m->ld) + col, n);
}

/* Units of n <= VW columns: rows `row` and, if two, the next. */
VEC_INLINE vec across(const matrix *m, ptrdiff_t row, bool two, ptrdiff_t col, ptrdiff_t n)
{
    __mmask16 mask = (__mmask16)unit_mask(n), mask2 = two ? mask : 0;
    if (m->halves != NULL) {
        const unsigned char *p   = m->halves + row * m->ld + 2 * col;
        __m512i              low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p));
        __m512i              high =
            _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask2, p + (two ? m->ld : 0)));
        return (vec)_mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    }
    const real *p = (const real *)(const void *)((const char *)m->reals + row * m->ld) + col;
    const real *q = (const real *)(const void *)((const char *)p + (two ? m->ld : 0));
    return units_of_two((vec)_mm512_maskz_loadu_ps(mask, p), (vec)_mm512_maskz_loadu_ps(mask2, q));
}

/* Asks for n numbers of a row. */
VEC_INLINE void ask_for(const matrix *m, ptrdiff_t row, ptrdiff_t col, ptrdiff_t n)
{
    ptrdiff_t   size = m->halves != NULL ? 2 : (ptrdiff_t)sizeof(real);
    const char *p    = m->halves != NULL ? (const char *)m->halves : (const char *)m->reals;
    p += row * m->ld + col * size;
    for (ptrdiff_t at = 0; at < n * size; at += 64) ask_now(p + at);
    ask_now(p + n * size - 1);
}

static ptrdiff_t units_of(ptrdiff_t K)
{
    return (K + 1) / 2;
}

/* ---- packing ---- */

/* Units u0 .. u0 + uc - 1 of n columns from j0 on; zeros up to whole vectors. */
static void pack_panel(const gemm *x, ptrdiff_t u0, ptrdiff_t uc, ptrdiff_t j0, ptrdiff_t n,
                       real *panel)
{
    matrix    m     = matrix_of(x->type, x->B, x->blocks, x->ldb);
    ptrdiff_t width = pad(n);
    for (ptrdiff_t u = 0; u < uc && !x->tb; u++) {
        ask_for(&m, 2 * (u0 + u + ROWS_AHEAD), j0, n);
        ask_for(&m, 2 * (u0 + u + ROWS_AHEAD) + 1, j0, n);
        for (ptrdiff_t j = 0; j < n; j += VW)
            vstore(panel + u * width + j,
                   across(&m, 2 * (u0 + u), 2 * (u0 + u) + 1 < x->K, j0 + j, least(n - j, VW)));
    }
    for (ptrdiff_t j = 0; j < n && x->tb; j += VW)
        for (ptrdiff_t u = 0; u < uc; u += VW) {
            vec v[VW];
            for (int i = 0; i < VW; i++)
                v[i] =
                    i < n - j ? along(&m, j0 + j + i, 2 * (u0 + u), x->K - 2 * (u0 + u)) : vzero();
            for (int i = 0; i < VW; i++) ask_for(&m, j0 + j + VW + i, 2 * (u0 + u), UNIT_PAIR);
            vtranspose(v);
            for (int i = 0; i < VW && i < uc - u; i++) vstore(panel + (u + i) * width + j, v[i]);
        }
}

/* A piece is GEMM_DEPTH numbers deep, so a part of a panel. */
static void pack(const gemm *x, ptrdiff_t piece, real *packed)
{
    ptrdiff_t depths = lcsm_gemm_depths(x->K), width = panel_vecs(x->N) * VW, K = units_of(x->K);
    ptrdiff_t u0 = piece % depths * (GEMM_DEPTH / 2), uc = least(K - u0, GEMM_DEPTH / 2);
    ptrdiff_t k0 = u0 / GEMM_DEPTH * GEMM_DEPTH, kc = least(K - k0, GEMM_DEPTH);
    ptrdiff_t first = piece / depths * GEMM_COLS, end = least(first + GEMM_COLS, x->N);
    for (ptrdiff_t j = first; j < end; j += width) {
        ptrdiff_t n = least(end - j, width);
        pack_panel(x, u0, uc, j, n, packed + k0 * pad(x->N) + j * kc + (u0 - k0) * pad(n));
    }
}

/* Columns of A, tile by tile: for each unit its rows. */
static void place_columns(const block *b, const gemm *x, const matrix *m, real *ws)
{
    ptrdiff_t low = b->mc / b->tiles, high = b->mc % b->tiles;
    for (ptrdiff_t k = 0; k < b->kc; k++) {
        real     *t   = ws;
        ptrdiff_t row = 2 * (b->k0 + k), col = b->i0;
        if (k + AHEAD < b->kc) {
            ask_for(m, row + 2 * AHEAD, col, b->mc);
            ask_for(m, row + 2 * AHEAD + 1, col, b->mc);
        }
        for (ptrdiff_t j = 0; j < b->tiles; j++) {
            ptrdiff_t n = low + (j < high);
            vstore_n(t + k * n, across(m, row, row + 1 < x->K, col, n), n);
            col += n;
            t += n * b->kc;
        }
    }
}

static void place_rows(const block *b, const gemm *x, const matrix *m, real *ws)
{
    for (ptrdiff_t i = 0; i < b->mc; i++)
        for (ptrdiff_t k = 0; k < b->kc; k += VW) {
            ptrdiff_t col = 2 * (b->k0 + k);
            if (i + 1 < b->mc) ask_for(m, b->i0 + i + 1, col, UNIT_PAIR);
            vstore_n(ws + i * b->kc + k, along(m, b->i0 + i, col, x->K - col),
                     least(b->kc - k, VW));
        }
}

static later memory_of(const gemm *units, ptrdiff_t i, ptrdiff_t m, ptrdiff_t k, ptrdiff_t kc)
{
    const gemm *x     = ((const product *)(const void *)units)->x;
    ptrdiff_t   depth = least(x->K - 2 * k, 2 * kc), cols = x->ta ? m : depth;
    ptrdiff_t   row = x->ta ? 2 * k : i, col = x->ta ? i : 2 * k;
    later       l = {.rows = x->ta ? depth : m, .at = x->A, .step = x->lda};
    if (x->a_type == LCSM_WEIGHT_REAL) {
        l.at += row * x->lda + col;
        l.lines = (cols + CACHE_LINE - 1) / CACHE_LINE;
    } else if (x->lda % 4 == 0 && (uintptr_t)x->a_blocks % 4 == 0) {
        l.step  = x->lda / 4;
        l.at    = (const real *)(const void *)x->a_blocks + row * l.step + col / 2;
        l.lines = (cols + 2 * CACHE_LINE - 1) / (2 * CACHE_LINE);
    }
    return l;
}

static void place_a(block *b, bool many, real *ws)
{
    const gemm *x = ((const product *)(const void *)b->x)->x;
    matrix      m = matrix_of(x->a_type, x->A, x->a_blocks, x->lda);
    (void)many;
    b->a   = b->x->bf16 ? ws : b->x->A + b->i0 * b->x->lda + b->k0;
    b->ar  = b->x->bf16 ? b->kc : b->x->lda;
    b->ad  = 1;
    b->row = b->ar;
    if (!b->x->bf16) return;
    if (!x->ta) {
        place_rows(b, x, &m, ws);
        return;
    }
    place_columns(b, x, &m, ws);
    b->ar = 1;
    b->ad = 0;
}

/* ---- the product ---- */

/* Rows of A are rows of units if they begin and end with whole units, where a float may lie. */
static bool is_in_place(const gemm *x)
{
    return !x->ta && x->a_type == LCSM_WEIGHT_BF16 && x->K % 2 == 0 && x->lda % 4 == 0
        && (uintptr_t)x->a_blocks % 4 == 0;
}

static void run(const gemm *x, const real *packed, real *ws)
{
    product p    = {.units = *x, .x = x};
    p.units.K    = units_of(x->K);
    p.units.bf16 = !is_in_place(x);
    p.units.A    = (const real *)(const void *)x->a_blocks;
    p.units.lda  = x->lda / 4;
    run_blocks(&p.units, packed, ws);
}

/* ---- arrays ---- */

static void narrow(ptrdiff_t n, const real *from, uint16_t *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_bits)(from[j]);
}

static void widen(ptrdiff_t n, const uint16_t *from, real *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_real)(from[j]);
}

const R_(lcsm_bf16_kernels) K_(lcsm_bf16_products) = {pack, run, narrow, widen};
