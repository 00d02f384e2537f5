/* cases_dpfp.c - test cases of the op dpfp. */
#include "lab/op_cases.h"

#define DPFP(nu) (&(lcsm_dpfp_attr){nu})

static const lcsm_op_case TESTS[] = {
    CASE("three", DPFP(3), {IN(2, 3, 2, 5)}), CASE("one", DPFP(1), {IN(1, 1)}),
    CASE("around", DPFP(5), {IN(3, 2)}),      CASE("empty", DPFP(2), {IN(0, 3)}),
    CASE("no-columns", DPFP(2), {IN(3, 0)}),  LARGE("large", DPFP(3), {IN(131, 65)}),
};

const lcsm_op_cases lcsm_op_cases_dpfp = {TESTS, COUNT(TESTS)};
