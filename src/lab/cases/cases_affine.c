/* cases_affine.c - test cases of the op affine. */
#include "lab/op_cases.h"

#define AFFINE(a, b) (&(lcsm_affine_attr){a, b})

static const lcsm_op_case TESTS[] = {
    CASE("one-minus", AFFINE(-1, 1), {IN(2, 3, 17)}), CASE("one", AFFINE(0.5, -3), {IN(1)}),
    CASE("empty", AFFINE(2, 1), {IN(0, 3)}),          CASE("no-columns", AFFINE(2, 1), {IN(3, 0)}),
    LARGE("large", AFFINE(-1, 1), {IN(131, 257)}),
};

const lcsm_op_cases lcsm_op_cases_affine = {TESTS, COUNT(TESTS)};
