/* cases_softmax.c - test cases of the op softmax. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("heads", NULL, {IN(2, 3, 2, 5)}), CASE("one", NULL, {IN(1, 1)}),
    CASE("empty", NULL, {IN(0, 3)}),       CASE("no-columns", NULL, {IN(3, 0)}),
    LARGE("large", NULL, {IN(131, 65)}),
};

const lcsm_op_cases lcsm_op_cases_softmax = {TESTS, COUNT(TESTS)};
