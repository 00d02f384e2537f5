/* test_budget.c - what budgets of steps and of time say at chosen points. */
#include "test.h"
#include "train/budget.h"
#include "train/settings.h"

#include <math.h>

TEST(budget_takes_the_smallest_number_of_steps)
{
    lcsm_train_config c;
    lcsm_train_config_defaults(&c);
    assert_int_equal(lcsm_budget_of(&c, 7, true).steps, 1000);
    c.minutes = 2;
    assert_int_equal(lcsm_budget_of(&c, 7, true).steps, 0);
    assert_true(lcsm_budget_of(&c, 7, true).seconds == 120);
    c.steps = 50, c.epochs = 3, c.tokens = 16 * 256 * 22 + 1;
    assert_int_equal(lcsm_budget_of(&c, 7, true).steps, 21);
    c.epochs = 0;
    assert_int_equal(lcsm_budget_of(&c, 7, true).steps, 23);
    c.tokens = 0;
    assert_int_equal(lcsm_budget_of(&c, 7, true).steps, 50);
}

TEST(budget_of_time_buys_as_many_steps_as_its_pace_gives)
{
    lcsm_budget b = {.seconds = 100};
    assert_int_equal(lcsm_budget_steps(&b, &(lcsm_budget_at){.step = 0, .seconds = 1}), 0);
    assert_int_equal(lcsm_budget_steps(&b, &(lcsm_budget_at){.step = 10, .seconds = 4}), 250);
    assert_int_equal(lcsm_budget_steps(&b, &(lcsm_budget_at){.step = 99, .seconds = 101}), 99);
    b.steps = 200;
    assert_int_equal(lcsm_budget_steps(&b, &(lcsm_budget_at){.step = 10, .seconds = 4}), 200);
    assert_int_equal(lcsm_budget_steps(&b, &(lcsm_budget_at){.step = 10, .seconds = 20}), 50);
}

TEST(budget_counts_the_evaluations_of_a_run)
{
    lcsm_budget b = {.evaluates = true};
    assert_int_equal(lcsm_budget_evaluations(&b, 3), 3);
    assert_int_equal(lcsm_budget_evaluations(&b, 500), 10);
    b.eval_every = 5;
    assert_int_equal(lcsm_budget_evaluations(&b, 10), 2);
    assert_int_equal(lcsm_budget_evaluations(&b, 12), 3);
    b.evaluates = false;
    assert_int_equal(lcsm_budget_evaluations(&b, 12), 0);
}

/* Ten evaluations at the tenths of a run, each with all it may take, take a tenth of the time. */
TEST(budget_allowances_add_up_to_a_tenth)
{
    lcsm_budget    b  = {.seconds = 100, .evaluates = true};
    lcsm_budget_at at = {0};
    for (int j = 1; j <= 10; j++) {
        at.step = 10 * j, at.seconds = 10 * j;
        double may = lcsm_budget_allowance(&b, &at);
        assert_true(fabs(may - 1) < 1e-12);
        at.eval_seconds += may;
    }
    assert_true(lcsm_budget_allowance(&b, &at) < 1e-12);
    b.seconds = 0;
    assert_true(isinf(lcsm_budget_allowance(&b, &at)));
}

TEST(budget_schedule_follows_the_clock_only_where_time_alone_ends_the_run)
{
    lcsm_schedule  whole = {.kind = LCSM_SCHEDULE_COSINE, .peak = 1, .warmup = 50, .total = 5000};
    lcsm_budget    b     = {.seconds = 100, .steps = 5000};
    lcsm_budget_at at    = {.step = 10, .seconds = 10};
    lcsm_schedule  s     = lcsm_budget_schedule(&b, &at, &whole);
    assert_int_equal(s.total, 5000);
    assert_int_equal(s.warmup, 50);
    b.steps = 0;
    s       = lcsm_budget_schedule(&b, &at, &whole);
    assert_int_equal(s.total, 100);
    assert_int_equal(s.warmup, 10);
    at = (lcsm_budget_at){.step = 1, .seconds = 99};
    s  = lcsm_budget_schedule(&b, &at, &whole);
    assert_int_equal(s.warmup, 1);
    assert_int_equal(s.total, 2);
    assert_int_equal(lcsm_schedule_check(&s, NULL), LCSM_OK);
    whole.warmup = 0;
    s            = lcsm_budget_schedule(&b, &at, &whole);
    assert_int_equal(s.warmup, 0);
}
