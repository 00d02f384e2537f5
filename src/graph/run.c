/* run.c - forward and backward: the steps of the plan, one after the other. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "graph/internal.h"
#include "graph/ops/round.h"

static const lcsm_run_options DEFAULTS = {0};

/* ---- small loops over matrices of either number type ---- */

static void clear(const lcsm_mat *m, size_t size)
{
    for (ptrdiff_t r = 0; r < m->rows; r++)
        memset((unsigned char *)m->data + (size_t)(r * m->ld) * size, 0, (size_t)m->cols * size);
}

static void fill_number(const lcsm_mat *m, lcsm_dtype dtype, double x)
{
    if (dtype == LCSM_F32) *(float *)m->data = (m->add ? *(float *)m->data : 0) + (float)x;
    else *(double *)m->data = (m->add ? *(double *)m->data : 0) + x;
}

/* to = from, or to += from. */
static void move(const lcsm_mat *to, const lcsm_mat *from, lcsm_dtype dtype)
{
    for (ptrdiff_t r = 0; r < to->rows; r++) {
        if (dtype == LCSM_F32) {
            float *a = (float *)to->data + r * to->ld, *b = (float *)from->data + r * from->ld;
            for (ptrdiff_t j = 0; j < to->cols; j++) a[j] = (to->add ? a[j] : 0) + b[j];
        } else {
            double *a = (double *)to->data + r * to->ld, *b = (double *)from->data + r * from->ld;
            for (ptrdiff_t j = 0; j < to->cols; j++) a[j] = (to->add ? a[j] : 0) + b[j];
        }
    }
}

static bool is_finite(const lcsm_mat *m, lcsm_dtype dtype)
{
    for (ptrdiff_t r = 0; r < m->rows; r++)
        for (ptrdiff_t j = 0; j < m->cols; j++) {
            ptrdiff_t at = r * m->ld + j;
            if (!isfinite(dtype == LCSM_F32 ? (double)((float *)m->data)[at]
                                            : ((double *)m->data)[at]))
                return false;
        }
    return true;
}

/* ---- carried state ---- */

static lcsm_status check_state(const lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err)
{
    const lcsm_state *s = opt->state;
    if (s == NULL) return LCSM_OK;
    if (s->key != g->plan->state_key || opt->state_row < 0
        || opt->state_row > s->rows - g->plan->batch)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the carried state belongs to another model or batch size");
    if (g->plan->opt.train && s->blocks < 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "a state for training is made from a graph planned for training");
    if (opt->state_grad != NULL
        && (opt->state_grad->key != s->key || opt->state_grad->rows != s->rows
            || opt->state_grad->blocks < 2))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the gradient of the state is not as the state");
    return LCSM_OK;
}

/* Points the calls of one step at a block to read and one to write, and at those of their
 * gradients; NULL: none. */
static void bind_state(const lcsm_plan *p, lcsm_step *s, const lcsm_run_options *opt,
                       unsigned char *const block[2], unsigned char *const grad[2])
{
    const lcsm_state *like = opt->state;
    for (int j = 0; j < s->node->n_state; j++) {
        size_t entry           = p->state[s->node->index] + (size_t)j;
        size_t at              = like == NULL ? 0 : lcsm_state_place(like, entry, opt->state_row);
        s->call.state_in[j]    = block[0] == NULL ? NULL : block[0] + at;
        s->call.state_out[j]   = block[1] == NULL ? NULL : block[1] + at;
        s->call.g_state_out[j] = grad[0] == NULL ? NULL : grad[0] + at;
        s->call.g_state_in[j]  = grad[1] == NULL ? NULL : grad[1] + at;
    }
}

/* Forward reads the current block. Training writes the other one, so that backward finds what
 * forward read; inference writes in place. Gradients go the same way back. */
static void bind_states(lcsm_plan *p, const lcsm_run_options *opt, bool backward)
{
    const lcsm_state *s = opt->state, *g = backward ? opt->state_grad : NULL;
    unsigned char    *block[2] = {NULL, NULL}, *grad[2] = {NULL, NULL};
    if (s != NULL) {
        block[0] = lcsm_state_block(s);
        block[1] = p->opt.train ? lcsm_state_other(s) : block[0];
    }
    if (backward) {
        block[0] = block[1];
        block[1] = NULL;
    }
    if (g != NULL) {
        grad[0] = lcsm_state_block(g);
        grad[1] = lcsm_state_other(g);
        memset(grad[1], 0, g->bytes);
    }
    for (int j = 0; j < p->n_steps; j++) {
        lcsm_step *step = &p->steps[j];
        if (step->node == NULL || step->node->n_state == 0) continue;
        if ((step->pass != LCSM_PASS_FORWARD) == backward) bind_state(p, step, opt, block, grad);
    }
}

/* What a node carries, or its gradient, from and to where the other segments are. */
static lcsm_status take(const lcsm_plan *p, const lcsm_step *s, const lcsm_run_options *opt,
                        bool backward, lcsm_error *err)
{
    const lcsm_relay *r = opt->relay;
    const lcsm_state *x = backward ? opt->state_grad : opt->state;
    if (r == NULL || r->take == NULL || s->node == NULL || s->node->n_state == 0) return LCSM_OK;
    size_t at = p->place[s->node->index], end = p->place[s->node->index + 1];
    return r->take(r->user, backward, lcsm_state_block(x) + at, end - at, err);
}

static lcsm_status give(const lcsm_plan *p, const lcsm_step *s, const lcsm_run_options *opt,
                        bool backward, lcsm_error *err)
{
    const lcsm_relay *r = opt->relay;
    const lcsm_state *x = backward ? opt->state_grad : opt->state;
    if (r == NULL || r->give == NULL || s->node == NULL || s->node->n_state == 0) return LCSM_OK;
    size_t at = p->place[s->node->index], end = p->place[s->node->index + 1];
    return r->give(r->user, backward, lcsm_state_other(x) + at, end - at, err);
}

static lcsm_status stepped(const lcsm_plan *p, int j, const lcsm_run_options *opt, bool backward,
                           lcsm_error *err)
{
    const lcsm_relay *r = opt->relay;
    if (r == NULL || r->stepped == NULL) return LCSM_OK;
    return r->stepped(r->user, backward ? p->ready[j] : p->g->params->block, err);
}

/* ---- steps ---- */

static lcsm_status step_failed(const lcsm_step *s, const lcsm_error *why, lcsm_error *err)
{
    return lcsm_fail(err, why->status, "%s%s%s: %s", s->node->scope,
                     s->node->scope[0] != '\0' ? "." : "", s->node->op->name, why->text);
}

static lcsm_status check_step(lcsm_graph *g, const lcsm_step *s, bool check, lcsm_error *err)
{
    if (g->run.error.status != LCSM_OK) return step_failed(s, &g->run.error, err);
    for (int j = 0; check && j < s->node->n_out; j++)
        if (!is_finite(&s->call.out[j], g->dtype))
            return step_failed(s, &(lcsm_error){LCSM_ERR_NUMBER, "its result is NaN or infinite"},
                               err);
    return LCSM_OK;
}

static void keep_values(const lcsm_graph *g, const lcsm_step *s)
{
    bool f32 = g->dtype == LCSM_F32;
    for (unsigned j = s->narrow_at; j < s->narrow_at + s->n_narrows; j++) {
        const lcsm_rounding *r = &g->plan->narrows[j];
        (f32 ? lcsm_round_keep_f32 : lcsm_round_keep_f64)(g->run.pool, g->kernels, r->count,
                                                          r->wide, r->kept);
    }
}

static void widen_values(const lcsm_graph *g, const lcsm_step *s)
{
    bool f32 = g->dtype == LCSM_F32;
    for (unsigned j = s->widen_at; j < s->widen_at + s->n_widens; j++) {
        const lcsm_rounding *r = &g->plan->widens[j];
        (f32 ? lcsm_round_widen_f32 : lcsm_round_widen_f64)(g->run.pool, g->kernels, r->count,
                                                            r->kept, r->wide);
    }
}

/* Forward, also a second time. */
static lcsm_status forward_step(lcsm_graph *g, const lcsm_step *s, bool check, lcsm_error *err)
{
    widen_values(g, s);
    s->node->op->forward(&s->call);
    keep_values(g, s);
    return check_step(g, s, check, err);
}

static void clear_roots(const lcsm_plan *p, const lcsm_step *s, bool accumulate)
{
    for (unsigned j = s->clear_at; j < s->clear_at + s->n_clears; j++)
        if (!accumulate || p->clears[j].root->param < 0)
            clear(&p->clears[j].to, lcsm_dtype_size(p->g->dtype));
}

static void seed_step(const lcsm_plan *p, const lcsm_step *s, const lcsm_run_options *opt)
{
    clear_roots(p, s, opt->accumulate);
    for (int j = 0; j < p->n_seeds; j++) {
        const lcsm_seeding *seed = &p->seeds[j];
        if (seed->piece >= 0) move(&seed->to, &seed->from, p->g->dtype);
        else fill_number(&seed->to, p->g->dtype, opt->loss_scale == 0 ? 1 : opt->loss_scale);
    }
}

/* A gradient that nobody wrote before is overwritten, or cleared for an op that only adds. */
static void backward_step(const lcsm_plan *p, lcsm_step *s, bool accumulate, bool both)
{
    const lcsm_op *op    = s->node->op;
    lcsm_dtype     dtype = p->g->dtype;
    unsigned       fresh = accumulate ? s->fresh & ~s->params : s->fresh;
    widen_values(p->g, s);
    clear_roots(p, s, accumulate);
    for (int j = 0; j < s->node->n_in; j++) {
        lcsm_mat *m = &s->call.g_in[j];
        if (m->data == NULL) continue;
        m->add = (fresh & op->overwrites & LCSM_BIT(j)) == 0;
        if (m->add && (fresh & LCSM_BIT(j)) != 0) clear(m, lcsm_dtype_size(dtype));
    }
    if (both) op->both(&s->call);
    else op->backward(&s->call);
    for (unsigned i = s->side_at; i < s->side_at + s->n_sides; i++)
        move(&p->sides[i].to, &s->call.g_in[p->sides[i].input], dtype);
}

/* ---- runs ---- */

static double begin_step(const lcsm_run_options *opt)
{
    return opt->watch == NULL ? 0 : lcsm_now();
}

static void end_step(const lcsm_run_options *opt, const lcsm_step *s, bool backward, double from)
{
    if (opt->watch == NULL) return;
    const char *what = s->node == NULL ? "seed" : s->node->op->name;
    opt->watch->step(opt->watch->user, what, backward, lcsm_now() - from);
}

/* The last forward step, the seeds and the first backward step in one. */
static lcsm_status both_step(lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err)
{
    lcsm_plan *p = g->plan;
    lcsm_step *s = &p->steps[p->both];
    seed_step(p, &p->steps[p->n_forward], opt);
    backward_step(p, s, opt->accumulate, true);
    return check_step(g, s, opt->check, err);
}

static void start_run(lcsm_graph *g, const lcsm_run_options *opt)
{
    g->run.training = opt->training;
    g->run.seed     = opt->seed;
    g->run.row      = opt->row;
    g->run.rows     = opt->rows;
    g->run.segment  = opt->segment;
    g->run.segments = opt->segments;
    g->run.error    = (lcsm_error){0};
}

lcsm_status lcsm_graph_check_segments(const lcsm_graph *g, lcsm_error *err)
{
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->steps == LCSM_STEPS_WHOLE)
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "%s%s%s needs a whole sequence, so it cannot be cut into segments",
                             n->scope, n->scope[0] != '\0' ? "." : "", n->op->name);
    }
    return LCSM_OK;
}

lcsm_status lcsm_graph_forward(lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err)
{
    lcsm_plan *p = g->plan;
    if (opt == NULL) opt = &DEFAULTS;
    if (p == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the graph is not planned");
    lcsm_status st = check_state(g, opt, err);
    if (st != LCSM_OK) return st;
    g->forward_done = false;
    start_run(g, opt);
    bind_states(p, opt, false);
    p->done = p->both >= 0 && opt->learn;
    for (int j = p->settled ? p->n_fixed : 0; j < (opt->only_state ? p->carries : p->n_forward);
         j++) {
        const lcsm_step *s    = &p->steps[j];
        bool             both = p->done && j + 1 == p->n_forward;
        LCSM_OR_RETURN(take(p, s, opt, false, err));
        double from = begin_step(opt);
        st          = both ? both_step(g, opt, err) : forward_step(g, s, opt->check, err);
        if (st != LCSM_OK) return st;
        end_step(opt, s, both, from);
        LCSM_OR_RETURN(give(p, s, opt, false, err));
        LCSM_OR_RETURN(stepped(p, j, opt, false, err));
    }
    if (opt->state != NULL && p->opt.train) opt->state->current = 1 - opt->state->current;
    g->forward_done = !opt->only_state;
    p->settled      = p->n_fixed > 0;
    return LCSM_OK;
}

lcsm_status lcsm_graph_backward(lcsm_graph *g, const lcsm_run_options *opt, lcsm_error *err)
{
    lcsm_plan  *p  = g->plan;
    lcsm_status st = LCSM_OK;
    if (opt == NULL) opt = &DEFAULTS;
    if (p == NULL || !p->opt.train)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the graph is not planned for training");
    if (!g->forward_done)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a backward run comes after a forward run");
    g->forward_done = false;
    start_run(g, opt);
    bind_states(p, opt, true);
    for (int j = p->done ? p->both + 1 : p->n_forward; j < p->n_steps && st == LCSM_OK; j++) {
        lcsm_step *s    = &p->steps[j];
        bool       back = s->pass == LCSM_PASS_BACKWARD;
        if (back) LCSM_OR_RETURN(take(p, s, opt, true, err));
        double from = begin_step(opt);
        switch (s->pass) {
        case LCSM_PASS_SEED: seed_step(p, s, opt); break;
        case LCSM_PASS_BACKWARD: backward_step(p, s, opt->accumulate, false); break;
        default: st = forward_step(g, s, false, err);
        }
        end_step(opt, s, true, from);
        if (back) LCSM_OR_RETURN(give(p, s, opt, true, err));
        LCSM_OR_RETURN(stepped(p, j, opt, true, err));
    }
    if (opt->state_grad != NULL) opt->state_grad->current = 1 - opt->state_grad->current;
    return st;
}
