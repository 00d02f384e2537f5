/* cases_discretise.c - test cases of the op discretise. */
#include "lab/op_cases.h"

#define COLUMNS(...) (&(lcsm_discretise_attr){__VA_ARGS__})
#define ROWS(...)    (&(lcsm_discretise_attr){.rows = true, __VA_ARGS__})
#define NEGATIVE(...)                                                                              \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -2, .hi = -0.2                                                      \
    }
#define STEPS(...)                                                                                 \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -3, .hi = 0                                                         \
    }

static const lcsm_op_case TESTS[] = {
    CASE("s4d", COLUMNS(.kind = LCSM_DISCRETISE_ZOH, .log_re = true), {IN(3, 17)},
         {IN(3, 17), .lo = -4, .hi = 4}, STEPS(17)),
    CASE("s4d-coef", COLUMNS(.kind = LCSM_DISCRETISE_ZOH, .log_re = true), {IN(2, 5)}, {IN(2, 5)},
         STEPS(5), {IN(2, 5, 2)}),
    CASE("small", COLUMNS(.kind = LCSM_DISCRETISE_ZOH, .log_re = true), {IN(2, 3)}, {IN(2, 3)},
         {IN(3), .lo = -9, .hi = -7}, {IN(2, 3, 2)}),
    CASE("dss-exp", COLUMNS(.kind = LCSM_DISCRETISE_ZOH), NEGATIVE(3), {IN(3), .lo = -4, .hi = 4},
         STEPS(33), {IN(3, 33, 2)}),
    CASE("dss-softmax", COLUMNS(.kind = LCSM_DISCRETISE_SOFTMAX, .length = 9, .eps = 1e-7),
         NEGATIVE(3), {IN(3), .lo = -4, .hi = 4}, STEPS(17), {IN(3, 17, 2)}),
    CASE("softmax-regular", COLUMNS(.kind = LCSM_DISCRETISE_SOFTMAX, .length = 3, .eps = 0.5),
         NEGATIVE(2, 3), {IN(2, 3)}, STEPS(3), {IN(2, 3, 2)}),
    CASE("bilinear", COLUMNS(.kind = LCSM_DISCRETISE_BILINEAR, .log_re = true), {IN(3, 5)},
         {IN(3, 5)}, {IN(5), .lo = -3, .hi = -1}, {IN(3, 5, 2)}),
    CASE("s5", ROWS(.kind = LCSM_DISCRETISE_ZOH), NEGATIVE(5), {IN(5), .lo = -4, .hi = 4}, STEPS(5),
         {IN(2, 5, 3)}),
    CASE("s5-bilinear", ROWS(.kind = LCSM_DISCRETISE_BILINEAR), NEGATIVE(3), {IN(3)}, STEPS(3),
         {IN(2, 3, 5)}),
    CASE("margin", ROWS(.kind = LCSM_DISCRETISE_ZOH, .margin = 0.005), {IN(9)}, {IN(9)}, STEPS(9),
         {IN(2, 9, 2)}),
    CASE("one", COLUMNS(.kind = LCSM_DISCRETISE_ZOH, .log_re = true), {IN(1)}, {IN(1)}, {IN(1)}),
    CASE("no-states", COLUMNS(.kind = LCSM_DISCRETISE_ZOH), {IN(0, 3)}, {IN(0, 3)}, STEPS(3)),
    CASE("no-columns", COLUMNS(.kind = LCSM_DISCRETISE_ZOH), NEGATIVE(2), {IN(2)}, STEPS(0)),
    CASE("no-rows", ROWS(.kind = LCSM_DISCRETISE_ZOH), {IN(0)}, {IN(0)}, {IN(0)}, {IN(2, 0, 3)}),
    LARGE("large", COLUMNS(.kind = LCSM_DISCRETISE_ZOH, .log_re = true), {IN(32, 65)}, {IN(32, 65)},
          {IN(65), .lo = -7, .hi = -2}, {IN(32, 65, 2)}),
};

const lcsm_op_cases lcsm_op_cases_discretise = {TESTS, COUNT(TESTS)};
