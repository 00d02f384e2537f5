/* Products with weights in blocks: every set of kernels and every type against the product with the
 * unpacked weights, in double. */
#define LCSM_VARIANT_F32_OP
#include <lcsm/context.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/context.h"
#include "kernel/gemm/gemm_drive.h"
#include "test.h"

enum { MOST_K = 1024, SPARE = 5, MANY = 67 };

typedef struct {
    lcsm_weight_type type;
    ptrdiff_t        M, N, K, lda, ldb, ldc;
    float           *a, *w, *c; /* w: unpacked, rows K apart */
    unsigned char   *blocks;
} problem;

static problem make(lcsm_weight_type type, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    problem p = {.type = type, .M = M, .N = N, .K = K, .lda = K + SPARE, .ldc = N + SPARE};
    p.ldb     = (ptrdiff_t)lcsm_weight_row(type, (size_t)K) + 2;
    p.a       = calloc((size_t)(M * p.lda) + 1, sizeof *p.a);
    p.w       = calloc((size_t)(N * K) + 1, sizeof *p.w);
    p.c       = calloc((size_t)(M * p.ldc) + 1, sizeof *p.c);
    p.blocks  = malloc((size_t)(N * p.ldb) + 1);
    for (ptrdiff_t j = 0; j < M * p.lda; j++) p.a[j] = (float)lcsm_rng_normal(1, 2, (uint64_t)j);
    for (ptrdiff_t j = 0; j < N * K; j++) p.w[j] = (float)lcsm_rng_normal(3, 4, (uint64_t)j);
    for (ptrdiff_t j = 0; j < N; j++) {
        unsigned char *row = p.blocks + j * p.ldb;
        assert_true(lcsm_weight_pack(type, row, p.w + j * K, (size_t)K));
        lcsm_blocks_decode(p.w + j * K, lcsm_weight_blocks(type), row, (size_t)K);
    }
    return p;
}

static void drop(problem *p)
{
    free(p->a);
    free(p->w);
    free(p->c);
    free(p->blocks);
}

static void run_as(const lcsm_context *ctx, const problem *p, bool add, bool few)
{
    int   threads = lcsm_pool_threads(ctx->pool);
    void *ws      = aligned_alloc(64, R_(lcsm_gemm_bytes)(threads, false, p->M, p->N, p->K) + 64);
    R_(lcsm_gemm)
    x = {.tb     = true,
         .add    = add,
         .few    = few,
         .M      = p->M,
         .N      = p->N,
         .K      = p->K,
         .alpha  = 1,
         .A      = p->a,
         .C      = p->c,
         .lda    = p->lda,
         .ldb    = p->ldb,
         .ldc    = p->ldc,
         .type   = p->type,
         .blocks = p->blocks};
    for (ptrdiff_t j = 0; j < p->M * p->ldc; j++) p->c[j] = add ? 3 : 7;
    R_(lcsm_gemm_parallel)(ctx->pool, ctx->f32, &x, ws);
    free(ws);
}

static void run(const lcsm_context *ctx, const problem *p, bool add)
{
    run_as(ctx, p, add, false);
}

/* What may be lost: K + 1 roundings of sums, and half a level of each block of A. */
static void compare(const problem *p, bool add, const char *set)
{
    for (ptrdiff_t i = 0; i < p->M; i++)
        for (ptrdiff_t j = 0; j < p->N; j++) {
            const float *a = p->a + i * p->lda, *w = p->w + j * p->K;
            double       want = add ? 3 : 0, size = fabs(want), levels = 0;
            for (ptrdiff_t k = 0; k < p->K; k += 32) {
                double most = 0, sum = 0;
                for (ptrdiff_t l = k; l < k + 32 && l < p->K; l++) {
                    want += (double)a[l] * (double)w[l];
                    size += fabs((double)a[l] * (double)w[l]);
                    most = fmax(most, fabs((double)a[l]));
                    sum += fabs((double)w[l]);
                }
                levels += most / 254 * sum;
            }
            bool   rounds = p->type >= LCSM_WEIGHT_Q8;
            double bound  = (double)(p->K + 1) * 0x1p-24 * size + (rounds ? 1.001 * levels : 0);
            double got    = (double)p->c[i * p->ldc + j];
            if (!(fabs(got - want) <= bound))
                fail_msg("%s %s M%td N%td K%td at %td, %td: %.9g, want %.9g within %.2g", set,
                         lcsm_weight_name(p->type), p->M, p->N, p->K, i, j, got, want, bound);
        }
    for (ptrdiff_t i = 0; i < p->M; i++) /* nothing behind a row is touched */
        for (ptrdiff_t j = p->N; j < p->ldc; j++)
            assert_true(p->c[i * p->ldc + j] == (add ? 3 : 7));
}

static lcsm_context *context(lcsm_isa isa, int threads)
{
    lcsm_context        *ctx = NULL;
    lcsm_context_options o   = {.size = sizeof o, .threads = threads, .isa = isa};
    return lcsm_context_create(&ctx, &o, NULL) == LCSM_OK ? ctx : NULL;
}

static const struct {
    const char *name;
    lcsm_isa    isa;
} SETS[] = {{"reference", LCSM_ISA_REFERENCE},
            {"portable", LCSM_ISA_PORTABLE},
            {"avx2", LCSM_ISA_AVX2},
            {"avx512", LCSM_ISA_AVX512},
            {"avx512-bf16", LCSM_ISA_AVX512_BF16}, /* with VNNI where the processor has it */
            {"neon", LCSM_ISA_NEON}};

/* Few rows, which are dots, and many, which are panels; lengths that are whole blocks. */
TEST(blocks_dot_every_set_and_type_agree_with_the_unpacked_product)
{
    static const ptrdiff_t M[] = {0, 1, 2, 4, 5, 37}, N[] = {0, 1, 3, 4, 5, 193},
                           K[] = {0, 1, 17, 32, 48, 64, 96, 160, 256, 288, 768};
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa, 2);
        if (ctx == NULL) continue;
        for (int t = LCSM_WEIGHT_F16; t < LCSM_WEIGHT_COUNT; t++)
            for (size_t m = 0; m < COUNT(M); m++)
                for (size_t n = 0; n < COUNT(N); n++)
                    for (size_t k = 0; k < COUNT(K); k++) {
                        if ((int)lcsm_weight_fit((lcsm_weight_type)t, (size_t)K[k]) != t) continue;
                        problem p   = make((lcsm_weight_type)t, M[m], N[n], K[k]);
                        bool    add = (m + n) % 2 == 1;
                        run(ctx, &p, add);
                        compare(&p, add, SETS[s].name);
                        drop(&p);
                    }
        lcsm_context_free(ctx);
    }
}

TEST(blocks_dot_threads_do_not_change_a_bit)
{
    lcsm_context *one = context(LCSM_ISA_AUTO, 1), *two = context(LCSM_ISA_AUTO, 3);
    for (int t = LCSM_WEIGHT_F16; t < LCSM_WEIGHT_COUNT; t++)
        for (ptrdiff_t M = 1; M <= 40; M += 39) {
            problem p = make((lcsm_weight_type)t, M, 1000, 512);
            size_t  n = (size_t)(M * p.ldc) * sizeof *p.c;
            float  *c = malloc(n);
            run(one, &p, false);
            memcpy(c, p.c, n);
            run(two, &p, false);
            assert_memory_equal(c, p.c, n);
            free(c);
            drop(&p);
        }
    lcsm_context_free(one);
    lcsm_context_free(two);
}

/* A row of several gives what it gives alone. */
TEST(blocks_dot_rows_do_not_change_each_other)
{
    lcsm_context *ctx = context(LCSM_ISA_AUTO, 1);
    for (int t = LCSM_WEIGHT_F16; t < LCSM_WEIGHT_COUNT; t++) {
        problem p = make((lcsm_weight_type)t, MANY, 37, 512), one = p;
        float   c[MANY * 64];
        run_as(ctx, &p, false, true);
        memcpy(c, p.c, (size_t)(p.M * p.ldc) * sizeof *c);
        for (ptrdiff_t i = 0; i < p.M; i++) {
            one.M = 1;
            one.a = p.a + i * p.lda;
            run(ctx, &one, false);
            assert_memory_equal(c + i * p.ldc, one.c, (size_t)p.N * sizeof *c);
        }
        drop(&p);
    }
    lcsm_context_free(ctx);
}

TEST(blocks_unpack_every_set_gives_the_numbers_of_the_definition)
{
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa, 1);
        for (int t = LCSM_WEIGHT_F16; ctx != NULL && t < LCSM_WEIGHT_COUNT; t++) {
            unsigned char bytes[2 * MOST_K];
            float         want[MOST_K], got[MOST_K];
            size_t        values = lcsm_weight_blocks((lcsm_weight_type)t)->values;
            size_t        n      = values == 1 ? 1021 : MOST_K;
            for (size_t j = 0; j < sizeof bytes; j++)
                bytes[j] = (unsigned char)(lcsm_rng_uniform(5, 6, j) * 256);
            lcsm_blocks_decode(want, lcsm_weight_blocks((lcsm_weight_type)t), bytes, n);
            ctx->f32->gemm->unpack((lcsm_weight_type)t, bytes, (ptrdiff_t)n, got);
            for (size_t j = 0; j < n; j++)
                if (!(got[j] == want[j] || (isnan(got[j]) && isnan(want[j]))))
                    fail_msg("%s %s: number %zu is %.9g, want %.9g", SETS[s].name,
                             lcsm_weight_name((lcsm_weight_type)t), j, (double)got[j],
                             (double)want[j]);
        }
        lcsm_context_free(ctx);
    }
}

/* Every half there is, subnormal and infinite ones too. */
TEST(blocks_unpack_every_half_and_bf16)
{
    static uint16_t all[0x10000];
    static float    got[0x10000], want[0x10000];
    for (size_t j = 0; j < COUNT(all); j++) all[j] = (uint16_t)j;
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa, 1);
        for (int t = LCSM_WEIGHT_F16; ctx != NULL && t <= LCSM_WEIGHT_BF16; t++) {
            const unsigned char *bytes = (const unsigned char *)all;
            lcsm_blocks_decode(want, lcsm_weight_blocks((lcsm_weight_type)t), bytes, COUNT(all));
            ctx->f32->gemm->unpack((lcsm_weight_type)t, bytes, (ptrdiff_t)COUNT(all), got);
            for (size_t j = 0; j < COUNT(all); j++)
                assert_true(isnan(want[j]) ? isnan(got[j])
                                           : memcmp(&got[j], &want[j], sizeof got[j]) == 0);
        }
        lcsm_context_free(ctx);
    }
}

TEST(blocks_dot_a_nan_or_an_infinity_of_the_input_shows)
{
    static const float BAD[] = {NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa, 1);
        for (int t = LCSM_WEIGHT_F16; ctx != NULL && t < LCSM_WEIGHT_COUNT; t++)
            for (size_t b = 0; b < COUNT(BAD); b++) {
                problem p = make((lcsm_weight_type)t, 1, 5, 256);
                p.a[100]  = BAD[b];
                run(ctx, &p, false);
                for (int j = 0; j < 5; j++)
                    assert_false(p.w[j * 256 + 100] != 0 && isfinite(p.c[j]));
                drop(&p);
            }
        lcsm_context_free(ctx);
    }
}
