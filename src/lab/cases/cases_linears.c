/* cases_linears.c - test cases of the op linears. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1, 1)}, {IN(1, 1)}),
    CASE("two", NULL, {IN(2, 3, 5)}, {IN(4, 5)}, {IN(3, 5)}),
    CASE("five", NULL, {IN(3, 9)}, {IN(4, 9)}, {IN(1, 9)}, {IN(17, 9)}, {IN(2, 9)}, {IN(4, 9)}),
    CASE("no-rows", NULL, {IN(0, 5)}, {IN(4, 5)}, {IN(2, 5)}),
    CASE("no-columns", NULL, {IN(3, 0)}, {IN(4, 0)}, {IN(2, 0)}),
    CASE("no-outputs", NULL, {IN(3, 5)}, {IN(0, 5)}, {IN(2, 5)}),
    LARGE("sliced", NULL, {IN(259, 67)}, {IN(129, 67)}, {IN(33, 67)}),
    LARGE("tall", NULL, {IN(4099, 17)}, {IN(33, 17)}, {IN(5, 17)}, {IN(16, 17)}),
};

const lcsm_op_cases lcsm_op_cases_linears = {TESTS, COUNT(TESTS)};
