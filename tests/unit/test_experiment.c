/* test_experiment.c - grids, and their runs with a stand-in for the program that trains. */
#include <lcsm/experiment.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "eos/method.h"
#include "experiment/grid.h"
#include "experiment/run_plan.h"
#include "near.h"
#include "report/study.h"
#include "temp_folder.h"
#include "test.h"

/* ---- the catalogue ------------------------------------------------------------------------- */

static void check_grid(const char *name, const char *scale)
{
    lcsm_experiment_options o = {.size = sizeof o, .name = name, .scale = scale};
    lcsm_grid               g;
    lcsm_error              err;
    if (lcsm_grid_open(&g, &o, &err) != LCSM_OK) fail_msg("%s at %s: %s", name, scale, err.text);
    for (size_t j = 0; j < g.run_count; j++) {
        assert_true(g.runs[j].tokens > 0);
        assert_true(lcsm_path_is_bare(g.runs[j].name));
        for (size_t k = 0; k < j; k++) assert_string_not_equal(g.runs[j].name, g.runs[k].name);
    }
    lcsm_grid_free(&g);
}

static void take_info(void *user, const lcsm_experiment_info *info)
{
    size_t *count = user;
    (*count)++;
    check_grid(info->name, "tiny");
    check_grid(info->name, "small");
    assert_true(info->runs[2] >= info->variants);
    assert_true(strlen(info->title) > 0 && strlen(info->about) > 0);
}

TEST(experiments_of_the_tree_are_all_right)
{
    size_t count = 0;
    assert_int_equal(lcsm_experiment_list(take_info, &count, NULL), LCSM_OK);
    assert_true(count >= 12);
}

static lcsm_grid open_grid(const char *name, const char *scale)
{
    lcsm_experiment_options o = {.size = sizeof o, .name = name, .scale = scale};
    lcsm_grid               g;
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    return g;
}

TEST(every_method_is_a_variant_for_each_row_of_the_table)
{
    lcsm_grid g = open_grid("methods", "tiny");
    size_t    n = 0;
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        const char *name = LCSM_METHODS[j].name;
        if (strcmp(name, "code") == 0 || strcmp(name, "custom") == 0) continue;
        assert_string_equal(g.variants[n], name);
        assert_string_equal(g.runs[n].model.method, name);
        n++;
    }
    assert_int_equal(g.variant_count, n + 2); /* and two codes */
    lcsm_grid_free(&g);
}

TEST(paper_scale_is_the_grid_of_the_paper)
{
    lcsm_grid g = open_grid("data-dependence-mqar", "paper");
    assert_int_equal(g.run_count, 8 * 4 * 4 * 7); /* codes, lengths, widths, rates */
    const lcsm_grid_run *last = &g.runs[g.run_count - 1];
    assert_string_equal(last->name, "1-1-1-0_seq_len-256_d_model-512_lr-0.01_seed-1");
    assert_int_equal(last->train.pairs, 16);
    assert_int_equal(last->train.batch_size, 256);
    assert_int_equal(last->model.expand, 128);
    assert_near(last->tokens, 64.0 * 100000 * 256, 0);
    lcsm_grid_free(&g);

    g = open_grid("o-types-lm", "paper");
    for (size_t j = 0; j < g.run_count; j++) {
        static const int depth[12] = {10, 9, 9, 10, 11, 11, 10, 9, 9, 10, 10, 10};
        assert_int_equal(g.runs[j].model.layers, depth[j]);
        assert_near(g.runs[j].tokens, 50000.0 * 128 * 512, 0);
    }
    lcsm_grid_free(&g);
}

TEST(the_time_of_recall_at_paper_scale_is_estimated)
{
    lcsm_grid     g   = open_grid("data-dependence-mqar", "paper");
    lcsm_context *ctx = NULL;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_true(g.runs[0].train.pairs < g.runs[0].train.seq_len / 8);
    assert_true(lcsm_plan_rate(ctx, &g.runs[0], 0) > 0);
    lcsm_context_free(ctx);
    lcsm_grid_free(&g);
}

TEST(options_take_the_place_of_the_scale)
{
    const double            rates[] = {0.1, 0.2};
    lcsm_experiment_options o       = {.size     = sizeof o,
                                       .name     = "tau-mqar",
                                       .scale    = "tiny",
                                       .lr       = rates,
                                       .lr_count = 2,
                                       .seeds    = 3,
                                       .only     = "tau 64,tau 1"};
    lcsm_grid               g;
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_int_equal(g.run_count, 2 * 2 * 2 * 3); /* labels, widths, rates, seeds */
    assert_near(g.runs[0].model.tau, 1, 0);
    assert_near(g.runs[g.run_count - 1].lr, 0.2, 0);
    assert_near(g.runs[g.run_count - 1].seed, 3, 0);
    lcsm_grid_free(&g);
}

TEST(runs_of_one_name_and_too_many_seeds_are_refused)
{
    const double            rates[] = {0.1, 0.2, 0.1};
    lcsm_experiment_options o       = {.size     = sizeof o,
                                       .name     = "tau-mqar",
                                       .scale    = "tiny",
                                       .lr       = rates,
                                       .lr_count = 3,
                                       .only     = "tau 64"};
    lcsm_grid               g;
    lcsm_error              err;
    assert_int_not_equal(lcsm_grid_open(&g, &o, &err), LCSM_OK);
    assert_non_null(strstr(err.text, "two runs are named"));
    o.lr_count = 2;
    o.seeds    = SIZE_MAX / 4;
    assert_int_not_equal(lcsm_grid_open(&g, &o, &err), LCSM_OK);
    assert_non_null(strstr(err.text, "expected at most"));
}

/* ---- files of one's own -------------------------------------------------------------------- */

#define RATES(variants, fixed, lr, more)                                                           \
    "{\"title\": \"T\", \"task\": \"mqar\", \"metric\": \"accuracy\", \"variants\": " variants     \
    ", \"scales\": {\"tiny\": {\"fixed\": " fixed ", \"lr\": [" lr "]" more "}}}"
#define GRID(variants, fixed, more) RATES(variants, fixed, "0.1", more)
#define TWO                         "[{\"label\": \"a\", \"code\": \"1-1-1-0\"}, {\"label\": \"b\", \"code\": \"1-0-1-0\"}]"

#define ONE(more) "[{\"label\": \"a\", \"code\": \"1-1-1-0\", " more "}]"
#define OWN                                                                                        \
    "[{\"label\": \"a\", \"code\": \"1-1-1-0\"}, {\"label\": \"b\", \"code\": \"1-0-1-0\", "       \
    "\"at\": {\"tiny\": {\"lr\": 0.5}}}]"

/* Each with a part of the message. */
static const char *const WRONG_GRIDS[][2] = {
    {GRID(TWO, "{\"d_modle\": 8}", ""), "a: d_modle is not a known key; did you mean d_model?"},
    {GRID(TWO, "{\"btach_size\": 8}", ""), "did you mean batch_size?"},
    {GRID(TWO, "{\"d_model\": -1}", ""), "d_model is -1"},
    {GRID(TWO, "{\"heads\": null}", ""), "a: heads is null; expected a number"},
    {GRID(TWO, "{\"heads\": [4]}", ""), "heads is a list; expected a number"},
    {GRID(TWO, "{\"heads\": {\"a\": 4}}", ""), "heads is an object; expected a number"},
    {GRID("[{\"label\": \"a\", \"code\": \"1-99-1-0\"}]", "{}", ""), "1-99-1-0"},
    {GRID("[{\"label\": \"a\", \"method\": \"mamba\", \"tau\": 8}]", "{}", ""),
     "tau is unused in method mamba"},
    {GRID("[{\"label\": \"a\"}]", "{\"method\": \"mamba\", \"tau\": 8}", ""),
     "tau is unused in method mamba"},
    {GRID(TWO, "{\"valid_fraction\": 0.5}", ""), "valid_fraction is unused in the task mqar"},
    {GRID("[{\"code\": \"1-1-1-0\"}]", "{}", ""), "variants[0].label is missing"},
    {GRID("[]", "{}", ""), "variants is"},
    {"{\"title\": \"T\", \"task\": \"lm\", \"metric\": \"perplexty\"}", "perhaps \"perplexity\""},
    {"{\"title\": \"T\", \"task\": \"lm\", \"metric\": \"zzz\"}", "\"bits_per_byte\""},
    {GRID(TWO, "{}", ", \"axess\": {}"), "did you mean \"axes\"?"},
    {GRID(TWO, "{}", ", \"axes\": {\"d_model\": [\"x\"]}"), "scales.tiny.axes.d_model[0]"},
    {GRID(TWO, "{}", ", \"axes\": {\"d_model\": [{\"pairs\": 1}]}"), "d_model is missing"},
    {RATES(TWO, "{}", "0.1, {\"lr\": 0.1}", ""),
     "expected a different rate: 0.1 is already in the list"},
    {RATES(TWO, "{}", "{\"weight_decay\": 1}", ""), "lr is missing"},
    {RATES(OWN, "{}", "0.1, 0.2", ""),
     "/grid.json, b: lr is 0.5; expected none, because the scale has 2 learning rates"},
    {GRID(ONE("\"lr\": \"x\""), "{}", ""), "/grid.json, a: lr is x; expected a number"},
    {GRID(ONE("\"lr\": [1]"), "{}", ""), "/grid.json, a: lr is a list; expected a number"},
    {GRID(TWO, "{\"lr\": 0.5}", ""), "scales.tiny.fixed.lr is 0.5 (a real); expected none here"},
    {GRID(TWO, "{\"seed\": 5}", ""), "scales.tiny.fixed.seed is 5; expected none here"},
    {GRID(TWO, "{\"task\": \"lm\"}", ""), "scales.tiny.fixed.task is \"lm\""},
    {GRID(ONE("\"seed\": 5"), "{}", ""), "variants[0].seed is 5"},
    {GRID(ONE("\"at\": {\"tiny\": {\"seed\": 5}}"), "{}", ""), "at.tiny.seed is 5"},
    {GRID(ONE("\"at\": {\"tiny\": 5}"), "{}", ""), "at.tiny is 5; expected an object"},
    {GRID(ONE("\"at\": {\"paper\": {}}"), "{}", ""), "\"scales\" has no \"paper\""},
    {GRID(ONE("\"at\": {\"tinny\": {}}"), "{}", ""), "did you mean \"tiny\"?"},
    {GRID(TWO, "{}", ", \"axes\": {\"seed\": [1, 2]}"), "axes.seed is"},
    {GRID(TWO, "{}", ", \"axes\": {\"lr\": [1, 2]}"), "axes.lr is"},
    {GRID(TWO, "{}", ", \"axes\": {\"expand\": [{\"expand\": 8, \"seed\": 2}]}"),
     "axes.expand[0].seed is 2"},
    {RATES(TWO, "{}", "{\"lr\": 1, \"seed\": 2}", ""), "lr[0].seed is 2"},
    {RATES(TWO, "{}", "{\"lr\": 1, \"decay\": 1}", ""), "decay is not a known key"},
    {RATES(TWO, "{}", "0.01000000000001, 0.01000000000002", ""), "must differ within ten digits"},
    {GRID(ONE("\"expand\": 4"), "{}", ", \"axes\": {\"expand\": [4, 8]}"),
     "a: expand is set by the variant and by an axis"},
    {GRID(ONE("\"at\": {\"tiny\": {\"pairs\": 2}}"), "{}",
          ", \"axes\": {\"seq_len\": [{\"seq_len\": 8, \"pairs\": 2}]}"),
     "a: pairs is set by the variant and by an axis"},
    {"{\"title\": \"T\"}", "task is missing"},
    {"{", "grid.json"},
};

TEST(wrong_grids_are_refused_with_the_place)
{
    temp_folder f = temp_folder_make();
    for (size_t j = 0; j < COUNT(WRONG_GRIDS); j++) {
        lcsm_experiment_options o = {.size = sizeof o, .name = f.path, .scale = "tiny"};
        lcsm_grid               g;
        lcsm_error              err;
        temp_write(&f, "grid.json", WRONG_GRIDS[j][0], strlen(WRONG_GRIDS[j][0]));
        assert_int_not_equal(lcsm_grid_open(&g, &o, &err), LCSM_OK);
        if (strstr(err.text, WRONG_GRIDS[j][1]) == NULL) fail_msg("%zu: %s", j, err.text);
    }
    temp_folder_remove(&f);
}

TEST(a_rate_may_bring_other_settings)
{
    static const char grid[] =
        RATES(TWO, "{\"weight_decay\": 0.5}", "0.1, {\"lr\": 0.2, \"weight_decay\": 0.3}", "");
    const double            rate = 0.2;
    temp_folder             f    = temp_folder_make();
    lcsm_experiment_options o    = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_int_equal(g.run_count, 4);
    assert_near(g.runs[0].train.weight_decay, 0.5, 0);
    assert_near(g.runs[1].train.weight_decay, 0.3, 0);
    assert_near(g.runs[1].train.lr, 0.2, 0);
    lcsm_grid_free(&g);
    o.lr       = &rate; /* rates of the command line bring nothing */
    o.lr_count = 1;
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_int_equal(g.run_count, 2);
    assert_near(g.runs[0].train.weight_decay, 0.5, 0);
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

TEST(a_variant_may_have_a_rate_of_its_own)
{
    static const char       grid[] = RATES(OWN, "{}", "{\"lr\": 0.1, \"weight_decay\": 0.3}", "");
    const double            rate   = 0.2;
    temp_folder             f      = temp_folder_make();
    lcsm_experiment_options o      = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_near(g.runs[0].train.lr, 0.1, 0);
    assert_near(g.runs[0].train.weight_decay, 0.3, 0);
    assert_near(g.runs[1].train.lr, 0.5, 0);
    assert_near(g.runs[1].train.weight_decay, 0.3, 0);
    assert_string_equal(g.runs[1].name, "b_lr-0.5_seed-1");
    lcsm_grid_free(&g);
    o.lr       = &rate; /* rates of the command line hold for all */
    o.lr_count = 1;
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_near(g.runs[1].train.lr, 0.2, 0);
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

TEST(settings_of_a_variant_win_over_those_of_a_rate)
{
    static const char       grid[] = RATES(ONE("\"weight_decay\": 0.7, \"lr\": 0.5"), "{}",
                                           "{\"lr\": 0.1, \"weight_decay\": 0.3, \"beta1\": 0.8}", "");
    temp_folder             f      = temp_folder_make();
    lcsm_experiment_options o      = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_near(g.runs[0].train.lr, 0.5, 0);
    assert_near(g.runs[0].train.weight_decay, 0.7, 0);
    assert_near(g.runs[0].train.beta1, 0.8, 0);
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

TEST(a_run_has_only_the_shared_settings_that_its_model_reads)
{
    static const char grid[] = GRID(
        "[{\"label\": \"a\", \"code\": \"1-1-1-0\"}, {\"label\": \"b\", \"method\": \"mamba\"}]",
        "{\"expand\": 8}", "");
    temp_folder             f = temp_folder_make();
    lcsm_experiment_options o = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_non_null(json_object_get(g.runs[0].settings, "expand"));
    assert_null(json_object_get(g.runs[1].settings, "expand"));
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

TEST(names_have_the_digits_that_tell_runs_apart)
{
    static const char grid[]  = RATES(TWO, "{}", "0.010000001, 0.010000002, 0.01", "");
    static const char axis[]  = RATES(TWO, "{}", "0.01", ", \"axes\": {\"tokens\": [1000000]}");
    temp_folder       f       = temp_folder_make();
    lcsm_experiment_options o = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_string_equal(g.runs[0].name, "a_lr-0.010000001_seed-1");
    assert_string_equal(g.runs[1].name, "a_lr-0.010000002_seed-1");
    assert_string_equal(g.runs[2].name, "a_lr-0.01_seed-1");
    lcsm_grid_free(&g);
    temp_write(&f, "grid.json", axis, strlen(axis));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    assert_string_equal(g.runs[0].name, "a_tokens-1e+06_lr-0.01_seed-1");
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

#define COMMA                                                                                      \
    "[{\"label\": \"a\", \"code\": \"1-1-1-0\"}, {\"label\": \"tau 8, fixed\", \"code\": "         \
    "\"1-0-1-0\"}, {\"label\": \"linear\", \"code\": \"1-2-1-0\"}]"

TEST(every_word_of_only_is_a_label)
{
    static const struct {
        const char *only;
        size_t      runs;
        const char *want;
    } cases[] = {
        {NULL, 3, ""},
        {"a", 1, ""},
        {"linear,a", 2, ""},
        {"tau 8, fixed", 1, ""},
        {"a,linaer", 0, "has no variant \"linaer\"; did you mean \"linear\"?"},
        {"a,nothing-like-it", 0, "has no variant \"nothing-like-it\"; its first is \"a\""},
        {"a,", 0, "has no variant \"\""},
        {"", 0, "has no variant \"\""},
    };
    static const char grid[] = GRID(COMMA, "{}", "");
    temp_folder       f      = temp_folder_make();
    temp_write(&f, "grid.json", grid, strlen(grid));
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_experiment_options o = {
            .size = sizeof o, .name = f.path, .scale = "tiny", .only = cases[j].only};
        lcsm_error err = {.text = ""};
        lcsm_grid  g;
        (void)lcsm_grid_open(&g, &o, &err);
        assert_int_equal(g.run_count, cases[j].runs);
        if (strstr(err.text, cases[j].want) == NULL) fail_msg("%zu: %s", j, err.text);
        lcsm_grid_free(&g);
    }
    temp_folder_remove(&f);
}

#define TEN    "abcdefghij"
#define FIFTY  TEN TEN TEN TEN TEN
#define LONGER "[{\"label\": \"" FIFTY FIFTY FIFTY "\", \"code\": \"1-1-1-0\"}]"

TEST(a_name_that_does_not_fit_is_refused)
{
    static const char       grid[] = GRID(LONGER, "{}", "");
    temp_folder             f      = temp_folder_make();
    lcsm_experiment_options o      = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    lcsm_error              err;
    temp_write(&f, "grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_grid_open(&g, &o, &err), LCSM_ERR_CONFIG);
    assert_non_null(strstr(err.text, "has 164 characters; expected at most 159"));
    temp_folder_remove(&f);
}

#define FINDING(more) "{\"findings\": [{\"text\": \"x\", " more "}]}"
#define BETTER        "\"better\": [\"a\"], \"than\": [\"b\"]"
#define AXES          ", \"axes\": {\"expand\": [8, 16]}"

TEST(rows_and_findings_that_say_nothing_are_refused)
{
    static const char *const cases[][2] = {
        {"{\"rows\": 1}", "rows is 1; expected an array"},
        {"{\"rows\": [1]}", "rows[0] is 1; expected an object"},
        {"{\"rows\": [{\"label\": \"c\"}]}", "rows[0].label is \"c\""},
        {"{\"rows\": [{\"label\": \"a\", \"valid\": \"2\"}]}", "rows[0].valid is \"2\""},
        {"{\"rows\": [{\"label\": \"a\", \"test\": true}]}", "rows[0].test is true"},
        {"{\"rows\": [{\"label\": \"a\", \"parameters\": []}]}", "parameters is an array"},
        {"{\"findings\": {}}", "findings is an object"},
        {FINDING("\"better\": [\"c\"], \"than\": [\"b\"]"), "findings[0].better[0] is \"c\""},
        {FINDING("\"better\": \"a\", \"than\": [\"b\"]"), "findings[0].better is \"a\""},
        {FINDING("\"better\": [], \"than\": [\"b\"]"), "findings[0].better is"},
        {FINDING("\"better\": [\"a\"]"), "expected better and than together"},
        {FINDING("\"than\": [\"a\"]"), "expected better and than together"},
        {FINDING("\"rising\": [\"a\"]"), "findings[0].rising is"},
        {FINDING(BETTER ", \"by\": \"0.1\""), "findings[0].by is \"0.1\""},
        {FINDING(BETTER ", \"any\": 1"), "findings[0].any is 1"},
        {FINDING(BETTER ", \"at\": 16"), "findings[0].at is 16"},
        {FINDING(BETTER ", \"at\": {\"expnad\": 16}"),
         "at.expnad is 16; expected the key of an axis"},
        {FINDING(BETTER ", \"at\": {\"expand\": \"16\"}"), "at.expand is \"16\""},
    };
    static const char fine[] =
        FINDING(BETTER ", \"by\": 1, \"any\": true, \"at\": {\"expand\": 8}");
    temp_folder             f = temp_folder_make();
    lcsm_experiment_options o = {.size = sizeof o, .name = f.path, .scale = "tiny"};
    lcsm_grid               g;
    temp_write(&f, "grid.json", GRID(TWO, "{}", AXES), strlen(GRID(TWO, "{}", AXES)));
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_error err;
        temp_write(&f, "paper.json", cases[j][0], strlen(cases[j][0]));
        if (lcsm_grid_open(&g, &o, &err) == LCSM_OK) fail_msg("%zu is taken", j);
        if (strstr(err.text, cases[j][1]) == NULL) fail_msg("%zu: %s", j, err.text);
    }
    temp_write(&f, "paper.json", fine, strlen(fine));
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    lcsm_grid_free(&g);
    temp_folder_remove(&f);
}

TEST(unknown_names_and_scales_are_told)
{
    const struct {
        const char *name, *scale, *want;
    } cases[] = {{"tau-mqra", "tiny", "did you mean tau-mqar?"},
                 {"tau-mqar", "tinny", "unknown scale \"tinny\""},
                 {"no/such/folder", "tiny", "grid.json"}};
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_experiment_options o = {
            .size = sizeof o, .name = cases[j].name, .scale = cases[j].scale};
        lcsm_grid  g;
        lcsm_error err;
        assert_int_not_equal(lcsm_grid_open(&g, &o, &err), LCSM_OK);
        if (strstr(err.text, cases[j].want) == NULL) fail_msg("%s", err.text);
    }
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* Writes its words to FOLDER/calls and a finished run, unless a file says that it must fail. */
static const char STAND_IN[] =
    "#!/bin/sh\n"
    "home=$(dirname \"$0\")\n"
    "echo \"$@\" >>\"$home/calls\"\n"
    "while [ \"$1\" != --out ]; do shift; done\n"
    "run=$2\n"
    "case $run in *b_*) [ ! -f \"$home/b-fails\" ] || { echo 'no such luck'; exit 3; } ;; esac\n"
    "case $run in *b_*) [ ! -f \"$home/b-dies\" ] || kill -9 $$ ;; esac\n"
    "echo '{\"task\": \"mqar\"}' >\"$run/config.json\"\n"
    "echo '{\"kind\":\"eval\",\"step\":1,\"split\":\"valid\",\"loss\":1,\"accuracy\":0.5}' "
    ">>\"$run/metrics.jsonl\"\n"
    "echo '{\"kind\":\"end\",\"reason\":\"steps\",\"step\":1,\"seconds\":1}' "
    ">>\"$run/metrics.jsonl\"\n";

typedef struct {
    temp_folder            f;
    char                   program[100], out[100], grid[100];
    lcsm_context          *ctx;
    lcsm_experiment_result result;
    char                   ends[400];
    double                 planned, left; /* flops of the plan; seconds when the first run starts */
} lab;

static void take_event(void *user, const lcsm_experiment_event *e)
{
    lab *l = user;
    if (e->kind == LCSM_EXPERIMENT_PLAN) l->planned = e->flops;
    if (e->kind == LCSM_EXPERIMENT_START && isnan(l->left)) l->left = e->left;
    if (e->kind != LCSM_EXPERIMENT_END) return;
    size_t used = strlen(l->ends);
    (void)snprintf(l->ends + used, sizeof l->ends - used, "%s %s;", e->run, e->text);
}

static lab lab_make(void)
{
    lab         l      = {.f = temp_folder_make()};
    const char *grid   = GRID(TWO, "{\"d_model\": 8, \"steps\": 1}", "");
    const char *folder = temp_path(&l.f, "grid");
    (void)snprintf(l.program, sizeof l.program, "%s/train", l.f.path);
    (void)snprintf(l.out, sizeof l.out, "%s/out", l.f.path);
    (void)snprintf(l.grid, sizeof l.grid, "%s/grid", l.f.path);
    assert_int_equal(lcsm_folder_make(folder, NULL), LCSM_OK);
    temp_write(&l.f, "grid/grid.json", grid, strlen(grid));
    temp_write(&l.f, "train", STAND_IN, strlen(STAND_IN));
    assert_int_equal(chmod(l.program, 0755), 0);
    assert_int_equal(lcsm_context_create(&l.ctx, NULL, NULL), LCSM_OK);
    return l;
}

static void lab_free(lab *l)
{
    lcsm_context_free(l->ctx);
    temp_folder_remove(&l->f);
}

static lcsm_status lab_run(lab *l, lcsm_error *err)
{
    lcsm_experiment_options o     = {.size    = sizeof o,
                                     .name    = l->grid,
                                     .scale   = "tiny",
                                     .out     = l->out,
                                     .program = l->program,
                                     .jobs    = 1};
    lcsm_experiment_hooks   hooks = {.size = sizeof hooks, .event = take_event, .user = l};
    l->ends[0]                    = '\0';
    l->result.size                = sizeof l->result;
    l->left                       = NAN;
    return lcsm_experiment_run(l->ctx, &o, &hooks, &l->result, err);
}

static size_t count_calls(const lab *l)
{
    size_t size, lines = 0;
    char  *text = (char *)temp_read(&l->f, "calls", &size);
    for (size_t j = 0; j < size; j++) lines += text[j] == '\n';
    free(text);
    return lines;
}

TEST(runs_that_are_done_are_not_done_again)
{
    lab l = lab_make();
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 2);
    assert_int_equal(count_calls(&l), 2);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 2);
    assert_int_equal(count_calls(&l), 2);
    assert_string_equal(l.ends, "");

    lcsm_study s;
    assert_int_equal(lcsm_study_read(&s, l.out, NULL), LCSM_OK);
    assert_int_equal(s.run_count, 2);
    assert_near(lcsm_study_mean(&s, 1, NULL), 0.5, 0);
    assert_non_null(strstr(s.runs[0].command, "--code 1-1-1-0"));
    assert_non_null(strstr(s.runs[0].command, "--d-model 8"));
    lcsm_study_free(&s);
    lab_free(&l);
}

TEST(a_run_that_fails_is_recorded_and_the_rest_goes_on)
{
    lab    l = lab_make();
    char  *text;
    size_t size;
    temp_write(&l.f, "b-fails", "", 0);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 1);
    assert_int_equal(l.result.failed, 1);
    text = (char *)temp_read(&l.f, "out/runs/b_lr-0.1_seed-1/failed.txt", &size);
    assert_string_equal(text, "exit code 3: no such luck\n");
    free(text);
    assert_int_equal(remove(temp_path(&l.f, "b-fails")), 0);

    temp_write(&l.f, "b-dies", "", 0);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_non_null(strstr(l.ends, "ended by signal 9"));
    assert_int_equal(remove(temp_path(&l.f, "b-dies")), 0);

    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 2);
    assert_int_equal(count_calls(&l), 4);
    lab_free(&l);
}

TEST(an_interrupted_run_goes_on_from_its_checkpoint)
{
    lab l = lab_make();
    assert_int_equal(
        lcsm_folder_make(temp_path(&l.f, "out/runs/a_lr-0.1_seed-1/checkpoints/step-00000001"),
                         NULL),
        LCSM_OK);
    temp_write(&l.f, "out/runs/a_lr-0.1_seed-1/config.json", "{}", 2);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    size_t size;
    char  *calls = (char *)temp_read(&l.f, "calls", &size);
    assert_ptr_equal(strstr(calls, "train --resume --out"), calls);
    assert_null(strstr(strchr(calls, '\n'), "--resume"));
    free(calls);
    lab_free(&l);
}

#define RUN_A "out/runs/a_lr-0.1_seed-1/"

/* Before the first run has ended the plan's own measurement says how long it will take. */
TEST(time_left_is_known_from_the_start_and_counts_what_checkpoints_have)
{
    lab         whole = lab_make(), half = lab_make();
    const char *grid = GRID(ONE("\"d_model\": 8"), "{\"steps\": 4}", "");
    temp_write(&whole.f, "grid/grid.json", grid, strlen(grid));
    temp_write(&half.f, "grid/grid.json", grid, strlen(grid));
    assert_int_equal(lcsm_folder_make(temp_path(&half.f, RUN_A "checkpoints/step-00000003"), NULL),
                     LCSM_OK);
    temp_write(&half.f, RUN_A "config.json", "{}", 2);
    assert_int_equal(lab_run(&whole, NULL), LCSM_OK);
    assert_int_equal(lab_run(&half, NULL), LCSM_OK);
    assert_true(whole.planned > 0 && whole.left > 0 && isfinite(whole.left));
    assert_near(half.planned, whole.planned / 4, 1e-9 * whole.planned);
    lab_free(&whole);
    lab_free(&half);
}

TEST(every_call_of_an_experiment_is_written_down_once)
{
    lab                     l = lab_make();
    lcsm_experiment_options o = {.size    = sizeof o,
                                 .name    = l.grid,
                                 .scale   = "tiny",
                                 .out     = l.out,
                                 .program = l.program,
                                 .jobs    = 1,
                                 .only    = "b"};
    lcsm_study              s;
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(lcsm_experiment_run(l.ctx, &o, NULL, NULL, NULL), LCSM_OK);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(lcsm_study_read(&s, l.out, NULL), LCSM_OK);
    const char *second = strchr(s.command, '\n');
    assert_non_null(second);
    assert_null(strchr(second + 1, '\n'));
    const char *only = strstr(s.command, "--jobs 1 --only b --out");
    assert_true(only != NULL && only < second);
    assert_null(strstr(second, "--only"));
    lcsm_study_free(&s);
    lab_free(&l);
}

TEST(a_run_that_lost_its_settings_fails_and_is_left_alone)
{
    static const char *const damage[] = {"{\"task\": ", NULL}; /* NULL: there is none */
    static const char        line[]   = "{\"kind\":\"train\",\"step\":1,\"loss\":1}\n";
    for (size_t j = 0; j < COUNT(damage); j++) {
        lab    l = lab_make();
        size_t size;
        assert_int_equal(lcsm_folder_make(temp_path(&l.f, RUN_A "checkpoints/step-1"), NULL),
                         LCSM_OK);
        temp_write(&l.f, RUN_A "metrics.jsonl", line, strlen(line));
        if (damage[j] != NULL) temp_write(&l.f, RUN_A "config.json", damage[j], strlen(damage[j]));
        assert_int_equal(lab_run(&l, NULL), LCSM_OK);
        assert_int_equal(l.result.failed, 1);
        assert_int_equal(l.result.done, 1);
        assert_non_null(strstr(l.ends, "a_lr-0.1_seed-1 it was trained, but its config.json"));
        char *metrics = (char *)temp_read(&l.f, RUN_A "metrics.jsonl", &size);
        assert_string_equal(metrics, line);
        free(metrics);

        temp_write(&l.f, RUN_A "config.json", "{}", 2); /* mended, it goes on */
        assert_int_equal(lab_run(&l, NULL), LCSM_OK);
        assert_int_equal(l.result.done, 2);
        lab_free(&l);
    }
}

TEST(failed_txt_goes_when_the_run_goes_on)
{
    lab l = lab_make();
    assert_int_equal(lcsm_folder_make(temp_path(&l.f, RUN_A "checkpoints/step-1"), NULL), LCSM_OK);
    temp_write(&l.f, RUN_A "config.json", "{}", 2);
    temp_write(&l.f, RUN_A "failed.txt", "x\n", 2);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 2);
    assert_false(lcsm_path_exists(temp_path(&l.f, RUN_A "failed.txt")));
    lab_free(&l);
}

TEST(a_folder_of_another_experiment_is_refused)
{
    lab        l = lab_make();
    lcsm_error err;
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    const char *other = GRID("[{\"label\": \"c\", \"code\": \"1-1-1-0\"}]", "{\"steps\": 1}", "");
    temp_write(&l.f, "grid/grid.json", other, strlen(other));
    assert_int_equal(lab_run(&l, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "use another folder"));
    lab_free(&l);
}

/* Writes another grid and runs it into the same folder. */
static lcsm_status lab_run_other(lab *l, const char *grid, lcsm_error *err)
{
    temp_write(&l->f, "grid/grid.json", grid, strlen(grid));
    return lab_run(l, err);
}

TEST(a_run_that_was_trained_with_other_settings_is_refused)
{
    static const struct {
        const char *grid, *want;
    } cases[] = {
        {GRID(TWO, "{\"d_model\": 8, \"steps\": 2}", ""),
         "the run a_lr-0.1_seed-1 was trained with --steps 1, but now has 2; use another --out"},
        {GRID(TWO, "{\"d_model\": 8, \"steps\": 1, \"expand\": 4}", ""),
         "was trained with --expand not set, but now has 4"},
        {GRID(TWO, "{\"steps\": 1}", ""), "was trained with --d-model 8, but now has none"},
    };
    lab        l = lab_make();
    lcsm_error err;
    size_t     before, after;
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    char *plan = (char *)temp_read(&l.f, "out/experiment.json", &before);
    for (size_t j = 0; j < COUNT(cases); j++) {
        assert_int_equal(lab_run_other(&l, cases[j].grid, &err), LCSM_ERR_ARGUMENT);
        if (strstr(err.text, cases[j].want) == NULL) fail_msg("%zu: %s", j, err.text);
    }
    char *same = (char *)temp_read(&l.f, "out/experiment.json", &after);
    assert_int_equal(before, after);
    assert_memory_equal(plan, same, before);
    free(plan);
    free(same);
    lab_free(&l);
}

TEST(settings_in_another_order_and_more_seeds_are_the_same_experiment)
{
    lab l = lab_make();
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(
        lab_run_other(&l, GRID(TWO, "{\"steps\": 1, \"d_model\": 8}", ", \"seeds\": 2"), NULL),
        LCSM_OK);
    assert_int_equal(l.result.done, 4);
    assert_int_equal(count_calls(&l), 4);
    lab_free(&l);
}

TEST(a_run_that_failed_may_be_mended)
{
    lab l = lab_make();
    temp_write(&l.f, "b-fails", "", 0);
    assert_int_equal(lab_run(&l, NULL), LCSM_OK);
    assert_int_equal(l.result.failed, 1);
    assert_int_equal(remove(temp_path(&l.f, "b-fails")), 0);
    const char *mended = GRID("[{\"label\": \"a\", \"code\": \"1-1-1-0\"}, "
                              "{\"label\": \"b\", \"code\": \"1-2-1-0\"}]",
                              "{\"d_model\": 8, \"steps\": 1}", "");
    assert_int_equal(lab_run_other(&l, mended, NULL), LCSM_OK);
    assert_int_equal(l.result.done, 2);
    lab_free(&l);
}

TEST(language_models_need_text_before_anything_is_written)
{
    lab                     l = lab_make();
    lcsm_error              err;
    lcsm_experiment_options o = {.size = sizeof o, .name = "tau-lm", .scale = "tiny", .out = l.out};
    assert_int_equal(lcsm_experiment_run(l.ctx, &o, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "--data"));
    assert_false(lcsm_path_exists(l.out));
    lab_free(&l);
}

TEST(a_run_folder_takes_no_experiment)
{
    lab        l = lab_make();
    lcsm_error err;
    assert_int_equal(lcsm_folder_make(l.out, NULL), LCSM_OK);
    temp_write(&l.f, "out/config.json", "{}", 2);
    temp_write(&l.f, "out/metrics.jsonl", "", 0);
    assert_int_equal(lab_run(&l, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "is a run folder"));
    assert_false(lcsm_path_exists(temp_path(&l.f, "out/experiment.json")));
    lab_free(&l);
}

/* ---- readings ------------------------------------------------------------------------------ */

static lcsm_grid open_reading(const char *name, const char *reading)
{
    lcsm_experiment_options o = {.size     = sizeof o,
                                 .name     = name,
                                 .scale    = "paper",
                                 .lr       = &(double){0.01},
                                 .lr_count = 1,
                                 .reading  = reading};
    lcsm_grid               g;
    assert_int_equal(lcsm_grid_open(&g, &o, NULL), LCSM_OK);
    return g;
}

/* The labels that the reading trains otherwise, each once, "a b". */
static void otherwise(const char *name, const char *reading, char out[256])
{
    lcsm_grid   g    = open_reading(name, reading);
    const char *last = "";
    out[0]           = '\0';
    for (size_t j = 0; j < g.run_count; j++) {
        const char *label = g.variants[g.runs[j].variant];
        bool        named = strstr(g.runs[j].name, "_as-run") != NULL;
        bool        ones = strncmp(label, "1-10-", 5) == 0, recall = strstr(name, "mqar") != NULL;
        assert_int_equal(named && !ones, !g.runs[j].model.o_trained);
        assert_int_equal(named && recall, g.runs[j].model.memory_type == LCSM_MEMORY_BF16);
        if (named && strcmp(last, label) != 0) {
            (void)snprintf(out + strlen(out), 256 - strlen(out), " %s", label);
            last = label;
        }
    }
    lcsm_grid_free(&g);
}

TEST(as_run_trains_as_the_table_of_the_erratum_says)
{
    char labels[256];
    otherwise("o-types-lm", "as-run", labels);
    assert_string_equal(labels, " 1-2-1-0 1-3-1-0 1-4-1-0 1-5-1-0");
    otherwise("o-types-mqar", "both", labels);
    assert_string_equal(labels, " 1-0-1-0 1-1-1-0 1-2-1-0 1-3-1-0 1-4-1-0 1-5-1-0 1-6-1-0 1-7-1-0 "
                                "1-8-1-0 1-9-1-0 1-10-1-0");
    otherwise("parameterisation-mqar", "as-run", labels);
    assert_string_equal(labels, " 1-1-1-0");
    otherwise("data-dependence-lm", "as-run", labels);
    assert_string_equal(labels, "");
    otherwise("o-types-mqar", "described", labels);
    assert_string_equal(labels, "");
}

TEST(a_model_that_both_readings_train_alike_is_one_run)
{
    lcsm_grid one = open_reading("o-types-lm", NULL), as = open_reading("o-types-lm", "as-run");
    lcsm_grid both = open_reading("o-types-lm", "both");
    assert_int_equal(one.run_count, 12);
    assert_int_equal(as.run_count, 12);
    assert_int_equal(both.run_count, 12 + 4);
    assert_int_equal(both.runs[0].readings, LCSM_READING_ALL);
    assert_string_equal(both.runs[3].name, "1-2-1-0_lr-0.01_seed-1_as-run");
    assert_int_equal(both.runs[2].readings, 1u << LCSM_READING_DESCRIBED);
    assert_int_equal(both.runs[3].readings, 1u << LCSM_READING_AS_RUN);
    assert_string_equal(as.runs[0].name, one.runs[0].name);
    lcsm_grid_free(&one);
    lcsm_grid_free(&as);
    lcsm_grid_free(&both);
}

TEST(an_unknown_reading_is_refused)
{
    lcsm_experiment_options o = {
        .size = sizeof o, .name = "tau-mqar", .scale = "tiny", .reading = "neither"};
    lcsm_grid  g;
    lcsm_error err;
    assert_int_equal(lcsm_grid_open(&g, &o, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "described, as-run or both"));
}
