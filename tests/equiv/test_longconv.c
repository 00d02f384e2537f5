/*
 * test_longconv.c - the long convolution of every variant against the plain sum in double.
 *
 * Bounds, relative to the largest number: a float sum of thousands of products of random signs, and
 * a transform of them with its log2(n) roundings, lose a few of 24 bits (4e-6); a double differs by
 * as many roundings of its own (1e-12).
 */
#include "base/rng.h"
#include "base/size.h"
#include "check/eos_case.h"
#include "kernel/cpu.h"
#include "longconv_probe.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char     *name;
    unsigned        needs;
    longconv_probe *run;
    double          bound;
} SETS[] = {
    {"f64 portable", LCSM_CPU_VECTOR, longconv_probe_f64_portable, 1e-12},
    {"f32 portable", LCSM_CPU_VECTOR, longconv_probe_f32_portable, 4e-6},
#if defined(__x86_64__)
    {"f32 avx2", LCSM_CPU_AVX2, longconv_probe_f32_avx2, 4e-6},
    {"f32 avx512", LCSM_CPU_AVX512, longconv_probe_f32_avx512, 4e-6},
#elif defined(__aarch64__)
    {"f32 neon", LCSM_CPU_NEON, longconv_probe_f32_neon, 4e-6},
#endif
};

typedef struct {
    ptrdiff_t B, T, L, D;
    double   *u, *k, *g_y, *y, *g_u, *g_k;
} arrays;

static double *take(ptrdiff_t n)
{
    double *p = calloc((size_t)n + 1, sizeof *p);
    assert_non_null(p);
    return p;
}

static double *numbers(ptrdiff_t n, uint32_t purpose)
{
    double *p = take(n);
    for (ptrdiff_t j = 0; j < n; j++)
        p[j] = (double)(float)(2 * lcsm_rng_uniform(5, purpose, (uint64_t)j) - 1);
    return p;
}

static arrays make(ptrdiff_t B, ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    ptrdiff_t all = B * T * D;
    return (arrays){B,
                    T,
                    L,
                    D,
                    numbers(all, 1),
                    numbers(L * D, 2),
                    numbers(all, 3),
                    take(all),
                    numbers(all, 4),
                    numbers(L * D, 5)}; /* gradients are added to */
}

static void drop(arrays *a)
{
    free(a->u), free(a->k), free(a->g_y), free(a->y), free(a->g_u), free(a->g_k);
}

static void plain(const arrays *a)
{
    ptrdiff_t D = a->D;
    for (ptrdiff_t j = 0; j < a->B * a->T; j++)
        for (ptrdiff_t l = 0; l <= j % a->T && l < a->L; l++)
            for (ptrdiff_t d = 0; d < D; d++) {
                double g = a->g_y[j * D + d];
                a->y[j * D + d] += a->k[l * D + d] * a->u[(j - l) * D + d];
                a->g_u[(j - l) * D + d] += a->k[l * D + d] * g;
                a->g_k[l * D + d] += a->u[(j - l) * D + d] * g;
            }
}

static int off(const char *set, const char *what, const arrays *a, const double *got,
               const double *want, ptrdiff_t n, double bound)
{
    double error = lcsm_relative_error(got, want, (size_t)n);
    if (error <= bound) return 0;
    print_error("%s B %td T %td L %td D %td: %s is off by %.2e\n", set, a->B, a->T, a->L, a->D,
                what, error);
    return 1;
}

static int compare(ptrdiff_t B, ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    arrays want = make(B, T, L, D);
    int    bad  = 0;
    plain(&want);
    for (size_t s = 0; s < COUNT(SETS); s++) {
        if (SETS[s].needs & ~lcsm_cpu_features()) continue;
        arrays got = make(B, T, L, D);
        SETS[s].run(B, T, L, D, got.u, got.k, got.g_y, got.y, got.g_u, got.g_k);
        bad += off(SETS[s].name, "y", &got, got.y, want.y, B * T * D, SETS[s].bound);
        bad += off(SETS[s].name, "g_u", &got, got.g_u, want.g_u, B * T * D, SETS[s].bound);
        bad += off(SETS[s].name, "g_k", &got, got.g_k, want.g_k, L * D, SETS[s].bound);
        drop(&got);
    }
    drop(&want);
    return bad;
}

TEST(longconv_small_and_odd_sizes_agree_with_the_plain_sum)
{
    static const ptrdiff_t T[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 33, 129}, D[] = {1, 3, 4, 5, 16, 33};
    int                    bad = 0;
    for (size_t t = 0; t < COUNT(T); t++)
        for (size_t d = 0; d < COUNT(D); d++) {
            const ptrdiff_t lags[] = {0, 1, 2, T[t] / 2 + 1, T[t], T[t] + 3};
            for (size_t l = 0; l < COUNT(lags); l++) bad += compare(1, T[t], lags[l], D[d]);
        }
    assert_int_equal(bad, 0);
}

TEST(longconv_sequences_do_not_meet)
{
    assert_int_equal(compare(3, 5, 4, 2) + compare(2, 300, 300, 3) + compare(0, 300, 300, 3), 0);
}

/* Either side of where transforms begin, of where a block is full, and of where the next begins;
 * kernels shorter, as long and longer; channels up to one past a vector. */
TEST(longconv_long_sequences_agree_with_the_plain_sum)
{
    static const ptrdiff_t sizes[][4] = {
        {1, 280, 280, 1},   {1, 281, 281, 17},  {1, 512, 512, 3},   {2, 513, 513, 9},
        {1, 600, 5000, 1},  {1, 600, 200, 33},  {1, 1024, 256, 2},  {2, 1025, 256, 2},
        {1, 1279, 257, 3},  {1, 2048, 2048, 2}, {1, 2049, 2049, 2}, {1, 4097, 4097, 1},
        {1, 4097, 1794, 3}, {1, 2200, 141, 5},
    };
    int bad = 0;
    for (size_t j = 0; j < COUNT(sizes); j++)
        bad += compare(sizes[j][0], sizes[j][1], sizes[j][2], sizes[j][3]);
    assert_int_equal(bad, 0);
}

TEST(longconv_gradients_that_nobody_wants_are_left_out)
{
    for (size_t s = 0; s < COUNT(SETS); s++) {
        if (SETS[s].needs & ~lcsm_cpu_features()) continue;
        arrays a = make(2, 40, 40, 5), b = make(2, 40, 40, 5), c = make(2, 40, 40, 5);
        SETS[s].run(2, 40, 40, 5, a.u, a.k, a.g_y, a.y, a.g_u, a.g_k);
        SETS[s].run(2, 40, 40, 5, b.u, b.k, b.g_y, b.y, b.g_u, NULL);
        SETS[s].run(2, 40, 40, 5, c.u, c.k, c.g_y, c.y, NULL, c.g_k);
        assert_memory_equal(a.g_u, b.g_u, 400 * sizeof(double));
        assert_memory_equal(a.g_k, c.g_k, 200 * sizeof(double));
        drop(&a), drop(&b), drop(&c);
    }
}
