/*
 * graph/graph.h - write forward once: build a list of ops, plan its memory, run it.
 *
 *     lcsm_graph_create(&g, ctx, params, err);
 *     lcsm_tensor *x = lcsm_input(g, "x", LCSM_F32, lcsm_dims(B, T, D));
 *     lcsm_tensor *w = lcsm_param_tensor(g, "w", lcsm_dims(D, D), lcsm_init_normal(0.02), 0);
 *     lcsm_tensor *y = lcsm_add(g, x, lcsm_linear(g, x, w, NULL));
 *     lcsm_keep(g, y);  lcsm_seed(g, y);
 *     lcsm_graph_plan(g, &(lcsm_plan_options){.train = true}, err);
 *     ... fill x->data ...   lcsm_graph_forward(g, &opt, err);      ... read y->data ...
 *     ... fill y->grad ...   lcsm_graph_backward(g, &opt, err);     ... params->grads ...
 *
 * Building   A builder call that fails returns NULL and makes the graph remember why; all later
 *            ones do nothing and return NULL. lcsm_graph_plan reports the first failure.
 * Number     The type of the parameter list, F32 or F64, is that of the whole graph; tokens are
 * types      I32.
 * Memory     The plan puts every value, gradient, saved and scratch piece into one arena by its
 *            lifetime. Inputs, kept tensors and seeds stay; all else is gone after a run.
 *            No run allocates.
 * Threads    A graph belongs to one thread at a time; ops use the threads of the context.
 */
#ifndef LCSM_GRAPH_GRAPH_H
#define LCSM_GRAPH_GRAPH_H
#include <lcsm/context.h>
#include <lcsm/eos.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/op.h"
#include "graph/params.h"
#include "graph/state.h"
#include "graph/tensor.h"
#include "kernel/eos/eos_operands.h"

typedef struct lcsm_graph lcsm_graph;

/* The context and the list outlive the graph. */
lcsm_status lcsm_graph_create(lcsm_graph **out, const lcsm_context *ctx, lcsm_params *params,
                              lcsm_error *err);
void        lcsm_graph_free(lcsm_graph *g);

/* ---- building: structure ---- */

/* Names made until the matching pop start with this and a dot: parameters, states, messages. */
void lcsm_scope_push(lcsm_graph *g, const char *fmt, ...) LCSM_PRINTF(2, 3);
void lcsm_scope_pop(lcsm_graph *g);

/* What is built between the two may be dropped after forward and computed again before its
 * backward, if the plan asks for it. Blocks do not nest. */
void lcsm_block_begin(lcsm_graph *g);
void lcsm_block_end(lcsm_graph *g);

/* dtype LCSM_I32 or the graph's. */
lcsm_tensor *lcsm_input(lcsm_graph *g, const char *name, lcsm_dtype dtype, lcsm_shape shape);
/* A name that starts with a slash is the whole name, without the scope. */
lcsm_tensor *lcsm_param_tensor(lcsm_graph *g, const char *name, lcsm_shape shape, lcsm_init init,
                               unsigned flags);

void lcsm_keep(lcsm_graph *g, lcsm_tensor *t);      /* t->data is readable after forward */
void lcsm_keep_grad(lcsm_graph *g, lcsm_tensor *t); /* t->grad stays until the next backward */
void lcsm_seed(lcsm_graph *g, lcsm_tensor *t);      /* the caller fills t->grad before backward */
void lcsm_loss(lcsm_graph *g, lcsm_tensor *t);      /* one number; its gradient is loss_scale */

/* Any op by its row: what the builders below are made of. attr is copied. NULL inputs are absent.
 */
lcsm_node *lcsm_graph_add(lcsm_graph *g, lcsm_op_id id, const void *attr, lcsm_tensor *const *in,
                          int n_in);
/* One more input of a node that has an output for each: that output. */
lcsm_tensor *lcsm_graph_extend(lcsm_graph *g, lcsm_node *n, lcsm_tensor *in);

/* Makes the graph fail with a sentence, unless it has failed before. Returns NULL. */
lcsm_tensor *lcsm_graph_fail(lcsm_graph *g, lcsm_status status, const char *fmt, ...)
    LCSM_PRINTF(3, 4);

lcsm_dtype lcsm_graph_dtype(const lcsm_graph *g);

/* Before the first node: in runs that train, products are of numbers rounded to bfloat16 and summed
 * in the graph's type, and what forward leaves for backward is kept in bfloat16 where the ops allow
 * it (docs/numerics.md). Parameters, gradients and all else have the graph's type. */
void lcsm_graph_use_bf16(lcsm_graph *g);

/* ---- building: views ---- */

/* The same numbers in another shape. A slice keeps its last axis. */
lcsm_tensor *lcsm_reshape(lcsm_graph *g, lcsm_tensor *x, lcsm_shape shape);
/* Elements begin .. begin + count - 1 of an axis: the last one, the first one, or one element of
 * the last but one. */
lcsm_tensor *lcsm_slice(lcsm_graph *g, lcsm_tensor *x, int axis, ptrdiff_t begin, ptrdiff_t count);

/* ---- building: ops ---- */

/* Joined along the last axis. Where they can, the producers write straight into the result. */
lcsm_tensor *lcsm_concat(lcsm_graph *g, lcsm_tensor *const *x, int n);
/* tokens (...) I32, table [V, D] -> (..., D), times scale. */
lcsm_tensor *lcsm_embed(lcsm_graph *g, lcsm_tensor *tokens, lcsm_tensor *table, double scale);
/* x (..., in), w [out, in], b [out] or NULL -> x w^T + b (..., out). Several maps of one x by
 * parameters without b become one node. */
lcsm_tensor *lcsm_linear(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b);
/* From now on a linear map of x by a parameter w [out, in] that the names fit has a second way
 * beside it, scale (x A^T) B^T with A [rank, in] and B [out, rank], which begins with B = 0:
 * parameters NAME.adapter_a and NAME.adapter_b. rank is at most in and out. names: "one,two", each
 * a part of a name; "": all parameters of layers. Rank 0: no more. */
void lcsm_graph_adapt(lcsm_graph *g, ptrdiff_t rank, double scale, const char *names);
/* Whether it has. */
bool lcsm_graph_adapts(const lcsm_graph *g, const lcsm_tensor *w);
/* From now on recurrences without m0 begin with a parameter "memory" of their scope, zeros at
 * first, instead of an empty memory: [H, K, D], as m0 of one sequence. */
void lcsm_graph_learn_memory(lcsm_graph *g, bool learn);

/* b has the shape of a, or is a vector [cols] for every row. */
lcsm_tensor *lcsm_add(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b);
lcsm_tensor *lcsm_mul(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b);
lcsm_tensor *lcsm_scale(lcsm_graph *g, lcsm_tensor *x, double factor);
/* x, through which no gradient passes. */
lcsm_tensor *lcsm_stop(lcsm_graph *g, lcsm_tensor *x);
/* a + w (b - a); w as a, or a vector [cols]. */
lcsm_tensor *lcsm_lerp(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b, lcsm_tensor *w);
/* The sum or the mean of all numbers, a tensor [1]. */
lcsm_tensor *lcsm_sum(lcsm_graph *g, lcsm_tensor *x);
lcsm_tensor *lcsm_mean(lcsm_graph *g, lcsm_tensor *x);
/* Zero with probability rate, else times 1 / (1 - rate); the identity unless a run trains. */
lcsm_tensor *lcsm_dropout(lcsm_graph *g, lcsm_tensor *x, double rate);
/* x (B, T, C) with time running backwards. */
lcsm_tensor *lcsm_reverse(lcsm_graph *g, lcsm_tensor *x);

/* An operand of the recurrence: a tensor and its axes beside H, as in lcsm/eos.h. With T it is
 * (B, T, H inner), else (H, inner), or the same numbers in more axes if it is packed. */
typedef struct {
    lcsm_tensor *x; /* NULL: absent */
    unsigned     axes;
} lcsm_operand;

/* What a recurrence is divided by: its own sum over inputs of 1, which is one more column of the
 * memory. Beside that, writes may be scaled by exp(z), any z: then the memory is kept as m exp(-mu)
 * by a running maximum mu, which counts as a constant in backward, and row has no axis K. */
typedef enum {
    LCSM_NORMALISER_NONE,
    LCSM_NORMALISER_PLAIN,    /* y / (den + eps) */
    LCSM_NORMALISER_AT_LEAST, /* y / max(den, eps) */
    LCSM_NORMALISER_FLOOR,    /* y / (max(|den|, exp(-mu)) + eps), mu = 0 without z */
} lcsm_normaliser_kind;

typedef struct {
    lcsm_normaliser_kind kind;
    double               eps;
    lcsm_tensor         *z;     /* NULL, or (B, T, H) */
    lcsm_tensor         *mu0;   /* (B, H); without it mu is carried */
    double               start; /* mu of an empty memory: 0 or LCSM_MAX_EMPTY (graph/attr.h) */
} lcsm_normaliser;

typedef struct {
    ptrdiff_t H, K, D;
#define X(name) lcsm_operand name;
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    /* (B, H, K, D), twice D if complex, D + 1 with a normaliser; without it the memory is carried
     */
    lcsm_tensor  *m0;
    lcsm_tensor  *reset; /* (B, T) I32: not 0 starts a new sequence */
    lcsm_tensor  *read;  /* NULL, or (B, n) I32: rows b T + t that are read, as in lcsm/eos.h */
    bool          complex_e, complex_s, reverse;
    lcsm_eos_gen  gen;
    double        tau, scale; /* scale 0 means 1 */
    lcsm_eos_form form;
    ptrdiff_t     chunk;
    /* as in lcsm/eos.h; 0 everywhere is what most methods want */
    lcsm_eos_heads heads; /* of operands that have fewer */
    ptrdiff_t      rank;  /* of a and b, 0 means 1 */
    bool           complex_i, complex_a, complex_b, complex_bonus, complex_y, read_before, planes;
    bool           pairs; /* rows stand for themselves and their conjugates: b reads 2 Re(b^T m)
                             (graph/ops/eos_pairs_node.c) */
    lcsm_normaliser  normaliser;
    lcsm_memory_type memory_type; /* in runs that train; others compute in float32 */
} lcsm_eos_operands;

/* Some methods as operands. kk (B, T, H K) and so on are tensors, TK stands for LCSM_AXIS_T |
 * LCSM_AXIS_K:
 *
 *   Mamba-2     .e = {B, TK}, .s = {C, TK}, .heads = {.e = G, .s = G},     B, C (B, T, G K)
 *               .row = {log_decay, LCSM_AXIS_T}                            (B, T, H)
 *   RWKV-5, 6   .read_before = true, .bonus = {u, LCSM_AXIS_K}             u [H, K]
 *   RWKV-7      .a = {kk_a, TK}, .b = {minus_kk, TK}                       (B, T, H K)
 *   S5, HGRN    .K = 1, .complex_i = true, .complex_y = true, e and s of ones {., LCSM_AXIS_K},
 *               .col = {log, D}, .col_phase = {phase, D};  i and y (B, T, H D 2), pairs (re, im),
 *               or with .planes all real parts of a head, then its imaginary ones
 */

/* The EOS operator: y (B, T, H D), or of the n rows that are read, and the last memory, laid out as
 * m0, unless m_T is NULL. A normaliser is a prologue and an epilogue around it. */
lcsm_tensor *lcsm_recurrence(lcsm_graph *g, const lcsm_eos_operands *o, lcsm_tensor **m_T);

/* The two by themselves, for what comes between: the operands become those of the operator alone,
 * with one more column, and mu (B, T, H) is returned, NULL without z; then y (B, T, H (D + 1)) is
 * divided: (B, T, H D). */
lcsm_tensor *lcsm_normaliser_begin(lcsm_graph *g, lcsm_eos_operands *o);
lcsm_tensor *lcsm_normaliser_end(lcsm_graph *g, const lcsm_normaliser *n, ptrdiff_t H,
                                 lcsm_tensor *y, lcsm_tensor *mu);

/* The form and chunk of recurrences built from now on that ask for none. */
void lcsm_graph_prefer_form(lcsm_graph *g, lcsm_eos_form form, ptrdiff_t chunk);

/* Whether the operator runs in a fast form if it reads only o->read. The planner decides by the
 * axes of the operands; a tensor that is not built yet may be any other that is not NULL. */
bool lcsm_recurrence_reads_fast(const lcsm_graph *g, const lcsm_eos_operands *o, ptrdiff_t B,
                                ptrdiff_t T);

/* ---- planning and running ---- */

typedef struct {
    bool train;     /* also plan a backward pass */
    bool recompute; /* drop the inside of blocks after forward */
    bool both;      /* a loss at the end may run forward and backward at once, if it can */
    bool separate;  /* every piece in its own memory, nothing shared; to compare with */
    bool fixed;     /* not for training: the parameters never change after the first run, so what
                       comes from them alone is computed then and kept */
} lcsm_plan_options;

typedef struct {
    size_t arena;    /* bytes reserved for values, gradients, saved and scratch */
    size_t live;     /* the most that is alive at once: no plan can need less */
    size_t unshared; /* bytes if every piece had its own memory */
    size_t state;    /* bytes of one carried state */
    size_t kept;     /* bytes of values that are kept in bfloat16 from forward to backward */
    int    nodes, steps, pieces;
    int    in_place; /* results and gradients that took over the memory of an operand */
    double fwd_flops, bwd_flops;
} lcsm_plan_report;

/* Takes LCSM_PARAM_STREAMED from the parameters that some op of this graph reads as numbers. */
void lcsm_graph_streams(lcsm_graph *g);

/* Once for each graph. Reserves the parameters too, if that has not been done. */
lcsm_status lcsm_graph_plan(lcsm_graph *g, const lcsm_plan_options *opt, lcsm_error *err);

lcsm_plan_report lcsm_graph_report(const lcsm_graph *g);

/* Fails with the name of the first op that needs a whole sequence: segments of one, each a run with
 * the state that the one before it left, and backward in the other order with the gradients of
 * that, are exact if there is none. */
lcsm_status lcsm_graph_check_segments(const lcsm_graph *g, lcsm_error *err);

/* Where the segments of a sequence are on several machines: what one leaves is what the next reads,
 * op by op. Each may be NULL. */
typedef struct {
    /* Before a node with a carried state runs forward: fills what it will read; before it runs
     * backward: the gradient of what it left. */
    lcsm_status (*take)(void *user, bool backward, void *data, size_t bytes, lcsm_error *err);
    /* After it: what it left, or the gradient of what it read. Both stay until the next run. */
    lcsm_status (*give)(void *user, bool backward, const void *data, size_t bytes, lcsm_error *err);
    /* After every step. Gradients of the parameters from number `done` of the block on are
     * finished; forward has the number of all of them. */
    lcsm_status (*stepped)(void *user, size_t done, lcsm_error *err);
    void *user;
} lcsm_relay;

/* Called after every step of a run with the name of its op and the time it took. */
typedef struct {
    void (*step)(void *user, const char *what, bool backward, double seconds);
    void *user;
} lcsm_watch;

typedef struct {
    bool      training;  /* dropout is on, and a memory_type and bf16 count */
    uint64_t  seed;      /* of this run's random numbers; backward gets its forward's */
    ptrdiff_t row, rows; /* where the batch is a part of a larger one, whose random numbers it
                            takes: its first sequence there, and how many it has; 0, 0: whole */
    ptrdiff_t segment, segments; /* where the sequences are segments of longer ones, in the same
                                    way: the number of this one, and of how many; 0, 0: whole */
    lcsm_state *state;           /* carried in and out; NULL: start empty, forget the end */
    lcsm_state *state_grad; /* NULL, or backward reads here the gradient of what forward left, and
                               leaves that of what it read; lcsm_state_zero: none */
    ptrdiff_t         state_row;  /* the first of its sequences, where it has more than the graph */
    bool              accumulate; /* backward adds to the parameters' gradients */
    double            loss_scale; /* 0 means 1 */
    bool              check;      /* stop at the first op whose result is not finite */
    bool              only_state; /* forward ends when all is carried on: there are no results */
    const lcsm_relay *relay;      /* NULL: state and state_grad are all there is */
    bool              learn; /* a backward run follows, with the same options: what the plan runs at
                                once adds to the parameters' gradients already in forward */

    const lcsm_watch *watch; /* NULL: nobody watches, and no clock is read */
} lcsm_run_options;

/* opt may be NULL. */
lcsm_status lcsm_graph_forward(lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err);
/* After a forward with the same options. */
lcsm_status lcsm_graph_backward(lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err);

#endif
