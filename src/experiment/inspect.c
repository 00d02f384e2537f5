/* inspect.c - a run, inspected: what it reads, and the result as JSON. */
#include "experiment/inspect.h"

#include <lcsm/tokenizer.h>
#include <lcsm/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/mqar.h"
#include "data/source.h"
#include "format/json_doc.h"
#include "format/json_scan.h"
#include "format/run_folder.h"
#include "report/record.h"

enum { STANDARD = 512, TEXT_SIZE = 1 << 20 };

/* ---- tokens -------------------------------------------------------------------------------- */

static lcsm_status no_room(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for an inspection");
}

/* The beginning of the first file. */
static lcsm_status read_text(char **out, size_t *size, const char *const *paths, size_t count,
                             lcsm_error *err)
{
    lcsm_status  st      = LCSM_OK;
    lcsm_sources sources = {0};
    lcsm_reader  reader  = {0};
    size_t       got     = 1;
    *size                = 0;
    *out                 = malloc(TEXT_SIZE);
    if (*out == NULL) return no_room(err);
    LCSM_TRY(lcsm_sources_list(&sources, paths, count, err));
    if (sources.count == 0)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_IO, "%s holds no text", count > 0 ? paths[0] : "--data"));
    LCSM_TRY(lcsm_reader_open(&reader, sources.items[0].path, err));
    while (got > 0 && *size < TEXT_SIZE) {
        LCSM_TRY(lcsm_reader_read(&reader, *out + *size, TEXT_SIZE - *size, &got, err));
        *size += got;
    }
cleanup:
    lcsm_reader_close(&reader);
    lcsm_sources_free(&sources);
    return st;
}

static lcsm_status encode(lcsm_inspect_tokens *t, const char *run, const char *text, size_t size,
                          lcsm_error *err)
{
    lcsm_status     st  = LCSM_OK;
    lcsm_tokenizer *tok = NULL;
    char            path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_path_join(path, run, LCSM_RUN_TOKENIZER, err));
    LCSM_TRY(lcsm_path_exists(path) ? lcsm_tokenizer_load(&tok, path, err)
                                    : lcsm_tokenizer_bytes(&tok, err));
    LCSM_TRY(lcsm_tokenizer_encode(tok, text, size, 0, &t->ids, &t->count, err));
cleanup:
    lcsm_tokenizer_free(tok);
    return st;
}

static lcsm_status from_text(lcsm_inspect_tokens *t, const char *run, const char *const *paths,
                             size_t count, lcsm_error *err)
{
    char       *text = NULL;
    size_t      size = 0;
    lcsm_status st   = read_text(&text, &size, paths, count, err);
    if (st == LCSM_OK) st = encode(t, run, text, size, err);
    free(text);
    return st;
}

/* A sentence that is cut ends with a whole character. */
static void say_source(lcsm_inspect_tokens *t, const char *what, const char *why)
{
    (void)snprintf(t->source, sizeof t->source, "%s%s", what, why);
    t->source[lcsm_utf8_check(t->source, strlen(t->source))] = '\0';
}

static bool take_own(lcsm_inspect_tokens *t, const char *run, const char *file, lcsm_error *why)
{
    if (from_text(t, run, &file, 1, why) == LCSM_OK && t->count > 0) return true;
    if (why->status == LCSM_OK) (void)lcsm_fail(why, LCSM_ERR_FORMAT, "%s: it is empty", file);
    lcsm_inspect_tokens_free(t);
    return false;
}

/* The text that the run was evaluated on, or trained on, if it is still there. If there is one that
 * cannot be read, `why` says so. */
static bool own_text(lcsm_inspect_tokens *t, const char *run, lcsm_error *why)
{
    static const char *const keys[] = {"valid", "data"};
    lcsm_json_doc            doc    = {0};
    char                     path[LCSM_PATH_MAX];
    bool                     found = false;
    if (lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) != LCSM_OK
        || lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, NULL) != LCSM_OK)
        return false;
    for (size_t j = 0; j < COUNT(keys) && !found; j++) {
        const json_t *list = json_object_get(doc.root, keys[j]);
        const char   *file = json_string_value(json_array_get(list, 0));
        found              = file != NULL && take_own(t, run, file, why);
    }
    lcsm_json_doc_free(&doc);
    return found;
}

static lcsm_status recall_examples(lcsm_inspect_tokens *t, const lcsm_model_config *m,
                                   const lcsm_train_config *c, lcsm_error *err)
{
    lcsm_status      st     = LCSM_OK;
    lcsm_mqar_config recall = {.vocab              = m->vocab,
                               .length             = c->seq_len,
                               .pairs              = c->pairs,
                               .power              = c->power,
                               .random_non_queries = c->random_non_queries,
                               .seed               = 1};
    size_t           n      = (size_t)c->seq_len;
    LCSM_TRY(lcsm_mqar_check(&recall, err));
    t->ids          = malloc(n * sizeof *t->ids);
    int32_t *labels = malloc(n * sizeof *labels);
    if (t->ids == NULL || labels == NULL) {
        free(labels);
        return no_room(err);
    }
    lcsm_mqar_example(&recall, 0, t->ids, labels);
    free(labels);
    t->count = n;
    say_source(t, "an example of the recall task", "");
cleanup:
    return st;
}

/* In the place of a text that is not there. */
static lcsm_status random_tokens(lcsm_inspect_tokens *t, size_t count, size_t vocab,
                                 const lcsm_error *why, lcsm_error *err)
{
    t->ids = malloc(count * sizeof *t->ids);
    if (t->ids == NULL) return no_room(err);
    for (size_t j = 0; j < count; j++) t->ids[j] = (int32_t)(lcsm_rng(1, 0, j).v[0] % vocab);
    t->count = count;
    if (why->status == LCSM_OK) say_source(t, "random tokens, since no text is given", "");
    else say_source(t, "random tokens, since the run's text cannot be read: ", why->text);
    return LCSM_OK;
}

/* What the model cannot read is an error; the rest of a long text is left. */
static lcsm_status check_tokens(lcsm_inspect_tokens *t, const lcsm_model *model, size_t most,
                                lcsm_error *err)
{
    ptrdiff_t vocab = lcsm_model_config_of(model)->vocab;
    if (t->count > most) t->count = most;
    if (t->count < 2) return lcsm_fail(err, LCSM_ERR_FORMAT, "the text has less than two tokens");
    for (size_t j = 0; j < t->count; j++)
        if (t->ids[j] < 0 || t->ids[j] >= vocab)
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "the text has the token %d, the model knows 0..%td", (int)t->ids[j],
                             vocab - 1);
    return LCSM_OK;
}

lcsm_status lcsm_inspect_tokens_read(lcsm_inspect_tokens *out, const lcsm_model *model,
                                     const lcsm_inspect_options *o, lcsm_error *err)
{
    lcsm_status              st   = LCSM_OK;
    size_t                   most = o->tokens > 0 ? o->tokens : STANDARD;
    lcsm_train_config        train;
    lcsm_model_config        cfg;
    lcsm_error               why = {0};
    const lcsm_model_config *m   = lcsm_model_config_of(model);
    *out                         = (lcsm_inspect_tokens){.source = "the text that is given"};
    lcsm_train_config_defaults(&train);
    bool trained = lcsm_run_settings(o->run, &cfg, &train, NULL) == LCSM_OK;
    if (o->data_count > 0) {
        LCSM_TRY(from_text(out, o->run, o->data, o->data_count, err));
    } else if (trained && train.task == LCSM_TASK_MQAR) {
        LCSM_TRY(recall_examples(out, m, &train, err));
    } else if (own_text(out, o->run, &why)) {
        say_source(out, "the text of the run", "");
    } else {
        LCSM_TRY(random_tokens(out, most, (size_t)m->vocab, &why, err));
    }
    LCSM_TRY(check_tokens(out, model, most, err));
cleanup:
    if (st != LCSM_OK) lcsm_inspect_tokens_free(out);
    return st;
}

void lcsm_inspect_tokens_free(lcsm_inspect_tokens *t)
{
    free(t->ids);
    *t = (lcsm_inspect_tokens){0};
}

/* ---- the whole ----------------------------------------------------------------------------- */

static lcsm_status keep_result(const char *run, const lcsm_strbuf *text, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(path, run, LCSM_RUN_INSPECT, err);
    return st == LCSM_OK ? lcsm_file_write_atomic(path, text->text, text->size, err) : st;
}

lcsm_status lcsm_inspect(const lcsm_context *ctx, const lcsm_inspect_options *options, char **json,
                         lcsm_error *err)
{
    enum { WINDOW = 128 };
    lcsm_status         st     = LCSM_OK;
    lcsm_model         *model  = NULL;
    lcsm_inspect_tokens tokens = {0};
    lcsm_json_writer    w      = lcsm_json_writer_pretty();
    *json                      = NULL;
    LCSM_TRY(lcsm_model_load(&model, ctx, options->run, err));
    LCSM_TRY(lcsm_inspect_tokens_read(&tokens, model, options, err));
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "format", "lcsm-inspect");
    lcsm_json_put_int(&w, "version", 1);
    lcsm_json_put_size(&w, "tokens", tokens.count);
    lcsm_json_put_text(&w, "text", tokens.source);
    LCSM_TRY(lcsm_inspect_memory(&w, model, &tokens, err));
    LCSM_TRY(lcsm_inspect_influence(&w, model, &tokens,
                                    tokens.count < WINDOW ? tokens.count : WINDOW, err));
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    if (options->save) LCSM_TRY(keep_result(options->run, &w.text, err));
    *json = strdup(lcsm_strbuf_text(&w.text));
    if (*json == NULL) st = no_room(err);
cleanup:
    lcsm_json_writer_free(&w);
    lcsm_inspect_tokens_free(&tokens);
    lcsm_model_free(model);
    return st;
}
