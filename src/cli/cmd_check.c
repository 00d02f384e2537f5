/* cmd_check.c - lcsm check: prove the library on this machine. */
#include <jansson.h>
#include <lcsm/check.h>
#include <lcsm/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lab/lab.h"
#include "progress.h"

static const char HELP[] =
    "lcsm check - check gradients, kernels and models on this machine\n"
    "\n"
    "usage: lcsm check [eos|ops|methods|hybrids|codes|all|NAME] [--full] [--threads N] [--json] "
    "[--quiet]\n"
    "       lcsm check --oracle FILE... [--json] [--quiet]\n"
    "       lcsm check RUN --logits FILE [--tokens 'ID ID ...'] [--bound X] [--json]\n"
    "\n"
    "Compares the gradients of the recurrence (eos) and of the graph's operations (ops) with "
    "finite\n"
    "differences in double, float with double, and all forms of the computation and all splits of "
    "a\n"
    "sequence with each other; then the same for two-layer models of every method and code. Every\n"
    "method is also planned in its default size and at 10m, with one head and several (rows "
    "\"build\"),\n"
    "and trained for one step with several heads (rows \"train\"). NAME selects the cases whose "
    "name\n"
    "contains it.\n"
    "\n"
    "Float is judged by the plain float32 kernels on the same case: the column \"plain\" is their\n"
    "error against double, and the bound is 4 x plain + 5e-6.\n"
    "\n"
    "  --full        every size (default: a selection that takes a few seconds)\n"
    "  --oracle      the arguments are files of recorded cases: inputs, outputs, gradients. Each "
    "case\n"
    "                runs in double (bound 1e-9) and in float\n"
    "  --logits FILE compare a model's logits with recorded ones, for whole sequences, token by\n"
    "                token and split: JSON {\"sequences\", \"logits\"}, or float32 numbers with "
    "--tokens\n"
    "  --bound X     largest difference allowed with --logits (default: by the plain float32 "
    "kernels)\n"
    "  --threads N   number of threads (default: one per processor)\n"
    "  --json        {\"ok\", \"results\": [{\"name\", \"precision\", errors and bounds, "
    "\"ok\"}]}\n"
    "  --quiet       print only failed checks and the summary\n"
    "\n"
    "Exit code 0 if all checks passed, 1 if one failed or a case was refused, 3 if a file is not "
    "an\n"
    "oracle file.\n"
    "\n"
    "  lcsm check                                 the selection, a few seconds\n"
    "  lcsm check row-token --full                one operand form, every size\n"
    "  lcsm check --oracle oracles/*.json         recorded cases\n"
    "  lcsm check runs/mamba --logits logits.json\n"
    "  lcsm check --json | jq '.results[] | select(.ok | not)'\n";

/* What the rows go through: a table or a JSON list, and the counts. */
typedef struct {
    bool        json, quiet, oracle;
    cli_colours colour, message;
    json_t     *results;
    char        group[256]; /* of the last row shown */
    int         rows, failed, refused, shown;
    double      worst_output, worst_gradient; /* as parts of their bounds */
} show;

enum { NAME_WIDTH = 48, KIND_NAME_WIDTH = 24, KIND_WIDTH = 9 };

static const char *error_text(char text[16], double error)
{
    if (isnan(error)) return "-";
    (void)snprintf(text, 16, "%.1e", error);
    return text;
}

/* Files are headings; kinds of checks, which change from row to row, are a column. */
static void print_head(show *s, const char *group)
{
    if (s->oracle && strncmp(s->group, group, sizeof s->group - 1) != 0)
        printf("%s%s%s%s\n", s->shown > 0 ? "\n" : "", s->colour.bold, group, s->colour.off);
    else if (s->shown > 0) return;
    (void)snprintf(s->group, sizeof s->group, "%s", group);
    printf("%s  %-*s  ", s->colour.dim, s->oracle ? NAME_WIDTH : KIND_NAME_WIDTH, "case");
    if (!s->oracle) printf("%-*s  ", KIND_WIDTH, "check");
    printf("%-9s  %-7s  %-7s  %-7s  %-8s  %-7s  %-7s  verdict%s\n", "precision", "output", "plain",
           "bound", "gradient", "plain", "bound", s->colour.off);
}

static const char *verdict_of(const lcsm_check_row *r)
{
    return r->ok ? "ok" : r->refused ? "REFUSED" : "FAILED";
}

static void print_row(show *s, const lcsm_check_row *r)
{
    char text[6][16];
    print_head(s, r->group);
    printf("  %-*s  ", s->oracle ? NAME_WIDTH : KIND_NAME_WIDTH, r->name);
    if (!s->oracle) printf("%-*s  ", KIND_WIDTH, r->group);
    printf("%-9s  %-7s  %-7s  %-7s  %-8s  %-7s  %-7s  ", r->precision,
           error_text(text[0], r->output_error), error_text(text[1], r->output_reference),
           error_text(text[2], r->output_bound), error_text(text[3], r->gradient_error),
           error_text(text[4], r->gradient_reference), error_text(text[5], r->gradient_bound));
    printf("%s%-6s%s  %s%s%s\n", r->ok ? s->colour.good : s->colour.bad, verdict_of(r),
           s->colour.off, s->colour.dim, r->detail, s->colour.off);
    fflush(stdout);
    s->shown++;
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void store_row(show *s, const lcsm_check_row *r)
{
    json_t *row = json_object();
    json_object_set_new(row, "group", json_string(r->group));
    json_object_set_new(row, "name", json_string(r->name));
    json_object_set_new(row, "precision", json_string(r->precision));
    json_object_set_new(row, "output_error", number(r->output_error));
    json_object_set_new(row, "output_reference", number(r->output_reference));
    json_object_set_new(row, "output_bound", number(r->output_bound));
    json_object_set_new(row, "gradient_error", number(r->gradient_error));
    json_object_set_new(row, "gradient_reference", number(r->gradient_reference));
    json_object_set_new(row, "gradient_bound", number(r->gradient_bound));
    json_object_set_new(row, "ok", json_boolean(r->ok));
    json_object_set_new(row, "refused", json_boolean(r->refused));
    json_object_set_new(row, "detail", json_string(r->detail));
    json_array_append_new(s->results, row);
}

/* Progress is for people who see no rows. */
static void progress(const show *s, const lcsm_check_row *r)
{
    char text[120];
    if (!s->json && !s->quiet) return;
    (void)snprintf(text, sizeof text, "%d rows, %d failed  %.60s", s->rows, s->failed, r->name);
    cli_live(text);
}

static void take_row(void *user, const lcsm_check_row *r)
{
    show *s = user;
    if (s->json) store_row(s, r);
    else if (!s->quiet || !r->ok) print_row(s, r);
    s->rows++;
    s->failed += !r->ok && !r->refused;
    s->refused += r->refused;
    if (r->ok) {
        s->worst_output   = fmax(s->worst_output, r->output_error / r->output_bound);
        s->worst_gradient = fmax(s->worst_gradient, r->gradient_error / r->gradient_bound);
    }
    progress(s, r);
}

static void print_summary(show *s, bool complete)
{
    cli_live("");
    if (s->json) {
        json_t *all = json_object();
        json_object_set_new(all, "ok", json_boolean(complete && s->failed + s->refused == 0));
        json_object_set_new(all, "rows", json_integer(s->rows));
        json_object_set_new(all, "failed", json_integer(s->failed));
        json_object_set_new(all, "refused", json_integer(s->refused));
        json_object_set(all, "results", s->results);
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        fputc('\n', stdout);
        json_decref(all);
        return;
    }
    printf("%s%d checks, ", s->shown > 0 ? "\n" : "", s->rows);
    if (s->failed > 0) printf("%s%d failed%s", s->colour.bad, s->failed, s->colour.off);
    else if (s->refused == 0) printf("%sall ok%s", s->colour.good, s->colour.off);
    if (s->refused > 0)
        printf("%s%s%d refused%s", s->failed > 0 ? ", " : "", s->colour.bad, s->refused,
               s->colour.off);
    printf("; largest error of the passed: %.2g of its bound\n",
           fmax(s->worst_output, s->worst_gradient));
}

/* ---- what is checked -------------------------------------------------------------------- */

typedef lcsm_status a_check(const lcsm_context *ctx, const lcsm_check_options *options,
                            lcsm_check_sink *sink, void *user, lcsm_error *err);

static lcsm_status check_methods(const lcsm_context *ctx, const lcsm_check_options *options,
                                 lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    return lcsm_check_models(ctx, "methods", options, sink, user, err);
}

static lcsm_status check_hybrids(const lcsm_context *ctx, const lcsm_check_options *options,
                                 lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    return lcsm_check_models(ctx, "hybrids", options, sink, user, err);
}

static lcsm_status check_codes(const lcsm_context *ctx, const lcsm_check_options *options,
                               lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    return lcsm_check_models(ctx, "codes", options, sink, user, err);
}

static const struct {
    const char *name;
    a_check    *run;
} CHECKS[] = {{"eos", lcsm_check_eos},
              {"ops", lcsm_lab_check_ops},
              {"methods", check_methods},
              {"hybrids", check_hybrids},
              {"codes", check_codes}};

enum { CHECK_COUNT = sizeof CHECKS / sizeof CHECKS[0] };

/* A method, or what looks like a code or a pattern. */
static bool is_model(const char *word)
{
    for (size_t j = 0; j < lcsm_method_count(); j++)
        if (strcmp(cli_method_name(j), word) == 0) return true;
    return cli_is_pattern(word) || strcmp(word, "ssm") == 0 || (word[0] >= '0' && word[0] <= '9');
}

static int unknown_name(const char *word)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {"all"};
    size_t      n               = 1;
    for (size_t j = 0; j < CHECK_COUNT; j++) names[n++] = CHECKS[j].name;
    for (size_t j = 0; j < lcsm_method_count() && n < MOST; j++) names[n++] = cli_method_name(j);
    int code = cli_unknown("check", "name", word, names);
    fputs("see lcsm methods for methods and codes; any part of a case's name is accepted\n",
          stderr);
    return code;
}

/* A word is the name of a check, "all", a method, a code, or a filter over the cases of all
 * checks. */
static int run_checks(const lcsm_context *ctx, const char *word, bool full, show *s)
{
    lcsm_check_options options = {.size = sizeof options, .full = full};
    lcsm_error         err;
    int                only = -1;
    if (is_model(word)) {
        lcsm_status st = lcsm_check_models(ctx, word, &options, take_row, s, &err);
        return st == LCSM_OK ? EXIT_OK : cli_report("check", &err);
    }
    for (int j = 0; j < CHECK_COUNT; j++)
        if (strcmp(word, CHECKS[j].name) == 0) only = j;
    if (only < 0 && strcmp(word, "all") != 0) options.filter = word;
    for (int j = 0; j < CHECK_COUNT; j++) {
        if (only >= 0 && j != only) continue;
        if (CHECKS[j].run(ctx, &options, take_row, s, &err) != LCSM_OK)
            return cli_report("check", &err);
    }
    if (s->rows > 0) return EXIT_OK;
    return unknown_name(word);
}

static int run_oracles(const lcsm_context *ctx, char **files, int count, show *s)
{
    lcsm_error err;
    int        code = EXIT_OK;
    for (int j = 0; j < count; j++)
        if (lcsm_lab_check_oracle(ctx, files[j], take_row, s, &err) != LCSM_OK)
            code = cli_report("check", &err);
    return code;
}

/* ---- recorded logits ---- */

enum { MAX_TOKENS = 4096 };

/* Ids separated by spaces or commas; -1 after a message. */
static int parse_tokens(const char *text, int32_t ids[MAX_TOKENS])
{
    int count = 0;
    while (text != NULL && *(text += strspn(text, " ,\t\n")) != '\0') {
        char *end;
        long  id = strtol(text, &end, 10);
        if (end == text || id < 0 || id > INT32_MAX || count == MAX_TOKENS) {
            fprintf(stderr, "lcsm check: --tokens at '%s': expected at most %d token numbers\n",
                    text, MAX_TOKENS);
            return -1;
        }
        ids[count++] = (int32_t)id;
        text         = end;
    }
    return count;
}

static int run_logits(const char *folder, const char *file, const char *tokens, double bound,
                      int threads, show *s)
{
    static int32_t ids[MAX_TOKENS];
    int            count = parse_tokens(tokens, ids);
    cli_run        r;
    lcsm_error     err;
    if (count < 0) return EXIT_USAGE;
    int code = cli_run_open(&r, "check", folder, threads, false);
    if (code != EXIT_OK) return code;
    s->results = json_array();
    s->oracle  = true; /* rows stand under the name of their file */
    if (lcsm_check_logits(r.model, file, ids, (size_t)count, bound, take_row, s, &err) != LCSM_OK)
        code = cli_report("check", &err);
    else print_summary(s, true);
    json_decref(s->results);
    cli_run_close(&r);
    return code == EXIT_OK && s->failed + s->refused > 0 ? EXIT_FAILED : code;
}

static int run(const lcsm_context *ctx, bool full, char **words, int count, show *s)
{
    int code = s->oracle ? run_oracles(ctx, words, count, s)
                         : run_checks(ctx, count > 0 ? words[0] : "all", full, s);
    if (s->rows > 0 || s->json) print_summary(s, code == EXIT_OK);
    return code == EXIT_OK && s->failed + s->refused > 0 ? EXIT_FAILED : code;
}

int cmd_check(int argc, char **argv)
{
    bool             help = false, full = false;
    int              threads = 0, count = 0;
    const char      *logits = NULL, *tokens = NULL;
    double           bound = NAN;
    show             s     = {.colour = cli_colours_of(stdout), .message = cli_colours_of(stderr)};
    const cli_option options[] = {
        {"--help", CLI_FLAG, &help, 0, 0},           {"--full", CLI_FLAG, &full, 0, 0},
        {"--oracle", CLI_FLAG, &s.oracle, 0, 0},     {"--logits", CLI_TEXT, &logits, 0, 0},
        {"--tokens", CLI_TEXT, &tokens, 0, 0},       {"--bound", CLI_NUMBER, &bound, 0, 1e9},
        {"--threads", CLI_COUNT, &threads, 1, 1024}, {"--json", CLI_FLAG, &s.json, 0, 0},
        {"--quiet", CLI_FLAG, &s.quiet, 0, 0},       {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (logits != NULL && count == 1 && !s.oracle)
        return run_logits(argv[1], logits, tokens, bound, threads, &s);
    if (logits != NULL || tokens != NULL || !isnan(bound)) {
        fputs(logits != NULL ? "lcsm check: --logits FILE needs one run folder\n"
                             : "lcsm check: --tokens and --bound are for --logits FILE\n",
              stderr);
        return EXIT_USAGE;
    }
    if (s.oracle ? count == 0 : count > 1) {
        fputs(s.oracle ? "lcsm check: --oracle needs files\n"
                       : "lcsm check: one name at a time; files need --oracle\n",
              stderr);
        return EXIT_USAGE;
    }
    lcsm_context *ctx;
    lcsm_error    err;
    if (lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = threads},
            &err)
        != LCSM_OK)
        return cli_report("check", &err);
    s.results = json_array();
    int code  = run(ctx, full, argv + 1, count, &s);
    json_decref(s.results);
    lcsm_context_free(ctx);
    return code;
}
