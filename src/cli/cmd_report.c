/* cmd_report.c - lcsm report: run folders and experiments as something to read. */
#include <jansson.h>
#include <lcsm/report.h>

#include "cli.h"

static const char HELP[] =
    "lcsm report - tables, figures and an HTML page from run folders\n"
    "\n"
    "usage: lcsm report DIR... [--out FILE.html] [--markdown FILE] [--csv FILE] [--svg DIR]\n"
    "                          [--title TEXT] [--json] [--quiet]\n"
    "\n"
    "DIR is a run (lcsm train --out), an experiment (lcsm experiment run --out), or a folder that\n"
    "contains such folders. Prints the tables. With --out everything, including figures, settings "
    "and\n"
    "the commands to repeat the runs, is written to one self-contained HTML page. Failed and\n"
    "unfinished runs are marked as such. An experiment that cannot be read is an error if it is "
    "DIR\n"
    "itself; inside DIR it is omitted with a note.\n"
    "\n"
    "  --out FILE       HTML page; light or dark by the reader's setting, also for phones and "
    "print\n"
    "  --markdown FILE  the same as Markdown; with --svg it links to the figures\n"
    "  --csv FILE       one line per run: folder, settings and figures\n"
    "  --svg DIR        every figure as an SVG file\n"
    "  --title TEXT     title of the page\n"
    "  --json           {\"experiments\", \"runs\", \"done\", \"failed\", \"missing\", "
    "\"figures\"}\n"
    "  --quiet          do not print the tables\n"
    "\n"
    "  lcsm report runs/gla --out gla.html\n"
    "  lcsm experiment run tau-mqar --scale tiny --out results/tau\n"
    "  lcsm report results/tau --out tau.html --svg figures --markdown tau.md\n";

static void print(void *user, const char *text)
{
    (void)user;
    fputs(text, stdout);
}

static void warn(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "lcsm report: omitted: %s\n", text);
}

static int write_report(const lcsm_report_options *o, bool json, bool quiet)
{
    lcsm_report_summary sum = {.size = sizeof sum};
    lcsm_error          err;
    if (lcsm_report_write(o, &sum, &err) != LCSM_OK) return cli_report("report", &err);
    if (json) {
        json_t *all = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "experiments",
                                (json_int_t)sum.experiments, "runs", (json_int_t)sum.runs, "done",
                                (json_int_t)sum.done, "failed", (json_int_t)sum.failed, "missing",
                                (json_int_t)sum.missing, "figures", (json_int_t)sum.figures);
        json_dumpf(all, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
        json_decref(all);
    }
    if (!quiet && o->html != NULL)
        fprintf(stderr, "lcsm report: runs %zu, done %zu, failed %zu, figures %zu: %s\n", sum.runs,
                sum.done, sum.failed, sum.figures, o->html);
    return EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
    bool                help = false, json = false, quiet = false;
    int                 count;
    lcsm_report_options o         = {.size = sizeof o, .note = warn};
    const cli_option    options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                     {"--json", CLI_FLAG, &json, 0, 0},
                                     {"--quiet", CLI_FLAG, &quiet, 0, 0},
                                     {"--out", CLI_TEXT, &o.html, 0, 0},
                                     {"--markdown", CLI_TEXT, &o.markdown, 0, 0},
                                     {"--csv", CLI_TEXT, &o.csv, 0, 0},
                                     {"--svg", CLI_TEXT, &o.svg, 0, 0},
                                     {"--title", CLI_TEXT, &o.title, 0, 0},
                                     {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count == 0) {
        fputs("lcsm report: expected a folder: lcsm report DIR --out report.html\n", stderr);
        return EXIT_USAGE;
    }
    o.folders = (const char *const *)(argv + 1);
    o.count   = (size_t)count;
    if (!json && !quiet) o.text = print;
    return write_report(&o, json, quiet);
}
