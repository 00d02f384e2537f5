/* recall.c - how well a model recalls: the examples that a run is evaluated on. */
#include "data/mqar.h"
#include "graph/graph.h"
#include "model/handle.h"
#include "train/batches.h"
#include "train/tally.h"

lcsm_status lcsm_evaluate_recall(const lcsm_model *model, const lcsm_train_config *cfg,
                                 lcsm_tally *out, lcsm_error *err)
{
    lcsm_status     st   = LCSM_OK;
    lcsm_graph     *g    = NULL;
    lcsm_model_want want = {.whole = true, .loss = true, .ignore = LCSM_TARGET_NONE};
    lcsm_model_io   io;
    lcsm_batches    batches = lcsm_batches_recall(cfg, model->cfg.vocab, true);
    *out                    = (lcsm_tally){0};
    LCSM_TRY(lcsm_mqar_check(&batches.mqar, err));
    LCSM_TRY(lcsm_graph_create(&g, model->ctx, model->params, err));
    LCSM_TRY(lcsm_model_build(g, &model->cfg, batches.B, batches.T, &want, &io, err));
    LCSM_TRY(lcsm_graph_plan(g, &(lcsm_plan_options){0}, err));
    for (int64_t j = 0; j < lcsm_batches_count(&batches); j++) {
        lcsm_batches_fill(&batches, j, io.tokens->data, io.targets->data, NULL);
        LCSM_TRY(lcsm_graph_forward(g, NULL, err));
        lcsm_tally_add(out, &io);
    }
cleanup:
    lcsm_graph_free(g);
    return st;
}
