/* cases_add.c - test cases of the op add. */
#include "lab/cases/two_alike.h"

const lcsm_op_cases lcsm_op_cases_add = {TESTS, COUNT(TESTS)};
