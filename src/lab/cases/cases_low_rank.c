/* cases_low_rank.c - test cases of the op low_rank. */
#include "lab/op_cases.h"

#define LOW_RANK(log_re) (&(lcsm_low_rank_attr){log_re})
#define STATES(D, M)                                                                               \
    {IN(D, M, 2), .lo = -1.5, .hi = -0.3}, {IN(D, M, 2)}, {IN(D, M, 2)},                           \
    {                                                                                              \
        IN(D), .lo = -3, .hi = 0                                                                   \
    }

static const lcsm_op_case TESTS[] = {
    CASE("odd", LOW_RANK(false), STATES(17, 3)),
    CASE("log", LOW_RANK(true), STATES(3, 2)),
    CASE("one", LOW_RANK(false), STATES(1, 1)),
    CASE("no-states", LOW_RANK(false), STATES(3, 0)),
    CASE("no-columns", LOW_RANK(false), STATES(0, 2)),
    LARGE("large", LOW_RANK(true), STATES(37, 16)),
};

const lcsm_op_cases lcsm_op_cases_low_rank = {TESTS, COUNT(TESTS)};
