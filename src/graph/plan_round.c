/*
 * round.c - which values a plan keeps in bfloat16 from forward to backward.
 *
 * Forward computes and reads the graph's numbers. Once a value is complete it is rounded into
 * memory of its own, half as large, and the numbers go with their last reader of forward. Backward
 * reads what is kept, or numbers made of it. A value stays exact if an op says so that reads it in
 * backward: what multiplies a memory from step to step, a softmax, what a loss is made of; and if
 * it comes from parameters alone, as the coefficients of a long convolution.
 */
#include "graph/internal.h"

/* Values with fewer numbers are not worth their steps. */
enum { FEW = 1024 };

static lcsm_tensor *root_of(lcsm_tensor *t)
{
    return lcsm_tensor_root(t, NULL);
}

/* What rounding is possible for at all. */
static void find_candidates(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        const lcsm_tensor *t = lcsm_tensor_at(g, j);
        p->rounded[j]        = t->kind == LCSM_TENSOR_COMPUTED && t->parent == NULL && t->given
                     && lcsm_tensor_count(t) >= FEW;
    }
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j);
        if (t->keep) p->rounded[root_of(t)->index] = false;
    }
}

static void exact_unless(lcsm_plan *p, lcsm_tensor *t, bool may)
{
    if (t != NULL && !may) p->rounded[root_of(t)->index] = false;
}

/* A cheap result may come from rounded values if it may be rounded itself; of whole blocks that are
 * computed again nothing may. */
static void ask_again(lcsm_plan *p, const lcsm_node *n)
{
    bool may = !p->opt.recompute && p->rounded[root_of(n->out[0])->index];
    for (int i = 0; i < n->n_in; i++)
        exact_unless(p, n->in[i], may && (n->op->rounds_in & LCSM_BIT(i)) != 0);
}

static void ask_backward(lcsm_plan *p, const lcsm_node *n, bool both)
{
    for (int i = 0; i < n->n_in; i++)
        if ((n->bwd_in & LCSM_BIT(i)) != 0)
            exact_unless(p, n->in[i], !both && (n->op->rounds_in & LCSM_BIT(i)) != 0);
    for (int i = 0; i < n->n_out; i++)
        if ((n->bwd_out & LCSM_BIT(i)) != 0)
            exact_unless(p, n->out[i], !both && (n->op->rounds_out & LCSM_BIT(i)) != 0);
}

static void mark(bool *read, lcsm_tensor *t)
{
    if (t != NULL) read[root_of(t)->index] = true;
}

/* Of the rest only what backward reads. */
static void drop_unread(lcsm_plan *p)
{
    bool *read = p->stays; /* not in use yet */
    for (int step = p->n_forward; step < p->n_steps; step++) {
        const lcsm_node *n     = p->steps[step].node;
        bool             again = p->steps[step].pass == LCSM_PASS_RECOMPUTE;
        for (int i = 0; n != NULL && i < n->n_in; i++)
            if (again || (n->bwd_in & LCSM_BIT(i)) != 0) mark(read, n->in[i]);
        for (int i = 0; n != NULL && i < n->n_out; i++)
            if ((n->bwd_out & LCSM_BIT(i)) != 0) mark(read, n->out[i]);
    }
    for (int j = 0; j < p->g->tensor_list.count; j++) {
        p->rounded[j] = p->rounded[j] && read[j] && !p->again[j];
        read[j]       = false;
    }
}

void lcsm_plan_round(lcsm_plan *p)
{
    find_candidates(p);
    for (int step = p->n_forward; step < p->n_steps; step++)
        if (p->steps[step].pass == LCSM_PASS_BACKWARD)
            ask_backward(p, p->steps[step].node, step == p->both);
    for (int step = p->n_steps - 1; step >= p->n_forward; step--) /* readers first */
        if (p->steps[step].pass == LCSM_PASS_RECOMPUTE) ask_again(p, p->steps[step].node);
    drop_unread(p);
}
