/* build_ops.c - the builders of the basic ops: each makes one node and returns its output. */
#include "graph/attr.h"
#include "graph/graph.h"

static lcsm_tensor *first(const lcsm_node *n)
{
    return n == NULL ? NULL : n->out[0];
}

lcsm_tensor *lcsm_concat(lcsm_graph *g, lcsm_tensor *const *x, int n)
{
    return first(lcsm_graph_add(g, LCSM_OP_concat, NULL, x, n));
}

lcsm_tensor *lcsm_embed(lcsm_graph *g, lcsm_tensor *tokens, lcsm_tensor *table, double scale)
{
    lcsm_tensor *in[] = {tokens, table};
    return first(lcsm_graph_add(g, LCSM_OP_embed, &(lcsm_embed_attr){scale}, in, 2));
}

lcsm_tensor *lcsm_linear(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b)
{
    lcsm_tensor *in[] = {x, w, b};
    return first(lcsm_graph_add(g, LCSM_OP_linear, NULL, in, 3));
}

lcsm_tensor *lcsm_add(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b)
{
    lcsm_tensor *in[] = {a, b};
    return first(lcsm_graph_add(g, LCSM_OP_add, NULL, in, 2));
}

lcsm_tensor *lcsm_mul(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b)
{
    lcsm_tensor *in[] = {a, b};
    return first(lcsm_graph_add(g, LCSM_OP_mul, NULL, in, 2));
}

lcsm_tensor *lcsm_scale(lcsm_graph *g, lcsm_tensor *x, double factor)
{
    return first(lcsm_graph_add(g, LCSM_OP_scale, &(lcsm_scale_attr){factor}, &x, 1));
}

lcsm_tensor *lcsm_lerp(lcsm_graph *g, lcsm_tensor *a, lcsm_tensor *b, lcsm_tensor *w)
{
    lcsm_tensor *in[] = {a, b, w};
    return first(lcsm_graph_add(g, LCSM_OP_lerp, NULL, in, 3));
}

lcsm_tensor *lcsm_sum(lcsm_graph *g, lcsm_tensor *x)
{
    return first(lcsm_graph_add(g, LCSM_OP_sum, &(lcsm_sum_attr){false}, &x, 1));
}

lcsm_tensor *lcsm_mean(lcsm_graph *g, lcsm_tensor *x)
{
    return first(lcsm_graph_add(g, LCSM_OP_sum, &(lcsm_sum_attr){true}, &x, 1));
}

lcsm_tensor *lcsm_dropout(lcsm_graph *g, lcsm_tensor *x, double rate)
{
    return first(lcsm_graph_add(g, LCSM_OP_dropout, &(lcsm_dropout_attr){rate}, &x, 1));
}

lcsm_tensor *lcsm_reverse(lcsm_graph *g, lcsm_tensor *x)
{
    return first(lcsm_graph_add(g, LCSM_OP_reverse, NULL, &x, 1));
}
