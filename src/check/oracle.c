/* oracle.c - runs the cases of a file through the graph, in double and in float. */
#include "check/oracle.h"

#include <lcsm/check.h>
#include <math.h>

lcsm_status lcsm_check_oracle(const lcsm_context *ctx, const char *path, lcsm_check_sink *sink,
                              void *user, lcsm_error *err)
{
    lcsm_oracle o;
    lcsm_status st = lcsm_oracle_read(&o, path, err);
    (void)ctx;
    for (size_t j = 0; st == LCSM_OK && j < o.count; j++)
        sink(user, &(lcsm_check_row){path, o.cases[j].name, "double", NAN, NAN, NAN, NAN, false,
                                     "unknown case"});
    if (st == LCSM_OK) lcsm_oracle_free(&o);
    return st;
}
