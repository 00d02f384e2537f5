/* runner.c - the runs of a grid: what is done stays, the rest is trained, several at a time. */
#include <lcsm/experiment.h>
#include <lcsm/inspect.h>
#include <lcsm/tokenizer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sized.h"
#include "data/source.h"
#include "experiment/crew.h"
#include "experiment/grid.h"
#include "experiment/process.h"
#include "experiment/result.h"
#include "experiment/run_plan.h"
#include "experiment/vocabulary.h"
#include "format/run_folder.h"
#include "report/record.h"
#include "report/study.h"

enum { JOBS = 256, POLL = 30 /* milliseconds */ };

typedef struct {
    lcsm_crew_job at;
    size_t        run;
    double        start;
} job;

typedef struct {
    const lcsm_context            *ctx;
    lcsm_experiment_options        own;
    lcsm_experiment_hooks          own_hooks;
    const lcsm_experiment_options *o;
    const lcsm_experiment_hooks   *hooks;
    lcsm_grid                      grid;
    lcsm_result                   *results; /* of each run */
    double                        *flops;
    char                           tokenizer[LCSM_PATH_MAX]; /* "" for none */
    job                            jobs[JOBS];
    lcsm_crew                      crew;
    size_t                         running, limit, next, done, failed;
    int                            threads;
    double                         start;
    double                         spent, busy; /* flops and seconds of the runs that are done */
    double                         planned;     /* flops a second of all runs together, or NaN */
    bool                           stopped;
} runner;

/* ---- events -------------------------------------------------------------------------------- */

/* Seconds that all runs will still take: those under way have done what their time allows, at the
 * pace of the runs that are done, or of the plan as long as there are none. */
static double time_left(const runner *r)
{
    double pace = r->busy > 0 ? r->spent / r->busy : r->planned / (double)r->limit;
    double sum = 0, now = lcsm_now();
    size_t runs = r->running;
    for (size_t j = r->next; j < r->grid.run_count; j++) {
        if (r->results[j].state != LCSM_RESULT_OPEN) continue;
        sum += r->flops[j];
        runs++;
    }
    for (size_t j = 0; j < r->running; j++)
        sum += fmax(r->flops[r->jobs[j].run] - (now - r->jobs[j].start) * pace, 0);
    size_t together = runs < r->limit ? runs : r->limit;
    return together > 0 ? sum / (pace * (double)together) : 0;
}

static void tell(const runner *r, lcsm_experiment_event_kind kind, const char *run,
                 const char *text, bool resumed)
{
    lcsm_experiment_event e = {.size    = sizeof e,
                               .kind    = kind,
                               .run     = run,
                               .text    = text,
                               .resumed = resumed,
                               .runs    = r->grid.run_count,
                               .done    = r->done,
                               .failed  = r->failed,
                               .running = r->running,
                               .seconds = lcsm_now() - r->start,
                               .left    = time_left(r)};
    if (r->hooks != NULL && r->hooks->event != NULL) r->hooks->event(r->hooks->user, &e);
}

static bool asked_to_stop(const runner *r)
{
    return r->hooks != NULL && r->hooks->stop != NULL && r->hooks->stop(r->hooks->user);
}

/* ---- one run ------------------------------------------------------------------------------- */

static lcsm_status folder_of(char out[LCSM_PATH_MAX], const runner *r, size_t run, lcsm_error *err)
{
    char        runs[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(runs, r->o->out, LCSM_STUDY_RUNS, err);
    return st == LCSM_OK ? lcsm_path_join(out, runs, r->grid.runs[run].name, err) : st;
}

static lcsm_status start_run(runner *r, size_t run, lcsm_error *err)
{
    lcsm_status          st      = LCSM_OK;
    const lcsm_grid_run *g       = &r->grid.runs[run];
    bool                 resumed = r->results[run].resumable;
    lcsm_command         c       = {0};
    char                 folder[LCSM_PATH_MAX], log[LCSM_PATH_MAX];
    job                 *j = &r->jobs[r->running];
    LCSM_TRY(folder_of(folder, r, run, err));
    LCSM_TRY(lcsm_folder_make(folder, err));
    LCSM_TRY(lcsm_path_join(log, folder, LCSM_RESULT_LOG, err));
    LCSM_TRY(lcsm_result_clear(folder, resumed, err));
    c  = resumed ? lcsm_command_resume(folder)
                 : lcsm_command_train(g, r->o, *r->tokenizer != '\0' ? r->tokenizer : NULL, folder);
    *j = (job){.run = run, .start = lcsm_now()};
    LCSM_TRY(lcsm_crew_start(&r->crew, &j->at, r->o->program, &c, r->threads, log, err));
    r->running++;
    tell(r, LCSM_EXPERIMENT_START, g->name, "", resumed);
cleanup:
    lcsm_command_free(&c);
    return st;
}

/* What the model remembers, for the report, unless it is only timed. A run that cannot be inspected
 * is done all the same. */
static void inspect_run(const runner *r, const char *folder)
{
    lcsm_inspect_options o    = {.size = sizeof o, .run = folder, .save = true};
    char                *json = NULL;
    lcsm_error           err  = {0};
    char                 text[LCSM_PATH_MAX + sizeof err.text + 32];
    if (r->grid.serial) return;
    if (lcsm_inspect(r->ctx, &o, &json, &err) != LCSM_OK) {
        (void)snprintf(text, sizeof text, "%s is not inspected: %s", folder, err.text);
        tell(r, LCSM_EXPERIMENT_NOTE, "", text, false);
    }
    free(json);
}

static bool is_inspected(const char *folder)
{
    lcsm_json_doc doc;
    bool          found = lcsm_record_inspection(&doc, folder);
    lcsm_json_doc_free(&doc);
    return found;
}

static lcsm_status end_run(runner *r, size_t number, int code, lcsm_error *err)
{
    const job    ended = r->jobs[number];
    size_t       run   = ended.run;
    char         folder[LCSM_PATH_MAX];
    lcsm_result *result = &r->results[run];
    r->jobs[number]     = r->jobs[--r->running];
    LCSM_OR_RETURN(folder_of(folder, r, run, err));
    LCSM_OR_RETURN(lcsm_result_of_exit(result, folder, code, r->stopped, err));
    if (result->state == LCSM_RESULT_OPEN) return LCSM_OK; /* it was stopped, and goes on later */
    if (result->state == LCSM_RESULT_DONE) {
        r->spent += r->flops[run];
        r->busy += lcsm_now() - ended.start;
    }
    r->done += result->state == LCSM_RESULT_DONE;
    r->failed += result->state == LCSM_RESULT_FAILED;
    if (result->state == LCSM_RESULT_DONE) inspect_run(r, folder);
    tell(r, LCSM_EXPERIMENT_END, r->grid.runs[run].name,
         result->state == LCSM_RESULT_FAILED ? result->message : "", false);
    return LCSM_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static lcsm_status start_more(runner *r, lcsm_error *err)
{
    while (r->running < r->limit && r->next < r->grid.run_count && !r->stopped) {
        size_t run = r->next++;
        if (r->results[run].state == LCSM_RESULT_OPEN) LCSM_OR_RETURN(start_run(r, run, err));
    }
    return LCSM_OK;
}

static lcsm_status take_ended(runner *r, lcsm_error *err)
{
    int code;
    LCSM_OR_RETURN(lcsm_crew_hear(&r->crew, err));
    for (size_t j = r->running; j-- > 0;)
        if (lcsm_crew_ended(&r->crew, &r->jobs[j].at, &code))
            LCSM_OR_RETURN(end_run(r, j, code, err));
    return LCSM_OK;
}

static void stop_all(runner *r)
{
    if (!r->stopped)
        for (size_t j = 0; j < r->running; j++) lcsm_crew_stop(&r->crew, &r->jobs[j].at);
    r->stopped = true;
}

/* Goes on until nothing runs; after an error what runs is stopped, and waited for. */
static lcsm_status run_all(runner *r, lcsm_error *err)
{
    lcsm_status st   = start_more(r, err);
    int         wait = 0;
    while (r->running > 0) {
        if (st != LCSM_OK || asked_to_stop(r)) stop_all(r);
        lcsm_process_pause(POLL);
        lcsm_status taken = take_ended(r, st == LCSM_OK ? err : NULL);
        if (st == LCSM_OK) st = taken;
        if (st == LCSM_OK) st = start_more(r, err);
        if (++wait % 16 == 0) tell(r, LCSM_EXPERIMENT_WAIT, "", "", false);
    }
    return st;
}

/* ---- before the first run ------------------------------------------------------------------ */

/* The tokenizer: the one that is given, or one that the scale asks for, trained once. */
static lcsm_status find_tokenizer(runner *r, size_t *vocab, lcsm_error *err)
{
    *vocab = 256;
    if (strcmp(r->grid.task, "lm") != 0) return LCSM_OK;
    if (r->o->tokenizer != NULL) {
        (void)snprintf(r->tokenizer, sizeof r->tokenizer, "%s", r->o->tokenizer);
    } else if (r->grid.vocabulary > 0) {
        LCSM_OR_RETURN(lcsm_path_join(r->tokenizer, r->o->out, LCSM_RUN_TOKENIZER, err));
        if (!lcsm_path_exists(r->tokenizer)) {
            tell(r, LCSM_EXPERIMENT_NOTE, "", "training a tokenizer on the data", false);
            LCSM_OR_RETURN(lcsm_vocabulary_train(r->tokenizer, r->grid.vocabulary, r->o->data,
                                                 r->o->data_count, err));
        }
    }
    if (*r->tokenizer != '\0') LCSM_OR_RETURN(lcsm_vocabulary_size(vocab, r->tokenizer, err));
    return LCSM_OK;
}

/* The part of a run that its newest checkpoint leaves to do. */
static double part_left(const lcsm_grid_run *g, const lcsm_result *result)
{
    const lcsm_train_config *t      = &g->train;
    double                   update = (double)(t->batch_size * t->seq_len * t->accumulate);
    if (!result->resumable || !(g->tokens > 0)) return 1;
    return fmax(0, 1 - (double)result->step * update / g->tokens);
}

static lcsm_status look(runner *r, lcsm_error *err)
{
    char folder[LCSM_PATH_MAX];
    r->done = r->failed = 0;
    for (size_t j = 0; j < r->grid.run_count; j++) {
        LCSM_OR_RETURN(folder_of(folder, r, j, err));
        LCSM_OR_RETURN(lcsm_result_look(&r->results[j], folder, err));
        r->done += r->results[j].state == LCSM_RESULT_DONE;
        r->failed += r->results[j].state == LCSM_RESULT_FAILED;
    }
    return LCSM_OK;
}

/* Runs that are done, but not inspected: by this version, or at all. */
static lcsm_status inspect_done(const runner *r, lcsm_error *err)
{
    char folder[LCSM_PATH_MAX];
    for (size_t j = 0; j < r->grid.run_count; j++) {
        LCSM_OR_RETURN(folder_of(folder, r, j, err));
        if (r->results[j].state == LCSM_RESULT_DONE && !is_inspected(folder))
            inspect_run(r, folder);
    }
    return LCSM_OK;
}

/* The operations that are left of each run. */
static void count_flops(runner *r, size_t vocab)
{
    for (size_t j = 0; j < r->grid.run_count; j++) {
        const lcsm_grid_run *g = &r->grid.runs[j];
        /* A model that cannot be built fails as a run, and costs nothing. */
        if (lcsm_plan_flops(&r->flops[j], r->ctx, g, vocab, NULL) != LCSM_OK) r->flops[j] = 0;
        r->flops[j] *= part_left(g, &r->results[j]);
    }
}

/* The open operations of a variant, and its last open run: the largest one; run_count: none. */
static size_t open_of(const runner *r, size_t variant, double *flops)
{
    size_t last = r->grid.run_count;
    *flops      = 0;
    for (size_t j = 0; j < r->grid.run_count; j++) {
        if (r->results[j].state != LCSM_RESULT_OPEN || r->grid.runs[j].variant != variant) continue;
        *flops += r->flops[j];
        last = j;
    }
    return last;
}

/* The seconds that open runs take, by a few updates of the largest of each variant: methods differ
 * in speed. After some time, those that are left count as the ones before. */
static double plan_seconds(const runner *r, size_t vocab, double *sum)
{
    enum { SECONDS = 20 };
    double start = lcsm_now(), seconds = 0, timed = 0;
    *sum = 0;
    for (size_t v = 0; v < r->grid.variant_count; v++) {
        double flops, rate = NAN;
        size_t run = open_of(r, v, &flops);
        *sum += flops;
        if (run < r->grid.run_count && lcsm_now() - start < SECONDS)
            rate = lcsm_plan_rate(r->ctx, &r->grid.runs[run], vocab);
        if (!isfinite(rate)) continue;
        seconds += flops / rate;
        timed += flops;
    }
    return timed > 0 ? seconds * *sum / timed : NAN;
}

/* Says what there is to do and how long that will take; false if it is not wanted. */
static bool tell_plan(runner *r, size_t vocab)
{
    double                sum = 0, left = plan_seconds(r, vocab, &sum);
    lcsm_experiment_event e = {.size   = sizeof e,
                               .kind   = LCSM_EXPERIMENT_PLAN,
                               .run    = "",
                               .text   = "",
                               .runs   = r->grid.run_count,
                               .done   = r->done,
                               .failed = r->failed,
                               .left   = sum > 0 ? left : 0,
                               .flops  = sum};
    r->planned              = sum / left;
    if (r->hooks != NULL && r->hooks->event != NULL) r->hooks->event(r->hooks->user, &e);
    return r->hooks == NULL || r->hooks->start == NULL || r->hooks->start(r->hooks->user, &e);
}

/* Those that failed before and are left as they are. */
static void tell_failed(const runner *r)
{
    for (size_t j = 0; j < r->grid.run_count; j++)
        if (r->results[j].state == LCSM_RESULT_FAILED)
            tell(r, LCSM_EXPERIMENT_END, r->grid.runs[j].name, r->results[j].message, false);
}

/* Children: one for each processor, each with one thread, or one on each rank; a timed experiment
 * has one with all. */
static void share_processors(runner *r)
{
    int processors = lcsm_context_threads(r->ctx);
    int ranks      = lcsm_dist_size(r->o->dist);
    int jobs   = r->grid.serial ? 1 : ranks > 1 ? ranks : r->o->jobs > 0 ? r->o->jobs : processors;
    r->limit   = (size_t)(jobs < JOBS ? jobs : JOBS);
    r->threads = ranks > 1                      ? processors
               : processors / (int)r->limit > 0 ? processors / (int)r->limit
                                                : 1;
}

/* Whether the folder is that of one run, made by training or import. */
static bool is_run(const char *folder)
{
    static const char *const parts[] = {LCSM_RUN_MODEL, LCSM_RUN_METRICS, LCSM_RUN_CHECKPOINTS};
    char                     path[LCSM_PATH_MAX];
    bool                     found = false;
    for (size_t j = 0; j < COUNT(parts); j++)
        found = found
             || (lcsm_path_join(path, folder, parts[j], NULL) == LCSM_OK && lcsm_path_exists(path));
    return found && lcsm_path_join(path, folder, LCSM_RUN_CONFIG, NULL) == LCSM_OK
        && lcsm_path_exists(path);
}

/* The files are there and can be read. */
static lcsm_status check_files(const char *const *paths, size_t count, lcsm_error *err)
{
    lcsm_sources files = {0};
    lcsm_status  st    = lcsm_sources_list(&files, paths, count, err);
    lcsm_sources_free(&files);
    return st;
}

/* What a run cannot take from the data: a vocabulary that is more than bytes, and text for the
 * evaluations that its figure comes from, if it keeps none of the data for them. */
static lcsm_status check_needs(const runner *r, const lcsm_grid_run *run, lcsm_error *err)
{
    enum { BYTES = 256 };
    const lcsm_experiment_options *o = r->o;
    if (run->model.vocab > BYTES && o->tokenizer == NULL && r->grid.vocabulary == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s at scale %s has a vocabulary of %td: pass a tokenizer of about that "
                         "size (--tokenizer); the paper uses GPT-2's",
                         r->grid.name, r->grid.scale, run->model.vocab);
    if (run->train.valid_fraction == 0 && o->valid_count == 0
        && lcsm_metric_evaluated(lcsm_metric_find(r->grid.metric)))
        return lcsm_fail(
            err, LCSM_ERR_ARGUMENT,
            "%s at scale %s trains on all of the data: pass another text for evaluation (--valid)",
            r->grid.name, r->grid.scale);
    return LCSM_OK;
}

/* Language models need text, and recall has no use for it. */
static lcsm_status check_text(const runner *r, lcsm_error *err)
{
    const lcsm_experiment_options *o     = r->o;
    bool                           lm    = strcmp(r->grid.task, "lm") == 0;
    size_t                         texts = o->data_count + o->valid_count + o->test_count;
    if (lm && o->data_count == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s trains language models: pass text (--data FILE or DIR)", r->grid.name);
    if (!lm && (texts > 0 || o->tokenizer != NULL))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s trains recall, which generates its own examples; data, valid, test "
                         "and tokenizer apply to experiments of the task lm",
                         r->grid.name);
    for (size_t j = 0; lm && j < r->grid.run_count; j++)
        LCSM_OR_RETURN(check_needs(r, &r->grid.runs[j], err));
    LCSM_OR_RETURN(check_files(o->data, o->data_count, err));
    LCSM_OR_RETURN(check_files(o->valid, o->valid_count, err));
    return check_files(o->test, o->test_count, err);
}

/* All that can be refused before something is written. */
static lcsm_status read_grid(runner *r, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_grid_open(&r->grid, r->o, err));
    LCSM_OR_RETURN(check_text(r, err));
    if (is_run(r->o->out))
        LCSM_OR_RETURN(lcsm_fail(err, LCSM_ERR_ARGUMENT,
                                 "%s is a run folder; use another folder for %s", r->o->out,
                                 r->grid.name));
    return LCSM_OK;
}

/* The vocabulary that language models will have. */
static lcsm_status plan_vocabulary(const runner *r, size_t *vocab, lcsm_error *err)
{
    *vocab = r->grid.vocabulary > 0 ? r->grid.vocabulary : 256;
    return r->o->tokenizer == NULL ? LCSM_OK : lcsm_vocabulary_size(vocab, r->o->tokenizer, err);
}

/* What there is to do; nothing is written. */
static lcsm_status plan(runner *r, bool *wanted, lcsm_error *err)
{
    size_t vocab;
    r->results = calloc(r->grid.run_count, sizeof *r->results);
    r->flops   = calloc(r->grid.run_count, sizeof *r->flops);
    if (r->results == NULL || r->flops == NULL) {
        (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu runs", r->grid.run_count);
        return LCSM_ERR_MEMORY;
    }
    share_processors(r);
    LCSM_OR_RETURN(plan_vocabulary(r, &vocab, err));
    LCSM_OR_RETURN(look(r, err));
    count_flops(r, vocab);
    *wanted = tell_plan(r, vocab);
    return LCSM_OK;
}

static lcsm_status prepare(runner *r, lcsm_error *err)
{
    size_t vocab;
    LCSM_OR_RETURN(lcsm_plan_store(&r->grid, r->o, err));
    LCSM_OR_RETURN(find_tokenizer(r, &vocab, err));
    LCSM_OR_RETURN(look(r, err)); /* another process may have ended since */
    LCSM_OR_RETURN(inspect_done(r, err));
    tell_failed(r);
    r->start = lcsm_now();
    return LCSM_OK;
}

static void say_result(const runner *r, bool stopped, lcsm_experiment_result *out)
{
    const lcsm_experiment_result own = {.size    = sizeof own,
                                        .runs    = r->grid.run_count,
                                        .done    = r->done,
                                        .failed  = r->failed,
                                        .stopped = stopped};
    if (out != NULL) lcsm_sized_fill(out, &own, sizeof own);
}

/* Of rank 0: all but handing out. */
static lcsm_status run_grid(runner *r, lcsm_experiment_result *out, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    int         lock   = -1;
    bool        wanted = true;
    r->start           = lcsm_now();
    r->planned         = NAN;
    LCSM_TRY(read_grid(r, err));
    LCSM_TRY(plan(r, &wanted, err));
    say_result(r, !wanted, out);
    if (!wanted) goto cleanup;
    LCSM_TRY(lcsm_folder_make(r->o->out, err));
    LCSM_TRY(lcsm_result_lock(&lock, r->o->out, err));
    LCSM_TRY(prepare(r, err));
    LCSM_TRY(run_all(r, err));
    say_result(r, r->stopped, out);
cleanup:
    lcsm_folder_unlock(lock);
    return st;
}

lcsm_status lcsm_experiment_run(const lcsm_context *ctx, const lcsm_experiment_options *options,
                                const lcsm_experiment_hooks *hooks, lcsm_experiment_result *out,
                                lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    runner     *r  = calloc(1, sizeof *r);
    if (r == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an experiment");
    r->ctx = ctx;
    LCSM_TRY(LCSM_TAKE(lcsm_experiment_options, reading, &r->own, options, err));
    LCSM_TRY(LCSM_TAKE(lcsm_experiment_hooks, start, &r->own_hooks, hooks, err));
    if (out != NULL) LCSM_TRY(LCSM_SIZED(lcsm_experiment_result, stopped, out, err));
    r->o     = &r->own;
    r->hooks = &r->own_hooks;
    LCSM_TRY(lcsm_dist_same_program(r->o->dist, err));
    if (lcsm_dist_first(r->o->dist)) {
        LCSM_TRY(lcsm_crew_open(&r->crew, r->o->dist, err));
        st = run_grid(r, out, err);
        lcsm_crew_close(&r->crew);
    } else
        st = lcsm_crew_serve(r->o->dist, r->o->program, r->own_hooks.stop, r->own_hooks.user, err);
    st = lcsm_dist_agree(r->o->dist, st, err);
cleanup:
    lcsm_grid_free(&r->grid);
    free(r->results);
    free(r->flops);
    free(r);
    return st;
}
