/*
 * test_kernels.c - every kernel set in float, and the vector set in double, against the plain
 * reference in double.
 *
 * Float results may be off by 2e-5 of the largest number of their array: a sum of n terms of size 1
 * with rounding errors of 6e-8 each is off by about 6e-8 sqrt(n) n^(1/2) / |sum|, and no sum here
 * has more than some thousand terms. Double may be off by 1e-12 by the same count.
 */
#include "kernel/cpu.h"
#include "kernel_runs.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned SETS[] = {0, LCSM_CPU_VECTOR, LCSM_CPU_VECTOR | LCSM_CPU_AVX2,
                                LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512,
                                LCSM_CPU_VECTOR | LCSM_CPU_NEON};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* 0, 1, odd sizes, one past each vector width, and more than one tile of each kernel. */
static const ptrdiff_t ROWS[] = {0, 1, 2, 7, 33, 131};
static const ptrdiff_t COLS[] = {0, 1, 3, 5, 9, 16, 17, 31, 65, 259};

/* The worst error of the arrays in got, each relative to the largest number of its array. */
static double compare(const kernel_results *got, const kernel_results *want)
{
    double worst = 0;
    assert_int_equal(got->used, want->used);
    for (size_t at = 0; at < want->used;) {
        size_t n    = (size_t)want->p[at++];
        double size = 1e-30, error = 0;
        for (size_t j = 0; j < n; j++) {
            double d = fabs(got->p[at + j] - want->p[at + j]);
            size     = fmax(size, fabs(want->p[at + j]));
            if (!(d <= error)) error = d; /* a NaN sticks */
        }
        if (!(error / size <= worst)) worst = error / size;
        at += n;
    }
    return worst;
}

/* What is compared with the reference. */
typedef struct {
    const kernel_run *runs;
    void             *table;
    unsigned          cpu;
    double            bound;
} contender;

static size_t contenders(contender *list)
{
    size_t n = 0;
    list[n++] =
        (contender){KERNEL_RUNS_f64, kernel_table_f64(LCSM_CPU_VECTOR), LCSM_CPU_VECTOR, 1e-12};
    for (size_t s = 0; s < COUNT(SETS); s++)
        if ((SETS[s] & ~lcsm_cpu_features()) == 0)
            list[n++] = (contender){KERNEL_RUNS_f32, kernel_table_f32(SETS[s]), SETS[s], 2e-5};
    for (size_t j = 0; j < n; j++) assert_non_null(list[j].table);
    return n;
}

static void check(const contender *c, size_t run, ptrdiff_t rows, ptrdiff_t cols,
                  const kernel_results *want)
{
    const kernel_run *it  = &c->runs[run];
    kernel_results    got = {0};
    it->run(c->table, it->variation, rows, cols, &got);
    double error = compare(&got, want);
    free(got.p);
    if (!(error <= c->bound))
        fail_msg("%s, set %u, %td x %td: error %.3g, want at most %.3g", it->name, c->cpu, rows,
                 cols, error, c->bound);
}

/* All runs whose name starts with the prefix. */
static void check_all(const char *prefix)
{
    contender list[1 + COUNT(SETS)];
    size_t    n = contenders(list), shapes = COUNT(ROWS) * COUNT(COLS), runs = 0;
    void     *reference = kernel_table_f64(0);
    assert_non_null(reference);
    for (size_t j = 0; KERNEL_RUNS_f64[j].name != NULL; j++) {
        const kernel_run *truth = &KERNEL_RUNS_f64[j];
        if (strncmp(truth->name, prefix, strlen(prefix)) != 0) continue;
        for (size_t s = 0; s < shapes; s++) {
            ptrdiff_t      rows = ROWS[s / COUNT(COLS)], cols = COLS[s % COUNT(COLS)];
            kernel_results want = {0};
            truth->run(reference, truth->variation, rows, cols, &want);
            for (size_t c = 0; c < n; c++) check(&list[c], j, rows, cols, &want);
            free(want.p);
        }
        runs++;
    }
    assert_true(runs > 0);
    free(reference);
    for (size_t c = 0; c < n; c++) free(list[c].table);
}

TEST(kernels_activation_every_set_agrees_with_the_double_reference)
{
    check_all("activation-");
}

TEST(kernels_norm_every_set_agrees_with_the_double_reference)
{
    check_all("norm-");
}

TEST(kernels_conv_every_set_agrees_with_the_double_reference)
{
    check_all("conv-");
}

TEST(kernels_shift_every_set_agrees_with_the_double_reference)
{
    check_all("shift");
}

TEST(kernels_rotate_every_set_agrees_with_the_double_reference)
{
    check_all("rotate-");
}

TEST(kernels_xent_every_set_agrees_with_the_double_reference)
{
    check_all("xent-");
}

TEST(kernels_attention_every_set_agrees_with_the_double_reference)
{
    check_all("attention");
}

TEST(kernels_adamw_every_set_agrees_with_the_double_reference)
{
    check_all("adamw");
}
