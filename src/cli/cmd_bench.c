/* cmd_bench.c - lcsm bench: figures beside what this machine can do. */
#include <jansson.h>
#include <lcsm/bench.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm bench - measure speed, beside this machine's measured peak\n"
    "\n"
    "usage: lcsm bench eos [--threads N] [--quick] [--filter TEXT] [--seconds S] [--isa SET]\n"
    "                      [--json]                       the recurrence itself\n"
    "       lcsm bench decode|prefill RUN | --method NAME ...     see its --help\n"
    "       lcsm bench dist                               messages between ranks; see its --help\n"
    "       lcsm bench methods [--size 10m] ...           a model of every method; see its --help\n"
    "       lcsm bench tokenizer FILE|FOLDER...           text to ids, on one core; see its "
    "--help\n"
    "       lcsm bench train [--method NAME ...]          whole training steps; see its --help\n"
    "\n"
    "lcsm bench eos measures the fused multiply-adds, vector exponentials and memory reads that "
    "this\n"
    "processor can do, compares every kernel with the plain reference (a wrong one is not timed), "
    "and\n"
    "times forward and forward+backward, and the matrix products of linear maps in float32 and\n"
    "bf16. Useful work is, per token and head, 4 K D operations forward and 12 K D forward and\n"
    "backward, half as much again with a delta rule or free a and b, and twice that for a complex\n"
    "memory.\n"
    "\n"
    "  --threads N    number of threads (default: 1 and 2, one after the other)\n"
    "  --quick        one size and short measurements, a few seconds in total\n"
    "  --filter TEXT  only cases whose name contains TEXT\n"
    "  --seconds S    duration per case and pass (default: 1, or 0.2 with --quick)\n"
    "  --isa SET      use nothing faster than reference, portable, avx2, avx512, avx512-bf16 or\n"
    "                 neon (default: auto, the fastest this processor supports)\n"
    "  --json         {\"peak_gflops\", \"machine\", \"results\": [{\"case\", \"threads\", "
    "\"seconds\",\n"
    "                 \"fraction_of_peak\", ...}]}\n"
    "\n"
    "Each figure is shown with its target: + if it is met, - if it is missed.\n"
    "  of peak        useful operations as a fraction of the multiply-adds measured at the same "
    "time;\n"
    "                 for generated oscillations the time as a multiple (x exp) of that of the\n"
    "                 exponentials or gates alone\n"
    "  2 threads      speed-up over one thread; for long sequences the time per token as a "
    "multiple\n"
    "                 (x T) of that at T = 10,000; for products in bf16 the speed as a multiple\n"
    "                 (x f32) of that of the same product in float32, both measured in turns\n"
    "  extra memory   of backward, as a fraction of (T/C) K D + C K D floats per sequence and "
    "head\n"
    "Exit code 0, or 1 if a kernel is wrong. A missed target does not change the exit code.\n"
    "\n"
    "  lcsm bench eos --quick                    a first look\n"
    "  lcsm bench eos --filter row-token/fwd     one operand form\n"
    "  lcsm bench eos --filter product           matrix products in float32 and bf16\n"
    "  lcsm bench eos --json | jq '.results[] | [.case, .threads, .fraction_of_peak]'\n";

typedef struct {
    bool        json;
    cli_colours colour, message;
    json_t     *results, *machines;
    double      peak;
    int         rows, wrong, met, missed;
} show;

/* Key of JSON, unit, digits, and the column of the table; figures of one column exclude each
 * other, the first that is there is shown. */
static const struct {
    const char *key, *unit;
    int         digits, column;
} FIGURES[LCSM_BENCH_FIGURES] = {
    [LCSM_BENCH_PEAK]    = {"fraction_of_peak", "", 3, 0},
    [LCSM_BENCH_EVALS]   = {"times_evaluations", "x exp", 2, 0},
    [LCSM_BENCH_SPEEDUP] = {"speedup", "x", 2, 1},
    [LCSM_BENCH_MEMORY]  = {"memory_of_allowed", "", 2, 2},
    [LCSM_BENCH_LENGTH]  = {"time_of_short", "x T", 2, 1},
    [LCSM_BENCH_TIMES]   = {"times_f32", "x f32", 2, 1},
};

enum { NAME_WIDTH = 46, COLUMNS = 3 };
static const char *const COLUMN_HEADS[COLUMNS]  = {"of peak", "2 threads", "extra memory"};
static const int         COLUMN_WIDTHS[COLUMNS] = {18, 17, 13};

/* ---- text ------------------------------------------------------------------------------- */

static void print_heads(const show *s)
{
    printf("\n%s%-*s thr       time  GFLOP/s", s->colour.dim, NAME_WIDTH, "case");
    for (int j = 0; j < COLUMNS; j++) printf("  %-*s", COLUMN_WIDTHS[j], COLUMN_HEADS[j]);
    printf("  form, chunk%s\n", s->colour.off);
}

/* The figure of a column: one with a target before one without. */
static int figure_of(const lcsm_bench_row *r, int column)
{
    int found = -1;
    for (int j = 0; j < LCSM_BENCH_FIGURES; j++) {
        if (FIGURES[j].column != column || isnan(r->figure[j].value)) continue;
        if (found < 0 || !isnan(r->figure[j].target)) found = j;
    }
    return found;
}

static void print_column(const show *s, const lcsm_bench_row *r, int column)
{
    int  j = figure_of(r, column), used = 0;
    char text[64] = "";
    if (j < 0) {
        printf("  %-*s", COLUMN_WIDTHS[column], "");
        return;
    }
    const lcsm_bench_result *f = &r->figure[j];
    used = snprintf(text, sizeof text, "%.*f%s", FIGURES[j].digits, f->value, FIGURES[j].unit);
    printf("  %s", text);
    if (!isnan(f->target)) {
        bool at_least = j == LCSM_BENCH_PEAK || j == LCSM_BENCH_SPEEDUP || j == LCSM_BENCH_TIMES;
        int  more     = snprintf(text, sizeof text, " %s %g ", at_least ? ">=" : "<=", f->target);
        printf("%s%s%s%s", text, f->met ? s->colour.good : s->colour.bad, f->met ? "+" : "-",
               s->colour.off);
        used += more + 1;
    }
    printf("%-*s", used < COLUMN_WIDTHS[column] ? COLUMN_WIDTHS[column] - used : 0, "");
}

static void print_row(show *s, const lcsm_bench_row *r)
{
    if (s->rows == 0) print_heads(s);
    printf("%-*s %3d", NAME_WIDTH, r->name, r->threads);
    if (isnan(r->seconds)) {
        printf("  %s%s%s", r->wrong ? s->colour.bad : s->colour.dim, r->note, s->colour.off);
        if (r->wrong) printf(", error %.1e", r->error);
        putchar('\n');
        return;
    }
    printf(" %7.2f ms  %7.1f", r->seconds * 1e3, r->gflops);
    for (int j = 0; j < COLUMNS; j++) print_column(s, r, j);
    printf("  %s", s->colour.dim);
    if (*r->form != '\0') printf("%s %td%s", r->form, r->chunk, *r->note != '\0' ? "; " : "");
    printf("%s%s\n", r->note, s->colour.off);
    fflush(stdout);
}

static void print_machine(const show *s, const lcsm_bench_machine *m)
{
    printf("%s%d thread%s, %s:%s %.1f GFLOP/s, %.2f G exp/s, %.2f G gates/s, %.1f GB/s read\n",
           s->colour.bold, m->threads, m->threads == 1 ? "" : "s", m->isa, s->colour.off, m->gflops,
           m->gexp, m->ggate, m->gbytes);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void store_row(show *s, const lcsm_bench_row *r)
{
    json_t *row = json_object(), *targets = json_object();
    json_object_set_new(row, "case", json_string(r->name));
    json_object_set_new(row, "threads", json_integer(r->threads));
    json_object_set_new(row, "seconds", number(r->seconds));
    json_object_set_new(row, "processor_share", number(r->share));
    json_object_set_new(row, "gflops", number(r->gflops));
    json_object_set_new(row, "peak_gflops", number(r->peak_gflops));
    json_object_set_new(row, "error", number(r->error));
    json_object_set_new(row, "wrong", json_boolean(r->wrong));
    json_object_set_new(row, "form", json_string(r->form));
    json_object_set_new(row, "chunk", json_integer(r->chunk));
    json_object_set_new(row, "extra_bytes", json_integer((json_int_t)r->extra_bytes));
    for (int j = 0; j < LCSM_BENCH_FIGURES; j++) {
        const lcsm_bench_result *f = &r->figure[j];
        json_object_set_new(row, FIGURES[j].key, number(f->value));
        if (isnan(f->target) || isnan(f->value)) continue;
        json_t *target = json_object();
        json_object_set_new(target, "target", json_real(f->target));
        json_object_set_new(target, "met", json_boolean(f->met));
        json_object_set_new(targets, FIGURES[j].key, target);
    }
    json_object_set_new(row, "targets", targets);
    json_object_set_new(row, "note", json_string(r->note));
    json_array_append_new(s->results, row);
}

static void store_machine(show *s, const lcsm_bench_machine *m)
{
    json_t *row = json_object();
    json_object_set_new(row, "threads", json_integer(m->threads));
    json_object_set_new(row, "isa", json_string(m->isa));
    json_object_set_new(row, "gflops", json_real(m->gflops));
    json_object_set_new(row, "gexp", json_real(m->gexp));
    json_object_set_new(row, "ggate", json_real(m->ggate));
    json_object_set_new(row, "gbytes", json_real(m->gbytes));
    json_array_append_new(s->machines, row);
}

/* ---- the sink --------------------------------------------------------------------------- */

static void take_progress(void *user, const char *text)
{
    (void)user;
    cli_live(text);
}

static void take_machine(void *user, const lcsm_bench_machine *m)
{
    show *s = user;
    s->peak = m->gflops;
    cli_live("");
    if (s->json) store_machine(s, m);
    else print_machine(s, m);
}

static void take_row(void *user, const lcsm_bench_row *r)
{
    show *s = user;
    cli_live("");
    if (s->json) store_row(s, r);
    else print_row(s, r);
    s->rows++;
    s->wrong += r->wrong;
    for (int j = 0; j < LCSM_BENCH_FIGURES; j++) {
        if (isnan(r->figure[j].value) || isnan(r->figure[j].target)) continue;
        if (r->figure[j].met) s->met++;
        else s->missed++;
    }
}

static void print_summary(const show *s)
{
    cli_live("");
    if (!s->json) {
        printf("\n%d rows; targets: %s%d met%s, %s%d missed%s", s->rows, s->colour.good, s->met,
               s->colour.off, s->missed > 0 ? s->colour.bad : "", s->missed, s->colour.off);
        if (s->wrong > 0) printf("; %s%d WRONG%s", s->colour.bad, s->wrong, s->colour.off);
        putchar('\n');
        return;
    }
    json_t *all = json_object();
    json_object_set_new(all, "peak_gflops", json_real(s->peak));
    json_object_set(all, "machine", s->machines);
    json_object_set_new(all, "targets_met", json_integer(s->met));
    json_object_set_new(all, "targets_missed", json_integer(s->missed));
    json_object_set(all, "results", s->results);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
    fputc('\n', stdout);
    json_decref(all);
}

static int run(const lcsm_bench_options *options, show *s)
{
    const lcsm_bench_sink sink = {sizeof sink, take_machine, take_row, take_progress, s};
    lcsm_error            err;
    if (lcsm_bench_eos(options, &sink, &err) != LCSM_OK) {
        cli_live("");
        return cli_report("bench", &err);
    }
    print_summary(s);
    if (s->rows > 0) return s->wrong > 0 ? EXIT_FAILED : EXIT_OK;
    fprintf(stderr, "lcsm bench: no case contains '%s' in its name\n", options->filter);
    return EXIT_USAGE;
}

static int bench_eos(int argc, char **argv)
{
    lcsm_bench_options o     = {.size = sizeof o};
    bool               help  = false;
    const char        *isa   = "auto";
    int                count = 0;
    show               s = {.colour = cli_colours_of(stdout), .message = cli_colours_of(stderr)};
    const cli_option   options[] = {
          {"--help", CLI_FLAG, &help, 0, 0},     {"--threads", CLI_COUNT, &o.threads, 1, 1024},
          {"--quick", CLI_FLAG, &o.quick, 0, 0}, {"--filter", CLI_TEXT, &o.filter, 0, 0},
          {"--json", CLI_FLAG, &s.json, 0, 0},   {"--seconds", CLI_NUMBER, &o.seconds, 0.001, 3600},
          {"--isa", CLI_TEXT, &isa, 0, 0},       {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count) || !cli_isa(argv[0], isa, &o.isa))
        return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count > 0) {
        fprintf(stderr, "lcsm bench eos: unexpected argument '%s'; use --filter to select cases\n",
                argv[1]);
        return EXIT_USAGE;
    }
    s.results  = json_array();
    s.machines = json_array();
    int code   = run(&o, &s);
    json_decref(s.results);
    json_decref(s.machines);
    return code;
}

/* The benchmarks; each gets "bench" and its own name as argv[0]. */
static const struct {
    const char  *name;
    cli_command *run;
} SUITES[] = {{"eos", bench_eos},
              {"decode", cmd_bench_decode},
              {"dist", cmd_bench_dist},
              {"methods", cmd_bench_methods},
              {"prefill", cmd_bench_decode},
              {"tokenizer", cmd_bench_tokenizer},
              {"train", cmd_bench_train}};

enum { SUITE_COUNT = sizeof SUITES / sizeof SUITES[0] };

int cmd_bench(int argc, char **argv)
{
    const char *names[SUITE_COUNT + 1] = {NULL};
    char        title[32];
    if (argc < 2) {
        fputs("lcsm bench: expected eos, decode, dist, methods, prefill, tokenizer or train; see "
              "lcsm bench "
              "--help\n",
              stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    for (int j = 0; j < SUITE_COUNT; j++) {
        names[j] = SUITES[j].name;
        if (strcmp(argv[1], names[j]) != 0) continue;
        (void)snprintf(title, sizeof title, "bench %s", names[j]);
        argv[1] = title;
        return SUITES[j].run(argc - 1, argv + 1);
    }
    return cli_unknown("bench", "benchmark", argv[1], names);
}
