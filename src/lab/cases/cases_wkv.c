/* cases_wkv.c - test cases of the op wkv. */
#include "lab/op_cases.h"

#define WKV(reverse) (&(lcsm_wkv_attr){reverse})
#define SEQ(...)                                                                                   \
    {                                                                                              \
        IN(__VA_ARGS__), .time = true                                                              \
    }
#define KEYS(...)                                                                                  \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -4, .hi = 4, .time = true                                           \
    }

static const lcsm_op_case TESTS[] = {
    CASE("odd", WKV(false), KEYS(2, 7, 17), SEQ(2, 7, 17), {IN(17)}, {IN(17)}),
    CASE("one", WKV(false), KEYS(1, 1, 1), SEQ(1, 1, 1), {IN(1)}, {IN(1)}),
    CASE("resets", WKV(false), KEYS(2, 9, 3), SEQ(2, 9, 3), {IN(3)}, {IN(3)},
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("steep", WKV(false), {IN(1, 6, 5), .lo = -40, .hi = 40, .time = true}, SEQ(1, 6, 5),
         {IN(5), .lo = -5, .hi = 2}, {IN(5), .lo = -3, .hi = 3}),
    CASE("reversed", WKV(true), {IN(2, 5, 3), .lo = -4, .hi = 4}, {IN(2, 5, 3)}, {IN(3)}, {IN(3)}),
    CASE("reversed-resets", WKV(true), {IN(2, 9, 3)}, {IN(2, 9, 3)}, {IN(3)}, {IN(3)},
         {IN(2, 9), .lo = 0, .hi = 2}),
    CASE("no-steps", WKV(false), {IN(2, 0, 3)}, {IN(2, 0, 3)}, {IN(3)}, {IN(3)}),
    CASE("no-columns", WKV(false), SEQ(2, 3, 0), SEQ(2, 3, 0), {IN(0)}, {IN(0)}),
    LARGE("large", WKV(false), KEYS(2, 131, 261), SEQ(2, 131, 261), {IN(261), .lo = -5, .hi = 1},
          {IN(261)}),
};

const lcsm_op_cases lcsm_op_cases_wkv = {TESTS, COUNT(TESTS)};
