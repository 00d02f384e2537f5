/* cmd_export.c - lcsm export: a trained or imported model in the format of another program. */
#include <lcsm/import.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm export - write a model in the format of another program\n"
    "\n"
    "usage: lcsm export RUN OUT --format hf|gguf [--type TYPE]\n"
    "\n"
    "A setting that the format does not have is an error that names it; nothing is written then.\n"
    "Adapters are merged first (lcsm merge).\n"
    "\n"
    "  --format hf     OUT is a new folder that transformers or fla load, with the tokenizer of\n"
    "                  RUN: mamba, falcon-mamba, mamba2, rwkv4 to rwkv7, gla, retnet, hgrn, "
    "hgrn2,\n"
    "                  linear-attention, gsa, deltanet, gated-deltanet, deltaproduct, kda, mlstm,\n"
    "                  and hybrids as RecurrentGemma, Qwen3-Next, Qwen3.5, Bamba, Granite 4,\n"
    "                  Jamba, Kimi Linear and MiniMax have them; the format that the model was\n"
    "                  imported from, where there are several\n"
    "  --format gguf   OUT is a file for llama.cpp, without a tokenizer: mamba, falcon-mamba,\n"
    "                  mamba2, rwkv6 and rwkv7\n"
    "  --type TYPE     f32, and with hf f16 or bf16 for all tensors, with gguf f16 or q8_0 for\n"
    "                  matrices (default: f32)\n"
    "\n"
    "  lcsm export runs/mamba2 mamba2-hf --format hf --type bf16\n"
    "  lcsm export runs/mamba2 mamba2.gguf --format gguf --type q8_0\n";

static void log_line(void *user, lcsm_log_level level, const char *text)
{
    (void)user;
    if (level >= LCSM_LOG_WARNING) fprintf(stderr, "lcsm export: %s\n", text);
}

static lcsm_status run(const char *from, const char *to, const char *format, const char *type,
                       char kind[64], lcsm_error *err)
{
    bool                 hf    = strcmp(format, "hf") == 0;
    lcsm_context_options o     = {.size = sizeof o, .log = log_line};
    lcsm_context        *ctx   = NULL;
    lcsm_model          *model = NULL;
    lcsm_status          st    = lcsm_context_create(&ctx, &o, err);
    if (st == LCSM_OK) st = lcsm_model_load(&model, ctx, from, err);
    if (st == LCSM_OK)
        st = hf ? lcsm_export_hf(model, to, from, type, kind, err)
                : lcsm_export_gguf(model, to, type, err);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st;
}

int cmd_export(int argc, char **argv)
{
    bool             help   = false;
    const char      *format = NULL, *type = "f32";
    char             kind[64] = "GGUF";
    int              count    = 0;
    lcsm_error       err;
    const cli_option options[] = {
        {"--help", CLI_FLAG, &help, 0, 0},
        {"--format", CLI_TEXT, &format, 0, 0},
        {"--type", CLI_TEXT, &type, 0, 0},
        {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 2 || format == NULL) {
        fputs("lcsm export: expected a run folder, what to write and --format hf or gguf\n",
              stderr);
        return EXIT_USAGE;
    }
    if (strcmp(format, "gguf") != 0 && strcmp(format, "hf") != 0) {
        fprintf(stderr, "lcsm export: --format \"%.40s\" is not supported; expected hf or gguf\n",
                format);
        return EXIT_USAGE;
    }
    if (run(argv[1], argv[2], format, type, kind, &err) != LCSM_OK)
        return cli_report("export", &err);
    printf("%s -> %s (%s, %s)\n", argv[1], argv[2], kind, type);
    return EXIT_OK;
}
