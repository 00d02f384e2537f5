/* cases_running_max.c - test cases of the op running_max. Its gradients are those of what is
 * divided by its normaliser, not its own: tests/grad/test_normalise.c. */
#include "lab/op_cases.h"

#define MAXIMUM(start) (&(lcsm_running_max_attr){start})
#define Z(...)                                                                                     \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -4, .hi = 4, .time = true                                           \
    }
#define GATE(...)                                                                                  \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -2, .hi = 0, .time = true                                           \
    }

static const lcsm_op_case TESTS[] = {
    LARGE("odd", MAXIMUM(LCSM_MAX_EMPTY), GATE(2, 7, 17), Z(2, 7, 17)),
    LARGE("zero", MAXIMUM(0), GATE(2, 7, 3), Z(2, 7, 3)),
    LARGE("one", MAXIMUM(0), GATE(1, 1, 1), Z(1, 1, 1)),
    LARGE("static", MAXIMUM(LCSM_MAX_EMPTY), {IN(5), .lo = -2, .hi = 0}, Z(2, 7, 5)),
    LARGE("no-gate", MAXIMUM(LCSM_MAX_EMPTY), {0}, Z(2, 7, 5)),
    LARGE("from", MAXIMUM(0), {IN(2, 7, 5), .lo = -2, .hi = 0}, {IN(2, 7, 5)},
          {IN(2, 5), .fixed = true}),
    LARGE("resets", MAXIMUM(LCSM_MAX_EMPTY), GATE(2, 9, 3), Z(2, 9, 3), {0},
          {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    LARGE("no-steps", MAXIMUM(0), {IN(2, 0, 3)}, {IN(2, 0, 3)}),
    LARGE("no-columns", MAXIMUM(0), GATE(2, 3, 0), Z(2, 3, 0)),
    LARGE("large", MAXIMUM(LCSM_MAX_EMPTY), GATE(2, 131, 261), Z(2, 131, 261)),
};

const lcsm_op_cases lcsm_op_cases_running_max = {TESTS, COUNT(TESTS)};
