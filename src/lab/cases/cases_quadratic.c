/* cases_quadratic.c - test cases of the op quadratic. */
#include "lab/op_cases.h"

#define TERMS(linear, square, product) (&(lcsm_quadratic_attr){linear, square, product})

static const lcsm_op_case TESTS[] = {
    CASE("all", TERMS(0.5, 0.7, 1.4), {IN(2, 3, 2, 5)}),
    CASE("second-order", TERMS(0, 0.7, 1.4), {IN(3, 4)}),
    CASE("one", TERMS(1, 1, 1), {IN(1, 1)}),
    CASE("empty", TERMS(1, 1, 1), {IN(0, 3)}),
    CASE("no-columns", TERMS(1, 1, 1), {IN(3, 0)}),
    LARGE("large", TERMS(0.5, 0.7, 1), {IN(131, 17)}),
};

const lcsm_op_cases lcsm_op_cases_quadratic = {TESTS, COUNT(TESTS)};
