/* test_schedule.c - learning rates at chosen updates. */
#include "test.h"
#include "train/schedule.h"

#include <math.h>

/* Rates are compared to 1e-15: a handful of roundings of numbers below 1e-3. */
static void same(double got, double want)
{
    if (!(fabs(got - want) <= 1e-15)) fail_msg("rate %.17g, want %.17g", got, want);
}

TEST(schedule_inverse_sqrt_warms_up_then_falls_with_the_root)
{
    lcsm_schedule s = {
        .kind = LCSM_SCHEDULE_INVERSE_SQRT, .peak = 5e-4, .start = 1e-7, .warmup = 4000};
    assert_int_equal(lcsm_schedule_check(&s, NULL), LCSM_OK);
    same(lcsm_schedule_rate(&s, 0), 1e-7);
    same(lcsm_schedule_rate(&s, 2000), 1e-7 + (5e-4 - 1e-7) / 2);
    same(lcsm_schedule_rate(&s, 4000), 5e-4);
    same(lcsm_schedule_rate(&s, 16000), 2.5e-4);
}

TEST(schedule_cosine_by_epoch_changes_only_between_epochs)
{
    lcsm_schedule s = {
        .kind = LCSM_SCHEDULE_COSINE_EPOCH, .peak = 1e-3, .total = 64 * 196, .epoch = 196};
    assert_int_equal(lcsm_schedule_check(&s, NULL), LCSM_OK);
    same(lcsm_schedule_rate(&s, 0), 1e-3);
    same(lcsm_schedule_rate(&s, 195), 1e-3);
    same(lcsm_schedule_rate(&s, 16 * 196), 1e-3 * (1 + sqrt(0.5)) / 2);
    same(lcsm_schedule_rate(&s, 32 * 196 + 100), 5e-4);
    same(lcsm_schedule_rate(&s, 64 * 196), 0);
}

TEST(schedule_linear_and_cosine_end_at_the_last_rate_and_stay_there)
{
    lcsm_schedule s = {
        .kind = LCSM_SCHEDULE_LINEAR, .peak = 1e-3, .last = 1e-4, .warmup = 10, .total = 110};
    same(lcsm_schedule_rate(&s, 5), 1e-3 * 6 / 11);
    same(lcsm_schedule_rate(&s, 60), 5.5e-4);
    same(lcsm_schedule_rate(&s, 110), 1e-4);
    same(lcsm_schedule_rate(&s, 500), 1e-4);
    s.kind = LCSM_SCHEDULE_COSINE;
    same(lcsm_schedule_rate(&s, 10), 1e-3);
    same(lcsm_schedule_rate(&s, 60), 5.5e-4);
    same(lcsm_schedule_rate(&s, 500), 1e-4);
}

TEST(schedule_constant_follows_its_warm_up)
{
    lcsm_schedule s = {.kind = LCSM_SCHEDULE_CONSTANT, .peak = 1e-3, .warmup = 4};
    same(lcsm_schedule_rate(&s, 0), 2e-4);
    same(lcsm_schedule_rate(&s, 1), 4e-4);
    same(lcsm_schedule_rate(&s, 4), 1e-3);
    same(lcsm_schedule_rate(&s, 1000000), 1e-3);
}

TEST(schedule_that_makes_no_sense_is_refused)
{
    static const lcsm_schedule BAD[] = {
        {.kind = LCSM_SCHEDULE_COUNT, .peak = 1},
        {.kind = LCSM_SCHEDULE_CONSTANT, .peak = NAN},
        {.kind = LCSM_SCHEDULE_CONSTANT, .peak = -1},
        {.kind = LCSM_SCHEDULE_CONSTANT, .peak = 1, .warmup = -1},
        {.kind = LCSM_SCHEDULE_INVERSE_SQRT, .peak = 1},
        {.kind = LCSM_SCHEDULE_COSINE, .peak = 1, .warmup = 5, .total = 5},
        {.kind = LCSM_SCHEDULE_COSINE_EPOCH, .peak = 1, .total = 5},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_error err = {0};
        assert_int_equal(lcsm_schedule_check(&BAD[j], &err), LCSM_ERR_CONFIG);
        assert_true(err.text[0] != '\0');
    }
}

TEST(schedule_every_kind_has_a_name)
{
    for (int k = 0; k < LCSM_SCHEDULE_COUNT; k++)
        assert_non_null(lcsm_schedule_name((lcsm_schedule_kind)k));
    assert_null(lcsm_schedule_name(LCSM_SCHEDULE_COUNT));
}
