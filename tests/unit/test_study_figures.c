/* test_study_figures.c - which figures an experiment has, and what they say. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/study_figures.h"
#include "temp_folder.h"
#include "test.h"
#include "text_has.h"

/* ---- panels -------------------------------------------------------------------------------- */

enum { VARIANTS = 2, POINTS = 4 };

/* Two variants at up to four points, and the figures that come of them. */
typedef struct {
    lcsm_study      s;
    const char     *variants[VARIANTS];
    double          points[POINTS][LCSM_STUDY_AXES];
    lcsm_study_cell cells[VARIANTS * POINTS];
    double          paper[VARIANTS], means[VARIANTS];
    lcsm_doc        doc;
} sample;

static void sample_draw(sample *a, const char *metric, const char *first, const char *second,
                        const double (*points)[2], size_t count)
{
    *a = (sample){.variants = {"one", "two"}, .paper = {NAN, NAN}, .means = {0.5, 0.25}};
    for (size_t p = 0; p < count; p++) memcpy(a->points[p], points[p], sizeof points[p]);
    for (size_t j = 0; j < COUNT(a->cells); j++)
        a->cells[j] = (lcsm_study_cell){.value = 0.5, .seeds = 1, .counted = 1};
    a->s = (lcsm_study){.name          = "n",
                        .metric        = lcsm_metric_find(metric),
                        .axes          = {first, second},
                        .variants      = a->variants,
                        .points        = a->points,
                        .cells         = a->cells,
                        .paper         = a->paper,
                        .axis_count    = second == NULL ? 1 : 2,
                        .variant_count = VARIANTS,
                        .point_count   = count};
    assert_int_equal(lcsm_study_figures(&a->doc, &a->s, a->means, NULL), LCSM_OK);
}

static void check_figure(const sample *a, size_t number, const char *name, const char *title,
                         const char *caption)
{
    assert_true(number < a->doc.count);
    const lcsm_block *b = &a->doc.blocks[number];
    char              head[160];
    (void)snprintf(head, sizeof head, "class=\"head\">%s</text>", title);
    assert_int_equal(b->kind, LCSM_BLOCK_FIGURE);
    assert_string_equal(b->name, name);
    assert_string_equal(b->text, caption);
    assert_has(b->more, head);
}

TEST(figures_have_a_panel_for_each_value_of_a_further_axis)
{
    static const double points[][2] = {{32, 1}, {32, 16}, {16, 1}, {16, 16}};
    sample              a;
    sample_draw(&a, "accuracy", "d_model", "tau", points, 4);
    assert_int_equal(a.doc.count, 2);
    check_figure(&a, 0, "n-accuracy-1", "Accuracy at tau 1",
                 "Accuracy of each variant against width, at tau 1.");
    check_figure(&a, 1, "n-accuracy-2", "Accuracy at tau 16",
                 "Accuracy of each variant against width, at tau 16.");
    /* Two widths are two points of each line, the smaller one left. */
    assert_int_equal(count_of(a.doc.blocks[0].more, "<polyline"), 2);
    assert_int_equal(count_of(a.doc.blocks[0].more, "one: width 16"), 1);
    assert_int_equal(count_of(a.doc.blocks[0].more, "one: width 32"), 1);
    assert_true(strstr(a.doc.blocks[0].more, "one: width 16")
                < strstr(a.doc.blocks[0].more, "one: width 32"));
    lcsm_doc_free(&a.doc);
}

TEST(figures_without_a_width_go_along_the_first_axis_that_varies)
{
    static const double points[][2] = {{0, 2}, {1, 2}, {2, 2}};
    sample              a;
    sample_draw(&a, "accuracy", "dropout", "layers", points, 3);
    check_figure(&a, 0, "n-accuracy-1", "Accuracy at layers 2",
                 "Accuracy of each variant against dropout, at layers 2.");
    assert_int_equal(count_of(a.doc.blocks[0].more, "one: dropout"), 3); /* 0 among them */
    lcsm_doc_free(&a.doc);

    static const double other[][2] = {{8, 2}, {8, 3}};
    sample_draw(&a, "accuracy", "d_model", "layers", other, 2);
    check_figure(&a, 0, "n-accuracy-1", "Accuracy at width 8",
                 "Accuracy of each variant against layers, at width 8.");
    lcsm_doc_free(&a.doc);
}

TEST(figures_of_one_point_are_bars_that_name_it)
{
    static const double point[][2] = {{8, 2}};
    sample              a;
    sample_draw(&a, "accuracy", "d_model", "layers", point, 1);
    check_figure(&a, 0, "n-bars-1", "Accuracy at width 8, layers 2", "Longer is better.");
    lcsm_doc_free(&a.doc);
}

/* Each task has its own bars, with its own numbers. */
TEST(figures_of_tasks_are_bars_of_each)
{
    static const double tasks[][2] = {{8, 0}, {9, 0}};
    sample              a;
    sample_draw(&a, "score", "task", NULL, tasks, 2);
    check_figure(&a, 0, "n-bars-1", "Score at parity", "Longer is better.");
    check_figure(&a, 1, "n-bars-2", "Score at modular-arithmetic", "Longer is better.");
    assert_has(a.doc.blocks[1].more, ">0.500</text>"); /* of the cell, not the mean over tasks */
    assert_null(strstr(a.doc.blocks[1].more, ">0.250</text>"));
    lcsm_doc_free(&a.doc);
}

TEST(figures_of_a_speed_have_panels_too)
{
    static const double points[][2] = {{64, 8}, {128, 8}, {64, 16}, {128, 16}};
    sample              a;
    sample_draw(&a, "speed", "seq_len", "d_model", points, 4);
    assert_int_equal(a.doc.count, 4);
    check_figure(&a, 1, "n-time-2", "Time per token at width 16",
                 "Time of a training step per token, median over steps, against length, at "
                 "width 16. A flat line means that the time is proportional to the length; that of "
                 "attention grows faster.");
    lcsm_doc_free(&a.doc);
}

/* ---- half-lives ---------------------------------------------------------------------------- */

TEST(figures_of_half_lives_say_whose_they_are_and_how_they_were_made)
{
    static const double points[][2] = {{16, 1}, {32, 1}};
    static const char   inspect[] = "{\"version\": 3, \"layers\": [{\"half_life\": [1, null, 3]}]}";
    temp_folder         f         = temp_folder_make();
    lcsm_record         r;
    sample              a;
    temp_write(&f, "inspect.json", inspect, strlen(inspect));
    assert_int_equal(lcsm_record_read(&r, f.path, NULL), LCSM_OK);
    sample_draw(&a, "accuracy", "seq_len", "d_model", points, 2);
    a.cells[1].best = &r; /* of the first variant at the last point */
    lcsm_doc_free(&a.doc);
    assert_int_equal(lcsm_study_figures(&a.doc, &a.s, a.means, NULL), LCSM_OK);
    assert_int_equal(a.doc.count, 4);
    assert_has(a.doc.blocks[2].text,
               "in each variant's best run at length 32, width 1: the number");
    check_figure(&a, 3, "n-half-lives-1", "one, length 32, width 1",
                 "3 memory rows per layer. A row's half-life is the median over its channels; "
                 "where gates depend on the data, a channel's half-life is that of its mean log "
                 "decay over the inspected text.");
    lcsm_doc_free(&a.doc);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}
