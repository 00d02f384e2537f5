/* plan.c - the stages of planning in order, and the pointers that come out of it. */
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/sanitizer.h"
#include "base/size.h"
#include "graph/internal.h"
#include "kernel/context.h"

#if defined(NDEBUG) && !LCSM_ASAN
#define FILL_FRESH 0
#else
#define FILL_FRESH 1
#endif

/* ---- memory of the plan itself ---- */

/* A zeroed array, or NULL and *ok false. */
static void *array(int count, size_t size, bool *ok)
{
    void *a = calloc((size_t)count + 1, size);
    *ok     = *ok && a != NULL;
    return a;
}

static int *indices(int count, bool *ok)
{
    int *a = array(count, sizeof *a, ok);
    for (int j = 0; a != NULL && j < count; j++) a[j] = -1;
    return a;
}

static int count_inputs(const lcsm_graph *g)
{
    int n = 0;
    for (int j = 0; j < g->node_list.count; j++) n += lcsm_node_at(g, j)->n_in;
    return n;
}

lcsm_status lcsm_plan_alloc(lcsm_plan **out, lcsm_graph *g, const lcsm_plan_options *opt,
                            lcsm_error *err)
{
    int  tensors = g->tensor_list.count, nodes = g->node_list.count, inputs = count_inputs(g);
    bool ok      = true;
    *out         = calloc(1, sizeof **out);
    lcsm_plan *p = *out;
    if (p == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a plan");
    p->g           = g;
    p->opt         = *opt;
    p->steps       = array(3 * nodes + 1, sizeof *p->steps, &ok);
    p->needs       = array(tensors, sizeof *p->needs, &ok);
    p->fixed       = array(tensors, sizeof *p->fixed, &ok);
    p->has_grad    = array(tensors, sizeof *p->has_grad, &ok);
    p->escapes     = array(tensors, sizeof *p->escapes, &ok);
    p->again       = array(tensors, sizeof *p->again, &ok);
    p->rounded     = array(tensors, sizeof *p->rounded, &ok);
    p->stays       = array(tensors, sizeof *p->stays, &ok);
    p->value[0]    = indices(tensors, &ok);
    p->value[1]    = indices(tensors, &ok);
    p->kept        = indices(tensors, &ok);
    p->grad        = indices(tensors, &ok);
    p->write_first = indices(tensors, &ok);
    p->write_last  = indices(tensors, &ok);
    p->wanted      = array(nodes, sizeof *p->wanted, &ok);
    p->own         = indices(nodes, &ok);
    p->state       = array(nodes, sizeof *p->state, &ok);
    p->place       = array(nodes, sizeof *p->place, &ok);
    p->ready       = array(3 * nodes + 1, sizeof *p->ready, &ok);
    p->writes      = array(inputs + tensors, sizeof *p->writes, &ok);
    p->clears      = array(tensors, sizeof *p->clears, &ok);
    p->sides       = array(inputs, sizeof *p->sides, &ok);
    p->seeds       = array(tensors, sizeof *p->seeds, &ok);
    p->narrows     = array(tensors, sizeof *p->narrows, &ok);
    p->widens      = array(tensors, sizeof *p->widens, &ok);
    p->max_pieces  = 5 * tensors + 5 * nodes + inputs;
    p->pieces      = array(p->max_pieces, sizeof *p->pieces, &ok);
    p->into        = indices(p->max_pieces, &ok);
    return ok ? LCSM_OK : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a plan");
}

void lcsm_plan_free(lcsm_plan *p)
{
    if (p == NULL) return;
    if (p->arena != NULL) LCSM_UNPOISON(p->arena, p->report.arena);
    void *arrays[] = {p->steps,   p->needs,    p->fixed, p->has_grad,    p->escapes,    p->again,
                      p->stays,   p->value[0], p->grad,  p->write_first, p->write_last, p->wanted,
                      p->own,     p->value[1], p->state, p->writes,      p->clears,     p->sides,
                      p->seeds,   p->pieces,   p->into,  p->arena,       p->rounded,    p->kept,
                      p->narrows, p->widens,   p->place, p->ready};
    for (size_t j = 0; j < COUNT(arrays); j++) free(arrays[j]);
    free(p);
}

/* ---- where pieces go ---- */

/* Pieces with memory of their own come first afterwards; returns how many. place[] says for each
 * piece where its owner went. */
static int compact(const lcsm_plan *p, lcsm_piece *owners, int *place)
{
    int n = 0;
    for (int j = 0; j < p->n_pieces; j++)
        if (p->into[j] < 0) {
            place[j]    = n;
            owners[n++] = p->pieces[j];
        }
    return n;
}

/* One after the other, with a gap behind each that AddressSanitizer watches. */
static size_t line_up(lcsm_piece *pieces, int n)
{
    size_t end = 0;
    for (int j = 0; j < n; j++) {
        pieces[j].offset = end;
        end += (pieces[j].bytes + 2 * LCSM_ALIGN - 1) & ~(LCSM_ALIGN - 1);
    }
    return end;
}

static lcsm_status place_pieces(lcsm_plan *p, lcsm_error *err)
{
    bool        ok     = true;
    lcsm_piece *owners = array(p->n_pieces, sizeof *owners, &ok);
    int        *place  = array(p->n_pieces, sizeof *place, &ok);
    size_t      total  = 0;
    if (ok) {
        int n = compact(p, owners, place);
        ok    = lcsm_place(owners, n, &total);
        if (p->opt.separate) total = line_up(owners, n);
        p->report.live   = lcsm_place_bound(owners, n);
        p->report.pieces = n;
        for (int j = 0; j < p->n_pieces; j++) {
            p->report.unshared += p->pieces[j].bytes;
            p->pieces[j].offset = owners[place[lcsm_plan_piece(p, j)]].offset;
        }
    }
    free(owners);
    free(place);
    p->report.arena = total > 0 ? total : LCSM_ALIGN;
    if (ok) ok = (p->arena = lcsm_block_alloc(p->report.arena)) != NULL;
    if (!ok)
        return lcsm_fail(err, LCSM_ERR_MEMORY,
                         "not enough memory for %zu bytes of values and gradients",
                         p->report.arena);
    if (p->opt.separate || FILL_FRESH)
        memset(p->arena, 0xff, p->report.arena); /* NaN: a read before a write shows */
    return LCSM_OK;
}

static void poison_gaps(const lcsm_plan *p)
{
    for (int j = 0; j < p->n_pieces && p->opt.separate; j++) {
        size_t bytes = p->pieces[j].bytes;
        size_t end   = (bytes + 2 * LCSM_ALIGN - 1) & ~(LCSM_ALIGN - 1);
        LCSM_POISON(p->arena + p->pieces[j].offset + bytes, end - bytes);
    }
}

/* ---- pointers ---- */

static lcsm_mat mat(const lcsm_tensor *t, void *base, ptrdiff_t offset)
{
    unsigned char *at = base;
    return (lcsm_mat){.data = at + (size_t)offset * lcsm_dtype_size(t->dtype),
                      .rows = t->rows,
                      .cols = t->cols,
                      .ld   = t->ld,
                      .add  = true};
}

static void *memory(const lcsm_plan *p, int piece)
{
    return piece < 0 ? NULL : p->arena + p->pieces[piece].offset;
}

static lcsm_mat value_of(const lcsm_plan *p, lcsm_tensor *t, lcsm_pass pass)
{
    ptrdiff_t    offset;
    lcsm_tensor *root = lcsm_tensor_root(t, &offset);
    void        *base = root->param >= 0
                          ? lcsm_param_values(p->g->params, root->param)
                          : memory(p, p->value[lcsm_plan_second(p, root, pass)][root->index]);
    lcsm_mat     m    = mat(t, base, offset);
    if (root->param < 0) return m;
    m.type = p->g->params->list[root->param].type;
    if (m.type != LCSM_WEIGHT_REAL) m.ld = (ptrdiff_t)lcsm_weight_row(m.type, (size_t)t->cols);
    return m;
}

/* An input as it is kept in bfloat16. */
static lcsm_mat kept_of(const lcsm_plan *p, lcsm_tensor *t)
{
    ptrdiff_t      offset;
    lcsm_tensor   *root = lcsm_tensor_root(t, &offset);
    unsigned char *base = memory(p, p->kept[root->index]);
    return (lcsm_mat){.data = base + (size_t)offset * sizeof(uint16_t),
                      .rows = t->rows,
                      .cols = t->cols,
                      .ld   = t->ld * (ptrdiff_t)sizeof(uint16_t),
                      .type = LCSM_WEIGHT_BF16};
}

static lcsm_mat grad_of(const lcsm_plan *p, lcsm_tensor *t)
{
    ptrdiff_t    offset;
    lcsm_tensor *root = lcsm_tensor_root(t, &offset);
    void        *base = root->param >= 0 ? lcsm_param_grads(p->g->params, root->param)
                                         : memory(p, p->grad[root->index]);
    return mat(t, base, offset);
}

static void bind_backward(lcsm_plan *p, lcsm_step *s)
{
    lcsm_call *c = &s->call;
    lcsm_node *n = s->node;
    for (int j = 0; j < n->n_out; j++)
        if (p->has_grad[lcsm_tensor_root(n->out[j], NULL)->index])
            c->g_out[j] = grad_of(p, n->out[j]);
    for (int j = 0; j < n->n_in; j++)
        if ((s->wanted & LCSM_BIT(j)) != 0) c->g_in[j] = grad_of(p, n->in[j]);
    for (unsigned i = s->side_at; i < s->side_at + s->n_sides; i++) {
        lcsm_side *side      = &p->sides[i];
        side->to             = c->g_in[side->input];
        c->g_in[side->input] = mat(n->in[side->input], memory(p, side->piece), 0);
        s->fresh |= LCSM_BIT(side->input);
        s->params &= ~LCSM_BIT(side->input);
    }
}

static void bind_step(lcsm_plan *p, lcsm_step *s)
{
    lcsm_call *c        = &s->call;
    lcsm_node *n        = s->node;
    bool       backward = s->pass == LCSM_PASS_BACKWARD;
    bool       both     = p->both >= 0 && s == &p->steps[p->both];
    c->run              = &p->g->run;
    c->node             = n;
    for (int j = 0; j < n->n_in; j++)
        if (n->in[j] != NULL && (!backward || (n->bwd_in & LCSM_BIT(j)) != 0))
            c->in[j] =
                lcsm_plan_as_kept(p, s, j) ? kept_of(p, n->in[j]) : value_of(p, n->in[j], s->pass);
    for (int j = 0; j < n->n_out; j++)
        if (!backward || (n->bwd_out & LCSM_BIT(j)) != 0 || both)
            c->out[j] = value_of(p, n->out[j], s->pass);
    c->saved   = memory(p, s->saved);
    c->scratch = memory(p, s->scratch);
    c->own     = memory(p, p->own[n->index]);
    if (backward) bind_backward(p, s);
}

/* What the caller may touch. */
static void bind_tensors(lcsm_plan *p)
{
    for (int j = 0; j < p->g->tensor_list.count; j++) {
        lcsm_tensor *t = lcsm_tensor_at(p->g, j), *root = lcsm_tensor_root(t, NULL);
        if (p->stays[root->index]) t->data = value_of(p, t, LCSM_PASS_FORWARD).data;
        if (p->opt.train && (t->keep_grad || t->param >= 0)) t->grad = grad_of(p, t).data;
    }
    for (int j = 0; j < p->n_seeds; j++) {
        lcsm_seeding *s   = &p->seeds[j];
        bool          add = s->to.add;
        s->to             = grad_of(p, s->t);
        s->to.add         = add;
        if (s->piece >= 0) s->t->grad = memory(p, s->piece);
        s->from = mat(s->t, s->t->grad, 0);
    }
    for (int j = 0; j < p->n_clears; j++) p->clears[j].to = grad_of(p, p->clears[j].root);
}

static void bind_roundings(lcsm_plan *p)
{
    for (int j = 0; j < p->n_narrows; j++) {
        lcsm_rounding *r = &p->narrows[j];
        r->wide          = value_of(p, r->root, LCSM_PASS_FORWARD).data;
        r->kept          = memory(p, p->kept[r->root->index]);
        p->report.kept += (size_t)r->count * sizeof(uint16_t);
    }
    for (int j = 0; j < p->n_widens; j++) {
        lcsm_rounding *r = &p->widens[j];
        r->wide          = value_of(p, r->root, LCSM_PASS_BACKWARD).data;
        r->kept          = memory(p, p->kept[r->root->index]);
    }
}

/* ---- carried state ---- */

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t j = 0; j < n; j++) h = (h ^ b[j]) * UINT64_C(1099511628211); /* FNV-1a */
    return h;
}

static uint64_t mix_spec(uint64_t h, const lcsm_node *n, const lcsm_state_spec *s)
{
    h = mix(h, n->scope, strlen(n->scope) + 1);
    h = mix(h, n->op->name, strlen(n->op->name) + 1);
    h = mix(h, &s->dtype, sizeof s->dtype);
    return mix(h, s->shape.dim + 1, (size_t)(s->shape.rank - 1) * sizeof s->shape.dim[0]);
}

static void lay_out_state(lcsm_plan *p)
{
    size_t entries = 0;
    p->state_key   = UINT64_C(14695981039346656037);
    for (int j = 0; j < p->g->node_list.count; j++) {
        lcsm_node *n = lcsm_node_at(p->g, j);
        p->state[j]  = entries;
        p->place[j]  = p->report.state;
        entries += (size_t)n->n_state;
        for (int i = 0; i < n->n_state; i++) {
            p->batch = n->state[i].shape.dim[0];
            p->report.state += lcsm_state_bytes(&n->state[i]);
            p->state_key = mix_spec(p->state_key, n, &n->state[i]);
        }
    }
    p->place[p->g->node_list.count] = p->report.state;
    for (int j = 0; j < p->n_forward; j++)
        if (p->steps[j].node->n_state > 0) p->carries = j + 1;
}

/* ---- finished gradients ---- */

/* The end of the last parameter whose gradient this step writes; 0: none. */
static size_t written_to(const lcsm_plan *p, const lcsm_step *s)
{
    const lcsm_params *ps  = p->g->params;
    size_t             end = 0;
    if (s->pass != LCSM_PASS_BACKWARD) return 0;
    for (int j = 0; j < s->node->n_in; j++) {
        if ((s->wanted & LCSM_BIT(j)) == 0) continue;
        int row = lcsm_tensor_root(s->node->in[j], NULL)->param;
        if (row < 0) continue;
        size_t last = ps->list[row].offset + ps->list[row].count;
        end         = last > end ? last : end;
    }
    return end;
}

static void find_ready(lcsm_plan *p)
{
    size_t end = 0;
    for (int j = p->n_steps - 1; j >= 0; j--) {
        size_t own  = written_to(p, &p->steps[j]);
        p->ready[j] = end;
        end         = own > end ? own : end;
    }
}

lcsm_status lcsm_plan_bind(lcsm_plan *p, lcsm_error *err)
{
    lcsm_status st = place_pieces(p, err);
    if (st != LCSM_OK) return st;
    for (int j = 0; j < p->n_steps; j++)
        if (p->steps[j].node != NULL) bind_step(p, &p->steps[j]);
    bind_tensors(p);
    bind_roundings(p);
    poison_gaps(p);
    lay_out_state(p);
    find_ready(p);
    for (int j = 0; j < p->n_steps; j++) {
        const lcsm_step *s = &p->steps[j];
        if (s->pass == LCSM_PASS_FORWARD && s->node->op->prepare != NULL)
            s->node->op->prepare(&s->call);
    }
    return LCSM_OK;
}

/* ---- all of it ---- */

static void count_work(lcsm_plan *p)
{
    p->report.nodes = p->g->node_list.count;
    p->report.steps = p->n_steps;
    for (int j = 0; j < p->n_steps; j++) {
        const lcsm_step *s = &p->steps[j];
        if (s->node == NULL || s->node->op->flops == NULL) continue;
        double flops = s->node->op->flops(s->node);
        if (s->pass == LCSM_PASS_BACKWARD) p->report.bwd_flops += 2 * flops;
        if (s->pass == LCSM_PASS_FORWARD) p->report.fwd_flops += flops;
    }
}

/* Blocks of weights are read by ops that know them, and whole. */
static bool streams(const lcsm_node *n, int j)
{
    return (n->op->blocks_in & LCSM_BIT(j)) != 0 && n->in[j]->parent == NULL
        && n->in[j]->shape.rank == 2;
}

void lcsm_graph_streams(lcsm_graph *g)
{
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; i < n->n_in; i++) {
            int row = n->in[i] == NULL ? -1 : lcsm_tensor_root(n->in[i], NULL)->param;
            if (row >= 0 && !streams(n, i))
                g->params->list[row].flags &= ~(unsigned)LCSM_PARAM_STREAMED;
        }
    }
}

static lcsm_status check_blocks(const lcsm_graph *g, lcsm_error *err)
{
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; i < n->n_in; i++) {
            int row = n->in[i] == NULL ? -1 : lcsm_tensor_root(n->in[i], NULL)->param;
            if (row < 0 || g->params->list[row].type == LCSM_WEIGHT_REAL || streams(n, i)) continue;
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "%s is stored as %s, and %s needs it as f32: load the model with "
                             "weights f32",
                             g->params->list[row].name, lcsm_weight_name(g->params->list[row].type),
                             n->op->name);
        }
    }
    return LCSM_OK;
}

lcsm_status lcsm_graph_plan(lcsm_graph *g, const lcsm_plan_options *opt, lcsm_error *err)
{
    lcsm_status             st   = LCSM_OK;
    const lcsm_plan_options none = {0};
    lcsm_plan              *p    = NULL;
    if (g->error.status == LCSM_OK && g->block >= 0)
        lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "a block is still open");
    if (g->error.status != LCSM_OK) return lcsm_fail(err, g->error.status, "%s", g->error.text);
    if (g->plan != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the graph has already been planned");
    if (opt == NULL) opt = &none;

    LCSM_TRY(lcsm_params_reserve(g->params, opt->train, err));
    LCSM_TRY(check_blocks(g, err));
    LCSM_TRY(lcsm_plan_alloc(&p, g, opt, err));
    g->run.pool    = g->ctx->pool;
    g->run.kernels = g->kernels;
    lcsm_plan_schedule(p);
    if (g->bf16 && opt->train) lcsm_plan_round(p);
    lcsm_plan_lives(p);
    lcsm_plan_share(p);
    LCSM_TRY(lcsm_plan_bind(p, err));
    count_work(p);
    g->plan = p;
    p       = NULL;
cleanup:
    lcsm_plan_free(p);
    return st;
}

lcsm_plan_report lcsm_graph_report(const lcsm_graph *g)
{
    return g->plan == NULL ? (lcsm_plan_report){0} : g->plan->report;
}
