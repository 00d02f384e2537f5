/*
 * tile.c - products of small matrices in tiles of registers.
 *
 * The accumulators are named variables, not an array: compilers keep those in registers. One
 * inline body serves all tile sizes; where `rows` or `vecs` is a constant, unused rows vanish.
 */
#include "kernel/gemm/tile.h"

/* X(row): every row of the largest tile. */
#if TILE_ROWS == 12
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#else
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#endif

/* C = f(C, S) for a row: p points to it in C. */
VEC_INLINE void put(real *p, vec sum, lcsm_tile_op op, const lcsm_target *t, ptrdiff_t row,
                    ptrdiff_t lane)
{
    switch (op) {
    case TILE_SET: break;
    case TILE_ADD: sum += vload(p); break;
    case TILE_SCALE: sum *= vload(t->col + row * t->col_r + lane); break;
    case TILE_DECAY:
        sum = (sum + vload(p)) * t->row[row];
        if (t->col != NULL) sum *= vload(t->col + lane);
        break;
    }
    vstore(p, sum);
}

VEC_INLINE void tile(int rows, int vecs, ptrdiff_t first, const lcsm_product *p, int count,
                     const lcsm_target *t)
{
#define X(i) vec s##i = vzero(), t##i = vzero();
    ROWS(X)
#undef X
    for (const lcsm_product *end = p + count; p < end; p++) {
        ptrdiff_t   ar = p->ar, ad = p->ad, bd = p->bd, blocks = p->blocks;
        const real *a = p->a + first * ar, *b = p->b;
        ptrdiff_t   from = 0, to = p->depth;
        if (p->part == TILE_LOWER) to = first + rows;
        if (p->part == TILE_BELOW) to = first;
        if (p->part == TILE_UPPER) from = first;
        if (p->part == TILE_ABOVE) from = first + rows;
        a += from * ad;
        b += from * bd;
        do {
            const real *q = a;
            for (ptrdiff_t n = to - from; n > 0; n--) {
                vec u = vload(b), v = vecs > 1 ? vload(b + VW) : u;
#define X(i)                                                                                       \
    if (i < rows) {                                                                                \
        vec w = vset1(q[i * ar]);                                                                  \
        s##i += w * u;                                                                             \
        if (vecs > 1) t##i += w * v;                                                               \
    }
                ROWS(X)
#undef X
                q += ad;
                b += bd;
            }
            a += p->a_block;
        } while (--blocks > 0);
    }
    real        *c  = t->c + first * t->cr;
    ptrdiff_t    cr = t->cr;
    lcsm_tile_op op = t->op;
#define X(i)                                                                                       \
    if (i < rows) {                                                                                \
        put(c + i * cr, s##i, op, t, first + i, 0);                                                \
        if (vecs > 1) put(c + i * cr + VW, t##i, op, t, first + i, VW);                            \
    }
    switch (op) {
    case TILE_SET: op = TILE_SET; ROWS(X) break;
    case TILE_ADD: op = TILE_ADD; ROWS(X) break;
    case TILE_SCALE: op = TILE_SCALE; ROWS(X) break;
    case TILE_DECAY: op = TILE_DECAY; ROWS(X) break;
    }
#undef X
}

typedef void tile_fn(ptrdiff_t first, const lcsm_product *p, int count, const lcsm_target *t);

#define X(i)                                                                                       \
    static void tile_##i##_1(ptrdiff_t first, const lcsm_product *p, int count,                    \
                             const lcsm_target *t)                                                 \
    {                                                                                              \
        tile(i + 1, 1, first, p, count, t);                                                        \
    }                                                                                              \
    static void tile_##i##_2(ptrdiff_t first, const lcsm_product *p, int count,                    \
                             const lcsm_target *t)                                                 \
    {                                                                                              \
        tile(i + 1, 2, first, p, count, t);                                                        \
    }
ROWS(X)
#undef X

#define X(i) {tile_##i##_1, tile_##i##_2},
static tile_fn *const TILES[TILE_ROWS][TILE_VECS] = {ROWS(X)};
#undef X

void K_(lcsm_tile)(ptrdiff_t first, ptrdiff_t next, int vecs, const lcsm_product *p, int count,
                   const lcsm_target *t)
{
    TILES[next - first - 1][vecs - 1](first, p, count, t);
}

void K_(lcsm_tiles)(ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                    const lcsm_target *t)
{
    ptrdiff_t tiles = lcsm_tile_count(rows), first = 0;
    for (ptrdiff_t j = 0; j < tiles; j++) {
        ptrdiff_t next = lcsm_tile_first(rows, tiles, j + 1);
        TILES[next - first - 1][vecs - 1](first, p, count, t);
        first = next;
    }
}

/* Zeros above the diagonal of rows first .. next - 1, in their own columns only. */
static void clear_upper(real *c, ptrdiff_t cr, ptrdiff_t first, ptrdiff_t next, real *diag)
{
    for (ptrdiff_t r = first; r < next; r++) {
        real *row = c + r * cr;
        for (ptrdiff_t s = r + 1; s < next; s++) row[s] = 0;
        if (diag == NULL) continue;
        diag[r] = row[r];
        row[r]  = 0;
    }
}

void K_(lcsm_tiles_lower)(ptrdiff_t rows, const lcsm_product *p, real *c, ptrdiff_t cr, real *diag)
{
    ptrdiff_t tiles = lcsm_tile_count(rows), first = 0;
    for (ptrdiff_t j = 0; j < tiles; j++) {
        ptrdiff_t next = lcsm_tile_first(rows, tiles, j + 1);
        for (ptrdiff_t lane = 0; lane < next; lane += TILE_COLS) {
            int          vecs = next - lane > VW ? 2 : 1;
            lcsm_product q    = *p;
            q.b += lane;
            lcsm_target t = {.c = c + lane, .cr = cr, .op = TILE_SET};
            TILES[next - first - 1][vecs - 1](first, &q, 1, &t);
        }
        clear_upper(c, cr, first, next, diag);
        first = next;
    }
}

/* ---- transposition ---------------------------------------------------------------------- */

/* Step h of a transposition swaps the h-wide halves of 2h x 2h blocks: from rows i and i + h,
 * LOW takes the elements whose index has bit h clear, HIGH those that have it set. */
#if VW == 16
#define LOW_1  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define LOW_2  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW_4  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_8  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#elif VW == 8
#define LOW_1  0, 8, 2, 10, 4, 12, 6, 14
#define HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define LOW_2  0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_4  0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#elif VW == 4
#define LOW_1  0, 4, 2, 6
#define HIGH_1 1, 5, 3, 7
#define LOW_2  0, 1, 4, 5
#define HIGH_2 2, 3, 6, 7
#else
#define LOW_1  0, 2
#define HIGH_1 1, 3
#endif

#define SWAP_HALVES(h)                                                                             \
    for (int i = 0; i < VW; i++)                                                                   \
        if ((i & h) == 0) {                                                                        \
            vec low  = __builtin_shufflevector(v[i], v[i + h], LOW_##h);                           \
            vec high = __builtin_shufflevector(v[i], v[i + h], HIGH_##h);                          \
            v[i]     = low;                                                                        \
            v[i + h] = high;                                                                       \
        }

VEC_INLINE void transpose_block(vec v[VW])
{
    SWAP_HALVES(1)
#if VW >= 4
    SWAP_HALVES(2)
#endif
#if VW >= 8
    SWAP_HALVES(4)
#endif
#if VW >= 16
    SWAP_HALVES(8)
#endif
}

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
            transpose_block(v);
            for (int i = 0; i < VW; i++) vstore(dst + (c + i) * dr + r, v[i]);
        }
}
