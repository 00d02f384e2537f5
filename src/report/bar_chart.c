/* bar_chart.c - horizontal bars: names left, values right. */
#include <math.h>
#include <stdio.h>

#include "report/chart.h"
#include "report/svg.h"

enum { TOP = 30, ROW = 22, BAR = 14 };

static lcsm_axis range(const lcsm_bar_chart *c)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t j = 0; j < c->count; j++) {
        double v = c->bars[j].value, e = c->bars[j].error;
        if (!isfinite(v) || (c->log && v <= 0)) continue;
        low  = fmin(low, v - e);
        high = fmax(high, v + e);
    }
    if (c->log) return lcsm_axis_make(low / 1.5, high, true, 5);
    /* A start that is not zero leaves a tenth of the range below the smallest bar. */
    return lcsm_axis_make(c->from_zero ? 0 : low - 0.1 * (high - low), high, false, 5);
}

static void put_bar(lcsm_strbuf *out, const lcsm_bar_chart *c, const lcsm_plot *p, size_t row)
{
    const lcsm_bar *b   = &c->bars[row];
    double          top = p->top + ROW * (double)row, middle = top + ROW / 2.0;
    char            text[64];
    lcsm_svg_text(out, p->left - 8, middle + 4, LCSM_END, "", b->label);
    if (!isfinite(b->value)) {
        lcsm_svg_text(out, p->left + 6, middle + 4, LCSM_START, "soft", "no result");
        return;
    }
    double end = lcsm_plot_x(p, b->value), tip = end;
    lcsm_strbuf_printf(out,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" "
                       "class=\"bar k0\">",
                       p->left, middle - BAR / 2.0, fmax(end - p->left, 0.5), BAR);
    lcsm_svg_title(out, b->label);
    lcsm_strbuf_add(out, "</rect>\n");
    if (b->error > 0) {
        double from = lcsm_plot_x(p, b->value - b->error);
        tip         = lcsm_plot_x(p, b->value + b->error);
        lcsm_strbuf_printf(out,
                           "<path class=\"whisker\" d=\"M%.1f %.1fH%.1fm0 -3v6M%.1f %.1fv6\"/>\n",
                           from, middle, tip, from, middle - 3);
    }
    (void)snprintf(text, sizeof text, "%.*f", c->digits, b->value);
    lcsm_svg_text(out, tip + 5, middle + 4, LCSM_START, "", text);
}

void lcsm_bar_chart_svg(const lcsm_bar_chart *c, lcsm_strbuf *out)
{
    double widest = 40;
    for (size_t j = 0; j < c->count; j++) widest = fmax(widest, lcsm_svg_width(c->bars[j].label));
    lcsm_plot p = {.left = fmin(widest, 180) + 12, .top = TOP, .x = range(c)};
    p.width     = LCSM_SVG_WIDTH - p.left - 52;
    p.height    = ROW * (double)c->count;
    lcsm_svg_open(out, TOP + p.height + 42, c->title);
    lcsm_svg_text(out, 0, 14, LCSM_START, "head", c->title);
    lcsm_plot_x_axis(out, &p, c->x_label);
    for (size_t j = 0; j < c->count; j++) put_bar(out, c, &p, j);
    lcsm_svg_close(out);
}
