/* cases_embed.c - test cases of the op embed. */
#include "lab/op_cases.h"

static const lcsm_op_case TESTS[] = {
    CASE("one", &(lcsm_embed_attr){1}, {IN(1), .lo = 0, .hi = 3}, {IN(3, 1)}),
    CASE("batch", &(lcsm_embed_attr){0.5}, {IN(2, 7), .lo = 0, .hi = 5}, {IN(5, 17)}),
    CASE("empty", &(lcsm_embed_attr){2}, {IN(0, 7), .lo = 0, .hi = 5}, {IN(5, 4)}),
    CASE("no-columns", &(lcsm_embed_attr){2}, {IN(2, 2), .lo = 0, .hi = 5}, {IN(5, 0)}),
    LARGE("large", &(lcsm_embed_attr){1.5}, {IN(3, 200), .lo = 0, .hi = 90}, {IN(90, 65)}),
};

const lcsm_op_cases lcsm_op_cases_embed = {TESTS, COUNT(TESTS)};
