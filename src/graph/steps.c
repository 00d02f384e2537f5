/*
 * steps.c - which steps a run has: forward, and for training backward, with the blocks that
 * are computed again, and who gets a gradient.
 */
#include "graph/internal.h"

/* ---- concatenation without copying ---- */

/* A producer may write straight into the joint tensor if nobody else uses its result. Then the
 * gradients add up in the same order too. */
static bool can_join(const lcsm_plan *p, const lcsm_tensor *x, const lcsm_node *concat,
                     const int *uses)
{
    if (x->kind != LCSM_TENSOR_COMPUTED || x->parent != NULL || uses[x->index] > 1) return false;
    if (p->fixed[x->index]) return false; /* it outlives what it is joined to */
    if (x->node->block != concat->block) return false;
    for (int j = 0; j < x->node->n_out; j++)
        if (x->node->out[j] == x) return (x->node->op->packed_out & LCSM_BIT(j)) == 0;
    return false;
}

static void join(lcsm_plan *p, lcsm_node *n, const int *uses)
{
    lcsm_tensor *y  = n->out[0];
    ptrdiff_t    at = 0;
    for (int j = 0; j < n->n_in; j++) {
        lcsm_tensor *x = n->in[j];
        if (can_join(p, x, n, uses)) {
            x->parent = y;
            x->offset = at;
            x->ld     = y->ld;
            p->report.in_place++;
        }
        at += x->cols;
    }
}

/* How often each tensor is an input or has a view. */
static void count_uses(const lcsm_graph *g, int *uses)
{
    for (int j = 0; j < g->tensor_list.count; j++) uses[j] = 0;
    for (int j = 0; j < g->tensor_list.count; j++)
        if (lcsm_tensor_at(g, j)->parent != NULL) uses[lcsm_tensor_at(g, j)->parent->index]++;
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] != NULL) uses[n->in[i]->index]++;
    }
}

static void join_concats(lcsm_plan *p)
{
    lcsm_graph *g    = p->g;
    int        *uses = p->grad; /* not in use yet */
    count_uses(g, uses);
    for (int j = 0; j < g->node_list.count; j++) {
        lcsm_node *n = lcsm_node_at(g, j);
        if (n->op != lcsm_op_row(LCSM_OP_concat, g->dtype)) continue;
        join(p, n, uses);
        uses[n->out[0]->index]++; /* it is the memory of others now: no second joining */
    }
    for (int j = 0; j < g->tensor_list.count; j++) uses[j] = -1;
}

/* ---- what comes from parameters alone ---- */

static int root_of(lcsm_tensor *t)
{
    return lcsm_tensor_root(t, NULL)->index;
}

static bool is_fixed(const lcsm_plan *p, const lcsm_node *n)
{
    bool fixed = n->n_state == 0;
    for (int j = 0; j < n->n_in; j++)
        if (n->in[j] != NULL) fixed = fixed && p->fixed[root_of(n->in[j])];
    return fixed;
}

/* Marks the tensors, and keeps those that others read. */
static void find_fixed(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++)
        p->fixed[j] = lcsm_tensor_at(g, j)->kind == LCSM_TENSOR_PARAM;
    for (int j = 0; j < g->node_list.count; j++) {
        lcsm_node *n     = lcsm_node_at(g, j);
        bool       fixed = is_fixed(p, n);
        for (int i = 0; i < n->n_out && fixed; i++) p->fixed[root_of(n->out[i])] = true;
        for (int i = 0; i < n->n_in && !fixed; i++) {
            lcsm_tensor *root = n->in[i] == NULL ? NULL : lcsm_tensor_root(n->in[i], NULL);
            if (root != NULL && root->kind == LCSM_TENSOR_COMPUTED && p->fixed[root->index])
                root->keep = true;
        }
    }
}

/* ---- who gets a gradient ---- */

static unsigned inputs_that_need(const lcsm_plan *p, const lcsm_node *n)
{
    unsigned mask = 0;
    for (int j = 0; j < n->n_in; j++)
        if (n->in[j] != NULL && p->needs[root_of(n->in[j])]) mask |= LCSM_BIT(j);
    return mask;
}

static void find_needs(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j);
        bool trained = t->param >= 0 && (g->params->list[t->param].flags & LCSM_PARAM_FROZEN) == 0;
        if (trained || t->keep_grad) p->needs[root_of(t)] = true;
    }
    for (int j = 0; j < g->node_list.count; j++) {
        lcsm_node *n = lcsm_node_at(g, j);
        if (n->op->backward == NULL || inputs_that_need(p, n) == 0) continue;
        for (int i = 0; i < n->n_out; i++) p->needs[root_of(n->out[i])] = true;
    }
}

static void find_gradients(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j);
        if (t->seed || t->loss) p->has_grad[root_of(t)] = true;
    }
    for (int j = g->node_list.count - 1; j >= 0; j--) {
        lcsm_node *n       = lcsm_node_at(g, j);
        bool       arrives = false;
        for (int i = 0; i < n->n_out; i++) arrives |= p->has_grad[root_of(n->out[i])];
        p->wanted[j] = arrives && n->op->backward != NULL ? inputs_that_need(p, n) : 0;
        for (int i = 0; i < n->n_in; i++)
            if ((p->wanted[j] & LCSM_BIT(i)) != 0) p->has_grad[root_of(n->in[i])] = true;
    }
}

/* ---- blocks that are computed again ---- */

static int block_of(const lcsm_tensor *root)
{
    return root->kind == LCSM_TENSOR_COMPUTED ? root->node->block : -1;
}

static void find_escapes(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++)
        if (lcsm_tensor_at(g, j)->keep) p->escapes[root_of(lcsm_tensor_at(g, j))] = true;
    for (int j = 0; j < g->node_list.count; j++) {
        lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; i < n->n_in; i++) {
            if (n->in[i] == NULL) continue;
            lcsm_tensor *root = lcsm_tensor_root(n->in[i], NULL);
            if (block_of(root) != n->block) p->escapes[root->index] = true;
        }
    }
}

static void need_again(lcsm_plan *p, lcsm_tensor *t, int block)
{
    lcsm_tensor *root = lcsm_tensor_root(t, NULL);
    if (block_of(root) == block && !p->escapes[root->index]) p->again[root->index] = true;
}

/* What the backward steps of nodes first .. last, one block, read of its inside, and what is
 * needed to compute that: marks tensors in p->again. */
static void find_again(lcsm_plan *p, int first, int last)
{
    for (int j = first; j <= last; j++) {
        lcsm_node *n = lcsm_node_at(p->g, j);
        if (p->wanted[j] == 0) continue;
        for (int i = 0; i < n->n_in; i++)
            if ((n->bwd_in & LCSM_BIT(i)) != 0 && n->in[i] != NULL)
                need_again(p, n->in[i], n->block);
        for (int i = 0; i < n->n_out; i++)
            if ((n->bwd_out & LCSM_BIT(i)) != 0) need_again(p, n->out[i], n->block);
    }
}

/* Whether a node of a dropped block runs again: for its results or for what it saves. */
static bool runs_again(const lcsm_plan *p, const lcsm_node *n)
{
    bool needed = n->saved > 0 && p->wanted[n->index] != 0;
    for (int i = 0; i < n->n_out; i++) needed |= p->again[root_of(n->out[i])];
    return needed;
}

/* Does what runs_again needs, and marks it, from the last node to the first. */
static void close_again(lcsm_plan *p, int first, int last)
{
    for (int j = last; j >= first; j--) {
        lcsm_node *n = lcsm_node_at(p->g, j);
        if (!runs_again(p, n)) continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] != NULL) need_again(p, n->in[i], n->block);
    }
}

/* ---- the list of steps ---- */

static lcsm_step *add_step(lcsm_plan *p, lcsm_pass pass, lcsm_node *n)
{
    lcsm_step *s = &p->steps[p->n_steps++];
    *s           = (lcsm_step){.pass = pass, .node = n, .saved = -1, .scratch = -1};
    return s;
}

static void add_block_again(lcsm_plan *p, int last)
{
    int block = lcsm_node_at(p->g, last)->block, first = last;
    while (first > 0 && lcsm_node_at(p->g, first - 1)->block == block) first--;
    find_again(p, first, last);
    close_again(p, first, last);
    for (int j = first; j <= last; j++)
        if (runs_again(p, lcsm_node_at(p->g, j)))
            add_step(p, LCSM_PASS_RECOMPUTE, lcsm_node_at(p->g, j));
}

/* ---- cheap results that are computed again ---- */

/* Whether the result of a node need not stay until backward: its inputs do. */
static bool is_cheap(const lcsm_plan *p, const lcsm_node *n)
{
    bool cheap = n->cheap && n->n_out == 1 && n->saved == 0 && n->n_state == 0
              && n->out[0]->parent == NULL && !n->out[0]->keep && p->wanted[n->index] != 0;
    for (int i = 0; i < n->n_in && cheap; i++)
        cheap = n->in[i] == NULL || (n->bwd_in & LCSM_BIT(i)) != 0
             || lcsm_tensor_root(n->in[i], NULL)->kind != LCSM_TENSOR_COMPUTED;
    return cheap;
}

static bool was_again(const lcsm_plan *p, const lcsm_node *n)
{
    for (int j = p->n_forward; j < p->n_steps; j++)
        if (p->steps[j].pass == LCSM_PASS_RECOMPUTE && p->steps[j].node == n) return true;
    return false;
}

/* Before a step that reads t: computes it again, and first what it comes from, if that is cheap. */
static void add_cheap_again(lcsm_plan *p, lcsm_tensor *t)
{
    lcsm_tensor *root = lcsm_tensor_root(t, NULL);
    if (root->kind != LCSM_TENSOR_COMPUTED || p->escapes[root->index]) return;
    if (!is_cheap(p, root->node) || was_again(p, root->node)) return;
    for (int i = 0; i < root->node->n_in; i++)
        if (root->node->in[i] != NULL) add_cheap_again(p, root->node->in[i]);
    p->again[root->index] = true;
    add_step(p, LCSM_PASS_RECOMPUTE, root->node);
}

static void add_needs_again(lcsm_plan *p, const lcsm_node *n)
{
    for (int i = 0; i < n->n_in && !p->opt.recompute && !p->opt.separate; i++)
        if (n->in[i] != NULL && (n->bwd_in & LCSM_BIT(i)) != 0) add_cheap_again(p, n->in[i]);
}

static void add_backward(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    add_step(p, LCSM_PASS_SEED, NULL);
    for (int j = g->node_list.count - 1; j >= 0; j--) {
        lcsm_node *n    = lcsm_node_at(g, j);
        bool       last = j + 1 == g->node_list.count || lcsm_node_at(g, j + 1)->block != n->block;
        if (p->opt.recompute && n->block >= 0 && last) add_block_again(p, j);
        if (p->wanted[j] == 0) continue;
        add_needs_again(p, n);
        add_step(p, LCSM_PASS_BACKWARD, n)->wanted = p->wanted[j];
    }
}

/* ---- a loss at once ---- */

/* The first backward step, if it is that of the last node, which must be the only source of
 * gradients: then nothing runs between the two but the seeds. */
static int find_both(const lcsm_plan *p)
{
    const lcsm_graph *g     = p->g;
    int               first = p->n_forward + 1, sources = 0, own = 0;
    const lcsm_step  *s = &p->steps[first];
    if (!p->opt.both || first >= p->n_steps || s->pass != LCSM_PASS_BACKWARD
        || s->node != p->steps[p->n_forward - 1].node || s->node->op->both == NULL)
        return -1;
    for (int j = 0; j < g->tensor_list.count; j++) {
        const lcsm_tensor *t = lcsm_tensor_at(g, j);
        sources += t->seed || t->loss;
        own += t->loss && t == s->node->out[0];
    }
    return sources == 1 && own == 1 ? first : -1;
}

void lcsm_plan_schedule(lcsm_plan *p)
{
    const lcsm_graph *g     = p->g;
    bool              fixed = p->opt.fixed && !p->opt.train;
    if (fixed) find_fixed(p);
    if (!p->opt.separate) join_concats(p);
    if (p->opt.train) {
        find_needs(p);
        find_gradients(p);
        find_escapes(p);
    }
    for (int j = 0; j < g->node_list.count && fixed; j++)
        if (is_fixed(p, lcsm_node_at(g, j))) add_step(p, LCSM_PASS_FORWARD, lcsm_node_at(g, j));
    p->n_fixed = p->n_steps;
    for (int j = 0; j < g->node_list.count; j++)
        if (!fixed || !is_fixed(p, lcsm_node_at(g, j)))
            add_step(p, LCSM_PASS_FORWARD, lcsm_node_at(g, j));
    p->n_forward = p->n_steps;
    if (p->opt.train) add_backward(p);
    p->both = find_both(p);
}
