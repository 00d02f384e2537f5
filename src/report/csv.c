/* csv.c - one line a run; the axes of all experiments are columns. */
#include "report/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

static const char *const FIRST[]   = {"experiment", "run", "variant", "state", "scale", "folder"};
static const char *const KEYS[]    = {"task", "method", "code", "d_model", "seq_len", "lr", "seed"};
static const char *const FIGURES[] = {
    "loss",  "perplexity", "bits_per_byte",     "accuracy",   "steps", "tokens",
    "speed", "seconds",    "peak_memory_bytes", "parameters", "score"};

/* Of the evaluation on the test set. */
static const char *const TESTS[][2] = {{"test_loss", "loss"}, {"test_perplexity", "perplexity"}};

/* KEYS, and the axes that are none of them. */
typedef struct {
    const char **names;
    size_t       count;
} keys;

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t j = 0; j < count; j++)
        if (strcmp(names[j], name) == 0) return true;
    return false;
}

/* Each name once, and none that the figures have. */
static void add_key(keys *k, const char *name)
{
    if (is_in(k->names, k->count, name) || is_in(FIGURES, COUNT(FIGURES), name)) return;
    k->names[k->count++] = name;
}

static keys keys_of(const lcsm_study *studies, size_t count)
{
    keys k = {.names = malloc((COUNT(KEYS) + count * LCSM_STUDY_AXES) * sizeof *k.names)};
    if (k.names == NULL) return k;
    for (size_t j = 0; j < COUNT(KEYS); j++) add_key(&k, KEYS[j]);
    for (size_t j = 0; j < count; j++)
        for (size_t a = 0; a < studies[j].axis_count; a++) add_key(&k, studies[j].axes[a]);
    return k;
}

static void put_heads(lcsm_table *t, const keys *k)
{
    for (size_t j = 0; j < COUNT(FIRST); j++) lcsm_table_column(t, FIRST[j], LCSM_LEFT);
    for (size_t j = 0; j < k->count; j++) lcsm_table_column(t, k->names[j], LCSM_LEFT);
    for (size_t j = 0; j < COUNT(FIGURES); j++) lcsm_table_column(t, FIGURES[j], LCSM_RIGHT);
    for (size_t j = 0; j < COUNT(TESTS); j++) lcsm_table_column(t, TESTS[j][0], LCSM_RIGHT);
}

static void number_cell(lcsm_table *t, double x)
{
    if (isfinite(x)) lcsm_table_cell(t, "%.9g", x);
    else lcsm_table_cell(t, "%s", "");
}

/* What the experiment gives a run, also one that has no settings of its own; NaN for the rest. */
static double planned_value(const lcsm_study *s, const lcsm_study_run *run, const char *key)
{
    size_t axis = lcsm_study_axis(s, key);
    if (strcmp(key, "task") == 0) return NAN; /* which the settings name */
    if (axis < s->axis_count) return run->axes[axis];
    if (strcmp(key, "lr") == 0) return run->lr;
    return strcmp(key, "seed") == 0 ? run->seed : NAN;
}

/* A code takes the place of the method; a pattern of layers stands in its column. */
static const char *setting_of(const lcsm_record *r, const char *key, char text[LCSM_KEY_TEXT_SIZE])
{
    bool method = strcmp(key, "method") == 0;
    if (method && *lcsm_record_setting(r, "layers_pattern", text) != '\0') return text;
    bool code = *lcsm_record_setting(r, "code", text) != '\0';
    return code && method ? "" : lcsm_record_setting(r, key, text);
}

/* The cells of a record; run is NULL if it belongs to no study. */
static void put_values(lcsm_table *t, const keys *k, const lcsm_record *r, const lcsm_study *s,
                       const lcsm_study_run *run)
{
    char text[LCSM_KEY_TEXT_SIZE];
    for (size_t j = 0; j < k->count; j++) {
        double planned = run == NULL ? NAN : planned_value(s, run, k->names[j]);
        if (isfinite(planned)) number_cell(t, planned);
        else lcsm_table_cell(t, "%s", setting_of(r, k->names[j], text));
    }
    for (size_t j = 0; j < COUNT(FIGURES); j++)
        number_cell(t, lcsm_record_value(r, lcsm_metric_find(FIGURES[j])));
    for (size_t j = 0; j < COUNT(TESTS); j++)
        number_cell(t, lcsm_record_test(r, lcsm_metric_find(TESTS[j][1])));
}

static void put_run(lcsm_table *t, const keys *k, const lcsm_study *s, const lcsm_study_run *run)
{
    lcsm_table_cell(t, "%s", s->name);
    lcsm_table_cell(t, "%s", run->name);
    lcsm_table_cell(t, "%s", s->variants[run->variant]);
    lcsm_table_cell(t, "%s", lcsm_record_state_name(run->record.state));
    lcsm_table_cell(t, "%s", s->scale);
    lcsm_table_cell(t, "%s", run->record.folder);
    put_values(t, k, &run->record, s, run);
}

static void put_record(lcsm_table *t, const keys *k, const lcsm_record *r)
{
    lcsm_table_cell(t, "%s", "");
    lcsm_table_cell(t, "%s", r->name);
    lcsm_table_cell(t, "%s", "");
    lcsm_table_cell(t, "%s", lcsm_record_state_name(r->state));
    lcsm_table_cell(t, "%s", "");
    lcsm_table_cell(t, "%s", r->folder);
    put_values(t, k, r, NULL, NULL);
}

void lcsm_csv(lcsm_strbuf *out, const lcsm_study *studies, size_t study_count,
              const lcsm_record *records, size_t record_count)
{
    lcsm_table t = {0};
    keys       k = keys_of(studies, study_count);
    put_heads(&t, &k);
    for (size_t j = 0; j < study_count; j++)
        for (size_t r = 0; r < studies[j].run_count; r++)
            put_run(&t, &k, &studies[j], &studies[j].runs[r]);
    for (size_t j = 0; j < record_count; j++) put_record(&t, &k, &records[j]);
    if (t.failed || k.names == NULL) out->failed = true;
    else lcsm_table_csv(&t, out);
    lcsm_table_free(&t);
    free(k.names);
}
