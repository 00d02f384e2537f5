/* cases_divide.c - test cases of the op divide. */
#include "lab/op_cases.h"

#define DIVIDE(eps, clamp) (&(lcsm_divide_attr){eps, clamp})
#define ABOVE(...)                                                                                 \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = 0.3, .hi = 2                                                        \
    }

static const lcsm_op_case TESTS[] = {
    CASE("heads", DIVIDE(1e-6, false), {IN(2, 3, 2, 17)}, ABOVE(2, 3, 2, 1)),
    CASE("same", DIVIDE(0.1, false), {IN(2, 3, 5)}, ABOVE(2, 3, 5)),
    CASE("clamped", DIVIDE(0.2, true), {IN(9, 5)}, {IN(9, 1), .lo = -1, .hi = 2}),
    CASE("clamped-same", DIVIDE(0.2, true), {IN(3, 5)}, {IN(3, 5), .lo = -1, .hi = 2}),
    CASE("one", DIVIDE(0, false), {IN(1)}, ABOVE(1)),
    CASE("empty", DIVIDE(0, false), {IN(0, 3)}, ABOVE(0, 1)),
    CASE("no-columns", DIVIDE(0, false), {IN(3, 0)}, ABOVE(3, 1)),
    LARGE("large", DIVIDE(1e-6, false), {IN(131, 257)}, ABOVE(131, 1)),
};

const lcsm_op_cases lcsm_op_cases_divide = {TESTS, COUNT(TESTS)};
