/* cases_scale.c - test cases of the op scale. */
#include "lab/op_cases.h"

#define SCALE(factor, gamma) (&(lcsm_scale_attr){factor, gamma})

static const lcsm_op_case TESTS[] = {
    CASE("one", SCALE(-0.5, 1), {IN(1)}),
    CASE("odd", SCALE(1.75, 1), {IN(2, 3, 17)}),
    CASE("zero", SCALE(0, 1), {IN(5, 9)}),
    CASE("empty", SCALE(2, 0.9), {IN(0, 3)}),
    CASE("no-columns", SCALE(1, 0.9), {IN(3, 0)}),
    CASE("decay", SCALE(1, 0.9), {IN(5, 17)}),
    CASE("both", SCALE(-3, 0.5), {IN(2, 3, 5)}),
    LARGE("large", SCALE(0.3, 1), {IN(131, 257)}),
    LARGE("large-decay", SCALE(1, 0.99), {IN(301, 65)}),
};

const lcsm_op_cases lcsm_op_cases_scale = {TESTS, COUNT(TESTS)};
