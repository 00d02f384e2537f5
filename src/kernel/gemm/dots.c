/*
 * dots.c - products in dot form:  C = alpha A B^T,  B as it lies in memory.
 *
 * Four rows of B, which is the large operand, meet all rows of A, a few in registers at a time, so
 * B comes from memory once and nothing is packed. Where the depth is large both are cut, so that
 * what is used again stays in the cache; the sums, whole vectors, are kept in between. While one
 * group of B is in use the next one is asked for. Every element of C is one sum by lanes over the
 * depth, whatever the number of rows, so a row of a product of many is bit-identical to that row by
 * itself.
 */
#include "kernel/gemm/dots.h"

#include "kernel/vec.h"

typedef R_(lcsm_gemm) gemm;

/* A tile of sums leaves registers for its operands. */
#if VEC_REGISTERS == 32
enum { ROWS = 6 };
#else
enum { ROWS = 3 };
#endif
/* A depth of up to LONG is one block, a larger one is cut at multiples of DEPTH, of so many rows
 * of A at a time. */
enum { COLS = 4, DEPTH = 512, LONG = 768, BLOCK = 36 };

/* Rows of A with a group of rows of B; the last of a smaller group stands in for those missing. */
typedef struct {
    const gemm *x;
    const real *a, *b[COLS];
    real       *c;
    ptrdiff_t   cols;
    ptrdiff_t   k0, k1; /* the part of the depth */
    vec        *sums;   /* (rows, COLS), from part to part */
    const real *soon;   /* what to ask for, `each` lines at each of the first steps */
    ptrdiff_t   asks, each;
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

/* alpha is rounded in by itself: whether a compiler fuses it with the addition may depend on the
 * tile, and a row must not. */
VEC_INLINE void put(int rows, const tile *t, vec s[ROWS][COLS])
{
    VEC_UNROLL
    for (int r = 0; r < rows; r++) {
        real  sums[COLS];
        real *c = t->c + r * t->x->ldc;
        vsums4(s[r][0], s[r][1], s[r][2], s[r][3], sums, COLS);
        for (ptrdiff_t j = 0; j < COLS; j++) sums[j] *= t->x->alpha;
        __asm__("" : "+m"(sums));
        for (ptrdiff_t j = 0; j < COLS && j < t->cols; j++) c[j] = (t->x->add ? c[j] : 0) + sums[j];
    }
}

VEC_INLINE void run_tile(int rows, const tile *given)
{
    const tile  at = *given, *t = &at;
    ptrdiff_t   k    = t->k0;
    const real *soon = t->soon;
    vec         s[ROWS][COLS];
    VEC_UNROLL
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < COLS; j++) s[r][j] = k == 0 ? vzero() : t->sums[r * COLS + j];
    for (ptrdiff_t ask = t->asks; ask > 0 && k + VW <= t->k1; k += VW) {
        for (ptrdiff_t j = 0; j < t->each; j++, ask--, soon += CACHE_LINE) ask_soon(soon);
        step(rows, t, k, s);
    }
    for (; k + VW <= t->k1; k += VW) step(rows, t, k, s);
    if (k < t->k1) rest(rows, t, k, t->k1 - k, s);
    if (t->k1 == t->x->K) {
        put(rows, t, s);
        return;
    }
    VEC_UNROLL
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < COLS; j++) t->sums[r * COLS + j] = s[r][j];
}

/* clang-format off */
#define TILE(rows)                                                                                 \
    static void tile_##rows(const tile *t)                                                         \
    {                                                                                              \
        run_tile(rows, t);                                                                         \
    }
TILE(1)
TILE(2)
TILE(3)
#if VEC_REGISTERS == 32
TILE(4)
TILE(5)
TILE(6)
#endif

static void (*const TILES[ROWS])(const tile *t) = {
    tile_1, tile_2, tile_3,
#if VEC_REGISTERS == 32
    tile_4, tile_5, tile_6,
#endif
};
/* clang-format on */

/* `rows` rows of A from t->a on, split evenly, with a part of a group. */
static void sweep(tile t, ptrdiff_t rows)
{
    ptrdiff_t tiles = (rows + ROWS - 1) / ROWS, steps = (t.k1 - t.k0) / VW;
    if (tiles == 1) t.asks = 0; /* the processor sees by itself what comes */
    t.asks = (t.asks + tiles - 1) / tiles;
    t.each = steps > 0 ? (t.asks + steps - 1) / steps : 0;
    for (ptrdiff_t q = 0, n; q < tiles; q++, t.soon += t.asks * CACHE_LINE) {
        n = rows / tiles + (q < rows % tiles);
        TILES[n - 1](&t);
        t.a += n * t.x->lda;
        t.c += n * t.x->ldc;
        t.sums += n * COLS;
    }
}

/* Rows i .. i + rows - 1 of A, at most BLOCK, with the group from row j of B on. */
static void group(const gemm *x, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j)
{
    VEC_ALIGNED vec sums[BLOCK * COLS];
    ptrdiff_t       cols = x->N - j < COLS ? x->N - j : COLS,
              deep       = x->K <= LONG || rows <= ROWS ? x->K : DEPTH;
    tile t               = {.x    = x,
                            .a    = x->A + i * x->lda,
                            .c    = x->C + i * x->ldc + j,
                            .cols = cols,
                            .sums = sums,
                            .soon = x->B + (j + COLS) * x->ldb};
    for (ptrdiff_t r = 0; r < COLS; r++) t.b[r] = x->B + (j + (r < cols ? r : cols - 1)) * x->ldb;
    do {
        t.k1 = x->K - t.k0 < deep ? x->K : t.k0 + deep;
        if (j + 2 * COLS <= x->N) t.asks = (COLS * (t.k1 - t.k0) + CACHE_LINE - 1) / CACHE_LINE;
        sweep(t, rows);
        t.soon += COLS * (t.k1 - t.k0);
        t.k0 = t.k1;
    } while (t.k0 < x->K);
}

/* ---- one row of A ---- */

/* A row of B is one stream, of which what comes soon is asked for, where the processor would just
 * have seen by itself what comes when it ends. */
enum { SHORT = 1024, AHEAD = 8192 / sizeof(real) };

VEC_INLINE vec stream(const gemm *x, const real *b)
{
    vec       s = vzero();
    ptrdiff_t k = 0;
    for (; k + CACHE_LINE <= x->K; k += CACHE_LINE) {
        ask_now(b + k + AHEAD);
        VEC_UNROLL
        for (ptrdiff_t l = 0; l < CACHE_LINE; l += VW) s += vload(x->A + k + l) * vload(b + k + l);
    }
    for (; k + VW <= x->K; k += VW) s += vload(x->A + k) * vload(b + k);
    return k < x->K ? s + vload_n(x->A + k, x->K - k) * vload_n(b + k, x->K - k) : s;
}

static void streams(const gemm *x)
{
    for (ptrdiff_t j = 0; j < x->N; j += COLS) {
        vec       s[ROWS][COLS];
        tile      t    = {.x = x, .c = x->C + j, .cols = x->N - j};
        ptrdiff_t last = x->N - 1;
        for (ptrdiff_t r = 0; r < COLS; r++)
            s[0][r] = stream(x, x->B + (j + r < last ? j + r : last) * x->ldb);
        put(1, &t, s);
    }
}

void K_(lcsm_gemm_dots)(const gemm *x)
{
    if (x->M == 1 && x->K <= SHORT) {
        streams(x);
        return;
    }
    for (ptrdiff_t j = 0; j < x->N; j += COLS)
        for (ptrdiff_t i = 0; i < x->M; i += BLOCK)
            group(x, i, x->M - i < BLOCK ? x->M - i : BLOCK, j);
}
