/* cases_halves.c - test cases of the op halves. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("odd", NULL, {IN(2, 3, 34)}),    CASE("one", NULL, {IN(2)}),
    CASE("empty", NULL, {IN(0, 4)}),      CASE("no-columns", NULL, {IN(3, 0)}),
    LARGE("large", NULL, {IN(131, 258)}),
};

const lcsm_op_cases lcsm_op_cases_halves = {TESTS, COUNT(TESTS)};
