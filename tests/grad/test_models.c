/* Whole two-layer models: every method and flavour, and a selection of the codes. */
#include <lcsm/check.h>
#include <string.h>

#include "test.h"

typedef struct {
    int rows, failed;
} tally;

static void count(void *user, const lcsm_check_row *row)
{
    tally *t = user;
    t->rows++;
    if (row->ok) return;
    t->failed++;
    print_error("%s %s: output %.2e, gradient %.2e, %s\n", row->group, row->name, row->output_error,
                row->gradient_error, row->detail);
}

static void prove(const char *name, int least)
{
    lcsm_context *ctx;
    lcsm_error    err;
    tally         t = {0};
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    lcsm_status st = lcsm_check_models(ctx, name, NULL, count, &t, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) fail_msg("%s", err.text);
    assert_true(t.rows >= least);
    assert_int_equal(t.failed, 0);
}

TEST(models_of_every_method_and_flavour_prove_themselves)
{
    prove("methods", 200);
}

TEST(models_of_every_oscillation_code_prove_themselves)
{
    prove("codes", 200);
}

TEST(models_of_several_mixers_prove_themselves)
{
    prove("hybrids", 35);
}

TEST(models_of_an_unknown_method_name_the_nearest)
{
    lcsm_context *ctx;
    lcsm_error    err;
    tally         t = {0};
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_check_models(ctx, "retnett", NULL, count, &t, &err), LCSM_ERR_ARGUMENT);
    lcsm_context_free(ctx);
    assert_non_null(strstr(err.text, "retnet"));
}
