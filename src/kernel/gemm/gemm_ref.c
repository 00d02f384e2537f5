/* gemm_ref.c - the matrix product by definition; nothing is packed. */
#include "kernel/gemm/gemm.h"

static void pack(const R_(lcsm_gemm) *x, ptrdiff_t piece, real *packed)
{
    (void)x;
    (void)piece;
    (void)packed;
}

static void dots(const R_(lcsm_gemm) *x)
{
    for (ptrdiff_t i = 0; i < x->M; i++)
        for (ptrdiff_t j = 0; j < x->N; j++) {
            real sum = 0;
            for (ptrdiff_t k = 0; k < x->K; k++)
                sum += (x->ta ? x->A[k * x->lda + i] : x->A[i * x->lda + k])
                     * (x->tb ? x->B[j * x->ldb + k] : x->B[k * x->ldb + j]);
            real *c = &x->C[i * x->ldc + j];
            *c      = (x->add ? *c : 0) + x->alpha * sum;
        }
}

static void run(const R_(lcsm_gemm) *x, const real *packed, real *ws)
{
    (void)packed;
    (void)ws;
    dots(x);
}

const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {pack, run, dots};
