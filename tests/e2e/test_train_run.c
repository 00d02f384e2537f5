/* test_train_run.c - whole runs: text to a folder, resumed, refused. */
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/checkpoint_folder.h"
#include "model/config.h"
#include "temp_folder.h"
#include "test.h"
#include "train/settings.h"
#include "train/training.h"

typedef struct {
    temp_folder       f;
    lcsm_context     *ctx;
    lcsm_model_config model;
    lcsm_train_config train;
    const char       *data[1];
    char              text[512];
    int               stop_at, updates, evals, notes, gone;
    int               stop_evals; /* stop once there were so many evaluations; 0: never */
    bool              stop_now;   /* before anything is done */
    bool              tests;      /* the text is that of all three: data, valid and test */
    double            valid_loss; /* of the last evaluation */
    double            time, tick; /* of a clock that goes on by a tick whenever it is read */
    double            first_lr, last_lr, last_step; /* rates, and when the last step ended */
    double            eval_seconds, speed;          /* of all evaluations; of the last event */
    int64_t           eval_blocks;                  /* of every evaluation; -1: they differ */
    char              start[160], expected[160], less[160]; /* what was said */
} rig;

static void write_text(const char *path)
{
    char   text[3000];
    size_t n = 0;
    for (int j = 0; n + 20 < sizeof text; j++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d and %d; ", j % 7, j % 5);
    assert_int_equal(lcsm_file_write_atomic(path, text, n, NULL), LCSM_OK);
}

static void rig_make(rig *r)
{
    *r = (rig){.f = temp_folder_make()};
    snprintf(r->text, sizeof r->text, "%s", temp_path(&r->f, "text.txt"));
    write_text(r->text);
    r->data[0] = r->text;
    assert_int_equal(lcsm_context_create(&r->ctx, NULL, NULL), LCSM_OK);
    lcsm_model_config_defaults(&r->model);
    lcsm_train_config_defaults(&r->train);
    r->model.d_model = 16, r->model.layers = 2, r->model.heads = 2, r->model.dropout = 0.1;
    r->train.batch_size = 2, r->train.seq_len = 16, r->train.steps = 12, r->train.accumulate = 2;
    r->train.eval_every = 5, r->train.save_every = 3, r->train.warmup = 2;
    r->train.keep = 3;
}

static void rig_free(rig *r)
{
    lcsm_context_free(r->ctx);
    temp_folder_remove(&r->f);
}

static void keep_text(char text[160], const lcsm_train_event *e, const char *part)
{
    if (strstr(e->text, part) != NULL) snprintf(text, 160, "%s", e->text);
}

static void watch_time(rig *r, const lcsm_train_event *e)
{
    if (e->kind == LCSM_TRAIN_START) snprintf(r->start, sizeof r->start, "%s", e->text);
    if (e->kind == LCSM_TRAIN_NOTE) {
        keep_text(r->expected, e, "expected");
        keep_text(r->less, e, "evaluations use");
    }
    if (e->kind == LCSM_TRAIN_UPDATE) {
        if (e->update->step == 1) r->first_lr = e->update->lr;
        r->last_lr   = e->update->lr;
        r->last_step = e->seconds;
        r->speed     = e->tokens_per_second;
    }
    if (e->kind == LCSM_TRAIN_EVAL) {
        r->eval_seconds += e->seconds - r->last_step;
        if (r->eval_blocks == 0) r->eval_blocks = e->blocks;
        if (r->eval_blocks != e->blocks) r->eval_blocks = -1;
    }
}

static double fake_now(void *user)
{
    rig *r = user;
    return r->time += r->tick;
}

static void on_event(void *user, const lcsm_train_event *e)
{
    rig *r = user;
    r->updates += e->kind == LCSM_TRAIN_UPDATE;
    r->evals += e->kind == LCSM_TRAIN_EVAL;
    if (e->kind == LCSM_TRAIN_EVAL && strcmp(e->split, "valid") == 0)
        r->valid_loss = e->tally.loss / (double)e->tally.count;
    r->notes += e->kind == LCSM_TRAIN_NOTE && strstr(e->text, "is skipped") != NULL;
    r->gone += e->kind == LCSM_TRAIN_NOTE && strstr(e->text, "no test at the end") != NULL;
    watch_time(r, e);
}

static bool on_stop(void *user)
{
    const rig *r = user;
    return r->stop_now || (r->stop_at > 0 && r->updates >= r->stop_at)
        || (r->stop_evals > 0 && r->evals >= r->stop_evals);
}

static lcsm_status go(rig *r, const char *name, bool resume, lcsm_train_result *out,
                      lcsm_error *err)
{
    char             path[512];
    lcsm_train_hooks hooks = {sizeof hooks, on_event, on_stop, r};
    snprintf(path, sizeof path, "%s", temp_path(&r->f, name));
    lcsm_train_job job = {.size       = sizeof job,
                          .model      = &r->model,
                          .train      = &r->train,
                          .data       = r->data,
                          .data_count = resume || r->train.task == LCSM_TASK_MQAR ? 0 : 1,
                          .out        = path,
                          .resume     = resume};
    job.valid = job.test = r->data;
    job.valid_count = job.test_count = r->tests && !resume ? 1 : 0;
    r->updates = r->evals = r->notes = 0;
    if (r->tick == 0) return lcsm_train(r->ctx, &job, &hooks, out, err);
    return lcsm_training_by_clock(&(lcsm_training_clock){fake_now, r}, r->ctx, &job, &hooks, out,
                                  err);
}

static void same_file(rig *r, const char *a, const char *b)
{
    size_t         na, nb;
    unsigned char *x = temp_read(&r->f, a, &na), *y = temp_read(&r->f, b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(x, y, na);
    free(x);
    free(y);
}

static void same_runs(rig *r)
{
    same_file(r, "whole/model.safetensors", "parts/model.safetensors");
    same_file(r, "whole/checkpoints/step-00000012/model.safetensors",
              "parts/checkpoints/step-00000012/model.safetensors");
    same_file(r, "whole/checkpoints/step-00000012/optimizer.safetensors",
              "parts/checkpoints/step-00000012/optimizer.safetensors");
}

/* Stops after 4 and 7 updates, or 5 and 10, where it is in an evaluation. */
static void stopped_and_resumed(bool carried, bool evaluating)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make(&r);
    r.train.carried = carried;
    assert_int_equal(go(&r, "whole", false, &out, NULL), LCSM_OK);
    assert_int_equal(out.steps, 12);
    assert_string_equal(out.reason, "steps");
    assert_true(isfinite(out.best_loss));
    r.stop_at = evaluating ? 5 : 4;
    assert_int_equal(go(&r, "parts", false, &out, NULL), LCSM_OK);
    assert_true(out.stopped);
    assert_string_equal(out.reason, "signal");
    assert_int_equal(out.steps, r.stop_at);
    r.stop_at = evaluating ? 5 : 3;
    assert_int_equal(go(&r, "parts", true, &out, NULL), LCSM_OK);
    assert_int_equal(out.steps, evaluating ? 10 : 7);
    assert_int_equal(r.evals, 1);
    r.stop_at = 0;
    assert_int_equal(go(&r, "parts", true, &out, NULL), LCSM_OK);
    assert_int_equal(out.steps, 12);
    same_runs(&r);
    rig_free(&r);
}

TEST(train_stopped_and_resumed_ends_with_the_same_bits)
{
    stopped_and_resumed(false, false);
    stopped_and_resumed(true, false);
    stopped_and_resumed(false, true);
}

/* Evaluations follow the new budget, and the last update is evaluated whatever the budget. */
TEST(train_resumed_with_more_steps_evaluates_again)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make(&r);
    r.train.eval_every = 0, r.train.save_every = 0, r.train.steps = 10;
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 10);
    r.train.steps = 20;
    assert_int_equal(go(&r, "a", true, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 5);
    assert_int_equal(go(&r, "a", true, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 0);
    r.train.eval_every = 100, r.train.steps = 23;
    assert_int_equal(go(&r, "a", true, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 1);
    rig_free(&r);
}

/* More updates, with a rate that ruins the model: the best one is not the last. */
static void ruin(rig *r, const char *name, lcsm_train_result *out)
{
    r->train.steps = 12, r->train.lr = 3;
    assert_int_equal(go(r, name, true, out, NULL), LCSM_OK);
    assert_true(out->best_loss < r->valid_loss);
}

TEST(train_tests_the_best_model_once_at_its_end)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    size_t            size;
    rig_make(&r);
    r.tests = true, r.train.steps = 10, r.train.schedule = 0;
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 3);
    assert_true(out.test_loss == out.best_loss);
    ruin(&r, "a", &out);
    assert_int_equal(r.evals, 2);
    assert_true(out.test_loss == out.best_loss);

    /* Stopped in the test: it is made when the run goes on, on the run's own text. */
    r.train.steps = 10, r.train.lr = 0.002, r.stop_evals = 2;
    assert_int_equal(go(&r, "b", false, &out, NULL), LCSM_OK);
    assert_string_equal(out.reason, "signal");
    assert_true(isnan(out.test_loss));
    r.stop_evals = 0;
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(go(&r, "b", true, &out, NULL), LCSM_OK);
        assert_int_equal(r.evals, 1);
        assert_true(out.test_loss == out.best_loss);
    }
    char       *text = (char *)temp_read(&r.f, "b/metrics.jsonl", &size);
    const char *line = strstr(text, "\"split\":\"test\"");
    assert_non_null(line);
    assert_null(strstr(line + 1, "\"split\":\"test\""));
    free(text);
    rig_free(&r);
}

/* The files of a killed run: a model that is newer than the checkpoint it goes on from. A run that
 * is killed twice comes to no checkpoint in between. */
static void killed_and_resumed(int times)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    size_t            size;
    rig_make(&r);
    r.tests = true;
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    for (int step = 9; step <= 12; step += 3) {
        char file[64];
        snprintf(file, sizeof file, "a/checkpoints/step-%08d/model.safetensors", step);
        unsigned char *data = temp_read(&r.f, file, &size);
        data[size - 1] ^= 1;
        temp_write(&r.f, file, data, size);
        free(data);
    }
    r.train.lr = 3;
    for (r.stop_now = true; times > 1; times--)
        assert_int_equal(go(&r, "a", true, &out, NULL), LCSM_OK);
    r.stop_now = false;
    assert_int_equal(go(&r, "a", true, &out, NULL), LCSM_OK);
    assert_int_equal(r.updates, 6);
    assert_true(out.test_loss == out.best_loss);
    rig_free(&r);
}

TEST(train_resumed_after_a_kill_with_another_rate_tests_a_model_it_has_measured)
{
    killed_and_resumed(1);
    killed_and_resumed(2);
}

TEST(train_resumed_without_its_test_text_goes_on_without_a_test)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    lcsm_error        err = {0};
    const char       *other;
    rig_make(&r);
    temp_write(&r.f, "other.txt", "a text that goes", 16);
    other         = temp_path(&r.f, "other.txt");
    r.train.steps = 3, r.train.save_every = 0;
    lcsm_train_job job = {.size       = sizeof job,
                          .model      = &r.model,
                          .train      = &r.train,
                          .data       = r.data,
                          .test       = &other,
                          .data_count = 1,
                          .test_count = 1};
    char           path[512];
    char           name[512];
    snprintf(name, sizeof name, "%s", other);
    other = name;
    snprintf(path, sizeof path, "%s", temp_path(&r.f, "a"));
    job.out = path;
    assert_int_equal(lcsm_train(r.ctx, &job, NULL, &out, &err), LCSM_OK);
    assert_true(isfinite(out.test_loss));
    assert_int_equal(remove(name), 0);
    r.train.steps = 5;
    assert_int_equal(go(&r, "a", true, &out, &err), LCSM_OK);
    assert_int_equal(out.steps, 5);
    assert_true(isnan(out.test_loss));
    assert_int_equal(r.gone, 1);
    rig_free(&r);
}

/* The files of a run without evaluations that was killed between its checkpoint and its model. */
TEST(train_resumed_with_a_model_that_is_too_old_writes_it_again)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    size_t            size;
    rig_make(&r);
    r.train.valid_fraction = 0;
    assert_int_equal(go(&r, "whole", false, &out, NULL), LCSM_OK);
    assert_int_equal(go(&r, "parts", false, &out, NULL), LCSM_OK);
    unsigned char *old =
        temp_read(&r.f, "parts/checkpoints/step-00000009/model.safetensors", &size);
    temp_write(&r.f, "parts/model.safetensors", old, size);
    assert_int_equal(go(&r, "parts", true, &out, NULL), LCSM_OK);
    same_runs(&r);
    free(old);
    rig_free(&r);
}

TEST(train_without_a_text_for_it_tests_nothing)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make(&r);
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    assert_true(isnan(out.test_loss));
    rig_free(&r);
}

TEST(train_stopped_before_an_evaluation_leaves_a_model)
{
    rig               r;
    lcsm_train_result out   = {.size = sizeof out};
    lcsm_model       *model = NULL;
    rig_make(&r);
    r.stop_at = 1;
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    assert_int_equal(r.evals, 0);
    assert_int_equal(lcsm_model_load(&model, r.ctx, temp_path(&r.f, "a"), NULL), LCSM_OK);
    lcsm_model_free(model);
    rig_free(&r);
}

/* A checkpoint that is damaged is passed over, and the one before it leads to the same end. */
TEST(train_resumes_from_the_newest_good_checkpoint)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    size_t            size;
    const char       *file = "parts/checkpoints/step-00000012/model.safetensors";
    rig_make(&r);
    assert_int_equal(go(&r, "whole", false, &out, NULL), LCSM_OK);
    assert_int_equal(go(&r, "parts", false, &out, NULL), LCSM_OK);
    unsigned char *data = temp_read(&r.f, file, &size);
    data[size - 1] ^= 1;
    assert_int_equal(lcsm_file_write_atomic(temp_path(&r.f, file), data, size, NULL), LCSM_OK);
    assert_int_equal(go(&r, "parts", true, &out, NULL), LCSM_OK);
    assert_int_equal(r.notes, 1);
    assert_int_equal(r.updates, 3);
    same_runs(&r);
    free(data);
    rig_free(&r);
}

TEST(train_refuses_a_folder_that_is_a_run_and_one_that_is_none)
{
    rig        r;
    lcsm_error err = {0};
    rig_make(&r);
    r.train.steps = 1;
    assert_int_equal(go(&r, "a", true, NULL, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "is not a run"));
    assert_int_equal(go(&r, "a", false, NULL, &err), LCSM_OK);
    assert_int_equal(go(&r, "a", false, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "is already a run"));
    rig_free(&r);
}

TEST(train_resumed_with_other_data_is_refused)
{
    rig        r;
    lcsm_error err = {0};
    rig_make(&r);
    r.train.steps = 3;
    assert_int_equal(go(&r, "a", false, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_file_write_atomic(r.text, "a short text now", 16, NULL), LCSM_OK);
    assert_int_equal(go(&r, "a", true, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "the run began with"));
    rig_free(&r);
}

static lcsm_status resume(rig *r, lcsm_error *err)
{
    return go(r, "a", true, NULL, err);
}

/* Refused with that sentence, and the files of the run are what they were. */
static void refused(rig *r, const char *why)
{
    static const char *const files[] = {"config.json", "metrics.jsonl", "model.safetensors"};
    lcsm_error               err     = {0};
    char                     name[64], copy[64];
    for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
        size_t size;
        snprintf(name, sizeof name, "a/%s", files[j]);
        unsigned char *data = temp_read(&r->f, name, &size);
        temp_write(&r->f, files[j], data, size);
        free(data);
    }
    assert_int_not_equal(resume(r, &err), LCSM_OK);
    if (strstr(err.text, why) == NULL) fail_msg("'%s' is not in '%s'", why, err.text);
    for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
        snprintf(name, sizeof name, "a/%s", files[j]);
        snprintf(copy, sizeof copy, "%s", files[j]);
        same_file(r, name, copy);
    }
}

TEST(train_resumed_with_another_model_task_or_text_is_refused_and_stays_whole)
{
    rig r;
    rig_make(&r);
    r.train.steps = 3;
    assert_int_equal(go(&r, "a", false, NULL, NULL), LCSM_OK);
    rig given   = r;
    r.model.tau = 1;
    refused(&r, "tau is 1, but the run has 16");
    r               = given;
    r.model.d_model = 32;
    refused(&r, "d_model is 32, but the run has 16");
    r            = given;
    r.train.task = LCSM_TASK_MQAR;
    refused(&r, "task is mqar, but the run has lm");
    r             = given;
    r.model.vocab = 300;
    refused(&r, "vocab is 300, but the run has 256");
    r = given;
    size_t         size;
    unsigned char *text = temp_read(&r.f, "text.txt", &size);
    text[5] ^= 1;
    temp_write(&r.f, "text.txt", text, size);
    refused(&r, "different contents");
    text[5] ^= 1;
    temp_write(&r.f, "text.txt", text, size);
    free(text);
    r.train.lr = 0.001, r.train.steps = 5;
    assert_int_equal(resume(&r, NULL), LCSM_OK);
    rig_free(&r);
}

TEST(train_resumed_where_no_checkpoint_can_be_used_is_refused)
{
    rig r;
    rig_make(&r);
    r.train.steps = 1;
    assert_int_equal(go(&r, "a", false, NULL, NULL), LCSM_OK);
    temp_poke(&r.f, "a/checkpoints/step-00000001/manifest.json", 0, '[');
    refused(&r, "all 1 of its checkpoints are damaged");
    assert_int_equal(lcsm_folder_remove(temp_path(&r.f, "a/checkpoints/step-00000001"), NULL),
                     LCSM_OK);
    refused(&r, "no checkpoint to resume from");
    assert_int_equal(remove(temp_path(&r.f, "a/metrics.jsonl")), 0); /* as if it had been killed */
    assert_int_equal(resume(&r, NULL), LCSM_OK);
    assert_int_equal(r.updates, 1);
    rig_free(&r);
}

/* A lock is of an open file, so one process can have two that exclude each other. */
TEST(train_in_a_folder_where_another_trains_is_refused)
{
    rig        r;
    lcsm_error err = {0};
    int        lock;
    rig_make(&r);
    r.train.steps = 1;
    assert_int_equal(go(&r, "a", false, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_lock(&lock, temp_path(&r.f, "a"), NULL), LCSM_OK);
    refused(&r, "another process is training in ");
    assert_int_equal(remove(temp_path(&r.f, "a/config.json")), 0);
    assert_int_equal(go(&r, "a", false, NULL, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "another process is training in "));
    lcsm_folder_unlock(lock);
    assert_int_equal(go(&r, "a", false, NULL, &err), LCSM_OK);
    rig_free(&r);
}

TEST(train_resumed_from_a_folder_of_another_kind_is_refused)
{
    rig r;
    rig_make(&r);
    r.train.steps = 1;
    assert_int_equal(go(&r, "a", false, NULL, NULL), LCSM_OK);
    size_t         size;
    unsigned char *text = temp_read(&r.f, "a/config.json", &size);
    char          *type = strstr((char *)text, "\"lcsm\"");
    assert_non_null(type);
    memcpy(type, "\"abcd\"", 6);
    temp_write(&r.f, "a/config.json", text, size);
    refused(&r, "model_type is \"abcd\"");
    memcpy(type, "\"lcsm\"", 6);
    char *version = strstr((char *)text, "\"format_version\": 1");
    assert_non_null(version);
    version[18] = '9';
    temp_write(&r.f, "a/config.json", text, size);
    refused(&r, "format_version is 9");
    free(text);
    rig_free(&r);
}

TEST(train_recall_counts_labels_only)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    lcsm_error        err = {0};
    rig_make(&r);
    r.train.task  = LCSM_TASK_MQAR;
    r.train.pairs = 2, r.train.examples = 20, r.train.test_examples = 5, r.train.seq_len = 16;
    r.model.vocab = 32, r.train.accumulate = 1;
    assert_int_equal(go(&r, "recall", false, &out, &err), LCSM_OK);
    assert_int_equal(out.tokens, 12 * 2 * 2);
    assert_true(out.best_accuracy >= 0 && out.best_accuracy <= 1);
    r.train.pairs = 5;
    assert_int_equal(go(&r, "recall2", false, &out, &err), LCSM_ERR_CONFIG);
    rig_free(&r);
}

/* ---- runs that time ends, by a clock of our own ------------------------------------------ */

/* Five minutes; a step and a batch of an evaluation take half a second each. */
static void rig_make_timed(rig *r)
{
    rig_make(r);
    r->tick        = 0.5;
    r->train.steps = 0, r->train.minutes = 5, r->train.eval_every = 0, r->train.save_every = 0;
}

static void run_timed(rig *r, const char *name, lcsm_train_result *out)
{
    r->eval_seconds = 0, r->eval_blocks = 0;
    assert_int_equal(go(r, name, false, out, NULL), LCSM_OK);
    assert_string_equal(out->reason, "time");
}

/* Two per cent of the peak: the last step of a straight line of 50 steps and more is as near. */
static void ends_at_last_rate(rig *r, const char *name)
{
    lcsm_train_result out = {.size = sizeof out};
    run_timed(r, name, &out);
    assert_true(out.steps > 100);
    if (!(fabs(r->last_lr - r->train.lr_last) <= 0.02 * r->train.lr))
        fail_msg("%s: the last rate is %g, want %g", name, r->last_lr, r->train.lr_last);
    assert_true(r->first_lr > 0);
}

TEST(train_by_the_clock_ends_at_the_last_rate)
{
    static const ptrdiff_t warmups[] = {0, 2, 50, 10000};
    static const char     *words[]   = {"linear", "cosine"};
    for (size_t j = 0; j < sizeof warmups / sizeof *warmups; j++) {
        rig r;
        rig_make_timed(&r);
        r.train.warmup  = warmups[j];
        r.train.lr_last = j == 1 ? 0.0002 : 0;
        assert_int_equal(lcsm_train_config_set(&r.train, "schedule", words[j % 2], NULL), LCSM_OK);
        ends_at_last_rate(&r, "timed");
        rig_free(&r);
    }
}

TEST(train_by_the_clock_gives_evaluation_a_tenth_of_the_time)
{
    for (ptrdiff_t every = 0; every <= 20; every += 10) {
        rig               r;
        lcsm_train_result out = {.size = sizeof out};
        rig_make_timed(&r);
        r.train.eval_every = every;
        run_timed(&r, "timed", &out);
        assert_true(r.evals >= 9);
        assert_true(r.eval_seconds <= 0.1 * 60 * r.train.minutes);
        assert_true(r.eval_blocks > 0 && r.eval_blocks < 19); /* 300 tokens in blocks of 16 */
        assert_non_null(strstr(r.less, "of 19 blocks"));
        rig_free(&r);
    }
}

/* What is slow from the start gets fewer evaluations, and the last step has one. */
TEST(train_by_the_clock_evaluates_less_often_where_a_batch_takes_long)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make_timed(&r);
    r.tick = 8;
    run_timed(&r, "timed", &out);
    assert_true(r.evals >= 2 && r.evals <= 4);
    assert_true(r.eval_seconds <= 0.1 * 60 * r.train.minutes + 2 * r.tick);
    assert_int_equal(r.eval_blocks, 2);
    rig_free(&r);
}

TEST(train_by_the_clock_with_time_enough_evaluates_all_of_it)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make_timed(&r);
    r.tick = 0.05, r.train.valid_fraction = 0.01;
    run_timed(&r, "timed", &out);
    assert_int_equal(r.evals, 10);
    assert_int_equal(r.eval_blocks, 2); /* 30 tokens */
    assert_string_equal(r.less, "");
    rig_free(&r);
}

TEST(train_by_the_clock_says_how_many_steps_to_expect)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make_timed(&r);
    run_timed(&r, "timed", &out);
    assert_non_null(strstr(r.start, "5 minutes"));
    assert_null(strstr(r.start, " steps"));
    long long steps = 0;
    assert_int_equal(sscanf(r.expected, "about %lld steps, 10 evaluations", &steps), 1);
    assert_true(llabs(steps - out.steps) <= out.steps / 5);
    rig_free(&r);
    rig_make(&r);
    assert_int_equal(go(&r, "counted", false, &out, NULL), LCSM_OK);
    assert_non_null(strstr(r.start, "12 steps, 3 evaluations"));
    assert_string_equal(r.expected, "");
    rig_free(&r);
}

/* 64 tokens a step of half a second, however many evaluations there are. */
TEST(train_has_one_speed_in_events_metrics_and_result)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    size_t            size;
    rig_make(&r);
    r.tick = 0.5, r.train.log_every = 1;
    assert_int_equal(go(&r, "a", false, &out, NULL), LCSM_OK);
    assert_true(r.speed == 128);
    assert_true(out.tokens_per_second == 128);
    char *text  = (char *)temp_read(&r.f, "a/metrics.jsonl", &size);
    int   lines = 0;
    for (const char *at = text; (at = strstr(at, "tokens_per_second\":")) != NULL; lines++) {
        at += strlen("tokens_per_second\":");
        assert_true(strtod(at, NULL) == 128);
    }
    assert_int_equal(lines, 12 + 1);
    free(text);
    rig_free(&r);
}

TEST(train_by_the_clock_ends_by_the_clock)
{
    rig               r;
    lcsm_train_result out = {.size = sizeof out};
    rig_make(&r);
    r.train.steps = 0, r.train.minutes = 0.5 / 60, r.train.eval_every = 0, r.train.save_every = 0;
    assert_int_equal(go(&r, "timed", false, &out, NULL), LCSM_OK);
    assert_string_equal(out.reason, "time");
    assert_true(out.seconds >= 0.5 && out.seconds < 10);
    rig_free(&r);
}
