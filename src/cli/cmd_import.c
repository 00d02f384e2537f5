/* cmd_import.c - lcsm import: a run folder from a released model. */
#include <jansson.h>

#include "cli.h"

static const char HELP[] =
    "lcsm import - convert a released model into a run folder\n"
    "\n"
    "usage: lcsm import FROM RUN [--weights TYPE] [--ignore-extra] [--allow-nonfinite]\n"
    "                   [--rwkv-rescaled] [-v]\n"
    "\n"
    "FROM is a folder with config.json and the weights (model.safetensors or pytorch_model.bin, "
    "or\n"
    "shards and their index), as on Hugging Face; a GGUF file; a file of rwkv.cpp (RWKV-4); or "
    "the\n"
    ".pth or .safetensors file of an RWKV model, whose tensor names and shapes say what it is.\n"
    "Supported:\n"
    "\n"
    "  transformers  Mamba, Mamba-2, Falcon-Mamba, RWKV-4, RecurrentGemma, Bamba, Granite 4,\n"
    "                Qwen3-Next, Qwen3.5, Jamba, Kimi Linear, MiniMax, xLSTM\n"
    "  fla           Mamba, GLA, RetNet, HGRN, HGRN2, GSA, linear attention, DeltaNet, gated "
    "DeltaNet,\n"
    "                DeltaProduct, KDA, RWKV-6, RWKV-7\n"
    "  mamba_ssm     Mamba, Mamba-2 (the original package)\n"
    "  RWKV          4, 5.2, 6, 7: original .pth files; 5 and 6 in RWKV's own Hugging Face form\n"
    "  GGUF          Mamba, Mamba-2, Falcon-Mamba, RWKV-6, RWKV-7; F32, F16, BF16, Q8_0, Q4_0,\n"
    "                Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K, which are converted to F32 first\n"
    "\n"
    "Anything that does not fit is an error that names it.\n"
    "RUN gets config.json, model.safetensors and, if FROM has them, tokenizer.json and the chat\n"
    "template.\n"
    "\n"
    "  --weights TYPE     store matrices as f32, f16, bf16, q8, q4 or q4k (default: f32). Other "
    "types\n"
    "                     than f32 take less room and run faster, but cannot be trained. A Q8_0,\n"
    "                     F16 or BF16 file keeps its numbers with q8, f16 or bf16\n"
    "  --ignore-extra     skip tensors that the model does not use\n"
    "  --allow-nonfinite  accept weights that are NaN or infinite\n"
    "  --rwkv-rescaled    the file was saved from a model in evaluation mode, which divides "
    "RWKV's\n"
    "                     output weights by powers of two; this undoes it\n"
    "  -v                 list the keys of config.json that are not used\n"
    "  --json             {\"kind\", \"tensors\", \"parameters\", \"tokenizer\"}\n"
    "\n"
    "Files of PyTorch (.pth, .bin) contain a pickle, which may name code. It is read for its\n"
    "tensors, and nothing in it is run: a pickle that names anything but tensors is refused.\n"
    "\n"
    "  lcsm import mamba-130m-hf runs/mamba && lcsm generate runs/mamba --prompt 'Once'\n"
    "  lcsm import mamba2-130m-q8_0.gguf runs/mamba2\n"
    "  lcsm import rwkv7-g1-0.1b.pth runs/rwkv7\n";

static void log_line(void *user, lcsm_log_level level, const char *text)
{
    const bool *all = user;
    if (*all || level >= LCSM_LOG_WARNING) fprintf(stderr, "lcsm import: %s\n", text);
}

static void report(const lcsm_import_result *r, const char *to, bool json)
{
    if (!json) {
        printf("%s: %zu tensors, %zu parameters%s -> %s\n", r->kind, r->tensors, r->parameters,
               r->tokenizer ? ", tokenizer" : "", to);
        return;
    }
    json_t *all =
        json_pack("{s:s, s:I, s:I, s:b}", "kind", r->kind, "tensors", (json_int_t)r->tensors,
                  "parameters", (json_int_t)r->parameters, "tokenizer", (int)r->tokenizer);
    json_dumpf(all, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(all);
}

int cmd_import(int argc, char **argv)
{
    bool                help = false, json = false, verbose = false;
    int                 count = 0;
    lcsm_import_options o     = {.size = sizeof o};
    lcsm_import_result  r     = {.size = sizeof r};
    lcsm_context       *ctx;
    lcsm_error          err;
    const cli_option    options[] = {
           {"--help", CLI_FLAG, &help, 0, 0},
           {"--json", CLI_FLAG, &json, 0, 0},
           {"-v", CLI_FLAG, &verbose, 0, 0},
           {"--weights", CLI_TEXT, &o.weights, 0, 0},
           {"--ignore-extra", CLI_FLAG, &o.ignore_extra, 0, 0},
           {"--allow-nonfinite", CLI_FLAG, &o.allow_nonfinite, 0, 0},
           {"--rwkv-rescaled", CLI_FLAG, &o.rwkv_rescaled, 0, 0},
           {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 2) {
        fputs("lcsm import: expected a folder or file to read and a folder to write\n", stderr);
        return EXIT_USAGE;
    }
    lcsm_context_options c = {.size = sizeof c, .log = log_line, .log_user = &verbose};
    if (lcsm_context_create(&ctx, &c, &err) != LCSM_OK) return cli_report("import", &err);
    lcsm_status st = lcsm_import(ctx, argv[1], argv[2], &o, &r, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) return cli_report("import", &err);
    report(&r, argv[2], json);
    return EXIT_OK;
}
