/*
 * kernel/gemm/tile_run.h - the tiles of tile.h, for the sources that say what a step adds up.
 *
 * The accumulators are named variables, not an array: compilers keep those in registers. One
 * inline body serves all tile sizes; where `rows` or `vecs` is a constant, unused rows vanish.
 *
 * The source defines, over units as large as a real:
 *
 *   TILE_EACH(p)         the unit at p in every lane
 *   TILE_SUM_OF(v, e, b) v and the products of e and b
 *   TILE_STEPS_TO(row)   steps of depth that hold the columns of a triangle before this row, or
 *   TILE_STEPS_FROM(row) those that it passes over
 */
#ifndef LCSM_KERNEL_TILE_RUN_H
#define LCSM_KERNEL_TILE_RUN_H
#include "base/sanitizer.h"
#include "kernel/gemm/tile.h"

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
            if (q->part == TILE_LOWER) to = TILE_STEPS_TO(first + rows);
            if (q->part == TILE_BELOW) to = TILE_STEPS_TO(first);
            if (q->part == TILE_UPPER) from = TILE_STEPS_FROM(first);
            if (q->part == TILE_ABOVE) from = TILE_STEPS_FROM(first + rows);
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

/* Rows first .. first + rows - 1. */
static void tiles_from(ptrdiff_t first, ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                       const lcsm_target *t)
{
    ptrdiff_t       tiles = lcsm_tile_count(rows, vecs), size = rows / tiles, more = rows % tiles;
    tile_fn *const *fn = TILES[vecs - 1];
    if (more > 0) fn[size](first, more, p, count, t);
    fn[size - 1](first + more * (size + 1), tiles - more, p, count, t);
}

#endif
