/*
 * Chunks whose products have factors of bfloat16: y and m_T against the definition in double.
 *
 * y_t is a sum of terms s_t o e_j i_j, and of one with m_0. Four factors of each are rounded, by at
 * most 2^-8: k, v, q and M, or q, k, P and v; of the terms of m_T two. With the sum S of their
 * magnitudes |y' - y| <= ((1 + 2^-8)^4 - 1) S, beside the order of float sums (EOS_FLOAT_BOUND).
 */
#include "eos_compare.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const CASES[] = {
    "ones",       "scalar-static", "scalar-token", "row-static",  "row-token",
    "col-static", "col-token",     "outer-static", "outer-token", "groups",
};

static const lcsm_eos_sizes SIZES[] = {
    {2, 75, 2, 16, 70}, {1, 33, 1, 9, 17},   {1, 1, 1, 8, 8},   {1, 64, 1, 64, 128},
    {1, 50, 1, 31, 64}, {1, 100, 2, 40, 33}, {1, 40, 1, 70, 9},
};

static const lcsm_eos_setting SETTINGS[] = {
    {.seed = 3, .decay = 0.1},
    {.reset = true, .reverse = true, .carry = true, .seed = 7},
    {.carry = true, .seed = 9, .decay = 30}};

static const ptrdiff_t CHUNKS[] = {0, 1, 7, 64, 100};

typedef struct {
    lcsm_eos_problem p;
    lcsm_eos_result  want, sums, got;
} rig;

static lcsm_context *context_of(lcsm_isa isa)
{
    lcsm_context_options o = {.size = sizeof o, .threads = 2, .isa = isa};
    lcsm_context        *ctx;
    assert_int_equal(lcsm_context_create(&ctx, &o, NULL), LCSM_OK);
    return ctx;
}

static void run(rig *r, bool bf16, lcsm_isa isa, ptrdiff_t chunk, bool grads, lcsm_eos_result *to)
{
    lcsm_context *ctx       = context_of(isa);
    r->p.desc.bf16_products = bf16;
    assert_int_equal(lcsm_eos_case_run_f32(ctx, &r->p, LCSM_FORM_CHUNKED, chunk, grads, to, NULL),
                     LCSM_OK);
    r->p.desc.bf16_products = 0;
    lcsm_context_free(ctx);
}

/* The definition, of the numbers and of their magnitudes. */
static void define(rig *r, bool grads)
{
    static const int signs[] = {EOS_i, EOS_e, EOS_s};
    lcsm_context    *ctx     = context_of(LCSM_ISA_REFERENCE);
    assert_int_equal(
        lcsm_eos_case_run_f64(ctx, &r->p, LCSM_FORM_RECURRENT, 0, grads, &r->want, NULL), LCSM_OK);
    lcsm_eos_problem p = r->p;
    double          *kept[3], *m0 = p.m0;
    for (size_t j = 0; j < COUNT(signs); j++) {
        size_t n            = p.size[signs[j]];
        kept[j]             = p.operand[signs[j]];
        p.operand[signs[j]] = malloc(n * sizeof(double));
        for (size_t k = 0; k < n; k++) p.operand[signs[j]][k] = fabs(kept[j][k]);
    }
    if (m0 != NULL) p.m0 = malloc(p.m_size * sizeof(double));
    for (size_t k = 0; m0 != NULL && k < p.m_size; k++) p.m0[k] = fabs(m0[k]);
    assert_int_equal(lcsm_eos_case_run_f64(ctx, &p, LCSM_FORM_RECURRENT, 0, false, &r->sums, NULL),
                     LCSM_OK);
    for (size_t j = 0; j < COUNT(signs); j++) free(p.operand[signs[j]]);
    if (m0 != NULL) free(p.m0);
    lcsm_context_free(ctx);
}

static rig make(const char *name, lcsm_eos_sizes n, const lcsm_eos_setting *set)
{
    rig r = {0};
    assert_int_equal(lcsm_eos_problem_make(&r.p, eos_case_named(name), n, set, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&r.want, &r.p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&r.sums, &r.p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&r.got, &r.p, NULL), LCSM_OK);
    return r;
}

static void clear(rig *r)
{
    lcsm_eos_result_free(&r->want);
    lcsm_eos_result_free(&r->sums);
    lcsm_eos_result_free(&r->got);
    lcsm_eos_problem_free(&r->p);
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t j = 0; j < n; j++) most = fmax(most, fabs(x[j]));
    return most;
}

static int beyond(const char *what, const double *got, const double *want, const double *sums,
                  size_t n, int roundings)
{
    double part = pow(1 + ldexp(1, -8), roundings) - 1, rest = EOS_FLOAT_BOUND * largest(sums, n);
    int    count = 0;
    for (size_t j = 0; j < n; j++)
        if (!(fabs(got[j] - want[j]) <= part * sums[j] + rest)) count++;
    if (count > 0) print_error("%s: %d of %zu are too far off\n", what, count, n);
    return count;
}

/* |a - b| / |b|. */
static double apart(const double *a, const double *b, size_t n)
{
    double sum = 0, all = 0;
    for (size_t j = 0; j < n; j++) sum += (a[j] - b[j]) * (a[j] - b[j]), all += b[j] * b[j];
    return all == 0 ? 0 : sqrt(sum / all);
}

TEST(eos_products_in_bfloat16_are_within_four_roundings)
{
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (size_t j = 0; j < COUNT(SIZES); j++)
            for (size_t s = 0; s < COUNT(SETTINGS); s++) {
                rig r = make(CASES[c], SIZES[j], &SETTINGS[s]);
                define(&r, false);
                for (size_t k = 0; k < COUNT(CHUNKS); k++) {
                    run(&r, true, LCSM_ISA_AUTO, CHUNKS[k], false, &r.got);
                    int bad = beyond("y", r.got.y, r.want.y, r.sums.y, r.p.y_size, 4)
                            + beyond("m_T", r.got.m_T, r.want.m_T, r.sums.m_T, r.p.m_size, 2);
                    if (bad > 0)
                        fail_msg("%s, size %zu, setting %zu, chunk %td", CASES[c], j, s, CHUNKS[k]);
                }
                clear(&r);
            }
}

/* Backward is in float, from memories at the borders of cells that forward left. */
TEST(eos_products_in_bfloat16_have_gradients_as_near)
{
    for (size_t c = 0; c < COUNT(CASES); c++) {
        rig r = make(CASES[c], SIZES[0], &SETTINGS[0]);
        define(&r, true);
        run(&r, true, LCSM_ISA_AUTO, 0, true, &r.got);
        for (int j = 0; j < EOS_OPERANDS; j++)
            if (apart(r.got.grad[j], r.want.grad[j], r.p.size[j]) > ldexp(1, -7))
                fail_msg("%s: the gradient of %s", CASES[c], lcsm_eos_operand_name(j));
        clear(&r);
    }
}

TEST(eos_products_in_bfloat16_are_rounded_by_one_set_only)
{
    lcsm_context *ctx  = context_of(LCSM_ISA_AUTO);
    bool          here = lcsm_context_isa(ctx) == LCSM_ISA_AVX512_BF16;
    rig           r    = make("row-token", SIZES[3], &SETTINGS[0]);
    run(&r, false, LCSM_ISA_AUTO, 0, false, &r.want);
    run(&r, true, LCSM_ISA_AUTO, 0, false, &r.got);
    assert_true((memcmp(r.got.y, r.want.y, r.p.y_size * sizeof(double)) != 0) == here);
    run(&r, true, LCSM_ISA_PORTABLE, 0, false, &r.got);
    run(&r, false, LCSM_ISA_PORTABLE, 0, false, &r.want);
    assert_memory_equal(r.got.y, r.want.y, r.p.y_size * sizeof(double));
    clear(&r);
    lcsm_context_free(ctx);
}

/* Where they are not allowed the operator is that of float32. */
TEST(eos_products_in_bfloat16_leave_other_forms_alone)
{
    static const struct {
        const char   *name;
        lcsm_eos_form form;
    } others[] = {{"delta", LCSM_FORM_DELTA},
                  {"row-phase-token", LCSM_FORM_CHUNKED},
                  {"gen-exp", LCSM_FORM_SCAN}};
    for (size_t j = 0; j < COUNT(others); j++) {
        rig           r   = make(others[j].name, SIZES[0], &SETTINGS[0]);
        lcsm_context *ctx = context_of(LCSM_ISA_AUTO);
        assert_int_equal(lcsm_eos_case_run_f32(ctx, &r.p, others[j].form, 0, false, &r.want, NULL),
                         LCSM_OK);
        r.p.desc.bf16_products = 1;
        assert_int_equal(lcsm_eos_case_run_f32(ctx, &r.p, others[j].form, 0, false, &r.got, NULL),
                         LCSM_OK);
        assert_memory_equal(r.got.y, r.want.y, r.p.y_size * sizeof(double));
        lcsm_context_free(ctx);
        clear(&r);
    }
}
