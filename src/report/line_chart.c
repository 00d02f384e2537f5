/* line_chart.c - lines with bands and marks, or points with names; the legend below. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/chart.h"
#include "report/rank.h"
#include "report/svg.h"

enum { TOP = 44, PLOT = 220, LEGEND_ROW = 18, MARKS = 32 };

/* What tells one series from another: a colour, a mark, a width, and when colours run out a dash.
 * Later lines are thinner, so that lines that lie on each other all show. */
typedef struct {
    char        css[8];
    const char *dash;
    size_t      mark;
    double      width; /* 0: that of the style sheet */
} look;

/* The number of a series among those of the legend. */
static size_t number_of(const lcsm_chart *c, size_t series)
{
    size_t n = 0;
    for (size_t j = 1; j <= series; j++) n += !c->series[j].beside;
    return n;
}

static double width_of(size_t number, size_t count)
{
    if (count < 2 || count > LCSM_SVG_COLOURS) return 0;
    return 4.2 - 2.8 * (double)number / (double)(count - 1);
}

static look look_of(const lcsm_chart *c, size_t series)
{
    static const char *const dashes[] = {"", "5 3", "1.5 3", "8 3 1.5 3"};
    size_t                   number = number_of(c, series), all = number_of(c, c->count - 1) + 1;
    size_t                   round = number / LCSM_SVG_COLOURS;
    look l = {.dash = dashes[round % 4], .mark = number % 4, .width = width_of(number, all)};
    if (c->ordered) {
        l.dash = "";
        lcsm_ramp(l.css, all < 2 ? 0 : (double)number / (double)(all - 1));
    } else {
        (void)snprintf(l.css, sizeof l.css, "k%zu", number % LCSM_SVG_COLOURS);
    }
    if (c->series[series].beside) l.dash = "4 3", l.width = 1.3;
    return l;
}

/* ---- ranges -------------------------------------------------------------------------------- */

static void widen(double *low, double *high, const double *values, size_t count, bool positive)
{
    for (size_t j = 0; values != NULL && j < count; j++) {
        if (!isfinite(values[j]) || (positive && values[j] <= 0)) continue;
        if (!(values[j] >= *low)) *low = values[j];
        if (!(values[j] <= *high)) *high = values[j];
    }
}

/* Marks that stand alone keep away from the frame, where their names need room. */
static void set_apart(double *low, double *high)
{
    double margin = 0.05 * (*high - *low);
    *low -= margin;
    *high += margin;
}

static lcsm_axis x_axis(const lcsm_chart *c)
{
    double low = NAN, high = NAN, values[LCSM_AXIS_TICKS];
    size_t n = 0;
    for (size_t j = 0; j < c->count; j++)
        widen(&low, &high, c->series[j].x, c->series[j].count, c->x_log);
    if (c->points) set_apart(&low, &high);
    lcsm_axis a = lcsm_axis_make(low, high, c->x_log, 6);
    if (!c->points) lcsm_axis_fit(&a, low, high);
    if (!c->x_values) return a;
    for (size_t j = 0; j < c->count; j++) {
        for (size_t k = 0; k < c->series[j].count; k++) {
            size_t seen = 0;
            double x    = c->series[j].x[k];
            while (seen < n && fabs(values[seen] - x) > 1e-9 * fabs(x)) seen++;
            if (seen == n && n < LCSM_AXIS_TICKS) values[n++] = x;
        }
    }
    lcsm_sort(values, n);
    if (n > 0) lcsm_axis_at(&a, values, n);
    return a;
}

static lcsm_axis y_axis(const lcsm_chart *c)
{
    double low = NAN, high = NAN;
    for (size_t j = 0; j < c->count; j++) {
        const lcsm_series *s = &c->series[j];
        widen(&low, &high, s->y, s->count, c->y_log);
        widen(&low, &high, s->low, s->count, c->y_log);
        widen(&low, &high, s->high, s->count, c->y_log);
    }
    if (c->points) set_apart(&low, &high);
    return lcsm_axis_make(c->y_from ? c->y_low : low, c->y_to ? c->y_high : high, c->y_log, 6);
}

/* ---- marks --------------------------------------------------------------------------------- */

static bool drawable(const lcsm_plot *p, const lcsm_series *s, size_t j)
{
    return isfinite(s->x[j]) && isfinite(s->y[j]) && (!p->x.log || s->x[j] > 0)
        && (!p->y.log || s->y[j] > 0);
}

static void put_mark(lcsm_strbuf *out, const look *l, double x, double y)
{
    switch (l->mark) {
    case 0:
        lcsm_strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" class=\"dot %s\">", x, y,
                           l->css);
        return;
    case 1:
        lcsm_strbuf_printf(out, "<path d=\"M%.1f %.1fh6v6h-6z\" class=\"dot %s\">", x - 3, y - 3,
                           l->css);
        return;
    case 2:
        lcsm_strbuf_printf(out, "<path d=\"M%.1f %.1fl4 7h-8z\" class=\"dot %s\">", x, y - 4.5,
                           l->css);
        return;
    default:
        lcsm_strbuf_printf(out, "<path d=\"M%.1f %.1fl4 4-4 4-4-4z\" class=\"dot %s\">", x, y - 4,
                           l->css);
        return;
    }
}

static void put_point(lcsm_strbuf *out, const lcsm_chart *c, const lcsm_plot *p, size_t series,
                      size_t j)
{
    const lcsm_series *s = &c->series[series];
    look               l = look_of(c, series);
    char               text[200];
    (void)snprintf(text, sizeof text, "%.120s: %s %.6g, %.6g", s->label, c->x_label, s->x[j],
                   s->y[j]);
    put_mark(out, &l, lcsm_plot_x(p, s->x[j]), lcsm_plot_y(p, s->y[j]));
    lcsm_svg_title(out, text);
    lcsm_strbuf_add(out, l.mark == 0 ? "</circle>\n" : "</path>\n");
}

static void put_line(lcsm_strbuf *out, const lcsm_chart *c, const lcsm_plot *p, size_t series)
{
    const lcsm_series *s    = &c->series[series];
    look               l    = look_of(c, series);
    bool               open = false;
    for (size_t j = 0; j < s->count; j++) {
        if (!drawable(p, s, j)) {
            if (open) lcsm_strbuf_add(out, "\"/>\n");
            open = false;
            continue;
        }
        if (!open) {
            lcsm_strbuf_printf(out, "<polyline class=\"line%s %s\"",
                               c->count > LCSM_SVG_COLOURS ? " thin" : "", l.css);
            if (*l.dash != '\0') lcsm_strbuf_printf(out, " stroke-dasharray=\"%s\"", l.dash);
            if (l.width > 0) lcsm_strbuf_printf(out, " style=\"stroke-width:%.1f\"", l.width);
            lcsm_strbuf_add(out, " points=\"");
        }
        lcsm_strbuf_printf(out, "%s%.1f,%.1f", open ? " " : "", lcsm_plot_x(p, s->x[j]),
                           lcsm_plot_y(p, s->y[j]));
        open = true;
    }
    if (open) lcsm_strbuf_add(out, "\"/>\n");
}

static void put_band(lcsm_strbuf *out, const lcsm_chart *c, const lcsm_plot *p, size_t series)
{
    const lcsm_series *s = &c->series[series];
    look               l = look_of(c, series);
    size_t             n = 0;
    if (s->low == NULL || s->high == NULL) return;
    lcsm_strbuf_printf(out, "<polygon class=\"band %s\" points=\"", l.css);
    for (size_t j = 0; j < s->count; j++)
        if (drawable(p, s, j) && isfinite(s->low[j]) && isfinite(s->high[j]))
            lcsm_strbuf_printf(out, "%s%.1f,%.1f", n++ > 0 ? " " : "", lcsm_plot_x(p, s->x[j]),
                               lcsm_plot_y(p, s->high[j]));
    for (size_t j = s->count; j-- > 0;)
        if (drawable(p, s, j) && isfinite(s->low[j]) && isfinite(s->high[j]))
            lcsm_strbuf_printf(out, " %.1f,%.1f", lcsm_plot_x(p, s->x[j]),
                               lcsm_plot_y(p, s->low[j]));
    lcsm_strbuf_add(out, "\"/>\n");
}

/* ---- names beside points ------------------------------------------------------------------- */

typedef struct {
    double left, top, right, bottom;
} box;

/* Where a name may stand about its point, the best place first. */
static const struct {
    double      dx, dy;
    lcsm_anchor anchor;
} SIDES[] = {{7, 4, LCSM_START}, {-7, 4, LCSM_END}, {0, -8, LCSM_MIDDLE}, {0, 16, LCSM_MIDDLE}};

static box name_box(double x, double y, double width, size_t side)
{
    double left = x + SIDES[side].dx - width * (double)SIDES[side].anchor / 2;
    double base = y + SIDES[side].dy;
    return (box){left, base - 9, left + width, base + 2};
}

/* How many of the boxes this one covers in part; more than all if it leaves the plot. */
static size_t collisions(const lcsm_plot *p, const box *b, const box *boxes, size_t count)
{
    size_t n = 0;
    if (b->left < 0 || b->right > LCSM_SVG_WIDTH || b->top < p->top
        || b->bottom > p->top + p->height)
        return count + 1;
    for (size_t j = 0; j < count; j++)
        n += b->left < boxes[j].right && boxes[j].left < b->right && b->top < boxes[j].bottom
          && boxes[j].top < b->bottom;
    return n;
}

static size_t free_side(const lcsm_plot *p, double x, double y, double width, const box *boxes,
                        size_t count)
{
    size_t best = 0, fewest = SIZE_MAX;
    for (size_t side = 0; side < COUNT(SIDES); side++) {
        box    b    = name_box(x, y, width, side);
        size_t here = collisions(p, &b, boxes, count);
        if (here >= fewest) continue;
        best   = side;
        fewest = here;
    }
    return best;
}

/* Names stand where they cover the fewest marks and other names. */
static void put_names(lcsm_strbuf *out, const lcsm_chart *c, const lcsm_plot *p)
{
    size_t n     = 0;
    box   *boxes = calloc(2 * c->count + 1, sizeof *boxes);
    if (boxes == NULL) {
        out->failed = true;
        return;
    }
    for (size_t j = 0; j < c->count; j++) {
        const lcsm_series *s = &c->series[j];
        if (s->count == 0 || !drawable(p, s, 0)) continue;
        double x = lcsm_plot_x(p, s->x[0]), y = lcsm_plot_y(p, s->y[0]);
        boxes[n++] = (box){x - 4, y - 4, x + 4, y + 4};
    }
    for (size_t j = 0; j < c->count; j++) {
        const lcsm_series *s = &c->series[j];
        if (s->count == 0 || !drawable(p, s, 0)) continue;
        double x = lcsm_plot_x(p, s->x[0]), y = lcsm_plot_y(p, s->y[0]);
        double room  = fmax(x, LCSM_SVG_WIDTH - x) - 7;
        double width = fmin(lcsm_svg_width(s->label), room);
        size_t side  = free_side(p, x, y, width, boxes, n);
        boxes[n++]   = name_box(x, y, width, side);
        lcsm_svg_label(out, x + SIDES[side].dx, y + SIDES[side].dy, SIDES[side].anchor, "soft",
                       s->label, room);
    }
    free(boxes);
}

/* ---- the legend ---------------------------------------------------------------------------- */

enum { KEY = 28, ENTRY_GAP = 18 }; /* before a label and behind it */

/* Writes the entries, if out is not NULL, and returns how many rows they take. */
static size_t put_legend(lcsm_strbuf *out, const lcsm_chart *c, double left, double top)
{
    double x = left, room = LCSM_SVG_WIDTH - left - KEY;
    size_t rows = 1;
    for (size_t j = 0; j < c->count; j++) {
        look l = look_of(c, j);
        if (c->series[j].beside) continue;
        double width = KEY + fmin(lcsm_svg_width(c->series[j].label), room);
        if (x > left && x + width > LCSM_SVG_WIDTH) {
            x = left;
            rows++;
        }
        double y = top + LEGEND_ROW * (double)(rows - 1);
        if (out != NULL) {
            lcsm_strbuf_printf(out,
                               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"line "
                               "%s\" stroke-dasharray=\"%s\"/>\n",
                               x, y - 4, x + 22, y - 4, l.css, *l.dash == '\0' ? "none" : l.dash);
            put_mark(out, &l, x + 11, y - 4);
            lcsm_strbuf_add(out, l.mark == 0 ? "</circle>\n" : "</path>\n");
            lcsm_svg_label(out, x + KEY, y, LCSM_START, "", c->series[j].label, room);
        }
        x += width + ENTRY_GAP;
    }
    return rows;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static double left_margin(const lcsm_axis *y)
{
    double widest = 0;
    for (size_t j = 0; j < y->count; j++) {
        char label[LCSM_AXIS_LABEL];
        lcsm_axis_label(label, y, y->ticks[j]);
        widest = fmax(widest, lcsm_svg_width(label));
    }
    return widest + 12;
}

void lcsm_chart_svg(const lcsm_chart *c, lcsm_strbuf *out)
{
    lcsm_plot p    = {.top = TOP, .height = PLOT, .x = x_axis(c), .y = y_axis(c)};
    bool      keys = !c->points && c->count > 0 && number_of(c, c->count - 1) > 0;
    p.left         = left_margin(&p.y);
    p.width        = LCSM_SVG_WIDTH - p.left - 16;
    size_t rows    = keys ? put_legend(NULL, c, p.left, 0) : 0;
    double legend  = TOP + PLOT + 56;

    lcsm_svg_open(out, legend + LEGEND_ROW * (double)rows - (keys ? 8 : 14), c->title);
    lcsm_plot_x_axis(out, &p, c->x_label);
    lcsm_plot_y_axis(out, &p, c->y_label);
    for (size_t j = 0; j < c->count; j++) put_band(out, c, &p, j);
    for (size_t j = 0; j < c->count && !c->points; j++) put_line(out, c, &p, j);
    for (size_t j = 0; j < c->count; j++)
        for (size_t k = 0; k < c->series[j].count && c->series[j].count <= MARKS; k++)
            if (!c->series[j].beside && drawable(&p, &c->series[j], k)) put_point(out, c, &p, j, k);
    if (c->points) put_names(out, c, &p);
    if (keys) (void)put_legend(out, c, p.left, legend);
    lcsm_svg_close(out);
}
