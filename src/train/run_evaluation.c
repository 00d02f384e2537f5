/*
 * run_evaluation.c - the evaluations of a run: when, on how much, and which model is kept.
 *
 * Every evaluation of a run looks at the same blocks, so that its models compare. Under a budget of
 * time the first one looks at as many as it has time for, and those that follow at as many.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/run_folder.h"
#include "train/training.h"

/* The first evaluation leaves some of its time, for those that are slower. */
static const double MARGIN = 0.9;

/* ---- the model ---------------------------------------------------------------------------- */

static lcsm_status save_model(const lcsm_training *r, lcsm_error *err)
{
    return lcsm_run_model_store(r->in.run, r->in.model->params, LCSM_TENSORS_TRAINED, err);
}

lcsm_status lcsm_training_save_model(const lcsm_training *r, lcsm_error *err)
{
    lcsm_status st = lcsm_dist_first(r->in.dist) ? save_model(r, err) : LCSM_OK;
    return lcsm_dist_agree(r->in.dist, st, err);
}

lcsm_status lcsm_training_need_model(const lcsm_training *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    if (lcsm_dist_first(r->in.dist) && !lcsm_training_has_model(r)) st = save_model(r, err);
    return lcsm_dist_agree(r->in.dist, st, err);
}

bool lcsm_training_has_model(const lcsm_training *r)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, r->in.run, lcsm_run_model_file(r->in.model->params), NULL)
            == LCSM_OK
        && lcsm_path_exists(path);
}

/* ---- one evaluation ----------------------------------------------------------------------- */

typedef struct {
    lcsm_training *r;
    double         until; /* seconds of the run; INFINITY: to the end */
    double         batch; /* when the batch under way began */
} watch;

/* After every batch: whether another one has time. */
static bool go_on(void *user, int64_t done, int64_t total)
{
    watch *w = user;
    lcsm_training_tick(w->r);
    double took = w->r->at.seconds - w->batch;
    w->batch    = w->r->at.seconds;
    return done == total || (!lcsm_training_stopped(w->r) && w->batch + took <= w->until);
}

/* Blocks `most` (0: all), or as many as there is time for until `until`. */
static lcsm_status measure(lcsm_training *r, const lcsm_batches *from, int64_t most, double until,
                           lcsm_eval_sums *sums, lcsm_error *err)
{
    char           what[64];
    watch          w    = {r, until, r->at.seconds};
    lcsm_eval_plan plan = {
        .blocks = most, .what = what, .go_on = go_on, .user = &w, .dist = r->in.dist};
    (void)snprintf(what, sizeof what, "evaluation after step %lld", (long long)r->at.step);
    bool own = from->T != r->in.train.T;
    return lcsm_evaluator_run(own ? &r->in.tester : &r->in.trainer->e, from, &plan, sums, err);
}

/* Whether the task's metric is neither the accuracy nor the perplexity, which are told anyway. */
static bool scored_apart(const lcsm_task *task)
{
    return task->metric != LCSM_SCORE_ACCURACY && task->metric != LCSM_SCORE_PERPLEXITY;
}

static lcsm_train_event eval_event(const lcsm_training *r, const char *split,
                                   const lcsm_batches *from, const lcsm_eval_sums *sums)
{
    lcsm_train_event e = lcsm_training_event(r, LCSM_TRAIN_EVAL);
    e.split            = split;
    e.tally            = sums->tally;
    e.blocks           = sums->blocks;
    e.score            = scored_apart(from->task) ? sums->score : NAN;
    lcsm_eval_text_figures(from->data, &e.tally, &e.bits_per_byte, &e.word_perplexity);
    return e;
}

/* True for the first, and for one that is better than all before. Both numbers are kept of the same
 * evaluation. */
static bool better(lcsm_training *r, const lcsm_tally *sum)
{
    lcsm_score now  = {lcsm_tally_loss(sum), lcsm_tally_accuracy(sum)};
    lcsm_score best = {r->at.best_loss, r->at.best_accuracy};
    bool       is   = lcsm_score_better(&now, &best, lcsm_train_task(&r->in.cfg));
    r->at.worse     = is ? 0 : r->at.worse + 1;
    if (!is) return false;
    r->at.best_loss     = now.loss;
    r->at.best_accuracy = now.accuracy;
    return true;
}

/* The blocks that an evaluation would look at if there were time; 0: all. */
static int64_t blocks_wanted(const lcsm_training *r)
{
    int64_t all = lcsm_batches_blocks(&r->in.valid), most = r->in.cfg.eval_blocks;
    return most > 0 && most < all ? most : all;
}

/* What the first evaluation had time for is what the others look at. */
static void settle_blocks(lcsm_training *r, int64_t blocks)
{
    char    text[160];
    int64_t want      = blocks_wanted(r);
    r->at.eval_blocks = blocks;
    if (blocks >= want) return;
    (void)snprintf(text, sizeof text,
                   "evaluations use %lld of %lld blocks, to take at most a tenth of the %g minutes",
                   (long long)blocks, (long long)want, r->in.cfg.minutes);
    lcsm_training_note(r, text);
}

static lcsm_status keep_evaluation(lcsm_training *r, const lcsm_eval_sums *sums, lcsm_error *err)
{
    lcsm_train_event e = eval_event(r, "valid", &r->in.valid, sums);
    e.best             = better(r, &sums->tally);
    if (e.best) LCSM_OR_RETURN(lcsm_training_save_model(r, err));
    LCSM_OR_RETURN(lcsm_training_write(r, &e, err));
    lcsm_training_tell(r, &e);
    return LCSM_OK;
}

static lcsm_status evaluate_valid(lcsm_training *r, lcsm_error *err)
{
    lcsm_budget_at at    = lcsm_training_where(r);
    bool           first = r->at.eval_blocks == 0 && r->in.budget.seconds > 0;
    double         until = first ? MARGIN * lcsm_budget_allowance(&r->in.budget, &at) : INFINITY;
    int64_t        most  = blocks_wanted(r);
    lcsm_eval_sums sums;
    if (r->at.eval_blocks > 0 && r->at.eval_blocks < most) most = r->at.eval_blocks;
    LCSM_OR_RETURN(measure(r, &r->in.valid, most, at.seconds + until, &sums, err));
    if (r->result.stopped) return LCSM_OK;
    if (first) settle_blocks(r, sums.blocks);
    LCSM_OR_RETURN(keep_evaluation(r, &sums, err));
    lcsm_training_tick(r);
    r->eval_cost = r->at.seconds - at.seconds;
    r->at.eval_seconds += r->eval_cost;
    return LCSM_OK;
}

lcsm_status lcsm_training_evaluate(lcsm_training *r, lcsm_error *err)
{
    double seconds = r->at.seconds;
    if (r->in.valid.T > 0 && !lcsm_training_stopped(r)) LCSM_OR_RETURN(evaluate_valid(r, err));
    if (r->result.stopped) return LCSM_OK;
    r->at.evaluated         = r->at.step;
    r->at.evaluated_seconds = seconds;
    r->fresh                = false;
    return LCSM_OK;
}

bool lcsm_training_evaluation_is_due(const lcsm_training *r)
{
    const lcsm_budget *b  = &r->in.budget;
    lcsm_budget_at     at = lcsm_training_where(r);
    if (at.step == r->at.evaluated) return false;
    if (r->in.valid.T > 0 && r->eval_cost > lcsm_budget_allowance(b, &at)) return false;
    if (b->eval_every > 0) return at.step % b->eval_every == 0;
    return floor(10 * lcsm_budget_done(b, at.step, at.seconds))
         > floor(10 * lcsm_budget_done(b, r->at.evaluated, r->at.evaluated_seconds));
}

/* ---- the test ----------------------------------------------------------------------------- */

static lcsm_status test(lcsm_training *r, lcsm_error *err)
{
    lcsm_eval_sums   sums;
    lcsm_train_event e;
    LCSM_OR_RETURN(lcsm_run_model_take(r->in.trainer, r->in.run, r->in.run, err));
    LCSM_OR_RETURN(measure(r, &r->in.test, 0, INFINITY, &sums, err));
    if (r->result.stopped) return LCSM_OK;
    r->result.test_loss = lcsm_tally_loss(&sums.tally);
    e                   = eval_event(r, "test", &r->in.test, &sums);
    LCSM_OR_RETURN(lcsm_training_write(r, &e, err));
    lcsm_training_tell(r, &e);
    return LCSM_OK;
}

/* A run that came to its end is not lost with a test that gives no number. */
lcsm_status lcsm_training_test(lcsm_training *r, lcsm_error *err)
{
    if (r->in.test.T == 0 || lcsm_training_stopped(r)) return LCSM_OK;
    lcsm_status st = test(r, err);
    if (st != LCSM_ERR_NUMBER) return st;
    lcsm_training_note(
        r, "the test of the best model gave a value that is NaN or infinite; it is left "
           "out");
    return LCSM_OK;
}
