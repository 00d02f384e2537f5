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
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check/eos_case.h"
#include "test.h"

#define FLOAT_BOUND  2e-5
#define DOUBLE_BOUND 1e-12

typedef lcsm_status run_fn(const lcsm_context *ctx, const lcsm_eos_problem *p, lcsm_eos_form form,
                           ptrdiff_t chunk, bool grads, lcsm_eos_result *r, lcsm_error *err);

/* Every set of kernels, as contexts that allow no faster one. */
typedef struct {
    const char *name;
    lcsm_isa    isa;
    run_fn     *run;
    double      bound;
} kernel_set;

static const kernel_set SETS[] = {
    {"f64 portable", LCSM_ISA_PORTABLE, lcsm_eos_case_run_f64, DOUBLE_BOUND},
    {"f32 portable", LCSM_ISA_PORTABLE, lcsm_eos_case_run_f32, FLOAT_BOUND},
    {"f32 avx2", LCSM_ISA_AVX2, lcsm_eos_case_run_f32, FLOAT_BOUND},
    {"f32 avx512", LCSM_ISA_AVX512, lcsm_eos_case_run_f32, FLOAT_BOUND},
};

/* NULL if this processor cannot. */
static lcsm_context *context(lcsm_isa isa)
{
    lcsm_context        *ctx     = NULL;
    lcsm_context_options options = {.threads = 1, .isa = isa};
    lcsm_context_create(&ctx, &options, NULL);
    return ctx;
}

typedef struct {
    const lcsm_eos_problem *p;
    lcsm_eos_result         want, got;
    const char             *name;
} comparison;

/* Numbers below this are outside of a float's range, or the products of such. */
#define TINY 1e-33

static int off(const comparison *c, const char *array, const double *got, const double *want,
               size_t n, double bound)
{
    double size = 0, error = lcsm_relative_error(got, want, n);
    for (size_t j = 0; j < n; j++) size = fmax(size, fabs(want[j]));
    if (!(error > bound) || (isfinite(error) && error * size < TINY)) return 0;
    print_error("%s: %s is off by %.2e, bound %.0e\n", c->name, array, error, bound);
    return 1;
}

static int differences(const comparison *c, double bound)
{
    const lcsm_eos_problem *p   = c->p;
    const lcsm_eos_result  *got = &c->got, *want = &c->want;
    int                     count = 0;
    count += off(c, "y", got->y, want->y, p->y_size, bound);
    count += off(c, "m_T", got->m_T, want->m_T, p->m_size, bound);
    count += off(c, "g_m0", got->g_m0, want->g_m0, p->m_size, bound);
    for (int j = 0; j < EOS_OPERANDS; j++)
        count += off(c, lcsm_eos_operand_name(j), got->grad[j], want->grad[j], p->size[j], bound);
    return count;
}

/* All sets with the given chunks (ended by 0) against the definition. */
static int compare(const lcsm_eos_problem *p, lcsm_eos_form form, const ptrdiff_t *chunks,
                   const char *name)
{
    lcsm_context *plain = context(LCSM_ISA_REFERENCE);
    comparison    c     = {.p = p};
    char          text[240];
    int           count = 0;
    assert_int_equal(lcsm_eos_result_make(&c.want, p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&c.got, p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_case_run_f64(plain, p, LCSM_FORM_RECURRENT, 64, true, &c.want, NULL),
                     LCSM_OK);
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa);
        for (size_t j = 0; ctx != NULL && chunks[j] != 0; j++) {
            lcsm_error err;
            if (SETS[s].run(ctx, p, form, chunks[j], true, &c.got, &err) != LCSM_OK)
                fail_msg("%s: %s", name, err.text);
            snprintf(text, sizeof text, "%s, chunk %td, %s", name, chunks[j], SETS[s].name);
            c.name = text;
            count += differences(&c, SETS[s].bound);
        }
        lcsm_context_free(ctx);
    }
    lcsm_eos_result_free(&c.want);
    lcsm_eos_result_free(&c.got);
    lcsm_context_free(plain);
    return count;
}

/* The form of this file that serves a case; LCSM_FORM_AUTO if none does. */
static lcsm_eos_form form_of(const lcsm_eos_case *c)
{
    static const lcsm_eos_form forms[] = {LCSM_FORM_CHUNKED, LCSM_FORM_DELTA};
    for (size_t j = 0; j < COUNT(forms); j++) {
        lcsm_eos_problem p;
        lcsm_eos_plan    plan;
        lcsm_eos_setting set = {0};
        if (lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 1, 1, 2, 2}, &set, NULL) != LCSM_OK)
            continue;
        p.desc.form    = forms[j];
        lcsm_status st = lcsm_eos_plan_make(&plan, 1, &p.desc, NULL);
        lcsm_eos_problem_free(&p);
        if (st == LCSM_OK) return forms[j];
    }
    return LCSM_FORM_AUTO;
}

static int compare_case(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set,
                        const ptrdiff_t *chunks)
{
    lcsm_eos_form    form = form_of(c);
    lcsm_eos_problem p;
    char             name[120];
    if (form == LCSM_FORM_AUTO) return 0;
    assert_int_equal(lcsm_eos_problem_make(&p, c, n, set, NULL), LCSM_OK);
    snprintf(name, sizeof name, "%s T %td K %td D %td%s%s%s", c->name, n.T, n.K, n.D,
             set->reset ? ", resets" : "", set->reverse ? ", reverse" : "",
             set->carry ? ", carried" : "");
    int count = compare(&p, form, chunks, name);
    lcsm_eos_problem_free(&p);
    return count;
}

static const lcsm_eos_case *case_named(const char *name)
{
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        if (strcmp(LCSM_EOS_CASES[j].name, name) == 0) return &LCSM_EOS_CASES[j];
    fail_msg("no case %s", name);
    return NULL;
}

static const lcsm_eos_setting PLAIN = {.seed = 12}, ALL = {true, true, true, 0, 0, 2};

TEST(eos_chunk_serves_the_separable_cases)
{
    int served = 0;
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        served += form_of(&LCSM_EOS_CASES[j]) != LCSM_FORM_AUTO;
    assert_true(served >= 20);
}

TEST(eos_chunk_every_case_and_setting_agrees_with_the_definition)
{
    static const lcsm_eos_setting settings[] = {
        {false, false, false, 0, 0, 3}, {true, false, false, 0, 0, 4},
        {false, true, false, 0, 0, 5},  {false, false, true, 0, 0, 6},
        {true, true, true, 0, 0, 7},
    };
    static const ptrdiff_t chunks[] = {1, 3, 16, 32, 0};
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
    static const char *const cases[] = {"outer-token", "outer-static", "complex-es", "delta-outer"};
    static const ptrdiff_t   lengths[] = {1,  2,  3,  15, 16, 17, 31,  32,  33,
                                          47, 48, 63, 64, 65, 96, 127, 128, 129};
    static const ptrdiff_t   chunks[]  = {1, 2, 16, 31, 32, 64, 0};
    int                      count     = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        for (size_t s = 0; s < COUNT(lengths); s++)
            count += compare_case(case_named(cases[j]), (lcsm_eos_sizes){1, lengths[s], 1, 6, 20},
                                  &PLAIN, chunks);
    assert_int_equal(count, 0);
}

TEST(eos_chunk_agrees_over_4097_steps)
{
    static const char *const cases[]  = {"ones",         "scalar-token", "row-token", "col-token",
                                         "outer-static", "complex-es",   "delta",     "delta-outer"};
    static const ptrdiff_t   chunks[] = {32, 64, 0};
    lcsm_eos_setting         set      = {.carry = true, .seed = 8};
    int                      count    = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        count +=
            compare_case(case_named(cases[j]), (lcsm_eos_sizes){1, 4097, 1, 8, 17}, &set, chunks);
    assert_int_equal(count, 0);
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
    const lcsm_eos_case   *c   = case_named(name);
    char                   text[120];
    assert_int_equal(lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 70, 1, 5, 18}, &set, NULL),
                     LCSM_OK);
    set_decays(&p, EOS_row, decays, n, mix);
    set_decays(&p, EOS_col, decays, n, mix);
    snprintf(text, sizeof text, "%s, decays %g ..., inputs %g", name, decays[0], magnitude);
    int count = compare(&p, form_of(c), chunks, text);
    lcsm_eos_problem_free(&p);
    return count;
}

/* Without a static scalar: its gradient is one number, the sum of terms that cancel to a
 * fraction, so its relative error depends on the seed. */
static const char *const DECAYED[] = {
    "scalar-token",    "row-static",  "row-token",    "col-static", "col-token",
    "outer-static",    "outer-token", "outer-mixed",  "scalar-col", "complex-es",
    "outer-row-phase", "delta-row",   "delta-scalar", "delta-outer"};

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
