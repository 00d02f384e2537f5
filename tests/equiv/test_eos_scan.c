/* The scan form against the definition: every element-wise o, every set of kernels. */
#include "base/rng.h"
#include "base/size.h"
#include "eos_compare.h"
#include "eos_strides.h"
#include "kernel/cpu.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D };
#define NO ~0u

/* What the table of the checks leaves out: every way to make z = u w, and generated factors beside
 * all others. Columns as there. */
/* clang-format off */
static const lcsm_eos_case MORE[] = {
    {"exp u TK w D",       {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|K, D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp u TKD w 1",      {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|K|D, 0, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp u T w TKD",      {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T, T|K|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp u KD w TD",      {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, K|D, T|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp u KD w T",       {T|D, T|K, K|D, NO, NO, NO, NO, NO, NO, K|D, T, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp u TD w TK",      {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|D, T|K, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp static",         {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, K, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp static, row",    {T|D, T|K, T|K, T|K, NO, NO, NO, NO, NO, K, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"exp, full, phases",  {T|D, T|K, T|K, K, T|D, K|D, K, T|D, K|D, T|D, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 1 << EOS_e | 1 << EOS_s, {0}},
    {"gate u TK w TD",     {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|K, T|D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 2.5, 0, {0}},
    {"gate u TK w TK",     {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|K, T|K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 64, 0, {0}},
    {"gate static, full",  {T|D, K|D, T|K, NO, NO, T|K|D, NO, NO, NO, D, K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 3, 0, {0}},
    {"gate, all, complex", {T|D, K|D, K|D, T|K, D, K|D, T|K, D, T|K|D, T|K, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 16, 1 << EOS_e, {0}},
    {"complement static",  {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, K, D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"complement u TD",    {T|D, T|K, T|K, NO, NO, NO, NO, NO, NO, T|D, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"complement u TK",    {T|D, T|K, T|K, NO, NO, K|D, NO, NO, NO, T|K, K, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"complement, all",    {T|D, K|D, T|K, T|K, T|D, K|D, NO, NO, NO, T|D, T|K, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"complement, complex", {T|D, T|K, K, K, NO, T|K|D, T|K, T|D, NO, T|K, D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 1 << EOS_s, {0}},
    {"complex e",          {T|D, T|K, T|K, NO, T|D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_e, {0}},
    {"complex matrix s",   {T|D, K, K|D, T, NO, NO, NO, D, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_s, {0}},
    {"all token logs",     {T|D, T|K, T|K, T|K, T|D, T|K|D, T|K, T|D, T|K|D, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_e | 1 << EOS_s, {0}},
};
/* clang-format on */

static size_t case_count(void)
{
    return LCSM_EOS_CASE_COUNT + COUNT(MORE);
}

static const lcsm_eos_case *case_at(size_t j)
{
    return j < LCSM_EOS_CASE_COUNT ? &LCSM_EOS_CASES[j] : &MORE[j - LCSM_EOS_CASE_COUNT];
}

static int compare(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set,
                   const ptrdiff_t *chunks)
{
    return eos_compare_case(c, LCSM_FORM_SCAN, n, set, chunks);
}

/* The gradient of a static scalar is one number, the sum of terms that cancel to a fraction, so its
 * relative error depends on the seed. */
static bool has_static_scalar(const lcsm_eos_case *c)
{
    return c->axes[EOS_row] == 0 || c->axes[EOS_u] == 0 || c->axes[EOS_w] == 0;
}

/* A static 1 - u w close to 1 is rounded alike at every step; over thousands of them that is more
 * than the bound. (Static logs are corrected for it.) */
static bool has_static_complement(const lcsm_eos_case *c)
{
    return c->gen == LCSM_GEN_COMPLEMENT && !((c->axes[EOS_u] | c->axes[EOS_w]) & T);
}

TEST(eos_scan_serves_every_case_but_matrices_and_other_reads)
{
    for (size_t j = 0; j < case_count(); j++) {
        const lcsm_eos_case *c = case_at(j);
        assert_int_equal(eos_form_serves(c, LCSM_FORM_SCAN),
                         c->axes[EOS_dense] == NO && c->axes[EOS_erase] == NO
                             && c->axes[EOS_a] == NO && !c->more.before
                             && (c->gen == LCSM_GEN_NONE
                                 || (!c->more.complex_y && (c->complex >> EOS_i & 1) == 0)));
    }
}

TEST(eos_scan_every_case_and_setting_agrees_with_the_definition)
{
    static const lcsm_eos_setting settings[] = {
        {.seed = 3},
        {.reset = true, .seed = 4},
        {.reverse = true, .seed = 5},
        {.carry = true, .seed = 6},
        {.reset = true, .reverse = true, .carry = true, .seed = 7},
    };
    static const ptrdiff_t chunks[] = {1, 7, 32, 0};
    int                    count    = 0;
    for (size_t j = 0; j < case_count(); j++)
        for (size_t s = 0; s < COUNT(settings); s++)
            count += compare(case_at(j), (lcsm_eos_sizes){2, 37, 2, 6, 19}, &settings[s], chunks);
    assert_int_equal(count, 0);
}

/* One, odd, one past a vector, one past a tile of every set, one past a group of strips. (With one
 * row a static row factor is a scalar: the seed is one where its gradient does not cancel.) */
TEST(eos_scan_every_case_agrees_for_small_and_odd_sizes)
{
    static const struct {
        ptrdiff_t K, D;
    } sizes[] = {{1, 1}, {1, 70}, {3, 1}, {4, 4}, {5, 9}, {2, 17}, {8, 33}, {7, 65}, {4, 300}};
    static const lcsm_eos_setting all = {.reset = true, .reverse = true, .carry = true, .seed = 12};
    static const ptrdiff_t        chunks[] = {2, 16, 0};
    int                           count    = 0;
    for (size_t j = 0; j < case_count(); j++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            count += compare(case_at(j), (lcsm_eos_sizes){1, 19, 1, sizes[s].K, sizes[s].D}, &all,
                             chunks);
    assert_int_equal(count, 0);
}

TEST(eos_scan_agrees_for_every_length_around_borders)
{
    static const char *const      cases[]   = {"gen-exp", "gate-6", "full-static", "full-phase"};
    static const ptrdiff_t        lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    static const ptrdiff_t        chunks[]  = {1, 5, 16, 31, 32, 64, 200, 0};
    static const lcsm_eos_setting carry     = {.carry = true, .seed = 8};
    int                           count     = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        for (size_t s = 0; s < COUNT(lengths); s++)
            count += compare(eos_case_named(cases[j]), (lcsm_eos_sizes){1, lengths[s], 1, 5, 18},
                             &carry, chunks);
    assert_int_equal(count, 0);
}

TEST(eos_scan_agrees_over_4097_steps)
{
    static const ptrdiff_t        chunks[] = {32, 0};
    static const lcsm_eos_setting carry    = {.carry = true, .seed = 9};
    int                           count    = 0;
    for (size_t j = 0; j < case_count(); j++)
        if (!has_static_scalar(case_at(j)) && !has_static_complement(case_at(j)))
            count += compare(case_at(j), (lcsm_eos_sizes){1, 4097, 1, 3, 17}, &carry, chunks);
    assert_int_equal(count, 0);
}

/* ---- decays that leave the range of a float ------------------------------------------------ */

/* Logs of the given decays for every factor that is a log, one at random for each number. */
static int compare_decays(const lcsm_eos_case *c, const double *decays, size_t n, double magnitude)
{
    static const int       logs[]   = {EOS_row, EOS_col, EOS_full};
    static const ptrdiff_t chunks[] = {3, 32, 0};
    const lcsm_eos_setting set      = {.carry = true, .magnitude = magnitude, .seed = 10};
    lcsm_eos_problem       p;
    char                   text[120];
    if (!eos_form_serves(c, LCSM_FORM_SCAN)) return 0;
    assert_int_equal(lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 70, 1, 5, 18}, &set, NULL),
                     LCSM_OK);
    for (size_t f = 0; f < COUNT(logs); f++)
        for (size_t j = 0; j < p.size[logs[f]]; j++) {
            size_t at             = (size_t)(lcsm_rng_uniform(9, 1, j) * (double)n);
            p.operand[logs[f]][j] = (double)(float)log(decays[at]);
        }
    snprintf(text, sizeof text, "%s, decays %g ..., inputs %g", c->name, decays[0], magnitude);
    int count = eos_compare(&p, LCSM_FORM_SCAN, chunks, text);
    lcsm_eos_problem_free(&p);
    return count;
}

TEST(eos_scan_decays_from_0_to_1_agree)
{
    static const double decays[] = {0, 1e-38, 1e-30, 1e-8, 0.1, 0.9, 1, 0.999};
    int                 count    = 0;
    for (size_t j = 0; j < case_count(); j++) {
        if (has_static_scalar(case_at(j))) continue;
        count += compare_decays(case_at(j), decays, COUNT(decays), 1);
        for (size_t d = 0; d < COUNT(decays) - 1; d++)
            count += compare_decays(case_at(j), &decays[d], 1, 1);
    }
    assert_int_equal(count, 0);
}

TEST(eos_scan_inputs_of_10000_agree)
{
    static const double decays[] = {1, 1e-8, 0.4, 0.99, 1e-30, 0.25};
    int                 count    = 0;
    for (size_t j = 0; j < case_count(); j++)
        if (!has_static_scalar(case_at(j)))
            count += compare_decays(case_at(j), decays, COUNT(decays), 1e4);
    assert_int_equal(count, 0);
}

/* z = u w from -500 to 500: gates of 0 and 1, and the slopes behind them. */
TEST(eos_scan_gates_and_exponentials_saturate)
{
    static const ptrdiff_t        chunks[] = {32, 0};
    static const lcsm_eos_setting set      = {.carry = true, .seed = 11};
    static const char *const      cases[]  = {"gate-6", "gate-7",      "gate-8",
                                              "gate-9", "gate-static", "gen-exp"};
    int                           count    = 0;
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_eos_problem p;
        assert_int_equal(lcsm_eos_problem_make(&p, eos_case_named(cases[j]),
                                               (lcsm_eos_sizes){1, 40, 1, 5, 18}, &set, NULL),
                         LCSM_OK);
        for (size_t e = 0; e < p.size[EOS_u]; e += 3) p.operand[EOS_u][e] *= 500;
        for (size_t e = 0; e < p.size[EOS_u]; e += 7) p.operand[EOS_u][e] = 0;
        count += eos_compare(&p, LCSM_FORM_SCAN, chunks, cases[j]);
        lcsm_eos_problem_free(&p);
    }
    assert_int_equal(count, 0);
}

/* ---- any strides ------------------------------------------------------------------------- */

TEST(eos_scan_takes_operands_of_any_strides)
{
    unsigned cpu = lcsm_cpu_features();
    assert_int_equal(eos_strides_scan_f64_portable(), 0);
    assert_int_equal(eos_strides_scan_f32_portable(), 0);
#if defined(__x86_64__)
    if (cpu & LCSM_CPU_AVX2) assert_int_equal(eos_strides_scan_f32_avx2(), 0);
    if (cpu & LCSM_CPU_AVX512) assert_int_equal(eos_strides_scan_f32_avx512(), 0);
#elif defined(__aarch64__)
    if (cpu & LCSM_CPU_NEON) assert_int_equal(eos_strides_scan_f32_neon(), 0);
#endif
    (void)cpu;
}
