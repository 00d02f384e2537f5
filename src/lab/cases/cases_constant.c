/* cases_constant.c - test cases of the op constant. */
#include "lab/op_cases.h"

#define CONSTANT(v, ...) (&(lcsm_constant_attr){IN(__VA_ARGS__), .value = (v)})

static const lcsm_op_case TESTS[] = {
    {.name = "three-axes", .attr = CONSTANT(-2.5, 2, 3, 17)},
    {.name = "one", .attr = CONSTANT(1, 1)},
    {.name = "empty", .attr = CONSTANT(1, 0, 3)},
    {.name = "forgets", .attr = CONSTANT(-1e30, 5)},
};

const lcsm_op_cases lcsm_op_cases_constant = {TESTS, COUNT(TESTS)};
