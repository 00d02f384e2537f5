/* heat_map.c - a matrix as colours, with the bar that explains them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/chart.h"
#include "report/svg.h"

enum { TOP = 30, ROW = 20, GAP = 2 };

/* The class of a cell's colour; "" where there is none. */
static const char *colour_of(char out[8], const lcsm_heat_map *h, const lcsm_axis *scale,
                             size_t cell)
{
    double v = h->values[cell];
    out[0]   = '\0';
    if (v > 0) lcsm_ramp(out, lcsm_axis_place(scale, v));
    return out;
}

/* Neighbours of one colour are one rectangle. */
static void put_cells(lcsm_strbuf *out, const lcsm_heat_map *h, const lcsm_axis *scale, double left,
                      double width, size_t row)
{
    double step = width / (double)h->column_count, y = TOP + ROW * (double)row;
    size_t first = row * h->column_count, count;
    for (size_t j = 0; j < h->column_count; j += count) {
        char colour[8], next[8];
        (void)colour_of(colour, h, scale, first + j);
        for (count = 1; j + count < h->column_count; count++)
            if (strcmp(colour, colour_of(next, h, scale, first + j + count)) != 0) break;
        if (*colour != '\0')
            lcsm_strbuf_printf(
                out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" class=\"cell %s\"/>",
                left + step * (double)j, y, step * (double)count, ROW - GAP, colour);
    }
    lcsm_strbuf_printf(
        out, "\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"void\"/>\n", left,
        y, width, ROW - GAP);
}

static void put_scale(lcsm_strbuf *out, const lcsm_axis *scale, double left, double width,
                      double top, const char *name)
{
    lcsm_plot p = {.left = left, .top = top, .width = width, .height = 8, .x = *scale};
    for (int j = 0; j < LCSM_SVG_RAMP; j++) {
        char colour[8];
        lcsm_ramp(colour, (j + 0.5) / LCSM_SVG_RAMP);
        lcsm_strbuf_printf(
            out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"8\" class=\"cell %s\"/>",
            left + width * j / LCSM_SVG_RAMP, top, width / LCSM_SVG_RAMP, colour);
    }
    lcsm_strbuf_add(out, "\n");
    lcsm_plot_x_axis(out, &p, name);
}

void lcsm_heat_map_svg(const lcsm_heat_map *h, lcsm_strbuf *out)
{
    lcsm_axis scale  = lcsm_axis_make(h->low, h->high, true, 6);
    double    widest = 0, height = ROW * (double)h->row_count;
    for (size_t j = 0; j < h->row_count; j++) widest = fmax(widest, lcsm_svg_width(h->rows[j]));
    double left = widest + 10, width = LCSM_SVG_WIDTH - left - 16;
    lcsm_svg_open(out, TOP + height + 84, h->title);
    for (size_t j = 0; j < h->row_count; j++) {
        put_cells(out, h, &scale, left, width, j);
        lcsm_svg_text(out, left - 6, TOP + ROW * (double)j + 13, LCSM_END, "soft", h->rows[j]);
    }
    lcsm_svg_text(out, left + width / 2, TOP + height + 13, LCSM_MIDDLE, "soft", h->x_label);
    put_scale(out, &scale, left, width, TOP + height + 34, h->value_label);
    lcsm_svg_close(out);
}
