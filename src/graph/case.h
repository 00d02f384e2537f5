/*
 * graph/case.h - a graph of one op from a test case of its row, for tests, checks and benches.
 *
 * The inputs are leaves that lcsm_case_fill fills with numbers that are the same in both number
 * types; their gradients are kept, and the outputs are kept and seeded.
 */
#ifndef LCSM_GRAPH_CASE_H
#define LCSM_GRAPH_CASE_H
#include "graph/graph.h"

/* What may lie around the op. */
enum {
    LCSM_CASE_STRIDED  = 1, /* inputs are slices, outputs are written into wider tensors */
    LCSM_CASE_COMPUTED = 2, /* inputs are results of another op, so they may be overwritten */
    LCSM_CASE_BESIDE   = 4, /* every gradient has 0.5 already when the op's backward comes */
};

typedef struct {
    lcsm_params        *params;
    lcsm_graph         *g;
    const lcsm_op      *op;
    const lcsm_op_case *test;
    lcsm_node          *node;
    lcsm_tensor        *leaf[LCSM_MAX_IN]; /* NULL: absent */
    ptrdiff_t           T;                 /* steps of the inputs that have time */
} lcsm_case_graph;

/* T < 0: as the case says; else inputs with time have so many steps. {0} may be freed. */
lcsm_status lcsm_case_build(lcsm_case_graph *out, const lcsm_context *ctx, lcsm_dtype dtype,
                            lcsm_op_id op, const lcsm_op_case *test, unsigned around, ptrdiff_t T,
                            const lcsm_plan_options *opt, lcsm_error *err);
void        lcsm_case_free(lcsm_case_graph *c);

/* Steps t0 .. t0 + T - 1 of the case's inputs and of the gradients of its outputs. */
void lcsm_case_fill(const lcsm_case_graph *c, uint64_t seed, ptrdiff_t t0);

/* The number at a row and a column. */
double lcsm_case_get(const lcsm_tensor *t, const void *data, ptrdiff_t row, ptrdiff_t col);
void   lcsm_case_set(const lcsm_tensor *t, void *data, ptrdiff_t row, ptrdiff_t col, double x);

#endif
