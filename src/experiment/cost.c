/* cost.c - what runs will take: operations from the graph, a rate from a few updates. */
#include <lcsm/dataset.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "experiment/run_plan.h"
#include "model/config.h"

static lcsm_model_config model_of(const lcsm_grid_run *r, size_t vocab)
{
    lcsm_model_config m    = r->model;
    bool              text = lcsm_task_reads_text(lcsm_train_task(&r->train));
    m.vocab = lcsm_model_config_vocab(&m, text ? vocab : lcsm_train_vocab(&r->train));
    lcsm_train_wire(&r->train, &m);
    return m;
}

lcsm_status lcsm_plan_flops(double *out, const lcsm_context *ctx, const lcsm_grid_run *r,
                            size_t vocab, lcsm_error *err)
{
    lcsm_model_summary sum = {.size = sizeof sum};
    lcsm_model_config  m   = model_of(r, vocab);
    lcsm_status        st  = lcsm_model_describe(ctx, &m, r->train.seq_len, &sum, NULL, NULL, err);
    if (st == LCSM_OK) *out = sum.train_flops * r->tokens;
    return st;
}

/* The fastest of a few updates on a batch of at most four thousand tokens. Some tasks
 * have few targets in a sequence. */
static double time_updates(lcsm_trainer *t, const lcsm_train_config *cfg, size_t vocab)
{
    enum { UPDATES = 2 };
    size_t      T = (size_t)cfg->seq_len, n = (size_t)cfg->batch_size * T;
    size_t      few = (size_t)lcsm_train_labels(cfg), marked = few > 0 ? few : T;
    int32_t    *tokens = malloc(2 * n * sizeof *tokens), *targets = tokens + n;
    double      best   = NAN;
    lcsm_update update = {.size = sizeof update};
    if (tokens == NULL) return NAN;
    for (size_t j = 0; j < n; j++) {
        tokens[j]  = (int32_t)(j * 7919 % vocab);
        targets[j] = j % T < marked ? tokens[j] : LCSM_TARGET_NONE;
    }
    for (int j = 0; j < UPDATES; j++) {
        double start = lcsm_now();
        if (lcsm_trainer_step(t, tokens, targets, NULL, &update, NULL) != LCSM_OK) break;
        double seconds = lcsm_now() - start;
        if (!(best <= seconds)) best = seconds;
    }
    free(tokens);
    return best;
}

double lcsm_plan_rate(const lcsm_context *ctx, const lcsm_grid_run *r, size_t vocab)
{
    enum { TOKENS = 4096 };
    lcsm_model_config  m     = model_of(r, vocab);
    lcsm_train_config  cfg   = r->train;
    lcsm_model        *model = NULL;
    lcsm_trainer      *t     = NULL;
    lcsm_model_summary sum   = {.size = sizeof sum};
    double             rate  = NAN;
    ptrdiff_t          few   = TOKENS / cfg.seq_len > 0 ? TOKENS / cfg.seq_len : 1;
    if (cfg.batch_size > few) cfg.batch_size = few;
    cfg.accumulate = 1;
    if (lcsm_model_describe(ctx, &m, cfg.seq_len, &sum, NULL, NULL, NULL) == LCSM_OK
        && lcsm_model_create(&model, ctx, &m, 1, NULL) == LCSM_OK
        && lcsm_trainer_create(&t, model, &cfg, 10, NULL) == LCSM_OK)
        rate = sum.train_flops * (double)cfg.batch_size * (double)cfg.seq_len
             / time_updates(t, &cfg, (size_t)m.vocab);
    lcsm_trainer_free(t);
    lcsm_model_free(model);
    return rate;
}
