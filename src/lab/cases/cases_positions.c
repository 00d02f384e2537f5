/* cases_positions.c - test cases of the op positions. */
#include "lab/op_cases.h"

#define POSITIONS(count, first, step) (&(lcsm_positions_attr){count, first, step})

static const lcsm_op_case TESTS[] = {
    CASE("bias", POSITIONS(5, 0, 1), {IN(17)}, {IN(17)}),
    CASE("backwards", POSITIONS(4, -1, -1), {IN(3)}),
    CASE("one", POSITIONS(1, 0, 1), {IN(1)}, {IN(1)}),
    CASE("none", POSITIONS(0, 0, 1), {IN(3)}, {IN(3)}),
    CASE("no-columns", POSITIONS(3, 0, 1), {IN(0)}, {IN(0)}),
    LARGE("large", POSITIONS(301, 0, 1), {IN(65)}, {IN(65)}),
};

const lcsm_op_cases lcsm_op_cases_positions = {TESTS, COUNT(TESTS)};
