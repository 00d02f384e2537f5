/* trainer.c - one step at a time. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/sized.h"
#include "train/settings.h"
#include "train/votes.h"

/* ---- what is trained ---------------------------------------------------------------------- */

lcsm_status lcsm_train_freeze(lcsm_model *model, const lcsm_train_config *cfg, lcsm_error *err)
{
    unsigned only = model->cfg.adapter > 0 ? LCSM_PARAM_ADDED : 0;
    (void)cfg;
    return lcsm_params_train_only(model->params, only, err);
}

/* ---- making one --------------------------------------------------------------------------- */

static size_t tokens_of(const lcsm_trainer *t, ptrdiff_t rows)
{
    return (size_t)rows * (size_t)t->cfg.seq_len;
}

static bool is_cut(const lcsm_trainer *t)
{
    return t->e.B != t->cfg.batch_size;
}

static lcsm_status build_graph(lcsm_trainer *t, lcsm_dist *dist, lcsm_error *err)
{
    const lcsm_train_config *c    = &t->cfg;
    lcsm_model_want          want = {
                 .packed = c->carried, .whole = !c->carried, .loss = true, .ignore = LCSM_TARGET_NONE};
    want.labels            = lcsm_train_labels(c);
    lcsm_plan_options plan = {.train = true, .recompute = c->recompute, .both = true};
    t->e.B = lcsm_shards_rows(c, dist), t->e.T = c->seq_len;
    LCSM_OR_RETURN(lcsm_train_freeze(t->model, c, err));
    LCSM_OR_RETURN(lcsm_graph_create(&t->e.g, t->model->ctx, t->model->params, err));
    if (c->precision == LCSM_PRECISION_BF16) lcsm_graph_use_bf16(t->e.g);
    LCSM_OR_RETURN(lcsm_model_build(t->e.g, &t->model->cfg, t->e.B, t->e.T, &want, &t->e.io, err));
    return lcsm_graph_plan(t->e.g, &plan, err);
}

static lcsm_status create_states(lcsm_trainer *t, lcsm_error *err)
{
    int own   = lcsm_trainer_shards(t);
    t->states = calloc((size_t)own + 1, sizeof(lcsm_state *));
    if (t->states == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for states");
    for (int j = 0; j < own; j++) LCSM_OR_RETURN(lcsm_state_create(&t->states[j], t->e.g, err));
    return LCSM_OK;
}

static lcsm_status build(lcsm_trainer *t, lcsm_dist *dist, lcsm_error *err)
{
    lcsm_adamw_config adam = lcsm_train_adamw(&t->cfg);
    size_t            n;
    LCSM_OR_RETURN(build_graph(t, dist, err));
    LCSM_OR_RETURN(lcsm_optimizer_create_slice(&t->optimizer, t->model->params, &adam,
                                               lcsm_dist_rank(dist), lcsm_dist_size(dist), err));
    LCSM_OR_RETURN(lcsm_shards_open(&t->shards, dist, &t->cfg, t->optimizer, err));
    LCSM_OR_RETURN(lcsm_votes_create(&t->votes, &t->shards, err));
    if (is_cut(t) && lcsm_size_mul(tokens_of(t, t->e.B), 3 * sizeof *t->rows, &n))
        t->rows = malloc(n);
    if (is_cut(t) && t->rows == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a shard of a batch");
    return t->cfg.carried ? create_states(t, err) : LCSM_OK;
}

lcsm_status lcsm_trainer_make(lcsm_trainer **out, lcsm_model *model, const lcsm_train_config *cfg,
                              lcsm_dist *dist, int64_t total, int64_t epoch, lcsm_error *err)
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
    LCSM_TRY(build(t, dist, err));
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
    return lcsm_trainer_make(out, model, cfg, NULL, total, 1, err);
}

void lcsm_trainer_free(lcsm_trainer *t)
{
    if (t == NULL) return;
    for (int j = 0; t->states != NULL && j < lcsm_trainer_shards(t); j++)
        lcsm_state_free(t->states[j]);
    free(t->states);
    free(t->rows);
    lcsm_votes_free(t->votes);
    lcsm_shards_close(&t->shards);
    lcsm_optimizer_free(t->optimizer);
    lcsm_evaluator_close(&t->e);
    free(t);
}

int lcsm_trainer_shards(const lcsm_trainer *t)
{
    return t->shards.end - t->shards.first;
}

size_t lcsm_trainer_bytes(const lcsm_trainer *t)
{
    lcsm_plan_report r     = lcsm_graph_report(t->e.g);
    size_t           block = t->model->params->block, own = t->optimizer->end - t->optimizer->first;
    size_t           sums = t->shards.sums == NULL             ? 0
                          : lcsm_dist_size(t->shards.dist) > 1 ? own * (size_t)t->shards.count
                                                               : block;
    return r.arena + 2 * r.state * (size_t)lcsm_trainer_shards(t)
         + (2 * block + 2 * own + sums) * sizeof(float);
}

/* ---- an update ---------------------------------------------------------------------------- */

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

/* The first parameter of the own slice with a gradient that is not finite; -1: none. */
static int bad_row(const lcsm_trainer *t)
{
    const lcsm_params    *p = t->model->params;
    const lcsm_optimizer *o = t->optimizer;
    for (size_t row = 0; row < p->count; row++) {
        const float *g = p->grads;
        size_t       j = p->list[row].offset, end = j + p->list[row].count;
        if (j < o->first) j = o->first;
        if (end > o->end) end = o->end;
        for (; j < end; j++)
            if (!isfinite(g[j])) return (int)row;
    }
    return -1;
}

/* Of all ranks the same sentence: slices are in their order, so the first that has one has the
 * first one. */
static lcsm_status bad_gradient(const lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_params *p    = t->model->params;
    long long          step = (long long)t->optimizer->steps + 1;
    int                size = lcsm_dist_size(t->shards.dist), own = bad_row(t), row = -1;
    int               *all = calloc((size_t)size, sizeof *all);
    if (all != NULL && lcsm_dist_all_gather(t->shards.dist, &own, sizeof own, all, NULL) == LCSM_OK)
        for (int r = size - 1; r >= 0; r--) row = all[r] >= 0 ? all[r] : row;
    free(all);
    lcsm_status st =
        row < 0
            ? lcsm_fail(err, LCSM_ERR_NUMBER, "step %lld: the norm of the gradient overflows", step)
            : lcsm_fail(err, LCSM_ERR_NUMBER, "step %lld: the gradient of %s is NaN or infinite",
                        step, p->list[row].name);
    return lcsm_dist_agree(t->shards.dist, st, err);
}

/* Batch j of an update, as far as shard `shard` has it; share: of the targets of the update. */
typedef struct {
    int       number, shard; /* among the own ones, and of all */
    ptrdiff_t j;
    double    share;
} part;

static lcsm_status run_part(lcsm_trainer *t, const part *p, lcsm_error *err)
{
    lcsm_run_options opt = {
        .training = true,
        .seed     = (uint64_t)t->cfg.seed * 0x9e3779b97f4a7c15u
              + (uint64_t)(t->optimizer->steps * t->cfg.accumulate + p->j),
        .row        = lcsm_shards_begin(&t->shards, p->shard),
        .rows       = t->e.B,
        .state      = t->states == NULL ? NULL : t->states[p->number],
        .accumulate = p->j > 0,
        .loss_scale = p->share,
        .watch      = t->watch,
        .learn      = true,
    };
    char        text[STEP_NAME];
    lcsm_status st = lcsm_graph_forward(t->e.g, &opt, err);
    if (st != LCSM_OK) return st;
    if (!isfinite(*(const float *)t->e.io.loss->data))
        return lcsm_evaluator_not_finite(&t->e, &opt,
                                         step_name(text, "step", t->optimizer->steps + 1), err);
    lcsm_tally_add(lcsm_votes_tally(t->votes, p->number), &t->e.io);
    return lcsm_graph_backward(t->e.g, &opt, err);
}

/* Tokens, targets and resets of a batch, or of a shard of it. */
typedef struct {
    const int32_t *tokens, *targets, *reset; /* reset may be NULL */
} columns;

static columns cut(const lcsm_trainer *t, const columns *batch, int shard)
{
    size_t    n = tokens_of(t, t->e.B);
    ptrdiff_t T = t->e.T;
    if (!is_cut(t)) return *batch;
    lcsm_shards_cut(&t->shards, shard, T, batch->tokens, 0, t->rows);
    lcsm_shards_cut(&t->shards, shard, T, batch->targets, LCSM_TARGET_NONE, t->rows + n);
    if (batch->reset != NULL)
        lcsm_shards_cut(&t->shards, shard, T, batch->reset, 1, t->rows + 2 * n);
    return (columns){t->rows, t->rows + n, batch->reset == NULL ? NULL : t->rows + 2 * n};
}

/* The gradients of one shard over all batches of the update; all: targets in the update. */
static lcsm_status run_shard(lcsm_trainer *t, const columns *update, int number, int64_t all,
                             lcsm_error *err)
{
    size_t n = tokens_of(t, t->cfg.batch_size), own = tokens_of(t, t->e.B);
    *lcsm_votes_tally(t->votes, number) = (lcsm_tally){0};
    for (ptrdiff_t j = 0; j < t->cfg.accumulate; j++) {
        size_t  at    = (size_t)j * n;
        columns batch = {update->tokens + at, update->targets + at,
                         update->reset == NULL ? NULL : update->reset + at};
        int     shard = t->shards.first + number;
        columns c     = cut(t, &batch, shard);
        int64_t kept  = count(c.targets, own);
        part    p     = {number, shard, j, kept == 0 ? 1 : (double)kept / (double)all};
        LCSM_OR_RETURN(lcsm_evaluator_load(&t->e, c.tokens, c.targets, c.reset, err));
        LCSM_OR_RETURN(run_part(t, &p, err));
    }
    return LCSM_OK;
}

/* The own shards, and the sums of all. A rank that fails says so with the votes, so that none goes
 * on; gradients are sent only once all have computed theirs. */
static lcsm_status run_shards(lcsm_trainer *t, const columns *update, int64_t all, lcsm_tally *sum,
                              lcsm_error *err)
{
    int         own = lcsm_trainer_shards(t);
    lcsm_status st  = LCSM_OK;
    for (int k = 0; k < t->shards.most; k++) {
        double from = lcsm_now();
        if (k < own) st = run_shard(t, update, k, all, err);
        t->ranks.computed += lcsm_now() - from;
        LCSM_OR_RETURN(lcsm_votes_collect(t->votes, &t->shards, st, t->ranks.computed,
                                          lcsm_dist_waited(t->shards.dist), sum, err));
        LCSM_OR_RETURN(lcsm_shards_add(&t->shards, t->model->ctx, t->model->params, k, err));
    }
    t->ranks.waiting = lcsm_votes_waited(t->votes);
    t->ranks.slowest = lcsm_votes_slowest(t->votes);
    return LCSM_OK;
}

/* What slice every rank has, in bytes of an array of so many bytes a part, or an element. */
static lcsm_status spread(const lcsm_trainer *t, void *block, bool parts, lcsm_error *err)
{
    const lcsm_optimizer *o    = t->optimizer;
    int                   size = lcsm_dist_size(t->shards.dist);
    size_t               *begin;
    if (size == 1) return LCSM_OK;
    begin = t->shards.bytes;
    for (int r = 0; r <= size; r++)
        begin[r] = parts ? lcsm_optimizer_first_part(o, r, size) * sizeof(double)
                         : t->shards.begin[r] * sizeof(float);
    return lcsm_dist_spread(t->shards.dist, block, begin, err);
}

static lcsm_status step_parameters(lcsm_trainer *t, double lr, double *norm, lcsm_error *err)
{
    lcsm_optimizer *o    = t->optimizer;
    double          from = t->watch == NULL ? 0 : lcsm_now();
    lcsm_optimizer_measure(o, t->model->ctx);
    LCSM_OR_RETURN(spread(t, o->squares, true, err));
    *norm = lcsm_optimizer_norm(o);
    lcsm_optimizer_apply(o, t->model->ctx, *norm, lr, t->cfg.clip);
    if (t->watch != NULL) t->watch->step(t->watch->user, "optimizer", true, lcsm_now() - from);
    if (!isfinite(*norm)) return bad_gradient(t, err);
    return spread(t, t->model->params->values, false, err);
}

lcsm_status lcsm_trainer_step(lcsm_trainer *t, const int32_t *tokens, const int32_t *targets,
                              const int32_t *reset, lcsm_update *out, lcsm_error *err)
{
    size_t        n      = tokens_of(t, t->cfg.batch_size);
    int64_t       all    = count(targets, n * (size_t)t->cfg.accumulate);
    lcsm_tally    sum    = {0};
    double        lr     = lcsm_schedule_rate(&t->schedule, t->optimizer->steps), norm;
    const columns update = {tokens, targets, reset};
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_update, lr, out, err));
    LCSM_OR_RETURN(run_shards(t, &update, all, &sum, err));
    LCSM_OR_RETURN(step_parameters(t, lr, &norm, err));
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
    char          what[STEP_NAME];
    const columns batch = {tokens, targets, NULL};
    step_name(what, "evaluation after step", t->optimizer->steps);
    for (int s = 0; s < t->shards.count; s++) {
        columns c = cut(t, &batch, s);
        LCSM_OR_RETURN(lcsm_evaluator_batch(&t->e, c.tokens, c.targets, what, sum, err));
    }
    return LCSM_OK;
}
