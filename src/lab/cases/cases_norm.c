/* cases_norm.c - test cases of the op norm. */
#include "lab/op_cases.h"

#define NORM(KIND, eps, heads) (&(lcsm_norm_attr){LCSM_NORM_##KIND, eps, heads})

static const lcsm_op_case TESTS[] = {
    CASE("layer", NORM(LAYER, 1e-5, 1), {IN(2, 3, 17)}, {IN(17)}, {IN(17)}),
    CASE("layer-plain", NORM(LAYER, 1e-5, 1), {IN(3, 5)}),
    CASE("layer-heads", NORM(LAYER, 1e-5, 3), {IN(3, 15)}, {IN(5)}, {IN(5)}),
    CASE("rms", NORM(RMS, 1e-6, 1), {IN(3, 9)}, {IN(9)}),
    CASE("rms-simple", NORM(RMS, 1e-6, 1), {IN(3, 9)}),
    CASE("rms-heads-shared", NORM(RMS, 1e-5, 2), {IN(2, 2, 18)}, {IN(9)}),
    CASE("rms-heads-apart", NORM(RMS, 1e-5, 2), {IN(2, 2, 18)}, {IN(18)}, {IN(18)}),
    CASE("rms-outside", NORM(RMS_OUTSIDE, 1e-8, 1), {IN(3, 9)}),
    CASE("rms-bias-only", NORM(RMS, 1e-6, 1), {IN(3, 9)}, {0}, {IN(9)}),
    CASE("l2", NORM(L2, 0, 2), {IN(3, 10)}),
    CASE("sum", NORM(SUM, 0, 2), {IN(3, 10), .lo = 0.5, .hi = 2}),
    CASE("one", NORM(RMS, 1e-3, 1), {IN(1, 1)}, {IN(1)}),
    CASE("empty", NORM(LAYER, 1e-5, 1), {IN(0, 3)}, {IN(3)}, {IN(3)}),
    CASE("no-columns", NORM(LAYER, 1e-5, 1), {IN(3, 0)}, {IN(0)}, {IN(0)}),
    LARGE("large-layer", NORM(LAYER, 1e-5, 1), {IN(3, 131, 257)}, {IN(257)}, {IN(257)}),
    LARGE("large-rms-heads", NORM(RMS, 1e-5, 4), {IN(131, 260)}, {IN(65)}),
};

const lcsm_op_cases lcsm_op_cases_norm = {TESTS, COUNT(TESTS)};
