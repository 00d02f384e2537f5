/* test_report_charts.c - bars that tell the truth, labels that fit, colours that can be seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"
#include "report/chart.h"
#include "report/svg.h"
#include "test.h"
#include "text_has.h"

/* ---- bars ---------------------------------------------------------------------------------- */

static char *bars_of(const double *values, size_t count, double error, bool from_zero)
{
    lcsm_bar       bars[4];
    lcsm_strbuf    s = {0};
    lcsm_bar_chart c = {.title     = "t",
                        .x_label   = "score",
                        .bars      = bars,
                        .count     = count,
                        .digits    = 3,
                        .from_zero = from_zero};
    for (size_t j = 0; j < count; j++) bars[j] = (lcsm_bar){"v", values[j], error};
    lcsm_bar_chart_svg(&c, &s);
    return s.text;
}

TEST(bars_of_very_large_numbers_leave_room_for_bars)
{
    const double values[] = {1e40, 3e40};
    char        *svg      = bars_of(values, 2, 0, true);
    assert_has(svg, ">3e+40</text>");
    assert_null(strstr(svg, "width=\"-"));
    free(svg);
}

TEST(bars_of_zeros_have_no_length_and_start_at_zero)
{
    const double zeros[] = {0, 0}, small[] = {0.01, 0.3};
    char        *svg = bars_of(zeros, 2, 0, true);
    assert_int_equal(count_of(svg, " width=\"0.0\" "), 2);
    assert_has(svg, ">0.0</text>");
    assert_null(strstr(svg, ">-"));
    free(svg);
    /* Whiskers that reach below zero, and a start that is free, leave it there too. */
    for (int zero = 0; zero < 2; zero++) {
        svg = bars_of(small, 2, 0.1, zero == 1);
        assert_null(strstr(svg, ">-"));
        assert_has(svg, ">score</text>");
        free(svg);
    }
}

/* A score below guessing is said, and is no bar; what is a part of the whole shows the whole. */
TEST(bars_of_parts_reach_one_and_are_never_negative)
{
    static const lcsm_bar bars[] = {{"below", -0.05, 0}, {"above", 0.08, 0}};
    lcsm_bar_chart        c      = {.title     = "t",
                                    .x_label   = "x",
                                    .bars      = bars,
                                    .count     = 2,
                                    .digits    = 3,
                                    .from_zero = true,
                                    .reach     = 1};
    lcsm_strbuf           svg    = {0};
    lcsm_bar_chart_svg(&c, &svg);
    assert_null(strstr(lcsm_strbuf_text(&svg), "width=\"-"));
    assert_has(lcsm_strbuf_text(&svg), ">-0.050</text>");
    assert_has(lcsm_strbuf_text(&svg), ">1.0</text>");
    lcsm_strbuf_free(&svg);
}

TEST(bars_that_do_not_start_at_zero_say_so)
{
    const double values[] = {24, 26};
    char        *svg      = bars_of(values, 2, 0, false);
    assert_has(svg, ">score (from 23.5, not 0)</text>");
    free(svg);
}

TEST(axis_of_a_lone_zero_starts_there)
{
    lcsm_axis a = lcsm_axis_make(0, 0, false, 5);
    assert_near(a.low, 0, 0);
    assert_near(a.high, 1, 1e-12);
}

/* ---- labels -------------------------------------------------------------------------------- */

#define LONG "a very long label that says everything there is to say about this variant of it all"

/* Every <text> of the figure, as wide as its letters may be, lies within it. */
static void check_inside(const char *svg)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    for (const char *p = svg; (p = strstr(p, "<text ")) != NULL; p++) {
        double x, y;
        char   anchor[8], text[400];
        assert_int_equal(
            sscanf(p, "<text x=\"%lf\" y=\"%lf\" text-anchor=\"%7[a-z]\"", &x, &y, anchor), 3);
        const char *end = strstr(p, "</text>"), *start = strstr(p, "</title>");
        start = start != NULL && start < end ? start + 8 : strchr(p, '>') + 1;
        (void)snprintf(text, sizeof text, "%.*s", (int)(end - start), start);
        double width = lcsm_svg_width(text), from = x;
        for (size_t j = 0; j < COUNT(anchors); j++)
            if (strcmp(anchor, anchors[j]) == 0) from = x - width * (double)j / 2;
        if (from < -0.5 || from + width > LCSM_SVG_WIDTH + 0.5) fail_msg("\"%s\" is cut", text);
    }
}

TEST(labels_that_are_too_long_end_in_an_ellipsis_inside_the_figure)
{
    const double x[] = {1, 2}, y[] = {1, 2}, one[] = {1};
    lcsm_series  series[] = {{.label = LONG, .x = x, .y = y, .count = 2},
                             {.label = "\xE6\xBC\xA2\xE5\xAD\x97 b", .x = x, .y = y, .count = 2}};
    lcsm_bar     bars[]   = {{LONG, 123456789, 0}, {"b", NAN, 0}};
    const char  *rows[]   = {"layer 1"};
    lcsm_chart   lines    = {
             .title = LONG, .x_label = "x", .y_label = "y", .series = series, .count = 2};
    lcsm_chart points    = lines;
    points.points        = true;
    lcsm_bar_chart chart = {
        .title = LONG, .x_label = "x", .bars = bars, .count = 2, .from_zero = true};
    lcsm_heat_map map     = {.title        = LONG,
                             .x_label      = "x",
                             .value_label  = "v",
                             .rows         = rows,
                             .values       = one,
                             .row_count    = 1,
                             .column_count = 1,
                             .low          = 0.1,
                             .high         = 10};
    lcsm_strbuf   svgs[4] = {0};
    lcsm_chart_svg(&lines, &svgs[0]);
    lcsm_chart_svg(&points, &svgs[1]);
    lcsm_bar_chart_svg(&chart, &svgs[2]);
    lcsm_heat_map_svg(&map, &svgs[3]);
    for (size_t j = 0; j < COUNT(svgs); j++) {
        const char *svg = lcsm_strbuf_text(&svgs[j]);
        check_inside(svg);
        assert_has(svg, "<title>" LONG "</title>a very long label");
        assert_has(svg, "\xE2\x80\xA6</text>");
        lcsm_strbuf_free(&svgs[j]);
    }
}

TEST(labels_are_cut_between_letters)
{
    lcsm_strbuf s = {0};
    lcsm_svg_label(&s, 0, 0, LCSM_START, "", "\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2", 30);
    assert_has(lcsm_strbuf_text(&s), "</title>\xE6\xBC\xA2\xE2\x80\xA6</text>");
    lcsm_strbuf_free(&s);
    lcsm_svg_label(&s, 0, 0, LCSM_START, "", "abc", 21);
    assert_null(strstr(lcsm_strbuf_text(&s), "<title>"));
    lcsm_strbuf_free(&s);
}

/* Where the n-th name of a chart of points stands, and how wide it is. */
static void name_at(const char *svg, const char *name, double *left, double *y, double *width)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    char                     tail[64], anchor[8];
    (void)snprintf(tail, sizeof tail, "class=\"soft\">%s</text>", name);
    const char *p = strstr(svg, tail);
    assert_non_null(p);
    while (strncmp(p, "<text", 5) != 0) p--;
    assert_int_equal(
        sscanf(p, "<text x=\"%lf\" y=\"%lf\" text-anchor=\"%7[a-z]\"", left, y, anchor), 3);
    *width = lcsm_svg_width(name);
    for (size_t j = 0; j < COUNT(anchors); j++)
        if (strcmp(anchor, anchors[j]) == 0) *left -= *width * (double)j / 2;
}

TEST(names_of_points_that_are_near_do_not_cover_each_other)
{
    static const char *const names[] = {"first", "second", "third"};
    const double             x[] = {0, 5, 5.2, 9}, y[] = {0, 5, 5.05, 9};
    lcsm_series              series[4];
    lcsm_strbuf              s = {0};
    for (size_t j = 0; j < 4; j++)
        series[j] =
            (lcsm_series){.label = j < 3 ? names[j] : "last", .x = &x[j], .y = &y[j], .count = 1};
    lcsm_chart c = {
        .title = "t", .x_label = "x", .y_label = "y", .series = series, .count = 4, .points = true};
    lcsm_chart_svg(&c, &s);
    double left[2], base[2], width[2];
    for (int j = 0; j < 2; j++)
        name_at(lcsm_strbuf_text(&s), names[1 + j], &left[j], &base[j], &width[j]);
    assert_true(left[0] + width[0] <= left[1] || left[1] + width[1] <= left[0]
                || fabs(base[0] - base[1]) >= 11);
    lcsm_strbuf_free(&s);
}

/* One row of values from 0.1 on. */
static void put_map(lcsm_strbuf *out, const double *values, size_t count, double high)
{
    const char   *rows[] = {"l"};
    lcsm_heat_map map    = {.title        = "t",
                            .x_label      = "x",
                            .value_label  = "v",
                            .rows         = rows,
                            .values       = values,
                            .row_count    = 1,
                            .column_count = count,
                            .low          = 0.1,
                            .high         = high};
    lcsm_heat_map_svg(&map, out);
}

TEST(map_has_one_rectangle_for_neighbours_of_one_colour)
{
    const double values[] = {100, 100, 100, NAN, 0.2, 0.2};
    lcsm_strbuf  s        = {0};
    put_map(&s, values, 6, 1000);
    assert_int_equal(count_of(lcsm_strbuf_text(&s), "class=\"cell "), 2 + LCSM_SVG_RAMP);
    lcsm_strbuf_free(&s);
}

/* ---- colours ------------------------------------------------------------------------------- */

/* The value of a variable, "#rrggbb" or "#rgb", in a list of them. */
static unsigned long colour_of(const char *list, const char *name)
{
    char        key[16], *end;
    const char *list_end = strchr(list, '}'), *at;
    (void)snprintf(key, sizeof key, "%s:#", name);
    at = strstr(list, key);
    if (at == NULL || at > list_end) fail_msg("no %s in the style", name);
    at += strlen(key);
    unsigned long rgb = strtoul(at, &end, 16);
    if (end - at == 3) /* each digit twice */
        rgb = ((rgb >> 8) * 17) << 16 | ((rgb >> 4 & 15) * 17) << 8 | (rgb & 15) * 17;
    return rgb;
}

/* Relative luminance and contrast as in WCAG 2. */
static double luminance(unsigned long rgb)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126};
    double              sum       = 0;
    for (int c = 0; c < 3; c++) {
        double v = (double)(rgb >> (8 * c) & 255) / 255;
        sum += weights[c] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static void check_contrast(const char *list, const char *prefix, int count)
{
    double paper = luminance(colour_of(list, "--paper"));
    for (int j = 0; j < count; j++) {
        char name[24];
        (void)snprintf(name, sizeof name, "--%s%d", prefix, j);
        double here = luminance(colour_of(list, name));
        double c    = (fmax(here, paper) + 0.05) / (fmin(here, paper) + 0.05);
        if (c < 3) fail_msg("%s has contrast %.2f", name, c);
    }
}

TEST(colours_stand_out_from_the_page_in_every_theme)
{
    static const char root[] = ":root{";
    size_t            themes = 0;
    for (const char *p = LCSM_SVG_STYLE; (p = strstr(p, root)) != NULL; themes++) {
        p += strlen(root);
        check_contrast(p, "c", LCSM_SVG_COLOURS);
        check_contrast(p, "r", LCSM_SVG_RAMP);
    }
    assert_int_equal(themes, 3); /* light, dark, on paper */
}

/* A ramp that gets lighter can be followed without its hues. */
TEST(colours_of_the_ramp_get_lighter)
{
    const char *p = LCSM_SVG_STYLE;
    while ((p = strstr(p, ":root{")) != NULL) {
        double last = 0;
        for (int j = 0; j < LCSM_SVG_RAMP; j++) {
            char name[24];
            (void)snprintf(name, sizeof name, "--r%d", j);
            double here = luminance(colour_of(p, name));
            assert_true(here > last);
            last = here;
        }
        p++;
    }
}

TEST(colours_of_ordered_lines_and_maps_are_classes_of_the_style)
{
    const double x[] = {1, 2}, values[] = {0.1, 10};
    lcsm_series  series[3] = {0};
    lcsm_strbuf  s         = {0};
    for (int j = 0; j < 3; j++) series[j] = (lcsm_series){.label = "a", .x = x, .y = x, .count = 2};
    lcsm_chart c = {.title   = "t",
                    .x_label = "x",
                    .y_label = "y",
                    .series  = series,
                    .count   = 3,
                    .ordered = true};
    lcsm_chart_svg(&c, &s);
    put_map(&s, values, 2, 10);
    assert_has(lcsm_strbuf_text(&s), "class=\"line r0\"");
    assert_has(lcsm_strbuf_text(&s), "class=\"line r15\"");
    assert_has(lcsm_strbuf_text(&s), "class=\"cell r0\"");
    assert_has(lcsm_strbuf_text(&s), "class=\"cell r15\"");
    assert_null(strchr(lcsm_strbuf_text(&s), '#'));
    assert_has(LCSM_SVG_STYLE, ".r15{--k:var(--r15)}");
    lcsm_strbuf_free(&s);
}

TEST(ramp_ends_are_its_first_and_last_class)
{
    char colour[8];
    lcsm_ramp(colour, -1);
    assert_string_equal(colour, "r0");
    lcsm_ramp(colour, NAN);
    assert_string_equal(colour, "r0");
    lcsm_ramp(colour, 2);
    assert_string_equal(colour, "r15");
}

/* ---- figures ------------------------------------------------------------------------------- */

TEST(chart_of_nothing_and_of_gaps_is_whole)
{
    const double x[] = {1, 2, 3}, y[] = {NAN, 2, NAN}, none[] = {NAN, NAN, NAN};
    lcsm_series  series[] = {{.label = "a<", .x = x, .y = y, .low = y, .high = none, .count = 3},
                             {.label = "b", .x = x, .y = none, .count = 3},
                             {.label = "c", .x = x, .y = y, .count = 0}};
    for (size_t count = 0; count <= 3; count++) {
        for (int log = 0; log < 2; log++) {
            lcsm_strbuf s = {0};
            lcsm_chart  c = {.title   = "t",
                             .x_label = "x",
                             .y_label = "y",
                             .series  = series,
                             .count   = count,
                             .y_log   = log == 1,
                             .x_log   = log == 1};
            lcsm_chart_svg(&c, &s);
            assert_null(strstr(lcsm_strbuf_text(&s), "nan"));
            assert_null(strstr(lcsm_strbuf_text(&s), "inf"));
            assert_null(strstr(lcsm_strbuf_text(&s), "a<"));
            assert_has(lcsm_strbuf_text(&s), "</svg>");
            lcsm_strbuf_free(&s);
        }
    }
}

TEST(svg_file_of_a_title_of_two_lines_is_whole)
{
    lcsm_strbuf    s = {0}, file = {0};
    lcsm_bar_chart chart = {.title = "one\ntwo", .x_label = "x"};
    lcsm_bar_chart_svg(&chart, &s);
    lcsm_svg_file(&file, lcsm_strbuf_text(&s));
    assert_has(lcsm_strbuf_text(&file), "aria-label=\"one two\">\n<style>");
    assert_has(lcsm_strbuf_text(&file), ">one two</text>");
    lcsm_strbuf_free(&s);
    lcsm_strbuf_free(&file);
}

TEST(bars_and_maps_without_values_are_whole)
{
    const double      values[] = {NAN, 1, INFINITY, 0};
    const char *const rows[]   = {"l1", "l2"};
    lcsm_bar          bars[]   = {{"a", NAN, 0}, {"b", 2, 0.5}};
    lcsm_strbuf       s        = {0};
    lcsm_bar_chart    chart    = {.title = "t", .x_label = "x", .bars = bars, .count = 2};
    lcsm_heat_map     map      = {.title        = "t",
                                  .x_label      = "x",
                                  .value_label  = "v",
                                  .rows         = rows,
                                  .values       = values,
                                  .row_count    = 2,
                                  .column_count = 2,
                                  .low          = 0.1,
                                  .high         = 10};
    lcsm_bar_chart_svg(&chart, &s);
    assert_has(lcsm_strbuf_text(&s), "no result");
    chart.count = 0;
    lcsm_bar_chart_svg(&chart, &s);
    lcsm_heat_map_svg(&map, &s);
    assert_null(strstr(lcsm_strbuf_text(&s), "nan"));
    assert_null(strstr(lcsm_strbuf_text(&s), "inf"));
    lcsm_strbuf_free(&s);
}
