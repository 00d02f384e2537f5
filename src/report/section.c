/* section.c - figures and tables that both kinds of sections have. */
#include "report/section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/decay.h"

enum { CURVE = 160 }; /* points of a curve, at most */

const char *lcsm_section_time(char text[32], double seconds)
{
    long whole = isfinite(seconds) ? lround(seconds) : 0;
    if (!isfinite(seconds)) (void)snprintf(text, 32, "-");
    else if (seconds < 100) (void)snprintf(text, 32, "%.1f s", seconds);
    else if (whole < 3600) (void)snprintf(text, 32, "%ld min %02ld s", whole / 60, whole % 60);
    else (void)snprintf(text, 32, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
    return text;
}

/* ---- loss curves --------------------------------------------------------------------------- */

/* Where a line of a run stands on the axis. */
static double place_of(double tokens, double step)
{
    return isfinite(tokens) ? tokens : step;
}

/* Where the curves of a run begin: the loss falls steeply in the first twentieth, which would take
 * all of the figure. A run that has little else begins at its first line. */
static double start_of(const lcsm_record *r)
{
    const lcsm_train_line *last = &r->train[r->train_count - 1];
    double                 from = place_of(last->tokens, last->step) / 20;
    size_t                 kept = 0;
    for (size_t j = 0; j < r->train_count; j++)
        kept += place_of(r->train[j].tokens, r->train[j].step) >= from;
    return kept < 3 ? -INFINITY : from;
}

/* Training lines before the start. */
static size_t skipped(const lcsm_record *r)
{
    size_t n    = 0;
    double from = start_of(r);
    while (n < r->train_count && place_of(r->train[n].tokens, r->train[n].step) < from) n++;
    return n;
}

/* Means of equal pieces of the run. Returns how many points there are. */
static size_t smooth(double *x, double *y, const lcsm_record *r)
{
    size_t skip = skipped(r), rest = r->train_count - skip;
    size_t pieces = rest < CURVE ? rest : CURVE;
    for (size_t p = 0; p < pieces; p++) {
        size_t from = skip + rest * p / pieces, to = skip + rest * (p + 1) / pieces;
        double sum = 0;
        for (size_t j = from; j < to; j++) sum += r->train[j].loss;
        x[p] = place_of(r->train[to - 1].tokens, r->train[to - 1].step);
        y[p] = sum / (double)(to - from);
    }
    return pieces;
}

/* Evaluations on the validation set, all or evenly chosen ones. */
static size_t evaluations(double *x, double *y, const lcsm_record *r)
{
    size_t n = 0, step = 1 + r->eval_count / CURVE;
    double from = start_of(r);
    for (size_t j = r->eval_count == 0 ? 0 : (r->eval_count - 1) % step; j < r->eval_count;
         j += step) {
        const lcsm_eval_line *e = &r->eval[j];
        if (e->test || !isfinite(e->loss) || place_of(e->tokens, e->step) < from) continue;
        x[n]   = place_of(e->tokens, e->step);
        y[n++] = e->loss;
    }
    return n;
}

static void put_curves(lcsm_doc *d, lcsm_strbuf *svg, const char *title, const char *file,
                       const lcsm_named_record *records, size_t count, bool both)
{
    bool means = false, cut = false;
    for (size_t j = 0; j < count; j++) {
        const lcsm_record *r = records[j].record;
        if (r == NULL || r->train_count == 0) continue;
        means = means || r->train_count - skipped(r) > CURVE;
        cut   = cut || skipped(r) > 0;
    }
    lcsm_doc_figure(d, svg, file, "%s. Loss against the number of predicted tokens%s%s%s.", title,
                    both ? ": training (solid) and validation (dashed)" : "",
                    means ? ", averaged over intervals" : "",
                    cut ? "; the first 5 % is omitted" : "");
}

lcsm_status lcsm_section_curves(lcsm_doc *d, const lcsm_named_record *records, size_t count,
                                const char *title, const char *file, bool ordered, lcsm_error *err)
{
    lcsm_strbuf  svg    = {0};
    size_t       drawn  = 0;
    bool         both   = false;
    double      *points = malloc((count + 1) * 4 * CURVE * sizeof *points);
    lcsm_series *series = calloc(2 * count + 1, sizeof *series);
    if (points == NULL || series == NULL) {
        free(points);
        free(series);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the curves of %zu runs",
                         count);
    }
    for (size_t j = 0; j < count; j++) {
        double *x = points + 4 * CURVE * j, *y = x + CURVE, *v = y + CURVE;
        if (records[j].record == NULL || records[j].record->train_count == 0) continue;
        series[drawn++] = (lcsm_series){
            .label = records[j].label, .x = x, .y = y, .count = smooth(x, y, records[j].record)};
        lcsm_series valid = {.label = records[j].label, .x = v, .y = v + CURVE, .beside = true};
        valid.count       = evaluations(v, v + CURVE, records[j].record);
        if (valid.count > 1) series[drawn++] = valid, both = true;
    }
    lcsm_chart chart = {.title   = title,
                        .x_label = "tokens",
                        .y_label = "loss, nats",
                        .series  = series,
                        .count   = drawn,
                        .ordered = ordered};
    if (drawn > 0) {
        lcsm_chart_svg(&chart, &svg);
        put_curves(d, &svg, title, file, records, count, both);
    }
    free(points);
    free(series);
    return LCSM_OK;
}

/* ---- half-lives ---------------------------------------------------------------------------- */

enum { LONGEST = 100000, COLUMNS = 128 };

/* The rows as at most COLUMNS cells; beyond LONGEST tokens a row counts as one that keeps all. */
static void fill_map(double *values, const lcsm_decays *a, size_t columns)
{
    for (size_t layer = 0; layer < a->layers; layer++) {
        for (size_t j = 0; j < columns; j++) {
            double v                    = a->half_life[layer * a->rows + j * a->rows / columns];
            values[layer * columns + j] = isnan(v) ? NAN : fmin(v, LONGEST);
        }
    }
}

static const char *how_made(const lcsm_decays *a)
{
    return a->from_inspect
             ? " A row's half-life is the median over its channels; where gates depend on the "
               "data, a channel's half-life is that of its mean log decay over the inspected text."
             : " A row's half-life is the median over its channels, computed from the weights.";
}

/* explained: an earlier map says how half-lives are made. */
static lcsm_status draw_decays(lcsm_doc *d, const lcsm_decays *a, const char *label,
                               const char *file, bool explained, const lcsm_range *range,
                               lcsm_error *err)
{
    size_t  columns   = a->rows < COLUMNS ? a->rows : COLUMNS;
    double *values    = malloc(a->layers * columns * sizeof *values);
    char(*names)[32]  = malloc(a->layers * sizeof *names);
    const char **rows = malloc(a->layers * sizeof *rows);
    lcsm_strbuf  svg  = {0};
    lcsm_status  st   = LCSM_OK;
    if (values == NULL || names == NULL || rows == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a map of half-lives");
        goto cleanup;
    }
    for (size_t j = 0; j < a->layers; j++) {
        (void)snprintf(names[j], sizeof names[j], "layer %zu", j);
        rows[j] = names[j];
    }
    fill_map(values, a, columns);
    lcsm_heat_map map = {.title        = label,
                         .x_label      = "memory rows, longest first",
                         .value_label  = "half-life, tokens",
                         .rows         = rows,
                         .values       = values,
                         .row_count    = a->layers,
                         .column_count = columns,
                         .low          = range->low > 0 ? range->low : 1,
                         .high         = range->low > 0 ? range->high : LONGEST};
    lcsm_heat_map_svg(&map, &svg);
    lcsm_doc_figure(d, &svg, file, "%zu memory rows per layer.%s", a->rows,
                    explained && a->from_inspect ? "" : how_made(a));
cleanup:
    free(values);
    free(names);
    free(rows);
    return st;
}

static void widen(lcsm_range *range, const lcsm_decays *a)
{
    for (size_t j = 0; j < a->layers * a->rows; j++) {
        double v = a->half_life[j];
        if (!(v > 0 && v < LONGEST)) continue;
        if (range->low == 0 || v < range->low) range->low = v;
        if (v > range->high) range->high = v;
    }
}

lcsm_status lcsm_section_decay_range(lcsm_range *range, const lcsm_record *r, lcsm_error *err)
{
    lcsm_decays decays;
    lcsm_status st = lcsm_decays_read(&decays, r, err);
    if (st == LCSM_OK) widen(range, &decays);
    lcsm_decays_free(&decays);
    return st;
}

lcsm_status lcsm_section_decays(lcsm_doc *d, const lcsm_named_record *record, const char *file,
                                bool *shown, const lcsm_range *range, lcsm_error *err)
{
    lcsm_decays decays;
    lcsm_range  own = {0};
    lcsm_status st  = lcsm_decays_read(&decays, record->record, err);
    if (st == LCSM_OK && decays.layers > 0) {
        widen(&own, &decays);
        st = draw_decays(d, &decays, record->label, file, shown != NULL && *shown,
                         range == NULL ? &own : range, err);
        if (shown != NULL) *shown = true;
    }
    lcsm_decays_free(&decays);
    return st;
}

/* ---- settings ------------------------------------------------------------------------------ */

void lcsm_section_setting(lcsm_table *t, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
    if (value == NULL) lcsm_table_cell(t, "%s", "");
    else if (json_is_string(value)) lcsm_table_cell(t, "%s", json_string_value(value));
    else lcsm_table_cell(t, "%s", text == NULL ? "?" : text);
    free(text);
}

void lcsm_section_settings(lcsm_doc *d, const char *title, json_t *settings)
{
    lcsm_table  t = {0};
    const char *key;
    json_t     *value;
    if (json_object_size(settings) == 0) return;
    lcsm_table_column(&t, "key", LCSM_LEFT);
    lcsm_table_column(&t, "value", LCSM_LEFT);
    json_object_foreach(settings, key, value)
    {
        lcsm_table_cell(&t, "%s", key);
        lcsm_section_setting(&t, value);
    }
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "%s", title);
    lcsm_doc_table(d, &t, "%s", "");
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
}

void lcsm_section_damage(lcsm_doc *d, const char *name, const lcsm_record *r)
{
    if (r->broken == 0) return;
    lcsm_doc_add(d, LCSM_BLOCK_NOTE, "%s%smetrics.jsonl has %zu line%s that could not be read.",
                 name, *name == '\0' ? "" : ": ", r->broken, r->broken == 1 ? "" : "s");
}
