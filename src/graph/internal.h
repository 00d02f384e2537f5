/* graph/internal.h - what a graph is, for build, plan and run. */
#ifndef LCSM_GRAPH_INTERNAL_H
#define LCSM_GRAPH_INTERNAL_H
#include "graph/graph.h"
#include "graph/plan.h"

enum { LCSM_SCOPE_DEPTH = 16, LCSM_NAME_SIZE = 200 };

/* A list of things that the graph owns, one allocation each. */
typedef struct {
    void **item;
    int    count, capacity;
} lcsm_owned;

struct lcsm_graph {
    const lcsm_context *ctx;
    const void         *kernels;
    lcsm_params        *params;
    lcsm_dtype          dtype;
    lcsm_error          error; /* the first failure of a builder */

    lcsm_owned    tensor_list, node_list, text_list, attr_list;
    lcsm_tensor **param_tensor; /* by row of the parameter list; NULL: not used here */
    int           n_param_tensor;

    char  scope[LCSM_NAME_SIZE];
    int   scope_end[LCSM_SCOPE_DEPTH]; /* lengths to return to */
    int   scope_depth;
    char *scope_text; /* the current scope, owned */
    int   block, n_blocks;
    int   op_count[LCSM_OP_COUNT];

    bool          bf16; /* products of nodes, and activations kept for backward */
    lcsm_eos_form form; /* of recurrences that leave theirs to the planner */
    ptrdiff_t     chunk;

    struct {
        ptrdiff_t rank;
        double    scale;
        char      names[512];
    } adapter;
    bool learns_memory; /* recurrences begin with a parameter */

    lcsm_plan *plan; /* NULL before lcsm_graph_plan */
    lcsm_run   run;
    bool       forward_done;
};

static inline lcsm_tensor *lcsm_tensor_at(const lcsm_graph *g, int j)
{
    return g->tensor_list.item[j];
}

static inline lcsm_node *lcsm_node_at(const lcsm_graph *g, int j)
{
    return g->node_list.item[j];
}

/* Where the memory of a tensor is: the tensor that owns it, and the element in it. */
static inline lcsm_tensor *lcsm_tensor_root(lcsm_tensor *t, ptrdiff_t *offset)
{
    ptrdiff_t at = 0;
    for (; t->parent != NULL; t = t->parent) at += t->offset;
    if (offset != NULL) *offset = at;
    return t;
}

/* Whether a step reads this input as it is kept, in bfloat16. */
static inline bool lcsm_plan_as_kept(const lcsm_plan *p, const lcsm_step *s, int input)
{
    const lcsm_node *n = s->node;
    return s->pass == LCSM_PASS_BACKWARD && n->bf16 && (n->op->takes_bf16 & LCSM_BIT(input)) != 0
        && p->rounded[lcsm_tensor_root(n->in[input], NULL)->index];
}

/* The two parameters beside a matrix that is adapted. */
void lcsm_adapter_pair(lcsm_graph *g, const lcsm_tensor *w, lcsm_tensor **A, lcsm_tensor **B);

/* The eos node, without a normaliser. */
lcsm_tensor *lcsm_recurrence_alone(lcsm_graph *g, const lcsm_eos_operands *o, lcsm_tensor **m_T);

#endif
