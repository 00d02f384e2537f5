/* The operator on several threads: work items, partial sums, column tiles. Also under TSan. */
#include <lcsm/check.h>

#include "eos_compare.h"
#include "kernel/context.h"
#include "test.h"

static void count_failures(void *user, const lcsm_check_row *row)
{
    if (!row->ok) ++*(int *)user;
}

static void prove(const char *filter)
{
    lcsm_context *ctx;
    lcsm_error    err;
    int           failed = 0;
    assert_int_equal(
        lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 3},
            &err),
        LCSM_OK);
    lcsm_status st = lcsm_check_eos(
        ctx, &(lcsm_check_options){.size = sizeof(lcsm_check_options), .filter = filter},
        count_failures, &failed, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(failed, 0);
}

TEST(eos_threads_of_the_chunked_form_agree)
{
    prove("outer-token");
}

TEST(eos_threads_of_the_scan_form_agree)
{
    prove("gate-6");
}

TEST(eos_threads_of_the_delta_form_agree)
{
    prove("delta-row");
}

static lcsm_context *context_of(int threads)
{
    lcsm_context *ctx;
    lcsm_error    err;
    assert_int_equal(
        lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = threads},
            &err),
        LCSM_OK);
    return ctx;
}

/* One sequence and head, whose columns are cut between threads: the gradients that the tiles share
 * are added up over several spans of steps. Sums in another order differ by rounding. */
static void prove_tiles(const char *name, ptrdiff_t T, lcsm_eos_setting set)
{
    lcsm_context    *one = context_of(1), *three = context_of(3);
    lcsm_eos_problem p;
    lcsm_eos_result  want, got;
    lcsm_error       err;
    lcsm_eos_plan    plan;
    assert_int_equal(lcsm_eos_problem_make(&p, eos_case_named(name),
                                           (lcsm_eos_sizes){1, T, 1, 9, 200}, &set, &err),
                     LCSM_OK);
    p.desc.tile        = 64; /* by itself the plan would not cut so little work */
    lcsm_eos_desc desc = p.desc;
    desc.form          = LCSM_FORM_AUTO;
    desc.chunk         = 8;
    assert_int_equal(lcsm_eos_plan_make(&plan, three->pool, &desc, &err), LCSM_OK);
    assert_true(plan.tiles > 1 && plan.span < plan.T && plan.span % plan.chunk == 0);
    assert_int_equal(lcsm_eos_result_make(&want, &p, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_result_make(&got, &p, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_case_run_f64(one, &p, LCSM_FORM_AUTO, 8, true, &want, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_case_run_f64(three, &p, LCSM_FORM_AUTO, 8, true, &got, &err),
                     LCSM_OK);
    assert_true(lcsm_relative_error(got.y, want.y, p.y_size) < EOS_DOUBLE_BOUND);
    assert_true(lcsm_relative_error(got.g_m0, want.g_m0, p.m_size) < EOS_DOUBLE_BOUND);
    for (int j = 0; j < EOS_OPERANDS; j++)
        assert_true(lcsm_relative_error(got.grad[j], want.grad[j], p.size[j]) < EOS_DOUBLE_BOUND);
    lcsm_eos_result_free(&want);
    lcsm_eos_result_free(&got);
    lcsm_eos_problem_free(&p);
    lcsm_context_free(one);
    lcsm_context_free(three);
}

TEST(eos_threads_share_the_columns_of_one_head)
{
    static const char *const names[] = {"row-token",  "delta-row",   "gen-exp",
                                        "full-token", "outer-token", "row-phase-token"};
    for (size_t j = 0; j < 2 * (sizeof names / sizeof *names); j++) {
        const char *name = names[j / 2];
        ptrdiff_t   T    = 150 + (ptrdiff_t)j % 2; /* which gradients are overwritten */
        prove_tiles(name, T, (lcsm_eos_setting){.carry = true, .decay = 0.2, .seed = 5});
        prove_tiles(name, T, (lcsm_eos_setting){.reset = true, .decay = 0.2, .seed = 6});
        prove_tiles(name, T,
                    (lcsm_eos_setting){.reset = true, .reverse = true, .carry = true, .seed = 7});
    }
}

/* (T/C) K D + C K D floats, also where two threads share one head. */
TEST(eos_threads_of_one_head_keep_the_bound_on_memory)
{
    static const char *const names[] = {"ones", "row-token", "outer-token", "delta-row"};
    for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
        lcsm_context          *two = context_of(2);
        lcsm_eos_problem       one;
        lcsm_eos              *op;
        lcsm_error             err;
        const lcsm_eos_setting set = {.seed = 1};
        assert_int_equal(lcsm_eos_problem_make(&one, eos_case_named(names[j]),
                                               (lcsm_eos_sizes){1, 1, 1, 64, 128}, &set, &err),
                         LCSM_OK);
        lcsm_eos_desc desc = one.desc;
        desc.T             = 4096;
        desc.form          = LCSM_FORM_AUTO;
        assert_int_equal(lcsm_eos_create(&op, two, &desc, &err), LCSM_OK);
        size_t C     = (size_t)lcsm_eos_chosen_chunk(op);
        size_t bound = (4096 / C + C) * 64 * 128 * sizeof(float);
        assert_true(lcsm_eos_tape(op) + lcsm_eos_backward_workspace(op) <= bound);
        lcsm_eos_free(op);
        lcsm_eos_problem_free(&one);
        lcsm_context_free(two);
    }
}
