/* cases_lerp.c - test cases of the op lerp. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1)}, {IN(1)}, {IN(1)}),
    CASE("same", NULL, {IN(2, 3, 5)}, {IN(2, 3, 5)}, {IN(2, 3, 5)}),
    CASE("vector", NULL, {IN(2, 3, 17)}, {IN(2, 3, 17)}, {IN(17)}),
    CASE("empty", NULL, {IN(0, 3)}, {IN(0, 3)}, {IN(3)}),
    LARGE("large", NULL, {IN(131, 257)}, {IN(131, 257)}, {IN(257)}),
};

const lcsm_op_cases lcsm_op_cases_lerp = {TESTS, COUNT(TESTS)};
