/* tile.c - products of small matrices in tiles of registers (tile_run.h), of rows, and turned. */
#include "kernel/gemm/tile.h"

#include "kernel/gemm/transpose.h"

#define TILE_EACH(p)         vset1(*(p))
#define TILE_SUM_OF(v, e, b) ((v) + (e) * (b))
#define TILE_STEPS_TO(row)   (row)
#define TILE_STEPS_FROM(row) (row)
#include "kernel/gemm/tile_run.h"

void K_(lcsm_tile)(ptrdiff_t first, ptrdiff_t next, int vecs, const lcsm_product *p, int count,
                   const lcsm_target *t)
{
    TILES[vecs - 1][next - first - 1](first, 1, p, count, t);
}

void K_(lcsm_tiles)(ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                    const lcsm_target *t)
{
    tiles_from(0, rows, vecs, p, count, t);
}

/* ---- triangles --------------------------------------------------------------------------- */

/* BLOCK_ROWS rows of A by four of B: sums of vectors, as many as there are registers for, added up
 * at last. */
#if VEC_REGISTERS == 32
#define BLOCK_ROWS 4
#define BLOCK(X)   X(0) X(1) X(2) X(3)
#else
#define BLOCK_ROWS 2
#define BLOCK(X)   X(0) X(1)
#endif
#define BLOCK_COLS(X) X(0) X(1) X(2) X(3)

/* Rows beyond `rows` are taken to be the last one. */
VEC_INLINE const real *row_of(const real *p, ptrdiff_t r, ptrdiff_t stride, ptrdiff_t rows)
{
    return p + (r < rows ? r : rows - 1) * stride;
}

/* Row r + i of C has columns up to until[i]; A has `rows` rows, B has `b_rows`. */
static void dots_block(ptrdiff_t rows, ptrdiff_t b_rows, ptrdiff_t r, ptrdiff_t s,
                       const ptrdiff_t *until, const lcsm_rows *p, real *c, ptrdiff_t cr)
{
    const ptrdiff_t depth = p->depth, a_block = p->a_block, b_block = p->b_block;
#define X(i)                                                                                       \
    const real *a##i    = row_of(p->a, r + i, p->ar, rows);                                        \
    vec         s##i##0 = vzero(), s##i##1 = s##i##0, s##i##2 = s##i##0, s##i##3 = s##i##0;
    BLOCK(X)
#undef X
#define X(i) const real *b##i = row_of(p->b, s + i, p->br, b_rows);
    BLOCK_COLS(X)
#undef X
    ptrdiff_t blocks = p->blocks;
    do {
        for (ptrdiff_t k = 0; k < depth; k += VW) {
            vec y0 = vload(b0 + k), y1 = vload(b1 + k), y2 = vload(b2 + k), y3 = vload(b3 + k);
#define X(i)                                                                                       \
    vec x##i = vload(a##i + k);                                                                    \
    s##i##0 += x##i * y0;                                                                          \
    s##i##1 += x##i * y1;                                                                          \
    s##i##2 += x##i * y2;                                                                          \
    s##i##3 += x##i * y3;
            BLOCK(X)
#undef X
        }
#define X(i) a##i += a_block;
        BLOCK(X)
#undef X
#define X(i) b##i += b_block;
        BLOCK_COLS(X)
#undef X
    } while (--blocks > 0);
#define X(i)                                                                                       \
    if (r + i < rows && until[i] >= s) {                                                           \
        ptrdiff_t n = until[i] - s + 1;                                                            \
        vsums4(s##i##0, s##i##1, s##i##2, s##i##3, c + (r + i) * cr + s, n < 4 ? n : 4);           \
    }
    BLOCK(X)
#undef X
}

void K_(lcsm_dots_lower)(ptrdiff_t rows, const lcsm_rows *p, real *c, ptrdiff_t cr, real *diag)
{
    for (ptrdiff_t r = 0; r < rows; r += BLOCK_ROWS) {
        const ptrdiff_t until[] = {r, r + 1, r + 2, r + 3};
        for (ptrdiff_t s = 0; s <= r; s += 4) dots_block(rows, rows, r, s, until, p, c, cr);
    }
    for (ptrdiff_t r = 0; diag != NULL && r < rows; r++) {
        diag[r]       = c[r * cr + r];
        c[r * cr + r] = 0;
    }
}

void K_(lcsm_dots_until)(ptrdiff_t rows, const ptrdiff_t *until, const lcsm_rows *p, real *c,
                         ptrdiff_t cr, ptrdiff_t cols, real *diag)
{
    for (ptrdiff_t r = 0; r < rows; r += BLOCK_ROWS) {
        ptrdiff_t last = until[r + BLOCK_ROWS <= rows ? r + BLOCK_ROWS - 1 : rows - 1];
        for (ptrdiff_t i = r; i < r + BLOCK_ROWS && i < rows; i++)
            memset(c + i * cr, 0, (size_t)cols * sizeof(real));
        for (ptrdiff_t s = 0; s <= last; s += 4)
            dots_block(rows, last + 1, r, s, until + r, p, c, cr);
    }
    for (ptrdiff_t r = 0; diag != NULL && r < rows; r++) {
        diag[r]              = c[r * cr + until[r]];
        c[r * cr + until[r]] = 0;
    }
}

/* ---- transposition ---------------------------------------------------------------------- */

void K_(lcsm_transpose)(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                        ptrdiff_t dr)
{
    for (ptrdiff_t r = 0; r < rows; r += VW)
        for (ptrdiff_t c = 0; c < cols; c += VW) {
            vec v[VW];
            if (rows - r >= VW)
                for (int i = 0; i < VW; i++) v[i] = vload(src + (r + i) * sr + c);
            else
                for (int i = 0; i < VW; i++)
                    v[i] = i < rows - r ? vload(src + (r + i) * sr + c) : vzero();
            vtranspose(v);
            for (int i = 0; i < VW; i++) vstore(dst + (c + i) * dr + r, v[i]);
        }
}
