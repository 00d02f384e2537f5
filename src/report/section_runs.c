/* section_runs.c - runs on their own: side by side, then one by one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
#include "format/run_folder.h"
#include "report/escape.h"
#include "report/section.h"

/* The model's name: its pattern, its code, or its method. */
static const char *model_of(const lcsm_record *r, char text[LCSM_KEY_TEXT_SIZE])
{
    if (*lcsm_record_setting(r, "layers_pattern", text) != '\0') return text;
    if (*lcsm_record_setting(r, "code", text) != '\0') return text;
    return lcsm_record_setting(r, "method", text);
}

/* The figure that the run's task is about. */
static const lcsm_metric *metric_of(const lcsm_record *r)
{
    static const char *const names[] = {[LCSM_SCORE_PERPLEXITY] = "perplexity",
                                        [LCSM_SCORE_ACCURACY]   = "accuracy",
                                        [LCSM_SCORE_MACRO]      = "score",
                                        [LCSM_SCORE_SCALED]     = "score"};
    return lcsm_metric_find(names[lcsm_record_task(r)->metric]);
}

static void state_cell(lcsm_table *t, const lcsm_record *r)
{
    bool done = r->state == LCSM_RECORD_DONE;
    if (done) lcsm_table_cell(t, "done (%s)", r->reason);
    else lcsm_table_cell(t, "%s", lcsm_record_state_name(r->state));
    if (r->state == LCSM_RECORD_FAILED) lcsm_table_mark(t, LCSM_MARK_BAD);
}

static void overview(lcsm_doc *d, const lcsm_record *records, size_t count)
{
    static const char *const figures[] = {"loss",  "perplexity", "bits_per_byte", "accuracy",
                                          "steps", "speed",      "parameters"};
    lcsm_table               t         = {0};
    char                     text[LCSM_KEY_TEXT_SIZE];
    lcsm_table_column(&t, "run", LCSM_LEFT);
    lcsm_table_column(&t, "model", LCSM_LEFT);
    lcsm_table_column(&t, "state", LCSM_LEFT);
    for (size_t f = 0; f < COUNT(figures); f++)
        lcsm_table_column(&t, lcsm_metric_find(figures[f])->label, LCSM_RIGHT);
    lcsm_table_column(&t, "time", LCSM_RIGHT);
    for (size_t j = 0; j < count; j++) {
        const lcsm_record *r = &records[j];
        lcsm_table_cell(&t, "%s", r->name);
        lcsm_table_cell(&t, "%s", model_of(r, text));
        state_cell(&t, r);
        for (size_t f = 0; f < COUNT(figures); f++) {
            const lcsm_metric *m = lcsm_metric_find(figures[f]);
            lcsm_table_number(&t, m->digits, lcsm_record_value(r, m));
        }
        lcsm_table_cell(&t, "%s", lcsm_section_time(text, r->seconds));
    }
    lcsm_doc_table(
        d, &t,
        "Loss, perplexity, bits per byte and accuracy are the best of a run's "
        "evaluations on the validation set. Tokens/s are those that a second of training "
        "steps reads, without evaluation: the mean over the run.");
}

static void facts(lcsm_doc *d, const lcsm_record *r)
{
    char               text[LCSM_KEY_TEXT_SIZE];
    const lcsm_metric *m = metric_of(r), *rate = lcsm_metric_find("speed");
    double             value = lcsm_record_value(r, m), test = lcsm_record_test(r, m);
    lcsm_doc_fact(d, "run", "%s", r->name);
    lcsm_doc_fact(d, "model", "%s", model_of(r, text));
    lcsm_doc_fact(d, "state", "%s%s%s%s", lcsm_record_state_name(r->state),
                  r->reason[0] != '\0' ? " (" : "", r->reason, r->reason[0] != '\0' ? ")" : "");
    if (isfinite(value)) lcsm_doc_fact(d, m->label, "%.*f", m->digits, value);
    if (isfinite(test)) lcsm_doc_fact(d, "on the test set", "%.*f", m->digits, test);
    if (isfinite(r->steps)) lcsm_doc_fact(d, "steps", "%.0f", r->steps);
    if (isfinite(r->seconds)) lcsm_doc_fact(d, "time", "%s", lcsm_section_time(text, r->seconds));
    if (isfinite(lcsm_record_value(r, rate)))
        lcsm_doc_fact(d, "tokens per second", "%.0f", lcsm_record_value(r, rate));
    if (isfinite(r->parameters)) lcsm_doc_fact(d, "parameters", "%.0f", r->parameters);
    if (isfinite(r->peak_memory_bytes))
        lcsm_doc_fact(d, "memory", "%.0f MB", r->peak_memory_bytes / 1e6);
}

/* Settings are all in config.json, so the command needs no other. */
static void command(lcsm_doc *d, const lcsm_record *r)
{
    char        config[LCSM_PATH_MAX];
    lcsm_strbuf s = {0};
    lcsm_strbuf_add(&s, "lcsm train --config ");
    if (lcsm_path_join(config, r->folder, LCSM_RUN_CONFIG, NULL) != LCSM_OK) d->failed = true;
    else lcsm_put_shell(&s, config);
    if (lcsm_task_reads_text(lcsm_record_task(r))) lcsm_strbuf_add(&s, " --data TEXT");
    lcsm_strbuf_add(&s, " --out AGAIN");
    if (s.failed) d->failed = true;
    lcsm_doc_add(d, LCSM_BLOCK_CODE, "%s", lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
}

typedef char label[160];

/* A run is called by its model and, where others have the same, by its folder too. */
static const char *label_of(label out, const lcsm_record *records, size_t count, size_t number)
{
    char        mine[LCSM_KEY_TEXT_SIZE], text[LCSM_KEY_TEXT_SIZE];
    const char *name = records[number].name;
    size_t      same = 0;
    (void)model_of(&records[number], mine);
    for (size_t j = 0; j < count; j++) same += strcmp(mine, model_of(&records[j], text)) == 0;
    if (*mine == '\0') (void)snprintf(out, sizeof(label), "%.150s", name);
    else if (same > 1) (void)snprintf(out, sizeof(label), "%.60s (%.90s)", mine, name);
    else (void)snprintf(out, sizeof(label), "%.150s", mine);
    return out;
}

static lcsm_status one(lcsm_doc *d, const lcsm_named_record *named, size_t number, lcsm_error *err)
{
    char               file[64];
    const lcsm_record *r      = named->record;
    lcsm_named_record  record = *named;
    lcsm_doc_add(d, LCSM_BLOCK_HEADING, "%s", record.label);
    facts(d, r);
    if (r->message[0] != '\0') lcsm_doc_add(d, LCSM_BLOCK_NOTE, "%s", r->message);
    lcsm_section_damage(d, "", r);
    (void)snprintf(file, sizeof file, "run-%zu-loss", number);
    LCSM_OR_RETURN(lcsm_section_curves(d, &record, 1, record.label, file, false, err));
    (void)snprintf(file, sizeof file, "run-%zu-half-lives", number);
    record.label = "How long the memory lasts";
    LCSM_OR_RETURN(lcsm_section_decays(d, &record, file, NULL, NULL, err));
    (void)snprintf(file, sizeof file, "run-%zu", number);
    lcsm_section_inspect(d, r, file);
    lcsm_section_settings(d, "Settings", r->config.root);
    command(d, r);
    return LCSM_OK;
}

lcsm_status lcsm_section_runs(lcsm_doc *d, const lcsm_record *records, size_t count,
                              lcsm_error *err)
{
    lcsm_status        st     = LCSM_OK;
    lcsm_named_record *named  = calloc(count + 1, sizeof *named);
    label             *labels = calloc(count + 1, sizeof *labels);
    if (named == NULL || labels == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu runs", count);
        goto cleanup;
    }
    for (size_t j = 0; j < count; j++)
        named[j] = (lcsm_named_record){label_of(labels[j], records, count, j), &records[j]};
    lcsm_doc_add(d, LCSM_BLOCK_SECTION, count == 1 ? "A run" : "Runs");
    if (count > 1) {
        overview(d, records, count);
        LCSM_TRY(lcsm_section_curves(d, named, count, "Training loss", "runs-loss", false, err));
    }
    for (size_t j = 0; j < count; j++) LCSM_TRY(one(d, &named[j], j + 1, err));
cleanup:
    free(labels);
    free(named);
    return st;
}
