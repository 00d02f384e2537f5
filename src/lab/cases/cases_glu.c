/* cases_glu.c - test cases of the op glu. */
#include "lab/op_cases.h"

#define ACT(NAME) (&(lcsm_glu_attr){LCSM_ACT_##NAME})

static const lcsm_op_case TESTS[] = {
    CASE("one", ACT(SILU), {IN(1)}, {IN(1)}),
    CASE("silu", ACT(SILU), {IN(2, 3, 17)}, {IN(2, 3, 17)}),
    CASE("none", ACT(NONE), {IN(3, 5)}, {IN(3, 5)}),
    CASE("gelu", ACT(GELU), {IN(3, 9)}, {IN(3, 9)}),
    CASE("relu", ACT(RELU), {IN(3, 9)}, {IN(3, 9)}),
    CASE("sigmoid", ACT(SIGMOID), {IN(3, 33)}, {IN(3, 33)}),
    CASE("empty", ACT(SILU), {IN(0, 3)}, {IN(0, 3)}),
    CASE("no-columns", ACT(SILU), {IN(3, 0)}, {IN(3, 0)}),
    LARGE("large", ACT(SILU), {IN(131, 257)}, {IN(131, 257)}),
};

const lcsm_op_cases lcsm_op_cases_glu = {TESTS, COUNT(TESTS)};
