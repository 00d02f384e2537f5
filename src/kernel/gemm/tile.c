/*
 * tile.c - products of small matrices in tiles of registers.
 *
 * The accumulators are named variables, not an array: compilers keep those in registers. One
 * inline body serves all tile sizes; where `rows` or `vecs` is a constant, unused rows vanish.
 */
#include "kernel/gemm/tile.h"

#include "base/sanitizer.h"
#include "kernel/gemm/transpose.h"

/* A sanitizer would put its checks into every copy of the body, which takes minutes to compile;
 * there the one body is a function, and does the same. */
#if LCSM_ASAN || LCSM_TSAN
#define TILE_BODY static __attribute__((noinline))
#else
#define TILE_BODY VEC_INLINE
#endif

#if VEC_REGISTERS == 32
#define ROWS TILE_ROWS_14
#else
#define ROWS TILE_ROWS_6
#endif

/* Writes one vector of C. */
TILE_BODY void put(real *p, vec sum, lcsm_tile_op op, const lcsm_target *t, ptrdiff_t row,
                   ptrdiff_t lane)
{
    if (op == TILE_ADD || op == TILE_DECAY || op == TILE_DECAY2) sum += vload(p);
    if (op == TILE_SUM) sum += vload(t->col + row * t->col_r + lane);
    if (op == TILE_SCALE) sum *= vload(t->col + row * t->col_r + lane);
    if (op == TILE_DECAY || op == TILE_DECAY2) sum *= t->row[row];
    if (op == TILE_DECAY2) sum *= vload(t->col + lane);
    vstore(p, sum);
}

/* `tiles` tiles of `rows` rows each, from row `first` on. */
TILE_BODY void tile(int rows, int vecs, ptrdiff_t first, ptrdiff_t tiles, const lcsm_product *p,
                    int count, const lcsm_target *t)
{
    const ptrdiff_t cr = t->cr;
    real           *c  = t->c + first * cr;
    for (; tiles > 0; tiles--, first += rows, c += rows * cr) {
        ROWS(TILE_ZERO)
        for (const lcsm_product *q = p; q < p + count; q++) {
            ptrdiff_t   ar = q->ar, ad = q->ad, bd = q->bd, blocks = q->blocks;
            const real *a = q->a + first * ar, *b = q->b;
            ptrdiff_t   from = 0, to = q->depth;
            if (q->part == TILE_LOWER) to = first + rows;
            if (q->part == TILE_BELOW) to = first;
            if (q->part == TILE_UPPER) from = first;
            if (q->part == TILE_ABOVE) from = first + rows;
            a += from * ad;
            b += from * bd;
            do {
                const real *q0 = a, *q1 = a + 3 * ar, *q2 = a + 6 * ar, *q3 = a + 9 * ar,
                           *q4 = a + 12 * ar;
                ptrdiff_t left = to - from;
                while (left > 0) {
                    ptrdiff_t n = left < TILE_AHEAD_STEPS ? left : TILE_AHEAD_STEPS;
                    left -= n;
                    if (t->ahead != NULL) lcsm_ahead_more(t->ahead);
                    VEC_UNROLL_BY(TILE_AT_ONCE)
                    for (; n > 0; n--) {
                        TILE_LOAD(b)
                        ROWS(TILE_STEP)
                        q0 += ad, q1 += ad, q2 += ad, q3 += ad, q4 += ad;
                        b += bd;
                        TILE_APART(q0, q1)
                    }
                }
                a += q->a_block;
            } while (--blocks > 0);
        }
#define Y(v, j)                                                                                    \
    if (j < vecs) put(to + j * VW, v, (lcsm_tile_op)OP, t, row, j * VW);
#define X(i, g, o)                                                                                 \
    if (i < rows) {                                                                                \
        real     *to  = c + i * cr;                                                                \
        ptrdiff_t row = first + i;                                                                 \
        TILE_ROW(Y, i)                                                                             \
    }
#define PUT_ALL(op)                                                                                \
    case op: {                                                                                     \
        enum { OP = op };                                                                          \
        ROWS(X)                                                                                    \
        break;                                                                                     \
    }
        switch (t->op) {
            PUT_ALL(TILE_SET)
            PUT_ALL(TILE_ADD)
            PUT_ALL(TILE_SUM)
            PUT_ALL(TILE_SCALE)
            PUT_ALL(TILE_DECAY)
            PUT_ALL(TILE_DECAY2)
        }
#undef PUT_ALL
#undef X
#undef Y
    }
}

typedef void tile_fn(ptrdiff_t first, ptrdiff_t tiles, const lcsm_product *p, int count,
                     const lcsm_target *t);

/* The functions of tiles n vectors wide, for X in their rows. */
#define TILE_FN(i, n)                                                                              \
    static void tile_##i##_##n(ptrdiff_t first, ptrdiff_t tiles, const lcsm_product *p, int count, \
                               const lcsm_target *t)                                               \
    {                                                                                              \
        tile(i + 1, n, first, tiles, p, count, t);                                                 \
    }

#define X1(i, g, o) TILE_FN(i, 1)
#define X2(i, g, o) TILE_FN(i, 2)
#define N1(i, g, o) tile_##i##_1,
#define N2(i, g, o) tile_##i##_2,
ROWS(X1)
ROWS(X2)
#if VEC_REGISTERS == 32
#define X3(i, g, o) TILE_FN(i, 3)
#define X4(i, g, o) TILE_FN(i, 4)
#define N3(i, g, o) tile_##i##_3,
#define N4(i, g, o) tile_##i##_4,
TILE_ROWS_9(X3)
TILE_ROWS_6(X4)
static tile_fn *const TILES[TILE_VECS][14] = {
    {ROWS(N1)}, {ROWS(N2)}, {TILE_ROWS_9(N3)}, {TILE_ROWS_6(N4)}};
#else
static tile_fn *const TILES[TILE_VECS][6] = {{ROWS(N1)}, {ROWS(N2)}};
#endif

void K_(lcsm_tile)(ptrdiff_t first, ptrdiff_t next, int vecs, const lcsm_product *p, int count,
                   const lcsm_target *t)
{
    TILES[vecs - 1][next - first - 1](first, 1, p, count, t);
}

/* Rows first .. first + rows - 1. */
static void tiles_from(ptrdiff_t first, ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                       const lcsm_target *t)
{
    ptrdiff_t       tiles = lcsm_tile_count(rows, vecs), size = rows / tiles, more = rows % tiles;
    tile_fn *const *fn = TILES[vecs - 1];
    if (more > 0) fn[size](first, more, p, count, t);
    fn[size - 1](first + more * (size + 1), tiles - more, p, count, t);
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
