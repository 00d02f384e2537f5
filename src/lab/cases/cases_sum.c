/* cases_sum.c - test cases of the op sum. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("sum", &(lcsm_sum_attr){false}, {IN(2, 3, 5)}),
    CASE("mean", &(lcsm_sum_attr){true}, {IN(7, 17)}),
    CASE("empty", &(lcsm_sum_attr){false}, {IN(0, 5)}),
    CASE("one", &(lcsm_sum_attr){true}, {IN(1)}),
};

const lcsm_op_cases lcsm_op_cases_sum = {TESTS, COUNT(TESTS)};
