/* cases_stop.c - test cases of the op stop. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1)}),           CASE("odd", NULL, {IN(2, 3, 17)}),
    CASE("empty", NULL, {IN(0, 3)}),      CASE("no-columns", NULL, {IN(3, 0)}),
    LARGE("large", NULL, {IN(131, 257)}),
};

const lcsm_op_cases lcsm_op_cases_stop = {TESTS, COUNT(TESTS)};
