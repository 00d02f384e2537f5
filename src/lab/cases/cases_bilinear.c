/* cases_bilinear.c - test cases of the op bilinear. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("odd", NULL, {IN(3, 3)}, {IN(3)}, {IN(17), .lo = -3, .hi = -0.5}),
    CASE("wide", NULL, {IN(9, 9)}, {IN(9)}, {IN(2), .lo = -3, .hi = -1.5}),
    CASE("one", NULL, {IN(1, 1)}, {IN(1)}, {IN(1), .lo = -3, .hi = -1}),
    CASE("no-states", NULL, {IN(0, 0)}, {IN(0)}, {IN(3)}),
    CASE("no-channels", NULL, {IN(3, 3)}, {IN(3)}, {IN(0)}),
    LARGE("large", NULL, {IN(33, 33), .lo = -1, .hi = 0.9}, {IN(33)}, {IN(19), .lo = -4, .hi = -3}),
};

const lcsm_op_cases lcsm_op_cases_bilinear = {TESTS, COUNT(TESTS)};
