/* run_plan.c - experiment.json, and the commands of runs. */
#include "experiment/run_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "experiment/grid_read.h"
#include "experiment/result.h"
#include "format/json_write.h"
#include "format/keys.h"
#include "format/run_folder.h"
#include "report/study.h"

/* ---- commands ------------------------------------------------------------------------------ */

static void add_setting(lcsm_command *c, const char *key, const json_t *value)
{
    char flag[80], text[LCSM_KEY_TEXT_SIZE];
    (void)snprintf(flag, sizeof flag, "--%s", key);
    for (char *p = flag; *p != '\0'; p++)
        if (*p == '_') *p = '-';
    lcsm_command_add_pair(c, flag, lcsm_setting_text(text, value));
}

static void add_texts(lcsm_command *c, const lcsm_experiment_options *o)
{
    for (size_t j = 0; j < o->data_count; j++) lcsm_command_add_pair(c, "--data", o->data[j]);
    for (size_t j = 0; j < o->valid_count; j++) lcsm_command_add_pair(c, "--valid", o->valid[j]);
    for (size_t j = 0; j < o->test_count; j++) lcsm_command_add_pair(c, "--test", o->test[j]);
}

lcsm_command lcsm_command_train(const lcsm_grid_run *r, const lcsm_experiment_options *options,
                                const char *tokenizer, const char *folder)
{
    lcsm_command c = {0};
    const char  *key;
    json_t      *value;
    lcsm_command_add(&c, "lcsm");
    lcsm_command_add(&c, "train");
    json_object_foreach(r->settings, key, value) add_setting(&c, key, value);
    if (lcsm_task_reads_text(lcsm_train_task(&r->train))) {
        add_texts(&c, options);
        if (tokenizer != NULL) lcsm_command_add_pair(&c, "--tokenizer", tokenizer);
    }
    lcsm_command_add_pair(&c, "--out", folder);
    return c;
}

lcsm_command lcsm_command_resume(const char *folder)
{
    lcsm_command c = {0};
    lcsm_command_add(&c, "lcsm");
    lcsm_command_add(&c, "train");
    lcsm_command_add(&c, "--resume");
    lcsm_command_add_pair(&c, "--out", folder);
    return c;
}

/* ---- experiment.json ----------------------------------------------------------------------- */

static void put_command(lcsm_json_writer *w, const lcsm_command *c)
{
    lcsm_strbuf s = {0};
    lcsm_command_put(&s, c);
    if (s.failed) w->text.failed = true;
    lcsm_json_put_text(w, "command", lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
}

static void add_count(lcsm_command *c, const char *flag, size_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", value);
    if (value > 0) lcsm_command_add_pair(c, flag, text);
}

static lcsm_command own_command(const lcsm_grid *g, const lcsm_experiment_options *o)
{
    lcsm_command c = {0};
    lcsm_command_add(&c, "lcsm");
    lcsm_command_add(&c, "experiment");
    lcsm_command_add(&c, "run");
    lcsm_command_add(&c, o->name);
    lcsm_command_add_pair(&c, "--scale", g->scale);
    if (o->reading != NULL) lcsm_command_add_pair(&c, "--reading", o->reading);
    add_texts(&c, o);
    if (o->tokenizer != NULL) lcsm_command_add_pair(&c, "--tokenizer", o->tokenizer);
    if (o->lr_count > 0) {
        lcsm_strbuf rates = {0};
        for (size_t j = 0; j < o->lr_count; j++)
            lcsm_strbuf_printf(&rates, "%s%.10g", j > 0 ? "," : "", o->lr[j]);
        lcsm_command_add_pair(&c, "--lr-grid", lcsm_strbuf_text(&rates));
        lcsm_strbuf_free(&rates);
    }
    add_count(&c, "--seeds", o->seeds);
    add_count(&c, "--jobs", o->jobs > 0 ? (size_t)o->jobs : 0);
    if (o->only != NULL) lcsm_command_add_pair(&c, "--only", o->only);
    lcsm_command_add_pair(&c, "--out", o->out);
    return c;
}

static bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);
    while (text != NULL) {
        if (strncmp(text, line, size) == 0 && (text[size] == '\n' || text[size] == '\0'))
            return true;
        text = strchr(text, '\n');
        if (text != NULL) text++;
    }
    return false;
}

/* A line for each call that the folder has seen: together they repeat it. */
static void put_calls(lcsm_json_writer *w, const lcsm_study *old, const lcsm_grid *g,
                      const lcsm_experiment_options *o)
{
    const char  *before = old->command == NULL ? "" : old->command;
    lcsm_command c      = own_command(g, o);
    lcsm_strbuf  now = {0}, all = {0};
    lcsm_command_put(&now, &c);
    lcsm_strbuf_printf(&all, "%s", before);
    if (!has_line(before, lcsm_strbuf_text(&now)))
        lcsm_strbuf_printf(&all, "%s%s", *before != '\0' ? "\n" : "", lcsm_strbuf_text(&now));
    if (now.failed || all.failed) w->text.failed = true;
    lcsm_json_put_text(w, "command", lcsm_strbuf_text(&all));
    lcsm_strbuf_free(&all);
    lcsm_strbuf_free(&now);
    lcsm_command_free(&c);
}

/* As it is written down: inside the folder of the experiment. */
static lcsm_command command_of(const lcsm_grid *g, const lcsm_grid_run *r,
                               const lcsm_experiment_options *o)
{
    char        folder[192];
    const char *own = g->vocabulary > 0 ? LCSM_RUN_TOKENIZER : NULL;
    (void)snprintf(folder, sizeof folder, LCSM_STUDY_RUNS "/%s", r->name);
    return lcsm_command_train(r, o, o->tokenizer != NULL ? o->tokenizer : own, folder);
}

static void put_readings(lcsm_json_writer *w, unsigned readings)
{
    lcsm_json_open_array(w, "readings");
    for (unsigned j = 0; j < LCSM_READINGS; j++)
        if ((readings & 1u << j) != 0) lcsm_json_put_text(w, NULL, LCSM_READING_NAMES[j]);
    lcsm_json_close(w);
}

/* A task by its name. */
static void put_axis(lcsm_json_writer *w, const char *key, double value)
{
    if (strcmp(key, "task") != 0) lcsm_json_put_real(w, NULL, value);
    else lcsm_json_put_text(w, NULL, LCSM_TASKS[(size_t)value]->name);
}

static void put_run(lcsm_json_writer *w, const lcsm_grid *g, const lcsm_grid_run *r,
                    const lcsm_experiment_options *o)
{
    lcsm_command c = command_of(g, r, o);
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "name", r->name);
    lcsm_json_put_size(w, "variant", r->variant);
    lcsm_json_open_array(w, "axes");
    for (size_t j = 0; j < g->axis_count; j++) put_axis(w, g->axes[j], r->axes[j]);
    lcsm_json_close(w);
    lcsm_json_put_real(w, "lr", r->lr);
    lcsm_json_put_real(w, "seed", r->seed);
    put_readings(w, r->readings);
    put_command(w, &c);
    lcsm_json_close(w);
    lcsm_command_free(&c);
}

/* A run that an earlier call put into the list. */
static void put_old_run(lcsm_json_writer *w, const lcsm_study_run *r, const lcsm_grid *g)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "name", r->name);
    lcsm_json_put_size(w, "variant", r->variant);
    lcsm_json_open_array(w, "axes");
    for (size_t j = 0; j < g->axis_count; j++) put_axis(w, g->axes[j], r->axes[j]);
    lcsm_json_close(w);
    if (isfinite(r->lr)) lcsm_json_put_real(w, "lr", r->lr);
    if (isfinite(r->seed)) lcsm_json_put_real(w, "seed", r->seed);
    put_readings(w, r->readings);
    lcsm_json_put_text(w, "command", r->command);
    lcsm_json_close(w);
}

static const lcsm_grid_run *find_run(const lcsm_grid *g, const char *name)
{
    for (size_t j = 0; j < g->run_count; j++)
        if (strcmp(g->runs[j].name, name) == 0) return &g->runs[j];
    return NULL;
}

static void put_runs(lcsm_json_writer *w, const lcsm_grid *g, const lcsm_study *old,
                     const lcsm_experiment_options *o)
{
    lcsm_json_open_array(w, "runs");
    for (size_t j = 0; j < g->run_count; j++) put_run(w, g, &g->runs[j], o);
    for (size_t j = 0; j < old->run_count; j++)
        if (find_run(g, old->runs[j].name) == NULL) put_old_run(w, &old->runs[j], g);
    lcsm_json_close(w);
}

/* ---- what the folder holds already --------------------------------------------------------- */

static lcsm_status check_head(const lcsm_study *old, const lcsm_grid *g,
                              const lcsm_experiment_options *o, lcsm_error *err)
{
    bool same = strcmp(old->name, g->name) == 0 && strcmp(old->scale, g->scale) == 0
             && old->variant_count == g->variant_count && old->axis_count == g->axis_count;
    for (size_t j = 0; same && j < g->variant_count; j++)
        same = strcmp(old->variants[j], g->variants[j]) == 0;
    for (size_t j = 0; same && j < g->axis_count; j++) same = strcmp(old->axes[j], g->axes[j]) == 0;
    if (same) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "%s contains the experiment %s at scale %s; use another folder for %s at %s",
                     o->out, old->name, old->scale, g->name, g->scale);
}

/* The tokenizer that was trained is kept too. */
static lcsm_status check_vocabulary(const lcsm_study *old, const lcsm_grid *g,
                                    const lcsm_experiment_options *o, lcsm_error *err)
{
    const json_t *stored = json_object_get(old->doc.root, "vocabulary");
    json_int_t    size   = json_integer_value(stored);
    if (o->tokenizer != NULL || stored == NULL || size == (json_int_t)g->vocabulary) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "%s has a tokenizer of %lld tokens, but %s now needs %zu; use another --out",
                     o->out, (long long)size, g->name, g->vocabulary);
}

/* A run of which something stays: its result, or a checkpoint that it goes on from. */
static lcsm_status check_run(const lcsm_study_run *old, const lcsm_grid *g, const lcsm_grid_run *r,
                             const lcsm_experiment_options *o, lcsm_error *err)
{
    lcsm_status         st     = LCSM_OK;
    lcsm_command        before = lcsm_command_split(old->command), now = command_of(g, r, o);
    lcsm_result         result;
    lcsm_command_change change;
    LCSM_TRY(lcsm_result_look(&result, old->record.folder, err));
    if (before.failed || now.failed)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a command"));
    bool stays = result.state != LCSM_RESULT_OPEN || result.resumable;
    if (!stays || before.count == 0 || !lcsm_command_differs(&change, &before, &now)) goto cleanup;
    st = lcsm_fail(err, LCSM_ERR_ARGUMENT,
                   "the run %.80s was trained with %s%s%.40s, but now has %.40s; use another --out",
                   r->name, change.flag, change.before == NULL ? " not set" : " ",
                   change.before == NULL ? "" : change.before,
                   change.now == NULL ? "none" : change.now);
cleanup:
    lcsm_command_free(&before);
    lcsm_command_free(&now);
    return st;
}

/* An experiment may grow, by rates, seeds and variants. What it has must be what it would train. */
static lcsm_status check_old(const lcsm_study *old, const lcsm_grid *g,
                             const lcsm_experiment_options *o, lcsm_error *err)
{
    LCSM_OR_RETURN(check_head(old, g, o, err));
    LCSM_OR_RETURN(check_vocabulary(old, g, o, err));
    for (size_t j = 0; j < old->run_count; j++) {
        const lcsm_grid_run *r = find_run(g, old->runs[j].name);
        if (r != NULL) LCSM_OR_RETURN(check_run(&old->runs[j], g, r, o, err));
    }
    return LCSM_OK;
}

/* Empty if there is nothing. */
static lcsm_status read_old(lcsm_study *old, const lcsm_grid *g, const char *path,
                            const lcsm_experiment_options *o, lcsm_error *err)
{
    *old = (lcsm_study){0};
    if (!lcsm_path_exists(path)) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_study_read(old, o->out, err));
    return check_old(old, g, o, err);
}

/* ---- the file ------------------------------------------------------------------------------ */

/* The paper's document as it is, put between the members. */
static void put_paper(lcsm_strbuf *out, const lcsm_grid *g)
{
    char *text = g->paper.root == NULL ? NULL : json_dumps(g->paper.root, JSON_COMPACT);
    if (g->paper.root != NULL && text == NULL) out->failed = true;
    lcsm_strbuf_printf(out, ",\n  \"paper\": %s\n}\n", text == NULL ? "{}" : text);
    free(text);
}

lcsm_status lcsm_plan_store(const lcsm_grid *g, const lcsm_experiment_options *options,
                            lcsm_error *err)
{
    lcsm_status      st   = LCSM_OK;
    lcsm_json_writer w    = lcsm_json_writer_pretty();
    lcsm_strbuf      text = {0};
    lcsm_study       old  = {0};
    char             path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_folder_make(options->out, err));
    LCSM_TRY(lcsm_path_join(path, options->out, LCSM_STUDY_FILE, err));
    LCSM_TRY(read_old(&old, g, path, options, err));
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "format", "lcsm-experiment");
    lcsm_json_put_int(&w, "version", 1);
    lcsm_json_put_text(&w, "name", g->name);
    lcsm_json_put_text(&w, "title", g->title);
    lcsm_json_put_text(&w, "about", g->about);
    lcsm_json_put_text(&w, "task", g->task);
    lcsm_json_put_text(&w, "scale", g->scale);
    lcsm_json_put_text(&w, "metric", g->metric);
    if (g->vocabulary > 0) lcsm_json_put_size(&w, "vocabulary", g->vocabulary);
    put_readings(&w, g->readings | old.readings);
    put_calls(&w, &old, g, options);
    lcsm_json_put_text(&w, "out", options->out);
    lcsm_json_open_array(&w, "axes");
    for (size_t j = 0; j < g->axis_count; j++) lcsm_json_put_text(&w, NULL, g->axes[j]);
    lcsm_json_close(&w);
    lcsm_json_open_array(&w, "variants");
    for (size_t j = 0; j < g->variant_count; j++) lcsm_json_put_text(&w, NULL, g->variants[j]);
    lcsm_json_close(&w);
    put_runs(&w, g, &old, options);
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    /* Without its last bracket, so that the paper can follow. */
    lcsm_strbuf_bytes(&text, w.text.text, w.text.size - strlen("\n}\n"));
    put_paper(&text, g);
    if (text.failed) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", path));
    LCSM_TRY(lcsm_file_write_atomic(path, text.text, text.size, err));
cleanup:
    lcsm_study_free(&old);
    lcsm_strbuf_free(&text);
    lcsm_json_writer_free(&w);
    return st;
}
