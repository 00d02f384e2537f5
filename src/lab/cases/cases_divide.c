/* cases_divide.c - test cases of the op divide. */
#include "lab/op_cases.h"

#define DIVIDE(eps, kind) (&(lcsm_divide_attr){eps, LCSM_DIVIDE_##kind})
#define ABOVE(...)                                                                                 \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = 0.3, .hi = 2                                                        \
    }

static const lcsm_op_case TESTS[] = {
    CASE("heads", DIVIDE(1e-6, PLAIN), {IN(2, 3, 2, 17)}, ABOVE(2, 3, 2, 1)),
    CASE("same", DIVIDE(0.1, PLAIN), {IN(2, 3, 5)}, ABOVE(2, 3, 5)),
    CASE("clamped", DIVIDE(0.2, AT_LEAST), {IN(9, 5)}, {IN(9, 1), .lo = -1, .hi = 2}),
    CASE("clamped-same", DIVIDE(0.2, AT_LEAST), {IN(3, 5)}, {IN(3, 5), .lo = -1, .hi = 2}),
    CASE("floor", DIVIDE(0.1, FLOOR), {IN(9, 5)}, {IN(9, 1), .lo = -3, .hi = 3}),
    CASE("floor-max", DIVIDE(0, FLOOR), {IN(9, 5)}, {IN(9, 1), .lo = -3, .hi = 3},
         {IN(9, 1), .fixed = true}),
    CASE("floor-same", DIVIDE(0, FLOOR), {IN(3, 5)}, {IN(3, 5), .lo = -3, .hi = 3},
         {IN(3, 5), .fixed = true}),
    CASE("one", DIVIDE(0, PLAIN), {IN(1)}, ABOVE(1)),
    CASE("empty", DIVIDE(0, PLAIN), {IN(0, 3)}, ABOVE(0, 1)),
    CASE("no-columns", DIVIDE(0, PLAIN), {IN(3, 0)}, ABOVE(3, 1)),
    LARGE("large", DIVIDE(1e-6, PLAIN), {IN(131, 257)}, ABOVE(131, 1)),
};

const lcsm_op_cases lcsm_op_cases_divide = {TESTS, COUNT(TESTS)};
