/* cases_rotate.c - test cases of the op rotate. */
#include "lab/op_cases.h"

#define ROTATE(KIND, heads)      (&(lcsm_rotate_attr){LCSM_ROTATE_##KIND, heads, 0})
#define PART(KIND, heads, width) (&(lcsm_rotate_attr){LCSM_ROTATE_##KIND, heads, width})

static const lcsm_op_case TESTS[] = {
    CASE("pairs", ROTATE(PAIRS, 2), {IN(2, 5, 12), .time = true}, {IN(3)}),
    CASE("pairs-apart", ROTATE(PAIRS, 2), {IN(2, 5, 12), .time = true}, {IN(6)}),
    CASE("halves", ROTATE(HALVES, 1), {IN(2, 5, 10), .time = true}, {IN(5)}),
    CASE("halves-apart", ROTATE(HALVES, 3), {IN(2, 3, 18), .time = true}, {IN(9)}),
    CASE("double", ROTATE(DOUBLE, 2), {IN(2, 5, 10), .time = true}, {IN(5)}),
    CASE("double-apart", ROTATE(DOUBLE, 2), {IN(2, 5, 10), .time = true}, {IN(10)}),
    CASE("part-halves", PART(HALVES, 2, 4), {IN(2, 5, 14), .time = true}, {IN(2)}),
    CASE("part-pairs", PART(PAIRS, 3, 2), {IN(2, 5, 15), .time = true}, {IN(1)}),
    CASE("one", ROTATE(DOUBLE, 1), {IN(1, 1, 1), .time = true}, {IN(1)}),
    CASE("no-steps", ROTATE(PAIRS, 1), {IN(2, 0, 4)}, {IN(2)}),
    CASE("no-sequences", ROTATE(PAIRS, 1), {IN(0, 3, 4), .time = true}, {IN(2)}),
    LARGE("large-pairs", ROTATE(PAIRS, 3), {IN(2, 65, 102), .time = true}, {IN(17)}),
    LARGE("large-part", PART(HALVES, 3, 34), {IN(2, 65, 105), .time = true}, {IN(17)}),
    LARGE("large-double", ROTATE(DOUBLE, 3), {IN(2, 65, 99), .time = true}, {IN(99)}),
};

const lcsm_op_cases lcsm_op_cases_rotate = {TESTS, COUNT(TESTS)};
