/* cases_attention.c - test cases of the op attention. */
#include "lab/op_cases.h"

#define ATTENTION(heads, causal, scale, cache)                                                     \
    (&(lcsm_attention_attr){heads, causal, scale, cache, 0, 0})
#define GROUPED(heads, kv_heads, cache, window)                                                    \
    (&(lcsm_attention_attr){heads, true, 0, cache, kv_heads, window})
#define GROUPS(B, T, q, k, v)                                                                      \
    {IN(B, T, q), .time = true}, {IN(B, T, k), .time = true},                                      \
    {                                                                                              \
        IN(B, T, v), .time = true                                                                  \
    }
#define QKV(B, T, q, v)                                                                            \
    {IN(B, T, q), .time = true}, {IN(B, T, q), .time = true},                                      \
    {                                                                                              \
        IN(B, T, v), .time = true                                                                  \
    }

static const lcsm_op_case TESTS[] = {
    CASE("causal", ATTENTION(2, true, 0, 7), QKV(2, 7, 6, 10)),
    CASE("resets", ATTENTION(1, true, 0.5, 12), QKV(2, 9, 3, 4),
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("all", ATTENTION(2, false, 0, 0), QKV(2, 5, 6, 2)),
    CASE("all-resets", ATTENTION(1, false, 0, 0), QKV(2, 9, 3, 4),
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("one", ATTENTION(1, true, 0, 1), QKV(1, 1, 1, 1)),
    CASE("no-steps", ATTENTION(1, true, 0, 1), QKV(2, 0, 2, 2)),
    CASE("no-keys", ATTENTION(1, true, 0, 3), QKV(2, 3, 0, 2)),
    CASE("groups", GROUPED(4, 2, 7, 0), GROUPS(2, 7, 12, 6, 10)),
    CASE("one-key-head", GROUPED(3, 1, 9, 0), GROUPS(2, 7, 6, 2, 3),
         {IN(2, 7), .lo = 0, .hi = 2, .time = true}),
    CASE("window", GROUPED(2, 2, 2, 3), QKV(2, 9, 6, 10)),
    CASE("window-of-one", GROUPED(1, 1, 1, 1), QKV(1, 5, 3, 2)),
    CASE("window-wide", GROUPED(2, 1, 31, 32), GROUPS(1, 7, 6, 3, 2)),
    CASE("window-resets", GROUPED(4, 2, 6, 4), GROUPS(2, 9, 12, 6, 4),
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    CASE("window-all", (&(lcsm_attention_attr){1, false, 0, 0, 1, 3}), QKV(2, 9, 3, 4),
         {IN(2, 9), .lo = 0, .hi = 2, .time = true}),
    LARGE("large-window", GROUPED(4, 2, 70, 70), GROUPS(2, 139, 68, 34, 66)),
    LARGE("large", ATTENTION(3, true, 0, 150), QKV(2, 139, 51, 99)),
    LARGE("large-all", ATTENTION(1, false, 0.3, 0), QKV(1, 139, 17, 33)),
};

const lcsm_op_cases lcsm_op_cases_attention = {TESTS, COUNT(TESTS)};
