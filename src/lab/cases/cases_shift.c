/* cases_shift.c - test cases of the op shift. */
#include "lab/op_cases.h"

#define SHIFT(reverse) (&(lcsm_shift_attr){reverse})

static const lcsm_op_case TESTS[] = {
    CASE("odd", SHIFT(false), {IN(2, 5, 17), .time = true}, {IN(17)}),
    CASE("resets", SHIFT(false), {IN(2, 9, 3), .time = true}, {IN(3)},
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("reversed", SHIFT(true), {IN(2, 5, 3)}, {IN(3)}),
    CASE("reversed-resets", SHIFT(true), {IN(2, 9, 3)}, {IN(3)}, {IN(2, 9), .lo = 0, .hi = 2}),
    CASE("one", SHIFT(false), {IN(1, 1, 1), .time = true}, {IN(1)}),
    CASE("no-steps", SHIFT(false), {IN(2, 0, 3)}, {IN(3)}),
    CASE("no-columns", SHIFT(false), {IN(2, 3, 0), .time = true}, {IN(0)}),
    LARGE("large", SHIFT(false), {IN(2, 301, 261), .time = true}, {IN(261)}),
};

const lcsm_op_cases lcsm_op_cases_shift = {TESTS, COUNT(TESTS)};
