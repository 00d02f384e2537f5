/* describe.c - what a model is, from its graph alone: nothing is planned or allocated. */
#include <lcsm/model.h>

#include <stdio.h>

#include "eos/code.h"
#include "eos/method.h"
#include "graph/internal.h"
#include "kernel/eos/eos_plan.h"
#include "model/model.h"

size_t lcsm_method_count(void)
{
    return LCSM_METHOD_COUNT;
}

lcsm_method_info lcsm_method_at(size_t row)
{
    const lcsm_method *m = &LCSM_METHODS[row];
    return (lcsm_method_info){m->name,   m->family,      m->input,
                              m->expand, m->oscillation, m->shrink,
                              m->psi,    m->memory,      lcsm_method_has_bare(m)};
}

size_t lcsm_code_count(void)
{
    return LCSM_OSC_CODES;
}

lcsm_code_info lcsm_code_at(size_t row)
{
    return (lcsm_code_info){(int)row, LCSM_OSC_TABLE[row].notation, LCSM_OSC_TABLE[row].text};
}

static double flops_of(const lcsm_graph *g)
{
    double sum = 0;
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op->flops != NULL) sum += n->op->flops(n);
    }
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
static void plan_of(const lcsm_graph *g, const lcsm_context *ctx, ptrdiff_t T,
                    lcsm_model_summary *out)
{
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op != lcsm_op_row(LCSM_OP_eos, LCSM_F32)) continue;
        lcsm_eos_desc desc = ((const lcsm_eos_attr *)n->attr)->desc;
        lcsm_eos_plan plan;
        desc.B = 1;
        desc.T = T;
        if (lcsm_eos_plan_make(&plan, lcsm_context_threads(ctx), &desc, NULL) != LCSM_OK) return;
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

lcsm_status lcsm_model_describe(const lcsm_context *ctx, const lcsm_model_config *cfg,
                                ptrdiff_t length, lcsm_model_summary *out, lcsm_parameter_fn *each,
                                void *user, lcsm_error *err)
{
    lcsm_params     *params = NULL, *one_params = NULL;
    lcsm_graph      *g = NULL, *one = NULL;
    lcsm_code_states c;
    lcsm_status      st;
    *out = (lcsm_model_summary){.layers = (size_t)lcsm_model_config_layers(cfg)};
    LCSM_TRY(lcsm_params_create(&params, LCSM_F32, 0, err));
    LCSM_TRY(lcsm_params_create(&one_params, LCSM_F32, 0, err));
    LCSM_TRY(lcsm_model_sketch(&g, ctx, params, cfg, length, true, err));
    LCSM_TRY(lcsm_model_sketch(&one, ctx, one_params, cfg, 1, false, err));
    out->train_flops   = 3 * flops_of(g) / (double)length;
    out->decode_flops  = flops_of(one);
    out->memory_floats = memory_of(one);
    plan_of(g, ctx, length, out);
    if (cfg->code[0] != 0 && lcsm_code_parse(cfg->code, &c, NULL) == LCSM_OK)
        out->reference_frozen =
            (size_t)(lcsm_model_config_layers(cfg)
                     * lcsm_code_frozen(&c, cfg->expand > 0 ? cfg->expand : 128, cfg->d_model));
    list_parameters(params, out, each, user);
cleanup:
    lcsm_graph_free(g);
    lcsm_graph_free(one);
    lcsm_params_free(params);
    lcsm_params_free(one_params);
    return st;
}
