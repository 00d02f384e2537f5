/* cases_top_k.c - test cases of the op top_k. Numbers in a row differ by more than the steps of
 * finite differences. */
#include "lab/op_cases.h"

#define OF(n)                                                                                      \
    &(lcsm_top_k_attr)                                                                             \
    {                                                                                              \
        .count = (n)                                                                               \
    }

static const lcsm_op_case TESTS[] = {
    CASE("two of five", OF(2), {IN(2, 3, 5)}),
    CASE("by a bias", OF(2), {IN(3, 5)}, {IN(5)}),
    CASE("all", OF(3), {IN(2, 3)}),
    CASE("one", OF(1), {IN(1, 1)}),
    CASE("empty", OF(1), {IN(0, 3)}),
    LARGE("large", OF(4), {IN(131, 65)}),
};

const lcsm_op_cases lcsm_op_cases_top_k = {TESTS, COUNT(TESTS)};
