/* gemm_ref.c - the matrix product by definition. */
#include "kernel/gemm/gemm.h"

static void run(const R_(lcsm_gemm) *x, real *ws)
{
    (void)ws;
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

static void dots(const R_(lcsm_gemm) *x)
{
    run(x, NULL);
}

const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {run, dots};
