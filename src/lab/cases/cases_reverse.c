/* cases_reverse.c - test cases of the op reverse. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1, 1, 1)}),
    CASE("odd", NULL, {IN(2, 5, 17)}),
    CASE("empty", NULL, {IN(2, 0, 3)}),
    LARGE("large", NULL, {IN(3, 65, 129)}),
};

const lcsm_op_cases lcsm_op_cases_reverse = {TESTS, COUNT(TESTS)};
