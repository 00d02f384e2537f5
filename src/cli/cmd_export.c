/* cmd_export.c - lcsm export: a trained or imported model in the format of another program. */
#include <lcsm/import.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm export - write a model in the format of another program\n"
    "\n"
    "usage: lcsm export RUN FILE --format gguf [--type TYPE]\n"
    "\n"
    "RUN is a run folder of mamba, falcon-mamba, mamba2, rwkv6 or rwkv7; FILE gets a GGUF file "
    "for\n"
    "llama.cpp, without a tokenizer. A setting that the format does not have is an error that\n"
    "names it.\n"
    "\n"
    "  --format gguf   the format; no other is supported\n"
    "  --type TYPE     f32, f16 or q8_0 for matrices; vectors and small tables stay f32\n"
    "                  (default: f32)\n"
    "\n"
    "  lcsm export runs/mamba2 mamba2.gguf --format gguf --type q8_0\n";

static void log_line(void *user, lcsm_log_level level, const char *text)
{
    (void)user;
    if (level >= LCSM_LOG_WARNING) fprintf(stderr, "lcsm export: %s\n", text);
}

static lcsm_status run(const char *from, const char *to, const char *type, lcsm_error *err)
{
    lcsm_context_options o     = {.size = sizeof o, .log = log_line};
    lcsm_context        *ctx   = NULL;
    lcsm_model          *model = NULL;
    lcsm_status          st    = lcsm_context_create(&ctx, &o, err);
    if (st == LCSM_OK) st = lcsm_model_load(&model, ctx, from, err);
    if (st == LCSM_OK) st = lcsm_export_gguf(model, to, type, err);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st;
}

int cmd_export(int argc, char **argv)
{
    bool             help   = false;
    const char      *format = NULL, *type = "f32";
    int              count = 0;
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
        fputs("lcsm export: expected a run folder, a file to write and --format gguf\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(format, "gguf") != 0) {
        fprintf(stderr, "lcsm export: --format \"%.40s\" is not supported; expected gguf\n",
                format);
        return EXIT_USAGE;
    }
    if (run(argv[1], argv[2], type, &err) != LCSM_OK) return cli_report("export", &err);
    printf("%s -> %s (%s)\n", argv[1], argv[2], type);
    return EXIT_OK;
}
