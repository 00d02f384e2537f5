/*
 * dots.c - products in dot form:  C = alpha A B^T,  B as it lies in memory.
 *
 * Four rows of B, which is the large operand, meet all rows of A, a few in registers at a time, so
 * B comes from memory once and nothing is packed. While one such group is in use the next one is
 * asked for. Every element of C is one sum by lanes over the depth, whatever the number of rows, so
 * a row of a product of many is bit-identical to that row by itself.
 */
#include "kernel/gemm/dots.h"

#include "kernel/vec.h"

typedef R_(lcsm_gemm) gemm;

/* A tile of sums leaves registers for its operands. */
#if VW == 16
enum { ROWS = 6 };
#else
enum { ROWS = 3 };
#endif
enum { COLS = 4, LINE = 64 / sizeof(real) };

/* Rows of A with a group of rows of B; the last of a smaller group stands in for those missing. */
typedef struct {
    const gemm *x;
    const real *a, *b[COLS];
    real       *c;
    ptrdiff_t   cols;
    const real *soon; /* what to ask for, a line each for the first steps */
    ptrdiff_t   asks;
} tile;

VEC_INLINE void step(int rows, const tile *t, ptrdiff_t k, vec s[ROWS][COLS])
{
    vec a[ROWS];
    VEC_UNROLL
    for (int r = 0; r < rows; r++) a[r] = vload(t->a + r * t->x->lda + k);
    VEC_UNROLL
    for (int j = 0; j < COLS; j++) {
        vec b = vload(t->b[j] + k);
        VEC_UNROLL
        for (int r = 0; r < rows; r++) s[r][j] += a[r] * b;
    }
}

/* The last n steps, fewer than a vector. */
VEC_INLINE void rest(int rows, const tile *t, ptrdiff_t k, ptrdiff_t n, vec s[ROWS][COLS])
{
    VEC_UNROLL
    for (int j = 0; j < COLS; j++) {
        vec b = vload_n(t->b[j] + k, n);
        VEC_UNROLL
        for (int r = 0; r < rows; r++) s[r][j] += vload_n(t->a + r * t->x->lda + k, n) * b;
    }
}

VEC_INLINE void put(int rows, const tile *t, vec s[ROWS][COLS])
{
    VEC_UNROLL
    for (int r = 0; r < rows; r++) {
        real  sums[COLS];
        real *c = t->c + r * t->x->ldc;
        vsums4(s[r][0], s[r][1], s[r][2], s[r][3], sums, COLS);
        for (ptrdiff_t j = 0; j < t->cols; j++)
            c[j] = (t->x->add ? c[j] : 0) + t->x->alpha * sums[j];
    }
}

VEC_INLINE void run_tile(int rows, const tile *given)
{
    const tile  at = *given, *t = &at;
    ptrdiff_t   K = t->x->K, k = 0;
    const real *soon = t->soon;
    vec         s[ROWS][COLS];
    VEC_UNROLL
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < COLS; j++) s[r][j] = vzero();
    for (ptrdiff_t ask = t->asks; ask > 0 && k + VW <= K; ask--, k += VW, soon += LINE) {
        __builtin_prefetch(soon, 0, 2);
        step(rows, t, k, s);
    }
    for (; k + VW <= K; k += VW) step(rows, t, k, s);
    if (k < K) rest(rows, t, k, K - k, s);
    put(rows, t, s);
}

#define TILE(rows)                                                                                 \
    static void tile_##rows(const tile *t)                                                         \
    {                                                                                              \
        run_tile(rows, t);                                                                         \
    }
TILE(1)
TILE(2) TILE(3)
#if VW == 16
    TILE(4) TILE(5) TILE(6)
#endif

        static void (*const TILES[ROWS])(const tile *t) = {
            tile_1, tile_2, tile_3,
#if VW == 16
            tile_4, tile_5, tile_6,
#endif
};

/* All rows of A, split evenly, with the group from row j of B on. */
static void group(const gemm *x, ptrdiff_t j)
{
    ptrdiff_t tiles = (x->M + ROWS - 1) / ROWS, cols = x->N - j < COLS ? x->N - j : COLS;
    ptrdiff_t lines = (COLS * x->ldb + LINE - 1) / LINE;
    tile      t     = {.x = x, .cols = cols, .soon = x->B + (j + COLS) * x->ldb};
    for (ptrdiff_t i = 0; i < COLS; i++) t.b[i] = x->B + (j + (i < cols ? i : cols - 1)) * x->ldb;
    if (tiles > 1 && j + 2 * COLS <= x->N) t.asks = (lines + tiles - 1) / tiles;
    for (ptrdiff_t q = 0, row = 0, rows; q < tiles; q++, row += rows, t.soon += t.asks * LINE) {
        rows = x->M / tiles + (q < x->M % tiles);
        t.a  = x->A + row * x->lda;
        t.c  = x->C + row * x->ldc + j;
        TILES[rows - 1](&t);
    }
}

void K_(lcsm_gemm_dots)(const gemm *x)
{
    for (ptrdiff_t j = 0; j < x->N && x->M > 0; j += COLS) group(x, j);
}
