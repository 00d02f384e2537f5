/* cases_linear_xent.c - test cases of the op linear_xent. */
#include "lab/op_cases.h"

#define LOSS(ignore, z, details) (&(lcsm_loss_attr){ignore, z, details})

static const lcsm_op_case TESTS[] = {
    CASE("mean", LOSS(-100, 0, false), {IN(5, 4)}, {IN(7, 4)}, {IN(5), .lo = 0, .hi = 7}),
    CASE("ignored", LOSS(1, 0, false), {IN(2, 9, 5)}, {IN(3, 5)}, {IN(2, 9), .lo = 0, .hi = 3}),
    CASE("all-ignored", LOSS(0, 0, true), {IN(3, 3)}, {IN(4, 3)}, {IN(3), .lo = 0, .hi = 1}),
    CASE("details", LOSS(-100, 0, true), {IN(2, 3, 5)}, {IN(17, 5)}, {IN(2, 3), .lo = 0, .hi = 17}),
    CASE("z", LOSS(2, 0.01, true), {IN(3, 9)}, {IN(33, 9)}, {IN(3), .lo = 0, .hi = 33}),
    CASE("far", LOSS(-100, 0, true), {IN(9, 4), .lo = -9, .hi = 9}, {IN(7, 4), .lo = -9, .hi = 9},
         {IN(9), .lo = 0, .hi = 7}),
    CASE("one", LOSS(-100, 0, false), {IN(1, 1)}, {IN(1, 1)}, {IN(1), .lo = 0, .hi = 1}),
    CASE("no-rows", LOSS(-100, 0, true), {IN(0, 3)}, {IN(4, 3)}, {IN(0), .lo = 0, .hi = 3}),
    LARGE("large", LOSS(2, 0, true), {IN(3, 199, 33)}, {IN(1031, 33)},
          {IN(3, 199), .lo = 0, .hi = 1031}),
    LARGE("many", LOSS(1, 0, false), {IN(1100, 9)}, {IN(65, 9)}, {IN(1100), .lo = 0, .hi = 65}),
};

const lcsm_op_cases lcsm_op_cases_linear_xent = {TESTS, COUNT(TESTS)};
