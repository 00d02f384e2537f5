/* trainer.c - one update at a time. */
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/settings.h"

/* ---- making one --------------------------------------------------------------------------- */

static lcsm_status build(lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_train_config *c    = &t->cfg;
    lcsm_model_want          want = {
                 .packed = c->carried, .whole = !c->carried, .loss = true, .ignore = LCSM_TARGET_NONE};
    if (c->task == LCSM_TASK_MQAR) want.labels = c->pairs;
    lcsm_plan_options plan = {.train = true, .recompute = c->recompute, .both = true};
    lcsm_adamw_config adam = lcsm_train_adamw(c);
    lcsm_status       st   = LCSM_OK;
    LCSM_TRY(lcsm_graph_create(&t->g, t->model->ctx, t->model->params, err));
    LCSM_TRY(lcsm_model_build(t->g, &t->model->cfg, c->batch_size, c->seq_len, &want, &t->io, err));
    LCSM_TRY(lcsm_graph_plan(t->g, &plan, err));
    LCSM_TRY(lcsm_optimizer_create(&t->optimizer, t->model->params, &adam, err));
    if (c->carried) LCSM_TRY(lcsm_state_create(&t->state, t->g, err));
cleanup:
    return st;
}

lcsm_status lcsm_trainer_make(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                              int64_t total, int64_t epoch, lcsm_error *err)
{
    lcsm_trainer *t  = NULL;
    lcsm_status   st = LCSM_OK;
    *out             = NULL;
    LCSM_TRY(lcsm_train_config_check(cfg, err));
    t = calloc(1, sizeof *t);
    if (t == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a trainer");
    *t = (lcsm_trainer){
        .model = model, .cfg = *cfg, .schedule = lcsm_train_schedule(cfg, total, epoch)};
    LCSM_TRY(lcsm_schedule_check(&t->schedule, err));
    LCSM_TRY(build(t, err));
    *out = t;
    t    = NULL;
cleanup:
    lcsm_trainer_free(t);
    return st;
}

lcsm_status lcsm_trainer_create(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                                int64_t total, lcsm_error *err)
{
    if (total == 0) total = cfg->steps > 0 ? cfg->steps : 1000;
    return lcsm_trainer_make(out, model, cfg, total, 1, err);
}

void lcsm_trainer_free(lcsm_trainer *t)
{
    if (t == NULL) return;
    lcsm_state_free(t->state);
    lcsm_optimizer_free(t->optimizer);
    lcsm_graph_free(t->g);
    free(t);
}

size_t lcsm_trainer_bytes(const lcsm_trainer *t)
{
    lcsm_plan_report r = lcsm_graph_report(t->g);
    return r.arena + 2 * r.state + 4 * t->model->params->block * sizeof(float);
}

/* ---- an update ---------------------------------------------------------------------------- */

static size_t batch(const lcsm_trainer *t)
{
    return (size_t)t->cfg.batch_size * (size_t)t->cfg.seq_len;
}

static int64_t count(const int32_t *targets, size_t n)
{
    int64_t kept = 0;
    for (size_t j = 0; j < n; j++) kept += targets[j] != LCSM_TARGET_NONE;
    return kept;
}

/* The targets that count and their rows; what is left of the places has a target that does not. */
static lcsm_status load_labels(lcsm_trainer *t, const int32_t *targets, lcsm_error *err)
{
    int32_t *places = t->io.places->data, *kept = t->io.targets->data;
    size_t   room = (size_t)lcsm_tensor_count(t->io.places), n = 0;
    for (size_t j = 0; j < batch(t); j++) {
        if (targets[j] == LCSM_TARGET_NONE) continue;
        if (n == room)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "more than %zu targets count in a batch of %td with pairs = %td", room,
                             t->cfg.batch_size, t->cfg.pairs);
        places[n] = (int32_t)j;
        kept[n++] = targets[j];
    }
    for (; n < room; n++) {
        places[n] = 0;
        kept[n]   = LCSM_TARGET_NONE;
    }
    return LCSM_OK;
}

static lcsm_status load(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                        const int32_t *reset, lcsm_error *err)
{
    size_t bytes = batch(t) * sizeof(int32_t);
    memcpy(t->io.tokens->data, tokens, bytes);
    if (t->io.reset != NULL && reset != NULL) memcpy(t->io.reset->data, reset, bytes);
    if (t->io.reset != NULL && reset == NULL) memset(t->io.reset->data, 0, bytes);
    if (t->io.places != NULL) return load_labels(t, targets, err);
    memcpy(t->io.targets->data, targets, bytes);
    return LCSM_OK;
}

/* The first op whose result is not finite, found by running again. */
static lcsm_status name_bad(lcsm_trainer *t, const lcsm_run_options *opt, const char *when,
                            int64_t step, lcsm_error *err)
{
    lcsm_run_options again = *opt;
    lcsm_error       why   = {0};
    again.check            = true;
    again.learn            = false;
    again.state            = NULL;
    bool found             = lcsm_graph_forward(t->g, &again, &why) != LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_NUMBER, "%s %lld: the loss is not finite%s%s", when,
                     (long long)step, found ? "; first in " : "", found ? why.text : "");
}

static lcsm_status bad_gradient(const lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_params *p = t->model->params;
    for (size_t row = 0; row < p->count; row++) {
        const float *g = lcsm_param_grads(p, (int)row);
        for (size_t j = 0; j < p->list[row].count; j++)
            if (!isfinite(g[j]))
                return lcsm_fail(err, LCSM_ERR_NUMBER,
                                 "update %lld: the gradient of %s is not finite",
                                 (long long)t->optimizer->steps + 1, p->list[row].name);
    }
    return lcsm_fail(err, LCSM_ERR_NUMBER, "update %lld: the norm of the gradient overflows",
                     (long long)t->optimizer->steps + 1);
}

static lcsm_status run_batch(lcsm_trainer *t, ptrdiff_t j, double share, lcsm_tally *sum,
                             lcsm_error *err)
{
    lcsm_run_options opt = {
        .training = true,
        .seed     = (uint64_t)t->cfg.seed * 0x9e3779b97f4a7c15u
              + (uint64_t)(t->optimizer->steps * t->cfg.accumulate + j),
        .state      = t->state,
        .accumulate = j > 0,
        .loss_scale = share,
        .watch      = t->watch,
        .learn      = true,
    };
    lcsm_status st = lcsm_graph_forward(t->g, &opt, err);
    if (st != LCSM_OK) return st;
    if (!isfinite(*(const float *)t->io.loss->data))
        return name_bad(t, &opt, "update", t->optimizer->steps + 1, err);
    lcsm_tally_add(sum, &t->io);
    return lcsm_graph_backward(t->g, &opt, err);
}

static double rate(const lcsm_trainer *t)
{
    return lcsm_schedule_rate(&t->schedule, t->optimizer->steps);
}

lcsm_status lcsm_trainer_step(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                              const int32_t *reset, lcsm_update *out, lcsm_error *err)
{
    size_t     n   = batch(t);
    int64_t    all = count(targets, n * (size_t)t->cfg.accumulate);
    lcsm_tally sum = {0};
    double     lr  = rate(t);
    for (ptrdiff_t j = 0; j < t->cfg.accumulate; j++) {
        size_t      at    = (size_t)j * n;
        int64_t     kept  = count(targets + at, n);
        double      share = all == 0 ? 1 : (double)kept / (double)all;
        lcsm_status st = load(t, tokens + at, targets + at, reset == NULL ? NULL : reset + at, err);
        if (st == LCSM_OK) st = run_batch(t, j, kept == 0 ? 1 : share, &sum, err);
        if (st != LCSM_OK) return st;
    }
    double from = t->watch == NULL ? 0 : lcsm_now();
    double norm = lcsm_optimizer_step(t->optimizer, t->model->ctx, lr, t->cfg.clip);
    if (t->watch != NULL) t->watch->step(t->watch->user, "optimizer", true, lcsm_now() - from);
    if (!isfinite(norm)) return bad_gradient(t, err);
    t->tokens += all;
    *out = (lcsm_update){.step      = t->optimizer->steps,
                         .tokens    = t->tokens,
                         .loss      = lcsm_tally_loss(&sum),
                         .accuracy  = lcsm_tally_accuracy(&sum),
                         .grad_norm = norm,
                         .lr        = lr};
    return LCSM_OK;
}

/* ---- evaluation --------------------------------------------------------------------------- */

lcsm_status lcsm_trainer_evaluate(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                                  lcsm_tally *sum, lcsm_error *err)
{
    const lcsm_run_options opt = {0};
    lcsm_status            st  = load(t, tokens, targets, NULL, err);
    if (st == LCSM_OK) st = lcsm_graph_forward(t->g, &opt, err);
    if (st != LCSM_OK) return st;
    if (!isfinite(*(const float *)t->io.loss->data))
        return name_bad(t, &opt, "evaluation after update", t->optimizer->steps, err);
    lcsm_tally_add(sum, &t->io);
    return LCSM_OK;
}
