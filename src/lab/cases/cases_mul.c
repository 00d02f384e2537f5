/* cases_mul.c - test cases of the op mul. */
#include "lab/cases/two_alike.h"

const lcsm_op_cases lcsm_op_cases_mul = {TESTS, COUNT(TESTS)};
