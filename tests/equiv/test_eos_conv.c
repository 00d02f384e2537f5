/* The convolution form against the definition: static e, s and o, every set of kernels. */
#include "base/rng.h"
#include "base/size.h"
#include "eos_compare.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D };
#define NO ~0u

/* clang-format off */
static const lcsm_eos_case CASES[] = {
    {"ones, vectors",      {T|D, K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"row, vectors",       {T|D, K, K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"scalar, col",        {T|D, K|D, K, 0, D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"full, matrices",     {T|D, K|D, K|D, NO, NO, K|D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"all logs",           {T|D, K, K|D, K, D, K|D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"exp",                {T|D, K|D, K|D, NO, NO, NO, NO, NO, NO, D, K|D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"gate",               {T|D, K|D, K|D, NO, NO, NO, NO, NO, NO, K, D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 2, 0, {0}},
    {"gate, row",          {T|D, K|D, K, K, NO, NO, NO, NO, NO, K|D, K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 16, 0, {0}},
    {"complement",         {T|D, K|D, K|D, NO, NO, NO, NO, NO, NO, K, D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"complement, all",    {T|D, K, K|D, K, D, K|D, K, D, K|D, K|D, D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 1 << EOS_e | 1 << EOS_s, {0}},
    {"row phase",          {T|D, K, K, NO, NO, NO, K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"complex vectors",    {T|D, K, K, K, NO, NO, K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_e | 1 << EOS_s, {0}},
    {"s4d",                {T|D, K|D, K|D, NO, NO, K|D, NO, NO, K|D, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_e | 1 << EOS_s, {0}},
    {"all phases",         {T|D, K|D, K, K, D, K|D, K, D, K|D, D, K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 4, 1 << EOS_e, {0}},
    {"complex e",          {T|D, K|D, K|D, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 1 << EOS_e, {0}},
};
/* clang-format on */

static const ptrdiff_t ANY_CHUNK[] = {32, 0};

static int compare(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set)
{
    return eos_compare_case(c, LCSM_FORM_CONVOLUTION, n, set, ANY_CHUNK);
}

TEST(eos_conv_serves_static_cases)
{
    for (size_t j = 0; j < COUNT(CASES); j++)
        assert_true(eos_form_serves(&CASES[j], LCSM_FORM_CONVOLUTION));
}

TEST(eos_conv_every_case_and_setting_agrees_with_the_definition)
{
    static const lcsm_eos_setting settings[] = {
        {.seed = 3},
        {.reverse = true, .seed = 5},
        {.carry = true, .seed = 6},
        {.reverse = true, .carry = true, .seed = 7},
    };
    int count = 0;
    for (size_t j = 0; j < COUNT(CASES); j++)
        for (size_t s = 0; s < COUNT(settings); s++)
            count += compare(&CASES[j], (lcsm_eos_sizes){2, 37, 2, 6, 19}, &settings[s]);
    assert_int_equal(count, 0);
}

/* With one row a static row factor is a scalar: the seed is one where its gradient does not
 * cancel. */
TEST(eos_conv_every_case_agrees_for_small_and_odd_sizes)
{
    static const struct {
        ptrdiff_t T, K, D;
    } sizes[] = {{1, 1, 1}, {2, 3, 5}, {3, 4, 4}, {32, 5, 9}, {33, 2, 17}, {64, 8, 33}, {65, 1, 7}};
    static const lcsm_eos_setting carry = {.reverse = true, .carry = true, .seed = 12};
    int                           count = 0;
    for (size_t j = 0; j < COUNT(CASES); j++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            count += compare(&CASES[j], (lcsm_eos_sizes){1, sizes[s].T, 1, sizes[s].K, sizes[s].D},
                             &carry);
    assert_int_equal(count, 0);
}

/* Long enough for transforms in every set. */
TEST(eos_conv_agrees_over_4097_steps)
{
    static const lcsm_eos_setting carry = {.carry = true, .seed = 9};
    int                           count = 0;
    for (size_t j = 0; j < COUNT(CASES); j++)
        if (CASES[j].axes[EOS_row] != 0) /* the gradient of one number cancels */
            count += compare(&CASES[j], (lcsm_eos_sizes){1, 4097, 1, 3, 5}, &carry);
    assert_int_equal(count, 0);
}

static int compare_decays(const lcsm_eos_case *c, const double *decays, size_t n, double magnitude)
{
    static const int       logs[] = {EOS_row, EOS_col, EOS_full};
    const lcsm_eos_setting set    = {.carry = true, .magnitude = magnitude, .seed = 10};
    lcsm_eos_problem       p;
    char                   text[120];
    assert_int_equal(lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 70, 1, 5, 18}, &set, NULL),
                     LCSM_OK);
    for (size_t f = 0; f < COUNT(logs); f++)
        for (size_t j = 0; j < p.size[logs[f]]; j++) {
            size_t at             = (size_t)(lcsm_rng_uniform(9, 1, j) * (double)n);
            p.operand[logs[f]][j] = (double)(float)log(decays[at]);
        }
    snprintf(text, sizeof text, "%s, decays %g ..., inputs %g", c->name, decays[0], magnitude);
    int count = eos_compare(&p, LCSM_FORM_CONVOLUTION, ANY_CHUNK, text);
    lcsm_eos_problem_free(&p);
    return count;
}

TEST(eos_conv_decays_from_0_to_1_and_large_inputs_agree)
{
    static const double decays[] = {0, 1e-38, 1e-30, 1e-8, 0.1, 0.9, 1, 0.999};
    int                 count    = 0;
    for (size_t j = 0; j < COUNT(CASES); j++) {
        if (CASES[j].axes[EOS_row] == 0) continue;
        count += compare_decays(&CASES[j], decays, COUNT(decays), 1);
        count += compare_decays(&CASES[j], decays, COUNT(decays), 1e4);
        for (size_t d = 0; d < COUNT(decays) - 1; d++)
            count += compare_decays(&CASES[j], &decays[d], 1, 1);
    }
    assert_int_equal(count, 0);
}
