/* cases_linear.c - test cases of the op linear. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1, 1)}, {IN(1, 1)}),
    CASE("bias", NULL, {IN(2, 3, 5)}, {IN(4, 5)}, {IN(4)}),
    CASE("vector", NULL, {IN(17)}, {IN(9, 17)}, {IN(9)}),
    CASE("row", NULL, {IN(1, 33)}, {IN(17, 33)}),
    CASE("no-rows", NULL, {IN(0, 5)}, {IN(4, 5)}, {IN(4)}),
    CASE("no-columns", NULL, {IN(3, 0)}, {IN(4, 0)}, {IN(4)}),
    CASE("no-outputs", NULL, {IN(3, 5)}, {IN(0, 5)}, {IN(0)}),
    CASE("odd", NULL, {IN(3, 3, 7)}, {IN(17, 7)}, {IN(17)}),
    LARGE("sliced", NULL, {IN(259, 67)}, {IN(129, 67)}, {IN(129)}),
    LARGE("deep", NULL, {IN(33, 1025)}, {IN(65, 1025)}),
    LARGE("tall", NULL, {IN(2051, 33)}, {IN(17, 33)}, {IN(17)}),
    LARGE("wide", NULL, {IN(5, 300)}, {IN(1031, 300)}, {IN(1031)}),
};

const lcsm_op_cases lcsm_op_cases_linear = {TESTS, COUNT(TESTS)};
