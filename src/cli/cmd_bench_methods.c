/* cmd_bench_methods.c - lcsm bench methods: a model of every method, how fast it is. */
#include <jansson.h>
#include <lcsm/bench.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm bench methods - training and decoding speed of a model of every method\n"
    "\n"
    "usage: lcsm bench methods [--size SIZE] [--filter TEXT] [--threads N] [--quick] [--seconds "
    "S]\n"
    "                          [--precision float32|bf16] [--json]\n"
    "\n"
    "  --size SIZE    1m 3m 10m 30m ... parameters (default: 10m)\n"
    "  --filter TEXT  only methods whose name contains TEXT\n"
    "  --precision P  of training: float32, or bf16 (default: float32)\n"
    "  --threads N    number of threads (default: all processors); with 1, times are CPU time, "
    "which\n"
    "                 other programs hardly affect\n"
    "  --quick        growth from 256 to 4096 tokens only, and short measurements\n"
    "  --seconds S    minimum duration of each measurement (default: 1, or 0.2 with --quick)\n"
    "  --json         {\"peak_gflops\", \"results\": [{\"case\", \"parameters\", ...}]}\n"
    "\n"
    "Training is whole steps of 4 x 512 tokens, decoding one sequence token by token. Growth is "
    "the\n"
    "time per token, forward and backward of one block, in a sequence of 65536 tokens divided by "
    "that\n"
    "in 64 sequences of 1024: 1 where the time is linear in the length.\n"
    "\n"
    "  lcsm bench methods --filter mamba --precision bf16\n";

typedef struct {
    bool        json;
    cli_colours colour, message;
    json_t     *results;
    double      peak;
    int         rows, missed;
} show;

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
    if (!s->json)
        printf("%d thread%s, %s: %.1f GFLOP/s\n", m->threads, m->threads == 1 ? "" : "s", m->isa,
               m->gflops);
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void store_row(const show *s, const lcsm_method_speed *r)
{
    json_t *row = json_pack(
        "{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "case", r->name, "code", r->code, "linear",
        (int)r->linear, "d_model", (json_int_t)r->d_model, "layers", (json_int_t)r->layers,
        "parameters", (json_int_t)r->parameters, "memory_floats", (json_int_t)r->memory_floats,
        "short_length", (json_int_t)r->short_length, "long_length", (json_int_t)r->long_length);
    const struct {
        const char *key;
        double      value;
    } numbers[] = {{"train_flops", r->train_flops},
                   {"decode_flops", r->decode_flops},
                   {"train_tokens_per_second", r->train_tokens_a_second},
                   {"decode_tokens_per_second", r->decode_tokens_a_second},
                   {"short_seconds_per_token", r->short_seconds},
                   {"long_seconds_per_token", r->long_seconds},
                   {"growth", r->growth},
                   {"growth_target", r->growth_target}};
    for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++)
        json_object_set_new(row, numbers[j].key, number(numbers[j].value));
    json_array_append_new(s->results, row);
}

static void print_row(const show *s, const lcsm_method_speed *r)
{
    bool missed = r->growth > r->growth_target;
    if (s->rows == 0)
        printf("%s%-17s %10s %7s %10s %9s %9s %10s %10s  %s%s\n", s->colour.dim, "method",
               "parameters", "layers", "memory", "Mflop/tok", "(decode)", "train t/s", "decode t/s",
               "growth", s->colour.off);
    printf("%-17s %10zu %7td %10zu %9.1f %9.1f %10.0f %10.0f  ", r->name, r->parameters, r->layers,
           r->memory_floats, r->train_flops * 1e-6, r->decode_flops * 1e-6,
           r->train_tokens_a_second, r->decode_tokens_a_second);
    printf("%s%.2f%s from %td to %td\n", missed ? s->colour.bad : "", r->growth,
           missed ? s->colour.off : "", r->short_length, r->long_length);
    fflush(stdout);
}

static void take_row(void *user, const lcsm_method_speed *r)
{
    show *s = user;
    cli_live("");
    if (s->json) store_row(s, r);
    else print_row(s, r);
    s->rows++;
    s->missed += r->growth > r->growth_target;
}

static void print_summary(const show *s)
{
    if (!s->json) {
        printf("\n%d methods; growth above its target: %d\n", s->rows, s->missed);
        return;
    }
    json_t *all = json_pack("{s:f, s:i, s:O}", "peak_gflops", s->peak, "targets_missed", s->missed,
                            "results", s->results);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    fputc('\n', stdout);
    json_decref(all);
}

/* What can be refused before the machine is measured. */
static int check(const char *filter, const char *size)
{
    cli_config    cfg;
    lcsm_context *ctx;
    lcsm_error    err;
    bool          found = false;
    for (size_t j = 0; j < lcsm_method_count(); j++)
        found = found || filter == NULL || strstr(cli_method_name(j), filter) != NULL;
    if (!found) {
        fprintf(stderr, "lcsm bench: no method has '%s' in its name; lcsm methods lists them\n",
                filter);
        return EXIT_USAGE;
    }
    int code = cli_config_create(&cfg, "bench", NULL);
    if (code != EXIT_OK) return code;
    lcsm_status st = lcsm_context_create(&ctx, NULL, &err);
    if (st == LCSM_OK) st = lcsm_model_config_size(cfg.model, ctx, size, &err);
    lcsm_context_free(ctx);
    cli_config_free(&cfg);
    return st == LCSM_OK ? EXIT_OK : cli_report("bench", &err);
}

int cmd_bench_methods(int argc, char **argv)
{
    lcsm_bench_options o    = {.size = sizeof o};
    const char        *size = "10m";
    bool               help = false;
    int                count;
    lcsm_error         err;
    show               s = {.colour = cli_colours_of(stdout), .message = cli_colours_of(stderr)};
    const cli_option   options[] = {
          {"--help", CLI_FLAG, &help, 0, 0},     {"--threads", CLI_COUNT, &o.threads, 1, 1024},
          {"--quick", CLI_FLAG, &o.quick, 0, 0}, {"--filter", CLI_TEXT, &o.filter, 0, 0},
          {"--json", CLI_FLAG, &s.json, 0, 0},   {"--seconds", CLI_NUMBER, &o.seconds, 0.001, 3600},
          {"--size", CLI_TEXT, &size, 0, 0},     {"--precision", CLI_TEXT, &o.precision, 0, 0},
          {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (!cli_no_words(argv[0], argv, count)) return EXIT_USAGE;
    int code = check(o.filter, size);
    if (code != EXIT_OK) return code;
    s.results                  = json_array();
    const lcsm_bench_sink sink = {sizeof sink, take_machine, NULL, take_progress, &s};
    lcsm_status           st   = lcsm_bench_methods(&o, size, take_row, &sink, &err);
    cli_live("");
    if (st == LCSM_OK && s.rows > 0) print_summary(&s);
    json_decref(s.results);
    if (st != LCSM_OK) return cli_report("bench", &err);
    if (s.rows > 0) return EXIT_OK;
    fprintf(stderr, "lcsm bench: no method has '%s' in its name; lcsm methods lists them\n",
            o.filter);
    return EXIT_USAGE;
}
