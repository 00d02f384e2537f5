/* cases_conv.c - test cases of the op conv. */
#include "lab/op_cases.h"

#define CONV(silu, reverse) (&(lcsm_conv_attr){silu, reverse})

static const lcsm_op_case TESTS[] = {
    CASE("width-3", CONV(false, false), {IN(2, 7, 3), .time = true}, {IN(3, 3)}, {IN(3)}),
    CASE("width-4-silu", CONV(true, false), {IN(2, 6, 5), .time = true}, {IN(5, 4)}, {IN(5)}),
    CASE("width-1", CONV(true, false), {IN(2, 3, 5), .time = true}, {IN(5, 1)}),
    CASE("wider-than-long", CONV(true, false), {IN(1, 3, 2), .time = true}, {IN(2, 6)}, {IN(2)}),
    CASE("resets", CONV(true, false), {IN(2, 9, 3), .time = true}, {IN(3, 4)}, {IN(3)},
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("reversed", CONV(true, true), {IN(2, 7, 3)}, {IN(3, 4)}, {IN(3)}),
    CASE("reversed-resets", CONV(false, true), {IN(2, 9, 3)}, {IN(3, 3)}, {0},
         {IN(2, 9), .lo = 0, .hi = 2}),
    CASE("one", CONV(true, false), {IN(1, 1, 1), .time = true}, {IN(1, 4)}, {IN(1)}),
    CASE("no-steps", CONV(true, false), {IN(2, 0, 3)}, {IN(3, 4)}, {IN(3)}),
    CASE("no-sequences", CONV(true, false), {IN(0, 5, 3)}, {IN(3, 4)}, {IN(3)}),
    LARGE("large", CONV(true, false), {IN(2, 301, 261), .time = true}, {IN(261, 4)}, {IN(261)}),
};

const lcsm_op_cases lcsm_op_cases_conv = {TESTS, COUNT(TESTS)};
