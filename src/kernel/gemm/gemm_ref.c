/* gemm_ref.c - the matrix product by definition; nothing is packed. */
#include "kernel/gemm/gemm.h"

#include "kernel/bf16.h"

static void pack(const R_(lcsm_gemm) *x, ptrdiff_t piece, real *packed)
{
    (void)x;
    (void)piece;
    (void)packed;
}

static void unpack(lcsm_weight_type type, const unsigned char *blocks, ptrdiff_t n, real *to)
{
    const lcsm_block_type *b = lcsm_weight_blocks(type);
    float                  one[LCSM_WEIGHT_BLOCK];
    ptrdiff_t              step = (ptrdiff_t)b->values;
    for (ptrdiff_t k = 0; k < n; k += step, blocks += b->bytes) {
        b->decode(one, blocks);
        for (ptrdiff_t j = 0; j < step; j++) to[k + j] = one[j];
    }
}

/* Row j of B in blocks, piece by piece, with row i of A. */
static real unpacked_dot(const R_(lcsm_gemm) *x, ptrdiff_t i, ptrdiff_t j)
{
    real part[LCSM_WEIGHT_BLOCK], sum = 0;
    for (ptrdiff_t k = 0; k < x->K; k += LCSM_WEIGHT_BLOCK) {
        ptrdiff_t     n  = x->K - k < LCSM_WEIGHT_BLOCK ? x->K - k : LCSM_WEIGHT_BLOCK;
        R_(lcsm_gemm) at = *x;
        R_(lcsm_gemm_skip)(&at, j, k);
        unpack(x->type, at.blocks, n, part);
        for (ptrdiff_t l = 0; l < n; l++)
            sum += (x->ta ? x->A[(k + l) * x->lda + i] : x->A[i * x->lda + k + l]) * part[l];
    }
    return sum;
}

static void dots(const R_(lcsm_gemm) *x)
{
    for (ptrdiff_t i = 0; i < x->M; i++)
        for (ptrdiff_t j = 0; j < x->N; j++) {
            real sum = 0;
            for (ptrdiff_t k = 0; k < x->K && x->type == LCSM_WEIGHT_REAL; k++)
                sum += (x->ta ? x->A[k * x->lda + i] : x->A[i * x->lda + k])
                     * (x->tb ? x->B[j * x->ldb + k] : x->B[k * x->ldb + j]);
            if (x->type != LCSM_WEIGHT_REAL) sum = unpacked_dot(x, i, j);
            real *c = &x->C[i * x->ldc + j];
            *c      = (x->add ? *c : 0) + x->alpha * sum;
        }
}

static bool levels(const R_(lcsm_gemm) *x, void *to)
{
    (void)x;
    (void)to;
    return false;
}

static void run(const R_(lcsm_gemm) *x, const real *packed, real *ws)
{
    (void)packed;
    (void)ws;
    dots(x);
}

/* ---- bfloat16 ---- */

/* Element (row, col) of a matrix as it is stored. */
static real bf16_at(lcsm_weight_type type, const real *p, const unsigned char *blocks, ptrdiff_t ld,
                    ptrdiff_t row, ptrdiff_t col)
{
    uint16_t half = 0;
    if (type == LCSM_WEIGHT_REAL) half = R_(lcsm_bf16_bits)(p[row * ld + col]);
    else memcpy(&half, blocks + row * ld + 2 * col, sizeof half);
    return R_(lcsm_bf16_real)(half);
}

static real bf16_a(const R_(lcsm_gemm) *x, ptrdiff_t i, ptrdiff_t k)
{
    return bf16_at(x->a_type, x->A, x->a_blocks, x->lda, x->ta ? k : i, x->ta ? i : k);
}

static real bf16_b(const R_(lcsm_gemm) *x, ptrdiff_t k, ptrdiff_t j)
{
    return bf16_at(x->type, x->B, x->blocks, x->ldb, x->tb ? j : k, x->tb ? k : j);
}

static void bf16_run(const R_(lcsm_gemm) *x, const real *packed, real *ws)
{
    (void)packed;
    (void)ws;
    for (ptrdiff_t i = 0; i < x->M; i++)
        for (ptrdiff_t j = 0; j < x->N; j++) {
            real sum = 0, *c = &x->C[i * x->ldc + j];
            for (ptrdiff_t k = 0; k < x->K; k++) sum += bf16_a(x, i, k) * bf16_b(x, k, j);
            *c = (x->add ? *c : 0) + x->alpha * sum;
        }
}

static void narrow(ptrdiff_t n, const real *from, uint16_t *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_bits)(from[j]);
}

static void widen(ptrdiff_t n, const uint16_t *from, real *to)
{
    for (ptrdiff_t j = 0; j < n; j++) to[j] = R_(lcsm_bf16_real)(from[j]);
}

const R_(lcsm_bf16_kernels) K_(lcsm_bf16_products) = {pack, bf16_run, narrow, widen};
const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {pack, run, dots, unpack, levels};
