/*
 * graph/op.h - the op table: one row says all that the graph, the tests and the benches need to
 * know about an operation.
 *
 * An op is one file in graph/ops/, compiled for float and for double (kernel/variant.h). It
 * defines its row
 *
 *     const lcsm_op R_(lcsm_op_linear) = { .name = "linear", ... };
 *
 * and is named in LCSM_OP_LIST; its attributes are a struct in graph/attr.h and its builder a few
 * lines in graph/build_*.c. Forward and backward call kernels through c->run->kernels and run
 * loops by lcsm_parallel_for with c->run->pool. Nothing may be allocated there.
 *
 * Every op honours `ld` of every operand, and sizes of 0 in any axis.
 */
#ifndef LCSM_GRAPH_OP_H
#define LCSM_GRAPH_OP_H
#include <stdint.h>

#include "base/blocks.h"
#include "base/error.h"
#include "base/thread.h"
#include "graph/tensor.h"

/* clang-format off */
#define LCSM_OP_LIST(X)                                                                            \
    X(embed) X(linear) X(linears) X(add) X(mul) X(scale) X(lerp) X(sum) X(concat) X(dropout)       \
    X(reverse) X(eos) X(activation) X(glu) X(norm) X(conv) X(longconv) X(shift) X(rotate) X(xent)  \
    X(linear_xent) X(attention) X(low_rank) X(discretise) X(bilinear) X(affine)        \
    X(constant) X(divide) X(scale_rows) X(lower_bounds) X(dpfp) X(repeat) X(halves) X(positions) X(toeplitz) \
    X(stop) X(signs) X(softmax) X(quadratic) X(top_k) X(running_max)
/* clang-format on */

typedef enum {
#define X(name) LCSM_OP_##name,
    LCSM_OP_LIST(X)
#undef X
        LCSM_OP_COUNT
} lcsm_op_id;

enum { LCSM_MAX_IN = 21, LCSM_MAX_OUT = 8, LCSM_MAX_STATE = 4 };

#define LCSM_BIT(j) (1u << (j))

/* Memory that an op carries from one run to the next, as in a decoder. It does not depend on T. */
typedef struct {
    lcsm_dtype         dtype; /* LCSM_F32 or LCSM_F64 as the graph, or LCSM_I64 */
    lcsm_shape         shape; /* the first axis is B */
    double             start; /* what an empty state holds */
    const lcsm_tensor *begin; /* or a parameter that has it for one sequence, from `at` on */
    ptrdiff_t          at;
} lcsm_state_spec;

/* What the steps of a node know of each other, which says whether a sequence may be cut into
 * segments that are trained one after the other (lcsm_graph_check_segments). */
typedef enum {
    LCSM_STEPS_ALONE,   /* nothing */
    LCSM_STEPS_CARRIED, /* what is carried; backward passes on its gradients, if it has any */
    LCSM_STEPS_WHOLE,   /* of the whole sequence, or of what is carried without gradients */
} lcsm_steps_kind;

/* One operation of a graph. The graph sets the upper part, the op's shape rule the lower. */
typedef struct lcsm_node {
    const struct lcsm_op *op;
    const void           *attr;    /* the op's own struct of graph/attr.h */
    int                   index;   /* in the graph */
    int                   ordinal; /* among the nodes of its op: the purpose of random numbers */
    int                   block;   /* of lcsm_block_begin, or -1 */
    lcsm_pool            *pool;
    int                   threads; /* of the pool */
    bool                  bf16;    /* in runs that train its products are of bfloat16 numbers; never
                                      where all inputs come from parameters */
    const void  *kernels;          /* R_(lcsm_kernels) of the graph's number type */
    const char  *scope;            /* where it was built, as in "layers.0.mixer" */
    int          n_in;
    lcsm_tensor *in[LCSM_MAX_IN]; /* NULL: absent */
    lcsm_tensor *out[LCSM_MAX_OUT];

    int             n_out;               /* 1 unless the rule says otherwise */
    lcsm_shape      shape[LCSM_MAX_OUT]; /* of the outputs */
    size_t          saved;               /* bytes that forward leaves for backward */
    size_t          fwd_scratch;         /* bytes, during forward */
    size_t          bwd_scratch;         /* bytes, during backward */
    size_t          both_scratch;        /* bytes, during both at once */
    size_t          own;                 /* bytes that `prepare` fills once, after planning */
    unsigned        bwd_in, bwd_out;     /* from the row; a rule may clear bits */
    bool            cheap;               /* forward costs less than keeping its result */
    int             n_state;
    lcsm_state_spec state[LCSM_MAX_STATE];
    ptrdiff_t       room; /* steps of a sequence that its state has room for; 0: any number */
    lcsm_steps_kind steps;
} lcsm_node;

/* An operand during a run: a matrix of numbers. Of another type than reals ld counts bytes. Values
 * that a plan keeps in bfloat16 for backward are LCSM_WEIGHT_BF16 where the row says takes_bf16. */
typedef struct {
    void     *data; /* NULL: absent, or not declared as read */
    ptrdiff_t rows, cols, ld;

    lcsm_weight_type type; /* other than LCSM_WEIGHT_REAL only where the row says so: blocks_in */

    bool add; /* gradients of inputs: add to what is there; false: overwrite it */
} lcsm_mat;

/* What is the same for all ops of a run. */
typedef struct {
    lcsm_pool  *pool;
    const void *kernels;  /* R_(lcsm_kernels) of the graph's number type */
    bool        training; /* dropout is on */
    uint64_t    seed;     /* of this run's random numbers: lcsm_rng(seed, node->ordinal, element) */
    ptrdiff_t   row, rows; /* as in lcsm_run_options */
    ptrdiff_t   segment, segments;
    lcsm_error  error; /* set by lcsm_call_fail; the run stops after this op */
} lcsm_run;

/* The arguments of forward and backward. */
typedef struct {
    lcsm_run        *run;
    const lcsm_node *node;
    lcsm_mat         in[LCSM_MAX_IN], out[LCSM_MAX_OUT];
    /* Backward. g_in[j].data is NULL where no gradient is wanted, g_out[j].data where the
     * gradient is zero; that never happens to all of them. A gradient has the ld of its value.
     * Gradients of inputs do not overlap each other, even if one tensor is the input twice. */
    lcsm_mat g_in[LCSM_MAX_IN], g_out[LCSM_MAX_OUT];
    void    *saved;   /* NULL in a forward pass that no backward follows */
    void    *scratch; /* 64-byte aligned, as saved and own; garbage on entry */
    void    *own;
    /* Carried state: NULL in means an empty one (the spec's start), NULL out that nobody wants
     * it. out may be the same memory as in. Backward gets the in of its forward. */
    const void *state_in[LCSM_MAX_STATE];
    void       *state_out[LCSM_MAX_STATE];
    /* Backward of LCSM_STEPS_CARRIED: the gradient of what forward left, NULL: zero, and room for
     * that of what it read, zeros at first; NULL: nobody wants it. In what form is the op's own
     * matter, but zeros mean none. */
    const void *g_state_out[LCSM_MAX_STATE];
    void       *g_state_in[LCSM_MAX_STATE];
} lcsm_call;

/* Stops the run with a sentence. For what only the data can show, as a token out of range. Not
 * from inside a parallel loop. */
void lcsm_call_fail(const lcsm_call *c, const char *fmt, ...) LCSM_PRINTF(2, 3);

typedef struct lcsm_op {
    const char *name;
    /* Names of the inputs. One that may be absent starts with '?', then one of integers
     * (LCSM_I32) with '#'; the others are real. */
    const char *in[LCSM_MAX_IN];
    size_t      attr_size;

    /* Checks inputs and attributes and fills the lower part of the node. The message needs no
     * op, name or shapes: the graph adds them. */
    lcsm_status (*shape)(lcsm_node *n, lcsm_error *err);
    void (*prepare)(const lcsm_call *c); /* NULL: nothing to prepare */
    void (*forward)(const lcsm_call *c);
    void (*backward)(const lcsm_call *c); /* NULL: no gradient passes */
    /* Forward and backward at once, for a loss whose backward would repeat forward's work: all
     * operands are there, and nothing is saved. NULL: one after the other. */
    void (*both)(const lcsm_call *c);
    double (*flops)(const lcsm_node *n); /* of forward; backward counts double. NULL: ~ 0 */

    /* Masks over inputs and outputs, LCSM_BIT(j). */
    unsigned bwd_in, bwd_out; /* values that backward reads */
    unsigned in_place;        /* out[0] may be the memory of in[j] */
    unsigned grad_in_place;   /* g_in[j] may be the memory of g_out[0] */
    unsigned grad_same;       /* g_in[j] has the very numbers of g_out[0], so they may share */
    unsigned overwrites;      /* backward looks at g_in[j].add; others always find it true */
    unsigned packed_out;      /* outputs that must have ld = cols */
    unsigned blocks_in;       /* inputs that forward takes as blocks of weights, too */
    /* Where activations are kept in bfloat16: */
    unsigned rounds_in, rounds_out; /* values that backward may read rounded; others are exact */
    unsigned takes_bf16;            /* inputs that backward of a bf16 node reads as they are kept */
} lcsm_op;

/* The name of an input without its marks. */
static inline const char *lcsm_op_input(const lcsm_op *op, int j)
{
    const char *name = op->in[j];
    return name + (name[0] == '?') + (name[name[0] == '?'] == '#');
}

static inline bool lcsm_op_input_optional(const lcsm_op *op, int j)
{
    return op->in[j][0] == '?';
}

static inline bool lcsm_op_input_integer(const lcsm_op *op, int j)
{
    return op->in[j][op->in[j][0] == '?'] == '#';
}

/* The row of an op in the number type of a graph. */
const lcsm_op *lcsm_op_row(lcsm_op_id op, lcsm_dtype dtype);

#endif
