/*
 * chart.h - figures as SVG: lines, bars, points, heat maps.
 *
 * A figure is one <svg> element with a viewBox and no fixed size, 460 units wide, so that its text
 * is readable on a phone. Colours are CSS classes, which the page's style sheet or that of
 * lcsm_svg_file defines for light and dark. Every mark has a <title>, which browsers show when one
 * points at it.
 */
#ifndef LCSM_REPORT_CHART_H
#define LCSM_REPORT_CHART_H
#include "base/strbuf.h"

/* One line. y may hold NaN, which leaves a gap. low and high, if not NULL, are the edges of a band
 * around it. The arrays are borrowed. */
typedef struct {
    const char   *label;
    const double *x, *y, *low, *high;
    size_t        count;
    bool beside; /* belongs to the series before: dashed in its colour, not in the legend */
} lcsm_series;

typedef struct {
    const char        *title, *x_label, *y_label;
    const lcsm_series *series;
    size_t             count;
    bool               x_log, y_log;
    bool               x_values;     /* ticks at the x of the series, as for widths 32, 64, 128 */
    bool               ordered;      /* series are steps of one quantity: colours from a ramp */
    bool               points;       /* marks without lines, named beside, no legend */
    bool               y_from, y_to; /* the range is y_low .. y_high instead of the data's */
    double             y_low, y_high;
} lcsm_chart;

void lcsm_chart_svg(const lcsm_chart *c, lcsm_strbuf *out);

/* Horizontal bars, one a row, with the value beside. */
typedef struct {
    const char *label;
    double      value, error; /* below 0: no bar; error 0: no whisker; value NaN: "no result" */
} lcsm_bar;

typedef struct {
    const char     *title, *x_label;
    const lcsm_bar *bars;
    size_t          count;
    int             digits;
    bool            from_zero; /* otherwise the axis starts near the smallest value and says so */
    double          reach;     /* the axis goes at least so far */
} lcsm_bar_chart;

void lcsm_bar_chart_svg(const lcsm_bar_chart *c, lcsm_strbuf *out);

/* Cells coloured by the logarithm of their value; NaN is left empty. */
typedef struct {
    const char        *title, *x_label, *value_label;
    const char *const *rows;   /* labels */
    const double      *values; /* row by row */
    size_t             row_count, column_count;
    double             low, high; /* of the colours, > 0; values beyond get the last colour */
} lcsm_heat_map;

void lcsm_heat_map_svg(const lcsm_heat_map *h, lcsm_strbuf *out);

#endif
