/* cases_lower_bounds.c - test cases of the op lower_bounds. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("odd", NULL, {IN(5, 17), .lo = -2, .hi = 2}),
    CASE("one", NULL, {IN(1, 1)}),
    CASE("one-layer", NULL, {IN(1, 9)}),
    CASE("no-layers", NULL, {IN(0, 3)}),
    CASE("no-columns", NULL, {IN(3, 0)}),
    LARGE("large", NULL, {IN(24, 1031)}),
};

const lcsm_op_cases lcsm_op_cases_lower_bounds = {TESTS, COUNT(TESTS)};
