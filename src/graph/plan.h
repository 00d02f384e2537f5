/*
 * graph/plan.h - a planned graph: the steps of a run, and where their operands lie.
 *
 * Time is the index of a step: first every node forward, then the seeds (an empty step), then
 * backward, in which a block that was dropped is first computed again. A piece is memory with a
 * lifetime: the value of a tensor, its gradient, what an op saves, its scratch. A tensor inside a
 * dropped block has two value pieces, one for forward and one for backward. So has one that is kept
 * in bfloat16, with the piece of what is kept between them.
 */
#ifndef LCSM_GRAPH_PLAN_H
#define LCSM_GRAPH_PLAN_H
#include "graph/graph.h"
#include "graph/place.h"

typedef enum {
    LCSM_PASS_FORWARD,
    LCSM_PASS_SEED,
    LCSM_PASS_RECOMPUTE,
    LCSM_PASS_BACKWARD,
} lcsm_pass;

typedef struct {
    lcsm_pass  pass;
    lcsm_node *node;     /* NULL: seeds */
    unsigned   wanted;   /* backward: inputs whose gradient is computed */
    unsigned   fresh;    /* of those: it is the first to write there */
    unsigned   params;   /* of those: of a parameter */
    unsigned   clear_at; /* plan->clears of this step: from here, so many */
    unsigned   n_clears;
    unsigned   side_at; /* plan->sides of this step */
    unsigned   n_sides;
    unsigned   narrow_at, n_narrows; /* plan->narrows of this step, forward: after it */
    unsigned   widen_at, n_widens;   /* plan->widens of this step: before it */
    int        saved, scratch;       /* pieces, or -1 */
    lcsm_call  call;
} lcsm_step;

/* Gradients of a tensor that is the input of a node twice: the second one is computed beside and
 * added after. */
typedef struct {
    int      input;
    int      piece;
    lcsm_mat to;
} lcsm_side;

/* A gradient that is written in parts: cleared before the first of them. */
typedef struct {
    lcsm_tensor *root;
    lcsm_mat     to;
} lcsm_clear;

/* A value that is kept in bfloat16: numbers of the graph on either side. */
typedef struct {
    lcsm_tensor *root;
    ptrdiff_t    count;
    void        *wide;
    uint16_t    *kept;
} lcsm_rounding;

/* A gradient that comes from outside. */
typedef struct {
    lcsm_tensor *t;
    int          piece; /* what the caller fills; -1 for a loss */
    lcsm_mat     from, to;
} lcsm_seeding;

/* Writing a part of a root's gradient. */
typedef struct {
    int       root, step, input; /* input -1: a seed, whose number is `seed` */
    int       seed;
    int       next; /* of the same root, in time */
    ptrdiff_t offset, rows, cols, ld;
} lcsm_grad_write;

typedef struct lcsm_plan {
    lcsm_graph       *g;
    lcsm_plan_options opt;
    lcsm_plan_report  report;

    lcsm_step *steps;
    int        n_steps, n_forward;
    int        n_fixed; /* of the forward steps, those that come first and run once */
    bool       settled; /* they have run */
    int        both;    /* the backward step that can run at once with its forward, or -1 */
    bool       done;    /* it has, in the last forward run */

    /* By tensor; only roots count. */
    bool *needs;    /* a gradient is wanted there or behind it */
    bool *fixed;    /* comes from parameters alone, and the plan keeps such values */
    bool *has_grad; /* one arrives */
    bool *escapes;  /* read outside of the block that makes it */
    bool *again;    /* computed a second time in backward */
    bool *rounded;  /* kept in bfloat16 from forward to backward */
    bool *stays;    /* there after the run */
    int  *value[2]; /* pieces; [1] is the one of backward, where `again` */
    int  *kept;     /* pieces of what is kept in bfloat16 */
    int  *grad;
    int  *write_first, *write_last; /* gradient writes, -1: none */

    unsigned *wanted;  /* by node: inputs that get a gradient; 0: no backward step */
    int      *own;     /* by node: piece or -1 */
    size_t   *state;   /* by node: the first of its entries in a carried state */
    size_t   *place;   /* by node: where these begin in a block, and at the end of all its size */
    size_t   *ready;   /* by step: gradients of parameters that no later step writes begin here */
    int       carries; /* forward steps up to the last that carries something on */

    lcsm_grad_write *writes;
    lcsm_clear      *clears;
    lcsm_side       *sides;
    lcsm_seeding    *seeds;
    lcsm_rounding   *narrows, *widens;
    int              n_narrows, n_widens;
    int              n_writes, n_clears, n_sides, n_seeds;

    lcsm_piece *pieces;
    int        *into; /* a piece that shares the memory of another; -1: has its own */
    int         n_pieces, max_pieces;

    unsigned char *arena;
    uint64_t       state_key; /* of names, shapes and types of the carried state, without B */
    ptrdiff_t      batch;     /* its B; 0 if nothing is carried */
} lcsm_plan;

void lcsm_plan_free(lcsm_plan *p);

/* The stages, in this order. */
lcsm_status lcsm_plan_alloc(lcsm_plan **out, lcsm_graph *g, const lcsm_plan_options *opt,
                            lcsm_error *err);
void        lcsm_plan_schedule(lcsm_plan *p);              /* which steps */
void        lcsm_plan_round(lcsm_plan *p);                 /* what is kept in bfloat16 */
void        lcsm_plan_lives(lcsm_plan *p);                 /* from when to when */
void        lcsm_plan_share(lcsm_plan *p);                 /* in place of what */
lcsm_status lcsm_plan_bind(lcsm_plan *p, lcsm_error *err); /* where */

/* Whether steps of this pass see the second piece of a root's value. */
static inline bool lcsm_plan_second(const lcsm_plan *p, const lcsm_tensor *root, lcsm_pass pass)
{
    return (p->again[root->index] || p->rounded[root->index]) && pass != LCSM_PASS_FORWARD;
}

/* The piece whose memory this one has. */
static inline int lcsm_plan_piece(const lcsm_plan *p, int piece)
{
    while (p->into[piece] >= 0) piece = p->into[piece];
    return piece;
}

#endif
