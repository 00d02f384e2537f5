/* cases_dropout.c - test cases of the op dropout. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", &(lcsm_dropout_attr){0.5}, {IN(1)}),
    CASE("odd", &(lcsm_dropout_attr){0.3}, {IN(2, 3, 17)}),
    CASE("none", &(lcsm_dropout_attr){0}, {IN(5, 7)}),
    CASE("empty", &(lcsm_dropout_attr){0.3}, {IN(0, 3)}),
    LARGE("large", &(lcsm_dropout_attr){0.1}, {IN(131, 257)}),
};

const lcsm_op_cases lcsm_op_cases_dropout = {TESTS, COUNT(TESTS)};
