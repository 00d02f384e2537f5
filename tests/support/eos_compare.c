/* eos_compare.c - forms of the EOS operator against its definition. */
#include "eos_compare.h"
#include "base/size.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef lcsm_status run_fn(const lcsm_context *ctx, const lcsm_eos_problem *p, lcsm_eos_form form,
                           ptrdiff_t chunk, bool grads, lcsm_eos_result *r, lcsm_error *err);

static const struct {
    const char *name;
    lcsm_isa    isa;
    run_fn     *run;
    double      floor; /* of the bound */
} SETS[] = {
    {"f64 portable", LCSM_ISA_PORTABLE, lcsm_eos_case_run_f64, EOS_DOUBLE_BOUND},
    {"f32 portable", LCSM_ISA_PORTABLE, lcsm_eos_case_run_f32, EOS_FLOAT_BOUND},
    {"f32 avx2", LCSM_ISA_AVX2, lcsm_eos_case_run_f32, EOS_FLOAT_BOUND},
    {"f32 avx512", LCSM_ISA_AVX512, lcsm_eos_case_run_f32, EOS_FLOAT_BOUND},
    {"f32 neon", LCSM_ISA_NEON, lcsm_eos_case_run_f32, EOS_FLOAT_BOUND},
};

/* A context that allows no faster set; NULL if this processor cannot. */
static lcsm_context *context(lcsm_isa isa)
{
    lcsm_context        *ctx     = NULL;
    lcsm_context_options options = {.size = sizeof options, .threads = 1, .isa = isa};
    lcsm_context_create(&ctx, &options, NULL);
    return ctx;
}

/* Numbers below this are outside of a float's range, or the products of such. */
#define TINY 1e-33

static int off(const char *name, const char *array, const double *got, const double *want, size_t n,
               double bound)
{
    double size = 0, error = lcsm_relative_error(got, want, n);
    for (size_t j = 0; j < n; j++) size = fmax(size, fabs(want[j]));
    if (!(error > bound) || (isfinite(error) && error * size < TINY)) return 0;
    print_error("%s: %s is off by %.2e, bound %.0e\n", name, array, error, bound);
    return 1;
}

#define PLAIN_FACTOR 4

/* An array of the results of one problem. */
typedef struct {
    const char   *name;
    const double *got, *want, *plain;
    size_t        n;
} triple;

/* A float may be as far off as a plain loop in float is, times a few. */
static double bound_of(const triple *t, double floor)
{
    if (t->plain == NULL) return floor;
    return fmax(floor, PLAIN_FACTOR * lcsm_relative_error(t->plain, t->want, t->n));
}

static int differences(const lcsm_eos_problem *p, const lcsm_eos_result *got,
                       const lcsm_eos_result *want, const lcsm_eos_result *plain, double floor,
                       const char *name)
{
    triple list[3 + EOS_OPERANDS] = {
        {"y", got->y, want->y, plain != NULL ? plain->y : NULL, p->y_size},
        {"m_T", got->m_T, want->m_T, plain != NULL ? plain->m_T : NULL, p->m_size},
        {"g_m0", got->g_m0, want->g_m0, plain != NULL ? plain->g_m0 : NULL, p->m_size},
    };
    int count = 0;
    for (int j = 0; j < EOS_OPERANDS; j++)
        list[3 + j] = (triple){lcsm_eos_operand_name(j), got->grad[j], want->grad[j],
                               plain != NULL ? plain->grad[j] : NULL, p->size[j]};
    for (size_t j = 0; j < COUNT(list); j++)
        count += off(name, list[j].name, list[j].got, list[j].want, list[j].n,
                     bound_of(&list[j], floor));
    return count;
}

int eos_compare(const lcsm_eos_problem *p, lcsm_eos_form form, const ptrdiff_t *chunks,
                const char *name)
{
    lcsm_context   *plain = context(LCSM_ISA_REFERENCE);
    lcsm_eos_result want, got, loop;
    char            text[240];
    int             count = 0;
    assert_int_equal(lcsm_eos_result_make(&want, p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&got, p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&loop, p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_case_run_f64(plain, p, LCSM_FORM_RECURRENT, 64, true, &want, NULL),
                     LCSM_OK);
    assert_int_equal(lcsm_eos_case_run_f32(plain, p, LCSM_FORM_RECURRENT, 64, true, &loop, NULL),
                     LCSM_OK);
    for (size_t s = 0; s < COUNT(SETS); s++) {
        lcsm_context *ctx = context(SETS[s].isa);
        for (size_t j = 0; ctx != NULL && chunks[j] != 0; j++) {
            lcsm_error err;
            if (SETS[s].run(ctx, p, form, chunks[j], true, &got, &err) != LCSM_OK)
                fail_msg("%s: %s", name, err.text);
            snprintf(text, sizeof text, "%s, chunk %td, %s", name, chunks[j], SETS[s].name);
            bool wide = SETS[s].run == lcsm_eos_case_run_f64;
            count += differences(p, &got, &want, wide ? NULL : &loop, SETS[s].floor, text);
        }
        lcsm_context_free(ctx);
    }
    lcsm_eos_result_free(&want);
    lcsm_eos_result_free(&got);
    lcsm_eos_result_free(&loop);
    lcsm_context_free(plain);
    return count;
}

bool eos_form_serves(const lcsm_eos_case *c, lcsm_eos_form form)
{
    lcsm_eos_problem p;
    lcsm_eos_plan    plan;
    lcsm_eos_setting set = {0};
    if (lcsm_eos_problem_make(&p, c, (lcsm_eos_sizes){1, 1, 1, 2, 2}, &set, NULL) != LCSM_OK)
        return false;
    p.desc.form    = form;
    lcsm_status st = lcsm_eos_plan_make(&plan, NULL, &p.desc, NULL);
    lcsm_eos_problem_free(&p);
    return st == LCSM_OK;
}

int eos_compare_case(const lcsm_eos_case *c, lcsm_eos_form form, lcsm_eos_sizes n,
                     const lcsm_eos_setting *set, const ptrdiff_t *chunks)
{
    lcsm_eos_problem p;
    char             name[120];
    if (!eos_form_serves(c, form)) return 0;
    assert_int_equal(lcsm_eos_problem_make(&p, c, n, set, NULL), LCSM_OK);
    snprintf(name, sizeof name, "%s T %td K %td D %td%s%s%s", c->name, n.T, n.K, n.D,
             set->reset ? ", resets" : "", set->reverse ? ", reverse" : "",
             set->carry ? ", carried" : "");
    int count = eos_compare(&p, form, chunks, name);
    lcsm_eos_problem_free(&p);
    return count;
}

const lcsm_eos_case *eos_case_named(const char *name)
{
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++)
        if (strcmp(LCSM_EOS_CASES[j].name, name) == 0) return &LCSM_EOS_CASES[j];
    fail_msg("no case %s", name);
    return NULL;
}
