/*
 * lives.c - pieces of memory and their lifetimes, and who writes which part of a gradient first.
 */
#include "graph/internal.h"

static int new_piece(lcsm_plan *p, size_t bytes, int first, int last)
{
    int j        = p->n_pieces++;
    p->pieces[j] = (lcsm_piece){.bytes = bytes, .first = first, .last = last};
    p->into[j]   = -1;
    return j;
}

static void touch(lcsm_piece *q, int step)
{
    if (step < q->first) q->first = step;
    if (step > q->last) q->last = step;
}

static size_t bytes_of(const lcsm_tensor *t)
{
    return (size_t)lcsm_tensor_count(t) * lcsm_dtype_size(t->dtype);
}

/* Bytes of a tensor with its ld, outside of its root. */
static size_t span_of(const lcsm_tensor *t)
{
    if (t->rows == 0) return 0;
    return (size_t)((t->rows - 1) * t->ld + t->cols) * lcsm_dtype_size(t->dtype);
}

/* ---- values ---- */

static void touch_value(lcsm_plan *p, lcsm_tensor *t, int step)
{
    lcsm_tensor *root = lcsm_tensor_root(t, NULL);
    if (root->kind == LCSM_TENSOR_PARAM) return;
    int *piece = &p->value[lcsm_plan_second(p, root, p->steps[step].pass)][root->index];
    if (*piece < 0) *piece = new_piece(p, bytes_of(root), step, step);
    touch(&p->pieces[*piece], step);
}

/* What is kept in bfloat16 is there from the last step that writes it to the last that reads it or
 * its numbers. */
static void touch_kept(lcsm_plan *p, lcsm_tensor *t, int step)
{
    int *piece = &p->kept[lcsm_tensor_root(t, NULL)->index];
    touch(&p->pieces[*piece], step);
}

static void touch_input(lcsm_plan *p, int j, int step)
{
    const lcsm_step *s = &p->steps[step];
    lcsm_tensor     *t = s->node->in[j];
    if (lcsm_plan_as_kept(p, s, j)) touch_kept(p, t, step);
    else touch_value(p, t, step);
}

static void touch_values(lcsm_plan *p, int step)
{
    const lcsm_step *s       = &p->steps[step];
    bool             forward = s->pass != LCSM_PASS_BACKWARD;
    const lcsm_node *n       = s->node;
    for (int j = 0; j < n->n_in; j++)
        if (n->in[j] != NULL && (forward || (n->bwd_in & LCSM_BIT(j)) != 0))
            touch_input(p, j, step);
    for (int j = 0; j < n->n_out; j++)
        if (forward || (n->bwd_out & LCSM_BIT(j)) != 0) touch_value(p, n->out[j], step);
}

/* Inputs and kept tensors are there before the first and after the last step. */
static void hold_values(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j), *root = lcsm_tensor_root(t, NULL);
        if (root->kind == LCSM_TENSOR_PARAM) {
            p->stays[root->index] = true;
        } else if (t->keep || root->kind == LCSM_TENSOR_INPUT) {
            int *piece = &p->value[0][root->index];
            int  end   = p->n_steps;
            if (*piece < 0) *piece = new_piece(p, bytes_of(root), end, end);
            touch(&p->pieces[*piece], end);
            if (root->kind == LCSM_TENSOR_INPUT) touch(&p->pieces[*piece], 0);
            p->stays[root->index] = true;
        }
    }
}

/* ---- saved, scratch and own memory ---- */

/* From the step that fills it, the last forward one, to backward. */
static void add_saved(lcsm_plan *p, int step)
{
    lcsm_step *s = &p->steps[step];
    if (s->node->saved == 0) return;
    for (int f = step - 1; f >= 0; f--) {
        if (p->steps[f].node != s->node) continue;
        p->steps[f].saved = s->saved = new_piece(p, s->node->saved, f, step);
        return;
    }
}

static void add_scratch(lcsm_plan *p, int step)
{
    lcsm_step *s     = &p->steps[step];
    size_t     bytes = s->pass == LCSM_PASS_BACKWARD ? s->node->bwd_scratch : s->node->fwd_scratch;
    if (step == p->both && s->node->both_scratch > bytes) bytes = s->node->both_scratch;
    if (bytes > 0) s->scratch = new_piece(p, bytes, step, step);
}

static void add_own(lcsm_plan *p)
{
    for (int j = 0; j < p->g->node_list.count; j++) {
        size_t bytes = lcsm_node_at(p->g, j)->own;
        p->own[j]    = bytes > 0 ? new_piece(p, bytes, 0, p->n_steps) : -1;
    }
}

/* ---- what is kept in bfloat16 ---- */

static bool writes(const lcsm_node *n, const lcsm_tensor *root)
{
    for (int j = 0; n != NULL && j < n->n_out; j++)
        if (lcsm_tensor_root(n->out[j], NULL) == root) return true;
    return false;
}

static bool writes_later(const lcsm_plan *p, const lcsm_tensor *root, int step)
{
    for (int j = step + 1; j < p->n_forward; j++)
        if (writes(p->steps[j].node, root)) return true;
    return false;
}

static void add_rounding(lcsm_rounding *list, int *count, lcsm_tensor *root)
{
    list[(*count)++] = (lcsm_rounding){.root = root, .count = lcsm_tensor_count(root)};
}

/* Values are kept once the last of their writers has run. */
static void add_narrows(lcsm_plan *p, int step)
{
    lcsm_step *s = &p->steps[step];
    s->narrow_at = (unsigned)p->n_narrows;
    for (int root = 0; root < p->g->tensor_list.count; root++) {
        lcsm_tensor *t = lcsm_tensor_at(p->g, root);
        if (!p->rounded[root] || !writes(s->node, t) || writes_later(p, t, step)) continue;
        p->kept[root] = new_piece(p, (size_t)lcsm_tensor_count(t) * sizeof(uint16_t), step, step);
        add_rounding(p->narrows, &p->n_narrows, t);
    }
    s->n_narrows = (unsigned)p->n_narrows - s->narrow_at;
}

/* They are numbers again from the first step on that reads such. */
static void add_widens(lcsm_plan *p, int step)
{
    lcsm_step *s = &p->steps[step];
    s->widen_at  = (unsigned)p->n_widens;
    for (int root = 0; root < p->g->tensor_list.count; root++) {
        int wide = p->value[1][root];
        if (!p->rounded[root] || wide < 0 || p->pieces[wide].first != step) continue;
        touch(&p->pieces[p->kept[root]], step);
        add_rounding(p->widens, &p->n_widens, lcsm_tensor_at(p->g, root));
    }
    s->n_widens = (unsigned)p->n_widens - s->widen_at;
}

/* ---- gradients ---- */

static void touch_grad(lcsm_plan *p, const lcsm_tensor *root, int step)
{
    if (root->kind == LCSM_TENSOR_PARAM) return;
    int *piece = &p->grad[root->index];
    if (*piece < 0) *piece = new_piece(p, bytes_of(root), step, step);
    touch(&p->pieces[*piece], step);
}

static lcsm_grad_write part_of(lcsm_tensor *t, int step, int input)
{
    lcsm_grad_write w    = {.step = step, .input = input, .next = -1, .cols = t->cols};
    lcsm_tensor    *root = lcsm_tensor_root(t, &w.offset);
    w.root               = root->index;
    w.rows               = t->rows;
    w.ld                 = t->ld;
    if (t->ld == t->cols || t->rows <= 1) { /* one row of all numbers */
        w.cols = w.ld = lcsm_tensor_count(t);
        w.rows        = w.cols > 0;
    }
    return w;
}

static bool same_part(const lcsm_grad_write *a, const lcsm_grad_write *b)
{
    return a->offset == b->offset && a->rows == b->rows && a->cols == b->cols && a->ld == b->ld;
}

/* False where it is not certain. */
static bool apart(const lcsm_grad_write *a, const lcsm_grad_write *b)
{
    if (a->rows * a->cols == 0 || b->rows * b->cols == 0) return true;
    ptrdiff_t a_end = a->offset + (a->rows - 1) * a->ld + a->cols;
    ptrdiff_t b_end = b->offset + (b->rows - 1) * b->ld + b->cols;
    if (a_end <= b->offset || b_end <= a->offset) return true;
    if (a->ld != b->ld) return false;
    ptrdiff_t ca = a->offset % a->ld, cb = b->offset % b->ld; /* columns; rows do not wrap */
    return ca + a->cols <= cb || cb + b->cols <= ca;
}

static void add_write(lcsm_plan *p, lcsm_grad_write w)
{
    int j        = p->n_writes++;
    p->writes[j] = w;
    if (p->write_first[w.root] < 0) p->write_first[w.root] = j;
    else p->writes[p->write_last[w.root]].next = j;
    p->write_last[w.root] = j;
    touch_grad(p, lcsm_tensor_at(p->g, w.root), w.step);
}

static bool is_output(const lcsm_node *n, const lcsm_tensor *root)
{
    for (int j = 0; j < n->n_out; j++)
        if (lcsm_tensor_root(n->out[j], NULL) == root) return true;
    return false;
}

/* The same memory as the gradient of an earlier input of this step. */
static bool second_use(const lcsm_plan *p, int writes_before, const lcsm_grad_write *w)
{
    for (int j = writes_before; j < p->n_writes; j++)
        if (p->writes[j].root == w->root && !apart(&p->writes[j], w)) return true;
    return false;
}

static void add_side(lcsm_plan *p, int step, int input)
{
    lcsm_step *s = &p->steps[step];
    if (s->n_sides++ == 0) s->side_at = (unsigned)p->n_sides;
    p->sides[p->n_sides++] =
        (lcsm_side){.input = input, .piece = new_piece(p, span_of(s->node->in[input]), step, step)};
}

static void add_backward_writes(lcsm_plan *p, int step)
{
    const lcsm_step *s      = &p->steps[step];
    lcsm_node       *n      = s->node;
    int              before = p->n_writes;
    for (int j = 0; j < n->n_out; j++) {
        lcsm_tensor *root = lcsm_tensor_root(n->out[j], NULL);
        if (p->has_grad[root->index]) touch_grad(p, root, step);
    }
    for (int j = 0; j < n->n_in; j++) {
        if ((s->wanted & LCSM_BIT(j)) == 0) continue;
        lcsm_grad_write w = part_of(n->in[j], step, j);
        if (is_output(n, lcsm_tensor_at(p->g, w.root))) continue; /* it is there already */
        if (second_use(p, before, &w)) add_side(p, step, j);
        if (lcsm_tensor_at(p->g, w.root)->param >= 0) p->steps[step].params |= LCSM_BIT(j);
        add_write(p, w);
    }
}

static void add_seeds(lcsm_plan *p, int step)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j);
        if (!t->seed && !t->loss) continue;
        lcsm_grad_write w = part_of(t, step, -1);
        w.seed            = p->n_seeds;
        p->seeds[p->n_seeds++] =
            (lcsm_seeding){.t = t, .piece = t->seed ? new_piece(p, span_of(t), 0, p->n_steps) : -1};
        add_write(p, w);
    }
}

/* Gradients that were asked for stay until the next backward. One that nobody writes is zero. */
static void hold_grads(lcsm_plan *p)
{
    const lcsm_graph *g = p->g;
    for (int j = 0; j < g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(g, j), *root = lcsm_tensor_root(t, NULL);
        if (!t->keep_grad || root->kind == LCSM_TENSOR_PARAM) continue;
        touch_grad(p, root, p->n_steps);
        touch_grad(p, root, 0);
    }
}

/* ---- who is first ---- */

/* Whether all writes to a root are to parts that are the same or apart, and that make up the
 * whole. Then the first to write a part may overwrite; else the root is cleared before. */
static bool in_clean_parts(const lcsm_plan *p, int root)
{
    ptrdiff_t covered = 0;
    for (int j = p->write_first[root]; j >= 0; j = p->writes[j].next) {
        const lcsm_grad_write *w = &p->writes[j];
        bool new                 = true;
        for (int i = p->write_first[root]; i != j; i = p->writes[i].next) {
            bool same = same_part(&p->writes[i], w);
            if (!same && !apart(&p->writes[i], w)) return false;
            new = new && !same;
        }
        if (new) covered += w->rows * w->cols;
    }
    return covered == lcsm_tensor_count(lcsm_tensor_at(p->g, root));
}

static bool is_first(const lcsm_plan *p, int write)
{
    const lcsm_grad_write *w = &p->writes[write];
    for (int i = p->write_first[w->root]; i != write; i = p->writes[i].next)
        if (same_part(&p->writes[i], w)) return false;
    return true;
}

static void mark_fresh(lcsm_plan *p, int root)
{
    for (int j = p->write_first[root]; j >= 0; j = p->writes[j].next) {
        const lcsm_grad_write *w = &p->writes[j];
        if (!is_first(p, j)) continue;
        if (w->input >= 0) p->steps[w->step].fresh |= LCSM_BIT(w->input);
        else p->seeds[w->seed].to.add = false;
    }
}

static void find_first_writers(lcsm_plan *p)
{
    for (int j = 0; j < p->n_seeds; j++) p->seeds[j].to.add = true;
    for (int root = 0; root < p->g->tensor_list.count; root++) {
        bool writes = p->write_first[root] >= 0;
        if (writes && in_clean_parts(p, root)) mark_fresh(p, root);
    }
}

/* Clears are grouped by step: a root at its first write, one without any with the seeds. */
static void add_clears(lcsm_plan *p, int step)
{
    lcsm_step *s = &p->steps[step];
    s->clear_at  = (unsigned)p->n_clears;
    for (int root = 0; root < p->g->tensor_list.count; root++) {
        lcsm_tensor *t     = lcsm_tensor_at(p->g, root);
        int          first = p->write_first[root];
        bool         asked = p->grad[root] >= 0 || (t->param >= 0 && p->needs[root]);
        bool         here  = first >= 0 ? p->writes[first].step == step && !in_clean_parts(p, root)
                                        : s->pass == LCSM_PASS_SEED && asked;
        if (here) p->clears[p->n_clears++] = (lcsm_clear){.root = t};
    }
    s->n_clears = (unsigned)p->n_clears - s->clear_at;
}

/* What the first backward step needs is there in the last forward step too. */
static void widen_both(lcsm_plan *p)
{
    int forward = p->n_forward - 1;
    for (int j = 0; j < p->n_pieces; j++)
        if (p->pieces[j].first > forward && p->pieces[j].first <= p->both)
            p->pieces[j].first = forward;
}

void lcsm_plan_lives(lcsm_plan *p)
{
    add_own(p);
    for (int step = 0; step < p->n_forward && p->g->bf16; step++) add_narrows(p, step);
    for (int step = 0; step < p->n_steps; step++) {
        lcsm_pass pass = p->steps[step].pass;
        if (pass == LCSM_PASS_SEED) {
            add_seeds(p, step);
            continue;
        }
        touch_values(p, step);
        add_scratch(p, step);
        if (pass != LCSM_PASS_BACKWARD) continue;
        add_saved(p, step);
        add_backward_writes(p, step);
    }
    for (int step = p->n_forward; step < p->n_steps && p->g->bf16; step++) add_widens(p, step);
    hold_values(p);
    if (!p->opt.train) return;
    hold_grads(p);
    find_first_writers(p);
    for (int step = p->n_forward; step < p->n_steps; step++) add_clears(p, step);
    if (p->both >= 0) widen_both(p);
}
