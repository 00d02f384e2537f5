/* section_study.c - an experiment: findings, the table beside the paper's, figures, runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/run_folder.h"
#include "report/escape.h"
#include "report/finding.h"
#include "report/rank.h"
#include "report/section.h"
#include "report/study_figures.h"

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
        if (j != without)
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

static void put_facts(lcsm_doc *d, const lcsm_study *s, double spearman)
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
    if (open > 0) lcsm_doc_fact(d, "still to run", "%zu", open);
    lcsm_doc_fact(d, "training time", "%s", lcsm_section_time(text, seconds));
    if (isfinite(spearman)) lcsm_doc_fact(d, "rank correlation with the paper", "%.2f", spearman);
}

/* ---- the table ----------------------------------------------------------------------------- */

static bool any_finite(const double *values, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (isfinite(values[j])) return true;
    return false;
}

static void put_cell(lcsm_table *t, const lcsm_study *s, const lcsm_study_cell *c)
{
    char spread[40] = "", lost[64] = "";
    int  digits = s->metric->digits;
    if (!isfinite(c->value)) {
        bool failed = c->failed > 0 && c->done == 0;
        lcsm_table_cell(t, "%s", failed ? "failed" : "-");
        lcsm_table_mark(t, failed ? LCSM_MARK_BAD : LCSM_MARK_FAINT);
        return;
    }
    if (c->deviation > 0)
        (void)snprintf(spread, sizeof spread, " \xC2\xB1 %.*f", digits, c->deviation);
    if (c->counted < c->seeds)
        (void)snprintf(lost, sizeof lost, " (%zu of %zu seeds)", c->counted, c->seeds);
    lcsm_table_cell(t, "%.*f%s%s", digits, c->value, spread, lost);
}

static bool is_best(const lcsm_study *s, size_t variant, size_t point)
{
    double mine = lcsm_study_at(s, variant, point)->value;
    for (size_t v = 0; v < s->variant_count; v++) {
        double other = lcsm_study_at(s, v, point)->value;
        if (isfinite(other) && (s->metric->higher ? other > mine : other < mine)) return false;
    }
    return isfinite(mine) && s->variant_count > 1;
}

static void rank_cell(lcsm_table *t, double rank)
{
    if (isfinite(rank)) lcsm_table_cell(t, "%g", rank);
    else lcsm_table_cell(t, "%s", "");
    lcsm_table_mark(t, LCSM_MARK_FAINT);
}

enum { POINTS = 16 }; /* columns for points of the axes, at most */

static void table_heads(lcsm_table *t, const lcsm_study *s, size_t points, bool paper, bool test)
{
    char text[96], head[160];
    lcsm_table_column(t, "variant", LCSM_LEFT);
    for (size_t p = 0; p < points; p++) {
        const char *point = lcsm_point_text(text, s, p, s->axis_count);
        (void)snprintf(head, sizeof head, "%s%s%s", points > 1 ? "" : s->metric->label,
                       points > 1 || *point == '\0' ? "" : ", ", point);
        lcsm_table_column(t, head, LCSM_RIGHT);
    }
    if (points > 1) lcsm_table_column(t, "mean", LCSM_RIGHT);
    if (test) lcsm_table_column(t, "test", LCSM_RIGHT);
    lcsm_table_column(t, "rank", LCSM_RIGHT);
    if (!paper) return;
    lcsm_table_column(t, "paper", LCSM_RIGHT);
    lcsm_table_column(t, "paper, test", LCSM_RIGHT);
    lcsm_table_column(t, "paper's rank", LCSM_RIGHT);
}

static void put_table(lcsm_doc *d, const lcsm_study *s, const double *means, const double *ranks,
                      const double *paper_ranks)
{
    lcsm_table t      = {0};
    size_t     points = s->point_count < POINTS ? s->point_count : POINTS;
    bool       paper = any_finite(s->paper, s->variant_count), test = false, several = false;
    for (size_t v = 0; v < s->variant_count; v++) {
        for (size_t p = 0; p < points; p++) {
            test    = test || (points == 1 && isfinite(lcsm_study_at(s, v, p)->test));
            several = several || lcsm_study_at(s, v, p)->deviation > 0;
        }
    }
    table_heads(&t, s, points, paper, test);
    for (size_t v = 0; v < s->variant_count; v++) {
        lcsm_table_cell(&t, "%s", s->variants[v]);
        for (size_t p = 0; p < points; p++) {
            put_cell(&t, s, lcsm_study_at(s, v, p));
            if (is_best(s, v, p)) lcsm_table_mark(&t, LCSM_MARK_BEST);
        }
        if (points > 1) lcsm_table_number(&t, s->metric->digits, means[v]);
        if (test) lcsm_table_number(&t, s->metric->digits, lcsm_study_at(s, v, 0)->test);
        rank_cell(&t, ranks[v]);
        if (!paper) continue;
        lcsm_table_number(&t, s->metric->digits, s->paper[v]);
        lcsm_table_number(&t, s->metric->digits, s->paper_test[v]);
        rank_cell(&t, paper_ranks[v]);
    }
    lcsm_doc_table(d, &t, "%s%s, %s is better; the best of a column is bold.%s%s%s",
                   (const char[2]){(char)(s->metric->label[0] - 'a' + 'A'), '\0'},
                   s->metric->label + 1, s->metric->higher ? "higher" : "lower",
                   several ? " Means and deviations over seeds, at the best learning rate." : "",
                   points > 1 ? " Ranks are those of the mean." : "",
                   paper ? " The paper's numbers are for its own, larger setting: compare ranks."
                         : "");
}

/* ---- details ------------------------------------------------------------------------------- */

static void put_runs(lcsm_doc *d, const lcsm_study *s)
{
    lcsm_table         t    = {0};
    const lcsm_metric *rate = lcsm_metric_find("speed");
    char               text[96];
    lcsm_table_column(&t, "run", LCSM_LEFT);
    lcsm_table_column(&t, "state", LCSM_LEFT);
    lcsm_table_column(&t, s->metric->label, LCSM_RIGHT);
    lcsm_table_column(&t, "steps", LCSM_RIGHT);
    lcsm_table_column(&t, "tokens/s", LCSM_RIGHT);
    lcsm_table_column(&t, "time", LCSM_RIGHT);
    for (size_t j = 0; j < s->run_count; j++) {
        const lcsm_record *r = &s->runs[j].record;
        lcsm_table_cell(&t, "%s", s->runs[j].name);
        lcsm_table_cell(&t, "%s%s%s", lcsm_record_state_name(r->state),
                        r->state == LCSM_RECORD_DONE ? ", " : "",
                        r->state == LCSM_RECORD_DONE ? r->reason : "");
        if (r->state != LCSM_RECORD_DONE)
            lcsm_table_mark(&t, r->state == LCSM_RECORD_FAILED ? LCSM_MARK_BAD : LCSM_MARK_FAINT);
        lcsm_table_number(&t, s->metric->digits, lcsm_record_value(r, s->metric));
        lcsm_table_number(&t, 0, r->steps);
        lcsm_table_number(&t, 0, lcsm_record_value(r, rate));
        lcsm_table_cell(&t, "%s", lcsm_section_time(text, r->seconds));
    }
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "All %zu runs", s->run_count);
    lcsm_doc_table(d, &t, "%s", "");
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
}

static void put_failures(lcsm_doc *d, const lcsm_study *s)
{
    enum { MOST = 8 };
    size_t shown = 0;
    for (size_t j = 0; j < s->run_count && shown < MOST; j++) {
        const lcsm_record *r = &s->runs[j].record;
        if (r->state != LCSM_RECORD_FAILED) continue;
        lcsm_doc_add(d, LCSM_BLOCK_NOTE, "%s failed: %s", s->runs[j].name, r->message);
        shown++;
    }
}

/* What of a run's command is meant inside the folder of the experiment. */
static const struct {
    const char *flag, *path;
} INSIDE[] = {{" --out ", LCSM_STUDY_RUNS "/"}, {" --tokenizer ", LCSM_RUN_TOKENIZER}};

/* The folder, as the experiment's own command has it at its end: a word of a shell. */
static const char *own_folder(const lcsm_study *s)
{
    const char *flag = INSIDE[0].flag, *last = NULL;
    for (const char *p = s->command; (p = strstr(p, flag)) != NULL;) last = p += strlen(flag);
    return last;
}

/* The command as it runs from where that of the experiment does. */
static void put_run_command(lcsm_strbuf *out, const lcsm_study *s, const char *command)
{
    const char *folder = own_folder(s);
    for (; *command != '\0'; command++) {
        for (size_t j = 0; folder != NULL && j < COUNT(INSIDE); j++) {
            size_t flag = strlen(INSIDE[j].flag), path = strlen(INSIDE[j].path);
            bool   given = j > 0 && strstr(s->command, INSIDE[j].flag) != NULL;
            if (given || strncmp(command, INSIDE[j].flag, flag) != 0
                || strncmp(command + flag, INSIDE[j].path, path) != 0)
                continue;
            lcsm_strbuf_printf(out, "%s%s/", INSIDE[j].flag, folder);
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
    lcsm_doc_add(d, LCSM_BLOCK_CODE, "%s", s->command);
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "The command of each run");
    lcsm_doc_add(d, LCSM_BLOCK_CODE, "%s", lcsm_strbuf_text(&all));
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
    if (all.failed) d->failed = true;
    lcsm_strbuf_free(&all);
}

/* The settings of the first run that has some: those that all share, and its own. */
static void put_settings(lcsm_doc *d, const lcsm_study *s)
{
    for (size_t j = 0; j < s->run_count; j++) {
        if (s->runs[j].record.config.root == NULL) continue;
        lcsm_section_settings(d, &s->runs[j].record);
        return;
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

lcsm_status lcsm_section_study(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    size_t      n     = s->variant_count;
    double     *means = malloc(3 * n * sizeof *means), *ranks = means + n, *paper = ranks + n;
    const char *source =
        json_string_value(json_object_get(json_object_get(s->doc.root, "paper"), "source"));
    if (means == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a table");
    for (size_t v = 0; v < n; v++) means[v] = lcsm_study_mean(s, v, NULL);
    lcsm_ranks(ranks, means, n, s->metric->higher);
    lcsm_ranks(paper, s->paper, n, s->metric->higher);

    lcsm_doc_add(d, LCSM_BLOCK_SECTION, "%s", s->heading);
    if (s->about[0] != '\0') lcsm_doc_add(d, LCSM_BLOCK_LEAD, "%s", s->about);
    put_facts(d, s, lcsm_spearman(means, s->paper, n, NULL));
    put_failures(d, s);
    lcsm_findings(d, s);
    put_table(d, s, means, ranks, paper);
    if (source != NULL) lcsm_doc_add(d, LCSM_BLOCK_TEXT, "%s", source);
    LCSM_TRY(lcsm_study_figures(d, s, means, err));
    put_runs(d, s);
    put_settings(d, s);
    put_commands(d, s);
cleanup:
    free(means);
    return st;
}
