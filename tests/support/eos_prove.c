#include "eos_prove.h"

#include <lcsm/check.h>
#include <stdio.h>

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
    print_error("%s %s %s: output %.2e (bound %.0e), gradient %.2e (bound %.0e), %s\n", row->group,
                row->name, row->precision, row->output_error, row->output_bound,
                row->gradient_error, row->gradient_bound, row->detail);
}

void eos_prove(lcsm_isa isa, int threads)
{
    lcsm_context        *ctx;
    lcsm_error           err;
    lcsm_context_options options = {.size = sizeof options, .isa = isa, .threads = threads};
    tally                t       = {0};
    if (lcsm_context_create(&ctx, &options, &err) == LCSM_ERR_UNSUPPORTED) return;
    assert_non_null(ctx);
    lcsm_status st = lcsm_check_eos(ctx, NULL, count, &t, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) fail_msg("%s", err.text);
    assert_true(t.rows > 200);
    assert_int_equal(t.failed, 0);
}
