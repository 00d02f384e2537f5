/*
 * graph/case.h - a graph of one op from a test case, for tests, checks and benches.
 *
 * The inputs are leaves that lcsm_case_fill fills with numbers that are the same in both number
 * types; their gradients are kept, and the outputs are kept and seeded.
 */
#ifndef LCSM_GRAPH_CASE_H
#define LCSM_GRAPH_CASE_H
#include "graph/graph.h"

/* A test case of an op: attributes and what its inputs are. Every case is checked forward and
 * backward in all precisions and kernel sets, and split in time if an op carries a state. */
typedef struct {
    lcsm_shape shape;  /* rank 0: the input is absent */
    double     lo, hi; /* lo <= x < hi. Both 0: real ones -1 to 1, never within 0.01 of 0 */
    bool       fixed;  /* no gradient is asked for */
    bool       time;   /* axis 1 is time: a test that splits the sequence cuts there */
    bool       packed; /* it cannot be a slice */
    bool       rising; /* integers: element j is lo + (hi - lo) j and less than hi - lo more */
} lcsm_case_input;

typedef struct {
    const char     *name; /* unique within the op */
    const void     *attr;
    lcsm_case_input in[LCSM_MAX_IN];
    bool            large; /* for equivalence tests and benches only: no finite differences */
} lcsm_op_case;

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
