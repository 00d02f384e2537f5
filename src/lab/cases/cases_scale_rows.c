/* cases_scale_rows.c - test cases of the op scale_rows. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("heads", NULL, {IN(2, 3, 2, 17)}, {IN(2, 3, 2, 1)}),
    CASE("one", NULL, {IN(1)}, {IN(1)}),
    CASE("empty", NULL, {IN(0, 3)}, {IN(0, 1)}),
    CASE("no-columns", NULL, {IN(3, 0)}, {IN(3, 1)}),
    LARGE("large", NULL, {IN(131, 257)}, {IN(131, 1)}),
};

const lcsm_op_cases lcsm_op_cases_scale_rows = {TESTS, COUNT(TESTS)};
