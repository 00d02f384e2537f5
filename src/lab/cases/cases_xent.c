/* cases_xent.c - test cases of the op xent. */
#include "lab/op_cases.h"

#define LOSS(ignore, z, details) (&(lcsm_loss_attr){ignore, z, details})

static const lcsm_op_case TESTS[] = {
    CASE("mean", LOSS(-100, 0, false), {IN(5, 7), .lo = -3, .hi = 3}, {IN(5), .lo = 0, .hi = 7}),
    CASE("ignored", LOSS(1, 0, false), {IN(2, 9, 3)}, {IN(2, 9), .lo = 0, .hi = 3}),
    CASE("all-ignored", LOSS(0, 0, true), {IN(3, 3)}, {IN(3), .lo = 0, .hi = 1}),
    CASE("details", LOSS(-100, 0, true), {IN(2, 3, 17)}, {IN(2, 3), .lo = 0, .hi = 17}),
    CASE("z", LOSS(-100, 0.01, true), {IN(3, 33)}, {IN(3), .lo = 0, .hi = 33}),
    CASE("one", LOSS(-100, 0, false), {IN(1, 1)}, {IN(1), .lo = 0, .hi = 1}),
    CASE("no-rows", LOSS(-100, 0, true), {IN(0, 3)}, {IN(0), .lo = 0, .hi = 3}),
    LARGE("large", LOSS(2, 0.001, true), {IN(131, 1031), .lo = -5, .hi = 5},
          {IN(131), .lo = 0, .hi = 9}),
};

const lcsm_op_cases lcsm_op_cases_xent = {TESTS, COUNT(TESTS)};
