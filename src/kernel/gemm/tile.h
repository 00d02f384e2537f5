/*
 * kernel/gemm/tile.h - products of small matrices in tiles of registers.
 *
 *     C = sum over products of A B,   A (rows, depth),   B (depth, lanes)
 *
 * Elements of A are broadcast from memory at any two strides, so A and its transpose are the
 * same thing. Rows of B and C are one panel wide: one or two vectors, contiguous. Callers pad
 * panels with zeros, so no load here is partial. Rows that TILE_ROWS does not divide are split
 * evenly: 32 rows are three tiles of 11, 11 and 10, never two full ones and a poor remainder.
 */
#ifndef LCSM_KERNEL_TILE_H
#define LCSM_KERNEL_TILE_H
#include "kernel/vec.h"

/* TILE_ROWS x TILE_VECS accumulators leave room for a row of B and one broadcast. */
#if VW == 16
#define TILE_ROWS 12
#else
#define TILE_ROWS 6
#endif
#define TILE_VECS 2
#define TILE_COLS (TILE_VECS * VW)

/* Which part of A is not zero: a triangle is skipped tile by tile. Inside the tiles on the
 * diagonal, where both bounds lie, the caller's zeros count. */
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
    TILE_SET,   /* C = S */
    TILE_ADD,   /* C = C + S */
    TILE_SCALE, /* C = S * col[row * col_r + lane] */
    TILE_DECAY, /* C = (C + S) * row[row] * col[lane]; col NULL is 1 */
} lcsm_tile_op;

typedef struct {
    real        *c;
    ptrdiff_t    cr;
    lcsm_tile_op op;
    const real  *row, *col;
    ptrdiff_t    col_r;
} lcsm_target;

/* Rows 0 .. rows - 1 of the sum of count products, vecs (1 or 2) vectors wide. */
void K_(lcsm_tiles)(ptrdiff_t rows, int vecs, const lcsm_product *p, int count,
                    const lcsm_target *t);

/* One tile of it: rows first .. next - 1, at most TILE_ROWS. */
void K_(lcsm_tile)(ptrdiff_t first, ptrdiff_t next, int vecs, const lcsm_product *p, int count,
                   const lcsm_target *t);

/* The lower triangle of C = A B, rows x rows, lanes along the columns of C. In a tile's own
 * columns, elements above the diagonal are set to 0. With diag the diagonal is moved there. */
void K_(lcsm_tiles_lower)(ptrdiff_t rows, const lcsm_product *p, real *c, ptrdiff_t cr, real *diag);

/* dst[col][row] = src[row][col]. Blocks of VW x VW: src rows are read and dst rows written in
 * whole vectors, dst gets ceil(cols / VW) * VW rows; rows beyond `rows` count as 0. */
void K_(lcsm_transpose)(ptrdiff_t rows, ptrdiff_t cols, const real *src, ptrdiff_t sr, real *dst,
                        ptrdiff_t dr);

static inline ptrdiff_t lcsm_tile_count(ptrdiff_t rows)
{
    return (rows + TILE_ROWS - 1) / TILE_ROWS;
}

/* The first row of tile j; that of the tile after the last is `rows`. */
static inline ptrdiff_t lcsm_tile_first(ptrdiff_t rows, ptrdiff_t tiles, ptrdiff_t j)
{
    return rows * j / tiles;
}

static inline ptrdiff_t lcsm_vec_pad(ptrdiff_t n)
{
    return (n + VW - 1) / VW * VW;
}
#endif
