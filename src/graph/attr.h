/*
 * graph/attr.h - attributes of ops: what a builder passes to its op beside tensors.
 *
 * A graph copies the struct. It must be plain data.
 */
#ifndef LCSM_GRAPH_ATTR_H
#define LCSM_GRAPH_ATTR_H
#include <lcsm/eos.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/tensor.h"
#include "kernel/kinds.h"

typedef struct {
    double scale;
} lcsm_embed_attr;

/* Row r times factor gamma^r; 0 < gamma <= 1. */
typedef struct {
    double factor, gamma;
} lcsm_scale_attr;

typedef struct {
    double rate; /* 0 <= rate < 1 */
} lcsm_dropout_attr;

typedef struct {
    bool mean;
} lcsm_sum_attr;

typedef struct {
    lcsm_act act;
    double   scale;
} lcsm_activation_attr;

typedef struct {
    lcsm_act act;
} lcsm_glu_attr;

typedef struct {
    lcsm_norm_kind kind;
    double         eps;
    ptrdiff_t      heads; /* groups of the last axis, at least 1 */
} lcsm_norm_attr;

typedef struct {
    bool silu;
    bool reverse; /* time runs from the last step to the first; nothing is carried */
} lcsm_conv_attr;

typedef struct {
    bool reverse;
} lcsm_shift_attr;

typedef struct {
    lcsm_rotate_kind kind;
    ptrdiff_t        heads;
    ptrdiff_t        width; /* features of a head that turn, the first ones; 0: all */
} lcsm_rotate_attr;

typedef struct {
    int32_t ignore;  /* a target that does not count */
    double  z;       /* weight of lse^2 */
    bool    details; /* more outputs: the loss of each row, and whether it is right */
} lcsm_loss_attr;

typedef struct {
    ptrdiff_t heads;
    bool      causal;
    double    scale;    /* of q . k; 0 means 1 / sqrt(K) */
    ptrdiff_t cache;    /* steps that the carried state holds; 0: none is carried */
    ptrdiff_t kv_heads; /* of k and v, each for as many heads of q; 0: heads */
    ptrdiff_t window;   /* a query sees so many steps, its own the last; 0: all. Then the carried
                         * state keeps the last `cache` steps, at least window - 1 */
} lcsm_attention_attr;

typedef struct {
    bool log_re; /* the real part of lambda is stored as log(-Re lambda) */
} lcsm_low_rank_attr;

/* graph/ops/op_discretise.c has the formulas. */
typedef enum {
    LCSM_DISCRETISE_ZOH,
    LCSM_DISCRETISE_BILINEAR,
    LCSM_DISCRETISE_SOFTMAX,
    LCSM_DISCRETISE_COUNT
} lcsm_discretise_kind;

typedef struct {
    lcsm_discretise_kind kind;
    bool                 rows;   /* one dt for each state, else one for each channel */
    bool                 log_re; /* Re lambda is stored as log(-Re lambda) */
    double               margin; /* if not: it is at most -margin */
    ptrdiff_t            length; /* L of SOFTMAX */
    double               eps;
} lcsm_discretise_attr;

typedef struct {
    lcsm_eos_desc desc;  /* B, T, strides and resets are left to the op */
    bool          final; /* the memory after the last step is a second output */
    bool          pairs; /* rows stand for conjugate pairs: what b reads is 2 Re(b^T m) */
} lcsm_eos_attr;

typedef struct {
    double a, b;
} lcsm_affine_attr;

typedef struct {
    lcsm_shape shape;
    double     value;
} lcsm_constant_attr;

/* graph/ops/op_divide.c has the formulas. */
typedef enum {
    LCSM_DIVIDE_PLAIN,
    LCSM_DIVIDE_AT_LEAST,
    LCSM_DIVIDE_FLOOR,
    LCSM_DIVIDE_COUNT
} lcsm_divide_kind;

typedef struct {
    double           eps;
    lcsm_divide_kind kind;
} lcsm_divide_attr;

/* mu of an empty memory: below every exponent of a float. */
#define LCSM_MAX_EMPTY (-1e38)

typedef struct {
    double start; /* mu before the first step of a sequence */
} lcsm_running_max_attr;

typedef struct {
    ptrdiff_t nu;
} lcsm_dpfp_attr;

typedef struct {
    ptrdiff_t times;
} lcsm_repeat_attr;

typedef struct {
    ptrdiff_t count;
    double    first, step;
} lcsm_positions_attr;

typedef struct {
    double gamma; /* 0 < gamma <= 1 */
} lcsm_toeplitz_attr;

typedef struct {
    double linear, square, product;
} lcsm_quadratic_attr;

/* How many of each row are taken. */
typedef struct {
    ptrdiff_t count;
} lcsm_top_k_attr;

#endif
