/*
 * kernel/gemm/tile.h - products of small matrices in tiles of registers.
 *
 *     C = sum over products of A B,   A (rows, depth),   B (depth, lanes)
 *
 * Elements of A are broadcast from memory at any two strides, so A and its transpose are the
 * same thing. Rows of B and C are one panel wide: 1 .. TILE_VECS vectors, contiguous. Callers pad
 * panels with zeros, so no load here is partial. Rows that a tile's height does not divide are
 * split evenly: 32 rows are six tiles of 6, 6, 5, 5, 5 and 5, never five and a poor remainder.
 */
#ifndef LCSM_KERNEL_TILE_H
#define LCSM_KERNEL_TILE_H
#include "kernel/vec.h"

/* The accumulators leave room for a row of B and one broadcast. With 512-bit vectors the
 * processor loads one vector, or broadcasts one element, a cycle while it does two
 * multiply-adds; so a tile is wide, that height + width <= height * width / 2. */
#if VEC_NEON
#define TILE_VECS    4
#define TILE_HEIGHTS 14, 10, 9, 6
#elif VEC_REGISTERS == 32
#define TILE_VECS    4
#define TILE_HEIGHTS 14, 14, 9, 6
#else
#define TILE_VECS    2
#define TILE_HEIGHTS 6, 6
#endif
#define TILE_COLS (TILE_VECS * VW)

/* A tile as named variables, which compilers keep in registers as they do not an array. X(row, g,
 * o): every row of a tile. Row 3g + o of A is addressed as row o of the g-th pointer, so that a few
 * pointers and one stride reach all of them. TILE_ROW: the vectors of a row, Y(vector, number). */
#define TILE_ROWS_6(X)  X(0, 0, 0) X(1, 0, 1) X(2, 0, 2) X(3, 1, 0) X(4, 1, 1) X(5, 1, 2)
#define TILE_ROWS_9(X)  TILE_ROWS_6(X) X(6, 2, 0) X(7, 2, 1) X(8, 2, 2)
#define TILE_ROWS_14(X) TILE_ROWS_9(X) X(9, 3, 0) X(10, 3, 1) X(11, 3, 2) X(12, 4, 0) X(13, 4, 1)
#define TILE_ROW(Y, i)  Y(s##i, 0) Y(t##i, 1) Y(u##i, 2) Y(w##i, 3)

/* For X: the sums, and the products of one step with its row of B, which TILE_LOAD declares. `rows`
 * and `vecs` are the tile's, q0, q1 ... point to A, whose rows are ar apart. */
#define TILE_NONE(v, j)    vec v = vzero();
#define TILE_ZERO(i, g, o) TILE_ROW(TILE_NONE, i)
#define TILE_LOAD(b)                                                                               \
    vec b0 = vload(b), b1 = b0, b2 = b0, b3 = b0;                                                  \
    if (vecs > 1) b1 = vload((b) + VW);                                                            \
    if (vecs > 2) b2 = vload((b) + 2 * VW);                                                        \
    if (vecs > 3) b3 = vload((b) + 3 * VW);
#define TILE_TERM(v, j)                                                                            \
    if (j < vecs) v = TILE_SUM_OF(v, e, b##j);
#define TILE_STEP(i, g, o)                                                                         \
    if (i < rows) {                                                                                \
        vec e = TILE_EACH(&q##g[o * ar]);                                                          \
        TILE_ROW(TILE_TERM, i)                                                                     \
    }

/* Steps that are unrolled: where a step is short, the loop's own instructions take the place of its
 * products. The compiler must not know where the pointers of a step are relative to those of the
 * next, or it would trade the additions for more registers than there are. */
#if VEC_REGISTERS == 32
#define TILE_AT_ONCE 1
#else
#define TILE_AT_ONCE 4
#endif
#define TILE_APART(p, q) __asm__("" : "+r"(p), "+r"(q));

/* The most rows of a tile that is vecs vectors wide. */
static inline ptrdiff_t lcsm_tile_height(int vecs)
{
    static const signed char heights[TILE_VECS] = {TILE_HEIGHTS};
    return heights[vecs - 1];
}

/*
 * Memory that will be used soon, asked for a few lines at a time while products are computed: all
 * at once the requests would fill the processor's queue of misses and stall the products. Rows
 * row .. rows - 1 of every view, row by row.
 */
#define TILE_AHEAD_VIEWS 24
#define TILE_AHEAD_STEPS 8 /* of depth between two requests */

typedef struct {
    struct {
        const real *p;
        ptrdiff_t   t, n; /* rows of n reals, t apart */
    } view[TILE_AHEAD_VIEWS];
    int         views, at; /* at: the view whose row is next */
    ptrdiff_t   row, rows;
    const real *next, *end; /* of the current row */
    ptrdiff_t   each;       /* lines of a request */
} lcsm_ahead;

/* Asks for the next lines. */
VEC_INLINE void lcsm_ahead_more(lcsm_ahead *a)
{
    const real *next = a->next, *end = a->end;
    for (ptrdiff_t left = a->each; left > 0; left--, next += CACHE_LINE) {
        if (next >= end) {
            if (a->at == a->views) a->at = 0, a->row++;
            if (a->row >= a->rows) break;
            next = a->view[a->at].p + a->row * a->view[a->at].t;
            end  = next + a->view[a->at].n;
            a->at++;
        }
        ask_soon(next);
    }
    a->next = next;
    a->end  = end;
}

/* Which part of A is not zero: a triangle is skipped tile by tile. In tiles on the diagonal A has
 * zeros beyond it. */
typedef enum {
    TILE_FULL,
    TILE_LOWER, /* depth <= row */
    TILE_UPPER, /* depth >= row */
    TILE_BELOW, /* depth < the tile's first row */
    TILE_ABOVE, /* depth > the tile's last row */
} lcsm_tile_part;

/* A[row, depth] = a[row * ar + depth * ad], B[depth, lane] = b[depth * bd + lane]. The depth may
 * come in several blocks of A, a_block reals apart; B goes on as before. */
typedef struct {
    const real    *a;
    ptrdiff_t      ar, ad;
    const real    *b;
    ptrdiff_t      bd, depth;
    lcsm_tile_part part;
    ptrdiff_t      blocks, a_block; /* 0 blocks: one */
} lcsm_product;

typedef enum {
    TILE_SET,    /* C = S */
    TILE_ADD,    /* C = C + S */
    TILE_SUM,    /* C = S + col[row * col_r + lane] */
    TILE_SCALE,  /* C = S * col[row * col_r + lane] */
    TILE_DECAY,  /* C = (C + S) * row[row] */
    TILE_DECAY2, /* C = (C + S) * row[row] * col[lane] */
} lcsm_tile_op;

typedef struct {
    real        *c;
    ptrdiff_t    cr;
    lcsm_tile_op op;
    const real  *row, *col;
    ptrdiff_t    col_r;
    lcsm_ahead  *ahead; /* or NULL */
} lcsm_target;

/* Rows 0 .. rows - 1 of the sum of count products, vecs vectors wide. */
void K_(lcsm_tiles)(ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                    const lcsm_target *t);

/* One tile of it: rows first .. next - 1, at most lcsm_tile_height(vecs). */
void K_(lcsm_tile)(ptrdiff_t first, ptrdiff_t next, int vecs, const lcsm_product *p, int count,
                   const lcsm_target *t);

/* Rows of A and of B, whose depth, whole vectors, may come in several blocks. */
typedef struct {
    const real *a, *b;
    ptrdiff_t   ar, br, depth;
    ptrdiff_t   blocks, a_block, b_block; /* 0 blocks: one */
} lcsm_rows;

/* The lower triangle of C = A B^T, rows x rows; above it C is left alone. With diag the diagonal
 * is moved there. */
void K_(lcsm_dots_lower)(ptrdiff_t rows, const lcsm_rows *p, real *c, ptrdiff_t cr, real *diag);

/* Rows j of A by rows 0 .. until[j] of B, until increasing; up to column `cols` the rest of a row
 * of C is 0. With diag the products with row until[j] are moved there. */
void K_(lcsm_dots_until)(ptrdiff_t rows, const ptrdiff_t *until, const lcsm_rows *p, real *c,
                         ptrdiff_t cr, ptrdiff_t cols, real *diag);

/* dst[col][row] = src[row][col]. Blocks of VW x VW: src rows are read and dst rows written in
 * whole vectors, dst gets ceil(cols / VW) * VW rows; rows beyond `rows` count as 0. */
void K_(lcsm_transpose)(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                        ptrdiff_t dr);

/* Tiles are as equal as they can be, the larger ones first. Tile j begins at this row; the one
 * after the last at `rows`. */
static inline ptrdiff_t lcsm_tile_count(ptrdiff_t rows, int vecs)
{
    return (rows + lcsm_tile_height(vecs) - 1) / lcsm_tile_height(vecs);
}

static inline ptrdiff_t lcsm_tile_first(ptrdiff_t rows, ptrdiff_t tiles, ptrdiff_t j)
{
    ptrdiff_t more = rows % tiles;
    return rows / tiles * j + (j < more ? j : more);
}

/* Vectors of a panel that hold its n columns from here on. */
static inline int lcsm_tile_vecs(ptrdiff_t n)
{
    return n >= TILE_COLS ? TILE_VECS : (int)((n + VW - 1) / VW);
}

static inline ptrdiff_t lcsm_vec_pad(ptrdiff_t n)
{
    return (n + VW - 1) / VW * VW;
}
#endif
