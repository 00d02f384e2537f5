/* study.c - experiment.json and its run folders. */
#include "report/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/rank.h"

static lcsm_status no_room(lcsm_error *err, const char *folder)
{
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its runs", folder);
    return LCSM_ERR_MEMORY;
}

/* ---- experiment.json ----------------------------------------------------------------------- */

static lcsm_status read_names(const char **out, size_t *count, size_t most, const lcsm_json *array,
                              lcsm_error *err)
{
    for (*count = 0; *count < lcsm_json_count(array) && *count < most; (*count)++)
        LCSM_OR_RETURN(lcsm_json_get_text(&out[*count], lcsm_json_item(array, *count), err));
    return LCSM_OK;
}

/* Files of before readings have none: they are as described. */
static lcsm_status read_readings(unsigned *out, lcsm_json value, lcsm_error *err)
{
    lcsm_json list;
    size_t    which;
    *out = 1u << LCSM_READING_DESCRIBED;
    if (value.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_array(&list, value, 1, LCSM_READINGS, err));
    *out = 0;
    for (size_t j = 0; j < lcsm_json_count(&list); j++) {
        LCSM_OR_RETURN(lcsm_json_get_choice(&which, lcsm_json_item(&list, j), LCSM_READING_NAMES,
                                            LCSM_READINGS, err));
        *out |= 1u << which;
    }
    return LCSM_OK;
}

static lcsm_status read_head(lcsm_study *s, const lcsm_json *root, lcsm_error *err)
{
    const char *format = NULL;
    lcsm_json   axes, variants;
    LCSM_OR_RETURN(lcsm_json_get_text(&format, lcsm_json_need(root, "format"), err));
    if (strcmp(format, "lcsm-experiment") != 0) {
        lcsm_json v = lcsm_json_need(root, "format");
        return lcsm_json_fail(&v, err, "\"lcsm-experiment\"");
    }
    s->about = s->command = s->out = "";
    LCSM_OR_RETURN(lcsm_json_get_text(&s->name, lcsm_json_need(root, "name"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->title, lcsm_json_need(root, "title"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->about, lcsm_json_may(root, "about"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->command, lcsm_json_may(root, "command"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->out, lcsm_json_may(root, "out"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->task, lcsm_json_need(root, "task"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&s->scale, lcsm_json_need(root, "scale"), err));
    LCSM_OR_RETURN(lcsm_metric_read(&s->metric, lcsm_json_need(root, "metric"), err));
    LCSM_OR_RETURN(read_readings(&s->readings, lcsm_json_may(root, "readings"), err));
    s->reading = (s->readings & 1u << LCSM_READING_DESCRIBED) != 0 ? LCSM_READING_DESCRIBED
                                                                   : LCSM_READING_AS_RUN;
    LCSM_OR_RETURN(
        lcsm_json_get_array(&axes, lcsm_json_need(root, "axes"), 0, LCSM_STUDY_AXES, err));
    LCSM_OR_RETURN(read_names(s->axes, &s->axis_count, LCSM_STUDY_AXES, &axes, err));
    LCSM_OR_RETURN(
        lcsm_json_get_array(&variants, lcsm_json_need(root, "variants"), 1, LCSM_STUDY_MAX, err));
    s->variants = calloc(lcsm_json_count(&variants), sizeof *s->variants);
    if (s->variants == NULL) return no_room(err, s->name);
    return read_names(s->variants, &s->variant_count, LCSM_STUDY_MAX, &variants, err);
}

static lcsm_status read_run(lcsm_study_run *r, const lcsm_study *s, const lcsm_json *row,
                            lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_json   axes;
    r->command = "";
    r->lr = r->seed = NAN;
    LCSM_OR_RETURN(lcsm_json_get_text(&r->name, lcsm_json_need(row, "name"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&r->command, lcsm_json_may(row, "command"), err));
    LCSM_OR_RETURN(lcsm_json_get_size(&r->variant, lcsm_json_need(row, "variant"), 0,
                                      s->variant_count - 1, err));
    LCSM_OR_RETURN(lcsm_json_get_real(&r->lr, lcsm_json_may(row, "lr"), -INFINITY, INFINITY, err));
    LCSM_OR_RETURN(
        lcsm_json_get_real(&r->seed, lcsm_json_may(row, "seed"), -INFINITY, INFINITY, err));
    LCSM_OR_RETURN(read_readings(&r->readings, lcsm_json_may(row, "readings"), err));
    LCSM_OR_RETURN(
        lcsm_json_get_array(&axes, lcsm_json_need(row, "axes"), s->axis_count, s->axis_count, err));
    for (size_t j = 0; j < s->axis_count; j++)
        LCSM_OR_RETURN(lcsm_axis_read(&r->axes[j], lcsm_json_item(&axes, j), err));
    if (!lcsm_path_is_bare(r->name)) {
        lcsm_json v = lcsm_json_need(row, "name");
        st          = lcsm_json_fail(&v, err, "a name without a folder");
    }
    return st;
}

static lcsm_status read_runs(lcsm_study *s, const char *folder, const lcsm_json *root,
                             lcsm_error *err)
{
    char      runs[LCSM_PATH_MAX], path[LCSM_PATH_MAX];
    lcsm_json list;
    LCSM_OR_RETURN(
        lcsm_json_get_array(&list, lcsm_json_need(root, "runs"), 0, LCSM_STUDY_MAX, err));
    s->runs   = calloc(lcsm_json_count(&list) + 1, sizeof *s->runs);
    s->points = calloc(lcsm_json_count(&list) + 1, sizeof *s->points);
    if (s->runs == NULL || s->points == NULL) return no_room(err, folder);
    LCSM_OR_RETURN(lcsm_path_join(runs, folder, LCSM_STUDY_RUNS, err));
    for (size_t j = 0; j < lcsm_json_count(&list); j++) {
        lcsm_json       row = lcsm_json_item(&list, j);
        lcsm_study_run *r   = &s->runs[j];
        LCSM_OR_RETURN(read_run(r, s, &row, err));
        LCSM_OR_RETURN(lcsm_path_join(path, runs, r->name, err));
        LCSM_OR_RETURN(lcsm_record_read(&r->record, path, err));
        s->run_count++;
    }
    return LCSM_OK;
}

/* ---- points and cells ---------------------------------------------------------------------- */

static bool same_point(const double *a, const double *b, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (a[j] < b[j] || a[j] > b[j]) return false;
    return true;
}

static void find_points(lcsm_study *s)
{
    for (size_t j = 0; j < s->run_count; j++) {
        lcsm_study_run *r = &s->runs[j];
        r->point          = 0;
        while (r->point < s->point_count
               && !same_point(s->points[r->point], r->axes, s->axis_count))
            r->point++;
        if (r->point == s->point_count)
            memcpy(s->points[s->point_count++], r->axes, sizeof r->axes);
    }
}

static bool better(const lcsm_metric *m, double a, double b)
{
    return isfinite(a) && (!isfinite(b) || (m->higher ? a > b : a < b));
}

static bool same_rate(const lcsm_study_run *a, const lcsm_study_run *b)
{
    return a->variant == b->variant && a->point == b->point && !(a->lr < b->lr) && !(a->lr > b->lr);
}

static bool is_of(const lcsm_study_run *r, lcsm_reading reading)
{
    return (r->readings & 1u << reading) != 0;
}

/* Whether no run of the reading before this one has its variant, point and learning rate. */
static bool is_first(const lcsm_study *s, size_t run, lcsm_reading reading)
{
    for (size_t j = 0; j < run; j++)
        if (is_of(&s->runs[j], reading) && same_rate(&s->runs[j], &s->runs[run])) return false;
    return true;
}

/* Whether `a` tells more than `b`: fewer of its seeds are lost, or as many and it is better. */
static bool wins(const lcsm_metric *m, const lcsm_study_cell *a, const lcsm_study_cell *b)
{
    size_t lost = a->seeds - a->counted, other = b->seeds - b->counted;
    if (!isfinite(a->value) || !isfinite(b->value) || lost == other)
        return better(m, a->value, b->value);
    return lost < other;
}

/* Joins the runs of one learning rate into `c` if they win against what it has. */
static void join(const lcsm_study *s, lcsm_study_cell *c, const lcsm_study_run *first,
                 lcsm_reading reading, double *values, double *tests)
{
    lcsm_study_cell rate = *c;
    size_t          n    = 0;
    double          none;
    rate.best    = NULL;
    rate.lr      = first->lr;
    rate.counted = 0;
    for (size_t j = (size_t)(first - s->runs); j < s->run_count; j++) {
        const lcsm_study_run *r = &s->runs[j];
        if (!is_of(r, reading) || !same_rate(r, first)) continue;
        bool done  = r->record.state == LCSM_RECORD_DONE;
        values[n]  = done ? lcsm_record_value(&r->record, s->metric) : NAN;
        tests[n++] = done ? lcsm_record_test(&r->record, s->metric) : NAN;
        rate.counted += isfinite(values[n - 1]) ? 1 : 0;
        if (better(s->metric, values[n - 1],
                   rate.best == NULL ? NAN : lcsm_record_value(rate.best, s->metric)))
            rate.best = &r->record;
    }
    rate.seeds = n;
    lcsm_mean_of(values, n, &rate.value, &rate.deviation);
    lcsm_mean_of(tests, n, &rate.test, &none);
    if (wins(s->metric, &rate, c)) *c = rate;
}

static size_t cell_of(const lcsm_study *s, lcsm_reading reading, size_t variant, size_t point)
{
    return ((size_t)reading * s->variant_count + variant) * s->point_count + point;
}

static void add_run(lcsm_study *s, size_t run, lcsm_reading reading, double *values, double *tests)
{
    const lcsm_study_run *r = &s->runs[run];
    lcsm_study_cell      *c = &s->cells[cell_of(s, reading, r->variant, r->point)];
    c->runs++;
    c->done += r->record.state == LCSM_RECORD_DONE;
    c->failed += r->record.state == LCSM_RECORD_FAILED;
    if (is_first(s, run, reading)) join(s, c, r, reading, values, tests);
}

static lcsm_status find_cells(lcsm_study *s, lcsm_error *err)
{
    size_t  count  = LCSM_READINGS * s->variant_count * s->point_count;
    double *values = malloc(2 * (s->run_count + 1) * sizeof *values);
    s->cells       = calloc(count + 1, sizeof *s->cells);
    if (values == NULL || s->cells == NULL) {
        free(values);
        return no_room(err, s->name);
    }
    for (size_t j = 0; j < count; j++)
        s->cells[j] = (lcsm_study_cell){.value = NAN, .deviation = NAN, .test = NAN, .lr = NAN};
    for (lcsm_reading reading = 0; reading < LCSM_READINGS; reading++)
        for (size_t j = 0; j < s->run_count; j++)
            if (is_of(&s->runs[j], reading)) add_run(s, j, reading, values, values + s->run_count);
    free(values);
    return LCSM_OK;
}

/* ---- the paper's numbers ------------------------------------------------------------------- */

static bool any_finite(const double *values, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (isfinite(values[j])) return true;
    return false;
}

static lcsm_status read_paper(lcsm_study *s, lcsm_error *err)
{
    const json_t *rows = json_object_get(json_object_get(s->doc.root, "paper"), "rows");
    s->paper_valid     = calloc(3 * s->variant_count + 1, sizeof *s->paper_valid);
    if (s->paper_valid == NULL) return no_room(err, s->name);
    s->paper_test       = s->paper_valid + s->variant_count;
    s->paper_parameters = s->paper_test + s->variant_count;
    for (size_t j = 0; j < 3 * s->variant_count; j++) s->paper_valid[j] = NAN;
    for (size_t j = 0; j < json_array_size(rows); j++) {
        const json_t *row   = json_array_get(rows, j);
        const char   *label = json_string_value(json_object_get(row, "label"));
        size_t        v     = label == NULL ? s->variant_count : lcsm_study_variant(s, label);
        if (v == s->variant_count) continue;
        s->paper_valid[v]      = lcsm_json_number(row, "valid");
        s->paper_test[v]       = lcsm_json_number(row, "test");
        s->paper_parameters[v] = lcsm_json_number(row, "parameters");
    }
    bool valid = any_finite(s->paper_valid, s->variant_count);
    bool test  = any_finite(s->paper_test, s->variant_count);
    s->paper   = test && !valid ? s->paper_test : s->paper_valid;
    return LCSM_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

lcsm_status lcsm_study_read(lcsm_study *out, const char *folder, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    char        path[LCSM_PATH_MAX];
    *out = (lcsm_study){0};
    (void)snprintf(out->folder, sizeof out->folder, "%s", folder);
    LCSM_TRY(lcsm_path_join(path, folder, LCSM_STUDY_FILE, err));
    LCSM_TRY(lcsm_json_doc_read(&out->doc, path, LCSM_JSON_LARGE_SIZE, err));
    lcsm_json root = lcsm_json_root(&out->doc);
    LCSM_TRY(read_head(out, &root, err));
    LCSM_TRY(read_runs(out, folder, &root, err));
    find_points(out);
    LCSM_TRY(find_cells(out, err));
    LCSM_TRY(read_paper(out, err));
cleanup:
    if (st != LCSM_OK) lcsm_study_free(out);
    return lcsm_file_fault(st, err);
}

void lcsm_study_free(lcsm_study *s)
{
    for (size_t j = 0; j < s->run_count; j++) lcsm_record_free(&s->runs[j].record);
    free(s->heading);
    free(s->runs);
    free(s->points);
    free(s->cells);
    free(s->paper_valid);
    free(s->variants);
    lcsm_json_doc_free(&s->doc);
    *s = (lcsm_study){0};
}

const lcsm_study_cell *lcsm_study_at(const lcsm_study *s, size_t variant, size_t point)
{
    return &s->cells[cell_of(s, s->reading, variant, point)];
}

size_t lcsm_study_values(const lcsm_study *s, size_t variant, size_t point, double *values)
{
    lcsm_study_run here = {.variant = variant, .point = point};
    size_t         n    = 0;
    here.lr             = lcsm_study_at(s, variant, point)->lr;
    for (size_t j = 0; j < s->run_count; j++) {
        const lcsm_study_run *r = &s->runs[j];
        if (!is_of(r, s->reading) || !same_rate(r, &here)) continue;
        if (r->record.state != LCSM_RECORD_DONE) continue;
        values[n] = lcsm_record_value(&r->record, s->metric);
        if (isfinite(values[n])) n++;
    }
    return n;
}

lcsm_study lcsm_study_as(const lcsm_study *s, lcsm_reading reading)
{
    lcsm_study as = *s;
    as.reading    = reading;
    return as;
}

bool lcsm_study_has_means(const lcsm_study *s)
{
    for (size_t j = 0; j < s->variant_count * s->point_count; j++)
        if (s->cells[cell_of(s, s->reading, 0, j)].counted > 1) return true;
    return false;
}

static bool meant(const lcsm_study *s, size_t point, const json_t *at)
{
    const char *key;
    json_t     *value;
    json_object_foreach((json_t *)(uintptr_t)at, key, value)
    {
        size_t axis = lcsm_study_axis(s, key);
        if (axis == s->axis_count) return false;
        if (!(fabs(s->points[point][axis] - lcsm_axis_value(value)) <= 1e-9)) return false;
    }
    return true;
}

double lcsm_study_mean(const lcsm_study *s, size_t variant, const json_t *at)
{
    double sum = 0, n = 0;
    for (size_t p = 0; p < s->point_count; p++) {
        if (!meant(s, p, at)) continue;
        sum += lcsm_study_at(s, variant, p)->value;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

double lcsm_study_spread(const lcsm_study *s, size_t variant, const json_t *at)
{
    double sum = 0, n = 0;
    for (size_t p = 0; p < s->point_count; p++) {
        if (!meant(s, p, at)) continue;
        double one = lcsm_study_at(s, variant, p)->deviation;
        sum += one * one;
        n++;
    }
    return n > 0 ? sqrt(sum) / n : NAN;
}

double lcsm_axis_value(const json_t *value)
{
    size_t row = json_is_string(value) ? lcsm_task_find(json_string_value(value)) : LCSM_TASK_COUNT;
    if (json_is_number(value)) return json_number_value(value);
    return row < LCSM_TASK_COUNT ? (double)row : NAN;
}

lcsm_status lcsm_axis_read(double *out, lcsm_json value, lcsm_error *err)
{
    *out = lcsm_axis_value(value.value);
    if (!json_is_string(value.value))
        return lcsm_json_get_real(out, value, -INFINITY, INFINITY, err);
    return isnan(*out) ? lcsm_json_fail(&value, err, "a number, or a task: see lcsm tasks")
                       : LCSM_OK;
}

size_t lcsm_study_axis(const lcsm_study *s, const char *key)
{
    size_t j = 0;
    while (j < s->axis_count && strcmp(s->axes[j], key) != 0) j++;
    return j;
}

size_t lcsm_study_variant(const lcsm_study *s, const char *label)
{
    size_t j = 0;
    while (j < s->variant_count && strcmp(s->variants[j], label) != 0) j++;
    return j;
}
