/* run_loop.c - a whole run: steps, evaluations, checkpoints, and why it ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "format/run_folder.h"
#include "train/metrics.h"
#include "train/run_checkpoint.h"
#include "train/run_inputs.h"

typedef struct {
    lcsm_run_inputs         in;
    const lcsm_train_hooks *hooks;
    lcsm_metrics            metrics;
    lcsm_progress           at;
    lcsm_update             last;
    int32_t                *tokens, *targets, *reset;
    double                  began;      /* of this session, less the seconds of earlier ones */
    double                  pace, mark; /* tokens a second lately; when they were counted */
    bool                    fresh;      /* saved since the last update */
    lcsm_train_result       result;
} run;

/* How much of the run is done at a step and a time, 0 .. 1. */
static double fraction_at(const run *r, int64_t step, double seconds)
{
    double steps = 0, time = 0, minutes = r->in.cfg.minutes;
    if (r->in.total > 0) steps = (double)step / (double)r->in.total;
    if (minutes > 0) time = seconds / (60 * minutes);
    return fmin(1, fmax(steps, time));
}

static double fraction(const run *r)
{
    return fraction_at(r, r->at.step, r->at.seconds);
}

static bool asked_to_stop(run *r)
{
    if (!r->result.stopped && r->hooks->stop != NULL)
        r->result.stopped = r->hooks->stop(r->hooks->user);
    return r->result.stopped;
}

/* ---- events ------------------------------------------------------------------------------- */

static lcsm_train_event event_of(const run *r, lcsm_train_event_kind kind)
{
    double f = fraction(r);
    return (lcsm_train_event){.kind              = kind,
                              .text              = "",
                              .split             = "valid",
                              .update            = r->last,
                              .bits_per_byte     = NAN,
                              .word_perplexity   = NAN,
                              .seconds           = r->at.seconds,
                              .tokens_per_second = r->pace,
                              .left              = f > 0 ? r->at.seconds * (1 - f) / f : NAN,
                              .bytes             = lcsm_trainer_bytes(r->in.trainer)};
}

static void tell(const run *r, const lcsm_train_event *e)
{
    if (r->hooks->event != NULL) r->hooks->event(r->hooks->user, e);
}

static void note(void *user, const char *text)
{
    lcsm_train_event e = event_of(user, LCSM_TRAIN_NOTE);
    e.text             = text;
    tell(user, &e);
}

/* ---- saving ------------------------------------------------------------------------------- */

static lcsm_status save_model(const run *r, lcsm_error *err)
{
    const lcsm_params *p      = r->in.model->params;
    lcsm_named_tensor *values = NULL;
    lcsm_status        st     = lcsm_model_tensors(&values, p, err);
    if (st == LCSM_OK)
        st = lcsm_run_store(
            r->in.run,
            &(lcsm_run_file){.name = LCSM_RUN_MODEL, .tensors = values, .count = p->count}, err);
    free(values);
    return st;
}

static bool has_model(const run *r)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, r->in.run, LCSM_RUN_MODEL, NULL) == LCSM_OK
        && lcsm_path_exists(path);
}

/* Without evaluations the last model is the one to keep. */
static lcsm_status save(run *r, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_train_event e  = event_of(r, LCSM_TRAIN_SAVE);
    if (r->fresh) return LCSM_OK;
    LCSM_TRY(
        lcsm_run_checkpoint_save(r->in.run, r->in.trainer, &r->at, (size_t)r->in.cfg.keep, err));
    if (r->in.valid.T == 0) LCSM_TRY(save_model(r, err));
    r->fresh = true;
    tell(r, &e);
cleanup:
    return st;
}

/* ---- evaluation --------------------------------------------------------------------------- */

/* Of so many blocks, or 0: all. Ends early when the run is asked to stop; the sums are of no use
 * then. */
static lcsm_status tally(run *r, const lcsm_batches *s, int64_t most, lcsm_tally *sum,
                         lcsm_error *err)
{
    int64_t batches = lcsm_batches_count(s);
    if (most > 0 && most < batches * s->B) batches = (most + s->B - 1) / s->B;
    *sum = (lcsm_tally){0};
    for (int64_t j = 0; j < batches && !asked_to_stop(r); j++) {
        lcsm_batches_fill(s, j, r->tokens, r->targets, NULL);
        lcsm_status st = lcsm_trainer_evaluate(r->in.trainer, r->tokens, r->targets, sum, err);
        if (st != LCSM_OK) return st;
        r->at.seconds = lcsm_now() - r->began;
    }
    return LCSM_OK;
}

/* Per byte and per word of the text that was read. */
static void text_figures(const lcsm_dataset *d, lcsm_train_event *e)
{
    if (d == NULL || e->tally.count == 0) return;
    double part      = (double)e->tally.count / (double)lcsm_dataset_tokens(d);
    double bytes     = part * (double)lcsm_dataset_bytes(d);
    double words     = part * (double)lcsm_dataset_words(d);
    e->bits_per_byte = e->tally.loss / (bytes * log(2));
    if (words > 0) e->word_perplexity = exp(e->tally.loss / words);
}

/* True for the first, and for one that is better than all before. Both numbers are kept of the same
 * evaluation. */
static bool better(run *r, const lcsm_tally *sum)
{
    lcsm_score now  = {lcsm_tally_loss(sum), lcsm_tally_accuracy(sum)};
    lcsm_score best = {r->at.best_loss, r->at.best_accuracy};
    bool       is   = lcsm_score_better(&now, &best, (lcsm_task)r->in.cfg.task);
    r->at.worse     = is ? 0 : r->at.worse + 1;
    if (!is) return false;
    r->at.best_loss     = now.loss;
    r->at.best_accuracy = now.accuracy;
    return true;
}

static lcsm_status keep_evaluation(run *r, const lcsm_tally *sum, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_train_event e  = event_of(r, LCSM_TRAIN_EVAL);
    e.tally             = *sum;
    text_figures(r->in.valid.data, &e);
    e.best = better(r, sum);
    if (e.best) LCSM_TRY(save_model(r, err));
    LCSM_TRY(lcsm_metrics_write(&r->metrics, &e, NULL, err));
    tell(r, &e);
    r->mark = lcsm_now();
cleanup:
    return st;
}

/* One that is cut short leaves nothing: it is made when the run goes on. */
static lcsm_status evaluate(run *r, lcsm_error *err)
{
    lcsm_status st      = LCSM_OK;
    double      seconds = r->at.seconds;
    lcsm_tally  sum;
    if (r->in.valid.T > 0) {
        LCSM_TRY(tally(r, &r->in.valid, r->in.cfg.eval_blocks, &sum, err));
        if (r->result.stopped) return LCSM_OK;
        LCSM_TRY(keep_evaluation(r, &sum, err));
    }
    r->at.evaluated         = r->at.step;
    r->at.evaluated_seconds = seconds;
    r->fresh                = false;
cleanup:
    return st;
}

/* The best model, which takes the place of the last, on all of a text that chose nothing. */
static lcsm_status test(run *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_tally  sum;
    if (r->in.test.T == 0) return LCSM_OK;
    LCSM_TRY(lcsm_run_model_take(r->in.trainer, r->in.run, err));
    LCSM_TRY(tally(r, &r->in.test, 0, &sum, err));
    if (r->result.stopped) return LCSM_OK;
    lcsm_train_event e  = event_of(r, LCSM_TRAIN_EVAL);
    e.split             = "test";
    e.tally             = sum;
    r->result.test_loss = lcsm_tally_loss(&sum);
    text_figures(r->in.test.data, &e);
    LCSM_TRY(lcsm_metrics_write(&r->metrics, &e, NULL, err));
    tell(r, &e);
cleanup:
    return st;
}

/* A run that came to its end is not lost with a test that has no number. */
static lcsm_status test_if_finite(run *r, lcsm_error *err)
{
    lcsm_status st = test(r, err);
    if (st != LCSM_ERR_NUMBER) return st;
    note(r, "the test of the best model gave a number that is not finite; it is left out");
    return LCSM_OK;
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* Tokens a second, an average that forgets within some seconds. */
static void keep_pace(run *r, int64_t tokens)
{
    double t = lcsm_now(), spent = t - r->mark;
    double now   = spent > 0 ? (double)tokens / spent : r->pace;
    double share = r->pace == 0 ? 1 : fmin(1, spent / 3);
    r->pace += share * (now - r->pace);
    r->mark       = t;
    r->at.seconds = t - r->began;
}

/* A schedule that ends follows the clock where only time ends the run. */
static void follow_clock(run *r)
{
    double f = fraction(r);
    if (r->in.total == 0 && f > 0)
        r->in.trainer->schedule.total =
            (int64_t)ceil((double)r->at.step / f) + r->in.trainer->schedule.warmup + 1;
}

static lcsm_status update(run *r, lcsm_error *err)
{
    lcsm_status              st = LCSM_OK;
    const lcsm_train_config *c  = &r->in.cfg;
    ptrdiff_t                n  = c->batch_size * c->seq_len;
    for (ptrdiff_t j = 0; j < c->accumulate; j++)
        lcsm_batches_fill(&r->in.train, r->at.step * c->accumulate + j, r->tokens + j * n,
                          r->targets + j * n, r->reset + j * n);
    follow_clock(r);
    LCSM_TRY(lcsm_trainer_step(r->in.trainer, r->tokens, r->targets, r->reset, &r->last, err));
    keep_pace(r, r->last.tokens - r->at.tokens);
    r->at.step         = r->last.step;
    r->at.tokens       = r->last.tokens;
    r->fresh           = false;
    lcsm_train_event e = event_of(r, LCSM_TRAIN_UPDATE);
    e.log              = r->at.step % c->log_every == 0 || r->at.step == 1;
    if (e.log) LCSM_TRY(lcsm_metrics_write(&r->metrics, &e, NULL, err));
    tell(r, &e);
cleanup:
    return st;
}

/* Every so many updates, or whenever a tenth of the run has passed, as long as the run is now. */
static bool evaluation_is_due(const run *r)
{
    ptrdiff_t every = r->in.cfg.eval_every;
    if (r->at.step == r->at.evaluated) return false;
    if (every > 0) return r->at.step % every == 0;
    double before = fraction_at(r, r->at.evaluated, r->at.evaluated_seconds);
    return floor(10 * fraction(r)) > floor(10 * before);
}

/* Why the run is over, or NULL. */
static const char *reason(run *r)
{
    const lcsm_train_config *c = &r->in.cfg;
    if (r->result.stopped) return "signal";
    if (c->stop_accuracy > 0 && r->at.best_accuracy > c->stop_accuracy) return "solved";
    if (c->patience > 0 && r->at.worse >= c->patience) return "early-stop";
    if (r->in.total > 0 && r->at.step >= r->in.total) return "steps";
    if (c->minutes > 0 && r->at.seconds >= 60 * c->minutes) return "time";
    return asked_to_stop(r) ? "signal" : NULL;
}

static lcsm_status between(run *r, lcsm_error *err)
{
    lcsm_status              st  = LCSM_OK;
    const lcsm_train_config *c   = &r->in.cfg;
    bool                     due = evaluation_is_due(r);
    if (due) LCSM_TRY(evaluate(r, err));
    if (c->save_every > 0 ? r->at.step % c->save_every == 0 : due) LCSM_TRY(save(r, err));
cleanup:
    return st;
}

/* The last update is evaluated, and a run has a model, however short it was. */
static lcsm_status finish(run *r, const char *why, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_train_event e;
    if (!r->result.stopped && r->at.step != r->at.evaluated) LCSM_TRY(evaluate(r, err));
    LCSM_TRY(save(r, err));
    if (!has_model(r)) LCSM_TRY(save_model(r, err));
    if (!r->result.stopped) LCSM_TRY(test_if_finite(r, err));
    if (r->result.stopped) why = "signal";
    r->result.reason        = why;
    r->result.best_loss     = r->at.best_loss;
    r->result.best_accuracy = r->at.best_accuracy;
    e                       = event_of(r, LCSM_TRAIN_END);
    e.text                  = why;
    LCSM_TRY(lcsm_metrics_write(&r->metrics, &e, &r->result, err));
    tell(r, &e);
cleanup:
    return st;
}

/* A run that goes on may have an evaluation to make that was cut short. */
static lcsm_status loop(run *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    const char *why;
    if (r->at.step > 0) LCSM_TRY(between(r, err));
    why = reason(r);
    while (why == NULL) {
        LCSM_TRY(update(r, err));
        LCSM_TRY(between(r, err));
        why = reason(r);
    }
    return finish(r, why, err);
cleanup:
    return st;
}

/* ---- start -------------------------------------------------------------------------------- */

static lcsm_status reserve(run *r, lcsm_error *err)
{
    const lcsm_train_config *c = &r->in.cfg;
    size_t                   n;
    if (!lcsm_size_mul((size_t)c->batch_size, (size_t)c->seq_len, &n)
        || !lcsm_size_mul(n, (size_t)c->accumulate, &n))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "an update of %td x %td x %td tokens overflows",
                         c->accumulate, c->batch_size, c->seq_len);
    r->tokens  = calloc(n, sizeof *r->tokens);
    r->targets = calloc(n, sizeof *r->targets);
    r->reset   = calloc(n, sizeof *r->reset);
    if (r->tokens == NULL || r->targets == NULL || r->reset == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a batch of %zu tokens", n);
    return LCSM_OK;
}

static lcsm_status check_data(const run *r, lcsm_error *err)
{
    if (r->at.data != r->in.data)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the data have %lld tokens or examples, and the run began with %lld",
                         (long long)r->in.data, (long long)r->at.data);
    if (r->at.hash != 0 && r->at.hash != r->in.hash)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the data are as long as those that the run began with, but they are not "
                         "the same");
    return LCSM_OK;
}

/* A run that was killed before its first checkpoint comes to the same model again; one that ended
 * had a checkpoint. */
static lcsm_status begin_again(run *r, lcsm_error *err)
{
    if (has_model(r) && lcsm_metrics_ended(r->in.run))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s has a model, but no checkpoint to go on from; it stays as it is: "
                         "train in another folder",
                         r->in.run);
    note(r, "the run has no checkpoint yet: it begins again");
    return LCSM_OK;
}

static lcsm_status go_on(run *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    bool        found;
    LCSM_TRY(lcsm_run_checkpoint_load(r->in.run, r->in.trainer, &r->at, &found, note, r, err));
    LCSM_TRY(found ? check_data(r, err) : begin_again(r, err));
    r->last  = (lcsm_update){.step = r->at.step, .tokens = r->at.tokens, .loss = NAN};
    r->fresh = found && r->in.valid.T > 0; /* else the model may be older than the checkpoint */
cleanup:
    return st;
}

static lcsm_status rewind_metrics(run *r, lcsm_error *err)
{
    lcsm_score  best    = {r->at.best_loss, r->at.best_accuracy};
    lcsm_status st      = lcsm_metrics_rewind(r->in.run, r->at.step, r->at.evaluated,
                                              (lcsm_task)r->in.cfg.task, &best, err);
    r->at.best_loss     = best.loss;
    r->at.best_accuracy = best.accuracy;
    return st;
}

/* Nothing of a run that is resumed changes before all of it is checked and loaded. */
static lcsm_status start(run *r, bool resume, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    r->at          = (lcsm_progress){.best_loss = NAN, .best_accuracy = NAN};
    r->metrics     = (lcsm_metrics){.run = r->in.run};
    LCSM_TRY(reserve(r, err));
    if (resume) LCSM_TRY(go_on(r, err));
    LCSM_TRY(lcsm_run_inputs_store(&r->in, resume, err));
    if (resume) LCSM_TRY(rewind_metrics(r, err));
    r->at.data = r->in.data;
    r->at.hash = r->in.hash;
    if (r->in.cfg.tensorboard) LCSM_TRY(lcsm_tensorboard_open(&r->metrics.board, r->in.run, err));
    r->mark            = lcsm_now();
    r->began           = r->mark - r->at.seconds;
    lcsm_train_event e = event_of(r, LCSM_TRAIN_START);
    lcsm_strbuf      s = {0};
    lcsm_strbuf_printf(&s, "%zu parameters, %lld %s, %lld updates",
                       lcsm_params_total(r->in.model->params), (long long)r->in.data,
                       r->in.cfg.task == LCSM_TASK_LM ? "tokens" : "examples",
                       (long long)r->in.total);
    e.text = lcsm_strbuf_text(&s);
    tell(r, &e);
    lcsm_strbuf_free(&s);
cleanup:
    return st;
}

/* The line that says why a run broke off, as far as it can be written. */
static void broken(run *r)
{
    lcsm_train_event e      = event_of(r, LCSM_TRAIN_END);
    r->result.best_loss     = r->at.best_loss;
    r->result.best_accuracy = r->at.best_accuracy;
    e.text                  = "not-finite";
    (void)lcsm_metrics_write(&r->metrics, &e, &r->result, NULL);
}

lcsm_status lcsm_train(const lcsm_context *ctx, const lcsm_train_job *job,
                       const lcsm_train_hooks *hooks, lcsm_train_result *out, lcsm_error *err)
{
    static const lcsm_train_hooks silent = {0};
    lcsm_status                   st     = LCSM_OK;
    run r = {.hooks = hooks == NULL ? &silent : hooks, .result = {.test_loss = NAN}};
    LCSM_TRY(lcsm_run_inputs_open(&r.in, ctx, job, r.hooks, err));
    LCSM_TRY(start(&r, job->resume, err));
    st = loop(&r, err);
    if (st == LCSM_ERR_NUMBER) broken(&r);
    r.result.steps   = r.at.step;
    r.result.tokens  = r.at.tokens;
    r.result.seconds = r.at.seconds;
    r.result.loss    = r.last.loss;
cleanup:
    if (out != NULL) *out = r.result;
    lcsm_tensorboard_close(r.metrics.board);
    free(r.tokens);
    free(r.targets);
    free(r.reset);
    lcsm_run_inputs_close(&r.in);
    return st;
}
