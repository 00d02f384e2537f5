/*
 * Free (a, b) and the delta rule in chunks where they are hard: gates of either sign, reflections
 * (beta = 2), equal keys at every step, long sequences. Bounds: eos_compare.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "eos_compare.h"
#include "test.h"

static const ptrdiff_t CHUNKS[] = {1, 5, 16, 32, 64, 0};

/* Whichever of the two forms serves the case. */
static lcsm_eos_form form_of(const lcsm_eos_problem *p)
{
    return p->size[EOS_erase] > 0 ? LCSM_FORM_DELTA : LCSM_FORM_CHUNKED;
}

static void make(lcsm_eos_problem *p, const char *name, lcsm_eos_sizes n, double decay)
{
    lcsm_eos_setting set = {.carry = true, .decay = decay, .seed = 31};
    assert_int_equal(lcsm_eos_problem_make(p, eos_case_named(name), n, &set, NULL), LCSM_OK);
}

/* A phase of 0 or pi, as numbers of either sign have it. */
static int compare_signed(const char *name, double decay)
{
    lcsm_eos_problem p;
    make(&p, name, (lcsm_eos_sizes){1, 70, 2, 9, 18}, decay);
    for (size_t j = 0; j < p.size[EOS_row_phase]; j++)
        p.operand[EOS_row_phase][j] =
            lcsm_rng_uniform(5, 2, j) < 0.5 ? 0 : (double)3.14159265358979f;
    int count = eos_compare(&p, form_of(&p), CHUNKS, name);
    lcsm_eos_problem_free(&p);
    return count;
}

TEST(eos_rank_signed_gates_agree)
{
    static const double decays[] = {0.01, 0.5, 5, 20};
    int                 count    = 0;
    for (size_t j = 0; j < COUNT(decays); j++) {
        count += compare_signed("low-rank-phase", decays[j]);
        count += compare_signed("delta-phase", decays[j]);
        count += compare_signed("complex-all", decays[j]);
    }
    assert_int_equal(count, 0);
}

/* A key of norm 1; each step its own, or all the same. */
static void unit_keys(const lcsm_eos_problem *p, bool equal, double *key)
{
    size_t K = (size_t)p->plan.K, rows = p->size[EOS_e] / K;
    for (size_t r = 0; r < rows; r++) {
        double norm = 0;
        for (size_t k = 0; k < K; k++) {
            key[r * K + k] = lcsm_rng_uniform(7, 1, (equal ? 0 : r * K) + k) - 0.5;
            norm += key[r * K + k] * key[r * K + k];
        }
        for (size_t k = 0; k < K; k++) key[r * K + k] /= sqrt(norm);
    }
}

/* m = (I - beta k k^T) o m + beta k v^T, by a = -beta k and b = k or by erase, without decay. */
static int compare_keys(const char *name, double beta, bool equal, ptrdiff_t T)
{
    lcsm_eos_problem p;
    make(&p, name, (lcsm_eos_sizes){1, T, 2, 9, 18}, 1e-3);
    size_t  n   = p.size[EOS_e];
    double *key = calloc(n, sizeof *key);
    assert_non_null(key);
    unit_keys(&p, equal, key);
    for (size_t j = 0; j < n; j++) {
        double k            = (double)(float)key[j];
        p.operand[EOS_e][j] = (double)(float)(beta * k);
        if (p.size[EOS_erase] == n) p.operand[EOS_erase][j] = k;
        if (p.size[EOS_a] == n) p.operand[EOS_a][j] = -(double)(float)(beta * k);
        if (p.size[EOS_b] == n) p.operand[EOS_b][j] = k;
    }
    int count = eos_compare(&p, form_of(&p), CHUNKS, name);
    free(key);
    lcsm_eos_problem_free(&p);
    return count;
}

TEST(eos_rank_reflections_and_equal_keys_agree)
{
    static const char *const cases[] = {"low-rank", "delta-row"};
    int                      count   = 0;
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int equal = 0; equal < 2; equal++) {
            count += compare_keys(cases[c], 1, equal, 70);
            count += compare_keys(cases[c], 2, equal, 70);
            count += compare_keys(cases[c], 0.5, equal, 300);
        }
    assert_int_equal(count, 0);
}

/* Forward over a million steps with reflections: every number stays finite. */
TEST(eos_rank_a_million_steps_are_finite)
{
    lcsm_eos_problem p;
    lcsm_eos_result  r;
    lcsm_context    *ctx;
    make(&p, "low-rank", (lcsm_eos_sizes){1, 1000000, 1, 2, 2}, 1e-3);
    assert_int_equal(lcsm_eos_result_make(&r, &p, NULL), LCSM_OK);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < p.size[EOS_a]; j += 2) {
        double angle = 6.28 * lcsm_rng_uniform(3, 3, j);
        for (size_t k = 0; k < 2; k++) {
            double x                = k == 0 ? cos(angle) : sin(angle);
            p.operand[EOS_a][j + k] = -2 * x;
            p.operand[EOS_b][j + k] = x;
        }
    }
    assert_int_equal(lcsm_eos_case_run_f32(ctx, &p, LCSM_FORM_CHUNKED, 0, true, &r, NULL), LCSM_OK);
    int bad = 0;
    for (size_t j = 0; j < p.y_size; j++) bad += !isfinite(r.y[j]);
    for (int a = 0; a < EOS_OPERANDS; a++)
        for (size_t j = 0; j < p.size[a]; j++) bad += !isfinite(r.grad[a][j]);
    assert_int_equal(bad, 0);
    lcsm_context_free(ctx);
    lcsm_eos_result_free(&r);
    lcsm_eos_problem_free(&p);
}
