/* cmd_experiment.c - lcsm experiment: the paper's tables and figures, trained here. */
#include <jansson.h>
#include <lcsm/experiment.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm experiment - repeat the paper's tables and figures on this machine\n"
    "\n"
    "usage: lcsm experiment list [--json]\n"
    "       lcsm experiment run NAME --out DIR [--scale tiny|small|paper] [--data TEXT...]\n"
    "                       [--reading described|as-run|both] [--lr-grid A,B,...] [--seeds N]\n"
    "                       [--jobs N] [--only A,B,...] [--dry-run] [--yes]\n"
    "\n"
    "Trains every row of a table of the paper, at every length and width of its figure, with "
    "every\n"
    "learning rate and seed. It can be stopped at any moment (Ctrl-C) and started again: "
    "completed\n"
    "runs are skipped, interrupted ones continue from their checkpoints. A failed run is recorded\n"
    "(failed.txt), and the others continue. lcsm report shows the results, also while it is "
    "running.\n"
    "NAME may be your own folder with a grid.json, given with a slash: ./mine. More seeds, "
    "learning\n"
    "rates and variants can be added to DIR later; other settings or other text need another DIR.\n"
    "\n"
    "  --scale S         tiny: about a minute, a quick test; small: hours to days on two\n"
    "                    processors; paper: the paper's grid, months to years (default: tiny)\n"
    "  --data PATH       training text for language models; may be repeated\n"
    "  --valid PATH      text for evaluation (default: the end of the data is held out)\n"
    "  --test PATH       text on which the best model of each run is evaluated once, at the end\n"
    "  --tokenizer FILE  tokenizer.json (default: the scale's: BPE trained on the data, or bytes)\n"
    "  --reading R       described: as the paper's text has it; as-run: as its authors' public "
    "code\n"
    "                    ran it, where o was often not trained; both (default: described)\n"
    "  --lr-grid A,B     learning rates instead of the scale's; the best one is used\n"
    "  --seeds N         seeds 1 to N instead of the scale's\n"
    "  --jobs N          runs at the same time (default: one per processor)\n"
    "  --distributed X   auto, mpi or none: whether the processes that mpirun or srun started\n"
    "                    share the runs, one on each at a time (default: auto, they do)\n"
    "  --only A,B        only these variants, by label\n"
    "  --out DIR         output folder: experiment.json and runs/NAME/\n"
    "  --dry-run         print the number of runs and their cost; write nothing\n"
    "  --yes             start without asking, even if it takes longer than a day\n"
    "  --quiet           no progress output\n"
    "  --json            list: [{\"name\", \"task\", \"title\", \"metric\", \"variants\", "
    "\"runs\"}]\n"
    "                    run: {\"runs\", \"done\", \"failed\", \"stopped\"}\n"
    "\n"
    "Exit code 0 if every run is done, 1 if one failed, 130 after Ctrl-C.\n"
    "\n"
    "  lcsm experiment run tau-mqar --out results/tau\n"
    "  lcsm report results/tau --out tau.html\n"
    "  lcsm experiment run o-types-lm --scale small --data wiki.train.txt --valid wiki.valid.txt "
    "\\\n"
    "       --out results/o-types\n"
    "  mpirun --hostfile hosts lcsm experiment run tau-mqar --scale small --out results/tau\n";

/* ---- list ---------------------------------------------------------------------------------- */

typedef struct {
    bool    json;
    json_t *rows;
} listing;

static void take_info(void *user, const lcsm_experiment_info *x)
{
    listing *l = user;
    if (l->json) {
        json_array_append_new(
            l->rows,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:{s:I, s:I, s:I}}", "name", x->name, "task",
                      x->task, "title", x->title, "about", x->about, "metric", x->metric,
                      "variants", (json_int_t)x->variants, "runs", "tiny", (json_int_t)x->runs[0],
                      "small", (json_int_t)x->runs[1], "paper", (json_int_t)x->runs[2]));
        return;
    }
    printf("%-22s %-5s %8zu %6zu %6zu %6zu   %s\n", x->name, x->task, x->variants, x->runs[0],
           x->runs[1], x->runs[2], x->title);
}

static int list(bool json)
{
    listing    l = {.json = json, .rows = json_array()};
    lcsm_error err;
    if (!json)
        printf("%-22s %-5s %8s %6s %6s %6s   %s\n", "name", "task", "variants", "tiny", "small",
               "paper", "title (the numbers are runs at each scale)");
    lcsm_status st = lcsm_experiment_list(take_info, &l, &err);
    if (st == LCSM_OK && json) {
        json_dumpf(l.rows, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
    }
    json_decref(l.rows);
    return st == LCSM_OK ? EXIT_OK : cli_report("experiment", &err);
}

/* ---- run ----------------------------------------------------------------------------------- */

static bool asked_to_stop(void *user)
{
    (void)user;
    return cli_signal() != 0;
}

typedef struct {
    bool        quiet;
    cli_colours colour;
    bool        dry, yes, refused; /* refused: it would take too long without --yes */
} screen;

static const char *duration(char text[32], double seconds)
{
    if (!isfinite(seconds)) snprintf(text, 32, "?");
    else if (seconds < 60) snprintf(text, 32, "%.0f s", seconds);
    else if (seconds < 3600) snprintf(text, 32, "%.0f min", seconds / 60);
    else if (seconds < 48 * 3600.0) snprintf(text, 32, "%.1f h", seconds / 3600);
    else snprintf(text, 32, "%.1f days", seconds / 86400);
    return text;
}

static void show_plan(const lcsm_experiment_event *e)
{
    char time[32];
    fprintf(stderr, "%zu runs", e->runs);
    if (e->done > 0) fprintf(stderr, ", %zu done", e->done);
    if (e->failed > 0) fprintf(stderr, ", %zu failed before", e->failed);
    if (e->flops > 0)
        fprintf(stderr, "; %.3g operations, at most about %s on this machine", e->flops,
                duration(time, e->left));
    fputc('\n', stderr);
}

static const char *line_text(char text[200], const screen *s, const lcsm_experiment_event *e)
{
    char spent[32], left[32], failed[80] = "";
    if (e->failed > 0)
        snprintf(failed, sizeof failed, " %s%zu failed%s", s->colour.bad, e->failed, s->colour.off);
    snprintf(text, 200, "%s[%zu/%zu]%s%s %s, left %s", s->colour.bold, e->done + e->failed, e->runs,
             s->colour.off, failed, duration(spent, e->seconds), duration(left, e->left));
    return text;
}

static void show_wait(const screen *s, const lcsm_experiment_event *e)
{
    char text[200], line[240];
    snprintf(line, sizeof line, "%s, %zu running", line_text(text, s, e), e->running);
    cli_live(line);
}

static void on_event(void *user, const lcsm_experiment_event *e)
{
    const screen *s = user;
    char          text[200];
    if (s->quiet) return;
    if (e->kind != LCSM_EXPERIMENT_WAIT) cli_live("");
    switch (e->kind) {
    case LCSM_EXPERIMENT_PLAN: show_plan(e); return;
    case LCSM_EXPERIMENT_NOTE: fprintf(stderr, "%s\n", e->text); return;
    case LCSM_EXPERIMENT_START:
        if (e->resumed) fprintf(stderr, "%s  %s is resumed\n", line_text(text, s, e), e->run);
        return;
    case LCSM_EXPERIMENT_WAIT: show_wait(s, e); return;
    case LCSM_EXPERIMENT_END:
        fprintf(stderr, "%s  %s%s%s\n", line_text(text, s, e), e->run, *e->text != '\0' ? ": " : "",
                e->text);
        return;
    }
}

/* Whether the user wants something that takes longer than a day. */
static bool ask(const char *time)
{
    char line[16];
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        fprintf(stderr,
                "lcsm experiment: this takes about %s; pass --yes to start it, or --dry-run to see "
                "the plan only\n",
                time);
        return false;
    }
    fprintf(stderr, "This takes about %s. Start? [y/N] ", time);
    return fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

/* Nothing that takes longer than a day starts unasked. */
static bool may_start(void *user, const lcsm_experiment_event *plan)
{
    enum { DAY = 86400 };
    screen *s = user;
    char    time[32];
    if (s->dry) return false;
    if (s->yes || !(plan->left > DAY)) return true;
    s->refused = !ask(duration(time, plan->left));
    return !s->refused;
}

static const char STOPPING[] =
    "\nstopping: the runs write checkpoints; repeat the command to continue\n";

static int run_grid(const lcsm_experiment_options *o, screen s, bool json)
{
    lcsm_experiment_hooks  hooks  = {sizeof hooks, on_event, asked_to_stop, &s, may_start};
    lcsm_experiment_result result = {.size = sizeof result};
    lcsm_context          *ctx    = NULL;
    lcsm_context_options   opt    = {.size = sizeof opt, .threads = lcsm_dist_threads(o->dist)};
    lcsm_error             err;
    lcsm_status            st     = lcsm_context_create(&ctx, &opt, &err);
    bool                   silent = lcsm_dist_rank(o->dist) > 0;
    s.colour                      = cli_colours_of(stderr);
    cli_catch_signals(s.quiet || silent ? NULL : STOPPING + !cli_is_live());
    if (st == LCSM_OK) st = lcsm_experiment_run(ctx, o, &hooks, &result, &err);
    lcsm_context_free(ctx);
    if (!silent) cli_live("");
    if (st != LCSM_OK) return cli_report_rank("experiment", o->dist, &err);
    if (silent) return EXIT_OK;
    if (s.refused) return EXIT_USAGE;
    if (json)
        printf("{\"runs\": %zu, \"done\": %zu, \"failed\": %zu, \"stopped\": %s}\n", result.runs,
               result.done, result.failed, result.stopped ? "true" : "false");
    else if (!s.dry) {
        printf("%zu of %zu runs done, %zu failed; show the results with\n", result.done,
               result.runs, result.failed);
        cli_hint("  lcsm report ", o->out, " --out report.html");
    }
    if (s.dry) return EXIT_OK;
    if (result.stopped) return cli_signal() != 0 ? 128 + cli_signal() : EXIT_FAILED;
    return result.failed > 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(lcsm_experiment_options *o, const screen *s, const char *distributed, bool json)
{
    lcsm_error err;
    char       text[300];
    if (lcsm_dist_open(&o->dist, distributed, &err) != LCSM_OK)
        return cli_report("experiment", &err);
    bool says = o->dist != NULL && lcsm_dist_rank(o->dist) == 0 && !s->quiet;
    if (says) fprintf(stderr, "%s, a run on each at a time\n", lcsm_dist_text(o->dist));
    if (says && lcsm_dist_crowded(o->dist, 0, text, sizeof text))
        fprintf(stderr, "lcsm experiment: warning: %s\n", text);
    int code = run_grid(o, *s, json);
    lcsm_dist_close(o->dist, LCSM_OK);
    return code;
}

/* "a,b,c" into numbers; false after a message. */
static bool read_rates(const char *text, double *out, size_t most, size_t *count)
{
    *count = 0;
    while (text != NULL) {
        char  *end;
        double x = strtod(text, &end);
        if (end == text || (*end != ',' && *end != '\0') || !(x > 0) || !isfinite(x)
            || *count == most) {
            fprintf(stderr,
                    "lcsm experiment: --lr-grid has '%s'; expected up to %zu numbers above 0, as "
                    "1e-3,1e-2\n",
                    text, most);
            return false;
        }
        out[(*count)++] = x;
        text            = *end == ',' ? end + 1 : NULL;
    }
    return true;
}

int cmd_experiment(int argc, char **argv)
{
    static const char *const verbs[] = {"list", "run", NULL};
    bool                     help = false, json = false;
    screen                   s = {0};
    int                      words, seeds = 0;
    double                   rates[64];
    const char              *grid = NULL, *distributed = NULL;
    cli_list                 data = {0}, valid = {0}, test = {0};
    lcsm_experiment_options  o         = {.size = sizeof o, .scale = "tiny"};
    const cli_option         options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                          {"--json", CLI_FLAG, &json, 0, 0},
                                          {"--quiet", CLI_FLAG, &s.quiet, 0, 0},
                                          {"--scale", CLI_TEXT, &o.scale, 0, 0},
                                          {"--data", CLI_LIST, &data, 0, 0},
                                          {"--valid", CLI_LIST, &valid, 0, 0},
                                          {"--test", CLI_LIST, &test, 0, 0},
                                          {"--tokenizer", CLI_TEXT, &o.tokenizer, 0, 0},
                                          {"--lr-grid", CLI_TEXT, &grid, 0, 0},
                                          {"--seeds", CLI_COUNT, &seeds, 1, 1000},
                                          {"--jobs", CLI_COUNT, &o.jobs, 1, 256},
                                          {"--only", CLI_TEXT, &o.only, 0, 0},
                                          {"--out", CLI_TEXT, &o.out, 0, 0},
                                          {"--reading", CLI_TEXT, &o.reading, 0, 0},
                                          {"--distributed", CLI_TEXT, &distributed, 0, 0},
                                          {"--dry-run", CLI_FLAG, &s.dry, 0, 0},
                                          {"--yes", CLI_FLAG, &s.yes, 0, 0},
                                          {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (words > 0 && strcmp(argv[1], "run") != 0 && strcmp(argv[1], "list") != 0)
        return cli_unknown("experiment", "verb", argv[1], verbs);
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (words == 1 && strcmp(argv[1], "list") == 0) return list(json);
    if (words != 2 || o.out == NULL) {
        fputs("lcsm experiment: expected list, or run NAME --out DIR; see lcsm experiment --help\n",
              stderr);
        return EXIT_USAGE;
    }
    if (!read_rates(grid, rates, sizeof rates / sizeof rates[0], &o.lr_count)) return EXIT_USAGE;
    o.name        = argv[2];
    o.lr          = rates;
    o.seeds       = (size_t)seeds;
    o.data        = data.items;
    o.data_count  = data.count;
    o.valid       = valid.items;
    o.valid_count = valid.count;
    o.test        = test.items;
    o.test_count  = test.count;
    return run(&o, &s, distributed, json);
}
