/* cases_repeat.c - test cases of the op repeat. */
#include "lab/op_cases.h"

#define REPEAT(times) (&(lcsm_repeat_attr){times})

static const lcsm_op_case TESTS[] = {
    CASE("heads", REPEAT(3), {IN(2, 3, 2, 5)}), CASE("one", REPEAT(1), {IN(1, 1)}),
    CASE("empty", REPEAT(2), {IN(0, 3)}),       CASE("no-columns", REPEAT(2), {IN(3, 0)}),
    LARGE("large", REPEAT(4), {IN(31, 8, 65)}),
};

const lcsm_op_cases lcsm_op_cases_repeat = {TESTS, COUNT(TESTS)};
