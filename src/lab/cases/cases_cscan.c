/* cases_cscan.c - test cases of the op cscan. */
#include "lab/op_cases.h"

#define CSCAN(reverse) (&(lcsm_cscan_attr){reverse})
#define SEQ(...)                                                                                   \
    {                                                                                              \
        IN(__VA_ARGS__), .time = true                                                              \
    }
#define DECAYS(...)                                                                                \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -2, .hi = 0                                                         \
    }
#define DECAY_SEQ(...)                                                                             \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = -2, .hi = 0, .time = true                                           \
    }
#define RESETS(...)                                                                                \
    {                                                                                              \
        IN(__VA_ARGS__), .lo = 0, .hi = 2, .time = true                                            \
    }

static const lcsm_op_case TESTS[] = {
    CASE("static", CSCAN(false), SEQ(2, 7, 34), DECAYS(17), {IN(17), .lo = -4, .hi = 4}),
    CASE("tokens", CSCAN(false), SEQ(2, 5, 18), DECAY_SEQ(2, 5, 9), SEQ(2, 5, 9)),
    CASE("mixed", CSCAN(false), SEQ(2, 5, 6), DECAY_SEQ(2, 5, 3), {IN(3)}),
    CASE("mixed-too", CSCAN(false), SEQ(2, 5, 6), DECAYS(3), SEQ(2, 5, 3)),
    CASE("one", CSCAN(false), SEQ(1, 1, 2), DECAYS(1), {IN(1)}),
    CASE("resets", CSCAN(false), SEQ(2, 9, 6), DECAY_SEQ(2, 9, 3), {IN(3)}, RESETS(2, 9)),
    CASE("reversed", CSCAN(true), {IN(2, 5, 6)}, DECAYS(2, 5, 3), {IN(3)}),
    CASE("reversed-resets", CSCAN(true), {IN(2, 9, 6)}, DECAYS(3), {IN(3)},
         {IN(2, 9), .lo = 0, .hi = 2}),
    CASE("no-steps", CSCAN(false), {IN(2, 0, 6)}, DECAYS(3), {IN(3)}),
    CASE("no-columns", CSCAN(false), SEQ(2, 3, 0), DECAYS(0), {IN(0)}),
    LARGE("large", CSCAN(false), SEQ(2, 131, 2 * 261), DECAY_SEQ(2, 131, 261), {IN(261)}),
    LARGE("large-static", CSCAN(false), SEQ(2, 131, 2 * 261), DECAYS(261), {IN(261)}),
};

const lcsm_op_cases lcsm_op_cases_cscan = {TESTS, COUNT(TESTS)};
