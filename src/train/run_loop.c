/* run_loop.c - a whole run: steps, evaluations, checkpoints, and why it ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/sized.h"
#include "format/run_folder.h"
#include "train/ranks.h"
#include "train/run_init.h"
#include "train/training.h"

/* ---- time --------------------------------------------------------------------------------- */

static double system_now(void *user)
{
    (void)user;
    return lcsm_now();
}

static double now(const lcsm_training *r)
{
    return r->clock.now(r->clock.user);
}

/* What the ranks agree on: rank 0 has the clock, and any of them may be asked to stop. */
typedef lcsm_training_moment moment;

static moment agree_on(lcsm_training *r, moment own)
{
    lcsm_dist *d    = r->in.dist;
    int        size = lcsm_dist_size(d);
    moment    *all  = r->moments;
    if (size == 1 || r->lost) return own;
    lcsm_error err = {0};
    if (lcsm_dist_all_gather(d, &own, sizeof own, all, &err) != LCSM_OK) {
        r->lost = true; /* the next transfer fails, and says why */
        return own;
    }
    for (int j = 0; j < size; j++) own.stop |= all[j].stop;
    own.seconds = all[0].seconds;
    return own;
}

void lcsm_training_tick(lcsm_training *r)
{
    r->at.seconds = agree_on(r, (moment){now(r) - r->began, 0}).seconds;
}

lcsm_budget_at lcsm_training_where(const lcsm_training *r)
{
    return (lcsm_budget_at){r->at.step, r->at.seconds, r->at.eval_seconds};
}

double lcsm_training_speed(const lcsm_training *r)
{
    return r->at.step_seconds > 0 ? (double)r->at.read / r->at.step_seconds : NAN;
}

bool lcsm_training_stopped(lcsm_training *r)
{
    bool own = r->hooks.stop != NULL && !r->result.stopped && r->hooks.stop(r->hooks.user);
    if (!r->result.stopped) r->result.stopped = agree_on(r, (moment){0, own}).stop != 0;
    return r->result.stopped;
}

/* ---- events ------------------------------------------------------------------------------- */

/* The part of the time of this session's steps; what was waited in evaluations is not in it. */
static double waiting(const lcsm_training *r)
{
    double seconds = r->at.step_seconds - r->stepped_before;
    return lcsm_dist_size(r->in.dist) > 1 && seconds > 0 ? r->waited / seconds : NAN;
}

lcsm_train_event lcsm_training_event(const lcsm_training *r, lcsm_train_event_kind kind)
{
    double f = lcsm_budget_done(&r->in.budget, r->at.step, r->at.seconds);
    return (lcsm_train_event){.size              = sizeof(lcsm_train_event),
                              .kind              = kind,
                              .text              = "",
                              .split             = "valid",
                              .update            = &r->last,
                              .bits_per_byte     = NAN,
                              .word_perplexity   = NAN,
                              .score             = NAN,
                              .seconds           = r->at.seconds,
                              .tokens_per_second = lcsm_training_speed(r),
                              .left              = f > 0 ? r->at.seconds * (1 - f) / f : NAN,
                              .bytes             = lcsm_trainer_bytes(r->in.trainer),
                              .waiting           = waiting(r),
                              .slowest           = r->in.trainer->ranks.slowest};
}

void lcsm_training_tell(const lcsm_training *r, const lcsm_train_event *e)
{
    if (r->hooks.event != NULL) r->hooks.event(r->hooks.user, e);
}

/* Of rank 0, whose outcome is that of all. */
lcsm_status lcsm_training_write(lcsm_training *r, const lcsm_train_event *e, lcsm_error *err)
{
    lcsm_status              st = LCSM_OK;
    const lcsm_train_result *of = e->kind == LCSM_TRAIN_END ? &r->result : NULL;
    if (lcsm_dist_first(r->in.dist)) st = lcsm_metrics_write(&r->metrics, e, of, err);
    return lcsm_dist_agree(r->in.dist, st, err);
}

static void say(const lcsm_training *r, lcsm_train_event_kind kind, const char *text)
{
    lcsm_train_event e = lcsm_training_event(r, kind);
    e.text             = text;
    lcsm_training_tell(r, &e);
}

void lcsm_training_note(void *run, const char *text)
{
    say(run, LCSM_TRAIN_NOTE, text);
}

static void print_evaluations(lcsm_strbuf *s, const lcsm_training *r, int64_t steps)
{
    int64_t n = lcsm_budget_evaluations(&r->in.budget, steps);
    lcsm_strbuf_printf(s, ", %lld %s", (long long)n, n == 1 ? "evaluation" : "evaluations");
}

/* What will be done, as far as it is known before the first step. */
static lcsm_status announce(const lcsm_training *r, lcsm_error *err)
{
    const lcsm_budget *b = &r->in.budget;
    const lcsm_params *p = r->in.model->params;
    lcsm_strbuf        s = {0};
    lcsm_strbuf_printf(&s, "%zu parameters", lcsm_params_total(p));
    if (p->only != 0) lcsm_strbuf_printf(&s, ", %zu of them trained", lcsm_params_trained(p));
    lcsm_strbuf_printf(&s, ", %lld %s", (long long)r->in.data,
                       r->in.tok != NULL ? "tokens" : "examples");
    if (b->seconds > 0)
        lcsm_strbuf_printf(&s, b->steps > 0 ? ", at most %g minutes" : ", %g minutes",
                           r->in.cfg.minutes);
    if (b->steps > 0) {
        lcsm_strbuf_printf(&s, ", %lld step%s", (long long)b->steps, b->steps == 1 ? "" : "s");
        print_evaluations(&s, r, b->steps);
    }
    lcsm_status st = lcsm_ranks_memory(&s, r->in.trainer, err);
    if (st == LCSM_OK) say(r, LCSM_TRAIN_START, lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
    return st;
}

/* Steps that the time will buy, by the pace of this session without its first step, which is
 * slower, and a tenth of the time for evaluation. */
static int64_t steps_in_time(const lcsm_training *r)
{
    double steps = (double)(r->at.step - r->first.step), spent = r->at.seconds - r->first.seconds;
    double left = r->in.budget.seconds - r->at.seconds;
    return r->at.step + llround((r->in.valid.T > 0 ? 0.9 : 1.0) * left * steps / spent);
}

/* Said once, when some steps and a hundredth of the time, or a twentieth of it, have passed. */
static void expect(lcsm_training *r)
{
    const lcsm_budget *b     = &r->in.budget;
    int64_t            steps = r->at.step - r->first.step;
    double             part  = (r->at.seconds - r->first.seconds) / b->seconds;
    lcsm_strbuf        s     = {0};
    if (b->seconds == 0 || r->expected || steps < 1 || part < (steps < 3 ? 0.05 : 0.01)) return;
    r->expected   = true;
    int64_t total = steps_in_time(r);
    if (b->steps > 0 && b->steps <= total) return;
    lcsm_strbuf_printf(&s, "about %lld steps", (long long)total);
    print_evaluations(&s, r, total);
    lcsm_strbuf_printf(&s, " expected in %g minutes", r->in.cfg.minutes);
    if (b->steps > 0)
        lcsm_strbuf_printf(&s,
                           "; the learning rate is that of a run of %lld steps: set steps "
                           "to 0 to have it end with the time",
                           (long long)b->steps);
    lcsm_training_note(r, lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
}

/* ---- saving ------------------------------------------------------------------------------- */

/* Without evaluations the last model is the one to keep. */
static lcsm_status save(lcsm_training *r, lcsm_error *err)
{
    lcsm_train_event e = lcsm_training_event(r, LCSM_TRAIN_SAVE);
    if (r->fresh) return LCSM_OK;
    LCSM_OR_RETURN(
        lcsm_run_checkpoint_save(r->in.run, r->in.trainer, &r->at, (size_t)r->in.cfg.keep, err));
    if (r->in.valid.T == 0) LCSM_OR_RETURN(lcsm_training_save_model(r, err));
    r->fresh = true;
    lcsm_training_tell(r, &e);
    return LCSM_OK;
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* Counts what a step has read, and how long it took. */
static void count_step(lcsm_training *r, double from)
{
    const lcsm_train_config *c = &r->in.cfg;
    lcsm_training_tick(r);
    r->at.step_seconds += r->at.seconds - from;
    r->at.read += c->batch_size * c->seq_len * c->accumulate;
    r->at.step   = r->last.step;
    r->at.tokens = r->last.tokens;
    r->fresh     = false;
    if (r->first.step == 0) {
        r->first.step    = r->at.step;
        r->first.seconds = r->at.seconds;
    }
}

static void fill(const lcsm_training *r)
{
    const lcsm_train_config *c = &r->in.cfg;
    ptrdiff_t                n = c->batch_size * c->seq_len;
    for (ptrdiff_t j = 0; j < c->accumulate; j++)
        lcsm_batches_fill(&r->in.train, r->at.step * c->accumulate + j, r->tokens + j * n,
                          r->targets + j * n, r->reset + j * n);
}

static lcsm_status step(lcsm_training *r, lcsm_error *err)
{
    lcsm_trainer *t = r->in.trainer;
    lcsm_training_tick(r);
    lcsm_budget_at at = lcsm_training_where(r);
    fill(r);
    t->schedule   = lcsm_budget_schedule(&r->in.budget, &at, &r->in.schedule);
    double waited = lcsm_dist_waited(r->in.dist);
    LCSM_OR_RETURN(lcsm_trainer_step(t, r->tokens, r->targets, r->reset, &r->last, err));
    r->waited += lcsm_dist_waited(r->in.dist) - waited;
    count_step(r, at.seconds);
    lcsm_train_event e = lcsm_training_event(r, LCSM_TRAIN_UPDATE);
    e.log              = r->at.step % r->in.cfg.log_every == 0 || r->at.step == 1;
    if (e.log) LCSM_OR_RETURN(lcsm_training_write(r, &e, err));
    lcsm_training_tell(r, &e);
    expect(r);
    return LCSM_OK;
}

/* Why the run is over, or NULL. */
static const char *reason(lcsm_training *r)
{
    const lcsm_train_config *c = &r->in.cfg;
    if (r->result.stopped) return "signal";
    if (c->stop_accuracy > 0 && r->at.best_accuracy > c->stop_accuracy) return "solved";
    if (c->patience > 0 && r->at.worse >= c->patience) return "early-stop";
    if (r->in.budget.steps > 0 && r->at.step >= r->in.budget.steps) return "steps";
    if (c->minutes > 0 && r->at.seconds >= r->in.budget.seconds) return "time";
    return lcsm_training_stopped(r) ? "signal" : NULL;
}

static lcsm_status between(lcsm_training *r, lcsm_error *err)
{
    const lcsm_train_config *c   = &r->in.cfg;
    bool                     due = lcsm_training_evaluation_is_due(r);
    if (due) LCSM_OR_RETURN(lcsm_training_evaluate(r, err));
    if (c->save_every > 0 ? r->at.step % c->save_every == 0 : due) LCSM_OR_RETURN(save(r, err));
    return LCSM_OK;
}

/* The last step is evaluated, and a run has a model, however short it was. */
static lcsm_status finish(lcsm_training *r, const char *why, lcsm_error *err)
{
    lcsm_train_event e;
    if (!r->result.stopped && r->at.step != r->at.evaluated)
        LCSM_OR_RETURN(lcsm_training_evaluate(r, err));
    LCSM_OR_RETURN(save(r, err));
    LCSM_OR_RETURN(lcsm_training_need_model(r, err));
    if (!r->result.stopped) LCSM_OR_RETURN(lcsm_training_test(r, err));
    if (r->result.stopped) why = "signal";
    r->result.reason        = why;
    r->result.best_loss     = r->at.best_loss;
    r->result.best_accuracy = r->at.best_accuracy;
    e                       = lcsm_training_event(r, LCSM_TRAIN_END);
    e.text                  = why;
    LCSM_OR_RETURN(lcsm_training_write(r, &e, err));
    lcsm_training_tell(r, &e);
    return LCSM_OK;
}

/* A run that goes on may have an evaluation to make that was cut short. */
static lcsm_status loop(lcsm_training *r, lcsm_error *err)
{
    const char *why;
    if (r->at.step > 0) LCSM_OR_RETURN(between(r, err));
    why = reason(r);
    while (why == NULL) {
        LCSM_OR_RETURN(step(r, err));
        LCSM_OR_RETURN(between(r, err));
        why = reason(r);
    }
    return finish(r, why, err);
    return LCSM_OK;
}

/* ---- start -------------------------------------------------------------------------------- */

static lcsm_status reserve(lcsm_training *r, lcsm_error *err)
{
    const lcsm_train_config *c = &r->in.cfg;
    size_t                   n;
    if (!lcsm_size_mul((size_t)c->batch_size, (size_t)c->seq_len, &n)
        || !lcsm_size_mul(n, (size_t)c->accumulate, &n))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "a step of %td x %td x %td tokens overflows",
                         c->accumulate, c->batch_size, c->seq_len);
    r->tokens  = calloc(n, sizeof *r->tokens);
    r->targets = calloc(n, sizeof *r->targets);
    r->reset   = calloc(n, sizeof *r->reset);
    r->moments = calloc((size_t)lcsm_dist_size(r->in.dist), sizeof *r->moments);
    if (r->tokens == NULL || r->targets == NULL || r->reset == NULL || r->moments == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a batch of %zu tokens", n);
    return LCSM_OK;
}

static lcsm_status check_data(const lcsm_training *r, lcsm_error *err)
{
    if (r->at.data != r->in.data)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the data have %lld tokens or examples, but the run began with %lld",
                         (long long)r->in.data, (long long)r->at.data);
    if (r->at.hash != 0 && r->at.hash != r->in.hash)
        return lcsm_fail(
            err, LCSM_ERR_ARGUMENT,
            "the data have the same length as those of the run, but different contents");
    return LCSM_OK;
}

/* A run that was killed before its first checkpoint comes to the same model again; one that ended
 * had a checkpoint. */
static lcsm_status begin_again(lcsm_training *r, lcsm_error *err)
{
    if (lcsm_dist_first(r->in.dist) && lcsm_training_has_model(r) && lcsm_metrics_ended(r->in.run))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s has a model, but no checkpoint to resume from; it is left unchanged: "
                         "train in another folder",
                         r->in.run);
    lcsm_training_note(r, "the run has no checkpoint yet: it starts from the beginning");
    return r->in.init != NULL ? lcsm_run_init_take(&r->in, err) : LCSM_OK;
}

static lcsm_status go_on(lcsm_training *r, lcsm_error *err)
{
    bool found;
    LCSM_OR_RETURN(lcsm_run_checkpoint_load(r->in.run, r->in.trainer, &r->at, &found,
                                            lcsm_training_note, r, err));
    LCSM_OR_RETURN(
        lcsm_dist_agree(r->in.dist, found ? check_data(r, err) : begin_again(r, err), err));
    r->last = (lcsm_update){
        .size = sizeof(lcsm_update), .step = r->at.step, .tokens = r->at.tokens, .loss = NAN};
    r->fresh = found && r->in.valid.T > 0; /* else the model may be older than the checkpoint */
    return LCSM_OK;
}

/* Where a model of what is given up has taken the place of the best one, no model counts as best;
 * a checkpoint says so before the lines that show it are removed, so that a run which is killed
 * here knows it too. */
static lcsm_status rewind_metrics(lcsm_training *r, lcsm_error *err)
{
    bool               beaten = false;
    lcsm_dist         *d      = r->in.dist;
    lcsm_status        st     = LCSM_OK;
    lcsm_metrics_point at     = {r->at.step,
                                 r->at.evaluated,
                                 lcsm_train_task(&r->in.cfg),
                                 {r->at.best_loss, r->at.best_accuracy}};
    if (lcsm_dist_first(d)) st = lcsm_metrics_beaten(r->in.run, &at, &beaten, err);
    LCSM_OR_RETURN(lcsm_dist_agree(d, st, err));
    LCSM_OR_RETURN(lcsm_dist_broadcast(d, &beaten, sizeof beaten, 0, err));
    if (beaten) {
        r->at.best_loss = r->at.best_accuracy = NAN;
        if (r->at.step > 0)
            LCSM_OR_RETURN(
                lcsm_run_checkpoint_save(r->in.run, r->in.trainer, &r->at, SIZE_MAX, err));
    }
    if (lcsm_dist_first(d)) st = lcsm_metrics_rewind(r->in.run, &at, err);
    return lcsm_dist_agree(d, st, err);
}

/* Of rank 0, but for what all have to load: writes the folder. */
static lcsm_status prepare_folder(lcsm_training *r, bool resume, lcsm_error *err)
{
    if (!lcsm_dist_first(r->in.dist)) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_run_inputs_store(&r->in, resume, err));
    if (r->in.cfg.tensorboard)
        LCSM_OR_RETURN(lcsm_tensorboard_open(&r->metrics.board, r->in.run, err));
    return LCSM_OK;
}

/* Nothing of a run that is resumed changes before all of it is checked and loaded. */
static lcsm_status start(lcsm_training *r, bool resume, lcsm_error *err)
{
    lcsm_dist *d = r->in.dist;
    r->at        = (lcsm_progress){.best_loss = NAN, .best_accuracy = NAN};
    r->metrics   = (lcsm_metrics){.run = r->in.run};
    LCSM_OR_RETURN(lcsm_dist_agree(d, reserve(r, err), err));
    if (resume) LCSM_OR_RETURN(go_on(r, err));
    LCSM_OR_RETURN(lcsm_run_values_share(r->in.trainer, err));
    LCSM_OR_RETURN(lcsm_dist_agree(d, prepare_folder(r, resume, err), err));
    if (resume) LCSM_OR_RETURN(rewind_metrics(r, err));
    r->at.data        = r->in.data;
    r->at.hash        = r->in.hash;
    r->began          = now(r) - r->at.seconds;
    r->stepped_before = r->at.step_seconds;
    return announce(r, err);
}

/* The line that says why a run broke off, as far as it can be written. */
static void broken(lcsm_training *r)
{
    lcsm_train_event e      = lcsm_training_event(r, LCSM_TRAIN_END);
    r->result.best_loss     = r->at.best_loss;
    r->result.best_accuracy = r->at.best_accuracy;
    e.text                  = "not-finite";
    if (lcsm_dist_first(r->in.dist)) (void)lcsm_metrics_write(&r->metrics, &e, &r->result, NULL);
}

lcsm_status lcsm_training_by_clock(const lcsm_training_clock *clock, const lcsm_context *ctx,
                                   const lcsm_train_job *job, const lcsm_train_hooks *hooks,
                                   lcsm_train_result *out, lcsm_error *err)
{
    lcsm_train_job own;
    lcsm_status    st = LCSM_OK;
    lcsm_training  r  = {
          .clock  = *clock,
          .last   = {.size = sizeof r.last},
          .result = {.size = sizeof r.result, .test_loss = NAN, .tokens_per_second = NAN}};
    if (out != NULL) LCSM_TRY(LCSM_SIZED(lcsm_train_result, stopped, out, err));
    LCSM_TRY(LCSM_TAKE(lcsm_train_hooks, user, &r.hooks, hooks, err));
    LCSM_TRY(LCSM_TAKE(lcsm_train_job, resume, &own, job, err));
    LCSM_TRY(lcsm_run_inputs_open(&r.in, ctx, &own, &r.hooks, err));
    LCSM_TRY(start(&r, own.resume, err));
    st = loop(&r, err);
    if (st == LCSM_ERR_NUMBER) broken(&r);
    r.result.steps             = r.at.step;
    r.result.tokens            = r.at.tokens;
    r.result.seconds           = r.at.seconds;
    r.result.loss              = r.last.loss;
    r.result.tokens_per_second = lcsm_training_speed(&r);
cleanup:
    if (out != NULL) lcsm_sized_fill(out, &r.result, sizeof r.result);
    lcsm_tensorboard_close(r.metrics.board);
    free(r.tokens);
    free(r.targets);
    free(r.reset);
    free(r.moments);
    lcsm_run_inputs_close(&r.in);
    return st;
}

lcsm_status lcsm_train(const lcsm_context *ctx, const lcsm_train_job *job,
                       const lcsm_train_hooks *hooks, lcsm_train_result *out, lcsm_error *err)
{
    return lcsm_training_by_clock(&(lcsm_training_clock){system_now, NULL}, ctx, job, hooks, out,
                                  err);
}
