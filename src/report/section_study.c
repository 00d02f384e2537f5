/* section_study.c - an experiment: findings, the table beside the paper's, figures, runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
#include "format/run_folder.h"
#include "report/escape.h"
#include "report/finding.h"
#include "report/rank.h"
#include "report/section.h"
#include "report/study_figures.h"
#include "report/study_table.h"

const char *lcsm_axis_name(const char *key)
{
    static const char *const names[][2] = {{"d_model", "width"}, {"seq_len", "length"}};
    for (size_t j = 0; j < COUNT(names); j++)
        if (strcmp(key, names[j][0]) == 0) return names[j][1];
    return key;
}

const char *lcsm_point_text(char text[96], const lcsm_study *s, size_t point, size_t without)
{
    size_t used = 0;
    text[0]     = '\0';
    for (size_t j = 0; j < s->axis_count && used < 90; j++)
        if (j != without && strcmp(s->axes[j], "task") == 0)
            used += (size_t)snprintf(text + used, 96 - used, "%s%s", used == 0 ? "" : ", ",
                                     LCSM_TASKS[(size_t)s->points[point][j]]->name);
        else if (j != without)
            used += (size_t)snprintf(text + used, 96 - used, "%s%s %g", used == 0 ? "" : ", ",
                                     lcsm_axis_name(s->axes[j]), s->points[point][j]);
    return text;
}

/* ---- facts --------------------------------------------------------------------------------- */

static size_t count_state(const lcsm_study *s, lcsm_record_state state)
{
    size_t n = 0;
    for (size_t j = 0; j < s->run_count; j++) n += s->runs[j].record.state == state;
    return n;
}

/* Whether there are two readings and each run belongs to both. */
static bool is_alike(const lcsm_study *s)
{
    const unsigned all = (1u << LCSM_READINGS) - 1;
    for (size_t j = 0; j < s->run_count; j++)
        if (s->runs[j].readings != all) return false;
    return s->readings == all && s->run_count > 0;
}

/* The rank correlation with the paper, if there are rows enough. */
static void put_correlation(lcsm_doc *d, const lcsm_study *s, const double *means)
{
    char         name[64] = "rank correlation", where[64];
    lcsm_ranked *rows     = malloc((s->variant_count + 1) * sizeof *rows);
    size_t       n        = 0;
    if (rows == NULL) {
        d->failed = true;
        return;
    }
    for (size_t v = 0; v < s->variant_count; v++)
        if (isfinite(means[v]) && isfinite(s->paper[v]))
            rows[n++] = (lcsm_ranked){s, v, s->paper[v]};
    if (s->readings != 1u << LCSM_READING_DESCRIBED && !is_alike(s))
        (void)snprintf(name, sizeof name, "rank correlation, %s", LCSM_READING_WORDS[s->reading]);
    (void)snprintf(where, sizeof where, "%s, %zu rows",
                   s->paper == s->paper_test ? " on its test set" : "", n);
    if (n >= LCSM_RANKS_FEWEST) lcsm_section_correlation(d, name, where, rows, n);
    free(rows);
}

static void put_facts(lcsm_doc *d, const lcsm_study *s)
{
    char   text[32];
    double seconds = 0;
    for (size_t j = 0; j < s->run_count; j++)
        if (isfinite(s->runs[j].record.seconds)) seconds += s->runs[j].record.seconds;
    size_t failed = count_state(s, LCSM_RECORD_FAILED);
    size_t open   = count_state(s, LCSM_RECORD_MISSING) + count_state(s, LCSM_RECORD_UNFINISHED);
    lcsm_doc_fact(d, "scale", "%s", s->scale);
    lcsm_doc_fact(d, "runs done", "%zu of %zu", count_state(s, LCSM_RECORD_DONE), s->run_count);
    if (failed > 0) lcsm_doc_fact(d, "failed", "%zu", failed);
    if (open > 0) lcsm_doc_fact(d, "not run yet", "%zu", open);
    lcsm_doc_fact(d, "training time", "%s", lcsm_section_time(text, seconds));
    if (s->readings == 1u << LCSM_READING_AS_RUN)
        lcsm_doc_fact(d, "reading", "%s", LCSM_READING_WORDS[LCSM_READING_AS_RUN]);
}

/* ---- details ------------------------------------------------------------------------------- */

/* The state, and why. */
static void put_state(lcsm_table *t, const lcsm_record *r)
{
    static const lcsm_mark marks[] = {
        [LCSM_RECORD_MISSING]    = LCSM_MARK_FAINT,
        [LCSM_RECORD_UNFINISHED] = LCSM_MARK_FAINT,
        [LCSM_RECORD_FAILED]     = LCSM_MARK_BAD,
        [LCSM_RECORD_DONE]       = LCSM_MARK_NONE,
    };
    const char *why       = r->state == LCSM_RECORD_FAILED ? r->message
                          : r->state == LCSM_RECORD_DONE   ? r->reason
                                                           : "";
    char        lines[64] = "";
    if (r->broken > 0) (void)snprintf(lines, sizeof lines, "; unreadable lines: %zu", r->broken);
    lcsm_table_cell(t, "%s%s%s%s", lcsm_record_state_name(r->state), *why == '\0' ? "" : ", ", why,
                    lines);
    lcsm_table_mark(t, marks[r->state]);
}

static bool has_tests(const lcsm_study *s)
{
    for (size_t j = 0; j < s->run_count; j++)
        if (isfinite(lcsm_record_test(&s->runs[j].record, s->metric))) return true;
    return false;
}

static void put_runs(lcsm_doc *d, const lcsm_study *s)
{
    bool               tests = has_tests(s);
    lcsm_table         t     = {0};
    const lcsm_metric *rate  = lcsm_metric_find("speed");
    char               text[96];
    lcsm_table_column(&t, "run", LCSM_LEFT);
    lcsm_table_column(&t, "state", LCSM_LEFT);
    lcsm_table_column(&t, s->metric->label, LCSM_RIGHT);
    if (tests) lcsm_table_column(&t, "test", LCSM_RIGHT);
    lcsm_table_column(&t, "steps", LCSM_RIGHT);
    lcsm_table_column(&t, "tokens/s", LCSM_RIGHT);
    lcsm_table_column(&t, "time", LCSM_RIGHT);
    for (size_t j = 0; j < s->run_count; j++) {
        const lcsm_record *r = &s->runs[j].record;
        lcsm_table_cell(&t, "%s", s->runs[j].name);
        put_state(&t, r);
        lcsm_table_number(&t, s->metric->digits, lcsm_record_value(r, s->metric));
        if (tests) lcsm_table_number(&t, s->metric->digits, lcsm_record_test(r, s->metric));
        lcsm_table_number(&t, 0, r->steps);
        lcsm_table_number(&t, 0, lcsm_record_value(r, rate));
        lcsm_table_cell(&t, "%s", lcsm_section_time(text, r->seconds));
    }
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "All %zu runs", s->run_count);
    lcsm_doc_table(d, &t, "%s", "");
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
}

/* ---- what is wrong ------------------------------------------------------------------------- */

static bool has_failed(const lcsm_record *r)
{
    return r->state == LCSM_RECORD_FAILED;
}

static void note_failure(lcsm_doc *d, const lcsm_study_run *r)
{
    lcsm_doc_add(d, LCSM_BLOCK_NOTE, "%s failed: %s", r->name, r->record.message);
}

static bool is_damaged(const lcsm_record *r)
{
    return r->broken > 0;
}

static void note_damage(lcsm_doc *d, const lcsm_study_run *r)
{
    lcsm_section_damage(d, r->name, &r->record);
}

static const struct {
    bool (*is)(const lcsm_record *r);
    void (*note)(lcsm_doc *d, const lcsm_study_run *r);
    const char *more;
} WRONGS[] = {
    {has_failed, note_failure, "failed"},
    {is_damaged, note_damage, "have lines in metrics.jsonl that could not be read"},
};

static void put_notes(lcsm_doc *d, const lcsm_study *s)
{
    enum { MOST = 8 };
    for (size_t w = 0; w < COUNT(WRONGS); w++) {
        size_t found = 0;
        for (size_t j = 0; j < s->run_count; j++)
            if (WRONGS[w].is(&s->runs[j].record) && found++ < MOST) WRONGS[w].note(d, &s->runs[j]);
        if (found > MOST)
            lcsm_doc_add(d, LCSM_BLOCK_NOTE, "And %zu more %s; see the list of all runs.",
                         found - MOST, WRONGS[w].more);
    }
}

/* ---- commands and settings ----------------------------------------------------------------- */

/* What of a run's command is meant inside the folder of the experiment. */
static const struct {
    const char *flag, *path;
} INSIDE[] = {{" --out ", LCSM_STUDY_RUNS "/"}, {" --tokenizer ", LCSM_RUN_TOKENIZER}};

/* The command as it runs from where that of the experiment does. */
static void put_run_command(lcsm_strbuf *out, const lcsm_study *s, const char *command)
{
    for (; *command != '\0'; command++) {
        for (size_t j = 0; j < COUNT(INSIDE); j++) {
            size_t flag = strlen(INSIDE[j].flag), path = strlen(INSIDE[j].path);
            bool   given = j > 0 && strstr(s->command, INSIDE[j].flag) != NULL;
            if (given || strncmp(command, INSIDE[j].flag, flag) != 0
                || strncmp(command + flag, INSIDE[j].path, path) != 0)
                continue;
            lcsm_strbuf_add(out, INSIDE[j].flag);
            lcsm_put_shell(out, *s->out != '\0' ? s->out : s->folder);
            lcsm_strbuf_add(out, "/");
            command += flag;
        }
        lcsm_strbuf_bytes(out, command, 1);
    }
}

static void put_commands(lcsm_doc *d, const lcsm_study *s)
{
    lcsm_strbuf all = {0};
    for (size_t j = 0; j < s->run_count; j++) {
        put_run_command(&all, s, s->runs[j].command);
        if (j + 1 < s->run_count) lcsm_strbuf_add(&all, "\n");
    }
    lcsm_doc_add(d, LCSM_BLOCK_HEADING, "To repeat it");
    if (*s->command != '\0') lcsm_doc_add(d, LCSM_BLOCK_CODE, "%s", s->command);
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "The command of each run");
    lcsm_doc_add(d, LCSM_BLOCK_CODE, "%s", lcsm_strbuf_text(&all));
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
    if (all.failed) d->failed = true;
    lcsm_strbuf_free(&all);
}

/* What all runs have alike, or NULL if none has settings; the caller owns it. */
static json_t *shared_settings(const lcsm_study *s)
{
    json_t     *shared = NULL, *value;
    const char *key;
    void       *next;
    for (size_t j = 0; j < s->run_count; j++) {
        json_t *mine = s->runs[j].record.config.root;
        if (mine == NULL) continue;
        if (shared == NULL) shared = json_copy(mine);
        json_object_foreach_safe(shared, next, key, value)
        {
            if (!json_equal(value, json_object_get(mine, key))) (void)json_object_del(shared, key);
        }
    }
    return shared;
}

/* Every key that is not shared, as the members of one object, which the caller owns. */
static json_t *other_settings(const lcsm_study *s, const json_t *shared)
{
    json_t     *others = json_object(), *value;
    const char *key;
    for (size_t j = 0; j < s->run_count; j++)
        json_object_foreach(s->runs[j].record.config.root, key, value)
        {
            if (json_object_get(shared, key) == NULL) (void)json_object_set(others, key, value);
        }
    return others;
}

static void put_others(lcsm_doc *d, const lcsm_study *s, json_t *others)
{
    lcsm_table  t = {0};
    json_t     *value;
    const char *key;
    if (json_object_size(others) == 0) return;
    lcsm_table_column(&t, "run", LCSM_LEFT);
    json_object_foreach(others, key, value) lcsm_table_column(&t, key, LCSM_LEFT);
    for (size_t j = 0; j < s->run_count; j++) {
        lcsm_table_cell(&t, "%s", s->runs[j].name);
        json_object_foreach(others, key, value)
            lcsm_section_setting(&t, json_object_get(s->runs[j].record.config.root, key));
    }
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "Settings of each run");
    lcsm_doc_table(d, &t, "%s", "");
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
}

static void put_settings(lcsm_doc *d, const lcsm_study *s)
{
    json_t *shared = shared_settings(s), *others = other_settings(s, shared);
    lcsm_section_settings(d, "Settings that all runs share", shared);
    put_others(d, s, others);
    json_decref(shared);
    json_decref(others);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* The means of one reading's variants, their ranks, and the paper's. */
typedef struct {
    lcsm_study study; /* as the reading has it */
    double    *means, *ranks, *paper;
} part;

static lcsm_status part_make(part *p, const lcsm_study *s, lcsm_reading reading, lcsm_error *err)
{
    size_t n = s->variant_count;
    p->study = lcsm_study_as(s, reading);
    p->means = malloc(3 * n * sizeof *p->means);
    if (p->means == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a table");
    p->ranks = p->means + n;
    p->paper = p->ranks + n;
    for (size_t v = 0; v < n; v++) p->means[v] = lcsm_study_mean(&p->study, v, NULL);
    lcsm_ranks(p->ranks, p->means, n, s->metric->higher);
    lcsm_ranks(p->paper, s->paper, n, s->metric->higher);
    return LCSM_OK;
}

static void put_source(lcsm_doc *d, const lcsm_study *s)
{
    const char *source =
        json_string_value(json_object_get(json_object_get(s->doc.root, "paper"), "source"));
    if (source != NULL) lcsm_doc_add(d, LCSM_BLOCK_TEXT, "%s", source);
}

/* Findings, tables and figures of a reading. */
static lcsm_status put_part(lcsm_doc *d, const part *p, bool alone, lcsm_error *err)
{
    if (!alone)
        lcsm_doc_add(d, LCSM_BLOCK_HEADING, "The paper %s", LCSM_READING_WORDS[p->study.reading]);
    else lcsm_findings(d, &p->study);
    lcsm_study_tables(d, &p->study, &(lcsm_study_order){p->means, p->ranks, p->paper});
    lcsm_section_published(d, &p->study);
    if (alone) put_source(d, &p->study);
    lcsm_study_rates(d, &p->study);
    return lcsm_study_figures(d, &p->study, p->means, err);
}

static lcsm_status put_parts(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    lcsm_status st                   = LCSM_OK;
    part        parts[LCSM_READINGS] = {0};
    size_t      count                = 0;
    bool        alike                = is_alike(s);
    for (lcsm_reading r = 0; r < LCSM_READINGS && !(alike && count > 0); r++)
        if ((s->readings & 1u << r) != 0) LCSM_TRY(part_make(&parts[count++], s, r, err));
    if (alike)
        lcsm_doc_fact(d, "readings", "both: as described and as run, these models train alike");
    for (size_t j = 0; j < count; j++) put_correlation(d, &parts[j].study, parts[j].means);
    put_notes(d, s);
    if (count > 1) {
        lcsm_section_readings(d, s);
        put_source(d, s);
    }
    for (size_t j = 0; j < count; j++) LCSM_TRY(put_part(d, &parts[j], count == 1, err));
cleanup:
    for (size_t j = 0; j < LCSM_READINGS; j++) free(parts[j].means);
    return st;
}

lcsm_status lcsm_section_study(lcsm_doc *d, const lcsm_study *s, bool first, lcsm_error *err)
{
    lcsm_doc_add(d, LCSM_BLOCK_SECTION, "%s", s->heading);
    if (s->about[0] != '\0') lcsm_doc_add(d, LCSM_BLOCK_LEAD, "%s", s->about);
    lcsm_section_guide(d, s, first);
    put_facts(d, s);
    LCSM_OR_RETURN(put_parts(d, s, err));
    put_runs(d, s);
    put_settings(d, s);
    put_commands(d, s);
    return LCSM_OK;
}
