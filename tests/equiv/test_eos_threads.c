/* The operator on several threads: work items, partial sums, column tiles. Also under TSan. */
#include <lcsm/check.h>

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
    assert_int_equal(lcsm_context_create(&ctx, &(lcsm_context_options){.threads = 3}, &err),
                     LCSM_OK);
    lcsm_status st =
        lcsm_check_eos(ctx, &(lcsm_check_options){.filter = filter}, count_failures, &failed, &err);
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
