/* inspect.c - a run, inspected: what it reads, and the result as JSON. */
#include "inspect/inspect.h"

#include <lcsm/tokenizer.h>
#include <lcsm/train.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/sized.h"
#include "data/source.h"
#include "format/json_doc.h"
#include "format/json_scan.h"
#include "format/run_folder.h"
#include "report/record.h"
#include "train/settings.h"

enum { STANDARD = 512, PIECE = 1 << 14 /* bytes of text at a time */ };

/* An influence is looked for as far back as the run's sequences go, within these. */
enum { SHORTEST = 128, LONGEST = 256 };

/* ---- tokens -------------------------------------------------------------------------------- */

static lcsm_status no_room(lcsm_error *err)
{
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an inspection");
    return LCSM_ERR_MEMORY;
}

static lcsm_status reserve(lcsm_inspect_tokens *t, size_t count, lcsm_error *err)
{
    size_t size;
    t->ids = lcsm_size_mul(count, sizeof *t->ids, &size) ? malloc(size) : NULL;
    return t->ids == NULL ? no_room(err) : LCSM_OK;
}

/* Where the ids of a text go: to the tokens, until there are enough. */
typedef struct {
    lcsm_inspect_tokens *tokens;
    size_t               most, longest; /* longest: bytes of a token */
    lcsm_encoder        *encoder;
} reading;

static lcsm_status take_ids(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    const reading       *r    = user;
    lcsm_inspect_tokens *t    = r->tokens;
    size_t               room = r->most - t->count, n = count < room ? count : room;
    (void)err;
    memcpy(t->ids + t->count, ids, n * sizeof *ids);
    t->count += n;
    return LCSM_OK;
}

static lcsm_status read_file(const reading *r, const lcsm_source *source, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    lcsm_reader reader = {0};
    size_t      got    = 1, left; /* bytes that will do */
    char        text[PIECE];
    if (!lcsm_size_mul(r->most - r->tokens->count, r->longest, &left)) left = SIZE_MAX;
    if (source->shard)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is a token file; expected text", source->path);
    LCSM_TRY(lcsm_reader_open(&reader, source->path, err));
    while (got > 0 && left > 0) {
        LCSM_TRY(lcsm_reader_read(&reader, text, left < PIECE ? left : PIECE, &got, err));
        LCSM_TRY(lcsm_encoder_feed(r->encoder, text, got, err));
        left -= got;
    }
    LCSM_TRY(lcsm_encoder_finish(r->encoder, err));
cleanup:
    lcsm_reader_close(&reader);
    return st;
}

static lcsm_status read_files(reading *r, const char *const *paths, size_t count, lcsm_error *err)
{
    lcsm_status  st      = LCSM_OK;
    lcsm_sources sources = {0};
    LCSM_TRY(lcsm_sources_list(&sources, paths, count, err));
    if (sources.count == 0) LCSM_TRY(lcsm_fail(err, LCSM_ERR_IO, "%s contains no text", paths[0]));
    for (size_t j = 0; j < sources.count && r->tokens->count < r->most; j++)
        LCSM_TRY(read_file(r, &sources.items[j], err));
cleanup:
    lcsm_sources_free(&sources);
    return st;
}

/* Texts one after another, up to `most` tokens. */
static lcsm_status from_text(lcsm_inspect_tokens *t, const char *run, const char *const *paths,
                             size_t count, size_t most, lcsm_error *err)
{
    lcsm_status         st  = LCSM_OK;
    lcsm_tokenizer     *tok = NULL;
    reading             r   = {.tokens = t, .most = most};
    char                path[LCSM_PATH_MAX];
    lcsm_tokenizer_info about = {.size = sizeof about};
    LCSM_TRY(reserve(t, most, err));
    LCSM_TRY(lcsm_path_join(path, run, LCSM_RUN_TOKENIZER, err));
    LCSM_TRY(lcsm_path_exists(path) ? lcsm_tokenizer_load(&tok, path, err)
                                    : lcsm_tokenizer_bytes(&tok, err));
    LCSM_TRY(lcsm_tokenizer_describe(tok, &about, err));
    r.longest = about.longest;
    LCSM_TRY(lcsm_encoder_create(&r.encoder, tok, 0, take_ids, &r, err));
    LCSM_TRY(read_files(&r, paths, count, err));
cleanup:
    lcsm_encoder_free(r.encoder);
    lcsm_tokenizer_free(tok);
    return st;
}

/* A sentence that is cut ends with a whole character. */
static void say_source(lcsm_inspect_tokens *t, const char *what, const char *why)
{
    (void)snprintf(t->source, sizeof t->source, "%s%s", what, why);
    t->source[lcsm_utf8_check(t->source, strlen(t->source))] = '\0';
}

static bool take_own(lcsm_inspect_tokens *t, const char *run, const json_t *list, size_t most,
                     lcsm_error *why)
{
    size_t       count = json_array_size(list);
    const char **paths = calloc(count + 1, sizeof *paths);
    bool         found = false;
    for (size_t j = 0; j < count && paths != NULL; j++)
        paths[j] = json_string_value(json_array_get(list, j));
    if (paths != NULL && paths[0] != NULL) {
        found = from_text(t, run, paths, count, most, why) == LCSM_OK && t->count > 0;
        if (!found && why->status == LCSM_OK)
            (void)lcsm_fail(why, LCSM_ERR_FORMAT, "%s: it is empty", paths[0]);
    }
    if (!found) lcsm_inspect_tokens_free(t);
    free(paths);
    return found;
}

/* The text that the run was evaluated on, or trained on, if it is still there. If there is one that
 * cannot be read, `why` says so. */
static bool own_text(lcsm_inspect_tokens *t, const char *run, size_t most, lcsm_error *why)
{
    static const char *const keys[] = {"valid", "data"};
    lcsm_json_doc            doc    = {0};
    char                     path[LCSM_PATH_MAX];
    bool                     found = false;
    if (lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) != LCSM_OK
        || lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, NULL) != LCSM_OK)
        return false;
    for (size_t j = 0; j < COUNT(keys) && !found; j++)
        found = take_own(t, run, json_object_get(doc.root, keys[j]), most, why);
    lcsm_json_doc_free(&doc);
    return found;
}

/* As many examples as there are tokens to read; of one that is longer than that, the beginning. */
static lcsm_status own_examples(lcsm_inspect_tokens *t, const lcsm_model_config *m,
                                const lcsm_train_config *c, size_t most, lcsm_error *err)
{
    lcsm_status      st   = LCSM_OK;
    const lcsm_task *task = lcsm_train_task(c);
    lcsm_task_config made = lcsm_train_task_config(c, m->vocab, false);
    made.seed             = 1;
    size_t   n = (size_t)c->seq_len, length = n < most ? n : most, examples = most / length;
    int32_t *one = NULL;
    LCSM_TRY(task->check(&made, err));
    LCSM_TRY(reserve(t, examples * length, err));
    one = malloc(2 * n * sizeof *one); /* and its labels */
    if (one == NULL) LCSM_TRY(no_room(err));
    for (size_t j = 0; j < examples; j++) {
        task->example(&made, j, one, one + n);
        memcpy(t->ids + j * length, one, length * sizeof *one);
    }
    t->count  = examples * length;
    t->length = length;
    (void)snprintf(t->source, sizeof t->source, "%zu example%s of the task %s", examples,
                   examples == 1 ? "" : "s", task->name);
cleanup:
    free(one);
    return st;
}

/* In the place of a text that is not there. */
static lcsm_status random_tokens(lcsm_inspect_tokens *t, size_t count, size_t vocab,
                                 const lcsm_error *why, lcsm_error *err)
{
    lcsm_status st = reserve(t, count, err);
    if (st != LCSM_OK) return st;
    for (size_t j = 0; j < count; j++) t->ids[j] = (int32_t)(lcsm_rng(1, 0, j).v[0] % vocab);
    t->count = count;
    if (why->status == LCSM_OK) say_source(t, "random tokens (no text was given)", "");
    else say_source(t, "random tokens (the run's text cannot be read): ", why->text);
    return LCSM_OK;
}

static lcsm_status check_tokens(const lcsm_inspect_tokens *t, const lcsm_model *model,
                                lcsm_error *err)
{
    ptrdiff_t vocab = lcsm_model_config_of(model)->vocab;
    if (t->count < 2)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s has %zu token%s; expected at least 2", t->source,
                         t->count, t->count == 1 ? "" : "s");
    for (size_t j = 0; j < t->count; j++)
        if (t->ids[j] < 0 || t->ids[j] >= vocab)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the text has token %d; the model has 0 to %td",
                             (int)t->ids[j], vocab - 1);
    return LCSM_OK;
}

lcsm_status lcsm_inspect_tokens_read(lcsm_inspect_tokens *out, const lcsm_model *model,
                                     const lcsm_inspect_options *o, lcsm_error *err)
{
    lcsm_status              st   = LCSM_OK;
    size_t                   most = o->tokens > 0 ? o->tokens : STANDARD, window = SHORTEST;
    lcsm_train_config        train;
    lcsm_model_config        cfg;
    lcsm_error               why = {0};
    const lcsm_model_config *m   = lcsm_model_config_of(model);
    *out                         = (lcsm_inspect_tokens){.source = "the text given"};
    lcsm_train_config_defaults(&train);
    bool trained = lcsm_run_settings(o->run, &cfg, &train, NULL) == LCSM_OK;
    if (o->data_count > 0) {
        LCSM_TRY(from_text(out, o->run, o->data, o->data_count, most, err));
    } else if (trained && !lcsm_task_reads_text(lcsm_train_task(&train))) {
        LCSM_TRY(own_examples(out, m, &train, most, err));
    } else if (own_text(out, o->run, most, &why)) {
        say_source(out, "the text of the run", "");
    } else {
        LCSM_TRY(random_tokens(out, most, (size_t)m->vocab, &why, err));
    }
    LCSM_TRY(check_tokens(out, model, err));
    if (out->length == 0) out->length = out->count;
    if (trained && train.seq_len > SHORTEST)
        window = train.seq_len < LONGEST ? (size_t)train.seq_len : LONGEST;
    out->window = window < out->length ? window : out->length;
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
    lcsm_status         st     = LCSM_OK;
    lcsm_model         *model  = NULL;
    lcsm_inspect_tokens tokens = {0};
    lcsm_json_writer    w      = lcsm_json_writer_pretty();
    *json                      = NULL;
    lcsm_inspect_options own;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_inspect_options, save, &own, options, err));
    LCSM_TRY(lcsm_model_load(&model, ctx, own.run, err));
    LCSM_TRY(lcsm_inspect_tokens_read(&tokens, model, &own, err));
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "format", "lcsm-inspect");
    lcsm_json_put_int(&w, "version", LCSM_INSPECT_VERSION);
    lcsm_json_put_size(&w, "tokens", tokens.count);
    lcsm_json_put_size(&w, "length", tokens.length);
    lcsm_json_put_text(&w, "text", tokens.source);
    LCSM_TRY(lcsm_inspect_memory(&w, model, &tokens, err));
    LCSM_TRY(lcsm_inspect_influence(&w, model, &tokens, err));
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    if (own.save) LCSM_TRY(keep_result(own.run, &w.text, err));
    *json = strdup(lcsm_strbuf_text(&w.text));
    if (*json == NULL) st = no_room(err);
cleanup:
    lcsm_json_writer_free(&w);
    lcsm_inspect_tokens_free(&tokens);
    lcsm_model_free(model);
    return st;
}
