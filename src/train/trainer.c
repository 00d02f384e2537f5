/* trainer.c - one step at a time. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sized.h"
#include "train/settings.h"

/* ---- making one --------------------------------------------------------------------------- */

static lcsm_status build(lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_train_config *c    = &t->cfg;
    lcsm_model_want          want = {
                 .packed = c->carried, .whole = !c->carried, .loss = true, .ignore = LCSM_TARGET_NONE};
    want.labels            = lcsm_train_labels(c);
    lcsm_plan_options plan = {.train = true, .recompute = c->recompute, .both = true};
    lcsm_adamw_config adam = lcsm_train_adamw(c);
    t->e.B = c->batch_size, t->e.T = c->seq_len;
    LCSM_OR_RETURN(lcsm_graph_create(&t->e.g, t->model->ctx, t->model->params, err));
    LCSM_OR_RETURN(
        lcsm_model_build(t->e.g, &t->model->cfg, c->batch_size, c->seq_len, &want, &t->e.io, err));
    LCSM_OR_RETURN(lcsm_graph_plan(t->e.g, &plan, err));
    LCSM_OR_RETURN(lcsm_optimizer_create(&t->optimizer, t->model->params, &adam, err));
    if (c->carried) LCSM_OR_RETURN(lcsm_state_create(&t->state, t->e.g, err));
    return LCSM_OK;
}

lcsm_status lcsm_trainer_make(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                              int64_t total, int64_t epoch, lcsm_error *err)
{
    lcsm_trainer *t  = NULL;
    lcsm_status   st = LCSM_OK;
    *out             = NULL;
    LCSM_TRY(lcsm_train_config_check(cfg, err));
    t = calloc(1, sizeof *t);
    if (t == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a trainer");
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
    lcsm_evaluator_close(&t->e);
    free(t);
}

size_t lcsm_trainer_bytes(const lcsm_trainer *t)
{
    lcsm_plan_report r = lcsm_graph_report(t->e.g);
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

enum { STEP_NAME = 64 };

static const char *step_name(char text[STEP_NAME], const char *what, int64_t step)
{
    (void)snprintf(text, STEP_NAME, "%s %lld", what, (long long)step);
    return text;
}

static lcsm_status bad_gradient(const lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_params *p = t->model->params;
    for (size_t row = 0; row < p->count; row++) {
        const float *g = lcsm_param_grads(p, (int)row);
        for (size_t j = 0; j < p->list[row].count; j++)
            if (!isfinite(g[j]))
                return lcsm_fail(err, LCSM_ERR_NUMBER,
                                 "step %lld: the gradient of %s is NaN or infinite",
                                 (long long)t->optimizer->steps + 1, p->list[row].name);
    }
    return lcsm_fail(err, LCSM_ERR_NUMBER, "step %lld: the norm of the gradient overflows",
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
    char        text[STEP_NAME];
    lcsm_status st = lcsm_graph_forward(t->e.g, &opt, err);
    if (st != LCSM_OK) return st;
    if (!isfinite(*(const float *)t->e.io.loss->data))
        return lcsm_evaluator_not_finite(&t->e, &opt,
                                         step_name(text, "step", t->optimizer->steps + 1), err);
    lcsm_tally_add(sum, &t->e.io);
    return lcsm_graph_backward(t->e.g, &opt, err);
}

static double rate(const lcsm_trainer *t)
{
    return lcsm_schedule_rate(&t->schedule, t->optimizer->steps);
}

lcsm_status lcsm_trainer_step(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                              const int32_t *reset, lcsm_update *out, lcsm_error *err)
{
    size_t      n     = batch(t);
    int64_t     all   = count(targets, n * (size_t)t->cfg.accumulate);
    lcsm_tally  sum   = {0};
    double      lr    = rate(t);
    lcsm_status sized = LCSM_SIZED(lcsm_update, lr, out, err);
    if (sized != LCSM_OK) return sized;
    for (ptrdiff_t j = 0; j < t->cfg.accumulate; j++) {
        size_t      at    = (size_t)j * n;
        int64_t     kept  = count(targets + at, n);
        double      share = all == 0 ? 1 : (double)kept / (double)all;
        lcsm_status st    = lcsm_evaluator_load(&t->e, tokens + at, targets + at,
                                             reset == NULL ? NULL : reset + at, err);
        if (st == LCSM_OK) st = run_batch(t, j, kept == 0 ? 1 : share, &sum, err);
        if (st != LCSM_OK) return st;
    }
    double from = t->watch == NULL ? 0 : lcsm_now();
    double norm = lcsm_optimizer_step(t->optimizer, t->model->ctx, lr, t->cfg.clip);
    if (t->watch != NULL) t->watch->step(t->watch->user, "optimizer", true, lcsm_now() - from);
    if (!isfinite(norm)) return bad_gradient(t, err);
    t->tokens += all;
    lcsm_update u = {.size      = sizeof u,
                     .step      = t->optimizer->steps,
                     .tokens    = t->tokens,
                     .loss      = lcsm_tally_loss(&sum),
                     .accuracy  = lcsm_tally_accuracy(&sum),
                     .grad_norm = norm,
                     .lr        = lr};
    lcsm_sized_fill(out, &u, sizeof u);
    return LCSM_OK;
}

/* ---- evaluation --------------------------------------------------------------------------- */

lcsm_status lcsm_trainer_evaluate(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                                  lcsm_tally *sum, lcsm_error *err)
{
    char what[STEP_NAME];
    return lcsm_evaluator_batch(&t->e, tokens, targets,
                                step_name(what, "evaluation after step", t->optimizer->steps), sum,
                                err);
}
