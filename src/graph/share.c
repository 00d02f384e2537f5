/*
 * share.c - in place: pieces that take over the memory of another.
 *
 * A result may take the memory of an operand that nobody reads any more, and the gradient of an
 * input that of the gradient of the output. Where the two have the very same numbers, as in an
 * addition, several gradients may share, as long as none is written to while another is needed.
 */
#include "graph/internal.h"

static lcsm_piece *owner(const lcsm_plan *p, int piece)
{
    return &p->pieces[lcsm_plan_piece(p, piece)];
}

static void merge(lcsm_plan *p, int piece, int with)
{
    int         to = lcsm_plan_piece(p, with);
    lcsm_piece *a = &p->pieces[to], *b = &p->pieces[piece];
    if (b->first < a->first) a->first = b->first;
    if (b->last > a->last) a->last = b->last;
    p->into[piece] = to;
    p->report.in_place++;
}

/* The root, if t is all of it. */
static lcsm_tensor *whole(lcsm_tensor *t)
{
    ptrdiff_t    offset;
    lcsm_tensor *root = lcsm_tensor_root(t, &offset);
    bool         all  = offset == 0 && lcsm_tensor_count(t) == lcsm_tensor_count(root);
    return all ? root : NULL;
}

static int uses(const lcsm_node *n, const lcsm_tensor *root)
{
    int count = 0;
    for (int j = 0; j < n->n_in; j++)
        count += n->in[j] != NULL && lcsm_tensor_root(n->in[j], NULL) == root;
    return count;
}

/* Whether the result of this step, in its own piece, may be written over input j. */
static bool may_replace(const lcsm_plan *p, int step, int j, const lcsm_piece *result)
{
    const lcsm_step *s = &p->steps[step];
    if ((s->node->op->in_place & LCSM_BIT(j)) == 0 || s->node->in[j] == NULL) return false;
    lcsm_tensor *root = whole(s->node->in[j]);
    if (root == NULL || root->kind != LCSM_TENSOR_COMPUTED || uses(s->node, root) > 1) return false;
    const lcsm_piece *x = owner(p, p->value[lcsm_plan_second(p, root, s->pass)][root->index]);
    return x->last == step && x->bytes == result->bytes && x != result;
}

static void share_value(lcsm_plan *p, int step)
{
    const lcsm_step *s   = &p->steps[step];
    lcsm_tensor     *out = s->node->out[0];
    if (out->parent != NULL) return;
    int piece = p->value[lcsm_plan_second(p, out, s->pass)][out->index];
    if (p->into[piece] >= 0 || p->pieces[piece].first != step) return;
    for (int j = 0; j < s->node->n_in; j++) {
        if (!may_replace(p, step, j, &p->pieces[piece])) continue;
        lcsm_tensor *root = lcsm_tensor_root(s->node->in[j], NULL);
        merge(p, piece, p->value[lcsm_plan_second(p, root, s->pass)][root->index]);
        return;
    }
}

/* Whether a gradient is written after `step` and not after `until`. */
static bool written(const lcsm_plan *p, int root, int step, int until)
{
    for (int j = p->write_first[root]; j >= 0; j = p->writes[j].next)
        if (p->writes[j].step > step && p->writes[j].step <= until) return true;
    return false;
}

/* Whether two gradients that start as the same numbers can stay one memory. */
static bool can_share(const lcsm_plan *p, int step, int a, int b)
{
    return !written(p, a, step, p->pieces[p->grad[b]].last)
        && !written(p, b, step, p->pieces[p->grad[a]].last);
}

/* The root whose gradient input j would write into the memory of g_out[0], or NULL. */
static lcsm_tensor *candidate(const lcsm_plan *p, int step, int j, const lcsm_piece *from)
{
    const lcsm_step *s    = &p->steps[step];
    const lcsm_op   *op   = s->node->op;
    unsigned         mask = (op->grad_in_place | op->grad_same) & op->overwrites & s->fresh;
    if ((mask & LCSM_BIT(j)) == 0 || (s->params & LCSM_BIT(j)) != 0) return NULL;
    lcsm_tensor *root = whole(s->node->in[j]);
    if (root == NULL || uses(s->node, root) > 1) return NULL;
    int piece = p->grad[root->index];
    if (p->into[piece] >= 0 || p->pieces[piece].first != step) return NULL;
    return p->pieces[piece].bytes == from->bytes ? root : NULL;
}

static bool outputs_share(const lcsm_plan *p, const lcsm_node *n)
{
    int piece = lcsm_plan_piece(p, p->grad[n->out[0]->index]);
    for (int j = 1; j < n->n_out; j++) {
        int g = p->grad[lcsm_tensor_root(n->out[j], NULL)->index];
        if (g >= 0 && lcsm_plan_piece(p, g) == piece) return true;
    }
    return false;
}

static void share_grads(lcsm_plan *p, int step)
{
    const lcsm_node *n   = p->steps[step].node;
    lcsm_tensor     *out = n->out[0];
    int              with[LCSM_MAX_IN], n_with = 0;
    if (out->parent != NULL || p->grad[out->index] < 0) return;
    int from = p->grad[out->index];
    if (owner(p, from)->last != step || outputs_share(p, n)) return;
    for (int j = 0; j < n->n_in; j++) {
        lcsm_tensor *root = candidate(p, step, j, &p->pieces[from]);
        if (root == NULL) continue;
        bool ok = n_with == 0 || (n->op->grad_same & LCSM_BIT(j)) != 0;
        for (int i = 0; i < n_with; i++) ok = ok && can_share(p, step, with[i], root->index);
        if (!ok) continue;
        merge(p, p->grad[root->index], from);
        with[n_with++] = root->index;
        if ((n->op->grad_same & LCSM_BIT(j)) == 0) return;
    }
}

void lcsm_plan_share(lcsm_plan *p)
{
    if (p->opt.separate) return;
    for (int step = 0; step < p->n_steps; step++) {
        if (p->steps[step].pass == LCSM_PASS_BACKWARD) share_grads(p, step);
        else if (p->steps[step].node != NULL) share_value(p, step);
    }
}
