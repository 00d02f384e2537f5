/*
 * kernel/kinds.h - what kernels are chosen by, for code that knows no number type: activations,
 * normalisations, rotations; and what they take at most.
 */
#ifndef LCSM_KERNEL_KINDS_H
#define LCSM_KERNEL_KINDS_H

/* Codes 0 to 7 are the paper's (activation table). X(NAME, name, text) */
#define LCSM_ACT_LIST(X)                                                                           \
    X(NONE, none, "none")                                                                          \
    X(RELU, relu, "relu")                                                                          \
    X(SIGMOID, sigmoid, "sigmoid")                                                                 \
    X(ELU1, elu1, "1+elu")                                                                         \
    X(SILU, silu, "silu")                                                                          \
    X(ELU, elu, "elu")                                                                             \
    X(RELU2, relu2, "relu^2")                                                                      \
    X(SQUARE, square, "square")                                                                    \
    X(EXP, exponential, "exp")                                                                     \
    X(TANH, tangent, "tanh")                                                                       \
    X(GELU, gelu, "gelu")                                                                          \
    X(SOFTPLUS, softplus, "softplus")                                                              \
    X(LOG_SIGMOID, log_sigmoid, "log_sigmoid")                                                     \
    X(LOG, logarithm, "log") /* of x, or of the smallest normal number below it */                 \
    X(EXP_HELD, held_exponential, "exp, x held at 10")

typedef enum {
#define X(NAME, name, text) LCSM_ACT_##NAME,
    LCSM_ACT_LIST(X)
#undef X
        LCSM_ACT_COUNT
} lcsm_act;

/* kernel/norm/norm.h has the formulas. */
typedef enum {
    LCSM_NORM_LAYER,
    LCSM_NORM_RMS,
    LCSM_NORM_RMS_OUTSIDE,
    LCSM_NORM_L2,
    LCSM_NORM_SUM,
    LCSM_NORM_COUNT
} lcsm_norm_kind;

/* kernel/rotate/rotate.h has the formulas. */
typedef enum {
    LCSM_ROTATE_PAIRS,
    LCSM_ROTATE_HALVES,
    LCSM_ROTATE_DOUBLE,
    LCSM_ROTATE_COUNT
} lcsm_rotate_kind;

/* The most heads that one call of an EOS kernel takes. */
enum { LCSM_EOS_HEADS = 8 };

#endif
