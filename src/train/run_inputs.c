/* run_inputs.c - opens what a run works with, before its first step. */
#include "train/run_inputs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/folder.h"
#include "format/json_doc.h"
#include "format/json_write.h"
#include "format/run_folder.h"
#include "model/config.h"
#include "train/ranks.h"
#include "train/run_checkpoint.h"
#include "train/run_init.h"
#include "train/settings.h"

/* ---- config.json -------------------------------------------------------------------------- */

/* Where the paths of the data stand, beside the keys of the two tables. */
enum { DATA, VALID, TEST };
static const char *const PATHS[]  = {[DATA] = "data", [VALID] = "valid", [TEST] = "test"};
static const char *const OTHERS[] = {"model_type", "format_version", "data",       "valid",
                                     "test",       "init",           "init_sha256"};

/* The keys of both tables that are read; NULL when there is no memory. */
static json_t *settings_json(const lcsm_model_config *model, const lcsm_train_config *train)
{
    json_t *object = lcsm_model_config_json(model);
    if (object != NULL && lcsm_train_config_write(train, object)) return object;
    json_decref(object);
    return NULL;
}

json_t *lcsm_run_inputs_settings(const lcsm_run_inputs *j)
{
    return settings_json(&j->model_cfg, &j->cfg);
}

static lcsm_status write_config(const lcsm_run_inputs *j, bool resume, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    json_t     *object = settings_json(&j->model_cfg, &j->cfg);
    bool        whole  = object != NULL;
    for (size_t k = 0; k < COUNT(PATHS); k++)
        if (whole && j->paths[k] != NULL)
            whole = json_object_set(object, PATHS[k], j->paths[k]) == 0;
    if (whole && j->init != NULL)
        whole = json_object_set_new(object, "init", json_string(j->init)) == 0
             && json_object_set_new(object, "init_sha256", json_string(j->init_sha256)) == 0;
    lcsm_json_writer w = lcsm_json_writer_pretty();
    if (!whole) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for " LCSM_RUN_CONFIG));
    lcsm_json_put_value(&w, NULL, object);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    const char   *text = lcsm_strbuf_text(&w.text);
    lcsm_run_file file = {.name = LCSM_RUN_CONFIG, .bytes = text, .size = w.text.size};
    st = resume ? lcsm_run_store(j->run, &file, err) : lcsm_run_create(j->run, text, err);
cleanup:
    json_decref(object);
    lcsm_json_writer_free(&w);
    return st;
}

static lcsm_status read_run(lcsm_json_doc *doc, const char *run, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    lcsm_status st = lcsm_run_config(path, run, err);
    return st == LCSM_OK ? lcsm_json_doc_read(doc, path, LCSM_JSON_CONFIG_SIZE, err) : st;
}

lcsm_status lcsm_run_settings(const char *run, lcsm_model_config *model, lcsm_train_config *train,
                              lcsm_error *err)
{
    lcsm_json_doc doc = {0};
    lcsm_status   st  = LCSM_OK;
    if (model != NULL) LCSM_TRY(lcsm_model_config_load(model, run, err));
    if (train == NULL) goto cleanup;
    lcsm_train_config_defaults(train);
    LCSM_TRY(read_run(&doc, run, err));
    if (json_object_get(doc.root, "imported_from") != NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s was imported and has no training to resume",
                           run));
    if (json_object_get(doc.root, "task") == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT,
                           "%s has no settings of training: its model was saved by itself", run));
    for (size_t j = 0; j < COUNT(OTHERS); j++) (void)json_object_del(doc.root, OTHERS[j]);
    LCSM_TRY(lcsm_train_config_take_task(train, doc.root, err));
    LCSM_TRY(lcsm_keys_read(&LCSM_TRAIN_KEYS, &LCSM_MODEL_KEYS, train, doc.root, run, err));
cleanup:
    lcsm_json_doc_free(&doc);
    return lcsm_file_fault(st, err);
}

/* A run that is resumed has the task and the model that it began with, and its vocabulary. */
static lcsm_status check_resumed(lcsm_run_inputs *j, lcsm_error *err)
{
    lcsm_status       st   = LCSM_OK;
    json_t           *want = NULL, *have = NULL;
    lcsm_model_config model;
    lcsm_train_config train;
    LCSM_TRY(lcsm_run_settings(j->run, &model, &train, err));
    if (j->model_cfg.vocab == 0) j->model_cfg.vocab = model.vocab;
    want = settings_json(&j->model_cfg, &j->cfg);
    have = settings_json(&model, &train);
    if (want == NULL || have == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the settings of a run"));
    LCSM_TRY(lcsm_run_same("task", want, have, LCSM_RUN_ITS_OWN, err));
    LCSM_TRY(lcsm_run_same_model(want, have, LCSM_RUN_ITS_OWN, err));
cleanup:
    json_decref(want);
    json_decref(have);
    return st;
}

/* Whole paths, so that a run can be resumed from anywhere. */
static lcsm_status whole_paths(json_t **out, const char *const *list, size_t count, lcsm_error *err)
{
    *out = json_array();
    for (size_t j = 0; j < count; j++) {
        char *path = realpath(list[j], NULL);
        int   kept = json_array_append_new(*out, json_string(path == NULL ? list[j] : path));
        free(path);
        if (kept != 0)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "the path %s is not UTF-8, so the run's settings cannot hold it",
                             list[j]);
    }
    return LCSM_OK;
}

/* What is not given is read from the run that is resumed. */
static lcsm_status find_paths(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err)
{
    const char *const *lists[]  = {want->data, want->valid, want->test};
    const size_t       counts[] = {want->data_count, want->valid_count, want->test_count};
    lcsm_json_doc      doc      = {0};
    lcsm_status        st       = LCSM_OK;
    if (want->resume) LCSM_TRY(read_run(&doc, want->out, err));
    for (size_t k = 0; k < COUNT(PATHS); k++) {
        if (counts[k] > 0) LCSM_TRY(whole_paths(&j->paths[k], lists[k], counts[k], err));
        else if (want->resume) j->paths[k] = json_incref(json_object_get(doc.root, PATHS[k]));
    }
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

/* ---- text --------------------------------------------------------------------------------- */

static lcsm_status check_tokenizer(const lcsm_run_inputs *j, const char *given, lcsm_error *err)
{
    lcsm_tokenizer *tok = NULL;
    lcsm_status     st  = lcsm_tokenizer_load(&tok, given, err);
    if (st == LCSM_OK && lcsm_tokenizer_hash(tok) != lcsm_tokenizer_hash(j->tok))
        st = lcsm_fail(err, LCSM_ERR_ARGUMENT,
                       "%s is not the tokenizer of the %s, which keeps its own: omit it%s", given,
                       j->init != NULL ? "model" : "run",
                       j->init != NULL ? "" : ", or train in another folder");
    lcsm_tokenizer_free(tok);
    return st;
}

/* Where there is none, every byte is a token. */
static lcsm_status model_tokenizer(lcsm_run_inputs *j, const char *given, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, j->init, LCSM_RUN_TOKENIZER, err));
    if (lcsm_path_exists(path)) {
        LCSM_OR_RETURN(lcsm_tokenizer_load(&j->tok, path, err));
        return given != NULL ? check_tokenizer(j, given, err) : LCSM_OK;
    }
    if (given != NULL) return lcsm_tokenizer_load(&j->tok, given, err);
    if (j->model_cfg.vocab == 256) return lcsm_tokenizer_bytes(&j->tok, err);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "%s has no " LCSM_RUN_TOKENIZER ", and only a vocabulary of 256 needs none "
                     "(it has %td); pass --tokenizer FILE",
                     j->init, j->model_cfg.vocab);
}

/* The run's own, once it has one. */
static lcsm_status open_tokenizer(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err)
{
    char        own[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(own, want->out, LCSM_RUN_TOKENIZER, err);
    if (st != LCSM_OK) return st;
    if (want->resume && lcsm_path_exists(own)) {
        LCSM_OR_RETURN(lcsm_tokenizer_load(&j->tok, own, err));
        if (want->tokenizer != NULL) LCSM_OR_RETURN(check_tokenizer(j, want->tokenizer, err));
        return LCSM_OK;
    }
    if (j->init != NULL) return model_tokenizer(j, want->tokenizer, err);
    if (want->tokenizer != NULL) return lcsm_tokenizer_load(&j->tok, want->tokenizer, err);
    return lcsm_tokenizer_bytes(&j->tok, err);
}

static lcsm_status set_vocabulary(lcsm_run_inputs *j, bool resume, lcsm_error *err)
{
    size_t     vocab = lcsm_tokenizer_vocab(j->tok);
    ptrdiff_t *own   = &j->model_cfg.vocab;
    if (!resume) *own = lcsm_model_config_vocab(&j->model_cfg, vocab);
    if (*own >= (ptrdiff_t)vocab) return LCSM_OK;
    return resume ? lcsm_fail(err, LCSM_ERR_FORMAT,
                              "the tokenizer of %s has a vocabulary of %zu, but its model has %td",
                              j->run, vocab, *own)
                  : lcsm_fail(err, LCSM_ERR_ARGUMENT,
                              "vocab is %td, but the tokenizer has %zu tokens; omit --vocab, or "
                              "use at least %zu",
                              *own, vocab, vocab);
}

typedef struct {
    lcsm_run_inputs        *j;
    const lcsm_train_hooks *hooks;
    lcsm_dataset_options    options;
    time_t                  said;     /* when progress was last told */
    bool                    own_test; /* the text of the test is that of the run to resume */
} reader;

static void tell(const reader *r, const lcsm_strbuf *s)
{
    lcsm_train_event e = {.size = sizeof e, .kind = LCSM_TRAIN_NOTE, .text = lcsm_strbuf_text(s)};
    if (r->hooks->event != NULL) r->hooks->event(r->hooks->user, &e);
}

/* Told every other second; what takes less is not worth a line. */
static void data_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    reader     *r   = user;
    time_t      now = time(NULL);
    lcsm_strbuf s   = {0};
    if (r->hooks->event == NULL || now < r->said + 2) return;
    r->said = now;
    lcsm_strbuf_printf(&s, "reading %s: %.1f of %.1f MB", what, (double)done / 1e6,
                       (double)total / 1e6);
    tell(r, &s);
    lcsm_strbuf_free(&s);
}

static void say_skipped(const reader *r, uint64_t bytes)
{
    lcsm_strbuf s = {0};
    if (r->hooks->event == NULL || bytes == 0) return;
    lcsm_strbuf_printf(&s, "skipped %llu bytes of text that the vocabulary has no tokens for",
                       (unsigned long long)bytes);
    r->hooks->event(r->hooks->user, &(lcsm_train_event){.size = sizeof(lcsm_train_event),
                                                        .kind = LCSM_TRAIN_NOTE,
                                                        .text = lcsm_strbuf_text(&s)});
    lcsm_strbuf_free(&s);
}

static lcsm_status open_paths(lcsm_dataset **out, reader *r, const json_t *paths, lcsm_error *err)
{
    size_t       count = json_array_size(paths);
    const char **list  = calloc(count + 1, sizeof *list);
    if (list == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of paths");
    for (size_t k = 0; k < count; k++) {
        list[k] = json_string_value(json_array_get(paths, k));
        if (list[k] == NULL) list[k] = "";
    }
    lcsm_status st =
        lcsm_dataset_open(out, list, count, r->j->tok, &r->options, data_progress, r, err);
    free(list);
    if (st == LCSM_OK) say_skipped(r, lcsm_dataset_bytes_skipped(*out));
    return st;
}

/* Training does not depend on the text of the test: where it is gone, the run goes on without. */
static lcsm_status open_one(reader *r, size_t k, lcsm_error *err)
{
    lcsm_run_inputs *j   = r->j;
    lcsm_error       why = {0};
    lcsm_strbuf      s   = {0};
    lcsm_status      st  = open_paths(&j->texts[k], r, j->paths[k], &why);
    if (k == TEST && r->own_test && st == LCSM_ERR_IO) {
        lcsm_strbuf_printf(&s, "no test at the end: %s; pass --test to name the text again",
                           why.text);
        tell(r, &s);
        lcsm_strbuf_free(&s);
        return LCSM_OK;
    }
    if (st != LCSM_OK && err != NULL) *err = why;
    return st;
}

static lcsm_status open_all(reader *r, lcsm_error *err)
{
    for (size_t k = 0; k < COUNT(PATHS); k++)
        if (r->j->paths[k] != NULL) LCSM_OR_RETURN(open_one(r, k, err));
    return LCSM_OK;
}

/* Where token files are kept, rank 0 makes them, and the others find them there. */
static lcsm_status open_in_turn(reader *r, lcsm_error *err)
{
    lcsm_dist  *d     = r->j->dist;
    bool        first = lcsm_dist_first(d);
    lcsm_status st    = LCSM_OK;
    if (r->options.cache == NULL) return open_all(r, err);
    if (first) st = open_all(r, err);
    LCSM_OR_RETURN(lcsm_dist_agree(d, st, err));
    return first ? LCSM_OK : open_all(r, err);
}

static lcsm_status open_text(reader *r, lcsm_error *err)
{
    lcsm_run_inputs *j = r->j;
    if (j->paths[DATA] == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "no training data: pass --data FILE or --data DIR");
    LCSM_OR_RETURN(open_in_turn(r, err));
    const lcsm_dataset *train = j->texts[DATA], *valid = j->texts[VALID], *test = j->texts[TEST];
    if (valid == NULL && j->cfg.valid_fraction > 0) {
        LCSM_OR_RETURN(
            lcsm_dataset_split(train, 1 - j->cfg.valid_fraction, &j->part[0], &j->part[1], err));
        train = j->part[0];
        valid = j->part[1];
    }
    j->train = lcsm_batches_text(&j->cfg, train, false);
    if (valid != NULL) j->valid = lcsm_batches_text(&j->cfg, valid, true);
    if (test != NULL) j->test = lcsm_batches_text(&j->cfg, test, true);
    j->data = (int64_t)lcsm_dataset_tokens(train);
    j->hash = (int64_t)(lcsm_dataset_hash(train) >> 1);
    return LCSM_OK;
}

/* The end-of-text token, if there is one, ends every line, as in the paper's data. */
static lcsm_status open_lm(lcsm_run_inputs *j, const lcsm_train_job *want,
                           const lcsm_train_hooks *hooks, lcsm_error *err)
{
    LCSM_OR_RETURN(find_paths(j, want, err));
    LCSM_OR_RETURN(open_tokenizer(j, want, err));
    LCSM_OR_RETURN(set_vocabulary(j, want->resume, err));
    bool           eos = lcsm_tokenizer_eos(j->tok) >= 0;
    lcsm_text_ends ends =
        lcsm_train_ends_lines(&j->cfg) ? LCSM_ENDS_LINE : (lcsm_text_ends)(j->cfg.ends - 1);
    reader r = {
        j,
        hooks,
        {.size = sizeof r.options, .cache = want->cache, .ends = eos ? ends : LCSM_ENDS_NEVER},
        time(NULL),
        want->test_count == 0};
    return open_text(&r, err);
}

static lcsm_status check_length(const lcsm_run_inputs *j, bool test, lcsm_error *err)
{
    lcsm_task_config c = lcsm_train_task_config(&j->cfg, j->model_cfg.vocab, test);
    return lcsm_train_task(&j->cfg)->check(&c, err);
}

static lcsm_status open_examples(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err)
{
    size_t texts = want->data_count + want->valid_count + want->test_count;
    if (texts > 0 || want->tokenizer != NULL || want->cache != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s generates its own examples; data, valid, test, tokenizer and "
                         "cache apply to the task lm",
                         lcsm_train_task(&j->cfg)->name);
    j->model_cfg.vocab = lcsm_model_config_vocab(&j->model_cfg, lcsm_train_vocab(&j->cfg));
    j->train           = lcsm_batches_examples(&j->cfg, j->model_cfg.vocab, false);
    j->valid           = lcsm_batches_examples(&j->cfg, j->model_cfg.vocab, true);
    j->data            = j->cfg.examples;
    LCSM_OR_RETURN(check_length(j, false, err));
    return check_length(j, true, err);
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* Evaluations of another length than training's have a graph of their own, with about as many
 * tokens. */
static lcsm_status open_tester(lcsm_run_inputs *j, lcsm_error *err)
{
    if (j->valid.T == 0 || j->valid.T == j->train.T) return LCSM_OK;
    ptrdiff_t B = j->valid.B * j->train.T / j->valid.T;
    j->valid.B  = B > 0 ? B : 1;
    return lcsm_evaluator_open(&j->tester, j->model, j->valid.B, j->valid.T, false, err);
}

static lcsm_status open_trainer(lcsm_run_inputs *j, bool resume, lcsm_error *err)
{
    int64_t epoch = lcsm_batches_count(&j->train) / j->cfg.accumulate;
    if (epoch < 1) epoch = 1;
    j->valid.B = j->test.B = lcsm_shards_rows(&j->cfg, j->dist);
    j->budget              = lcsm_budget_of(&j->cfg, epoch, j->valid.T > 0);
    LCSM_OR_RETURN(lcsm_model_create(&j->model, j->ctx, &j->model_cfg, (uint64_t)j->cfg.seed, err));
    if (j->init != NULL && !resume) LCSM_OR_RETURN(lcsm_run_init_take(j, err));
    if (j->init == NULL && j->model_cfg.adapter > 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "adapter is %td, but there is no model to adapt: pass --init RUN",
                         j->model_cfg.adapter);
    if (j->init == NULL && j->model_cfg.initial_memory)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "initial_memory freezes the rest of a model, so it needs one: pass --init "
                         "RUN");
    LCSM_OR_RETURN(lcsm_trainer_make(&j->trainer, j->model, &j->cfg, j->dist,
                                     j->budget.steps > 0 ? j->budget.steps : INT64_MAX / 4, epoch,
                                     err));
    j->schedule = j->trainer->schedule;
    return open_tester(j, err);
}

/* Two that train in one folder would write over each other's files. */
static lcsm_status lock_folder(lcsm_run_inputs *j, lcsm_error *err)
{
    lcsm_status st = lcsm_folder_lock(&j->lock, j->run, err);
    if (st == LCSM_OK && j->lock < 0)
        st = lcsm_fail(
            err, LCSM_ERR_IO,
            "another process is training in %s; wait until it ends, or use another folder", j->run);
    return st == LCSM_OK ? lcsm_file_sweep(j->run, err) : st;
}

/* Once; a run that was killed before is to be found without. */
static lcsm_status store_base(const lcsm_run_inputs *j, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, j->run, LCSM_RUN_MODEL, err));
    return lcsm_path_exists(path)
             ? LCSM_OK
             : lcsm_run_model_store(j->run, j->model->params, LCSM_TENSORS_BASE, err);
}

lcsm_status lcsm_run_inputs_store(lcsm_run_inputs *j, bool resume, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    if (!resume) {
        LCSM_OR_RETURN(lcsm_folder_make(j->run, err));
        LCSM_OR_RETURN(lock_folder(j, err));
    }
    LCSM_OR_RETURN(write_config(j, resume, err));
    if (j->model->params->only != 0) LCSM_OR_RETURN(store_base(j, err));
    if (resume || j->tok == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_path_join(path, j->run, LCSM_RUN_TOKENIZER, err));
    return lcsm_tokenizer_save(j->tok, path, err);
}

/* A new run must not be there; a run to resume must be. Asked before the data are read. */
static lcsm_status check_folder(const lcsm_train_job *want, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    lcsm_status st    = lcsm_path_join(path, want->out, LCSM_RUN_CONFIG, err);
    bool        there = st == LCSM_OK && lcsm_path_exists(path);
    if (st != LCSM_OK || there == want->resume) return st;
    if (there)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s is already a run; continue it with --resume, or use another --out",
                         want->out);
    return lcsm_fail(err, LCSM_ERR_IO, "%s is not a run: it has no " LCSM_RUN_CONFIG, want->out);
}

/* The folder is that of rank 0: others may see it earlier or later. */
static lcsm_status open_folder(lcsm_run_inputs *j, const lcsm_train_job *want, lcsm_error *err)
{
    if (!lcsm_dist_first(j->dist)) return LCSM_OK;
    LCSM_OR_RETURN(check_folder(want, err));
    return want->resume ? lock_folder(j, err) : LCSM_OK;
}

static lcsm_status open_inputs(lcsm_run_inputs *j, const lcsm_train_job *want,
                               const lcsm_train_hooks *hooks, lcsm_error *err)
{
    lcsm_train_wire(&j->cfg, &j->model_cfg);
    LCSM_OR_RETURN(open_folder(j, want, err));
    LCSM_OR_RETURN(lcsm_train_config_check(&j->cfg, err));
    LCSM_OR_RETURN(lcsm_model_config_check(&j->model_cfg, err));
    if (want->resume) LCSM_OR_RETURN(check_resumed(j, err));
    LCSM_OR_RETURN(lcsm_run_init_open(j, want, err));
    LCSM_OR_RETURN(lcsm_shards_check(&j->cfg, j->dist, err));
    j->cfg.shards = lcsm_shards_wanted(&j->cfg, j->dist);
    if (lcsm_task_reads_text(lcsm_train_task(&j->cfg)))
        LCSM_OR_RETURN(open_lm(j, want, hooks, err));
    else LCSM_OR_RETURN(open_examples(j, want, err));
    return open_trainer(j, want->resume, err);
}

lcsm_status lcsm_run_inputs_open(lcsm_run_inputs *j, const lcsm_context *ctx,
                                 const lcsm_train_job *want, const lcsm_train_hooks *hooks,
                                 lcsm_error *err)
{
    *j             = (lcsm_run_inputs){.ctx       = ctx,
                                       .dist      = want->dist,
                                       .run       = want->out,
                                       .model_cfg = *want->model,
                                       .cfg       = *want->train,
                                       .lock      = -1};
    lcsm_status st = open_inputs(j, want, hooks, err);
    LCSM_OR_RETURN(lcsm_dist_agree(j->dist, st, err));
    return lcsm_ranks_compare(j, err);
}

void lcsm_run_inputs_close(lcsm_run_inputs *j)
{
    lcsm_evaluator_close(&j->tester);
    lcsm_trainer_free(j->trainer);
    lcsm_model_free(j->model);
    lcsm_dataset_free(j->part[0]);
    lcsm_dataset_free(j->part[1]);
    for (size_t k = 0; k < COUNT(PATHS); k++) {
        json_decref(j->paths[k]);
        lcsm_dataset_free(j->texts[k]);
    }
    lcsm_tokenizer_free(j->tok);
    free(j->init);
    lcsm_folder_unlock(j->lock);
    *j = (lcsm_run_inputs){.lock = -1};
}
