/*
 * gemm.c - the matrix product by register tiles (tile.h) over packed blocks.
 *
 * A block of op(B), KC deep and NC wide, is packed into panels of TILE_COLS columns; a block of
 * op(A), MC rows, is packed by rows. Then the panels, which fit the first-level cache, meet the
 * rows of A, which come from the second.
 */
#include "kernel/gemm/gemm.h"

#include <string.h>

#include "kernel/gemm/tile.h"

_Static_assert(GEMM_PANEL % TILE_COLS == 0, "scratch is counted in panels");

typedef R_(lcsm_gemm) gemm;

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

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

/* ---- blocks ---- */

/* Rows k0 .. k0 + kc - 1 of op(B), n columns from j0 on, times alpha; zeros up to the width. */
static void pack_panel(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t n,
                       real *panel)
{
    if (n < TILE_COLS) memset(panel, 0, (size_t)(kc * TILE_COLS) * sizeof(real));
    if (x->tb) transpose(n, kc, x->B + j0 * x->ldb + k0, x->ldb, panel, TILE_COLS);
    else
        for (ptrdiff_t k = 0; k < kc; k++)
            memcpy(panel + k * TILE_COLS, x->B + (k0 + k) * x->ldb + j0, (size_t)n * sizeof(real));
    for (ptrdiff_t j = 0; j < kc * TILE_COLS && x->alpha != 1; j += VW)
        vstore(panel + j, vload(panel + j) * x->alpha);
}

static void pack_b(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t nc,
                   real *panels)
{
    for (ptrdiff_t j = 0; j < nc; j += TILE_COLS)
        pack_panel(x, k0, kc, j0 + j, least(nc - j, TILE_COLS), panels + j * kc);
}

/* Rows i0 .. i0 + mc - 1 of op(A), kc numbers each. */
static void pack_a(const gemm *x, ptrdiff_t i0, ptrdiff_t mc, ptrdiff_t k0, ptrdiff_t kc,
                   real *rows)
{
    if (x->ta) {
        transpose(kc, mc, x->A + k0 * x->lda + i0, x->lda, rows, kc);
        return;
    }
    for (ptrdiff_t i = 0; i < mc; i++)
        memcpy(rows + i * kc, x->A + (i0 + i) * x->lda + k0, (size_t)kc * sizeof(real));
}

/* mc rows with one panel of n columns. Part of a vector goes through spare, mc x TILE_COLS. */
static void sweep(ptrdiff_t mc, ptrdiff_t n, const real *rows, ptrdiff_t kc, const real *panel,
                  bool add, real *c, ptrdiff_t ldc, real *spare)
{
    int          vecs = (int)((n + VW - 1) / VW);
    bool         all  = n == vecs * VW;
    lcsm_product p    = {.a = rows, .ar = kc, .ad = 1, .b = panel, .bd = TILE_COLS, .depth = kc};
    lcsm_target  t    = {.c = c, .cr = ldc, .op = add ? TILE_ADD : TILE_SET};
    if (!all) t = (lcsm_target){.c = spare, .cr = TILE_COLS, .op = TILE_SET};
    K_(lcsm_tiles)(mc, vecs, &p, 1, &t);
    for (ptrdiff_t i = 0; i < mc && !all; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            c[i * ldc + j] = (add ? c[i * ldc + j] : 0) + spare[i * TILE_COLS + j];
}

static void block(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t j0, ptrdiff_t nc, real *ws)
{
    real *panels = ws, *rows = panels + kc * lcsm_gemm_part(nc, GEMM_NC);
    pack_b(x, k0, kc, j0, nc, panels);
    for (ptrdiff_t i = 0; i < x->M; i += GEMM_MC) {
        ptrdiff_t mc    = least(x->M - i, GEMM_MC);
        real     *spare = rows + lcsm_gemm_part(mc, GEMM_MC) * kc;
        pack_a(x, i, mc, k0, kc, rows);
        for (ptrdiff_t j = 0; j < nc; j += TILE_COLS)
            sweep(mc, least(nc - j, TILE_COLS), rows, kc, panels + j * kc, x->add || k0 > 0,
                  x->C + i * x->ldc + j0 + j, x->ldc, spare);
    }
}

static void clear(const gemm *x)
{
    for (ptrdiff_t i = 0; i < x->M; i++) memset(x->C + i * x->ldc, 0, (size_t)x->N * sizeof(real));
}

static void run(const gemm *x, real *ws)
{
    if (x->K == 0 && !x->add) clear(x);
    for (ptrdiff_t j = 0; j < x->N && x->M > 0; j += GEMM_NC)
        for (ptrdiff_t k = 0; k < x->K; k += GEMM_KC)
            block(x, k, least(x->K - k, GEMM_KC), j, least(x->N - j, GEMM_NC), ws);
}

/* ---- few rows ---- */

enum { DOTS = 4 };

/* One row of A with `count` <= DOTS rows of B. */
VEC_INLINE void dot_rows(int count, ptrdiff_t K, const real *a, const real *b, ptrdiff_t ldb,
                         real *out)
{
    vec       s[DOTS];
    ptrdiff_t k = 0;
    for (int j = 0; j < count; j++) s[j] = vzero();
    for (; k + VW <= K; k += VW) {
        vec v = vload(a + k);
        for (int j = 0; j < count; j++) s[j] += v * vload(b + j * ldb + k);
    }
    for (int j = 0; j < count; j++) out[j] = vsum(s[j]);
    for (; k < K; k++)
        for (int j = 0; j < count; j++) out[j] += a[k] * b[j * ldb + k];
}

static void dots(const gemm *x)
{
    for (ptrdiff_t j = 0; j < x->N; j += DOTS) {
        const real *b     = x->B + j * x->ldb;
        int         count = (int)least(x->N - j, DOTS);
        for (ptrdiff_t i = 0; i < x->M; i++) {
            const real *a = x->A + i * x->lda;
            real        out[DOTS], *c = x->C + i * x->ldc + j;
            if (count == DOTS) dot_rows(DOTS, x->K, a, b, x->ldb, out);
            else
                for (int r = 0; r < count; r++) dot_rows(1, x->K, a, b + r * x->ldb, 0, out + r);
            for (int r = 0; r < count; r++) c[r] = (x->add ? c[r] : 0) + x->alpha * out[r];
        }
    }
}

const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {run, dots};
