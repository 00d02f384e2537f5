/* cases_concat.c - test cases of the op concat. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(2, 3)}),
    CASE("three", NULL, {IN(2, 3, 5)}, {IN(2, 3, 1)}, {IN(2, 3, 17)}),
    CASE("vectors", NULL, {IN(5)}, {IN(9)}),
    CASE("empty-part", NULL, {IN(3, 0)}, {IN(3, 2)}),
    CASE("no-rows", NULL, {IN(0, 4)}, {IN(0, 2)}),
};

const lcsm_op_cases lcsm_op_cases_concat = {TESTS, COUNT(TESTS)};
