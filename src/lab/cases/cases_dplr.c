/* cases_dplr.c - test cases of the op dplr. */
#include "lab/op_cases.h"

#define DPLR(log_re, reverse) (&(lcsm_dplr_attr){log_re, reverse})
#define STATES(D, M)                                                                               \
    {IN(D, M, 2), .lo = -1.5, .hi = -0.3}, {IN(D, M, 2)}, {IN(D, M, 2)}, {IN(D, M, 2)},            \
    {                                                                                              \
        IN(D), .lo = -3, .hi = 0                                                                   \
    }

static const lcsm_op_case TESTS[] = {
    CASE("odd", DPLR(false, false), {IN(2, 7, 17), .time = true}, STATES(17, 3)),
    CASE("log", DPLR(true, false), {IN(2, 7, 3), .time = true}, STATES(3, 2)),
    CASE("one", DPLR(false, false), {IN(1, 1, 1), .time = true}, STATES(1, 1)),
    CASE("cells", DPLR(true, false), {IN(1, 67, 2), .time = true}, STATES(2, 2)),
    CASE("groups", DPLR(false, false), {IN(17, 3, 2), .time = true}, STATES(2, 2)),
    CASE("resets", DPLR(false, false), {IN(2, 41, 3), .time = true}, STATES(3, 2),
         {IN(2, 41), .lo = 0, .hi = 2, .time = true}),
    CASE("reversed", DPLR(false, true), {IN(2, 5, 3)}, STATES(3, 2)),
    CASE("reversed-resets", DPLR(false, true), {IN(2, 9, 3)}, STATES(3, 2),
         {IN(2, 9), .lo = 0, .hi = 2}),
    CASE("no-steps", DPLR(false, false), {IN(2, 0, 3)}, STATES(3, 2)),
    CASE("no-sequences", DPLR(false, false), {IN(0, 4, 3)}, STATES(3, 2)),
    CASE("no-states", DPLR(false, false), {IN(2, 3, 3), .time = true}, STATES(3, 0)),
    CASE("no-columns", DPLR(false, false), {IN(2, 3, 0), .time = true}, STATES(0, 2)),
    LARGE("large", DPLR(true, false), {IN(3, 133, 37), .time = true}, STATES(37, 16)),
};

const lcsm_op_cases lcsm_op_cases_dplr = {TESTS, COUNT(TESTS)};
