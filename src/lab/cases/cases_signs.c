/* cases_signs.c - test cases of the op signs, which has no gradient. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    LARGE("odd", NULL, {IN(2, 7, 17), .lo = -1, .hi = 1, .time = true}),
    LARGE("one", NULL, {IN(1, 1, 1), .lo = -1, .hi = 1, .time = true}),
    LARGE("no-steps", NULL, {IN(2, 0, 3)}),
    LARGE("no-columns", NULL, {IN(2, 3, 0), .time = true}),
    LARGE("large", NULL, {IN(3, 131, 261), .lo = -1, .hi = 1, .time = true}),
};

const lcsm_op_cases lcsm_op_cases_signs = {TESTS, COUNT(TESTS)};
