/* cases_longconv.c - test cases of the op longconv. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("odd", NULL, {IN(2, 7, 5)}, {IN(7, 5)}),
    CASE("short-kernel", NULL, {IN(2, 9, 3)}, {IN(4, 3)}),
    CASE("long-kernel", NULL, {IN(1, 5, 17)}, {IN(8, 17)}),
    CASE("one", NULL, {IN(1, 1, 1)}, {IN(1, 1)}),
    CASE("no-steps", NULL, {IN(2, 0, 3)}, {IN(2, 3)}),
    CASE("no-kernel", NULL, {IN(2, 3, 3)}, {IN(0, 3)}),
    CASE("no-columns", NULL, {IN(2, 3, 0)}, {IN(3, 0)}),
    LARGE("large", NULL, {IN(2, 129, 65)}, {IN(129, 65)}),
};

const lcsm_op_cases lcsm_op_cases_longconv = {TESTS, COUNT(TESTS)};
