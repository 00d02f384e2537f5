/* cases_eos.c - test cases of the op eos. */
#include "graph/eos_node.h"
#include "lab/op_cases.h"

enum { M0 = LCSM_EOS_M0, RESET = LCSM_EOS_RESET, READ = LCSM_EOS_READ };

#define OPERAND(a)                                                                                 \
    {                                                                                              \
        .present = true, .axes = (a)                                                               \
    }
#define COMPLEX(a)                                                                                 \
    {                                                                                              \
        .present = true, .is_complex = true, .axes = (a)                                           \
    }
#define ATTR(...)                                                                                  \
    &(lcsm_eos_attr)                                                                               \
    {                                                                                              \
        .desc = { __VA_ARGS__ }                                                                    \
    }
#define SIZES(h, k, d) .H = (h), .K = (k), .D = (d)
enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D, KK = LCSM_AXIS_KK };

/* i, e and s for each token, and the oscillation in its several forms. */
#define STATES     .i = OPERAND(T | D), .e = OPERAND(T | K), .s = OPERAND(T | K)
#define TOKEN(...) IN(__VA_ARGS__), .time = true
#define DECAY      .lo = -1.5, .hi = -0.05
#define PACKED     .packed = true

/* Conjugate pairs: H heads of K rows and one column. */
#define PAIRS(heads, rows, back)                                                                   \
    (&(lcsm_eos_attr){.desc  = {SIZES(heads, rows, 1), .reverse = (back), .i = OPERAND(T | D),     \
                                .e = COMPLEX(K), .s = COMPLEX(K), .row = OPERAND(K),               \
                                .row_phase = OPERAND(K), .a = COMPLEX(K), .b = COMPLEX(K),         \
                                .scale = 2},                                                       \
                      .pairs = true})
#define PAIR_STATES(heads, rows)                                                                   \
    [EOS_e] = {IN(heads, rows, 2), PACKED}, [EOS_s] = {IN(heads, rows, 2), PACKED},                \
    [EOS_row] = {IN(heads, rows), DECAY, PACKED}, [EOS_row_phase] = {IN(heads, rows), PACKED},     \
    [EOS_a] = {IN(heads, rows, 2), .lo = -0.3, .hi = 0.3, PACKED},                                 \
    [EOS_b] = {IN(heads, rows, 2), .lo = -0.3, .hi = 0.3, PACKED}

static const lcsm_op_case TESTS[] = {
    CASE("ones", ATTR(SIZES(2, 3, 5), STATES), [EOS_i] = {TOKEN(2, 7, 10)},
         [EOS_e] = {TOKEN(2, 7, 6)}, [EOS_s] = {TOKEN(2, 7, 6)}),
    CASE("one-of-all", ATTR(SIZES(1, 1, 1), STATES), [EOS_i] = {TOKEN(1, 1, 1)},
         [EOS_e] = {TOKEN(1, 1, 1)}, [EOS_s] = {TOKEN(1, 1, 1)}),
    CASE("no-steps", ATTR(SIZES(2, 3, 5), STATES), [EOS_i] = {IN(2, 0, 10)},
         [EOS_e] = {IN(2, 0, 6)}, [EOS_s] = {IN(2, 0, 6)}),
    CASE("scalar-static",
         ATTR(SIZES(2, 3, 4), STATES, .row = OPERAND(0)), [EOS_i] = {TOKEN(1, 6, 8)},
         [EOS_e] = {TOKEN(1, 6, 6)}, [EOS_s] = {TOKEN(1, 6, 6)}, [EOS_row] = {IN(2), DECAY}),
    CASE("row", ATTR(SIZES(2, 3, 5), STATES, .row = OPERAND(T | K)), [EOS_i] = {TOKEN(2, 7, 10)},
         [EOS_e] = {TOKEN(2, 7, 6)}, [EOS_s] = {TOKEN(2, 7, 6)},
         [EOS_row] = {TOKEN(2, 7, 6), DECAY}),
    CASE("col", ATTR(SIZES(1, 3, 17), STATES, .col = OPERAND(T | D)), [EOS_i] = {TOKEN(2, 7, 17)},
         [EOS_e] = {TOKEN(2, 7, 3)}, [EOS_s] = {TOKEN(2, 7, 3)},
         [EOS_col] = {TOKEN(2, 7, 17), DECAY}),
    CASE(
        "outer-heads-apart", ATTR(SIZES(2, 3, 5), STATES, .row = OPERAND(T | K), .col = OPERAND(D)),
        [EOS_i] = {TOKEN(2, 7, 2, 5)}, [EOS_e] = {TOKEN(2, 7, 2, 3)}, [EOS_s] = {TOKEN(2, 7, 2, 3)},
        [EOS_row] = {TOKEN(2, 7, 2, 3), DECAY}, [EOS_col] = {IN(2, 5), DECAY}),
    CASE("full-static",
         ATTR(SIZES(1, 3, 9), .i = OPERAND(T | D), .e = OPERAND(K | D), .s = OPERAND(K | D),
              .full = OPERAND(K | D)),
         [EOS_i] = {TOKEN(2, 6, 9)}, [EOS_e] = {IN(1, 3, 9), PACKED},
         [EOS_s] = {IN(1, 3, 9), PACKED}, [EOS_full] = {IN(3, 9), DECAY, PACKED}),
    CASE(
        "generated-exp",
        ATTR(SIZES(1, 3, 9), STATES, .u = OPERAND(T | D), .w = OPERAND(K | D), .gen = LCSM_GEN_EXP),
        [EOS_i] = {TOKEN(2, 6, 9)}, [EOS_e] = {TOKEN(2, 6, 3)}, [EOS_s] = {TOKEN(2, 6, 3)},
        [EOS_u] = {TOKEN(2, 6, 9), .lo = 0.1, .hi = 1}, [EOS_w] = {IN(3, 9), DECAY, PACKED}),
    CASE("generated-gate",
         ATTR(SIZES(1, 3, 9), STATES, .u = OPERAND(T | K), .w = OPERAND(K | D),
              .gen = LCSM_GEN_GATE, .tau = 4),
         [EOS_i] = {TOKEN(1, 6, 9)}, [EOS_e] = {TOKEN(1, 6, 3)}, [EOS_s] = {TOKEN(1, 6, 3)},
         [EOS_u] = {TOKEN(1, 6, 3)}, [EOS_w] = {IN(3, 9), PACKED}),
    CASE("phase", ATTR(SIZES(1, 4, 5), STATES, .row = OPERAND(T | K), .row_phase = OPERAND(K)),
         [EOS_i] = {TOKEN(2, 5, 5)}, [EOS_e] = {TOKEN(2, 5, 4)}, [EOS_s] = {TOKEN(2, 5, 4)},
         [EOS_row] = {TOKEN(2, 5, 4), DECAY}, [EOS_row_phase] = {IN(4)}),
    CASE("complex",
         ATTR(SIZES(1, 3, 4), .i = OPERAND(T | D), .e = COMPLEX(K | D), .s = COMPLEX(K | D),
              .full = OPERAND(K | D), .full_phase = OPERAND(K | D), .scale = 2),
         [EOS_i] = {TOKEN(2, 5, 4)}, [EOS_e] = {IN(3, 8), PACKED}, [EOS_s] = {IN(3, 8), PACKED},
         [EOS_full] = {IN(3, 4), DECAY, PACKED}, [EOS_full_phase] = {IN(3, 4), PACKED}),
    CASE("dense", ATTR(SIZES(2, 3, 4), STATES, .dense = OPERAND(KK)), [EOS_i] = {TOKEN(2, 5, 8)},
         [EOS_e] = {TOKEN(2, 5, 6)}, [EOS_s] = {TOKEN(2, 5, 6)}, [EOS_dense] = {IN(2, 9)}),
    CASE("delta",
         ATTR(SIZES(2, 3, 5), STATES, .erase = OPERAND(T | K)), [EOS_i] = {TOKEN(2, 7, 10)},
         [EOS_e] = {TOKEN(2, 7, 6)}, [EOS_s] = {TOKEN(2, 7, 6)}, [EOS_erase] = {TOKEN(2, 7, 6)}),
    CASE("resets", ATTR(SIZES(1, 3, 5), STATES, .row = OPERAND(T | K)), [EOS_i] = {TOKEN(2, 9, 5)},
         [EOS_e] = {TOKEN(2, 9, 3)}, [EOS_s] = {TOKEN(2, 9, 3)},
         [EOS_row] = {TOKEN(2, 9, 3), DECAY}, [RESET] = {TOKEN(2, 9), .lo = 0, .hi = 2}),
    CASE("reversed", ATTR(SIZES(1, 3, 5), STATES, .row = OPERAND(T | K), .reverse = true),
         [EOS_i] = {IN(2, 7, 5)}, [EOS_e] = {IN(2, 7, 3)}, [EOS_s] = {IN(2, 7, 3)},
         [EOS_row] = {IN(2, 7, 3), DECAY}),
    CASE("memory-in-and-out",
         (&(lcsm_eos_attr){.desc = {SIZES(2, 3, 5), STATES, .row = OPERAND(K)}, .final = true}),
         [EOS_i] = {IN(2, 7, 10)}, [EOS_e] = {IN(2, 7, 6)}, [EOS_s] = {IN(2, 7, 6)},
         [EOS_row] = {IN(2, 3), DECAY}, [M0] = {IN(2, 2, 3, 5), PACKED}),
    CASE("memory-in-chunks", ATTR(SIZES(1, 9, 3), STATES, .row = OPERAND(T | K)),
         [EOS_i] = {IN(1, 6, 3)}, [EOS_e] = {IN(1, 6, 9)}, [EOS_s] = {IN(1, 6, 9)},
         [EOS_row] = {IN(1, 6, 9), DECAY}, [M0] = {IN(1, 1, 9, 3), PACKED}),
    CASE("chunks", ATTR(SIZES(1, 9, 3), STATES, .row = OPERAND(T | K), .col = OPERAND(T | D)),
         [EOS_i] = {TOKEN(2, 6, 3)}, [EOS_e] = {TOKEN(2, 6, 9)}, [EOS_s] = {TOKEN(2, 6, 9)},
         [EOS_row] = {TOKEN(2, 6, 9), DECAY}, [EOS_col] = {TOKEN(2, 6, 3), DECAY}),
    CASE("read", ATTR(SIZES(2, 3, 5), STATES, .row = OPERAND(T | K), .col = OPERAND(T | D)),
         [EOS_i] = {IN(2, 7, 10)}, [EOS_e] = {IN(2, 7, 6)}, [EOS_s] = {IN(1, 5, 6)},
         [EOS_row] = {IN(2, 7, 6), DECAY}, [EOS_col] = {IN(2, 7, 10), DECAY},
         [READ] = {IN(1, 5), .hi = 3, .rising = true}),
    CASE("read-mild", ATTR(SIZES(1, 17, 5), STATES, .row = OPERAND(T | K), .col = OPERAND(T | D)),
         [EOS_i] = {IN(3, 9, 5)}, [EOS_e] = {IN(3, 9, 17)}, [EOS_s] = {IN(3, 2, 17)},
         [EOS_row] = {IN(3, 9, 17), .lo = -0.3, .hi = -0.01},
         [EOS_col] = {IN(3, 9, 5), .lo = -0.3, .hi = -0.01},
         [READ]    = {IN(3, 2), .hi = 4, .rising = true}),
    CASE("read-ones-until", ATTR(SIZES(1, 3, 4), STATES), [EOS_i] = {IN(2, 6, 4)},
         [EOS_e] = {IN(2, 6, 3)}, [EOS_s] = {IN(2, 5, 3)}, [READ] = {IN(2, 5), .hi = 14}),
    CASE("read-static-resets", ATTR(SIZES(2, 3, 4), STATES, .row = OPERAND(K), .col = OPERAND(D)),
         [EOS_i] = {IN(2, 6, 8)}, [EOS_e] = {IN(2, 6, 6)}, [EOS_s] = {IN(2, 2, 6)},
         [EOS_row] = {IN(2, 3), DECAY}, [EOS_col] = {IN(2, 4), DECAY},
         [RESET] = {IN(2, 6), .lo = 0, .hi = 2}, [READ] = {IN(2, 2), .hi = 3, .rising = true}),
    CASE("read-full", ATTR(SIZES(1, 3, 9), STATES, .full = OPERAND(K | D)), [EOS_i] = {IN(2, 6, 9)},
         [EOS_e] = {IN(2, 6, 3)}, [EOS_s] = {IN(2, 3, 3)}, [EOS_full] = {IN(3, 9), DECAY, PACKED},
         [READ] = {IN(2, 3), .hi = 2, .rising = true}),
    CASE("read-memory",
         (&(lcsm_eos_attr){.desc  = {SIZES(1, 9, 3), STATES, .row = OPERAND(T | K), .chunk = 4},
                           .final = true}),
         [EOS_i] = {IN(2, 11, 3)}, [EOS_e] = {IN(2, 11, 9)}, [EOS_s] = {IN(2, 2, 9)},
         [EOS_row] = {IN(2, 11, 9), DECAY}, [M0] = {IN(2, 1, 9, 3), PACKED},
         [READ] = {IN(2, 2), .hi = 5, .rising = true}),
    CASE("pairs", PAIRS(17, 3, false), [EOS_i] = {TOKEN(2, 7, 17)}, PAIR_STATES(17, 3)),
    CASE("pairs-one", PAIRS(1, 1, false), [EOS_i] = {TOKEN(1, 1, 1)}, PAIR_STATES(1, 1)),
    CASE("pairs-cells", PAIRS(2, 2, false), [EOS_i] = {TOKEN(1, 67, 2)}, PAIR_STATES(2, 2)),
    CASE("pairs-groups", PAIRS(2, 2, false), [EOS_i] = {TOKEN(17, 3, 2)}, PAIR_STATES(2, 2)),
    CASE("pairs-resets", PAIRS(3, 2, false), [EOS_i] = {TOKEN(2, 41, 3)},
         PAIR_STATES(3, 2), [RESET] = {TOKEN(2, 41), .lo = 0, .hi = 2}),
    CASE("pairs-reversed", PAIRS(3, 2, true), [EOS_i] = {IN(2, 5, 3)}, PAIR_STATES(3, 2)),
    LARGE("pairs-large", PAIRS(37, 16, false), [EOS_i] = {TOKEN(3, 133, 37)}, PAIR_STATES(37, 16)),
    LARGE("read-long", ATTR(SIZES(1, 33, 65), STATES, .row = OPERAND(T | K), .col = OPERAND(T | D)),
          [EOS_i] = {IN(3, 131, 65)}, [EOS_e] = {IN(3, 131, 33)}, [EOS_s] = {IN(3, 12, 33)},
          [EOS_row] = {IN(3, 131, 33), .lo = -0.4, .hi = -0.01},
          [EOS_col] = {IN(3, 131, 65), .lo = -0.4, .hi = -0.01},
          [READ]    = {IN(3, 12), .hi = 10, .rising = true}),
    LARGE("row-long", ATTR(SIZES(2, 17, 33), STATES, .row = OPERAND(T | K)),
          [EOS_i] = {TOKEN(2, 131, 66)}, [EOS_e] = {TOKEN(2, 131, 34)},
          [EOS_s] = {TOKEN(2, 131, 34)}, [EOS_row] = {TOKEN(2, 131, 34), .lo = -0.4, .hi = -0.01}),
};

const lcsm_op_cases lcsm_op_cases_eos = {TESTS, COUNT(TESTS)};
