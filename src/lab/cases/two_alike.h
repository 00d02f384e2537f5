/* two_alike.h - the test cases of an op of two tensors, the second as the first or a vector. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", NULL, {IN(1)}, {IN(1)}),
    CASE("same", NULL, {IN(2, 3, 5)}, {IN(2, 3, 5)}),
    CASE("vector", NULL, {IN(2, 3, 17)}, {IN(17)}),
    CASE("empty", NULL, {IN(0, 3)}, {IN(3)}),
    CASE("no-columns", NULL, {IN(3, 0)}, {IN(3, 0)}),
    LARGE("large", NULL, {IN(131, 257)}, {IN(131, 257)}),
    LARGE("large-vector", NULL, {IN(301, 517)}, {IN(517)}),
};
