/* run_facts.c - a run in a few lines: how it was trained and what it scored. */
#include <lcsm/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/record.h"

typedef struct {
    lcsm_run_fact_fn *each;
    void             *user;
} teller;

static const char *const SETTINGS[] = {"task",     "data",       "valid",      "tokenizer",
                                       "seq_len",  "batch_size", "accumulate", "optimizer",
                                       "schedule", "lr",         "warmup",     "weight_decay",
                                       "dropout",  "clip",       "seed",       "pairs"};

static bool recall(const lcsm_record *r)
{
    return !lcsm_task_reads_text(lcsm_record_task(r));
}

/* A list of paths gives a line for each. */
static void tell_setting(const teller *t, const lcsm_record *r, const char *key)
{
    const json_t *value = json_object_get(r->config.root, key);
    char          text[LCSM_KEY_TEXT_SIZE];
    if (value == NULL || (strcmp(key, "pairs") == 0 && !recall(r))) return;
    if (json_is_string(value)) t->each(t->user, "training", key, json_string_value(value));
    else if (!json_is_array(value))
        t->each(t->user, "training", key, lcsm_record_setting(r, key, text));
    for (size_t j = 0; j < json_array_size(value); j++) {
        const char *path = json_string_value(json_array_get(value, j));
        if (path != NULL) t->each(t->user, "training", key, path);
    }
}

static void tell_number(const teller *t, const char *name, double value, int digits)
{
    char text[LCSM_KEY_TEXT_SIZE];
    if (!isfinite(value)) return;
    (void)snprintf(text, sizeof text, "%.*f", digits, value);
    t->each(t->user, "scores", name, text);
}

static void tell_state(const teller *t, const lcsm_record *r)
{
    char text[500];
    bool why = r->message[0] != 0 || r->reason[0] != 0;
    (void)snprintf(text, sizeof text, "%s%s%s%s", lcsm_record_state_name(r->state), why ? " (" : "",
                   r->message[0] != 0 ? r->message : r->reason, why ? ")" : "");
    t->each(t->user, "scores", "state", text);
}

/* Metrics by their name in the report, as "valid_loss" and "test_loss". */
static void tell_scores(const teller *t, const lcsm_record *r)
{
    static const char *const TOTALS[] = {"steps", "tokens", "seconds", "speed",
                                         "peak_memory_bytes"};
    static const char *const EVALS[]  = {"loss", "perplexity", "bits_per_byte", "accuracy"};
    char                     name[40];
    tell_state(t, r);
    for (size_t j = 0; j < COUNT(TOTALS); j++) {
        const lcsm_metric *m = lcsm_metric_find(TOTALS[j]);
        tell_number(t, j == 3 ? "tokens_per_second" : TOTALS[j], lcsm_record_value(r, m),
                    m->digits);
    }
    for (size_t j = 0; j < COUNT(EVALS); j++) {
        const lcsm_metric *m = lcsm_metric_find(EVALS[j]);
        tell_number(t, EVALS[j], lcsm_record_value(r, m), m->digits);
        (void)snprintf(name, sizeof name, "test_%s", EVALS[j]);
        tell_number(t, name, lcsm_record_test(r, m), m->digits);
    }
}

lcsm_status lcsm_run_facts(const char *folder, lcsm_run_fact_fn *each, void *user, lcsm_error *err)
{
    lcsm_record r;
    teller      t  = {each, user};
    lcsm_status st = lcsm_record_read(&r, folder, err);
    if (st != LCSM_OK) return st;
    bool trained = r.train_count > 0 || r.state == LCSM_RECORD_DONE;
    for (size_t j = 0; trained && j < COUNT(SETTINGS); j++) tell_setting(&t, &r, SETTINGS[j]);
    if (trained) tell_scores(&t, &r);
    lcsm_record_free(&r);
    return LCSM_OK;
}
