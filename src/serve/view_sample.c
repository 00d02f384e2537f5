/*
 * view_sample.c - what the weights that a run has saved last make of an empty prompt.
 *
 * Always the same numbers are drawn, so what differs between two samples is what was learned.
 */
#include <lcsm/generate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/strbuf.h"
#include "format/json_doc.h"
#include "format/run_folder.h"
#include "serve/view.h"

enum { TOKENS = 120, PARAMS = 20000000 };

static bool put(void *user, const char *text, size_t size)
{
    lcsm_strbuf_bytes(user, text, size);
    return true;
}

static lcsm_status open_tokenizer(lcsm_tokenizer **tok, const char *run, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, run, LCSM_RUN_TOKENIZER, err));
    if (lcsm_path_exists(path)) return lcsm_tokenizer_load(tok, path, err);
    return lcsm_tokenizer_bytes(tok, err);
}

static lcsm_status generate(lcsm_strbuf *out, const char *run, bool lines, lcsm_error *err)
{
    const lcsm_context_options one    = {.size = sizeof one, .threads = 1};
    const lcsm_sample_options  sample = {
         .size = sizeof sample, .temperature = 0.8, .top_p = 0.95, .seed = 1};
    lcsm_generate_options o   = {.size = sizeof o, .sample = &sample, .tokens = TOKENS};
    lcsm_context         *ctx = NULL;
    lcsm_model           *m   = NULL;
    lcsm_session         *s   = NULL;
    lcsm_tokenizer       *tok = NULL;
    lcsm_status           st  = LCSM_OK;
    LCSM_TRY(lcsm_context_create(&ctx, &one, err));
    LCSM_TRY(lcsm_model_load(&m, ctx, run, err));
    LCSM_TRY(open_tokenizer(&tok, run, err));
    if (lcsm_model_param_count(m) > PARAMS)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                           "models of more than %d parameters are not sampled here: lcsm generate "
                           "does that",
                           PARAMS));
    LCSM_TRY(lcsm_session_create(&s, m, NULL, err));
    o.lines = lines && lcsm_tokenizer_eos(tok) >= 0;
    LCSM_TRY(lcsm_generate_prompt(s, tok, &o, "", 0, err));
    LCSM_TRY(lcsm_generate(s, tok, &o, put, out, NULL, err));
cleanup:
    lcsm_session_free(s);
    lcsm_tokenizer_free(tok);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
    return st;
}

/* Whether the run is one of text, and its lines end texts. */
static bool reads_text(const char *run, bool *lines)
{
    lcsm_json_doc doc = {0};
    char          path[LCSM_PATH_MAX];
    if (lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) == LCSM_OK)
        (void)lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, NULL);
    const char *task = json_string_value(json_object_get(doc.root, "task"));
    const char *ends = json_string_value(json_object_get(doc.root, "ends"));
    bool        text = task == NULL || strcmp(task, "lm") == 0;
    *lines           = ends != NULL && (strcmp(ends, "auto") == 0 || strcmp(ends, "line") == 0);
    lcsm_json_doc_free(&doc);
    return text;
}

static json_t *none(const char *why)
{
    return json_pack("{s:n, s:s}", "text", "why", why);
}

json_t *lcsm_view_sample(const char *folder, const char *name, lcsm_fault *fault)
{
    char        run[LCSM_PATH_MAX], path[LCSM_PATH_MAX];
    struct stat facts;
    lcsm_strbuf text  = {0};
    lcsm_error  err   = {0};
    bool        lines = false;
    json_t     *out   = NULL;
    if (!lcsm_view_run(run, folder, name, fault)) return NULL;
    if (!reads_text(run, &lines)) return none("the task of this run is not text");
    if (lcsm_path_join(path, run, LCSM_RUN_MODEL, NULL) != LCSM_OK || stat(path, &facts) != 0)
        return none("no weights have been saved yet");
    if (generate(&text, run, lines, &err) == LCSM_OK)
        out = json_pack("{s:s#, s:I}", "text", lcsm_strbuf_text(&text), (int)text.size, "saved",
                        (json_int_t)facts.st_mtime);
    else out = none(err.text);
    lcsm_strbuf_free(&text);
    return out;
}
