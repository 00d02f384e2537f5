/*
 * A memory in bfloat16: the definition and the scan form against a plain loop that rounds.
 *
 * Every o of these problems is a number of bfloat16 up to a few units of a float, so that no
 * rounding of o depends on how exp is computed. Products of two such numbers are exact in float, so
 * m_t is the same in every form, and only sums over rows, columns and steps differ.
 */
#include "base/size.h"
#include "eos_compare.h"
#define LCSM_VARIANT_F32_OP 1
#include "kernel/bf16.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { STEPS = 37 };

static double round8(double x)
{
    float    f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t low = bits & 0xffffu, odd = bits >> 16 & 1u;
    bits &= 0xffff0000u;
    if (low > 0x8000u || (low == 0x8000u && odd != 0)) bits += 0x10000u;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

TEST(bf16_rounds_to_nearest_and_ties_to_even)
{
    static const float rounded[][2] = {
        {1.0f, 1.0f},          {1.00390625f, 1.0f},      {1.01171875f, 1.015625f},
        {-1.00390625f, -1.0f}, {1.0039064f, 1.0078125f}, {0.0f, 0.0f},
        {-0.0f, -0.0f},        {3.4e38f, INFINITY},      {-INFINITY, -INFINITY},
    };
    for (size_t j = 0; j < COUNT(rounded); j++) {
        float got = lcsm_bf16_f32(rounded[j][0]);
        assert_memory_equal(&got, &rounded[j][1], sizeof got);
    }
    assert_true(isnan(lcsm_bf16_f32(NAN)));
    for (uint32_t j = 0; j < 100000; j++) {
        uint32_t bits = j * 42949u; /* all exponents below infinity, both signs */
        float    x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) assert_true((double)lcsm_bf16_f32(x) == round8((double)x));
    }
}

/* A number of bfloat16 from 1/2 to 1, by the number that is there. */
static double on_grid(double x)
{
    double part = fabs(x) - floor(fabs(x));
    return (128 + floor(part * 128)) / 256;
}

static double gate_of(double o, double tau)
{
    double p = pow(o, tau);
    return log(p) - log1p(-p);
}

/* Factors whose product is on the grid: one has its numbers, the others are 1 or 1/2. */
static void snap(lcsm_eos_problem *p, const lcsm_eos_case *c)
{
    bool first = true;
    for (int j = EOS_row; j <= EOS_full; j++) {
        for (size_t n = 0; n < p->size[j]; n++)
            p->operand[j][n] = first ? log(on_grid(p->operand[j][n])) : -log(2.0) * (double)(n % 2);
        if (p->size[j] > 0) first = false;
    }
    for (size_t n = 0; n < p->size[EOS_u]; n++) {
        double o             = on_grid(p->operand[EOS_u][n]);
        p->operand[EOS_u][n] = c->gen == LCSM_GEN_EXP ? log(o) : gate_of(o, c->tau);
    }
    for (size_t n = 0; n < p->size[EOS_w]; n++) p->operand[EOS_w][n] = 1;
    for (size_t n = 0; p->m0 != NULL && n < p->m_size; n++) p->m0[n] = round8(p->m0[n]);
}

static lcsm_eos_problem make(const lcsm_eos_case *c, lcsm_eos_sizes n, lcsm_eos_setting set)
{
    lcsm_eos_problem p;
    assert_int_equal(lcsm_eos_problem_make(&p, c, n, &set, NULL), LCSM_OK);
    p.desc.memory_type = LCSM_MEMORY_BF16;
    snap(&p, c);
    return p;
}

static const char *const CASES[] = {
    "ones",        "row-static", "row-token", "col-token", "outer-static", "outer-token",
    "full-static", "full-token", "static-es", "matrix-e",  "matrix-s",     "matrix-es",
    "gen-exp",     "gate-6",     "gate-7",    "gate-8",    "gate-9",       "gate-static",
};

TEST(eos_scan_agrees_with_the_definition_in_bfloat16)
{
    static const lcsm_eos_sizes sizes[] = {
        {2, STEPS, 2, 6, 19}, {1, 1, 1, 1, 1},   {1, 19, 1, 1, 70},
        {1, 19, 1, 5, 9},     {1, 16, 1, 8, 33}, {1, 33, 1, 4, 300},
    };
    static const lcsm_eos_setting settings[] = {
        {.seed = 3}, {.reset = true, .reverse = true, .carry = true, .seed = 7}};
    static const ptrdiff_t chunks[] = {1, 7, 32, 0};
    int                    count    = 0;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (size_t j = 0; j < COUNT(sizes); j++)
            for (size_t s = 0; s < COUNT(settings); s++) {
                lcsm_eos_problem p = make(eos_case_named(CASES[c]), sizes[j], settings[s]);
                count += eos_compare(&p, LCSM_FORM_SCAN, chunks, CASES[c]);
                lcsm_eos_problem_free(&p);
            }
    assert_int_equal(count, 0);
}

/* ---- the definition against a loop that knows only row and col factors with T ---- */

typedef struct {
    lcsm_eos_sizes n;
    double m[STEPS + 1][6][19], o[STEPS][6][19]; /* m[0] is the memory before the first step */
} loop;

static void loop_forward(loop *l, const lcsm_eos_problem *p, double *y)
{
    ptrdiff_t      K = l->n.K, D = l->n.D;
    double *const *x = p->operand;
    memset(y, 0, p->y_size * sizeof *y);
    for (ptrdiff_t t = 0; t < l->n.T; t++)
        for (ptrdiff_t k = 0; k < K; k++)
            for (ptrdiff_t d = 0; d < D; d++) {
                double e = round8(x[EOS_e][t * K + k]), i = round8(x[EOS_i][t * D + d]);
                l->o[t][k][d]     = round8(exp(x[EOS_row][t * K + k] + x[EOS_col][t * D + d]));
                l->m[t + 1][k][d] = round8(l->o[t][k][d] * l->m[t][k][d] + e * i);
                y[t * D + d] += round8(x[EOS_s][t * K + k]) * l->m[t + 1][k][d];
            }
}

/* As if nothing had been rounded, at the numbers that were. */
static void loop_backward(const loop *l, const lcsm_eos_problem *p, lcsm_eos_result *r)
{
    ptrdiff_t      K = l->n.K, D = l->n.D;
    double *const *x = p->operand, *const *g = r->grad;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (p->size[j] > 0) memset(g[j], 0, p->size[j] * sizeof(double));
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = 0; d < D; d++) {
            double G = p->g_m_T[k * D + d];
            for (ptrdiff_t t = l->n.T - 1; t >= 0; t--) {
                double g_y = p->g_y[t * D + d];
                G += round8(x[EOS_s][t * K + k]) * g_y;
                g[EOS_s][t * K + k] += l->m[t + 1][k][d] * g_y;
                g[EOS_e][t * K + k] += G * round8(x[EOS_i][t * D + d]);
                g[EOS_i][t * D + d] += G * round8(x[EOS_e][t * K + k]);
                G *= l->o[t][k][d];
                g[EOS_row][t * K + k] += G * l->m[t][k][d];
                g[EOS_col][t * D + d] += G * l->m[t][k][d];
            }
            r->g_m0[k * D + d] = G;
        }
}

static void compare(const char *name, const double *got, const double *want, size_t n)
{
    double error = lcsm_relative_error(got, want, n);
    if (error > EOS_DOUBLE_BOUND) fail_msg("%s is off by %g", name, error);
}

TEST(eos_definition_in_bfloat16_is_a_loop_that_rounds)
{
    static loop          l       = {.n = {1, STEPS, 1, 6, 19}};
    lcsm_eos_setting     set     = {.carry = true, .seed = 5};
    lcsm_eos_problem     p       = make(eos_case_named("outer-token"), l.n, set);
    lcsm_context_options options = {.size = sizeof options, .isa = LCSM_ISA_REFERENCE};
    lcsm_context        *ctx;
    lcsm_eos_result      want, got;
    assert_int_equal(lcsm_context_create(&ctx, &options, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&want, &p, NULL), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&got, &p, NULL), LCSM_OK);
    for (ptrdiff_t k = 0; k < l.n.K; k++)
        for (ptrdiff_t d = 0; d < l.n.D; d++) l.m[0][k][d] = p.m0[k * l.n.D + d];
    loop_forward(&l, &p, want.y);
    loop_backward(&l, &p, &want);
    assert_int_equal(lcsm_eos_case_run_f64(ctx, &p, LCSM_FORM_RECURRENT, 8, true, &got, NULL),
                     LCSM_OK);
    for (ptrdiff_t k = 0; k < l.n.K; k++)
        for (ptrdiff_t d = 0; d < l.n.D; d++)
            assert_true(got.m_T[k * l.n.D + d] == l.m[STEPS][k][d]);
    compare("y", got.y, want.y, p.y_size);
    compare("g_m0", got.g_m0, want.g_m0, p.m_size);
    for (int j = 0; j < EOS_OPERANDS; j++)
        compare(lcsm_eos_operand_name(j), got.grad[j], want.grad[j], p.size[j]);
    lcsm_eos_result_free(&want);
    lcsm_eos_result_free(&got);
    lcsm_eos_problem_free(&p);
    lcsm_context_free(ctx);
}

/* ---- what is refused ---- */

TEST(eos_memory_in_bfloat16_is_real_and_element_wise)
{
    static const char *const refused[] = {"complement", "row-phase-static", "dense-static",
                                          "delta"};
    for (size_t j = 0; j < COUNT(refused); j++) {
        lcsm_eos_problem p = make(eos_case_named(refused[j]), (lcsm_eos_sizes){1, 3, 1, 2, 2},
                                  (lcsm_eos_setting){0});
        lcsm_eos_plan    plan;
        assert_int_equal(lcsm_eos_plan_make(&plan, NULL, &p.desc, NULL), LCSM_ERR_UNSUPPORTED);
        p.desc.memory_type = (lcsm_memory_type)2;
        assert_int_equal(lcsm_eos_plan_make(&plan, NULL, &p.desc, NULL), LCSM_ERR_ARGUMENT);
        lcsm_eos_problem_free(&p);
    }
}
