/* test_report_parts.c - escaping, tables, axes, ranks. */
#include <math.h>
#include <string.h>

#include "base/shell.h"
#include "near.h"
#include "report/axis.h"
#include "report/escape.h"
#include "report/rank.h"
#include "report/table.h"
#include "test.h"

typedef void put_fn(lcsm_strbuf *s, const char *text);

static void check_put(put_fn *put, const char *text, const char *want)
{
    lcsm_strbuf s = {0};
    put(&s, text);
    assert_string_equal(lcsm_strbuf_text(&s), want);
    lcsm_strbuf_free(&s);
}

TEST(escape_html_has_no_markup_left)
{
    check_put(lcsm_put_html, "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    check_put(lcsm_put_html, "gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F");
    check_put(lcsm_put_html, "", "");
}

TEST(escape_leaves_one_line_without_controls)
{
    static put_fn *const puts[] = {lcsm_put_text, lcsm_put_html, lcsm_put_markdown};
    for (size_t j = 0; j < COUNT(puts); j++)
        check_put(puts[j], "a\nb\tc\r\x1B(d\x7F\xC2\x9B z", "a b c  (d   z");
    check_put(lcsm_put_text, "a<\xC3\xBC\xFF", "a<\xC3\xBC\xEF\xBF\xBD");
    check_put(lcsm_put_html_lines, "a\n<\x1B", "a\n&lt; ");
}

TEST(escape_html_replaces_what_xml_forbids)
{
    check_put(lcsm_put_html, "a\x01z", "a z");
    check_put(lcsm_put_html, "\xC3", "\xEF\xBF\xBD");
    check_put(lcsm_put_html, "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    check_put(lcsm_put_html, "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");
    check_put(lcsm_put_html, "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80");
}

TEST(escape_markdown_stays_in_its_cell)
{
    check_put(lcsm_put_markdown, "a|b\n*c* <x> `d`", "a\\|b \\*c\\* &lt;x> \\`d\\`");
}

TEST(escape_markdown_line_is_no_heading_list_or_quote)
{
    static const char *const cases[][2] = {
        {"# a", "\\# a"},     {"> a", "\\> a"},   {"- a", "\\- a"},
        {"+ a", "\\+ a"},     {"---", "\\---"},   {"===", "\\==="},
        {"12. a", "12\\. a"}, {"1)", "1\\)"},     {"\n  # a", "\\# a"},
        {"-1", "-1"},         {"1.5 a", "1.5 a"}, {"12", "12"},
        {"* a", "\\* a"},     {"a # b", "a # b"}, {"", ""},
    };
    for (size_t j = 0; j < COUNT(cases); j++)
        check_put(lcsm_put_markdown_line, cases[j][0], cases[j][1]);
}

TEST(escape_url_has_only_plain_letters)
{
    check_put(lcsm_put_url, "../a b/(1)_x-2.svg", "../a%20b/%281%29_x-2.svg");
    check_put(lcsm_put_url, "c:%\xC3\xBC", "c%3A%25%C3%BC");
}

TEST(escape_csv_quotes_and_defuses)
{
    check_put(lcsm_put_csv, "plain", "plain");
    check_put(lcsm_put_csv, "a,\"b\"", "\"a,\"\"b\"\"\"");
    check_put(lcsm_put_csv, "=1+1", "\"'=1+1\"");
    check_put(lcsm_put_csv, "-0.5", "-0.5");
}

TEST(escape_shell_words_survive)
{
    check_put(lcsm_put_shell, "runs/a_1.5", "runs/a_1.5");
    check_put(lcsm_put_shell, "it's $x", "'it'\\''s $x'");
    check_put(lcsm_put_shell, "", "''");
}

TEST(escape_slug_is_a_file_name)
{
    check_put(lcsm_put_slug, "a/b  c", "a-b-c");
    check_put(lcsm_put_slug, "../x!", "..-x");
}

TEST(escape_width_counts_letters)
{
    assert_int_equal(lcsm_text_width("\xC2\xB1 1"), 3);
    assert_int_equal(lcsm_text_width("\xFFz"), 2);
}

/* ---- tables -------------------------------------------------------------------------------- */

static lcsm_table two_rows(void)
{
    lcsm_table t = {0};
    lcsm_table_column(&t, "code", LCSM_LEFT);
    lcsm_table_column(&t, "x", LCSM_RIGHT);
    lcsm_table_cell(&t, "%s", "1-1|<0");
    lcsm_table_number(&t, 2, 24.256);
    lcsm_table_mark(&t, LCSM_MARK_BEST);
    lcsm_table_cell(&t, "%s", "0");
    lcsm_table_number(&t, 2, NAN);
    return t;
}

TEST(table_text_is_aligned)
{
    lcsm_table  t = two_rows();
    lcsm_strbuf s = {0};
    lcsm_table_text(&t, &s);
    assert_string_equal(lcsm_strbuf_text(&s), "code        x\n1-1|<0  24.26\n0\n");
    lcsm_strbuf_free(&s);
    lcsm_table_free(&t);
}

TEST(table_formats_escape_their_cells)
{
    lcsm_table  t = two_rows();
    lcsm_strbuf s = {0};
    lcsm_table_markdown(&t, &s);
    assert_string_equal(lcsm_strbuf_text(&s),
                        "| code | x |\n|---|---:|\n| 1-1\\|&lt;0 | **24.26** |\n| 0 |  |\n");
    lcsm_strbuf_free(&s);
    lcsm_table_csv(&t, &s);
    assert_string_equal(lcsm_strbuf_text(&s), "code,x\r\n1-1|<0,24.26\r\n0,\r\n");
    lcsm_strbuf_free(&s);
    lcsm_table_html(&t, &s);
    assert_non_null(strstr(lcsm_strbuf_text(&s), "<td class=\"n best\">24.26</td>"));
    assert_non_null(strstr(lcsm_strbuf_text(&s), "1-1|&lt;0</th>"));
    lcsm_strbuf_free(&s);
    lcsm_table_free(&t);
}

TEST(table_text_with_controls_keeps_its_rows)
{
    lcsm_table  t = {0};
    lcsm_strbuf s = {0};
    lcsm_table_column(&t, "x", LCSM_LEFT);
    lcsm_table_cell(&t, "%s", "a\n\x1B[2Jb");
    lcsm_table_text(&t, &s);
    assert_string_equal(lcsm_strbuf_text(&s), "x\na  [2Jb\n");
    lcsm_strbuf_free(&s);
    lcsm_table_free(&t);
}

TEST(table_has_as_many_columns_as_it_is_given)
{
    lcsm_table  t = {0};
    lcsm_strbuf s = {0};
    for (int j = 0; j < 40; j++) lcsm_table_column(&t, "x", LCSM_LEFT);
    for (int j = 0; j < 40; j++) lcsm_table_cell(&t, "%d", j);
    lcsm_table_text(&t, &s);
    assert_false(t.failed);
    assert_int_equal(lcsm_table_rows(&t), 1);
    assert_non_null(strstr(lcsm_strbuf_text(&s), "38  39\n"));
    lcsm_strbuf_free(&s);
    lcsm_table_free(&t);
}

/* ---- axes ---------------------------------------------------------------------------------- */

static void check_label(const lcsm_axis *a, double tick, const char *want)
{
    char label[LCSM_AXIS_LABEL];
    lcsm_axis_label(label, a, tick);
    assert_string_equal(label, want);
}

TEST(axis_linear_has_round_ticks_around_the_data)
{
    lcsm_axis a = lcsm_axis_make(0.13, 0.92, false, 5);
    assert_near(a.low, 0, 1e-12);
    assert_near(a.high, 1, 1e-12);
    assert_int_equal(a.count, 6);
    check_label(&a, a.ticks[1], "0.2");
    assert_near(lcsm_axis_place(&a, 0.25), 0.25, 1e-12);
    assert_near(lcsm_axis_place(&a, 7), 1, 0);
}

TEST(axis_log_has_powers_or_their_parts)
{
    lcsm_axis a = lcsm_axis_make(1, 1000000, true, 6), b = lcsm_axis_make(10, 100, true, 6);
    assert_int_equal(a.count, 7);
    check_label(&a, a.ticks[6], "1M");
    assert_int_equal(b.count, 4);
    check_label(&b, b.ticks[1], "20");
    assert_near(lcsm_axis_place(&a, 1000), 0.5, 1e-12);
}

TEST(axis_log_of_a_narrow_range_has_even_steps)
{
    lcsm_axis a = lcsm_axis_make(24.3, 38.6, true, 6);
    assert_true(a.log && a.count >= 4);
    assert_near(a.low, 20, 1e-12);
    assert_near(a.high, 40, 1e-12);
    check_label(&a, a.ticks[1], "25");
    assert_near(lcsm_axis_place(&a, sqrt(800)), 0.5, 1e-12);
}

TEST(axis_of_a_broken_range_can_be_drawn)
{
    const double ranges[][2] = {{NAN, NAN}, {5, 5}, {0, 0}, {3, 1}, {-INFINITY, 2}, {1e300, 1e300}};
    for (size_t j = 0; j < COUNT(ranges); j++) {
        for (int log = 0; log < 2; log++) {
            lcsm_axis a = lcsm_axis_make(ranges[j][0], ranges[j][1], log == 1, 5);
            assert_true(a.low < a.high && isfinite(a.low) && isfinite(a.high));
            assert_true(isfinite(lcsm_axis_place(&a, 5)));
        }
    }
}

TEST(axis_at_takes_the_ticks_that_are_given)
{
    lcsm_axis    a      = lcsm_axis_make(32, 256, true, 6);
    const double four[] = {32, 64, 128, 256}, half[] = {0.5, 1};
    lcsm_axis_at(&a, four, 4);
    assert_int_equal(a.count, 4);
    check_label(&a, 64, "64");
    a.log = false;
    lcsm_axis_at(&a, half, 2);
    check_label(&a, 0.5, "0.5");
}

/* ---- ranks --------------------------------------------------------------------------------- */

TEST(ranks_share_places_and_pass_over_gaps)
{
    const double values[] = {3, 1, NAN, 1, 2};
    double       up[5], down[5];
    lcsm_ranks(up, values, 5, false);
    lcsm_ranks(down, values, 5, true);
    const double want_up[] = {4, 1.5, 0, 1.5, 3}, want_down[] = {1, 3.5, 0, 3.5, 2};
    for (int j = 0; j < 5; j++) {
        if (j == 2) continue;
        assert_near(up[j], want_up[j], 0);
        assert_near(down[j], want_down[j], 0);
    }
    assert_true(isnan(up[2]));
}

TEST(spearman_is_that_of_ranks)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {5, 6, 7, 8, 7}, c[] = {1, NAN, 1, 1, 1};
    size_t       pairs;
    /* ranks of b are 1 2 3.5 5 3.5: r = 8/sqrt(10 * 9.5) */
    assert_near(lcsm_spearman(a, b, 5, &pairs), 8 / sqrt(95), 1e-12);
    assert_int_equal(pairs, 5);
    assert_true(isnan(lcsm_spearman(a, c, 5, &pairs)));
    assert_int_equal(pairs, 4);
    assert_true(isnan(lcsm_spearman(a, b, 0, NULL)));
    assert_true(isnan(lcsm_spearman(a, b, 1, NULL)));
}

TEST(mean_and_quantile_of_few)
{
    const double values[] = {1, NAN, 3}, sorted[] = {1, 2, 4};
    double       mean, deviation;
    lcsm_mean_of(values, 3, &mean, &deviation);
    assert_near(mean, 2, 0);
    assert_near(deviation, sqrt(2), 1e-15);
    lcsm_mean_of(values, 1, &mean, &deviation);
    assert_near(deviation, 0, 0);
    lcsm_mean_of(values, 0, &mean, &deviation);
    assert_true(isnan(mean));
    assert_near(lcsm_quantile(sorted, 3, 0.75), 3, 0);
    assert_near(lcsm_quantile(sorted, 3, 1), 4, 0);
    assert_true(isnan(lcsm_quantile(sorted, 0, 0.5)));
    const double endless[] = {1, 2, INFINITY, INFINITY};
    assert_near(lcsm_quantile(endless, 3, 0.5), 2, 0);
    assert_true(isinf(lcsm_quantile(endless, 4, 0.5)) && isinf(lcsm_quantile(endless, 4, 0.9)));
}

TEST(number_text_is_short_however_large_the_number)
{
    char text[LCSM_NUMBER_TEXT];
    assert_string_equal(lcsm_number_text(text, 2, 24.256), "24.26");
    assert_string_equal(lcsm_number_text(text, 0, 999999999999.0), "999999999999");
    assert_string_equal(lcsm_number_text(text, 3, -7.0710678e39), "-7.07e+39");
}
