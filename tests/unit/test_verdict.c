/* The bound of float, and models in the sizes that people use. */
#include <stdio.h>
#include <string.h>

#include "check/model_proof.h"
#include "check/verdict.h"
#include "test.h"

TEST(verdict_bound_grows_with_the_error_of_the_reference)
{
    assert_true(lcsm_float_bound(0) == 5e-6);
    assert_true(fabs(lcsm_float_bound(1e-3) - 4.005e-3) < 1e-12);
    lcsm_measure within = lcsm_measure_float(3e-3, 1e-3), beyond = lcsm_measure_float(3e-3, 1e-5);
    assert_true(lcsm_measure_ok(&within));
    assert_false(lcsm_measure_ok(&beyond));
}

TEST(verdict_keeps_what_is_nearest_to_its_bound)
{
    lcsm_measure slot = LCSM_UNMEASURED;
    assert_true(lcsm_measure_ok(&slot));
    assert_true(lcsm_measure_note(&slot, lcsm_measure_fixed(0.5, 1)));
    assert_false(lcsm_measure_note(&slot, lcsm_measure_fixed(2, 10)));
    assert_true(lcsm_measure_note(&slot, lcsm_measure_fixed(0.09, 0.1)));
    assert_true(slot.bound == 0.1);
}

TEST(verdict_of_a_nan_fails)
{
    lcsm_measure slot = LCSM_UNMEASURED;
    (void)lcsm_measure_note(&slot, lcsm_measure_float(NAN, 0));
    assert_false(lcsm_measure_ok(&slot));
    assert_false(lcsm_measure_note(&slot, lcsm_measure_float(1e9, 0)));
}

/* ---- sizes ---- */

typedef struct {
    int  rows, failed;
    char detail[2][256];
} tally;

static void count(void *user, const lcsm_check_row *row)
{
    tally *t = user;
    (void)snprintf(t->detail[t->rows++ % 2], sizeof t->detail[0], "%s", row->detail);
    t->failed += !row->ok;
}

static tally sizes_of(ptrdiff_t normal, ptrdiff_t small)
{
    lcsm_model_config a, b;
    lcsm_context     *ctx;
    tally             t = {0};
    lcsm_model_config_defaults(&a);
    (void)snprintf(a.method, sizeof a.method, "dur");
    b         = a;
    a.d_model = normal;
    b.d_model = small;
    b.vocab   = 11;
    b.layers  = 2;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    lcsm_check_sizes(ctx, &a, &b, "dur", count, &t);
    lcsm_context_free(ctx);
    assert_int_equal(t.rows, 2);
    return t;
}

TEST(sizes_of_a_sound_model_are_named)
{
    tally t = sizes_of(64, 8);
    assert_int_equal(t.failed, 0);
    assert_non_null(strstr(t.detail[0], "default with 2 heads"));
    assert_non_null(strstr(t.detail[0], "10m with 4 heads"));
    assert_non_null(strstr(t.detail[1], "4 heads"));
}

/* One head fits every width, two do not: a model that builds only with one must not pass. */
TEST(sizes_of_a_model_that_takes_one_head_only_fail)
{
    tally t = sizes_of(63, 7);
    assert_int_equal(t.failed, 2);
    assert_non_null(strstr(t.detail[0], "63 is not divisible by 2 heads"));
    assert_non_null(strstr(t.detail[1], "7 is not divisible by 2 heads"));
}
