/* cases_activation.c - test cases of the op activation. */
#include "lab/op_cases.h"

#define ACT(NAME, factor) (&(lcsm_activation_attr){LCSM_ACT_##NAME, factor})

static const lcsm_op_case TESTS[] = {
    CASE("one", ACT(SILU, 1), {IN(1)}),
    CASE("none", ACT(NONE, -1), {IN(3, 5)}),
    CASE("relu", ACT(RELU, 1), {IN(3, 5), .lo = 0, .hi = 0}),
    CASE("sigmoid", ACT(SIGMOID, 1), {IN(2, 3, 17), .lo = -6, .hi = 6}),
    CASE("elu1", ACT(ELU1, 1), {IN(33)}),
    CASE("silu", ACT(SILU, 1), {IN(2, 33), .lo = -6, .hi = 6}),
    CASE("elu", ACT(ELU, 1), {IN(33)}),
    CASE("relu2", ACT(RELU2, 1), {IN(33)}),
    CASE("square", ACT(SQUARE, 1), {IN(33)}),
    CASE("minus-exp", ACT(EXP, -1), {IN(3, 9), .lo = -3, .hi = 3}),
    CASE("held-exp", ACT(EXP_HELD, 1), {IN(3, 9), .lo = 8, .hi = 12}),
    CASE("tanh", ACT(TANH, 1), {IN(3, 9), .lo = -3, .hi = 3}),
    CASE("gelu", ACT(GELU, 1), {IN(3, 9), .lo = -4, .hi = 4}),
    CASE("softplus", ACT(SOFTPLUS, 1), {IN(3, 9), .lo = -6, .hi = 6}),
    CASE("gate-tau-16", ACT(LOG_SIGMOID, 1.0 / 16), {IN(3, 9), .lo = -6, .hi = 6}),
    CASE("log", ACT(LOG, 1), {IN(3, 9), .lo = 0.1, .hi = 3}),
    CASE("empty", ACT(SILU, 1), {IN(0, 3)}),
    CASE("no-columns", ACT(SILU, 1), {IN(3, 0)}),
    LARGE("large-silu", ACT(SILU, 1), {IN(131, 257), .lo = -8, .hi = 8}),
    LARGE("large-gelu", ACT(GELU, 1), {IN(131, 257), .lo = -8, .hi = 8}),
};

const lcsm_op_cases lcsm_op_cases_activation = {TESTS, COUNT(TESTS)};
