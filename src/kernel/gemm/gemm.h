/*
 * kernel/gemm/gemm.h - matrix products, row-major:  C = alpha op(A) op(B), or C += ...
 *
 *   op(A) (M, K): A itself, or with ta the transpose of A (K, M); likewise op(B) (K, N)
 *   C     (M, N), overlaps nothing; it is not read unless add
 *   lda, ldb, ldc: reals from row to row of the matrices as they are stored
 *
 * B is packed first, in pieces that may be packed by different threads; then any rows of the
 * product can be computed from it, so that threads share what is packed. Any size may be 0. Each
 * kernel sums every element of C in the same order whatever M and N are, so a product may be cut
 * into slices of rows or columns, and of the depth at multiples of GEMM_DEPTH, without changing a
 * bit. O(M N K).
 *
 * B may be weights in blocks (base/blocks.h), with tb: then `blocks` is its memory, ldb counts
 * bytes and B is not read. Panels are unpacked on the way; `dots` streams the blocks as they are.
 *
 * With `bf16` the product is one of numbers of bfloat16, and its kernels are those of the row
 * `bf16` (lcsm_gemm_pack and lcsm_gemm_run of gemm_drive.h choose):
 *
 *   - A and B may each be reals, which are rounded to the nearest as they are packed, or stored as
 *     LCSM_WEIGHT_BF16 (`a_type` and `a_blocks`, `type` and `blocks`; lda and ldb then in bytes),
 *     transposed or not
 *   - C is of reals. Products of two such numbers are exact in float; they are summed in float,
 *     or in reals if those are wider, and alpha comes last: |C - exact| <= (K + 2) 2^-23 sum |a b|
 *     for float, and 2^-126 for each product below that, which the processor may take for 0
 *   - depths are cut at multiples of GEMM_DEPTH_BF16, and everything else is as above: the same
 *     pieces, and no more memory for what is packed or for scratch
 */
#ifndef LCSM_KERNEL_GEMM_H
#define LCSM_KERNEL_GEMM_H
#include "base/blocks.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool        ta, tb, add;
    bool        few; /* summed as for few rows, however many there are (gemm_drive.h) */
    ptrdiff_t   M, N, K;
    real        alpha;
    const real *A, *B;
    real       *C;
    ptrdiff_t   lda, ldb, ldc;

    lcsm_weight_type     type;   /* of B; LCSM_WEIGHT_REAL: reals */
    const unsigned char *blocks; /* of other types */
    const void          *levels; /* A as `levels` of the kernels left it; NULL: only the reals */

    bool                 bf16;   /* a product of numbers of bfloat16 */
    lcsm_weight_type     a_type; /* of A: reals, or with bf16 LCSM_WEIGHT_BF16 */
    const unsigned char *a_blocks;
} R_(lcsm_gemm);

typedef struct {
    /* Piece `piece` of lcsm_gemm_pieces(N, K) of alpha op(B) into its place in `packed`, which has
     * lcsm_gemm_packed(N, K) reals, 64-byte aligned. A, C and M do not count. */
    void (*pack)(const R_(lcsm_gemm) *x, ptrdiff_t piece, real *packed);
    /* All of C from what is packed. ws has lcsm_gemm_scratch(M, K) reals, 64-byte aligned. */
    void (*run)(const R_(lcsm_gemm) *x, const real *packed, real *ws);
    /* The whole product for few rows, with tb and without ta: reads B once, where it lies. */
    void (*dots)(const R_(lcsm_gemm) *x);
    /* n numbers of a type, whole blocks, as reals. */
    void (*unpack)(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n, real *to);
    /* The rows of A in 8 bits for `dots`, which is faster with them: numbers of a block of 32 are
     * levels -127 .. 127 of its largest. Into lcsm_gemm_levels(M, K) bytes, 64-byte aligned; false
     * if products with this type of B have no use for them. */
    bool (*levels)(const R_(lcsm_gemm) *x, void *to);
} R_(lcsm_gemm_kernels);

extern const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products);

/* Products with `bf16`, and arrays of numbers of bfloat16. */
typedef struct {
    void (*pack)(const R_(lcsm_gemm) *x, ptrdiff_t piece, real *packed); /* as above */
    void (*run)(const R_(lcsm_gemm) *x, const real *packed, real *ws);
    /* to[j] = from[j]: to the nearest, ties to even, a NaN stays one; the same in every set. */
    void (*narrow)(ptrdiff_t n, const real *from, uint16_t *to);
    void (*widen)(ptrdiff_t n, const uint16_t *from, real *to);
} R_(lcsm_bf16_kernels);

extern const R_(lcsm_bf16_kernels) K_(lcsm_bf16_products);

/* Rows and depth that are worked on at a time, columns of a piece. GEMM_COLS is a multiple of
 * every panel's width in any set. */
enum {
    GEMM_ROWS       = 144,
    GEMM_DEPTH      = 256,
    GEMM_DEPTH_BF16 = 512,
    GEMM_COLS       = 192,
    GEMM_DOT_ROWS   = 4
};

static inline ptrdiff_t lcsm_gemm_depths(ptrdiff_t K)
{
    return (K + GEMM_DEPTH - 1) / GEMM_DEPTH;
}

static inline ptrdiff_t lcsm_gemm_pieces(ptrdiff_t N, ptrdiff_t K)
{
    return (N + GEMM_COLS - 1) / GEMM_COLS * lcsm_gemm_depths(K);
}

/* Columns are padded to whole vectors. */
static inline size_t lcsm_gemm_packed(ptrdiff_t N, ptrdiff_t K)
{
    return (size_t)(K * ((N + 15) / 16 * 16));
}

static inline size_t lcsm_gemm_levels(ptrdiff_t M, ptrdiff_t K)
{
    return (size_t)(M * ((K + 31) / 32 * 40) + 63) / 64 * 64;
}

/* op(B) from column n and depth k on; of blocks k is a multiple of LCSM_WEIGHT_BLOCK. */
static inline void R_(lcsm_gemm_skip)(R_(lcsm_gemm) *x, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t rows = x->tb ? n : k, cols = x->tb ? k : n;
    if (x->type == LCSM_WEIGHT_REAL) x->B += rows * x->ldb + cols;
    else x->blocks += rows * x->ldb + (ptrdiff_t)lcsm_weight_row(x->type, (size_t)cols);
}

/* op(A) from row m and depth k on, and C from row m on. */
static inline void R_(lcsm_gemm_down)(R_(lcsm_gemm) *x, ptrdiff_t m, ptrdiff_t k)
{
    ptrdiff_t rows = x->ta ? k : m, cols = x->ta ? m : k;
    if (x->a_type == LCSM_WEIGHT_REAL) x->A += rows * x->lda + cols;
    else x->a_blocks += rows * x->lda + (ptrdiff_t)lcsm_weight_row(x->a_type, (size_t)cols);
    x->C += m * x->ldc;
}

static inline size_t lcsm_gemm_scratch(ptrdiff_t M, ptrdiff_t K)
{
    ptrdiff_t rows = M < GEMM_ROWS ? M : GEMM_ROWS, depth = K < GEMM_DEPTH ? K : GEMM_DEPTH;
    return (size_t)((rows * depth + 15) / 16 * 16 + 16);
}

#endif
