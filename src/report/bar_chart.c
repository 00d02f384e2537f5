/* bar_chart.c - horizontal bars: names left, values right. */
#include <math.h>
#include <stdio.h>

#include "report/chart.h"
#include "report/svg.h"
#include "report/table.h"

enum { TOP = 30, ROW = 22, BAR = 14, NAME_LEAST = 40, NAME_MOST = 180, PLOT_LEAST = 60 };

static lcsm_axis range(const lcsm_bar_chart *c)
{
    double low = INFINITY, high = c->reach > 0 ? c->reach : -INFINITY;
    for (size_t j = 0; j < c->count; j++) {
        double v = c->bars[j].value, e = c->bars[j].error;
        if (!isfinite(v)) continue;
        low  = fmin(low, v - e);
        high = fmax(high, v + e);
    }
    /* A start that is not zero leaves a tenth of the range below the smallest bar. */
    return lcsm_axis_make(c->from_zero ? 0 : fmax(low - 0.1 * (high - low), 0), high, false, 5);
}

static const char *value_text(char text[LCSM_NUMBER_TEXT], const lcsm_bar_chart *c, size_t row)
{
    double v = c->bars[row].value;
    return isfinite(v) ? lcsm_number_text(text, c->digits, v) : "no result";
}

static void put_bar(lcsm_strbuf *out, const lcsm_bar_chart *c, const lcsm_plot *p, size_t row)
{
    const lcsm_bar *b      = &c->bars[row];
    double          middle = p->top + ROW * (double)row + ROW / 2.0;
    char            text[LCSM_NUMBER_TEXT];
    lcsm_svg_label(out, p->left - 8, middle + 4, LCSM_END, "", b->label, p->left - 12);
    if (!isfinite(b->value)) {
        lcsm_svg_text(out, p->left + 6, middle + 4, LCSM_START, "soft", value_text(text, c, row));
        return;
    }
    double end = fmax(lcsm_plot_x(p, b->value), p->left), tip = end;
    lcsm_strbuf_printf(out,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" "
                       "class=\"bar k0\">",
                       p->left, middle - BAR / 2.0, end - p->left, BAR);
    lcsm_svg_title(out, b->label);
    lcsm_strbuf_add(out, "</rect>\n");
    if (b->error > 0) {
        double from = lcsm_plot_x(p, b->value - b->error);
        tip         = lcsm_plot_x(p, b->value + b->error);
        lcsm_strbuf_printf(out,
                           "<path class=\"whisker\" d=\"M%.1f %.1fH%.1fm0 -3v6M%.1f %.1fv6\"/>\n",
                           from, middle, tip, from, middle - 3);
    }
    lcsm_svg_text(out, tip + 5, middle + 4, LCSM_START, "", value_text(text, c, row));
}

/* The axis by its name, and its start where that is not zero. */
static void put_axis(lcsm_strbuf *out, const lcsm_bar_chart *c, const lcsm_plot *p)
{
    char start[LCSM_AXIS_LABEL], name[160];
    lcsm_axis_label(start, &p->x, p->x.low);
    if (p->x.low > 0) (void)snprintf(name, sizeof name, "%s (from %s, not 0)", c->x_label, start);
    lcsm_plot_x_axis(out, p, p->x.low > 0 ? name : c->x_label);
}

void lcsm_bar_chart_svg(const lcsm_bar_chart *c, lcsm_strbuf *out)
{
    double names = NAME_LEAST, values = 0;
    for (size_t j = 0; j < c->count; j++) {
        char text[LCSM_NUMBER_TEXT];
        names  = fmax(names, lcsm_svg_width(c->bars[j].label));
        values = fmax(values, lcsm_svg_width(value_text(text, c, j)));
    }
    lcsm_plot p = {.left = fmin(names, NAME_MOST) + 12, .top = TOP, .x = range(c)};
    p.width     = fmax(LCSM_SVG_WIDTH - p.left - values - 8, PLOT_LEAST);
    p.height    = ROW * (double)c->count;
    lcsm_svg_open(out, TOP + p.height + 42, c->title);
    put_axis(out, c, &p);
    for (size_t j = 0; j < c->count; j++) put_bar(out, c, &p, j);
    lcsm_svg_close(out);
}
