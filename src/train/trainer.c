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
    bool     added = model->cfg.adapter > 0 || model->cfg.initial_memory;
    unsigned only  = added ? LCSM_PARAM_ADDED : 0;
    (void)cfg;
    return lcsm_params_train_only(model->params, only, err);
}

/* ---- making one --------------------------------------------------------------------------- */

/* Of a batch, and of a unit of one. */
static size_t tokens_of(const lcsm_trainer *t)
{
    return (size_t)t->cfg.batch_size * (size_t)t->cfg.seq_len;
}

static size_t unit_of(const lcsm_trainer *t)
{
    return (size_t)t->e.B * (size_t)t->e.T;
}

static bool is_cut(const lcsm_trainer *t)
{
    return t->e.B != t->cfg.batch_size || t->e.T != t->cfg.seq_len;
}

static lcsm_status build_graph(lcsm_trainer *t, lcsm_dist *dist, lcsm_error *err)
{
    const lcsm_train_config *c = &t->cfg;
    lcsm_model_want want       = {.packed = c->carried, .loss = true, .ignore = LCSM_TARGET_NONE};
    want.whole                 = !c->carried && c->segments == 1;
    want.labels                = c->segments == 1 ? lcsm_train_labels(c) : 0;
    lcsm_plan_options plan     = {.train = true, .recompute = c->recompute, .both = true};
    t->e.B = lcsm_shards_rows(c, dist), t->e.T = c->seq_len / c->segments;
    if (t->model->cfg.initial_memory && c->segments > 1)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "initial_memory cannot be trained with segments; omit --segments");
    LCSM_OR_RETURN(lcsm_train_freeze(t->model, c, err));
    LCSM_OR_RETURN(lcsm_graph_create(&t->e.g, t->model->ctx, t->model->params, err));
    if (c->precision == LCSM_PRECISION_BF16) lcsm_graph_use_bf16(t->e.g);
    LCSM_OR_RETURN(lcsm_model_build(t->e.g, &t->model->cfg, t->e.B, t->e.T, &want, &t->e.io, err));
    return lcsm_graph_plan(t->e.g, &plan, err);
}

static lcsm_status create_states(lcsm_trainer *t, lcsm_error *err)
{
    int own   = lcsm_trainer_units(t);
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
    if (is_cut(t) && lcsm_size_mul(unit_of(t), 3 * sizeof *t->rows, &n)) t->rows = malloc(n);
    if (is_cut(t) && t->rows == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a shard of a batch");
    if (t->cfg.segments > 1) {
        LCSM_OR_RETURN(lcsm_segments_open(&t->segments, t->e.g, &t->shards, err));
        t->e.state = t->segments.state;
    }
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
    for (int j = 0; t->states != NULL && j < lcsm_trainer_units(t); j++)
        lcsm_state_free(t->states[j]);
    free(t->states);
    free(t->rows);
    if (t->segments.state != NULL) t->e.state = NULL;
    lcsm_segments_close(&t->segments);
    lcsm_votes_free(t->votes);
    lcsm_shards_close(&t->shards);
    lcsm_optimizer_free(t->optimizer);
    lcsm_evaluator_close(&t->e);
    free(t);
}

int lcsm_trainer_units(const lcsm_trainer *t)
{
    return t->shards.end - t->shards.first;
}

size_t lcsm_trainer_bytes(const lcsm_trainer *t)
{
    lcsm_plan_report r     = lcsm_graph_report(t->e.g);
    size_t           block = t->model->params->block, own = t->optimizer->end - t->optimizer->first;
    size_t           sums    = t->shards.sums == NULL             ? 0
                             : lcsm_dist_size(t->shards.dist) > 1 ? own * (size_t)t->shards.count
                                                                  : block;
    size_t           carried = t->cfg.segments > 1 ? lcsm_segments_bytes(&t->segments, &t->shards)
                                                   : 2 * r.state * (size_t)lcsm_trainer_units(t);
    return r.arena + carried + (2 * block + 2 * own + sums) * sizeof(float);
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

/* Tokens, targets and resets of a batch, or of a unit of it. */
typedef struct {
    const int32_t *tokens, *targets, *reset; /* reset may be NULL */
} columns;

static columns cut(const lcsm_trainer *t, const columns *batch, int unit)
{
    size_t    n = unit_of(t);
    ptrdiff_t T = t->cfg.seq_len;
    if (!is_cut(t)) return *batch;
    lcsm_shards_cut(&t->shards, unit, T, batch->tokens, 0, t->rows);
    lcsm_shards_cut(&t->shards, unit, T, batch->targets, LCSM_TARGET_NONE, t->rows + n);
    if (batch->reset != NULL)
        lcsm_shards_cut(&t->shards, unit, T, batch->reset, 1, t->rows + 2 * n);
    return (columns){t->rows, t->rows + n, batch->reset == NULL ? NULL : t->rows + 2 * n};
}

/* A unit of an update. */
typedef struct {
    const columns *update;
    int64_t        all; /* targets of the update */
    int            unit;
} part;

/* What other ranks want while one computes. */
typedef struct {
    lcsm_trainer *t;
    bool          finishes;
} between;

static lcsm_status take(void *user, bool backward, void *data, size_t bytes, lcsm_error *err)
{
    between *b = user;
    return lcsm_segments_take(&b->t->segments, backward, data, bytes, err);
}

static lcsm_status give(void *user, bool backward, const void *data, size_t bytes, lcsm_error *err)
{
    between *b = user;
    return lcsm_segments_give(&b->t->segments, backward, data, bytes, err);
}

static lcsm_status stepped(void *user, size_t done, lcsm_error *err)
{
    between     *b = user;
    lcsm_shards *s = &b->t->shards;
    const size_t n = b->t->model->params->block;
    if (b->finishes && done < n)
        LCSM_OR_RETURN(lcsm_shards_ready(s, b->t->model->params->grads, done, err));
    lcsm_dist_move_on(s->dist);
    return LCSM_OK;
}

/* Loads batch j as far as the unit has it; *share: of the targets of the update. */
static lcsm_status load(lcsm_trainer *t, const part *p, ptrdiff_t j, double *share, lcsm_error *err)
{
    size_t         at     = (size_t)j * tokens_of(t);
    const columns *update = p->update;
    columns        batch  = {update->tokens + at, update->targets + at,
                     update->reset == NULL ? NULL : update->reset + at};
    columns        c      = cut(t, &batch, p->unit);
    int64_t        kept   = count(c.targets, unit_of(t));
    *share                = kept == 0 ? 1 : (double)kept / (double)p->all;
    return lcsm_evaluator_load(&t->e, c.tokens, c.targets, c.reset, err);
}

static lcsm_run_options options(const lcsm_trainer *t, const part *p, ptrdiff_t j, double share)
{
    int shard = lcsm_shards_shard(&t->shards, p->unit);
    return (lcsm_run_options){
        .training = true,
        .seed     = (uint64_t)t->cfg.seed * 0x9e3779b97f4a7c15u
              + (uint64_t)(t->optimizer->steps * t->cfg.accumulate + j),
        .row        = lcsm_shards_begin(&t->shards, shard),
        .rows       = t->e.B,
        .segment    = lcsm_shards_segment(&t->shards, p->unit),
        .segments   = t->shards.segments,
        .state      = t->states == NULL ? NULL : t->states[p->unit - t->shards.first],
        .accumulate = j > 0,
        .loss_scale = share,
        .watch      = t->watch,
        .learn      = true,
    };
}

static bool is_shared(const lcsm_trainer *t)
{
    return t->cfg.segments > 1 && (t->segments.before >= 0 || t->segments.after >= 0);
}

/* Forward and backward. Where other ranks wait for what this one carries on, a loss that is not
 * finite does not end it before that. */
static lcsm_status learn(lcsm_trainer *t, const lcsm_run_options *opt, int unit, lcsm_error *err)
{
    char        text[STEP_NAME];
    lcsm_status st = lcsm_graph_forward(t->e.g, opt, err);
    if (st != LCSM_OK) return st;
    bool finite = isfinite(*(const float *)t->e.io.loss->data);
    if (finite) lcsm_tally_add(lcsm_votes_tally(t->votes, unit - t->shards.first), &t->e.io);
    if (finite || is_shared(t)) LCSM_OR_RETURN(lcsm_graph_backward(t->e.g, opt, err));
    if (finite) return LCSM_OK;
    return lcsm_evaluator_not_finite(&t->e, opt, step_name(text, "step", t->optimizer->steps + 1),
                                     err);
}

/* The gradients of a shard that is not cut into segments, over all batches of the update. */
static lcsm_status run_shard(lcsm_trainer *t, const part *p, lcsm_error *err)
{
    between          b     = {t, false};
    const lcsm_relay relay = {.stepped = stepped, .user = &b};
    double           share = 1;
    for (ptrdiff_t j = 0; j < t->cfg.accumulate; j++) {
        LCSM_OR_RETURN(load(t, p, j, &share, err));
        lcsm_run_options opt = options(t, p, j, share);
        b.finishes           = j + 1 == t->cfg.accumulate;
        if (lcsm_dist_size(t->shards.dist) > 1) opt.relay = &relay;
        LCSM_OR_RETURN(learn(t, &opt, p->unit, err));
    }
    return LCSM_OK;
}

/* A segment: forward only to carry on, or with its backward. */
static lcsm_status run_segment(lcsm_trainer *t, const part *p, bool backward, lcsm_error *err)
{
    between          b       = {t, backward};
    const lcsm_relay relay   = {take, give, stepped, &b};
    int              segment = lcsm_shards_segment(&t->shards, p->unit);
    double           share   = 1;
    LCSM_OR_RETURN(load(t, p, 0, &share, err));
    lcsm_run_options opt = options(t, p, 0, share);
    opt.state            = t->segments.state;
    opt.state_grad       = t->segments.grad;
    opt.learn            = backward;
    opt.only_state       = !backward;
    if (lcsm_dist_size(t->shards.dist) > 1) opt.relay = &relay;
    LCSM_OR_RETURN(lcsm_segments_before(&t->segments, segment, backward, err));
    if (backward) return learn(t, &opt, p->unit, err);
    LCSM_OR_RETURN(lcsm_graph_forward(t->e.g, &opt, err));
    lcsm_segments_keep(&t->segments, segment);
    return LCSM_OK;
}

/* The segments of one shard, units first .. end - 1: forward through all but the last, in reversed
 * order of the units. */
static lcsm_status carry_on(lcsm_trainer *t, const part *all, int first, int end, lcsm_error *err)
{
    const lcsm_shards *s = &t->shards;
    part               p = *all;
    lcsm_segments_begin(&t->segments, s, lcsm_shards_shard(s, first),
                        lcsm_shards_segment(s, end - 1), lcsm_shards_segment(s, first));
    for (p.unit = end - 1; p.unit > first; p.unit--) LCSM_OR_RETURN(run_segment(t, &p, false, err));
    return LCSM_OK;
}

/* The end of the own units of the shard that a unit is of. */
static int shard_end(const lcsm_shards *s, int unit)
{
    int end = (lcsm_shards_shard(s, unit) + 1) * s->segments;
    return end < s->end ? end : s->end;
}

static lcsm_status run_unit(lcsm_trainer *t, const part *p, lcsm_error *err)
{
    const lcsm_shards *s     = &t->shards;
    bool               begin = p->unit == s->first || p->unit % s->segments == 0;
    if (s->segments == 1) return run_shard(t, p, err);
    if (begin) LCSM_OR_RETURN(carry_on(t, p, p->unit, shard_end(s, p->unit), err));
    return run_segment(t, p, true, err);
}

/* Whether ranks would wait for ever for one that ended here. */
static bool is_awaited(const lcsm_trainer *t, lcsm_status st)
{
    return is_shared(t) && st != LCSM_OK && st != LCSM_ERR_NUMBER;
}

/* One that failed before is only run where others wait for what it carries on. */
static lcsm_status run_next(lcsm_trainer *t, const part *p, lcsm_status before, lcsm_error *err)
{
    lcsm_error  other;
    double      from = lcsm_now(), waited = lcsm_dist_waited(t->shards.dist);
    lcsm_status st                                         = LCSM_OK;
    *lcsm_votes_tally(t->votes, p->unit - t->shards.first) = (lcsm_tally){0};
    if (before == LCSM_OK) st = run_unit(t, p, err);
    else if (t->shards.segments > 1) st = run_unit(t, p, &other);
    t->ranks.computed += lcsm_now() - from - (lcsm_dist_waited(t->shards.dist) - waited);
    return before != LCSM_OK ? before : st;
}

/* The own units, and the sums of all. A rank that fails still sends gradients, which are of no use,
 * and says so with the votes: then no rank takes the step. */
static lcsm_status run_units(lcsm_trainer *t, const columns *update, int64_t all, lcsm_tally *sum,
                             lcsm_error *err)
{
    lcsm_shards *s  = &t->shards;
    part         p  = {.update = update, .all = all};
    lcsm_status  st = LCSM_OK, sent;
    LCSM_OR_RETURN(lcsm_shards_start(s, err));
    for (p.unit = s->first; p.unit < s->end; p.unit++) {
        st = run_next(t, &p, st, err);
        if (lcsm_dist_broken(s->dist) || is_awaited(t, st)) return st;
        sent = lcsm_shards_add(s, t->model->ctx, t->model->params, p.unit, err);
        if (sent != LCSM_OK) return sent;
    }
    st =
        lcsm_votes_collect(t->votes, s, st, t->ranks.computed, lcsm_dist_waited(s->dist), sum, err);
    sent = lcsm_shards_finish(s, t->model->ctx, t->model->params, st == LCSM_OK ? err : NULL);
    t->ranks.waiting = lcsm_votes_waited(t->votes);
    t->ranks.slowest = lcsm_votes_slowest(t->votes);
    return st != LCSM_OK ? st : sent;
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
    int64_t       all    = count(targets, tokens_of(t) * (size_t)t->cfg.accumulate);
    lcsm_tally    sum    = {0};
    double        lr     = lcsm_schedule_rate(&t->schedule, t->optimizer->steps), norm;
    const columns update = {tokens, targets, reset};
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_update, lr, out, err));
    LCSM_OR_RETURN(run_units(t, &update, all, &sum, err));
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
    for (int s = 0; s < t->shards.shards; s++) {
        if (t->e.state != NULL) lcsm_state_clear(t->e.state);
        for (int k = t->shards.segments - 1; k >= 0; k--) {
            columns c = cut(t, &batch, s * t->shards.segments + k);
            LCSM_OR_RETURN(lcsm_evaluator_batch(&t->e, c.tokens, c.targets, what, sum, err));
        }
    }
    return LCSM_OK;
}
