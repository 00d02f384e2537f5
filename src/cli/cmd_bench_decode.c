/* cmd_bench_decode.c - lcsm bench decode: tokens a second beside the memory's bound. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cli_slots.h"

static const char HELP[] =
    "lcsm bench decode - decoding speed, beside the limit set by memory bandwidth\n"
    "\n"
    "usage: lcsm bench decode RUN [--weights TYPE] [--slots N,N] [--threads N] [--seconds S]\n"
    "                              [--json]\n"
    "       lcsm bench decode --method NAME [--KEY VALUE...] ...\n"
    "\n"
    "Decoding a single token reads every weight once, so the limit is the memory bandwidth, "
    "measured\n"
    "at the same time, divided by the size of the weights. A model that fits into a cache can "
    "exceed\n"
    "it. A prompt is processed many tokens at a time and is limited by arithmetic: its limit is "
    "the\n"
    "peak of fused multiply-adds in float32, measured at the same time, for 2 operations a "
    "weight.\n"
    "lcsm bench prefill is the same command.\n"
    "\n"
    "  --weights TYPE  store matrices as f32, f16, bf16, q8, q4 or q4k (default: as in the run\n"
    "                  folder, or f32)\n"
    "  --slots N,N     also decode so many sequences side by side, beside one by itself\n"
    "  --threads N     number of threads (default: 1 and 2, one after the other)\n"
    "  --seconds S     duration of each measurement (default: 2)\n"
    "  --json          {\"results\": [{\"case\", \"threads\", \"seconds\", \"tokens_per_second\",\n"
    "                  \"bound_tokens_per_second\", \"fraction_of_bound\", ...}]}\n"
    "\n"
    "With --slots the limit is that of reading the weights once for all of them and their "
    "memories, or\n"
    "of arithmetic. In --json, \"slots\" is a list of {\"slots\", \"tokens_per_second\",\n"
    "\"one_tokens_per_second\", \"times_one\", \"bound_tokens_per_second\"}.\n"
    "\n"
    "  lcsm bench decode runs/book\n"
    "  lcsm bench decode --method mamba --d-model 768 --layers 12 --vocab 50280\n"
    "  lcsm bench decode runs/book --slots 2,8,32\n";

static json_t *to_json(const char *name, const lcsm_bench_decode *r)
{
    return json_pack(
        "{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "case", name,
        "threads", r->threads, "seconds", 1 / r->decode_rate, "tokens_per_second", r->decode_rate,
        "prefill_tokens_per_second", r->prefill_rate, "bound_tokens_per_second", r->bound,
        "fraction_of_bound", r->decode_rate / r->bound, "read_gbytes", r->read_rate / 1e9,
        "parameters", (json_int_t)r->parameters, "weight_bytes", (json_int_t)r->weight_bytes,
        "state_bytes", (json_int_t)r->state_bytes, "prompt", (json_int_t)r->prompt,
        "resident_bytes", (json_int_t)r->resident_bytes, "peak_gflops", r->fma_rate / 1e9,
        "prefill_fraction_of_peak", r->prefill_rate / r->prefill_bound);
}

static void print_row(const char *name, const lcsm_bench_decode *r, bool first)
{
    if (first)
        printf("%s: %zu parameters, %.1f MB read per token, memory per sequence %.1f kB, %.1f MB "
               "resident\n\n"
               "threads   decode tok/s   bound tok/s   of bound   read GB/s   prompt tok/s   of "
               "peak   peak GF/s\n",
               name, r->parameters, (double)r->weight_bytes / 1e6, (double)r->state_bytes / 1e3,
               (double)r->resident_bytes / 1e6);
    printf("%7d %14.1f %13.1f %10.2f %11.1f %14.0f %9.2f %11.0f\n", r->threads, r->decode_rate,
           r->bound, r->decode_rate / r->bound, r->read_rate / 1e9, r->prefill_rate,
           r->prefill_rate / r->prefill_bound, r->fma_rate / 1e9);
    (void)fflush(stdout);
}

/* The model of a run folder, or one with first values. */
static lcsm_status open_model(lcsm_model **out, const lcsm_context *ctx, const char *folder,
                              const lcsm_model_config *cfg, const char *weights, lcsm_error *err)
{
    lcsm_model_load_options o = {.size = sizeof o, .weights = weights};
    if (folder != NULL) return lcsm_model_load_with(out, ctx, folder, &o, err);
    lcsm_status st = lcsm_model_create(out, ctx, cfg, 1, err);
    return st == LCSM_OK && weights != NULL ? lcsm_model_pack(*out, weights, err) : st;
}

/* What is measured: a run folder, or NULL and settings. */
typedef struct {
    const char              *folder;
    const lcsm_model_config *cfg;
    const char              *weights, *slots; /* NULL: as they are; none */
    double                   seconds;
    bool                     json;
} bench_case;

static lcsm_status measure(const bench_case *b, int threads, lcsm_bench_decode *out,
                           lcsm_error *err)
{
    lcsm_context_options o     = {.size = sizeof o, .threads = threads};
    lcsm_context        *ctx   = NULL;
    lcsm_model          *model = NULL;
    lcsm_status          st    = lcsm_context_create(&ctx, &o, err);
    if (st == LCSM_OK) st = open_model(&model, ctx, b->folder, b->cfg, b->weights, err);
    if (st == LCSM_OK) st = lcsm_bench_decode_model(model, b->seconds, out, err);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st;
}

/* The numbers of sequences in the list, with so many threads: rows, or a member of a json object.
 */
static lcsm_status measure_slots(const bench_case *b, int threads, bool first, json_t *row,
                                 lcsm_error *err)
{
    lcsm_context_options o     = {.size = sizeof o, .threads = threads};
    lcsm_context        *ctx   = NULL;
    lcsm_model          *model = NULL;
    json_t              *list  = row != NULL ? json_array() : NULL;
    lcsm_status          st    = lcsm_context_create(&ctx, &o, err);
    if (st == LCSM_OK) st = open_model(&model, ctx, b->folder, b->cfg, b->weights, err);
    if (st == LCSM_OK) st = cli_slots_bench(model, b->slots, b->seconds, first, list, err);
    if (list != NULL) json_object_set_new(row, "slots", list);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st;
}

static int bench(const bench_case *b, int threads)
{
    int         from = threads > 0 ? threads : 1, to = threads > 0 ? threads : 2;
    char        text[CLI_VALUE];
    const char *name    = b->folder != NULL ? b->folder : cli_model_name(b->cfg, text);
    json_t     *results = json_array();
    lcsm_error  err;
    lcsm_status st = LCSM_OK;
    if (threads == 0 && sysconf(_SC_NPROCESSORS_ONLN) < 2) to = 1;
    for (int n = from; n <= to && st == LCSM_OK; n++) {
        lcsm_bench_decode r = {.size = sizeof r};
        st                  = measure(b, n, &r, &err);
        if (st != LCSM_OK) break;
        if (b->json) json_array_append_new(results, to_json(name, &r));
        else print_row(name, &r, n == from);
    }
    for (int n = from; n <= to && st == LCSM_OK && b->slots != NULL; n++)
        st = measure_slots(b, n, n == from, json_array_get(results, (size_t)(n - from)), &err);
    if (b->json && st == LCSM_OK) {
        json_t *all = json_pack("{s:O}", "results", results);
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
        fputc('\n', stdout);
        json_decref(all);
    }
    json_decref(results);
    return st == LCSM_OK ? EXIT_OK : cli_report("bench decode", &err);
}

int cmd_bench_decode(int argc, char **argv)
{
    bool             help = false, json = false;
    int              threads = 0, count = 0;
    double           seconds  = 0;
    const char      *weights  = NULL;
    const char      *slots    = NULL;
    cli_settings     settings = {.train = false};
    cli_config       cfg;
    const cli_option options[] = {
        {"--help", CLI_FLAG, &help, 0, 0},
        {"--json", CLI_FLAG, &json, 0, 0},
        {"--weights", CLI_TEXT, &weights, 0, 0},
        {"--slots", CLI_TEXT, &slots, 0, 0},
        {"--threads", CLI_COUNT, &threads, 1, 1024},
        {"--seconds", CLI_NUMBER, &seconds, 0.001, 3600},
        {NULL, CLI_SETTINGS, &settings, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count > 1 || (count == 1) == (settings.count > 0)) {
        fputs("lcsm bench decode: expected a run folder, or settings of a model such as --method "
              "gla\n",
              stderr);
        return EXIT_USAGE;
    }
    if (slots != NULL && !cli_slots_valid(slots)) {
        fprintf(stderr,
                "lcsm bench decode: --slots %s; expected numbers from 1 to 65536 such as 1,8,32\n",
                slots);
        return EXIT_USAGE;
    }
    int code = cli_config_create(&cfg, "bench decode", NULL);
    if (code == EXIT_OK) code = cli_settings_apply(&settings, "bench decode", &cfg);
    if (code == EXIT_OK) code = cli_refuse_unused("bench decode", &cfg, NULL, NULL);
    if (code == EXIT_OK)
        code = bench(&(bench_case){.folder  = count == 1 ? argv[1] : NULL,
                                   .cfg     = cfg.model,
                                   .weights = weights,
                                   .slots   = slots,
                                   .seconds = seconds,
                                   .json    = json},
                     threads);
    cli_config_free(&cfg);
    return code;
}
