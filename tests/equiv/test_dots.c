/* Products in dot form: a row of a product of many is bit-identical to that row by itself, and both
 * are right, in every kernel set. */
#define LCSM_VARIANT_F32_OP
#include <math.h>
#include <stdlib.h>

#include "kernel/cpu.h"
#include "kernel/kernels.h"
#include "kernel_runs.h"
#include "test.h"

enum { MOST = 37, WIDE = 21, DEEP = 1300 };

static const unsigned  SETS[]   = {0, LCSM_CPU_VECTOR, LCSM_CPU_VECTOR | LCSM_CPU_AVX2,
                                   LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512,
                                   LCSM_CPU_VECTOR | LCSM_CPU_NEON};
static const ptrdiff_t ROWS[]   = {0, 1, 2, 3, 4, 5, 7, 8, 13, 32, MOST};
static const ptrdiff_t COLS[]   = {0, 1, 3, 4, 5, 8, WIDE};
static const ptrdiff_t DEPTHS[] = {0, 1, 7, 8, 9, 16, 17, 64, 300, 769, DEEP};

static float a[MOST * (DEEP + 3)], b[WIDE * (DEEP + 5)], c[MOST * (WIDE + 2)], row[WIDE];

static void fill(float *p, size_t n, unsigned seed)
{
    for (size_t j = 0; j < n; j++) {
        seed = seed * 1664525u + 1013904223u;
        p[j] = (float)(int32_t)seed / 2147483648.0f;
    }
}

/* A sum of K products of numbers below 1 has K roundings of at most K 2^-24. */
static void check_row(const lcsm_gemm_f32 *x, ptrdiff_t i)
{
    double bound = 0x1p-23 * (double)(x->K + 2) * (double)(x->K + 2);
    for (ptrdiff_t j = 0; j < x->N; j++) {
        double want = x->add ? 0.5 : 0;
        for (ptrdiff_t k = 0; k < x->K; k++)
            want += (double)x->alpha * (double)x->A[i * x->lda + k] * (double)x->B[j * x->ldb + k];
        assert_true(fabs((double)x->C[i * x->ldc + j] - want) <= bound);
    }
}

static void check(const lcsm_kernels_f32 *kernels, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K, bool add)
{
    lcsm_gemm_f32 x = {.tb    = true,
                       .add   = add,
                       .M     = M,
                       .N     = N,
                       .K     = K,
                       .alpha = 1.25f,
                       .A     = a,
                       .B     = b,
                       .C     = c,
                       .lda   = K + 3,
                       .ldb   = K + 5,
                       .ldc   = N + 2};
    for (size_t j = 0; j < COUNT(c); j++) c[j] = 0.5f;
    kernels->gemm->dots(&x);
    for (ptrdiff_t i = 0; i < M; i++) {
        lcsm_gemm_f32 one = x;
        for (ptrdiff_t j = 0; j < N; j++) row[j] = 0.5f;
        one.M = 1;
        one.A = a + i * x.lda;
        one.C = row;
        kernels->gemm->dots(&one);
        assert_memory_equal(row, c + i * x.ldc, (size_t)N * sizeof *row);
        check_row(&x, i);
        for (ptrdiff_t j = N; j < N + 2; j++) assert_true(c[i * x.ldc + j] == 0.5f);
    }
}

TEST(dots_of_a_row_do_not_depend_on_the_rows_beside_it)
{
    fill(a, COUNT(a), 1);
    fill(b, COUNT(b), 2);
    for (size_t s = 0; s < COUNT(SETS); s++) {
        if ((SETS[s] & ~lcsm_cpu_features()) != 0) continue;
        void *table = kernel_table_f32(SETS[s]);
        for (size_t m = 0; m < COUNT(ROWS); m++)
            for (size_t n = 0; n < COUNT(COLS); n++)
                for (size_t k = 0; k < COUNT(DEPTHS); k++)
                    check(table, ROWS[m], COLS[n], DEPTHS[k], k % 2 == 1);
        free(table);
    }
}
