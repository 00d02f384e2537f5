/* cases_toeplitz.c - test cases of the op toeplitz. */
#include "lab/op_cases.h"

#define DECAY(gamma) (&(lcsm_toeplitz_attr){gamma})

static const lcsm_op_case TESTS[] = {
    CASE("odd", DECAY(0.99), {IN(7, 17)}),      CASE("even", DECAY(0.9), {IN(4, 3)}),
    CASE("prime", DECAY(0.9), {IN(10, 2)}),     CASE("one", DECAY(0.5), {IN(1, 1)}),
    CASE("empty", DECAY(0.9), {IN(0, 3)}),      CASE("no-columns", DECAY(1), {IN(3, 0)}),
    LARGE("large", DECAY(0.99), {IN(257, 65)}),
};

const lcsm_op_cases lcsm_op_cases_toeplitz = {TESTS, COUNT(TESTS)};
