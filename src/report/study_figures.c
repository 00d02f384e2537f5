/* study_figures.c - which figures an experiment has, from its axes and its metric. */
#include "report/study_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/escape.h"
#include "report/rank.h"
#include "report/section.h"

enum { FILE_NAME = 96 };

static void file_of(char out[FILE_NAME], const lcsm_study *s, const char *kind, size_t number)
{
    lcsm_strbuf b = {0};
    lcsm_put_slug(&b, s->name);
    lcsm_strbuf_printf(&b, "-%s-%zu", kind, number);
    (void)snprintf(out, FILE_NAME, "%s", lcsm_strbuf_text(&b));
    lcsm_strbuf_free(&b);
}

/* Labels that are numbers, as those of tau, are steps of one quantity. */
static bool is_ordered(const lcsm_study *s)
{
    for (size_t v = 0; v < s->variant_count; v++) {
        char *end;
        (void)strtod(s->variants[v], &end);
        if (*end != '\0') return false;
    }
    return s->variant_count > 2;
}

/* Distinct values of an axis, ascending. */
static size_t axis_values(double *out, const lcsm_study *s, size_t axis)
{
    size_t n = 0;
    for (size_t p = 0; p < s->point_count; p++) {
        size_t j = 0;
        while (j < n && fabs(out[j] - s->points[p][axis]) > 1e-9) j++;
        if (j == n) out[n++] = s->points[p][axis];
    }
    lcsm_sort(out, n);
    return n;
}

/* ---- the metric along an axis -------------------------------------------------------------- */

typedef double value_fn(const lcsm_study *s, const lcsm_study_cell *c);

static double metric_value(const lcsm_study *s, const lcsm_study_cell *c)
{
    (void)s;
    return c->value;
}

static double microseconds(const lcsm_study *s, const lcsm_study_cell *c)
{
    (void)s;
    return 1e6 / c->value;
}

static double megabytes(const lcsm_study *s, const lcsm_study_cell *c)
{
    (void)s;
    return c->best == NULL ? NAN : c->best->peak_memory_bytes / 1e6;
}

/* One chart: the variants along an axis, at the points where another axis has a value. */
typedef struct {
    size_t      x, panel; /* axes; panel is axis_count if there is no other */
    double      panel_value;
    const char *title, *x_label, *y_label;
    value_fn   *value;
    bool        log, unit; /* unit: y from 0 to 1 */
} lines;

static lcsm_status draw_lines(lcsm_strbuf *svg, const lcsm_study *s, const lines *l,
                              lcsm_error *err)
{
    size_t       n = s->point_count, count = s->variant_count;
    double      *values = malloc((count * 4 * n + n + 1) * sizeof *values);
    lcsm_series *series = calloc(count, sizeof *series);
    if (values == NULL || series == NULL) {
        free(values);
        free(series);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a chart");
    }
    for (size_t v = 0; v < count; v++) {
        double *x = values + v * 4 * n, *y = x + n, *low = y + n, *high = low + n;
        size_t  used = 0;
        for (size_t p = 0; p < n; p++) {
            const lcsm_study_cell *c = lcsm_study_at(s, v, p);
            if (l->panel < s->axis_count && fabs(s->points[p][l->panel] - l->panel_value) > 1e-9)
                continue;
            x[used]    = s->points[p][l->x];
            y[used]    = l->value(s, c);
            low[used]  = y[used] - c->deviation;
            high[used] = y[used] + c->deviation;
            used++;
        }
        series[v] = (lcsm_series){.label = s->variants[v], .x = x, .y = y, .count = used};
        if (l->value != metric_value) continue;
        series[v].low  = low;
        series[v].high = high;
    }
    lcsm_chart chart = {.title    = l->title,
                        .x_label  = l->x_label,
                        .y_label  = l->y_label,
                        .series   = series,
                        .count    = count,
                        .x_log    = true,
                        .x_values = true,
                        .y_log    = l->log,
                        .ordered  = is_ordered(s),
                        .y_from   = l->unit,
                        .y_to     = l->unit,
                        .y_low    = 0,
                        .y_high   = 1};
    lcsm_chart_svg(&chart, svg);
    free(values);
    free(series);
    return LCSM_OK;
}

/* As in the paper: the metric against the width, one panel for each length. */
static lcsm_status put_panels(lcsm_doc *d, const lcsm_study *s, size_t x, size_t panel,
                              lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    double     *values = malloc((s->point_count + 1) * sizeof *values);
    bool        unit   = strcmp(s->metric->name, "accuracy") == 0;
    if (values == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for charts");
    size_t panels = panel < s->axis_count ? axis_values(values, s, panel) : 1;
    for (size_t j = 0; j < panels; j++) {
        char        title[96], place[96], file[FILE_NAME];
        lcsm_strbuf svg = {0};
        (void)snprintf(title, sizeof title, "%s against %s", s->metric->label,
                       lcsm_axis_name(s->axes[x]));
        if (panel < s->axis_count)
            (void)snprintf(title, sizeof title, "%s %g", lcsm_axis_name(s->axes[panel]), values[j]);
        (void)snprintf(place, sizeof place, "%s", title);
        title[0] = (char)(title[0] - 'a' + 'A');
        file_of(file, s, s->metric->name, j + 1);
        lines l = {x,
                   panel,
                   values[j],
                   title,
                   lcsm_axis_name(s->axes[x]),
                   s->metric->label,
                   metric_value,
                   !unit,
                   unit};
        LCSM_TRY(draw_lines(&svg, s, &l, err));
        lcsm_doc_figure(
            d, &svg, file,
            "%s of each variant against the model's %s%s%s. Bands are one deviation over "
            "seeds.",
            unit ? "Accuracy" : s->metric->label, lcsm_axis_name(s->axes[x]),
            panel < s->axis_count ? ", at " : "", panel < s->axis_count ? place : "");
    }
cleanup:
    free(values);
    return st;
}

/* Time a token and memory against the length, both logarithmic. */
static lcsm_status put_scaling(lcsm_doc *d, const lcsm_study *s, size_t x, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    char        file[FILE_NAME];
    lcsm_strbuf svg  = {0};
    lines       time = {x,
                        s->axis_count,
                        0,
                        "Time a token",
                        lcsm_axis_name(s->axes[x]),
                        "microseconds",
                        microseconds,
                        true,
                        false};
    LCSM_TRY(draw_lines(&svg, s, &time, err));
    file_of(file, s, "time", 1);
    lcsm_doc_figure(d, &svg, file,
                    "Time of a training step for each token, in the fastest step. A flat line is "
                    "time in proportion to "
                    "the length; attention's grows with it.");
    lines memory = {x,           s->axis_count, 0,    "Memory", lcsm_axis_name(s->axes[x]),
                    "megabytes", megabytes,     true, false};
    LCSM_TRY(draw_lines(&svg, s, &memory, err));
    file_of(file, s, "memory", 1);
    lcsm_doc_figure(d, &svg, file,
                    "Memory of a training step: values, gradients, moments and workspace.");
cleanup:
    return st;
}

/* ---- bars, and ours against the paper's ---------------------------------------------------- */

static lcsm_status put_bars(lcsm_doc *d, const lcsm_study *s, const double *means, lcsm_error *err)
{
    lcsm_strbuf svg = {0};
    char        file[FILE_NAME], title[64];
    lcsm_bar   *bars = calloc(s->variant_count, sizeof *bars);
    if (bars == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a chart");
    for (size_t v = 0; v < s->variant_count; v++)
        bars[v] = (lcsm_bar){s->variants[v], means[v],
                             s->point_count == 1 ? lcsm_study_at(s, v, 0)->deviation : 0};
    (void)snprintf(title, sizeof title, "%s of each variant", s->metric->label);
    title[0]             = (char)(title[0] - 'a' + 'A');
    lcsm_bar_chart chart = {.title     = title,
                            .x_label   = s->metric->label,
                            .bars      = bars,
                            .count     = s->variant_count,
                            .digits    = s->metric->digits,
                            .from_zero = s->metric->higher};
    lcsm_bar_chart_svg(&chart, &svg);
    file_of(file, s, "bars", 1);
    lcsm_doc_figure(d, &svg, file, "%s is better.%s Whiskers are one deviation over seeds.",
                    s->metric->higher ? "Longer" : "Shorter",
                    s->metric->higher ? "" : " The axis does not start at zero.");
    free(bars);
    return LCSM_OK;
}

static lcsm_status put_against(lcsm_doc *d, const lcsm_study *s, const double *means,
                               lcsm_error *err)
{
    lcsm_strbuf  svg = {0};
    char         file[FILE_NAME];
    size_t       pairs  = 0;
    double       r      = lcsm_spearman(means, s->paper, s->variant_count, &pairs);
    lcsm_series *series = calloc(s->variant_count, sizeof *series);
    if (series == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a chart");
    for (size_t v = 0; v < s->variant_count; v++)
        series[v] =
            (lcsm_series){.label = s->variants[v], .x = &s->paper[v], .y = &means[v], .count = 1};
    lcsm_chart chart = {.title   = "Ours against the paper's",
                        .x_label = "the paper",
                        .y_label = "here",
                        .series  = series,
                        .count   = s->variant_count,
                        .points  = true};
    if (pairs >= 3) {
        lcsm_chart_svg(&chart, &svg);
        file_of(file, s, "paper", 1);
        lcsm_doc_figure(d, &svg, file,
                        "Each variant's %s in the paper and here. Points on a rising line have the "
                        "same order; Spearman's correlation over %zu is %.2f.",
                        s->metric->label, pairs, r);
    }
    free(series);
    return LCSM_OK;
}

/* ---- curves and decays --------------------------------------------------------------------- */

static lcsm_status put_curves(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    enum { PANELS = 4 };
    lcsm_status        st    = LCSM_OK;
    lcsm_named_record *named = calloc(s->variant_count, sizeof *named);
    size_t             step  = s->point_count > PANELS ? s->point_count / PANELS : 1;
    if (named == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for curves");
    for (size_t p = 0; p < s->point_count; p += step) {
        char text[96], title[128], file[FILE_NAME];
        lcsm_point_text(text, s, p);
        (void)snprintf(title, sizeof title, "Training%s%s", *text != '\0' ? ": " : "", text);
        file_of(file, s, "loss", p + 1);
        for (size_t v = 0; v < s->variant_count; v++)
            named[v] = (lcsm_named_record){s->variants[v], lcsm_study_at(s, v, p)->best};
        LCSM_TRY(lcsm_section_curves(d, named, s->variant_count, title, file, is_ordered(s), err));
    }
cleanup:
    free(named);
    return st;
}

static lcsm_status put_decays(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    bool        shown = false;
    size_t      start = d->count;
    lcsm_doc_add(d, LCSM_BLOCK_HEADING, "How long the memory lasts");
    lcsm_doc_add(
        d, LCSM_BLOCK_TEXT,
        "The half-life of each memory row, layer by layer: after so many tokens half of "
        "what the row holds is left (the median over its channels). Rows are sorted; yellow "
        "ones keep what they hold, dark blue ones see little more than the last token.");
    for (size_t v = 0; v < s->variant_count && s->point_count > 0; v++) {
        const lcsm_study_cell *c = lcsm_study_at(s, v, s->point_count - 1);
        lcsm_named_record      r = {s->variants[v], c->best};
        char                   file[FILE_NAME];
        file_of(file, s, "half-lives", v + 1);
        if (c->best != NULL) LCSM_TRY(lcsm_section_decays(d, &r, file, &shown, err));
    }
    if (!shown && !d->failed) lcsm_doc_cut(d, start);
cleanup:
    return st;
}

lcsm_status lcsm_study_figures(lcsm_doc *d, const lcsm_study *s, const double *means,
                               lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    size_t      width = lcsm_study_axis(s, "d_model"), length = lcsm_study_axis(s, "seq_len");
    bool        scaling = strcmp(s->metric->name, "speed") == 0;
    if (scaling && length < s->axis_count) return put_scaling(d, s, length, err);
    if (width < s->axis_count) LCSM_TRY(put_panels(d, s, width, length, err));
    else if (length < s->axis_count) LCSM_TRY(put_panels(d, s, length, s->axis_count, err));
    else LCSM_TRY(put_bars(d, s, means, err));
    LCSM_TRY(put_against(d, s, means, err));
    LCSM_TRY(put_curves(d, s, err));
    LCSM_TRY(put_decays(d, s, err));
cleanup:
    return st;
}
