/*
 * How exact the fast forms are beside the plain float loop: random shapes, all operand forms, gates
 * from 1e-6 to e, every set of kernels of this machine.
 *
 * The error of an array is its largest difference from the definition in double, beside the largest
 * number there (for a static gate: or the largest value that the sum behind its gradient has on the
 * way, as in eos_terms.c). The bound is three times the error that a plain loop has in float32: the
 * definition, which adds the terms of a static gate in double, or the same with their sum in float.
 * A single run of it may be right to the last bit by luck where an array has few numbers: it is the
 * largest over the same numbers and a few neighbours, in which each number is moved by at most an
 * ulp, and at least FLOOR, two ulps. Luck on either side remains: of random arrays one in a
 * thousand may be above three times, and none above six. The measure is the same for every form.
 *
 * LCSM_EOS_DRAWS=N makes the search over random shapes N draws wide, LCSM_EOS_WORK=N allows shapes
 * of so many numbers, and LCSM_EOS_FROM=N begins at another draw; scripts/gate-errors does it.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "eos_compare.h"
#include "test.h"

#define FLOOR (2 * (double)FLT_EPSILON)

enum { NEIGHBOURS = 4 };

/* How the logs of gates are drawn. */
typedef enum { STRONG, WIDE, MIXED, NEAR, ONE, RISING, BOTH, RANGES } range;

static const char *const RANGE_NAMES[RANGES] = {"1e-6..1e-2", "1e-6..1", "0.1..1", "0.9..1",
                                                "1",          "1..e",    "1/e..e"};

/* What rises is kept within the range of a float: all steps together by less than exp(30). */
static double draw_log(range r, bool token, double T, double u)
{
    double most = token ? fmin(1, 10 / sqrt(T)) : fmin(1, 20 / T);
    switch (r) {
    case STRONG: return log(1e-6) + (log(1e-2) - log(1e-6)) * u;
    case WIDE: return log(1e-6) * u;
    case MIXED: return log(0.1 + 0.9 * u);
    case NEAR: return log(0.9 + 0.1 * u);
    case RISING: return fmin(1, 30 / T) * u;
    case BOTH: return most * (2 * u - 1);
    default: return 0;
    }
}

static void draw_gates(lcsm_eos_problem *p, range r, uint64_t seed)
{
    for (int j = EOS_row; j <= EOS_full; j++)
        for (size_t k = 0; k < p->size[j]; k++)
            p->operand[j][k] = (double)(float)draw_log(
                r, lcsm_eos_has(&p->plan, j, LCSM_AXIS_T), (double)p->plan.T,
                lcsm_rng_uniform(seed, 300 + (uint32_t)j, k));
    if (p->size[EOS_erase] > 0) /* as models have it; else the memory grows at every step */
        memcpy(p->operand[EOS_erase], p->operand[EOS_e], p->size[EOS_e] * sizeof(double));
}

/* The n-th shape of at most `work` numbers over all steps. */
static lcsm_eos_sizes draw_sizes(uint64_t seed, double work)
{
    static const ptrdiff_t sizes[] = {1, 3, 5, 17, 33, 67, 131, 257, 1025};
    lcsm_eos_sizes         n       = {.B = 1, .H = 4};
    for (uint64_t j = 0;; j++) {
        n.T = sizes[(size_t)(lcsm_rng_uniform(seed, 2, j) * COUNT(sizes))];
        n.K = sizes[(size_t)(lcsm_rng_uniform(seed, 3, j) * COUNT(sizes))];
        n.D = sizes[(size_t)(lcsm_rng_uniform(seed, 4, j) * COUNT(sizes))];
        if ((double)n.T * (double)n.K * (double)n.D <= work) return n;
    }
}

/* A problem, its results in double and its errors in float by the definition. */
typedef struct {
    const lcsm_eos_case *c;
    lcsm_eos_problem     p;
    lcsm_eos_result      want, got;
    double               plain[EOS_OPERANDS], term[EOS_OPERANDS], plain_y, plain_m;
    char                 name[160];
} drawn;

static lcsm_context *context(lcsm_isa isa)
{
    lcsm_context        *ctx     = NULL;
    lcsm_context_options options = {.size = sizeof options, .threads = 1, .isa = isa};
    lcsm_context_create(&ctx, &options, NULL);
    return ctx;
}

static double error_of(const drawn *d, int j)
{
    return lcsm_error_beside(d->got.grad[j], d->want.grad[j], d->p.size[j], d->term[j]);
}

static void move_numbers(double *p, size_t n, uint64_t seed, uint32_t stream)
{
    for (size_t k = 0; k < n; k++) {
        double step = floor(3 * lcsm_rng_uniform(seed, stream, k)) - 1;
        p[k]        = (double)(float)(p[k] * (1 + step * (double)FLT_EPSILON));
    }
}

/* To a neighbour: every number by an ulp or not at all. */
static void move(lcsm_eos_problem *p, uint64_t seed)
{
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (j != EOS_erase) move_numbers(p->operand[j], p->size[j], seed, 400 + (uint32_t)j);
    if (p->size[EOS_erase] > 0)
        memcpy(p->operand[EOS_erase], p->operand[EOS_e], p->size[EOS_e] * sizeof(double));
    move_numbers(p->g_y, p->y_size, seed, 500);
    if (p->m0 == NULL) return;
    move_numbers(p->m0, p->m_size, seed, 501);
    move_numbers(p->g_m_T, p->m_size, seed, 502);
}

static void note(double *most, double error)
{
    if (!(error <= *most)) *most = error;
}

/* The gradients of static gates as a loop in float32 has them: its terms by step, added in float.
 * (The definition adds them in double, which is more than a plain loop does.) */
static void sum_terms(const drawn *d, const lcsm_eos_problem *token, const lcsm_eos_result *r)
{
    for (int j = 0; j < EOS_OPERANDS; j++) {
        if (!lcsm_eos_is_static_factor(&d->p, j)) continue;
        for (size_t k = 0; k < d->p.size[j]; k++) {
            float sum = 0;
            for (size_t at = k; at < token->size[j]; at += d->p.size[j])
                sum += (float)r->grad[j][at];
            d->got.grad[j][k] = (double)sum;
        }
    }
}

static void note_static(drawn *d, const lcsm_context *plain)
{
    lcsm_eos_problem token;
    lcsm_eos_result  r;
    assert_int_equal(lcsm_eos_problem_spread(&token, d->c, &d->p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&r, &token, NULL), LCSM_OK);
    lcsm_eos_case_run_f32(plain, &token, LCSM_FORM_RECURRENT, 64, true, &r, NULL);
    sum_terms(d, &token, &r);
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (lcsm_eos_is_static_factor(&d->p, j)) note(&d->plain[j], error_of(d, j));
    lcsm_eos_problem_free(&token);
    lcsm_eos_result_free(&r);
}

/* What the plain loop has where the problem is now, unless it had more at a neighbour. */
static void note_plain(drawn *d, const lcsm_context *plain)
{
    lcsm_eos_case_run_f64(plain, &d->p, LCSM_FORM_RECURRENT, 64, true, &d->want, NULL);
    lcsm_eos_case_run_f32(plain, &d->p, LCSM_FORM_RECURRENT, 64, true, &d->got, NULL);
    for (int j = 0; j < EOS_OPERANDS; j++) note(&d->plain[j], error_of(d, j));
    note(&d->plain_y, lcsm_relative_error(d->got.y, d->want.y, d->p.y_size));
    note(&d->plain_m, lcsm_relative_error(d->got.m_T, d->want.m_T, d->p.m_size));
    note_static(d, plain);
}

static void prepare(drawn *d, const lcsm_eos_case *c, lcsm_eos_sizes n, range r, uint64_t seed)
{
    lcsm_context    *plain = context(LCSM_ISA_REFERENCE);
    lcsm_eos_setting set   = {.carry = seed % 2 == 0, .reset = seed % 5 == 0, .seed = seed + 1};
    *d                     = (drawn){.c = c};
    assert_int_equal(lcsm_eos_problem_make(&d->p, c, n, &set, NULL), LCSM_OK);
    draw_gates(&d->p, r, seed);
    assert_int_equal(lcsm_eos_result_make(&d->want, &d->p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&d->got, &d->p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_term_sizes(plain, c, &d->p, d->term, NULL), LCSM_OK);
    for (uint64_t j = 0; j < NEIGHBOURS; j++) {
        note_plain(d, plain);
        move(&d->p, seed * NEIGHBOURS + j);
    }
    note_plain(d, plain);
    snprintf(d->name, sizeof d->name, "%s, T %td K %td D %td, gates %s, seed %d", c->name, n.T, n.K,
             n.D, RANGE_NAMES[r], (int)seed);
    lcsm_context_free(plain);
}

static void drop(drawn *d)
{
    lcsm_eos_problem_free(&d->p);
    lcsm_eos_result_free(&d->want);
    lcsm_eos_result_free(&d->got);
}

/* What a wide search prints of a form. */
typedef struct {
    long   arrays, above[3];
    double worst;
    char   where[320];
} tally;

static tally TALLIES[LCSM_FORM_DELTA + 1];

static void count_ratio(const drawn *d, const char *where, const char *array, lcsm_eos_form form,
                        double ratio)
{
    tally *t = &TALLIES[form];
    t->arrays++;
    for (int j = 0; j < 3; j++) t->above[j] += ratio > j + 1;
    if (ratio <= t->worst) return;
    t->worst = ratio;
    snprintf(t->where, sizeof t->where, "%s, %s: %s", d->name, where, array);
}

static int off(const drawn *d, const char *where, lcsm_eos_form form, const char *array,
               double error, double plain, double times)
{
    double ratio = error / fmax(plain, FLOOR);
    if (isnan(ratio)) ratio = INFINITY;
    count_ratio(d, where, array, form, ratio);
    if (ratio <= times) return 0;
    print_error("%s, %s: %s is off by %.2e, the plain loop by %.2e\n", d->name, where, array, error,
                plain);
    return 1;
}

static const lcsm_eos_form FORMS[] = {LCSM_FORM_CHUNKED, LCSM_FORM_DELTA, LCSM_FORM_SCAN,
                                      LCSM_FORM_CONVOLUTION};

/* A gate's magnitude or phase, or what it is generated from. */
static bool is_gate(int j)
{
    return j >= EOS_row && j <= EOS_w;
}

typedef int judge_fn(const drawn *d, const char *where, lcsm_eos_form form);

/* Gates only: what the other arrays have is a matter of eos_compare's bounds. */
static int judge_gates(const drawn *d, const char *where, lcsm_eos_form form)
{
    int count = 0;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (is_gate(j) && d->p.size[j] > 0)
            count += off(d, where, form, lcsm_eos_operand_name(j), error_of(d, j), d->plain[j], 3);
    return count;
}

static int judge_all(const drawn *d, const char *where, lcsm_eos_form form)
{
    enum { TIMES = 8 };
    int count = off(d, where, form, "y", lcsm_relative_error(d->got.y, d->want.y, d->p.y_size),
                    d->plain_y, TIMES);
    count += off(d, where, form, "m_T", lcsm_relative_error(d->got.m_T, d->want.m_T, d->p.m_size),
                 d->plain_m, TIMES);
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (d->p.size[j] > 0)
            count +=
                off(d, where, form, lcsm_eos_operand_name(j), error_of(d, j), d->plain[j], TIMES);
    return count;
}

/* Every form and set of kernels on one problem. */
static int run_forms(drawn *d, judge_fn *judge)
{
    static const struct {
        const char *name;
        lcsm_isa    isa;
    } sets[]   = {{"portable", LCSM_ISA_PORTABLE},
                  {"avx2", LCSM_ISA_AVX2},
                  {"avx512", LCSM_ISA_AVX512},
                  {"neon", LCSM_ISA_NEON}};
    int  count = 0;
    char where[80];
    for (size_t s = 0; s < COUNT(sets); s++) {
        lcsm_context *ctx = context(sets[s].isa);
        for (size_t f = 0; ctx != NULL && f < COUNT(FORMS); f++) {
            if (lcsm_eos_case_run_f32(ctx, &d->p, FORMS[f], 0, true, &d->got, NULL) != LCSM_OK)
                continue;
            snprintf(where, sizeof where, "%s %s", lcsm_eos_form_name(FORMS[f]), sets[s].name);
            count += judge(d, where, FORMS[f]);
        }
        lcsm_context_free(ctx);
    }
    return count;
}

static int compare(const lcsm_eos_case *c, lcsm_eos_sizes n, range r, uint64_t seed,
                   judge_fn *judge)
{
    drawn d;
    prepare(&d, c, n, r, seed);
    int count = run_forms(&d, judge);
    drop(&d);
    return count;
}

/* The shapes and gates on which gradients of gates were once 3 to 12 times as far off. */
TEST(eos_exact_gates_of_awkward_shapes_are_as_exact_as_the_plain_loop)
{
    static const struct {
        const char    *name;
        lcsm_eos_sizes n;
    } cases[] = {{"row-static", {1, 131, 4, 33, 9}},     {"row-static", {1, 67, 4, 5, 19}},
                 {"col-static", {1, 257, 4, 3, 17}},     {"scalar-token", {1, 131, 4, 33, 9}},
                 {"scalar-static", {1, 131, 4, 33, 9}},  {"row-phase-static", {1, 131, 4, 17, 9}},
                 {"outer-static", {1, 257, 4, 17, 5}},   {"delta-row", {1, 131, 4, 17, 9}},
                 {"low-rank", {1, 131, 4, 17, 9}},       {"low-rank-static", {1, 67, 4, 5, 19}},
                 {"low-rank-scalar", {1, 67, 4, 9, 17}}, {"low-rank-phase", {1, 67, 4, 17, 9}},
                 {"before-bonus", {1, 131, 4, 33, 9}},   {"before-static", {1, 67, 4, 5, 19}},
                 {"delta-phase", {1, 67, 4, 9, 17}}};
    int count = 0;
    for (size_t j = 0; j < COUNT(cases); j++)
        for (range r = STRONG; r <= ONE; r++)
            count += compare(eos_case_named(cases[j].name), cases[j].n, r, 1, judge_gates);
    assert_int_equal(count, 0);
}

/* The gradient of a gate that heads share is the sum of theirs, which may cancel: no form has it to
 * a precision of its own size. */
static bool has_shared_gate(const lcsm_eos_case *c)
{
    return (c->more.shared & (1u << EOS_row | 1u << EOS_full)) != 0;
}

static bool is_dense(const lcsm_eos_case *c)
{
    return strncmp(c->name, "dense", 5) == 0;
}

static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text == NULL ? usual : strtoull(text, NULL, 10);
}

static bool fast_form_serves(const lcsm_eos_case *c)
{
    for (size_t f = 0; f < COUNT(FORMS); f++)
        if (eos_form_serves(c, FORMS[f])) return true;
    return false;
}

static void print_tallies(void)
{
    print_message("%-10s %8s %8s %8s %8s %8s\n", "form", "arrays", "> 1x", "> 2x", "> 3x", "worst");
    for (size_t f = 0; f < COUNT(FORMS); f++) {
        const tally *t = &TALLIES[FORMS[f]];
        print_message("%-10s %8ld %8ld %8ld %8ld %7.2fx  %s\n", lcsm_eos_form_name(FORMS[f]),
                      t->arrays, t->above[0], t->above[1], t->above[2], t->worst, t->where);
    }
}

static tally all_forms(void)
{
    tally all = {0};
    for (size_t f = 0; f < COUNT(FORMS); f++) {
        const tally *t = &TALLIES[FORMS[f]];
        all.arrays += t->arrays;
        all.above[2] += t->above[2];
        all.worst = fmax(all.worst, t->worst);
    }
    return all;
}

TEST(eos_exact_gates_of_random_shapes_are_as_exact_as_the_plain_loop)
{
    uint64_t draws = setting("LCSM_EOS_DRAWS", 0), from = setting("LCSM_EOS_FROM", 0);
    double   work = (double)setting("LCSM_EOS_WORK", 4000);
    memset(TALLIES, 0, sizeof TALLIES);
    for (uint64_t seed = from; seed < from + (draws > 0 ? draws : 300); seed++) {
        const lcsm_eos_case *c = &LCSM_EOS_CASES[seed % LCSM_EOS_CASE_COUNT];
        range                r = (range)(lcsm_rng_uniform(seed, 5, 0) * (ONE + 1));
        if (!is_dense(c) && !has_shared_gate(c) && fast_form_serves(c))
            compare(c, draw_sizes(seed, work), r, seed, judge_gates);
    }
    if (draws > 0) print_tallies();
    tally all = all_forms();
    assert_true(all.arrays > 0);
    assert_true(1000 * all.above[2] <= all.arrays);
    assert_true(all.worst <= 6);
}

/* Gates above 1, as raw codes without an activation have them: nothing may assume a decay. */
TEST(eos_exact_gates_above_1_are_right_in_every_form)
{
    int count = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const lcsm_eos_case *c = &LCSM_EOS_CASES[seed % LCSM_EOS_CASE_COUNT];
        if (!is_dense(c))
            count +=
                compare(c, draw_sizes(seed, 4000), seed % 3 == 0 ? BOTH : RISING, seed, judge_all);
    }
    assert_int_equal(count, 0);
}
