/* cmd_inspect.c - lcsm inspect: what a model has learned to remember. */
#include <jansson.h>
#include <lcsm/inspect.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm inspect - what a trained model remembers\n"
    "\n"
    "usage: lcsm inspect RUN [--data TEXT...] [--tokens N] [--save] [--json]\n"
    "\n"
    "Runs the model on text and shows for each layer how long the entries of its memory last\n"
    "(half-lives in tokens), its decays o_t, and the size of the memory; then how much the\n"
    "probabilities of the next token change when a single earlier token is replaced. Replacements\n"
    "are tried up to 128 tokens back, or up to the run's sequence length if that is longer, at "
    "most\n"
    "256; between the distances tried the change is interpolated linearly.\n"
    "\n"
    "  --data PATH  text to read; may be repeated (default: the run's own text, examples of the\n"
    "               recall task, or random tokens)\n"
    "  --tokens N   number of tokens to read (default: 512)\n"
    "  --save       write the result to RUN/inspect.json, where lcsm report finds it\n"
    "  --threads N  number of threads (default: one per processor)\n"
    "  --json       the whole result: {\"layers\": [{\"half_life\", \"gate_mean\", ...}],\n"
    "               \"influence\", \"effective_context\", \"effective_context_open\"}\n"
    "\n"
    "  lcsm inspect runs/gla --data book.txt\n"
    "  lcsm inspect runs/gla --save && lcsm report runs/gla --out gla.html\n";

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void print_number(int width, int digits, double x, const char *none)
{
    if (isfinite(x)) printf(" %*.*f", width, digits, x);
    else printf(" %*s", width, none);
}

enum { WIDTH = 68 }; /* of the columns about decays */

static void print_layer(size_t j, const json_t *layer)
{
    const char *why = json_string_value(json_object_get(layer, "no_half_life"));
    printf("%5zu", j);
    if (why != NULL) {
        printf("  no half-lives: %-*s", WIDTH - (int)strlen("  no half-lives: "), why);
    } else {
        print_number(10, 1, number(layer, "half_life_low"), "no decay");
        print_number(10, 1, number(layer, "half_life_median"), "no decay");
        print_number(10, 1, number(layer, "half_life_high"), "no decay");
        print_number(9, 0, number(layer, "forever"), "-");
        print_number(9, 3, number(layer, "gate_low"), "-");
        print_number(7, 3, number(layer, "gate_mean"), "-");
        print_number(7, 3, number(layer, "gate_high"), "-");
    }
    print_number(10, 4, number(layer, "state_norm"), "-");
    putchar('\n');
}

static void print_context(const json_t *root)
{
    bool open = json_is_true(json_object_get(root, "effective_context_open"));
    printf("\nnine tenths of the influence lie within %s%.0f of the last %.0f tokens%s\n",
           open ? "at least " : "", number(root, "effective_context"),
           number(json_object_get(root, "influence"), "window"),
           open ? ": the farthest of them still matter" : "");
}

/* A line of blocks, the tallest for the largest change. */
static void print_influence(const json_t *root)
{
    const json_t *influence = json_object_get(root, "influence");
    const json_t *distance  = json_object_get(influence, "distance");
    const json_t *change    = json_object_get(influence, "change");
    double        most      = 0;
    for (size_t j = 0; j < json_array_size(change); j++)
        most = fmax(most, json_number_value(json_array_get(change, j)));
    printf("\ntokens back   change of the next token's probabilities\n");
    for (size_t j = 0; j < json_array_size(change); j++) {
        long d = (long)json_integer_value(json_array_get(distance, j));
        if (d > 8 && (d & (d - 1)) != 0 && j + 1 < json_array_size(change) && j % 4 != 0) continue;
        double x = json_number_value(json_array_get(change, j));
        printf("%11ld   %.5f  ", d, x);
        for (int k = 0; k < (most > 0 ? (int)lround(40 * x / most) : 0); k++) putchar('#');
        putchar('\n');
    }
    print_context(root);
}

static void print_text(const json_t *root)
{
    const json_t *layers = json_object_get(root, "layers");
    printf("%.0f tokens: %s\n\n", number(root, "tokens"),
           json_string_value(json_object_get(root, "text")));
    printf("      half-life of entries, tokens        rows with   decay o_t               memory\n"
           "layer       10 %%     median       90 %%  no decay      10 %%    mean    90 %%       "
           "rms\n");
    for (size_t j = 0; j < json_array_size(layers); j++) print_layer(j, json_array_get(layers, j));
    print_influence(root);
}

static int inspect(const lcsm_inspect_options *o, int threads, bool json)
{
    lcsm_context_options opt  = {.size = sizeof opt, .threads = threads};
    lcsm_context        *ctx  = NULL;
    char                *text = NULL;
    lcsm_error           err;
    lcsm_status          st = lcsm_context_create(&ctx, &opt, &err);
    if (st == LCSM_OK) st = lcsm_inspect(ctx, o, &text, &err);
    lcsm_context_free(ctx);
    if (st != LCSM_OK) return cli_report("inspect", &err);
    if (json) {
        fputs(text, stdout);
    } else {
        json_t *root = json_loads(text, 0, NULL);
        print_text(root);
        json_decref(root);
    }
    free(text);
    return EXIT_OK;
}

int cmd_inspect(int argc, char **argv)
{
    bool                 help = false, json = false;
    int                  words, threads = 0, tokens = 0;
    cli_list             data      = {0};
    lcsm_inspect_options o         = {.size = sizeof o};
    const cli_option     options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                      {"--json", CLI_FLAG, &json, 0, 0},
                                      {"--save", CLI_FLAG, &o.save, 0, 0},
                                      {"--threads", CLI_COUNT, &threads, 1, 1024},
                                      {"--tokens", CLI_COUNT, &tokens, 2, 1 << 20},
                                      {"--data", CLI_LIST, &data, 0, 0},
                                      {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (words != 1) {
        fputs("lcsm inspect: expected a run folder: lcsm inspect RUN\n", stderr);
        return EXIT_USAGE;
    }
    if (!cli_take_stdin("inspect", NULL, data.items, data.count)) return EXIT_INPUT;
    o.run        = argv[1];
    o.data       = data.items;
    o.data_count = data.count;
    o.tokens     = (size_t)tokens;
    return inspect(&o, threads, json);
}
