/* cmd_bench_train.c - lcsm bench train: one update of a model, and where its time and memory go. */
#include <jansson.h>
#include <lcsm/bench_train.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm bench train - time whole training steps of a model on random tokens\n"
    "\n"
    "usage: lcsm bench train [--task lm|mqar] [--KEY VALUE...] [--threads N] [--seconds S]\n"
    "                        [--isa SET] [--json]\n"
    "\n"
    "Accepts every setting of lcsm train. The default is the paper-sized GLA model: vocabulary "
    "50265\n"
    "tied, 6 layers, width 512, 4 heads, key width 64 per head, SwiGLU 1365, batch 4 x 512, "
    "AdamW.\n"
    "With --task mqar it is the paper's recall model: code 1-1-1-0, width 64, k 128, 2 layers,\n"
    "vocabulary 8192, batch 512 x 64, 4 pairs.\n"
    "\n"
    "  --threads N  number of threads (default: one per processor)\n"
    "  --seconds S  duration, at least three steps (default: 10)\n"
    "  --isa SET    use nothing faster than reference, portable, avx2, avx512, avx512-bf16 or\n"
    "               neon (default: auto, the fastest this processor supports); the peak is that "
    "of\n"
    "               the same set\n"
    "  --json       {\"tokens_per_second\", \"fraction_of_peak\", \"memory\": {...}, \"ops\": "
    "[...], ...}\n"
    "\n"
    "Rates are those of the best step, with the median beside it. The fraction of the peak counts\n"
    "useful operations only: per weight and token two forward and four backward, even if something "
    "is\n"
    "computed twice. The peak is the rate of fused multiply-adds in registers with the same number "
    "of\n"
    "threads: the best seen between steps and, because other programs may share the machine, for "
    "each\n"
    "step the rate measured every 50 ms during that step (\"fraction_beside\" is the median over\n"
    "steps). With --precision bf16 it is still that of float32.\n"
    "\n"
    "  lcsm bench train --seconds 30\n"
    "  lcsm bench train --batch-size 1 --seq-len 8192 --precision bf16\n"
    "  lcsm bench train --method mamba --d-model 256 --layers 4 --vocab 8192\n"
    "  lcsm bench train --task mqar --json | jq .examples_per_second\n";

/* ---- text ----------------------------------------------------------------------------------- */

static void print_shares(const lcsm_bench_update *u)
{
    printf("\n%-14s %10s %10s %8s\n", "op", "forward", "backward", "share");
    for (size_t j = 0; j < u->share_count; j++) {
        const lcsm_bench_share *s = &u->shares[j];
        printf("%-14s %7.2f ms %7.2f ms %6.1f %%\n", s->op, s->forward * 1e3, s->backward * 1e3,
               100 * (s->forward + s->backward) / u->seconds);
    }
}

static void print_text(const lcsm_bench_update *u, bool examples)
{
    double count = examples ? u->examples : u->tokens_per_update;
    printf("%.1f %s/s (median %.1f), %.2f ms per step, best of %d; %d thread%s, %s\n",
           count / u->seconds, examples ? "examples" : "tokens", count / u->median,
           u->seconds * 1e3, u->updates, u->threads, u->threads == 1 ? "" : "s", u->isa);
    printf("%.2f MFLOP per token, %.1f GFLOP/s of %.1f: %.3f of the peak, %.3f of the peak during "
           "the step; %.1f GB/s read\n",
           u->flops_per_token * 1e-6, u->gflops, u->peak_gflops, u->gflops / u->peak_gflops,
           u->beside, u->gb_read);
    if (u->share < 0.95)
        printf("its threads had a processor %.0f %% of the time\n", 100 * u->share);
    printf("%.2f M parameters; memory: values %.1f MB, gradients %.1f MB, moments %.1f MB, arena "
           "%.1f MB (at least %.1f, unshared %.1f); process %.1f MB\n",
           (double)u->parameters * 1e-6, (double)u->values * 1e-6, (double)u->gradients * 1e-6,
           (double)u->moments * 1e-6, (double)u->arena * 1e-6, (double)u->live * 1e-6,
           (double)u->unshared * 1e-6, (double)u->max_rss * 1e-6);
    print_shares(u);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *bytes(size_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *memory_of(const lcsm_bench_update *u)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "values", bytes(u->values), "gradients",
                     bytes(u->gradients), "moments", bytes(u->moments), "arena", bytes(u->arena),
                     "live", bytes(u->live), "unshared", bytes(u->unshared), "max_rss",
                     bytes(u->max_rss));
}

static void print_json(const lcsm_bench_update *u)
{
    json_t *ops = json_array();
    for (size_t j = 0; j < u->share_count; j++) {
        const lcsm_bench_share *s = &u->shares[j];
        json_array_append_new(ops, json_pack("{s:s, s:f, s:f, s:f}", "op", s->op, "forward",
                                             s->forward, "backward", s->backward, "share",
                                             (s->forward + s->backward) / u->seconds));
    }
    json_t *all = json_pack(
        "{s:s, s:i, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "isa",
        u->isa, "threads", u->threads, "seconds", u->seconds, "median_seconds", u->median,
        "updates", u->updates, "processor_share", u->share, "tokens_per_second",
        u->tokens_per_update / u->seconds, "examples_per_second", u->examples / u->seconds,
        "flops_per_token", u->flops_per_token, "gflops", u->gflops, "peak_gflops", u->peak_gflops,
        "fraction_of_peak", u->gflops / u->peak_gflops, "fraction_beside", u->beside, "loss",
        u->loss, "memory", memory_of(u), "ops", ops);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
    fputc('\n', stdout);
    json_decref(all);
}

/* ---- options -------------------------------------------------------------------------------- */

static int bench(const cli_settings *settings, const lcsm_bench_options *o, bool json)
{
    cli_config        base, cfg = {0};
    lcsm_bench_update update = {.size = sizeof update};
    lcsm_error        err;
    const char       *task = cli_setting(settings, "task"); /* the other defaults depend on it */
    int               code = cli_config_create(&base, "bench train", NULL);
    if (code == EXIT_OK && task != NULL
        && lcsm_train_config_set(base.train, "task", task, &err) != LCSM_OK)
        code = cli_report("bench train", &err);
    if (code == EXIT_OK) lcsm_bench_train_settings(base.model, base.train);
    if (code == EXIT_OK) code = cli_config_create(&cfg, "bench train", &base);
    if (code == EXIT_OK) code = cli_settings_apply(settings, "bench train", &cfg);
    if (code == EXIT_OK) code = cli_refuse_unused("bench train", &cfg, base.model, NULL);
    if (code == EXIT_OK && lcsm_bench_train(&update, o, cfg.model, cfg.train, &err) != LCSM_OK)
        code = cli_report("bench train", &err);
    if (code == EXIT_OK && json) print_json(&update);
    if (code == EXIT_OK && !json) print_text(&update, task != NULL && cli_makes_examples(task));
    cli_config_free(&base);
    cli_config_free(&cfg);
    return code;
}

int cmd_bench_train(int argc, char **argv)
{
    lcsm_bench_options o    = {.size = sizeof o};
    bool               help = false, json = false;
    const char        *isa = "auto";
    int                words;
    cli_settings       settings  = {.train = true};
    const cli_option   options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                    {"--threads", CLI_COUNT, &o.threads, 1, 1024},
                                    {"--json", CLI_FLAG, &json, 0, 0},
                                    {"--isa", CLI_TEXT, &isa, 0, 0},
                                    {"--seconds", CLI_NUMBER, &o.seconds, 0.001, 3600},
                                    {NULL, CLI_SETTINGS, &settings, 0, 0}};
    if (!cli_parse(argc, argv, options, &words) || !cli_isa("bench train", isa, &o.isa))
        return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (words != 0) {
        fprintf(stderr, "lcsm bench train: unexpected argument '%s'; see lcsm bench train --help\n",
                argv[1]);
        return EXIT_USAGE;
    }
    return bench(&settings, &o, json);
}
