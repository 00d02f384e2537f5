/* test_report.c - run folders and experiments, read and written as reports. */
#include <lcsm/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/safetensors.h"
#include "near.h"
#include "report/study.h"
#include "report/svg.h"
#include "run_files.h"
#include "temp_folder.h"
#include "test.h"
#include "text_has.h"

/* ---- experiments --------------------------------------------------------------------------- */

#define RUN(name, variant, width, lr, seed)                                                        \
    "{\"name\": \"" name "\", \"variant\": " #variant ", \"axes\": [" #width "], \"lr\": " #lr     \
    ", \"seed\": " #seed ", \"command\": \"lcsm train " name "\"}"

static const char STUDY[] =
    "{\"format\": \"lcsm-experiment\", \"name\": \"two <b>\", \"title\": \"Two & more\", \"task\": "
    "\"mqar\", \"scale\": \"tiny\", \"metric\": \"accuracy\", \"axes\": [\"d_model\"], "
    "\"variants\": [\"one\", \"two\", \"three\"], \"paper\": {\"rows\": [{\"label\": \"one\", "
    "\"valid\": 0.5}, {\"label\": \"two\", \"valid\": 0.75}], \"findings\": ["
    "{\"text\": \"two is better\", \"better\": [\"two\"], \"than\": [\"one\"]},"
    "{\"text\": \"by far\", \"better\": [\"two\"], \"than\": [\"one\"], \"by\": 0.9},"
    "{\"text\": \"elsewhere\", \"better\": [\"two\"], \"than\": [\"one\"], \"at\": {\"d_model\": "
    "128}},"
    "{\"text\": \"three too\", \"rising\": [\"one\", \"two\", \"three\"]}]}, \"runs\": [" RUN(
        "a", 0, 64, 0.1, 1) "," RUN("b", 0, 64, 0.1,
                                    2) "," RUN("c", 0, 64, 0.2,
                                               1) "," RUN("d", 0, 64, 0.2,
                                                          2) "," RUN("e", 1, 64, 0.1,
                                                                     1) "," RUN("f", 2, 64, 0.1,
                                                                                1) "]}";

static void put_study(const temp_folder *f, const char *folder)
{
    static const struct {
        const char *name, *metrics;
    } runs[] = {{"a", EVAL(1, 1, 0.1) END("steps")},
                {"b", EVAL(1, 1, 0.5) END("steps")},
                {"c", EVAL(1, 1, 0.4) END("steps")},
                {"d", EVAL(1, 1, 0.4) END("steps")},
                {"e", TRAIN(1, 2) TRAIN(2, 1) EVAL(2, 1, 0.875) END("solved")}};
    char path[100];
    put_file(f, folder, "experiment.json", STUDY);
    for (size_t j = 0; j < COUNT(runs); j++) {
        (void)snprintf(path, sizeof path, "%s/runs/%s", folder, runs[j].name);
        put_run(f, path, "{}", runs[j].metrics);
    }
    (void)snprintf(path, sizeof path, "%s/runs/f", folder);
    put_file(f, path, "failed.txt", "exit 5: <script>alert(1)</script>");
}

TEST(study_takes_the_best_rate_by_its_mean)
{
    temp_folder f = temp_folder_make();
    lcsm_study  s;
    put_study(&f, "study");
    assert_int_equal(lcsm_study_read(&s, temp_path(&f, "study"), NULL), LCSM_OK);
    assert_int_equal(s.point_count, 1);
    const lcsm_study_cell *one = lcsm_study_at(&s, 0, 0), *three = lcsm_study_at(&s, 2, 0);
    assert_near(one->value, 0.4, 1e-12); /* 0.2's seeds, not the lucky one of 0.1 */
    assert_near(one->lr, 0.2, 0);
    assert_int_equal(one->runs, 4);
    assert_true(isnan(three->value));
    assert_int_equal(three->failed, 1);
    assert_near(s.paper[1], 0.75, 0);
    assert_true(isnan(s.paper[2]));
    lcsm_study_free(&s);
    temp_folder_remove(&f);
}

/* A rate that lost a seed was lucky with the others; it counts when all rates lost some. */
TEST(study_takes_a_rate_that_lost_seeds_only_if_there_is_no_other)
{
    temp_folder f = temp_folder_make();
    char        markdown[100], *text;
    lcsm_study  s;
    put_study(&f, "study");
    put_run(&f, "study/runs/a", "{}", EVAL(1, 1, 0.9) END("not-finite"));
    put_run(&f, "study/runs/b", "{}", EVAL(1, 1, 0.5) END("steps"));
    assert_int_equal(lcsm_study_read(&s, temp_path(&f, "study"), NULL), LCSM_OK);
    assert_near(lcsm_study_at(&s, 0, 0)->value, 0.4, 1e-12);
    assert_near(lcsm_study_at(&s, 0, 0)->lr, 0.2, 0);
    lcsm_study_free(&s);

    put_run(&f, "study/runs/c", "{}", EVAL(1, 1, 0.9) END("not-finite"));
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    const char *const   folders[] = {temp_path(&f, "study")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    text = written(&f, "r.md");
    assert_has(text, "| one | 0.500 (1 of 2 seeds) |");
    free(text);
    temp_folder_remove(&f);
}

TEST(study_with_a_wrong_file_is_refused_with_its_place)
{
    static const char *const cases[][2] = {
        {"{\"format\": \"x\"}", "format is \"x\""},
        {"{\"format\": \"lcsm-experiment\", \"name\": 3}", "name is 3"},
        {"{\"format\": \"lcsm-experiment\", \"name\": \"n\", \"title\": \"t\", \"task\": \"lm\", "
         "\"scale\": \"s\", \"metric\": \"loss\", \"axes\": [], \"variants\": [\"v\"], \"runs\": "
         "[{\"name\": \"../up\", \"variant\": 0, \"axes\": []}]}",
         "runs[0].name is \"../up\""},
        {"{\"format\": \"lcsm-experiment\", \"name\": \"n\", \"title\": \"t\", \"task\": \"lm\", "
         "\"scale\": \"s\", \"metric\": \"loss\", \"axes\": [], \"variants\": [\"v\"], \"runs\": "
         "[{\"name\": \"r\", \"variant\": 1, \"axes\": []}]}",
         "runs[0].variant is 1"},
    };
    temp_folder f = temp_folder_make();
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_study s;
        lcsm_error err;
        put_file(&f, "study", "experiment.json", cases[j][0]);
        assert_int_not_equal(lcsm_study_read(&s, temp_path(&f, "study"), &err), LCSM_OK);
        assert_non_null(strstr(err.text, cases[j][1]));
    }
    temp_folder_remove(&f);
}

TEST(report_writes_every_format)
{
    temp_folder         f   = temp_folder_make();
    lcsm_report_summary sum = {.size = sizeof sum};
    char                html[100], markdown[100], csv[100], svg[100], study[100];
    put_study(&f, "study");
    (void)snprintf(study, sizeof study, "%s/study", f.path);
    (void)snprintf(html, sizeof html, "%s/r.html", f.path);
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    (void)snprintf(csv, sizeof csv, "%s/r.csv", f.path);
    (void)snprintf(svg, sizeof svg, "%s/figures", f.path);
    const char *const   folders[] = {study};
    lcsm_report_options o         = {.size     = sizeof o,
                                     .folders  = folders,
                                     .count    = 1,
                                     .html     = html,
                                     .markdown = markdown,
                                     .csv      = csv,
                                     .svg      = svg};
    assert_int_equal(lcsm_report_write(&o, &sum, NULL), LCSM_OK);
    assert_int_equal(sum.runs, 6);
    assert_int_equal(sum.done, 5);
    assert_int_equal(sum.failed, 1);
    assert_true(sum.figures >= 2);

    char *page = written(&f, "r.html");
    assert_has(page, "<h2 id=\"s0\">Two &amp; more</h2>");
    assert_has(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "http://www.w3.org/1999")); /* nothing is loaded from elsewhere */
    assert_has(page, "&#10003; confirmed</b>two is better");
    assert_has(page, "&#10007; not confirmed</b>by far");
    assert_has(page, "<b>not run</b>elsewhere");
    assert_has(page, "<b>not run</b>three too");
    free(page);
    char *text = written(&f, "r.md");
    assert_has(text, "| one | 0.400 | 0.2 | 2 | 0.500 | 2 |\n");
    assert_has(text, "](figures/two-b-bars-1.svg)");
    free(text);
    char *rows = written(&f, "r.csv");
    assert_has(rows, "two <b>,e,two,done");
    free(rows);
    char *figure = written(&f, "figures/two-b-bars-1.svg");
    assert_has(figure, "<style>");
    free(figure);
    temp_folder_remove(&f);
}

TEST(report_in_markdown_links_to_its_figures)
{
    static const struct {
        const char *markdown, *svg, *link;
    } cases[] = {
        {"r.md", "figs", "](figs/two-b-bars-1.svg)"},
        {"md/r.md", "figs", "](../figs/two-b-bars-1.svg)"},
        {"./md/r.md", "md/f", "](f/two-b-bars-1.svg)"},
        {"md/r.md", "md", "](two-b-bars-1.svg)"},
        {"md/r.md", "md 2/f", "](../md%202/f/two-b-bars-1.svg)"},
        {"md/../md/deep/r.md", "md/f", "](../f/two-b-bars-1.svg)"},
    };
    temp_folder f = temp_folder_make();
    char        markdown[100], svg[100];
    put_study(&f, "study");
    put_file(&f, "md/deep", "x", "");
    const char *const folders[] = {temp_path(&f, "study")};
    for (size_t j = 0; j < COUNT(cases); j++) {
        (void)snprintf(markdown, sizeof markdown, "%s/%s", f.path, cases[j].markdown);
        (void)snprintf(svg, sizeof svg, "%s/%s", f.path, cases[j].svg);
        lcsm_report_options o = {
            .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown, .svg = svg};
        assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
        char *text = written(&f, cases[j].markdown);
        assert_has(text, cases[j].link);
        free(text);
    }
    temp_folder_remove(&f);
}

/* Commands of runs stand in the file as inside the folder, but for the data. */
TEST(report_has_commands_that_run_where_the_experiment_ran)
{
    static const char fmt[] =
        "{\"format\": \"lcsm-experiment\", \"name\": \"n\", \"title\": \"t\", \"task\": \"lm\", "
        "\"scale\": \"s\", \"metric\": \"loss\", \"axes\": [], \"variants\": [\"v\"], "
        "\"command\": \"lcsm experiment run n --data d.txt%s --out 'my dir/n'\", "
        "\"out\": \"my dir/n\", \"runs\": "
        "[{\"name\": \"r\", \"variant\": 0, \"axes\": [], \"command\": "
        "\"lcsm train --data d.txt --tokenizer tokenizer.json --out runs/r\"}]}";
    static const char *const cases[][2] = {
        {"", "    lcsm train --data d.txt --tokenizer 'my dir/n'/tokenizer.json --out 'my "
             "dir/n'/runs/r\n"},
        {" --tokenizer tokenizer.json",
         "    lcsm train --data d.txt --tokenizer tokenizer.json --out 'my dir/n'/runs/r\n"},
    };
    temp_folder f = temp_folder_make();
    char        text[1000], markdown[100];
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    const char *const   folders[] = {temp_path(&f, "study")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown};
    for (size_t j = 0; j < COUNT(cases); j++) {
        (void)snprintf(text, sizeof text, fmt, cases[j][0]);
        put_file(&f, "study", "experiment.json", text);
        assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
        char *page = written(&f, "r.md");
        assert_has(page, cases[j][1]);
        free(page);
    }
    temp_folder_remove(&f);
}

/* Three variants at so many points of an axis; `rest` stands before the runs. */
static void put_points(const temp_folder *f, const char *rest, int points)
{
    char text[8000], run[100];
    int  used = snprintf(text, sizeof text,
                         "{\"format\": \"lcsm-experiment\", \"name\": \"n\", \"title\": \"t\", "
                          "\"task\": \"lm\", \"scale\": \"s\", \"metric\": \"loss\", \"axes\": "
                          "[\"d_model\"], \"variants\": [\"a\", \"b\", \"c\"], %s\"runs\": [",
                         rest);
    for (int j = 0; j < 3 * points; j++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s{\"name\": \"r%d\", \"variant\": %d, \"axes\": [%d]}",
                         j == 0 ? "" : ", ", j, j % 3, 10 + j / 3);
        (void)snprintf(run, sizeof run, "study/runs/r%d", j);
        put_run(f, run,
                j % 3 == 0 ? "{\"seq_len\": 8, \"heads\": 1}" : "{\"seq_len\": 8, \"heads\": [2]}",
                j % 3 == 0   ? EVAL(1, 1, 0) END("steps")
                : j % 3 == 1 ? EVAL(1, 2, 0) END("steps")
                             : EVAL(1, 3, 0) END("steps"));
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "]}");
    put_file(f, "study", "experiment.json", text);
}

static char *report_on(const temp_folder *f)
{
    char markdown[100], svg[100];
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f->path);
    (void)snprintf(svg, sizeof svg, "%s/figures", f->path);
    const char *const   folders[] = {temp_path(f, "study")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown, .svg = svg};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    return written(f, "r.md");
}

TEST(report_of_many_points_shows_all_of_them)
{
    temp_folder f = temp_folder_make();
    char        head[40];
    put_points(&f, "", 18);
    char *text = report_on(&f);
    for (int j = 10; j < 28; j++) {
        (void)snprintf(head, sizeof head, " width %d |", j);
        assert_has(text, head);
    }
    assert_has(text, "Points 1 to 6 of 18; continued in the next table.");
    assert_has(text, "| width 27 | mean | rank |\n");
    free(text);
    temp_folder_remove(&f);
}

TEST(report_compares_with_what_the_paper_has)
{
    static const struct {
        const char *rows, *heads, *words;
    } cases[] = {
        {"{\"label\": \"a\", \"valid\": 1}, {\"label\": \"b\", \"valid\": 2}",
         "| loss, width 10 | rank | paper | paper's rank |\n", "compare ranks.\n"},
        {"{\"label\": \"a\", \"test\": 1}, {\"label\": \"b\", \"test\": 3}, {\"label\": \"c\", "
         "\"test\": 2}",
         "| rank | paper, test | paper's rank |\n",
         "- rank correlation: 0.50 with the paper on its test set, 3 rows\n"},
        {"{\"label\": \"a\", \"valid\": 1, \"test\": 2, \"parameters\": 43.78}",
         "| rank | paper | paper, test | paper's rank | paper's parameters, millions |\n",
         "| 43.78 |"},
    };
    temp_folder f = temp_folder_make();
    for (size_t j = 0; j < COUNT(cases); j++) {
        char rest[400];
        (void)snprintf(rest, sizeof rest, "\"paper\": {\"rows\": [%s]}, ", cases[j].rows);
        put_points(&f, rest, 1);
        char *text = report_on(&f);
        assert_has(text, cases[j].heads);
        assert_has(text, cases[j].words);
        assert_int_equal(strstr(text, "rank correlation") != NULL, j == 1);
        free(text);
    }
    temp_folder_remove(&f);
}

TEST(report_of_an_experiment_counts_parameters)
{
    temp_folder             f    = temp_folder_make();
    const float             z[6] = {0};
    const lcsm_named_tensor t[]  = {
         {.name = "a", .element = LCSM_ELEMENT_F32, .rank = 2, .shape = {2, 3}, .data = z},
         {.name = "b", .element = LCSM_ELEMENT_F32, .data = z}};
    put_points(&f, "", 2);
    assert_int_equal(lcsm_safetensors_save(temp_path(&f, "study/runs/r0/model.safetensors"), t, 2,
                                           NULL, 0, NULL),
                     LCSM_OK);
    assert_int_equal(lcsm_safetensors_save(temp_path(&f, "study/runs/r3/model.safetensors"), t, 1,
                                           NULL, 0, NULL),
                     LCSM_OK);
    char *text = report_on(&f);
    assert_has(text, "| mean | rank | parameters |\n");
    assert_has(text, "| 1 | 6 to 7 |\n");
    free(text);
    temp_folder_remove(&f);
}

TEST(report_of_an_experiment_tells_what_runs_share_and_what_not)
{
    temp_folder f = temp_folder_make();
    put_points(&f, "", 1);
    char *text = report_on(&f);
    assert_has(text, "### Settings that all runs share\n\n| key | value |\n|---|---|\n"
                     "| seq\\_len | 8 |\n\n");
    assert_has(text, "### Settings of each run\n\n| run | heads |\n|---|---|\n| r0 | 1 |\n"
                     "| r1 | \\[2\\] |\n| r2 | \\[2\\] |\n");
    free(text);
    temp_folder_remove(&f);
}

TEST(report_of_an_experiment_tells_all_that_is_wrong)
{
    temp_folder f = temp_folder_make();
    char        run[100];
    put_points(&f, "", 4);
    for (int j = 0; j < 9; j++) {
        (void)snprintf(run, sizeof run, "study/runs/r%d", j);
        put_run(&f, run, "{}", "");
        put_file(&f, run, "failed.txt", "exit 5: so it is");
    }
    put_run(&f, "study/runs/r9", "{}", "no\n" EVAL(1, 1, 0) END("steps"));
    char *text = report_on(&f);
    assert_has(text,
               "> r7 failed: exit 5: so it is\n\n> And 1 more failed; see the list of all runs.");
    assert_has(text, "> r9: metrics.jsonl has 1 line that could not be read.\n");
    assert_has(text, "| r8 | failed, exit 5: so it is |");
    assert_has(text, "| r9 | done, steps; unreadable lines: 1 |");
    free(text);
    temp_folder_remove(&f);
}

/* Seeds of one cell that ended in different ways. */
TEST(report_of_a_cell_without_value_says_what_became_of_its_runs)
{
    static const struct {
        const char *d, *cell;
    } cases[]     = {{TRAIN(1, 2), "| one | 3 failed, 1 not run yet |"},
                     {TRAIN(1, 2) END("steps"), "| one | 3 failed, 1 without a result |"},
                     {TRAIN(1, 2) END("not-finite"), "| one | failed |"}};
    temp_folder f = temp_folder_make();
    put_study(&f, "study");
    put_run(&f, "study/runs/a", "{}", END("not-finite"));
    put_run(&f, "study/runs/b", "{}", END("not-finite"));
    put_run(&f, "study/runs/c", "{}", END("not-finite"));
    for (size_t j = 0; j < COUNT(cases); j++) {
        put_run(&f, "study/runs/d", "{}", cases[j].d);
        char *text = report_on(&f);
        assert_has(text, cases[j].cell);
        free(text);
    }
    temp_folder_remove(&f);
}

TEST(report_says_of_a_loss_curve_only_what_was_done_to_it)
{
    static const struct {
        int         lines;
        const char *caption;
    } cases[] = {
        {3, "Training: width 10. Loss against the number of predicted tokens.\n"},
        {50, "predicted tokens; the first 5 % is omitted.\n"},
        {200, "predicted tokens, averaged over intervals; the first 5 % is omitted.\n"},
    };
    temp_folder f = temp_folder_make();
    put_points(&f, "", 2);
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_strbuf lines = {0};
        for (int step = 1; step <= cases[j].lines; step++)
            lcsm_strbuf_printf(&lines, "{\"kind\":\"train\",\"step\":%d,\"loss\":1}\n", step);
        lcsm_strbuf_add(&lines, EVAL(1, 1, 0) END("steps"));
        put_run(&f, "study/runs/r0", "{}", lcsm_strbuf_text(&lines));
        lcsm_strbuf_free(&lines);
        char *text = report_on(&f);
        assert_has(text, cases[j].caption);
        free(text);
    }
    temp_folder_remove(&f);
}

/* What the table is about, and every axis, also for a run that has not begun. */
TEST(report_in_csv_has_metric_scale_and_axes)
{
    static const char fmt[] =
        "{\"format\": \"lcsm-experiment\", \"name\": \"n\", \"title\": \"t\", \"task\": \"mqar\", "
        "\"scale\": \"tiny\", \"metric\": \"speed\", \"axes\": [\"tau\", \"seq_len\", \"steps\"], "
        "\"variants\": "
        "[\"v\"], \"runs\": [{\"name\": \"x\", \"variant\": 0, \"axes\": [16, 8, 4]}, "
        "{\"name\": \"y\", \"variant\": 0, \"axes\": [0.5, 8, 4], \"lr\": 0.1, \"seed\": 2}]}";
    temp_folder f = temp_folder_make();
    char        csv[100];
    put_file(&f, "study", "experiment.json", fmt);
    put_run(&f, "study/runs/x",
            "{\"batch_size\": 2, \"seq_len\": 8, \"accumulate\": 1, \"method\": \"gla\", \"code\": "
            "\"0\"}",
            TRAIN(1, 3) TRAIN(2, 3) END("steps"));
    (void)snprintf(csv, sizeof csv, "%s/r.csv", f.path);
    const char *const   folders[] = {temp_path(&f, "study")};
    lcsm_report_options o         = {.size = sizeof o, .folders = folders, .count = 1, .csv = csv};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    char *rows = written(&f, "r.csv");
    assert_has(rows, "experiment,run,variant,state,scale,folder,task,method,code,d_model,seq_len,"
                     "lr,seed,tau,loss,perplexity,bits_per_byte,accuracy,steps,tokens,speed,");
    assert_has(rows, "n,x,v,done,tiny,");
    assert_has(rows, "/study/runs/x,,,0,,8,,,16,,,,,4,40,100,");
    assert_has(rows, "/study/runs/y,,,,,8,0.1,2,0.5,,,,,,,,,,,,,\r\n");
    free(rows);
    temp_folder_remove(&f);
}

/* One experiment in two folders: each has figures of its own. */
TEST(report_of_two_folders_with_one_name_has_all_figures)
{
    temp_folder         f   = temp_folder_make();
    lcsm_report_summary sum = {.size = sizeof sum};
    lcsm_folder_list    list;
    char                markdown[100], svg[100];
    put_study(&f, "all/a");
    put_study(&f, "all/b");
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    (void)snprintf(svg, sizeof svg, "%s/figures", f.path);
    const char *const   folders[] = {temp_path(&f, "all")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown, .svg = svg};
    assert_int_equal(lcsm_report_write(&o, &sum, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_read(&list, svg, NULL), LCSM_OK);
    assert_int_equal(list.count, sum.figures);
    lcsm_folder_list_free(&list);
    char *text = written(&f, "r.md");
    assert_has(text, "](figures/two-b-bars-1.svg)");
    assert_has(text, "](figures/two-b-bars-1-2.svg)");
    assert_has(text, "## Two & more (a)\n");
    assert_has(text, "## Two & more (b)\n");
    free(text);
    temp_folder_remove(&f);
}

/* Two experiments; "b" stands in both of them and is one model. */
TEST(report_ranks_rows_of_several_experiments_together)
{
    static const char fmt[] =
        "{\"format\": \"lcsm-experiment\", \"name\": \"%s\", \"title\": \"%s\", \"task\": \"lm\", "
        "\"scale\": \"tiny\", \"metric\": \"accuracy\", \"axes\": [], \"variants\": [\"%s\", "
        "\"b\"], "
        "\"paper\": {\"rows\": [{\"label\": \"%s\", \"valid\": %g}, {\"label\": \"b\", \"valid\": "
        "0.5}]}, \"runs\": [{\"name\": \"x\", \"variant\": 0, \"axes\": [], \"lr\": 1, \"seed\": "
        "1, "
        "\"command\": \"\"}, {\"name\": \"y\", \"variant\": 1, \"axes\": [], \"lr\": 1, \"seed\": "
        "1, "
        "\"command\": \"\"}]}";
    temp_folder f = temp_folder_make();
    char        text[1000], markdown[100];
    (void)snprintf(text, sizeof text, fmt, "p", "P", "a", "a", 0.25);
    put_file(&f, "all/p", "experiment.json", text);
    put_run(&f, "all/p/runs/x", "{\"steps\": 9}", EVAL(1, 1, 0.75) END("steps"));
    put_run(&f, "all/p/runs/y", "{\"steps\": 9}", EVAL(1, 1, 0.5) END("steps"));
    (void)snprintf(text, sizeof text, fmt, "q", "Q", "c", "c", 0.75);
    put_file(&f, "all/q", "experiment.json", text);
    put_run(&f, "all/q/runs/x", "{\"steps\": 9}", EVAL(1, 1, 0.875) END("steps"));
    put_run(&f, "all/q/runs/y", "{\"steps\": 9}", EVAL(1, 1, 0.5) END("steps"));
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    const char *const   folders[] = {temp_path(&f, "all")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .markdown = markdown};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    char *page = written(&f, "r.md");
    char *here = strstr(page, "## The tables together, accuracy");
    assert_non_null(here);
    assert_has(here, "- rows: 3\n- steps of a run: 9\n- rank correlation: 0.50 with the paper\n");
    assert_has(here, "| c | Q | 0.875 | 1 | 0.750 | 1 |\n"
                     "| a | P | 0.750 | 2 | 0.250 | 3 |\n"
                     "| b | P | 0.500 | 3 | 0.500 | 2 |\n");
    free(page);

    /* longer runs are no comparison */
    put_file(&f, "all/q/runs/x", "config.json", "{\"steps\": 10}");
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    page = written(&f, "r.md");
    assert_null(strstr(page, "The tables together"));
    free(page);
    temp_folder_remove(&f);
}

/* Three variants with two seeds each; the fourth run of an experiment of both readings is `more`.
 */
static void put_seeds(const temp_folder *f, const double accuracy[6], const char *readings)
{
    char text[4000], path[100], eval[200];
    int  n =
        snprintf(text, sizeof text,
                 "{\"format\": \"lcsm-experiment\", \"name\": \"s\", \"title\": \"S\", \"task\": "
                 "\"lm\", \"scale\": \"tiny\", \"metric\": \"accuracy\", \"axes\": [], %s "
                 "\"variants\": [\"a\", \"b\", \"c\"], \"paper\": {\"rows\": [{\"label\": "
                 "\"a\", \"valid\": 0.1}, {\"label\": \"b\", \"valid\": 0.2}, {\"label\": \"c\", "
                 "\"valid\": 0.3}]}, \"runs\": [",
                 *readings == '\0' ? "" : "\"readings\": [\"described\", \"as-run\"],");
    for (int j = 0; j < 6; j++)
        n += snprintf(
            text + n, sizeof text - (size_t)n,
            "%s{\"name\": \"r%d\", \"variant\": %d, \"axes\": [], \"lr\": 1, \"seed\": %d, "
            "%s\"command\": \"\"}%s",
            j == 0 ? "" : ", ", j, j / 2, j % 2 + 1, readings, j == 5 ? "]}" : "");
    put_file(f, "seeds", "experiment.json", text);
    for (int j = 0; j < 6; j++) {
        (void)snprintf(path, sizeof path, "seeds/runs/r%d", j);
        (void)snprintf(eval, sizeof eval,
                       "{\"kind\": \"eval\", \"split\": \"valid\", \"step\": 1, "
                       "\"loss\": 1, \"accuracy\": %g}\n" END("steps"),
                       accuracy[j]);
        put_run(f, path, "{}", eval);
    }
}

static char *report_of_seeds(const temp_folder *f)
{
    char                markdown[100];
    const char *const   folders[] = {temp_path(f, "seeds")};
    lcsm_report_options o         = {.size = sizeof o, .folders = folders, .count = 1};
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f->path);
    o.markdown = markdown;
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    return written(f, "r.md");
}

/* Seeds that do not overlap keep the order; where b and c overlap, the draws that turn them over
 * have a correlation of 0.5. */
TEST(report_says_how_far_a_rank_correlation_moves_with_the_seeds)
{
    static const double apart[] = {0.1, 0.2, 0.4, 0.5, 0.7, 0.8},
                        near[]  = {0.1, 0.2, 0.4, 0.8, 0.5, 0.9};
    temp_folder f               = temp_folder_make();
    put_seeds(&f, apart, "");
    char *text = report_of_seeds(&f);
    assert_has(text, "1.00 with the paper, 3 rows; 1.00 to 1.00 by resampled seeds\n");
    free(text);
    put_seeds(&f, near, "");
    text = report_of_seeds(&f);
    assert_has(text, "1.00 with the paper, 3 rows; 0.50 to 1.00 by resampled seeds\n");
    free(text);
    temp_folder_remove(&f);
}

TEST(report_shows_readings_that_train_alike_once)
{
    static const double accuracy[] = {0.1, 0.2, 0.4, 0.5, 0.7, 0.8};
    temp_folder         f          = temp_folder_make();
    put_seeds(&f, accuracy, "\"readings\": [\"described\", \"as-run\"], ");
    char *text = report_of_seeds(&f);
    assert_has(text, "- readings: both: as described and as run, these models train alike\n");
    assert_null(strstr(text, "rank correlation, "));
    assert_null(strstr(text, "The paper as"));
    free(text);
    temp_folder_remove(&f);
}

TEST(report_of_plain_runs_shows_all_of_them)
{
    temp_folder         f   = temp_folder_make();
    lcsm_report_summary sum = {.size = sizeof sum};
    char                html[100];
    put_run(&f, "runs/a", "{\"code\": \"1-1-1-0\", \"task\": \"lm\"}",
            TRAIN(1, 3) TRAIN(2, 2) EVAL(2, 1, 0) END("steps"));
    put_run(&f, "runs/b", "{\"method\": \"gla\"}", TRAIN(1, 3));
    (void)snprintf(html, sizeof html, "%s/r.html", f.path);
    const char *const   folders[] = {temp_path(&f, "runs")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .html = html, .title = "<T>"};
    assert_int_equal(lcsm_report_write(&o, &sum, NULL), LCSM_OK);
    assert_int_equal(sum.runs, 2);
    assert_int_equal(sum.missing, 1);
    char *page = written(&f, "r.html");
    assert_has(page, "<title>&lt;T&gt;</title>");
    assert_has(page, "unfinished");
    assert_has(page, "lcsm train --config");
    free(page);
    temp_folder_remove(&f);
}

/* Names are as long as it takes to tell folders apart. */
TEST(report_of_runs_with_one_name_tells_them_apart)
{
    temp_folder f = temp_folder_make();
    char        csv[100], a[100], b[100], c[100], markdown[100], row[300];
    put_run(&f, "a/run", "{\"method\": \"gla\"}", TRAIN(1, 3) END("steps"));
    put_run(&f, "b/run", "{\"method\": \"gla\"}", TRAIN(1, 3) END("steps"));
    put_run(&f, "b/own", "{\"method\": \"gla\"}", TRAIN(1, 3) END("steps"));
    (void)snprintf(a, sizeof a, "%s/a/run", f.path);
    (void)snprintf(b, sizeof b, "%s/b/run", f.path);
    (void)snprintf(c, sizeof c, "%s/b/own", f.path);
    (void)snprintf(csv, sizeof csv, "%s/r.csv", f.path);
    (void)snprintf(markdown, sizeof markdown, "%s/r.md", f.path);
    const char *const   folders[] = {a, b, c};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 3, .csv = csv, .markdown = markdown};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    char *text = written(&f, "r.md"), *rows = written(&f, "r.csv");
    assert_has(text, "### gla (a/run)\n");
    assert_has(text, "### gla (b/run)\n");
    assert_has(text, "### gla (own)\n");
    assert_has(text, "| b/run | gla |");
    (void)snprintf(row, sizeof row, "\n,b/run,,done,,%s,", b);
    assert_has(rows, row);
    free(text);
    free(rows);
    temp_folder_remove(&f);
}

static void keep_text(void *user, const char *text)
{
    (void)snprintf(user, 2000, "%s", text);
}

TEST(report_on_a_terminal_names_each_run)
{
    temp_folder f = temp_folder_make();
    char        shown[2000];
    put_run(&f, "runs/a", "{\"code\": \"1-1-1-0\"}", TRAIN(1, 3) END("steps"));
    put_file(&f, "runs/b", "failed.txt", "exit 5:\x1B[2J");
    const char *const   folders[] = {temp_path(&f, "runs")};
    lcsm_report_options o         = {
                .size = sizeof o, .folders = folders, .count = 1, .text = keep_text, .user = shown};
    assert_int_equal(lcsm_report_write(&o, NULL, NULL), LCSM_OK);
    assert_has(shown,
               "\n\n1-1-1-0\n  run                    a\n  model                  1-1-1-0\n");
    assert_has(shown, "\n\nb\n  run                    b\n  model                  \n");
    assert_has(shown, "  exit 5: [2J\n");
    assert_null(strchr(shown, '\x1B'));
    temp_folder_remove(&f);
}

TEST(report_of_a_folder_without_runs_is_refused)
{
    temp_folder         f         = temp_folder_make();
    const char *const   folders[] = {f.path};
    lcsm_report_options o         = {.size = sizeof o, .folders = folders, .count = 1};
    lcsm_error          err;
    assert_int_equal(lcsm_report_write(&o, NULL, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "neither a run"));
    temp_folder_remove(&f);
}
