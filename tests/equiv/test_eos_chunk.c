/*
 * The chunked form and the delta form against the definition, the recurrent form in double: every
 * operand form they serve, every set of kernels of this machine.
 *
 * Bounds, relative to the largest number of an array: a float has 24 bits; sums of a few hundred
 * products of random signs and their cumulative sums lose about 8 of them (2e-5). A double differs
 * by the order of its sums only (1e-12).
 */
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/size.h"
#include "eos_compare.h"
#include "test.h"

/* The form of this file that serves a case; LCSM_FORM_AUTO if none does. */
static lcsm_eos_form form_of(const lcsm_eos_case *c)
{
    static const lcsm_eos_form forms[] = {LCSM_FORM_CHUNKED, LCSM_FORM_DELTA};
    for (size_t j = 0; j < COUNT(forms); j++)
        if (eos_form_serves(c, forms[j])) return forms[j];
    return LCSM_FORM_AUTO;
}

static int compare_case(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set,
                        const ptrdiff_t *chunks)
{
    return eos_compare_case(c, form_of(c), n, set, chunks);
}

static const lcsm_eos_setting PLAIN = {.seed = 12},
                              ALL   = {.reset = true, .reverse = true, .carry = true, .seed = 2};

TEST(eos_chunk_serves_the_separable_cases)
{
    int served = 0;
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        served += form_of(&LCSM_EOS_CASES[j]) != LCSM_FORM_AUTO;
    assert_true(served >= 34);
}

TEST(eos_chunk_every_case_and_setting_agrees_with_the_definition)
{
    static const lcsm_eos_setting settings[] = {
        {.seed = 3},
        {.reset = true, .seed = 4},
        {.reverse = true, .seed = 5},
        {.carry = true, .seed = 6},
        {.reset = true, .reverse = true, .carry = true, .seed = 7},
    };
    static const ptrdiff_t chunks[] = {3, 16, 0};
    int                    count    = 0;
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        for (size_t s = 0; s < COUNT(settings); s++)
            count += compare_case(&LCSM_EOS_CASES[j], (lcsm_eos_sizes){2, 37, 2, 9, 19},
                                  &settings[s], chunks);
    assert_int_equal(count, 0);
}

/* One, odd, one past a vector, one past a panel of every set. */
TEST(eos_chunk_every_case_agrees_for_small_and_odd_sizes)
{
    static const struct {
        ptrdiff_t K, D;
    } sizes[] = {{1, 1}, {1, 5}, {3, 1}, {5, 9}, {9, 17}, {17, 33}, {33, 16}, {16, 32}, {20, 70}};
    static const ptrdiff_t chunks[] = {2, 16, 64, 0};
    int                    count    = 0;
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            count += compare_case(&LCSM_EOS_CASES[j],
                                  (lcsm_eos_sizes){1, 21, 1, sizes[s].K, sizes[s].D}, &ALL, chunks);
    assert_int_equal(count, 0);
}

TEST(eos_chunk_agrees_for_every_length_around_chunk_borders)
{
    static const char *const cases[] = {"outer-token", "outer-static", "complex-es",  "delta-outer",
                                        "low-rank",    "before-bonus", "complex-all", "before"};
    static const ptrdiff_t   lengths[] = {1,  2,  3,  15, 16, 17, 31,  32,  33,
                                          47, 48, 63, 64, 65, 96, 127, 128, 129};
    static const ptrdiff_t   chunks[]  = {1, 2, 16, 31, 32, 64, 0};
    int                      count     = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        for (size_t s = 0; s < COUNT(lengths); s++)
            count += compare_case(eos_case_named(cases[j]),
                                  (lcsm_eos_sizes){1, lengths[s], 1, 6, 20}, &PLAIN, chunks);
    assert_int_equal(count, 0);
}

TEST(eos_chunk_agrees_over_4097_steps)
{
    static const char *const cases[] = {
        "ones",  "scalar-token", "row-token", "col-token",    "outer-static",  "complex-es",
        "delta", "delta-outer",  "low-rank",  "before-bonus", "low-rank-phase"};
    static const ptrdiff_t chunks[] = {32, 64, 0};
    lcsm_eos_setting       set      = {.carry = true, .seed = 8};
    int                    count    = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        count += compare_case(eos_case_named(cases[j]), (lcsm_eos_sizes){1, 4097, 1, 8, 17}, &set,
                              chunks);
    assert_int_equal(count, 0);
}

/* ---- only some steps are read ------------------------------------------------------------- */

/* Without a static scalar, whose gradient is one number: DECAYED below says why. */
static bool reads_by_token(const lcsm_eos_case *c)
{
    return form_of(c) != LCSM_FORM_AUTO && (c->axes[EOS_s] & LCSM_AXIS_T) != 0
        && c->axes[EOS_row] != 0;
}

/* By the form that the plan takes; the chunked one is counted. */
static int compare_reads(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set,
                         int *chunked)
{
    static const ptrdiff_t chunks[] = {1, 16, 0};
    lcsm_eos_problem       p;
    lcsm_eos_plan          plan;
    assert_int_equal(lcsm_eos_problem_make(&p, c, n, set, NULL), LCSM_OK);
    p.desc.form = LCSM_FORM_AUTO;
    assert_int_equal(lcsm_eos_plan_make(&plan, NULL, &p.desc, NULL), LCSM_OK);
    int count = eos_compare(&p, plan.form, chunks, c->name);
    *chunked += plan.form == LCSM_FORM_CHUNKED;
    lcsm_eos_problem_free(&p);
    return count;
}

TEST(eos_chunk_reads_some_steps)
{
    static const lcsm_eos_sizes sizes[] = {{1, 1, 1, 1, 1}, {3, 37, 2, 9, 19}, {2, 70, 1, 17, 33}};
    static const lcsm_eos_setting settings[] = {
        {.seed = 3, .read = 0.1},
        {.seed = 4, .read = 0.5, .reset = true},
        {.seed = 5, .read = 0.02, .carry = true},
        {.seed = 6, .read = 1, .carry = true, .reset = true, .decay = 30},
    };
    int count = 0, chunked = 0;
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        for (size_t k = 0; k < COUNT(sizes) && reads_by_token(&LCSM_EOS_CASES[j]); k++)
            for (size_t s = 0; s < COUNT(settings); s++)
                count += compare_reads(&LCSM_EOS_CASES[j], sizes[k], &settings[s], &chunked);
    assert_int_equal(count, 0);
    assert_true(chunked >= 100);
}

/* ---- decays that leave the range of a float ------------------------------------------------ */

/* Replaces the logs of a factor by those of `decays`, in turn or one at random for each. */
static void set_decays(lcsm_eos_problem *p, int operand, const double *decays, size_t n, bool mix)
{
    for (size_t j = 0; j < p->size[operand]; j++) {
        size_t at              = mix ? (size_t)(lcsm_rng_uniform(9, 1, j) * (double)n) : j % n;
        p->operand[operand][j] = (double)(float)log(decays[at]);
    }
}

static int compare_decays(const char *name, const double *decays, size_t n, bool mix,
                          double magnitude)
{
    static const ptrdiff_t chunks[] = {1, 3, 16, 32, 64, 0};
    lcsm_eos_problem       p;
    lcsm_eos_setting       set = {.carry = true, .magnitude = magnitude, .seed = 10};
    const lcsm_eos_case   *c   = eos_case_named(name);
    char                   text[120];
    assert_int_equal(lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 70, 1, 5, 18}, &set, NULL),
                     LCSM_OK);
    set_decays(&p, EOS_row, decays, n, mix);
    set_decays(&p, EOS_col, decays, n, mix);
    snprintf(text, sizeof text, "%s, decays %g ..., inputs %g", name, decays[0], magnitude);
    int count = eos_compare(&p, form_of(c), chunks, text);
    lcsm_eos_problem_free(&p);
    return count;
}

/* Without a static scalar: its gradient is one number, the sum of terms that cancel to a
 * fraction, so its relative error depends on the seed. */
static const char *const DECAYED[] = {
    "scalar-token",    "row-static",   "row-token",     "col-static",     "col-token",
    "outer-static",    "outer-token",  "outer-mixed",   "scalar-col",     "complex-es",
    "outer-row-phase", "delta-row",    "delta-scalar",  "delta-outer",    "low-rank",
    "low-rank-scalar", "before-bonus", "before-groups", "low-rank-phase", "complex-i",
    "complex-all"};

TEST(eos_chunk_uniform_decays_from_0_to_1_agree)
{
    static const double decays[] = {0,    1e-38, 1e-30, 1e-17, 1e-12, 1e-8, 1e-5,
                                    1e-3, 0.01,  0.1,   0.3,   0.5,   0.9,  1};
    int                 count    = 0;
    for (size_t j = 0; j < COUNT(DECAYED); j++)
        for (size_t d = 0; d < COUNT(decays); d++)
            count += compare_decays(DECAYED[j], &decays[d], 1, false, 1);
    assert_int_equal(count, 0);
}

TEST(eos_chunk_mixed_decays_agree)
{
    static const double decays[] = {0, 1e-30, 1e-8, 1, 0.9, 1, 0.999};
    int                 count    = 0;
    for (size_t j = 0; j < COUNT(DECAYED); j++) {
        count += compare_decays(DECAYED[j], decays, 4, true, 1);
        count += compare_decays(DECAYED[j], decays, 4, false, 1);
        count += compare_decays(DECAYED[j], decays, COUNT(decays), true, 1);
    }
    assert_int_equal(count, 0);
}

TEST(eos_chunk_inputs_of_10000_agree)
{
    static const double decays[] = {1, 1e-8, 0.4, 0.99, 1e-30, 0.25};
    int                 count    = 0;
    for (size_t j = 0; j < COUNT(DECAYED); j++) {
        count += compare_decays(DECAYED[j], decays, COUNT(decays), true, 1e4);
        count += compare_decays(DECAYED[j], decays + 2, 1, true, 1e4);
        count += compare_decays(DECAYED[j], decays, 1, true, 1e4);
    }
    assert_int_equal(count, 0);
}
