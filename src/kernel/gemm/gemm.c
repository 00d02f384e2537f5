/*
 * gemm.c - the matrix product by tiles of registers over packed panels (gemm_blocks.h).
 *
 * Rows of A are read where they lie, columns are packed tile by tile. Numbers of bfloat16 are
 * reals that were rounded: A is always packed then.
 */
#include "kernel/bf16.h"
#include "kernel/gemm/blocks_dot.h"
#include "kernel/gemm/dots.h"
#include "kernel/gemm/transpose.h"

#define GEMM_EACH(p)       vset1(*(p))
#define GEMM_TERM(v, e, b) ((v) + (e) * (b))
#define GEMM_SUM(v, alpha) (v)
#define GEMM_ASK_STEPS     4
#include "kernel/gemm/gemm_blocks.h"

/* ---- packing ---- */

/* rows x cols, dst[col][row] = src[row][col]; src is not read beyond its columns. */
static void transpose(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                      ptrdiff_t dr)
{
    ptrdiff_t whole_rows = rows / VW * VW, whole = cols / VW * VW;
    K_(lcsm_transpose)(whole_rows, whole, src, sr, dst, dr);
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = r < whole_rows ? whole : 0; c < cols; c++)
            dst[c * dr + r] = src[r * sr + c];
}

/* The same of memory that is read for the first time: VW rows at once are more streams than the
 * processor sees by itself, so those of the next VW are asked for. */
static void transpose_far(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                          ptrdiff_t dr)
{
    for (; rows >= VW; rows -= VW, src += VW * sr, dst += VW) {
        ptrdiff_t c = 0;
        for (; c + VW <= cols; c += VW) {
            vec v[VW];
            for (int i = 0; i < VW; i++) v[i] = vload(src + i * sr + c);
            for (int i = 0; i < VW && c % CACHE_LINE == 0; i++) ask_now(src + (VW + i) * sr + c);
            vtranspose(v);
            for (int i = 0; i < VW; i++) vstore(dst + (c + i) * dr, v[i]);
        }
        for (; c < cols; c++)
            for (int i = 0; i < VW; i++) dst[c * dr + i] = src[i * sr + c];
    }
    if (rows > 0) transpose(rows, cols, src, sr, dst, dr);
}

/* rows x cols, dst[row][col] = src[row][col], vector by vector. */
static void copy(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                 ptrdiff_t dr)
{
    ptrdiff_t whole = cols / VW * VW;
    for (ptrdiff_t r = 0; r < rows; r++, src += sr, dst += dr) {
        ask_now(src + 8 * sr);
        ask_now(src + 8 * sr + cols - 1);
        for (ptrdiff_t c = 0; c < whole; c += VW) vstore(dst + c, vload(src + c));
        if (whole < cols) vstore_n(dst + whole, vload_n(src + whole, cols - whole), cols - whole);
    }
}

/* The same from blocks, n <= width columns. */
static void unpack_panel(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t n,
                         real *panel, ptrdiff_t width)
{
    VEC_ALIGNED real rows[WIDE * VW * GEMM_DEPTH];
    gemm             at = *x;
    R_(lcsm_gemm_skip)(&at, j0, k0);
    for (ptrdiff_t j = 0; j < n; j++)
        K_(lcsm_blocks_unpack)(x->type, at.blocks + j * x->ldb, kc, rows + j * GEMM_DEPTH);
    transpose(n, kc, rows, GEMM_DEPTH, panel, width);
}

/* n numbers of a row of A or B as it is stored, rounded to bfloat16. */
static void round_row(const gemm *x, bool of_a, ptrdiff_t row, ptrdiff_t col, ptrdiff_t n, real *to)
{
    ptrdiff_t            ld     = of_a ? x->lda : x->ldb;
    const unsigned char *blocks = of_a ? x->a_blocks : x->blocks;
    lcsm_weight_type     type   = of_a ? x->a_type : x->type;
    if (type != LCSM_WEIGHT_REAL) {
        K_(lcsm_blocks_unpack)(type, blocks + row * ld + 2 * col, n, to);
        return;
    }
    const real *from = (of_a ? x->A : x->B) + row * ld + col;
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_real)(R_(lcsm_bf16_bits)(from[j]));
}

/* kc x n of op(B) in bfloat16. */
static void round_panel(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t n,
                        real *panel, ptrdiff_t width)
{
    VEC_ALIGNED real rows[WIDE * VW * GEMM_DEPTH];
    for (ptrdiff_t k = 0; k < kc && !x->tb; k++)
        round_row(x, false, k0 + k, j0, n, panel + k * width);
    for (ptrdiff_t j = 0; j < n && x->tb; j++)
        round_row(x, false, j0 + j, k0, kc, rows + j * GEMM_DEPTH);
    if (x->tb) transpose(n, kc, rows, GEMM_DEPTH, panel, width);
}

/* Rows k0 .. k0 + kc - 1 of op(B), n columns from j0 on, times alpha; zeros up to the width. */
static void pack_panel(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t n,
                       real *panel)
{
    ptrdiff_t width = pad(n);
    if (n < width) memset(panel, 0, (size_t)(kc * width) * sizeof(real));
    if (x->bf16) round_panel(x, k0, kc, j0, n, panel, width);
    else if (x->type != LCSM_WEIGHT_REAL) unpack_panel(x, k0, kc, j0, n, panel, width);
    else if (x->tb) transpose_far(n, kc, x->B + j0 * x->ldb + k0, x->ldb, panel, width);
    else copy(kc, n, x->B + k0 * x->ldb + j0, x->ldb, panel, width);
    for (ptrdiff_t j = 0; j < kc * width && x->alpha != 1; j += VW)
        vstore(panel + j, vload(panel + j) * x->alpha);
}

static void pack(const gemm *x, ptrdiff_t piece, real *packed)
{
    ptrdiff_t depths = lcsm_gemm_depths(x->K), width = panel_vecs(x->N) * VW;
    ptrdiff_t k0 = piece % depths * GEMM_DEPTH, kc = least(x->K - k0, GEMM_DEPTH);
    ptrdiff_t first = piece / depths * GEMM_COLS, end = least(first + GEMM_COLS, x->N);
    for (ptrdiff_t j = first; j < end; j += width)
        pack_panel(x, k0, kc, j, least(end - j, width), packed + k0 * pad(x->N) + j * kc);
}

/* Columns i0 .. i0 + mc - 1 of A, kc numbers each, tile by tile: for each step its rows. */
static void pack_columns(const gemm *x, ptrdiff_t i0, ptrdiff_t mc, ptrdiff_t k0, ptrdiff_t kc,
                         ptrdiff_t tiles, real *to)
{
    ptrdiff_t low = mc / tiles, high = mc % tiles;
    real      rounded[GEMM_ROWS];
    for (ptrdiff_t k = 0; k < kc; k++) {
        const real *from = x->bf16 ? rounded : x->A + (k0 + k) * x->lda + i0;
        real       *t    = to;
        if (x->bf16) round_row(x, true, k0 + k, i0, mc, rounded);
        for (ptrdiff_t j = 0; j < mc && k + 6 < kc && !x->bf16; j += CACHE_LINE)
            ask_now(from + 6 * x->lda + j);
        for (ptrdiff_t j = 0; j < tiles; j++) {
            ptrdiff_t n = low + (j < high);
            put_few(t + k * n, from, n);
            from += n;
            t += n * kc;
        }
    }
}

/* Rows of A in bfloat16. */
static void place_rounded(block *b, real *ws)
{
    for (ptrdiff_t i = 0; i < b->mc; i++)
        round_row(b->x, true, b->i0 + i, b->k0, b->kc, ws + i * b->kc);
    b->a   = ws;
    b->ar  = b->kc;
    b->ad  = 1;
    b->row = b->kc;
}

static later memory_of(const gemm *units, ptrdiff_t i, ptrdiff_t m, ptrdiff_t k, ptrdiff_t kc)
{
    if (units->bf16) return (later){.lines = 0};
    return (later){
        .at    = units->ta ? units->A + k * units->lda + i : units->A + i * units->lda + k,
        .rows  = units->ta ? kc : m,
        .lines = ((units->ta ? m : kc) + CACHE_LINE - 1) / CACHE_LINE,
        .step  = units->lda,
    };
}

/* Columns of A are packed unless one panel is all that meets them. */
static void place_a(block *b, bool many, real *ws)
{
    const gemm *x      = b->x;
    bool        packed = x->ta && (x->bf16 || many);
    if (x->bf16 && !x->ta) {
        place_rounded(b, ws);
        return;
    }
    if (packed) pack_columns(x, b->i0, b->mc, b->k0, b->kc, b->tiles, ws);
    b->a   = packed ? ws : x->ta ? x->A + b->k0 * x->lda + b->i0 : x->A + b->i0 * x->lda + b->k0;
    b->ar  = x->ta ? 1 : x->lda;
    b->ad  = x->ta ? x->lda : 1;
    b->row = b->ar;
    if (!packed) return;
    b->ad  = 0;
    b->row = b->kc;
}

static void run(const gemm *x, const real *packed, real *ws)
{
    run_blocks(x, packed, ws);
}

static void dots(const gemm *x)
{
    if (x->type == LCSM_WEIGHT_REAL) K_(lcsm_gemm_dots)(x);
    else K_(lcsm_blocks_dots)(x);
}

/* ---- bfloat16: rounded reals ---- */

static void narrow(ptrdiff_t n, const real *from, uint16_t *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_bits)(from[j]);
}

static void widen(ptrdiff_t n, const uint16_t *from, real *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_real)(from[j]);
}

const R_(lcsm_bf16_kernels) K_(lcsm_bf16_products) = {pack, run, narrow, widen};
const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {pack, run, dots, K_(lcsm_blocks_unpack),
                                                      K_(lcsm_blocks_levels)};
