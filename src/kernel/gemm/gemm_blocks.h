/*
 * gemm_blocks.h - a matrix product by tiles of registers over packed panels, for the sources that
 * say what a tile adds up and how a block of A is placed.
 *
 * op(B) is packed into panels of a few vectors, one part of the depth at a time, so that a panel
 * fits the first-level cache; a block of rows of op(A) meets all panels from the second.
 *
 * The source defines, over units as large as a float:
 *
 *   GEMM_EACH(p)         the unit at p in every lane
 *   GEMM_TERM(v, e, b)   v and the products of e and b
 *   GEMM_SUM(v, alpha)   a sum of terms as it is written
 *   GEMM_ASK_STEPS       steps of a tile from one request for memory to the next
 *   memory_of            where units of op(A) come from, for requests ahead of time
 *   place_a              says where a block of A lies, or puts it into ws; with `bf16` always
 */
#ifndef LCSM_KERNEL_GEMM_BLOCKS_H
#define LCSM_KERNEL_GEMM_BLOCKS_H
#include <string.h>

#include "kernel/gemm/gemm.h"
#include "kernel/gemm/tile.h"

typedef R_(lcsm_gemm) gemm;

/* Rows and vectors of a tile: the accumulators leave room for a row of B and one broadcast, and
 * there are at least twice as many multiply-adds as loads. One or two panels of 64 columns are a
 * shape of their own: three vectors and one would waste half. */
#if VEC_REGISTERS == 32
enum { VECS = 3, HEIGHT = 9, WIDE = 4, WIDE_HEIGHT = 6 };
#define ROWS TILE_ROWS_9
#else
enum { VECS = 2, HEIGHT = 6, WIDE = 2, WIDE_HEIGHT = 6 };
#define ROWS TILE_ROWS_6
#endif

/* Reals of a cache line; steps of a tile from one request for a line to the next. */
enum { ASK_STEPS = GEMM_ASK_STEPS };

_Static_assert(GEMM_COLS % (VECS * VW) == 0 && GEMM_COLS % (WIDE * VW) == 0, "whole panels");
_Static_assert(16 % VW == 0, "padding");

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t pad(ptrdiff_t n)
{
    return (n + VW - 1) / VW * VW;
}

static int panel_vecs(ptrdiff_t N)
{
    return pad(N) == WIDE * VW || pad(N) == 2 * WIDE * VW ? WIDE : VECS;
}

/* to[j] = from[j], n <= HEIGHT. */
VEC_INLINE void put_few(real *to, const real *from, ptrdiff_t n)
{
#if VW == 16
    vstore_n(to, vload_n(from, n), n);
#else
    for (ptrdiff_t j = 0; j < n; j++) to[j] = from[j];
#endif
}

/* ---- tiles ---- */

/* Element (i, k) of the tile of A is a[i * ar + k * ad]; C has `left` columns here. What will be
 * read soon lies at `soon`: every few steps one of its lines, soon_step apart, is asked for. */
typedef struct {
    ptrdiff_t   depth;
    const real *a, *b, *soon;
    ptrdiff_t   ar, ad, soon_step;
    real       *c;
    ptrdiff_t   cr, left;
    bool        add;
    real        alpha;
} tile;

/* Vector j of row i is written; what holds for the whole tile is asked once. */
typedef enum { PUT, PUT_ADD, PUT_PART } put_kind;

VEC_INLINE void put(put_kind kind, const tile *t, int i, int j, vec sum)
{
    real     *to   = t->c + i * t->cr + j * VW;
    ptrdiff_t left = t->left - j * VW;
    sum            = GEMM_SUM(sum, t->alpha);
    if (kind == PUT) vstore(to, sum);
    else if (kind == PUT_ADD) vstore(to, vload(to) + sum);
    else if (left >= VW) vstore(to, t->add ? vload(to) + sum : sum);
    else vstore_n(to, t->add ? vload_n(to, left) + sum : sum, left);
}

/* One step of the depth. */
#define GEMM_PART(v, j)                                                                            \
    if (j < vecs) v = GEMM_TERM(v, e, b##j);
#define GEMM_STEP(i, g, o)                                                                         \
    if (i < rows) {                                                                                \
        vec e = GEMM_EACH(&q##g[o * ar]);                                                          \
        TILE_ROW(GEMM_PART, i)                                                                     \
    }
#define TILE_STEP_ON                                                                               \
    {                                                                                              \
        TILE_LOAD(b)                                                                               \
        ROWS(GEMM_STEP)                                                                            \
        q0 += ad, q1 += ad, q2 += ad;                                                              \
        b += vecs * VW;                                                                            \
        TILE_APART(q0, q1)                                                                         \
        if (rows > 6) TILE_APART(q2, b)                                                            \
    }

/* C is asked for row by row on the way: all at once its lines would take the place of those of the
 * panel in the processor's queue of misses. */
VEC_INLINE void run_tile(int rows, int vecs, const tile *t)
{
    ptrdiff_t   ar = t->ar, ad = t->ad, soon_step = t->soon_step;
    ptrdiff_t   asks = t->depth / ASK_STEPS, part = asks / (rows + 1);
    const real *q0 = t->a, *q1 = q0 + 3 * ar, *q2 = q0 + 6 * ar;
    const real *b = t->b, *c = t->c, *soon = t->soon;
    ROWS(TILE_ZERO)
    for (int i = 0; i <= rows; i++, c += t->cr) {
        ptrdiff_t end = i < rows ? asks - part : 0;
        for (int j = 0; j < vecs && i < rows; j++) ask_now_to_write(c + j * VW);
        if (i < rows) ask_now_to_write(c + vecs * VW - 1);
        for (; asks > end; asks--, soon += soon_step) {
            ask_soon(soon);
            VEC_UNROLL_BY(TILE_AT_ONCE)
            for (int k = 0; k < ASK_STEPS; k++) TILE_STEP_ON
        }
    }
    for (ptrdiff_t k = t->depth % ASK_STEPS; k > 0; k--) TILE_STEP_ON
#define Y(v, j)                                                                                    \
    if (j < vecs) put((put_kind)KIND, t, row, j, v);
#define X(i, g, o)                                                                                 \
    if (i < rows) {                                                                                \
        int row = i;                                                                               \
        TILE_ROW(Y, i)                                                                             \
    }
#define PUT_ALL(kind)                                                                              \
    {                                                                                              \
        enum { KIND = kind };                                                                      \
        ROWS(X)                                                                                    \
    }
    if (t->left < vecs * VW) PUT_ALL(PUT_PART)
    else if (t->add) PUT_ALL(PUT_ADD)
    else PUT_ALL(PUT)
#undef PUT_ALL
#undef X
#undef Y
}

typedef void tile_run(const tile *t);

#define TILE(R, V)                                                                                 \
    static void tile_##R##_##V(const tile *t)                                                      \
    {                                                                                              \
        run_tile(R, V, t);                                                                         \
    }
#define TILES_6(V) TILE(1, V) TILE(2, V) TILE(3, V) TILE(4, V) TILE(5, V) TILE(6, V)
#define NAMES_6(V) tile_1_##V, tile_2_##V, tile_3_##V, tile_4_##V, tile_5_##V, tile_6_##V

TILES_6(1)
TILES_6(2)
#if VEC_REGISTERS == 32
#define TILES_9(V) TILE(7, V) TILE(8, V) TILE(9, V)
#define NAMES_9(V) NAMES_6(V), tile_7_##V, tile_8_##V, tile_9_##V
TILES_6(3)
TILES_6(4)
TILES_9(1)
TILES_9(2)
TILES_9(3)
static tile_run *const RUNS[WIDE][HEIGHT] = {
    {NAMES_9(1)}, {NAMES_9(2)}, {NAMES_9(3)}, {NAMES_6(4)}};
#else
static tile_run *const RUNS[WIDE][HEIGHT] = {{NAMES_6(1)}, {NAMES_6(2)}};
#endif

/* ---- blocks ---- */

/* Even blocks: one of few rows would read all of B for little. */
static ptrdiff_t block_rows(ptrdiff_t M)
{
    ptrdiff_t blocks = (M + GEMM_ROWS - 1) / GEMM_ROWS;
    return (M + blocks - 1) / blocks;
}

/* The part of A that the next block reads. Tiles that know of nothing nearer ask for it, each for
 * `group` lines, one below the other. */
typedef struct {
    const real *at;
    ptrdiff_t   rows, lines, step; /* lines of a row, reals from row to row */
    ptrdiff_t   group, asked;      /* requests so far */
} later;

typedef struct {
    const gemm *x;
    ptrdiff_t   k0, kc, i0, mc, tiles;
    const real *a;           /* A where it lies, or packed columns */
    ptrdiff_t   row, ar, ad; /* to the tile of a row; strides in a tile, ad 0: its height */
    later       then;
} block;

/* Rows i .. i + m - 1 of op(A) and kc units from k on; lines 0: nothing is to be asked for. */
static later memory_of(const gemm *units, ptrdiff_t i, ptrdiff_t m, ptrdiff_t k, ptrdiff_t kc);

static later block_after(const block *b)
{
    const gemm *x = b->x;
    ptrdiff_t   i = b->i0 + b->mc, k = b->k0;
    if (i >= x->M) i = 0, k += GEMM_DEPTH;
    if (k >= x->K) return (later){.lines = 0};
    later l = memory_of(x, i, least(x->M - i, block_rows(x->M)), k, least(x->K - k, GEMM_DEPTH));
    l.group = b->kc / ASK_STEPS;
    return l;
}

static bool ask_later(later *l, tile *t)
{
    ptrdiff_t first;
    if (l->lines == 0 || l->group == 0) return false;
    first = l->asked / l->lines * l->group;
    if (first >= l->rows) return false;
    t->soon      = l->at + first * l->step + l->asked % l->lines * CACHE_LINE;
    t->soon_step = l->step;
    l->asked++;
    return true;
}

/* The rows of a block with the panel of columns j .. j + n - 1; the next panel follows it. */
static void sweep(block *b, const real *panel, ptrdiff_t j, ptrdiff_t n)
{
    const gemm      *x    = b->x;
    tile_run *const *runs = RUNS[pad(n) / VW - 1];
    const real      *next = panel + b->kc * pad(n), *soon = next, *end = next + b->kc * pad(n);
    tile             t         = {.depth = b->kc, .b = panel, .cr = x->ldc, .left = n};
    bool             rows_next = x->N <= pad(n) && !x->ta && !x->bf16; /* no other panel */
    t.add                      = x->add || b->k0 > 0;
    t.alpha                    = x->alpha;
    t.ar                       = b->ar;
    for (ptrdiff_t q = 0, first = 0, last; q < b->tiles; q++, first = last) {
        last        = first + b->mc / b->tiles + (q < b->mc % b->tiles);
        t.a         = b->a + first * b->row;
        t.ad        = b->ad > 0 ? b->ad : last - first;
        t.c         = x->C + (b->i0 + first) * x->ldc + j;
        t.soon      = rows_next ? t.a + 2 * HEIGHT * b->row : soon;
        t.soon_step = CACHE_LINE;
        if (!rows_next && soon >= end && !ask_later(&b->then, &t)) t.soon = next;
        soon += b->kc / ASK_STEPS * CACHE_LINE;
        runs[last - first - 1](&t);
    }
}

/* The block of A, in ws if it is not where it lies; many: there are several panels. */
static void place_a(block *b, bool many, real *ws);

static void block_run(const gemm *x, ptrdiff_t k0, ptrdiff_t kc, ptrdiff_t i0, const real *packed,
                      real *ws)
{
    int       vecs = panel_vecs(x->N), height = vecs == WIDE ? WIDE_HEIGHT : HEIGHT;
    block     b = {.x = x, .k0 = k0, .kc = kc, .i0 = i0, .mc = least(x->M - i0, block_rows(x->M))};
    ptrdiff_t N = pad(x->N);
    b.tiles     = (b.mc + height - 1) / height;
    b.then      = block_after(&b);
    place_a(&b, N > vecs * VW, ws);
    for (ptrdiff_t j = 0; j < x->N; j += vecs * VW)
        sweep(&b, packed + k0 * N + j * kc, j, least(x->N - j, vecs * VW));
}

static void clear(const gemm *x)
{
    for (ptrdiff_t i = 0; i < x->M; i++) memset(x->C + i * x->ldc, 0, (size_t)x->N * sizeof(real));
}

static void run_blocks(const gemm *x, const real *packed, real *ws)
{
    if (x->K == 0 && !x->add) clear(x);
    for (ptrdiff_t k = 0; k < x->K; k += GEMM_DEPTH)
        for (ptrdiff_t i = 0; i < x->M; i += block_rows(x->M))
            block_run(x, k, least(x->K - k, GEMM_DEPTH), i, packed, ws);
}

#endif
