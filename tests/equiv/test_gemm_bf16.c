/* Products of numbers of bfloat16: every set of kernels against sums in double, and the same bits
 * however a product is cut. */
#define LCSM_VARIANT_F32_OP
#include <lcsm/context.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/size.h"
#include "kernel/bf16.h"
#include "kernel/context.h"
#include "kernel/cpu.h"
#include "kernel/gemm/gemm_drive.h"
#include "kernel_runs.h"
#include "test.h"

static const unsigned SETS[] = {0, LCSM_CPU_VECTOR, LCSM_CPU_VECTOR | LCSM_CPU_AVX2,
                                LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512, ~0u};

/* 0, 1, odd, one past a vector, past a tile, past a block of rows and past a piece of columns; one
 * past a depth. */
static const ptrdiff_t SHAPES[][3] = {
    {0, 3, 4},     {3, 0, 4},      {3, 4, 0},     {1, 1, 1},      {1, 1, 2},     {2, 3, 5},
    {9, 48, 32},   {10, 49, 33},   {7, 15, 31},   {8, 16, 64},    {5, 17, 257},  {2, 47, 511},
    {11, 33, 512}, {145, 193, 17}, {10, 65, 513}, {150, 20, 514}, {3, 50, 1025}, {11, 64, 66},
};

typedef struct {
    bool ta, tb, half_a, half_b, add;
} kind;

typedef struct {
    lcsm_gemm_f32 x;
    float        *a, *b, *c;
    uint16_t     *half_a, *half_b;
    ptrdiff_t     a_n, b_n, c_n;
} problem;

static float *numbers(ptrdiff_t n, uint64_t seed)
{
    float *p = malloc((size_t)(n + 1) * sizeof *p);
    assert_non_null(p);
    for (ptrdiff_t j = 0; j < n; j++) p[j] = (float)lcsm_rng_normal(seed, 2, (uint64_t)j);
    return p;
}

static uint16_t *halves(const float *x, ptrdiff_t n)
{
    uint16_t *p = malloc((size_t)(n + 1) * sizeof *p);
    assert_non_null(p);
    for (ptrdiff_t j = 0; j < n; j++) p[j] = lcsm_bf16_bits_f32(x[j]);
    return p;
}

/* Rows are longer than what is used, by numbers that must not count. */
static problem make(kind k, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    ptrdiff_t     lda = (k.ta ? M : K) + 3, ldb = (k.tb ? K : N) + 5, ldc = N + 2;
    problem       p = {.a_n = (k.ta ? K : M) * lda, .b_n = (k.tb ? N : K) * ldb, .c_n = M * ldc};
    lcsm_gemm_f32 x = {.bf16 = true, .ta = k.ta, .tb = k.tb, .add = k.add, .M = M, .N = N, .K = K};
    p.a             = numbers(p.a_n, 1);
    p.b             = numbers(p.b_n, 3);
    p.c             = numbers(p.c_n, 5);
    for (ptrdiff_t j = k.ta ? M : K; j < p.a_n; j += lda) p.a[j] = NAN;
    for (ptrdiff_t j = k.tb ? K : N; j < p.b_n; j += ldb) p.b[j] = NAN;
    p.half_a = halves(p.a, p.a_n);
    p.half_b = halves(p.b, p.b_n);
    x.alpha  = k.add ? 1.25f : 1.0f;
    x.lda    = k.half_a ? 2 * lda : lda;
    x.ldb    = k.half_b ? 2 * ldb : ldb;
    x.ldc    = ldc;
    x.C      = p.c;
    if (k.half_a) x.a_type = LCSM_WEIGHT_BF16, x.a_blocks = (unsigned char *)p.half_a;
    else x.A = p.a;
    if (k.half_b) x.type = LCSM_WEIGHT_BF16, x.blocks = (unsigned char *)p.half_b;
    else x.B = p.b;
    p.x = x;
    return p;
}

static void drop(problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->half_a);
    free(p->half_b);
}

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    return p;
}

/* Packs and runs, all in one piece. */
static void run(const lcsm_kernels_f32 *k, const lcsm_gemm_f32 *x)
{
    float *packed = block(lcsm_gemm_packed(x->N, x->K) * sizeof(float));
    float *ws     = block(lcsm_gemm_scratch(x->M, x->K) * sizeof(float));
    for (ptrdiff_t j = 0; j < lcsm_gemm_pieces(x->N, x->K); j++)
        lcsm_gemm_pack_f32(k, x, j, packed);
    lcsm_gemm_run_f32(k, x, packed, ws);
    free(packed);
    free(ws);
}

/* op(A) by rows, or op(B) by columns, as doubles. */
static double *exact(const problem *p, bool of_a)
{
    const lcsm_gemm_f32 *x    = &p->x;
    const uint16_t      *half = of_a ? p->half_a : p->half_b;
    ptrdiff_t            n = of_a ? x->M : x->N, ld = of_a ? x->lda : x->ldb;
    double              *to      = malloc((size_t)(n * x->K + 1) * sizeof *to);
    bool                 by_rows = of_a ? !x->ta : x->tb;
    assert_non_null(to);
    if ((of_a ? x->a_type : x->type) != LCSM_WEIGHT_REAL) ld /= 2;
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < x->K; k++)
            to[i * x->K + k] = (double)lcsm_bf16_real_f32(half[by_rows ? i * ld + k : k * ld + i]);
    return to;
}

/* The bound of gemm.h. */
static void compare(const problem *p, const float *before, unsigned set)
{
    const lcsm_gemm_f32 *x = &p->x;
    double              *a = exact(p, true), *b = exact(p, false);
    for (ptrdiff_t i = 0; i < x->M; i++)
        for (ptrdiff_t j = 0; j < x->ldc; j++) {
            double start = (double)before[i * x->ldc + j], got = (double)p->c[i * x->ldc + j];
            double want = x->add ? start : 0, sum = 0, size = fabs(want), sizes = 0;
            for (ptrdiff_t k = 0; k < x->K && j < x->N; k++) {
                double term = a[i * x->K + k] * b[j * x->K + k];
                sum += term;
                sizes += fabs(term);
            }
            want += (double)x->alpha * sum;
            size += (double)x->alpha * sizes;
            double bound = (double)(x->K + 2) * 0x1p-23 * size + (double)x->K * 0x1p-126;
            if (j >= x->N) want = start, bound = 0;
            if (!(fabs(got - want) <= bound))
                fail_msg("set %u, ta %d tb %d half %d %d add %d, M%td N%td K%td at %td, %td: "
                         "%.9g, want %.9g within %.2g",
                         set, x->ta, x->tb, x->a_type != 0, x->type != 0, x->add, x->M, x->N, x->K,
                         i, j, got, want, bound);
        }
    free(a);
    free(b);
}

static kind kind_of(int bits)
{
    return (kind){bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1, bits >> 4 & 1};
}

static void check(const lcsm_kernels_f32 *k, unsigned set, const ptrdiff_t *shape)
{
    for (int bits = 0; bits < 32; bits++) {
        problem p      = make(kind_of(bits), shape[0], shape[1], shape[2]);
        float  *before = numbers(p.c_n, 5);
        run(k, &p.x);
        compare(&p, before, set);
        free(before);
        drop(&p);
    }
}

TEST(gemm_bf16_every_set_is_within_the_bound_of_the_exact_product)
{
    for (size_t s = 0; s < COUNT(SETS); s++) {
        unsigned set = SETS[s] & lcsm_cpu_features();
        if (set != SETS[s] && SETS[s] != ~0u) continue;
        void *table = kernel_table_f32(set);
        for (size_t j = 0; j < COUNT(SHAPES); j++) check(table, set, SHAPES[j]);
        free(table);
    }
}

/* Rows, columns and depths by themselves. */
static void run_in_parts(const lcsm_kernels_f32 *k, const lcsm_gemm_f32 *x, ptrdiff_t row,
                         ptrdiff_t col, ptrdiff_t depth)
{
    lcsm_gemm_f32 one[4];
    for (int part = 0; part < 4; part++) {
        lcsm_gemm_f32 *y = &one[part];
        *y               = *x;
        y->M             = part % 2 == 0 ? row : x->M - row;
        y->N             = part / 2 == 0 ? col : x->N - col;
        lcsm_gemm_down_f32(y, part % 2 * row, 0);
        lcsm_gemm_skip_f32(y, part / 2 * col, 0);
        y->C += part / 2 * col;
        lcsm_gemm_f32 deep = *y;
        y->K               = depth;
        deep.K             = x->K - depth;
        deep.add           = true;
        lcsm_gemm_down_f32(&deep, 0, depth);
        lcsm_gemm_skip_f32(&deep, 0, depth);
        run(k, y);
        run(k, &deep);
    }
}

TEST(gemm_bf16_is_bit_identical_however_it_is_cut)
{
    for (size_t s = 1; s < COUNT(SETS); s++) {
        unsigned set = SETS[s] & lcsm_cpu_features();
        if (set != SETS[s] && SETS[s] != ~0u) continue;
        void *table = kernel_table_f32(set);
        for (int bits = 0; bits < 32; bits++) {
            problem whole = make(kind_of(bits), 37, 101, 1100),
                    parts = make(kind_of(bits), 37, 101, 1100);
            run(table, &whole.x);
            run_in_parts(table, &parts.x, 5, 33, 2 * GEMM_DEPTH_BF16);
            assert_memory_equal(whole.c, parts.c, (size_t)whole.c_n * sizeof *whole.c);
            drop(&whole);
            drop(&parts);
        }
        free(table);
    }
}

static void run_on_threads(int threads, problem *p)
{
    lcsm_context        *ctx = NULL;
    lcsm_context_options o   = {.size = sizeof o, .threads = threads};
    assert_int_equal(lcsm_context_create(&ctx, &o, NULL), LCSM_OK);
    void *ws = block(lcsm_gemm_bytes_f32(threads, true, p->x.M, p->x.N, p->x.K));
    lcsm_gemm_parallel_f32(ctx->pool, ctx->f32, &p->x, ws);
    free(ws);
    lcsm_context_free(ctx);
}

TEST(gemm_bf16_is_bit_identical_on_any_number_of_threads)
{
    static const ptrdiff_t LARGE[][3] = {
        {300, 520, 70}, {70, 1200, 600}, {3, 4200, 130}, {520, 5, 900}};
    for (size_t j = 0; j < COUNT(LARGE); j++)
        for (int bits = 0; bits < 16; bits++) {
            const ptrdiff_t *n   = LARGE[j];
            problem          one = make(kind_of(bits), n[0], n[1], n[2]),
                    many         = make(kind_of(bits), n[0], n[1], n[2]);
            run_on_threads(1, &one);
            run_on_threads(3, &many);
            assert_memory_equal(one.c, many.c, (size_t)one.c_n * sizeof *one.c);
            drop(&one);
            drop(&many);
        }
}

/* ---- conversion ---- */

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* By the definition: the nearer of the two neighbours, of two equally near the even one. */
static uint16_t nearest(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint16_t low = (uint16_t)(bits >> 16), high = (uint16_t)(low + 1);
    double   below = (double)lcsm_bf16_real_f32(low), above = (double)lcsm_bf16_real_f32(high);
    if ((high & 0x7fff) == 0x7f80) above = copysign(0x1p128, below);
    double down = fabs((double)x - below), up = fabs(above - (double)x);
    return down < up || (down == up && low % 2 == 0) ? low : high;
}

TEST(bf16_arrays_are_rounded_to_the_nearest_in_every_set)
{
    enum { MOST = 4099 };
    static float    x[MOST], back[MOST + 1];
    static uint16_t half[MOST + 1];
    for (size_t s = 0; s < COUNT(SETS); s++) {
        unsigned set = SETS[s] & lcsm_cpu_features();
        if (set != SETS[s] && SETS[s] != ~0u) continue;
        lcsm_kernels_f32 *k = kernel_table_f32(set);
        for (uint32_t j = 0; j < MOST; j++) x[j] = of_bits(j * 1047797u + (j % 3) * 0x8000u);
        x[5] = of_bits(0x7f800001u), x[6] = of_bits(0xffffffffu), x[7] = INFINITY;
        x[8] = -INFINITY, x[9] = 0x1p-140f, x[10] = -0.0f, x[11] = 3.4e38f;
        static const ptrdiff_t SIZES[] = {0, 1, 7, 15, 16, 17, 31, 33, MOST};
        for (size_t c = 0; c < COUNT(SIZES); c++) {
            ptrdiff_t n = SIZES[c];
            half[n] = 4711, back[n] = 4711;
            k->bf16->narrow(n, x, half);
            k->bf16->widen(n, half, back);
            assert_true(half[n] == 4711 && back[n] == 4711);
            for (ptrdiff_t j = 0; j < n; j++) {
                if (isnan(x[j])) assert_true(isnan(back[j]));
                else if (isinf(x[j])) assert_true(back[j] == x[j]);
                else assert_int_equal(half[j], nearest(x[j]));
                assert_int_equal(half[j], lcsm_bf16_bits_f32(x[j]));
            }
        }
        free(k);
    }
}
