/* inspect_pieces.c - graphs over a few tokens whose operands are kept. */
#include "inspect/inspect_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/internal.h"
#include "model/config.h"
#include "model/model_weights.h"

lcsm_status lcsm_inspect_no_room(lcsm_error *err)
{
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to inspect a model");
    return LCSM_ERR_MEMORY;
}

static void take_node(lcsm_inspect_piece *p, lcsm_node *n, unsigned kept)
{
    int layer = -1;
    if (sscanf(n->scope, "layers.%d", &layer) != 1 || layer < 0 || (size_t)layer >= p->layers
        || p->sources[layer].node != NULL)
        return;
    p->sources[layer].node = n;
    for (int j = 0; j < n->n_in; j++)
        if ((kept & LCSM_BIT(j)) != 0 && n->in[j] != NULL) lcsm_keep(p->g, n->in[j]);
}

static lcsm_status build(lcsm_inspect_piece *p, const lcsm_model *model, lcsm_error *err)
{
    lcsm_model_want want = {.logits = true, .last = true, .ignore = -1};
    LCSM_OR_RETURN(lcsm_graph_create(&p->g, model->ctx, model->params, err));
    LCSM_OR_RETURN(lcsm_model_build(p->g, &model->cfg, 1, (ptrdiff_t)p->steps, &want, &p->io, err));
    if (p->io.tokens == NULL) {
        (void)lcsm_fail(err, LCSM_ERR_INTERNAL, "the model has no token input");
        return LCSM_ERR_INTERNAL;
    }
    return LCSM_OK;
}

lcsm_status lcsm_inspect_piece_create(lcsm_inspect_piece *p, const lcsm_model *model, size_t steps,
                                      lcsm_inspect_takes *takes, unsigned kept, lcsm_error *err)
{
    const lcsm_op *eos = lcsm_op_row(LCSM_OP_eos, LCSM_F32);
    p->steps           = steps;
    p->layers          = (size_t)lcsm_model_config_layers(&model->cfg);
    p->sources         = calloc(p->layers + 1, sizeof *p->sources);
    if (p->sources == NULL) return lcsm_inspect_no_room(err);
    LCSM_OR_RETURN(build(p, model, err));
    for (int j = 0; j < p->g->node_list.count; j++) {
        lcsm_node *n = lcsm_node_at(p->g, j);
        if (n->op == eos && takes(n)) take_node(p, n, kept);
    }
    LCSM_OR_RETURN(lcsm_graph_plan(p->g, &(lcsm_plan_options){0}, err));
    for (size_t j = 0; j < p->layers; j++)
        if (p->sources[j].node != NULL)
            LCSM_OR_RETURN(lcsm_eos_node_plan(p->sources[j].node, &p->sources[j].plan, err));
    return LCSM_OK;
}

void lcsm_inspect_piece_free(lcsm_inspect_piece *p)
{
    lcsm_graph_free(p->g);
    free(p->sources);
}

lcsm_status lcsm_inspect_piece_read(const lcsm_inspect_piece *p, lcsm_state *state,
                                    const int32_t *ids, bool check, lcsm_error *err)
{
    memcpy(p->io.tokens->data, ids, p->steps * sizeof *ids);
    return lcsm_graph_forward(p->g, &(lcsm_run_options){.state = state, .check = check}, err);
}
