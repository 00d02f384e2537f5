/* cmd_version.c - lcsm version: which library and program these are, and how they were built. */
#include <jansson.h>

#include "cli.h"

static const char HELP[] =
    "lcsm version - show the version\n"
    "\n"
    "usage: lcsm version [--json]\n"
    "       lcsm --version [--json]\n"
    "\n"
    "  --json   {\"version\", \"compiler\", \"architecture\", \"optimised\", \"static\",\n"
    "           \"sanitizers\", \"jansson\", \"instruction_sets\": those of the kernels that this\n"
    "           processor can run, from slow to fast}\n";

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "other"
#endif

#ifdef __clang__
#define COMPILER "Clang " __clang_version__
#else
#define COMPILER "GCC " __VERSION__
#endif

#ifdef NDEBUG
enum { OPTIMISED = 1 };
#else
enum { OPTIMISED = 0 };
#endif

/* The instruction sets of the kernels that this processor can run, from slow to fast. */
static json_t *isa_names(void)
{
    json_t *names = json_array();
    for (int j = LCSM_ISA_REFERENCE; lcsm_isa_name((lcsm_isa)j) != NULL; j++) {
        lcsm_context        *ctx     = NULL;
        lcsm_context_options options = {.size = sizeof options, .threads = 1, .isa = (lcsm_isa)j};
        if (lcsm_context_create(&ctx, &options, NULL) == LCSM_OK)
            json_array_append_new(names, json_string(lcsm_context_isa_name(ctx)));
        lcsm_context_free(ctx);
    }
    return names;
}

static int print_facts(void)
{
    json_t *facts = json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s}", "version", lcsm_version(),
                              "compiler", COMPILER, "architecture", ARCHITECTURE, "optimised",
                              OPTIMISED, "static", LCSM_BUILD_STATIC, "sanitizers",
                              LCSM_BUILD_SANITIZERS, "jansson", jansson_version_str());
    if (facts == NULL) return EXIT_ROOM;
    json_object_set_new(facts, "instruction_sets", isa_names());
    json_dumpf(facts, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(facts);
    return EXIT_OK;
}

int cmd_version(int argc, char **argv)
{
    bool             help = false, json = false;
    int              words;
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &json, 0, 0},
                                  {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &words) || !cli_no_words("version", argv, words))
        return EXIT_USAGE;
    if (help) fputs(HELP, stdout);
    else if (json) return print_facts();
    else printf("lcsm %s\n", lcsm_version());
    return EXIT_OK;
}
