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
    if (s->reading != LCSM_READING_DESCRIBED)
        lcsm_strbuf_printf(&b, "-%s", LCSM_READING_NAMES[s->reading]);
    lcsm_strbuf_printf(&b, "-%s-%zu", kind, number);
    (void)snprintf(out, FILE_NAME, "%s", lcsm_strbuf_text(&b));
    lcsm_strbuf_free(&b);
}

/* Labels that are numbers, or a word and a number as in "tau 8", are steps of one quantity. */
static bool is_ordered(const lcsm_study *s)
{
    for (size_t v = 0; v < s->variant_count; v++) {
        const char *space = strchr(s->variants[v], ' ');
        size_t      word  = space == NULL ? 0 : (size_t)(space - s->variants[v]) + 1;
        char       *end;
        (void)strtod(s->variants[v] + word, &end);
        if (*end != '\0' || end == s->variants[v] + word
            || strncmp(s->variants[v], s->variants[0], word) != 0)
            return false;
    }
    return s->variant_count > 2;
}

/* ---- along an axis ------------------------------------------------------------------------- */

static bool varies(const lcsm_study *s, size_t axis)
{
    if (strcmp(s->axes[axis], "task") == 0) return false; /* tasks are no steps of a quantity */
    for (size_t p = 1; p < s->point_count; p++)
        if (fabs(s->points[p][axis] - s->points[0][axis]) > 0) return true;
    return false;
}

/* The axis of this key if it has several values, else the first that has, else axis_count. */
static size_t abscissa(const lcsm_study *s, const char *key)
{
    size_t x = lcsm_study_axis(s, key), first = 0;
    if (x < s->axis_count && varies(s, x)) return x;
    while (first < s->axis_count && !varies(s, first)) first++;
    return first;
}

/* A point by its further axes and, behind these, the abscissa: sorted so, the points of a panel
 * are neighbours and go from left to right. */
typedef struct {
    double at[LCSM_STUDY_AXES];
    size_t point;
} place;

static int compare(const double *a, const double *b, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (a[j] < b[j] || a[j] > b[j]) return a[j] < b[j] ? -1 : 1;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return compare(p->at, q->at, LCSM_STUDY_AXES);
}

static place *sorted_places(const lcsm_study *s, size_t x)
{
    place *places = calloc(s->point_count + 1, sizeof *places);
    if (places == NULL) return NULL;
    for (size_t p = 0; p < s->point_count; p++) {
        size_t n = 0;
        for (size_t j = 0; j < s->axis_count; j++)
            if (j != x) places[p].at[n++] = s->points[p][j];
        places[p].at[n] = s->points[p][x];
        places[p].point = p;
    }
    qsort(places, s->point_count, sizeof *places, by_place);
    return places;
}

/* How many places, from the first on, differ in nothing but the abscissa. */
static size_t panel_size(const lcsm_study *s, const place *first, size_t most)
{
    size_t n = 1;
    while (n < most && compare(first[n].at, first->at, s->axis_count - 1) == 0) n++;
    return n;
}

/* What is drawn of each cell. */
typedef struct {
    const char *kind, *title, *label; /* of the file, the figure, the ordinate */
    double (*value)(const lcsm_study_cell *c);
    bool        unit, bands; /* from 0 to 1, else logarithmic; one deviation around */
    const char *about, *more;
} ordinate;

static double metric_value(const lcsm_study_cell *c)
{
    return c->value;
}

static double microseconds(const lcsm_study_cell *c)
{
    return 1e6 / c->value;
}

static double megabytes(const lcsm_study_cell *c)
{
    return c->best == NULL ? NAN : c->best->peak_memory_bytes / 1e6;
}

/* What a speed amounts to, against the length. */
static const ordinate SCALING[] = {
    {"time", "time per token", "microseconds", microseconds, false, false,
     "Time of a training step per token, median over steps,",
     " A flat line means that the time is proportional to the length; that of attention grows "
     "faster."},
    {"memory", "memory", "megabytes", megabytes, false, false,
     "Memory of a training step (values, gradients, moments and workspace)", ""},
};

/* Fills the series of a variant; `room` holds its ordinates and the edges of the band. */
static lcsm_series take_series(const lcsm_study *s, const ordinate *o, size_t variant,
                               const place *places, size_t n, const double *x, double *room)
{
    double *y = room, *low = y + n, *high = low + n;
    for (size_t j = 0; j < n; j++) {
        const lcsm_study_cell *c = lcsm_study_at(s, variant, places[j].point);

        y[j]    = o->value(c);
        low[j]  = y[j] - c->deviation;
        high[j] = y[j] + c->deviation;
    }
    return (lcsm_series){.label = s->variants[variant],
                         .x     = x,
                         .y     = y,
                         .low   = o->bands ? low : NULL,
                         .high  = o->bands ? high : NULL,
                         .count = n};
}

static lcsm_status draw_panel(lcsm_strbuf *svg, const lcsm_study *s, const ordinate *o, size_t axis,
                              const place *places, size_t n, const char *title, lcsm_error *err)
{
    size_t       count  = s->variant_count;
    double      *x      = malloc((count * 3 * n + n) * sizeof *x);
    lcsm_series *series = calloc(count, sizeof *series);
    if (x == NULL || series == NULL) {
        free(x);
        free(series);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a chart");
    }
    for (size_t j = 0; j < n; j++) x[j] = s->points[places[j].point][axis];
    for (size_t v = 0; v < count; v++)
        series[v] = take_series(s, o, v, places, n, x, x + n + v * 3 * n);
    lcsm_chart chart = {.title    = title,
                        .x_label  = lcsm_axis_name(s->axes[axis]),
                        .y_label  = o->label,
                        .series   = series,
                        .count    = count,
                        .x_log    = x[0] > 0,
                        .x_values = true,
                        .y_log    = !o->unit,
                        .ordered  = is_ordered(s),
                        .y_from   = o->unit,
                        .y_to     = o->unit,
                        .y_low    = 0,
                        .y_high   = 1};
    lcsm_chart_svg(&chart, svg);
    free(x);
    free(series);
    return LCSM_OK;
}

static void capital(char *text)
{
    if (*text >= 'a' && *text <= 'z') *text = (char)(*text - 'a' + 'A');
}

/* One panel for each combination of the further axes. */
static lcsm_status put_lines(lcsm_doc *d, const lcsm_study *s, size_t x, const ordinate *o,
                             lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    const char *name   = lcsm_axis_name(s->axes[x]);
    place      *places = sorted_places(s, x);
    if (places == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for charts");
    for (size_t first = 0, n, panel = 1; first < s->point_count; first += n, panel++) {
        char        at[96], title[160], file[FILE_NAME];
        lcsm_strbuf svg = {0};
        n               = panel_size(s, places + first, s->point_count - first);
        bool further    = *lcsm_point_text(at, s, places[first].point, x) != '\0';
        (void)snprintf(title, sizeof title, "%s %s %s", o->title, further ? "at" : "against",
                       further ? at : name);
        capital(title);
        LCSM_TRY(draw_panel(&svg, s, o, x, places + first, n, title, err));
        file_of(file, s, o->kind, panel);
        lcsm_doc_figure(d, &svg, file, "%s against %s%s%s.%s", o->about, name,
                        further ? ", at " : "", at, o->more);
    }
cleanup:
    free(places);
    return st;
}

static lcsm_status put_metric(lcsm_doc *d, const lcsm_study *s, size_t x, lcsm_error *err)
{
    char about[96];
    (void)snprintf(about, sizeof about, "%s of each variant", s->metric->label);
    capital(about);
    bool     spread = lcsm_study_has_means(s);
    ordinate o      = {.kind  = s->metric->name,
                       .title = s->metric->label,
                       .label = s->metric->label,
                       .value = metric_value,
                       .unit  = strcmp(s->metric->name, "accuracy") == 0,
                       .bands = spread,
                       .about = about,
                       .more  = spread ? " Bands show one standard deviation over seeds." : ""};
    return put_lines(d, s, x, &o, err);
}

/* ---- bars, and ours against the paper's ---------------------------------------------------- */

/* The best that a model can reach in these is not 0 and not known, so bars from there tell little.
 */
static bool has_floor(const lcsm_metric *m)
{
    static const char *const names[] = {"perplexity", "bits_per_byte", "loss"};
    for (size_t j = 0; j < COUNT(names); j++)
        if (strcmp(m->name, names[j]) == 0) return true;
    return false;
}

/* A part of what was asked: 1 is all of it, so the axis goes there. */
static bool is_part(const lcsm_metric *m)
{
    return strcmp(m->name, "accuracy") == 0 || strcmp(m->name, "score") == 0;
}

/* For one point of the axes, or none. */
static lcsm_status put_bars(lcsm_doc *d, const lcsm_study *s, size_t point, lcsm_error *err)
{
    lcsm_strbuf svg = {0};
    char        file[FILE_NAME], at[96] = "", title[160];
    lcsm_bar   *bars = calloc(s->variant_count, sizeof *bars);
    if (bars == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a chart");
    for (size_t v = 0; v < s->variant_count; v++) {
        const lcsm_study_cell *c = point < s->point_count ? lcsm_study_at(s, v, point) : NULL;

        bars[v] =
            (lcsm_bar){s->variants[v], c == NULL ? NAN : c->value, c == NULL ? 0 : c->deviation};
    }
    if (point < s->point_count) (void)lcsm_point_text(at, s, point, s->axis_count);
    (void)snprintf(title, sizeof title, "%s %s%s", s->metric->label,
                   *at != '\0' ? "at " : "of each variant", at);
    capital(title);
    lcsm_bar_chart chart = {.title     = title,
                            .x_label   = s->metric->label,
                            .bars      = bars,
                            .count     = s->variant_count,
                            .digits    = s->metric->digits,
                            .from_zero = !has_floor(s->metric),
                            .reach     = is_part(s->metric) ? 1 : 0};
    lcsm_bar_chart_svg(&chart, &svg);
    file_of(file, s, "bars", point + 1);
    lcsm_doc_figure(d, &svg, file, "%s is better.%s", s->metric->higher ? "Longer" : "Shorter",
                    lcsm_study_has_means(s) ? " Whiskers show one standard deviation over seeds."
                                            : "");
    free(bars);
    return LCSM_OK;
}

/* Of each point, where these are tasks; without points one that says so. */
static lcsm_status put_all_bars(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    size_t p = 0;
    do LCSM_OR_RETURN(put_bars(d, s, p, err));
    while (++p < s->point_count);
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
    if (series == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a chart");
    for (size_t v = 0; v < s->variant_count; v++)
        series[v] =
            (lcsm_series){.label = s->variants[v], .x = &s->paper[v], .y = &means[v], .count = 1};
    lcsm_chart chart = {.title   = "Ours against the paper's",
                        .x_label = "the paper",
                        .y_label = "here",
                        .series  = series,
                        .count   = s->variant_count,
                        .points  = true};
    if (pairs >= LCSM_RANKS_FEWEST && isfinite(r)) {
        lcsm_chart_svg(&chart, &svg);
        file_of(file, s, "paper", 1);
        lcsm_doc_figure(d, &svg, file,
                        "Each variant's %s in the paper and here. Points on a rising line have the "
                        "same order; Spearman's correlation over %zu rows is %.2f.",
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
    if (named == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for curves");
    for (size_t p = 0; p < s->point_count; p += step) {
        char text[96], title[128], file[FILE_NAME];
        lcsm_point_text(text, s, p, s->axis_count);
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

/* Maps of each variant's best run at the last point. */
static lcsm_status put_decays(lcsm_doc *d, const lcsm_study *s, lcsm_error *err)
{
    bool       shown = false;
    lcsm_range range = {0};
    size_t     start = d->count, last = s->point_count - 1;
    char       at[96];
    if (s->point_count == 0) return LCSM_OK;
    bool axes = *lcsm_point_text(at, s, last, s->axis_count) != '\0';
    lcsm_doc_add(d, LCSM_BLOCK_HEADING, "How long the memory lasts");
    lcsm_doc_add(
        d, LCSM_BLOCK_TEXT,
        "The half-life of each memory row, layer by layer, in each variant's best run%s%s: the "
        "number of tokens after which half of the row's content is left. Rows are sorted; all maps "
        "have the same colours, from the shortest half-life (blue) to the longest and to rows that "
        "keep all (orange).",
        axes ? " at " : "", at);
    for (size_t v = 0; v < s->variant_count; v++)
        if (lcsm_study_at(s, v, last)->best != NULL)
            LCSM_OR_RETURN(lcsm_section_decay_range(&range, lcsm_study_at(s, v, last)->best, err));
    for (size_t v = 0; v < s->variant_count; v++) {
        const lcsm_study_cell *c = lcsm_study_at(s, v, last);
        char                   file[FILE_NAME], title[224];
        (void)snprintf(title, sizeof title, "%.120s%s%s", s->variants[v], axes ? ", " : "", at);
        lcsm_named_record r = {title, c->best};
        file_of(file, s, "half-lives", v + 1);
        if (c->best != NULL) LCSM_OR_RETURN(lcsm_section_decays(d, &r, file, &shown, &range, err));
    }
    if (!shown && !d->failed) lcsm_doc_cut(d, start);
    return LCSM_OK;
}

lcsm_status lcsm_study_figures(lcsm_doc *d, const lcsm_study *s, const double *means,
                               lcsm_error *err)
{
    bool   speed = strcmp(s->metric->name, "speed") == 0;
    size_t x     = abscissa(s, speed ? "seq_len" : "d_model");
    if (speed && x < s->axis_count && x == lcsm_study_axis(s, "seq_len")) {
        for (size_t j = 0; j < COUNT(SCALING); j++)
            LCSM_OR_RETURN(put_lines(d, s, x, &SCALING[j], err));
        return LCSM_OK;
    }
    if (x < s->axis_count) LCSM_OR_RETURN(put_metric(d, s, x, err));
    else LCSM_OR_RETURN(put_all_bars(d, s, err));
    LCSM_OR_RETURN(put_against(d, s, means, err));
    LCSM_OR_RETURN(put_curves(d, s, err));
    return put_decays(d, s, err);
}
