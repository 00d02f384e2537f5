/* cmd_merge.c - lcsm merge: a run with adapters as a plain model. */
#include <jansson.h>
#include <stdio.h>

#include "cli.h"

static const char HELP[] =
    "lcsm merge - merge low-rank adapters into the weights\n"
    "\n"
    "usage: lcsm merge RUN OUT [--json]\n"
    "\n"
    "Writes the folder OUT with the settings, the tokenizer and the weights W + adapter_scale B "
    "A:\n"
    "a model without adapters, as fast as the one that the run began with. lcsm generate, eval,\n"
    "export and train --init take it. An initial memory that was trained stays, in the same file\n"
    "as the rest. RUN stays as it is.\n"
    "\n"
    "  --json   {\"run\", \"out\"}\n"
    "\n"
    "  lcsm train --init runs/book --adapter 16 --data letters.txt --out runs/letters\n"
    "  lcsm merge runs/letters runs/letters-merged\n";

static int merge(const char *run, const char *out, bool json)
{
    lcsm_context_options options = {.size = sizeof options, .threads = 1};
    lcsm_context        *ctx     = NULL;
    lcsm_error           err;
    lcsm_status          st = lcsm_context_create(&ctx, &options, &err);
    if (st == LCSM_OK) st = lcsm_run_merge(ctx, run, out, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) return cli_report("merge", &err);
    if (!json) {
        printf("%s -> %s\n", run, out);
        return EXIT_OK;
    }
    json_t *o = json_pack("{s:s, s:s}", "run", run, "out", out);
    json_dumpf(o, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(o);
    return EXIT_OK;
}

int cmd_merge(int argc, char **argv)
{
    bool             help = false, json = false;
    int              words     = 0;
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &json, 0, 0},
                                  {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (words != 2) {
        fputs("lcsm merge: expected a run and a new folder: lcsm merge RUN OUT\n", stderr);
        return EXIT_USAGE;
    }
    return merge(argv[1], argv[2], json);
}
