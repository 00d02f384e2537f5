/* build_ops.c - the builders of the basic ops: each makes one node and returns its output. */
#include <stdio.h>

#include "graph/attr.h"
#include "graph/graph.h"
#include "graph/internal.h"
#include "kernel/eos/eos_operands.h"
#include "kernel/eos/eos_plan.h"

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

/* A node that maps x by parameters and has room for one more; they are there from the start, so it
 * may come earlier. */
static lcsm_node *maps_of(const lcsm_graph *g, const lcsm_tensor *x)
{
    const lcsm_op *op = lcsm_op_row(LCSM_OP_linears, g->dtype);
    for (int j = g->node_list.count - 1; j >= 0; j--) {
        lcsm_node *n = lcsm_node_at(g, j);
        if (n == x->node) return NULL;
        if (n->op == op && n->in[0] == x && n->block == g->block && n->n_out < LCSM_MAX_OUT)
            return n;
    }
    return NULL;
}

static lcsm_tensor *linear(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b)
{
    lcsm_tensor *in[] = {x, w, b};
    if (x == NULL || w == NULL || b != NULL || w->kind != LCSM_TENSOR_PARAM)
        return first(lcsm_graph_add(g, LCSM_OP_linear, NULL, in, 3));
    lcsm_node *n = maps_of(g, x);
    return n != NULL ? lcsm_graph_extend(g, n, w)
                     : first(lcsm_graph_add(g, LCSM_OP_linears, NULL, in, 2));
}

lcsm_tensor *lcsm_linear(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b)
{
    lcsm_tensor *y = linear(g, x, w, b), *A, *B;
    if (y == NULL || !lcsm_graph_adapts(g, w)) return y;
    lcsm_adapter_pair(g, w, &A, &B);
    return lcsm_add(g, y,
                    lcsm_scale(g, linear(g, linear(g, x, A, NULL), B, NULL), g->adapter.scale));
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
    return first(lcsm_graph_add(g, LCSM_OP_scale, &(lcsm_scale_attr){factor, 1}, &x, 1));
}

lcsm_tensor *lcsm_stop(lcsm_graph *g, lcsm_tensor *x)
{
    return first(lcsm_graph_add(g, LCSM_OP_stop, NULL, &x, 1));
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

/* An operand of the descriptor without its strides. */
static lcsm_eos_operand describe(lcsm_operand o)
{
    return (lcsm_eos_operand){.present = o.x != NULL, .axes = o.axes};
}

void lcsm_graph_use_bf16(lcsm_graph *g)
{
    g->bf16 = true;
}

void lcsm_graph_prefer_form(lcsm_graph *g, lcsm_eos_form form, ptrdiff_t chunk)
{
    g->form  = form;
    g->chunk = chunk;
}

static lcsm_eos_desc descriptor(const lcsm_graph *g, const lcsm_eos_operands *o)
{
    lcsm_eos_desc desc = {.size = sizeof desc};
    lcsm_eos_desc_init(&desc, 0, 0, o->H, o->K, o->D);
#define X(name) desc.name = describe(o->name);
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    desc.i.is_complex     = o->complex_i;
    desc.e.is_complex     = o->complex_e;
    desc.s.is_complex     = o->complex_s;
    desc.a.is_complex     = o->complex_a;
    desc.b.is_complex     = o->complex_b;
    desc.bonus.is_complex = o->complex_bonus;
    desc.complex_y        = o->complex_y;
    desc.read_before      = o->read_before;
    desc.planes           = o->planes;
    desc.memory_type      = o->memory_type;
    desc.heads            = o->heads;
    desc.rank             = o->rank;
    desc.reverse          = o->reverse;
    desc.gen              = o->gen;
    desc.tau              = o->tau;
    desc.scale            = o->scale;
    desc.form             = o->form != LCSM_FORM_AUTO ? o->form : g->form;
    desc.chunk            = o->form != LCSM_FORM_AUTO ? o->chunk : g->chunk;
    return desc;
}

bool lcsm_recurrence_reads_fast(const lcsm_graph *g, const lcsm_eos_operands *o, ptrdiff_t B,
                                ptrdiff_t T)
{
    lcsm_eos_plan p;
    lcsm_eos_desc desc = descriptor(g, o);
    desc.B             = B;
    desc.T             = T;
    desc.reads         = o->read == NULL ? 0 : lcsm_tensor_count(o->read);
    return desc.reads > 0 && lcsm_eos_plan_make(&p, NULL, &desc, NULL) == LCSM_OK
        && p.form != LCSM_FORM_RECURRENT;
}

void lcsm_graph_learn_memory(lcsm_graph *g, bool learn)
{
    g->learns_memory = learn;
}

/* "memory" for the first recurrence of a scope, memory2 and so on for others. */
static lcsm_tensor *memory_param(lcsm_graph *g, lcsm_shape shape)
{
    char name[LCSM_NAME_SIZE + 32], number[16] = "";
    for (int j = 1;; j++) {
        if (j > 1) (void)snprintf(number, sizeof number, "%d", j);
        (void)snprintf(name, sizeof name, "/%s%smemory%s", g->scope, g->scope[0] != '\0' ? "." : "",
                       number);
        int row = lcsm_params_find(g->params, name + 1);
        if (row < 0 || row >= g->n_param_tensor || g->param_tensor[row] == NULL) break;
    }
    return lcsm_param_tensor(g, name, shape, lcsm_init_constant(0),
                             LCSM_PARAM_MEMORY | LCSM_PARAM_NO_DECAY);
}

/* What the memory begins with: one of a head, or p and q of graph/ops/eos_mean_node.c. */
static lcsm_tensor *learned_start(lcsm_graph *g, const lcsm_eos_operands *o,
                                  const lcsm_eos_desc *desc)
{
    lcsm_eos_plan p;
    lcsm_eos_desc one = *desc;
    one.B = one.T = 1;
    if (!g->learns_memory || o->m0 != NULL) return NULL;
    if (o->pairs)
        return lcsm_graph_fail(g, LCSM_ERR_UNSUPPORTED,
                               "%s: its memory of conjugate pairs has no initial memory that is "
                               "trained",
                               g->scope);
    if (o->normaliser.z != NULL) return memory_param(g, lcsm_dims(2, o->H));
    if (lcsm_eos_plan_make(&p, NULL, &one, &g->error) != LCSM_OK) return NULL;
    return memory_param(g, lcsm_dims(p.H, p.K, p.D * (p.is_complex ? 2 : 1)));
}

lcsm_tensor *lcsm_recurrence_alone(lcsm_graph *g, const lcsm_eos_operands *o, lcsm_tensor **m_T)
{
    lcsm_eos_attr a    = {.desc = descriptor(g, o), .final = m_T != NULL, .pairs = o->pairs};
    lcsm_tensor  *in[] = {
#define X(name) o->name.x,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
            o->m0,
        o->reset, o->read, o->normaliser.z, learned_start(g, o, &a.desc)};
    const lcsm_node *n = lcsm_graph_add(g, LCSM_OP_eos, &a, in, (int)COUNT(in));
    if (m_T != NULL) *m_T = n == NULL ? NULL : n->out[1];
    return first(n);
}
