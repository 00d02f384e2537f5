/* describe.c - what a model is, from its graph alone: nothing is planned or allocated. */
#include <lcsm/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "eos/code.h"
#include "eos/equation.h"
#include "eos/method.h"
#include "graph/attr.h"
#include "graph/eos_node.h"
#include "graph/internal.h"
#include "kernel/eos/eos_operands.h"
#include "kernel/eos/eos_plan.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/pattern.h"

size_t lcsm_method_count(void)
{
    return LCSM_METHOD_COUNT;
}

static lcsm_status check_row(size_t row, size_t count, const char *what, lcsm_error *err)
{
    if (row < count) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "row %zu of the %s; expected 0 to %zu", row, what,
                     count - 1);
}

lcsm_status lcsm_method_at(size_t row, lcsm_method_info *out, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(check_row(row, LCSM_METHOD_COUNT, "methods", err));
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_method_info, bare, out, err));
    const lcsm_method *m    = &LCSM_METHODS[row];
    lcsm_method_info   info = {.size        = sizeof info,
                               .name        = m->name,
                               .family      = m->family,
                               .input       = m->input,
                               .expand      = m->expand,
                               .oscillation = m->oscillation,
                               .shrink      = m->shrink,
                               .psi         = m->psi,
                               .memory      = m->memory,
                               .bare        = lcsm_method_has_bare(m),
                               .year        = m->year,
                               .reference   = m->reference};
    lcsm_sized_fill(out, &info, sizeof info);
    return st;
}

size_t lcsm_code_count(void)
{
    return LCSM_OSC_CODES;
}

lcsm_status lcsm_code_at(size_t row, lcsm_code_info *out, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(check_row(row, LCSM_OSC_CODES, "codes", err));
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_code_info, construction, out, err));
    lcsm_code_info info = {.size         = sizeof info,
                           .code         = (int)row,
                           .notation     = LCSM_OSC_TABLE[row].notation,
                           .construction = LCSM_OSC_TABLE[row].text};
    lcsm_sized_fill(out, &info, sizeof info);
    return st;
}

/* ---- where tensors come from ------------------------------------------------------------ */

enum { FROM_DATA = 1, FROM_LEARNED = 2 };

/* By tensor: what it depends on. */
static unsigned char *sources_of(const lcsm_graph *g)
{
    unsigned char *from = calloc((size_t)g->tensor_list.count + 1, 1);
    for (int j = 0; from != NULL && j < g->tensor_list.count; j++) {
        const lcsm_tensor *t = lcsm_tensor_at(g, j);
        if (t->kind == LCSM_TENSOR_INPUT) from[j] = FROM_DATA;
        if (t->kind == LCSM_TENSOR_PARAM
            && (g->params->list[t->param].flags & LCSM_PARAM_FROZEN) == 0)
            from[j] = FROM_LEARNED;
    }
    for (int j = 0; from != NULL && j < g->node_list.count; j++) {
        const lcsm_node *n   = lcsm_node_at(g, j);
        unsigned char    all = 0;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] != NULL) all |= from[lcsm_tensor_root(n->in[i], NULL)->index];
        for (int i = 0; i < n->n_out; i++) from[n->out[i]->index] = all;
    }
    return from;
}

static const char *source_name(unsigned char from)
{
    return (from & FROM_DATA) != 0 ? "data" : ((from & FROM_LEARNED) != 0 ? "learned" : "fixed");
}

/* The first node that mixes steps by what a method is named for. */
static const lcsm_node *mixing_node(const lcsm_graph *g)
{
    static const lcsm_op_id MIXING[] = {LCSM_OP_eos, LCSM_OP_longconv, LCSM_OP_attention};
    for (int j = 0; j < g->node_list.count; j++)
        for (size_t k = 0; k < COUNT(MIXING); k++)
            if (lcsm_node_at(g, j)->op == lcsm_op_row(MIXING[k], LCSM_F32))
                return lcsm_node_at(g, j);
    return NULL;
}

/* What the inputs of the mixing ops are, in words. */
static const struct {
    const char *op, *input, *meaning;
} MEANINGS[] = {
    {"eos", "i", "input"},
    {"eos", "e", "expand"},
    {"eos", "s", "shrink"},
    {"eos", "row", "log of o, per memory row"},
    {"eos", "col", "log of o, per channel"},
    {"eos", "full", "log of o, per row and channel"},
    {"eos", "row_phase", "angle of o, per memory row"},
    {"eos", "col_phase", "angle of o, per channel"},
    {"eos", "full_phase", "angle of o, per row and channel"},
    {"eos", "dense", "o as a matrix"},
    {"eos", "erase", "b: o = I - e b^T"},
    {"eos", "a", "a: o = gate + a b^T"},
    {"eos", "b", "b: o = gate + a b^T"},
    {"eos", "bonus", "u: weight of the step itself"},
    {"eos", "z", "log of what writes are scaled by"},
    {"eos", "m0", "initial memory"},
    {"longconv", "u", "input"},
    {"longconv", "kernel", "convolution kernel"},
    {"attention", "q", "query"},
    {"attention", "k", "key"},
    {"attention", "v", "value"},
};

/* Of u and w, from which o is generated. */
static const char *const GENERATED[] = {[LCSM_GEN_NONE]       = "",
                                        [LCSM_GEN_EXP]        = "factor: o = exp(u w)",
                                        [LCSM_GEN_GATE]       = "factor: o = sigmoid(u w)^(1/tau)",
                                        [LCSM_GEN_COMPLEMENT] = "factor: o = 1 - u w"};

static const char *meaning_of(const lcsm_node *n, const char *input)
{
    bool factor = strcmp(input, "u") == 0 || strcmp(input, "w") == 0;
    if (factor && n->op == lcsm_op_row(LCSM_OP_eos, LCSM_F32))
        return GENERATED[((const lcsm_eos_attr *)n->attr)->desc.gen];
    for (size_t j = 0; j < COUNT(MEANINGS); j++)
        if (strcmp(MEANINGS[j].op, n->op->name) == 0 && strcmp(MEANINGS[j].input, input) == 0)
            return MEANINGS[j].meaning;
    return "";
}

/* [T, H, K, D] without the axes that the operand does not have. */
static void operand_shape(char text[64], const lcsm_eos_desc *d, unsigned axes)
{
    char inner[40];
    if ((axes & LCSM_AXIS_KK) != 0) (void)snprintf(inner, sizeof inner, ", %td, %td", d->K, d->K);
    else {
        int used = 0;
        inner[0] = 0;
        if ((axes & LCSM_AXIS_K) != 0) used = snprintf(inner, sizeof inner, ", %td", d->K);
        if ((axes & LCSM_AXIS_D) != 0)
            (void)snprintf(inner + used, sizeof inner - (size_t)used, ", %td", d->D);
    }
    (void)snprintf(text, 64, "[%s%td%s]", (axes & LCSM_AXIS_T) != 0 ? "T, " : "", d->H, inner);
}

static void eos_shape(char text[64], const lcsm_node *n, int input)
{
    const lcsm_eos_desc   *d                  = &((const lcsm_eos_attr *)n->attr)->desc;
    const lcsm_eos_operand list[EOS_OPERANDS] = {
#define X(name) [EOS_##name] = d->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    operand_shape(text, d, list[input].axes);
}

static void list_states(const lcsm_graph *g, lcsm_model_summary *out)
{
    const lcsm_node *n    = mixing_node(g);
    unsigned char   *from = sources_of(g);
    if (n != NULL) (void)snprintf(out->op, sizeof out->op, "%s", n->op->name);
    for (int j = 0; n != NULL && from != NULL && j < n->n_in; j++) {
        if (n->in[j] == NULL || out->state_count == LCSM_STATES_MOST) continue;
        lcsm_state_info *s   = &out->states[out->state_count++];
        bool             eos = n->op == lcsm_op_row(LCSM_OP_eos, LCSM_F32) && j < EOS_OPERANDS;
        char             shape[LCSM_SHAPE_TEXT];
        (void)snprintf(s->name, sizeof s->name, "%s", lcsm_op_input(n->op, j));
        if (eos) eos_shape(s->shape, n, j);
        else
            (void)snprintf(s->shape, sizeof s->shape, "%.60s",
                           lcsm_shape_text(shape, &n->in[j]->shape));
        s->meaning = meaning_of(n, s->name);
        s->from    = source_name(from[lcsm_tensor_root(n->in[j], NULL)->index]);
    }
    free(from);
}

/* ---- cost ------------------------------------------------------------------------------- */

/* Of the nodes that depend on the data, or of all. */
static double flops_of(const lcsm_graph *g, bool data)
{
    unsigned char *from = sources_of(g);
    double         sum  = 0;
    for (int j = 0; from != NULL && j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op->flops != NULL && (!data || (from[n->out[0]->index] & FROM_DATA) != 0))
            sum += n->op->flops(n);
    }
    free(from);
    return sum;
}

static size_t memory_of(const lcsm_graph *g)
{
    size_t sum = 0;
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int s = 0; s < n->n_state; s++) {
            ptrdiff_t count;
            if (n->state[s].dtype != LCSM_I64 && lcsm_shape_count(&n->state[s].shape, &count))
                sum += (size_t)count;
        }
    }
    return sum;
}

/* The form that the planner takes for the first recurrence. */
static void plan_of(const lcsm_graph *g, ptrdiff_t T, lcsm_model_summary *out)
{
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op != lcsm_op_row(LCSM_OP_eos, LCSM_F32)) continue;
        lcsm_eos_desc desc = ((const lcsm_eos_attr *)n->attr)->desc;
        lcsm_eos_plan plan;
        desc.B = 1;
        desc.T = T;
        if (lcsm_eos_plan_make(&plan, n->pool, &desc, NULL) != LCSM_OK) return;
        (void)snprintf(out->form, sizeof out->form, "%s", lcsm_eos_form_name(plan.form));
        (void)snprintf(out->reason, sizeof out->reason, "%s", plan.reason);
        return;
    }
}

static void list_parameters(const lcsm_params *p, lcsm_model_summary *out, lcsm_parameter_fn *each,
                            void *user)
{
    out->parameters = lcsm_params_total(p);
    out->frozen     = out->parameters - lcsm_params_trained(p);
    for (size_t j = 0; each != NULL && j < p->count; j++) {
        char              text[LCSM_SHAPE_TEXT];
        const lcsm_param *row = &p->list[j];
        each(user, &(lcsm_parameter_info){row->name, lcsm_shape_text(text, &row->shape), row->count,
                                          (row->flags & LCSM_PARAM_FROZEN) != 0});
    }
}

/* ---- equations -------------------------------------------------------------------------- */

/* The next node of an op in a layer's mixer from node `from` on, or NULL; *at is its place. */
static const lcsm_node *node_of(const lcsm_graph *g, ptrdiff_t layer, lcsm_op_id op, int from,
                                int *at)
{
    char scope[40];
    (void)snprintf(scope, sizeof scope, "layers.%td.mixer", layer);
    for (*at = from; *at < g->node_list.count; ++*at) {
        const lcsm_node *n = lcsm_node_at(g, *at);
        if (n->op == lcsm_op_row(op, LCSM_F32) && strncmp(n->scope, scope, strlen(scope)) == 0)
            return n;
    }
    return NULL;
}

/* The first recurrence of a layer: its operator, NULL without one, and what stands around it. */
typedef struct {
    const lcsm_eos_desc    *op;
    const lcsm_divide_attr *divide; /* what comes out, by the same sum for inputs of 1 */
    bool                    scaled; /* what is written is times exp(z_t) */
} recurrence;

static recurrence recurrence_of(const lcsm_graph *g, ptrdiff_t layer)
{
    static const lcsm_divide_attr plain = {0, LCSM_DIVIDE_PLAIN};
    int                           at, other;
    recurrence                    r = {NULL, NULL, false};
    const lcsm_node              *n = node_of(g, layer, LCSM_OP_eos, 0, &at), *divide;
    if (n == NULL) return r;
    r.op     = &((const lcsm_eos_attr *)n->attr)->desc;
    r.scaled = n->n_in > LCSM_EOS_Z && n->in[LCSM_EOS_Z] != NULL;
    if (r.scaled) r.divide = &plain;
    if (node_of(g, layer, LCSM_OP_running_max, 0, &other) != NULL) r.scaled = true;
    divide = node_of(g, layer, LCSM_OP_divide, at, &other);
    if (divide != NULL) r.divide = divide->attr;
    return r;
}

/* What stands around the operator. */
static void around(lcsm_strbuf *text, const recurrence *r)
{
    if (r->scaled) lcsm_strbuf_add(text, "what is written, e i_t, is multiplied by exp(z_t)\n");
    if (r->divide == NULL) return;
    lcsm_strbuf_add(text, "y_t is divided by ");
    if (r->divide->kind == LCSM_DIVIDE_FLOOR) lcsm_strbuf_add(text, "max(|n_t|, 1)");
    else if (r->divide->kind == LCSM_DIVIDE_AT_LEAST)
        lcsm_strbuf_printf(text, "max(n_t, %g)", r->divide->eps);
    else lcsm_strbuf_add(text, "n_t");
    lcsm_strbuf_add(text, "; n_t is the same sum with i = 1\n");
}

/* A row of the table has names of states, and softmax attention no recurrence. */
static void method_equations(lcsm_strbuf *text, const char *name, const recurrence *r)
{
    const lcsm_method *m = lcsm_method_find(name);
    if (m == NULL) return;
    if (m->psi[0] == '-') {
        lcsm_strbuf_add(text, "y_t = sum_j softmax_j(q_t . k_j / sqrt(d)) v_j over all j <= t\n");
        return;
    }
    if (r->op != NULL) lcsm_operator_equations(text, r->op);
    else
        lcsm_strbuf_printf(text, "m_t = o_t %sm_{t-1} + e_t i_t^T\ny_t = %s\n",
                           m->psi[0] == '@' ? "" : "* ", lcsm_method_output(m));
    around(text, r);
    lcsm_strbuf_printf(text, "in the table: i = %s,  e = %s,  o = %s,  s = %s\n", m->input,
                       m->expand, m->oscillation, m->shrink);
}

static bool by_code(const char *name)
{
    const lcsm_method *m = lcsm_method_find(name);
    return m != NULL && m->states == lcsm_code_build;
}

static void mixer_equations(lcsm_strbuf *text, const lcsm_model_config *layer, const recurrence *r)
{
    lcsm_code_states c;
    bool             eos = layer->code[0] != 0 || by_code(layer->method);
    if (eos && lcsm_code_of_config(layer, &c, NULL) == LCSM_OK)
        lcsm_code_equations(text, &c, layer->tau);
    else method_equations(text, layer->method, r);
}

/* Whether an earlier layer, or an earlier mixer of this one, is the same. */
static bool came_before(const lcsm_model_config *cfg, ptrdiff_t layer, int mixer, const char *name)
{
    lcsm_model_config other;
    for (ptrdiff_t j = 0; j <= layer; j++)
        for (int k = 0; lcsm_pattern_layer(&other, cfg, j, k); k++) {
            if (j == layer && k == mixer) return false;
            if (strcmp(lcsm_model_config_name(&other), name) == 0) return true;
        }
    return false;
}

/* Whether a layer has more than one mixer. */
static bool parallel(const lcsm_model_config *cfg, ptrdiff_t layer)
{
    lcsm_model_config other;
    return lcsm_pattern_layer(&other, cfg, layer, 1);
}

/* Of each mixer once, under its name where there are several. */
static void list_equations(const lcsm_model_config *cfg, const lcsm_graph *g,
                           lcsm_model_summary *out)
{
    lcsm_strbuf       text = {0};
    lcsm_model_config own;
    for (ptrdiff_t j = 0; j < lcsm_pattern_length(cfg); j++)
        for (int k = 0; lcsm_pattern_layer(&own, cfg, j, k); k++) {
            const char *name = lcsm_model_config_name(&own);
            if (came_before(cfg, j, k, name)) continue;
            if (cfg->layers_pattern[0] != 0) lcsm_strbuf_printf(&text, "%s:\n", name);
            recurrence r = {NULL, NULL, false};
            if (!parallel(cfg, j)) r = recurrence_of(g, j);
            mixer_equations(&text, &own, &r);
        }
    (void)snprintf(out->equations, sizeof out->equations, "%s", lcsm_strbuf_text(&text));
    lcsm_strbuf_free(&text);
}

lcsm_status lcsm_model_describe(const lcsm_context *ctx, const lcsm_model_config *cfg,
                                ptrdiff_t length, lcsm_model_summary *out, lcsm_parameter_fn *each,
                                void *user, lcsm_error *err)
{
    lcsm_params       *params = NULL, *one_params = NULL;
    lcsm_graph        *g = NULL, *one = NULL;
    lcsm_code_states   c;
    lcsm_status        st;
    lcsm_model_summary m = {.size = sizeof m, .layers = (size_t)lcsm_model_config_layers(cfg)};
    LCSM_TRY(LCSM_SIZED(lcsm_model_summary, states, out, err));
    LCSM_TRY(lcsm_params_create(&params, LCSM_F32, 0, err));
    LCSM_TRY(lcsm_params_create(&one_params, LCSM_F32, 0, err));
    LCSM_TRY(lcsm_model_sketch(&g, ctx, params, cfg, length, true, err));
    LCSM_TRY(lcsm_model_sketch(&one, ctx, one_params, cfg, 1, false, err));
    m.train_flops   = 3 * flops_of(g, false) / (double)length;
    m.decode_flops  = flops_of(one, true);
    m.memory_floats = memory_of(one);
    plan_of(g, length, &m);
    list_states(g, &m);
    list_equations(cfg, g, &m);
    if (strcmp(lcsm_model_config_kind(cfg), "code") == 0
        && lcsm_code_parse(cfg->code, &c, NULL) == LCSM_OK)
        m.reference_frozen =
            (size_t)(lcsm_model_config_layers(cfg)
                     * lcsm_code_frozen(&c, cfg->expand > 0 ? cfg->expand : 128, cfg->d_model));
    list_parameters(params, &m, each, user);
    lcsm_sized_fill(out, &m, sizeof m);
cleanup:
    lcsm_graph_free(g);
    lcsm_graph_free(one);
    lcsm_params_free(params);
    lcsm_params_free(one_params);
    return st;
}
