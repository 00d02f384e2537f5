/* cmd_eval.c - lcsm eval: how well a model predicts a text. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm eval - evaluate a model on text or on its task\n"
    "\n"
    "usage: lcsm eval RUN --data TEXT... [--seq-len T] [--batch-size B] [--carried]\n"
    "                 [--lengths T,T,...] [--blocks N] [--ends never|file|line|auto] [--json]\n"
    "       lcsm eval RUN [--seq-len T] [--pairs N] [--test-examples N] [--seed N] [--json]\n"
    "                                        for runs of other tasks than lm: new examples\n"
    "\n"
    "The text is cut into blocks of T tokens, and every token is predicted from the tokens before "
    "it\n"
    "in the same block. With --carried the memory is kept from block to block instead. Perplexity "
    "is\n"
    "exp(loss per token). Perplexity per word and bits per byte do not depend on the tokenizer, "
    "so\n"
    "they can be compared between models.\n"
    "\n"
    "  --data PATH       text file, .gz file, folder, or - for stdin; may be repeated\n"
    "  --seq-len T       block length (default: that of training, or 512)\n"
    "  --batch-size B    blocks per batch (default: 8)\n"
    "  --carried         read B parts of the text, each from its beginning to its end, carrying "
    "the\n"
    "                    memory\n"
    "  --lengths LIST    evaluate once for each of these lengths and show the loss by position: "
    "does\n"
    "                    the model use a context longer than it was trained on?\n"
    "  --blocks N        evaluate at most N blocks\n"
    "  --ends WHERE      where to put end-of-text tokens: never, after each file, instead of each\n"
    "                    line end, or as in training (default: auto)\n"
    "  --pairs N         recall: key-value pairs per example (default: as in training)\n"
    "  --test-examples N recall: number of examples (default: as in training)\n"
    "  --seed N          recall: random seed of the examples (default: those used in training)\n"
    "  --weights TYPE    store matrices as f32, f16, bf16, q8, q4 or q4k: what does it cost?\n"
    "                    (default: as in the run folder)\n"
    "  --threads N       number of threads (default: one per processor)\n"
    "  --quiet           no progress output\n"
    "  --json            {\"loss\", \"perplexity\", \"word_perplexity\", \"bits_per_byte\", "
    "\"accuracy\",\n"
    "                    \"tokens\", ..., \"bidirectional\": whether the model saw the future},\n"
    "                    with --lengths also \"lengths\": [...]\n"
    "\n"
    "  lcsm eval runs/book --data valid.txt\n"
    "  lcsm eval runs/book --data valid.txt --lengths 256,1024,4096,16384\n"
    "  lcsm eval runs/book --data valid.txt --json | jq .perplexity\n"
    "  lcsm eval runs/recall --seq-len 256 --pairs 16 --test-examples 10000\n";

enum { MAX_LENGTHS = 32, ENDS_AUTO = LCSM_ENDS_LINE + 1 };

typedef struct {
    const char *weights;
    bool        json, quiet, carried, bidirectional;
    int         length, batch, blocks;
    int         pairs, examples, seed; /* of recall; seed: -1 for none */
    size_t      lengths[MAX_LENGTHS], length_count;
} task;

/* ---- settings --------------------------------------------------------------------------- */

/* "256,1024" */
static bool parse_lengths(task *t, const char *text)
{
    while (text != NULL && t->length_count < MAX_LENGTHS) {
        char              *end;
        unsigned long long n = strtoull(text, &end, 10);
        if (end == text || n < 1 || n > 1 << 24 || (*end != ',' && *end != '\0')) break;
        t->lengths[t->length_count++] = (size_t)n;
        if (*end == '\0') return true;
        text = end + 1;
    }
    if (text == NULL) return true;
    fprintf(stderr,
            "lcsm eval: --lengths at '%s': expected at most %d whole numbers from 1 to %d, as "
            "256,1024\n",
            text, MAX_LENGTHS, 1 << 24);
    return false;
}

static bool parse_ends(int *out, const char *word)
{
    static const char *const words[] = {"never", "file", "line", "auto", NULL};
    for (int j = 0; words[j] != NULL; j++)
        if (strcmp(words[j], word) == 0) {
            *out = j;
            return true;
        }
    (void)cli_unknown("eval", "place of an end", word, words);
    return false;
}

/* ---- output ----------------------------------------------------------------------------- */

static bool progress(void *user, uint64_t done, uint64_t total)
{
    const task *t = user;
    char        text[64];
    snprintf(text, sizeof text, "%llu of %llu batches", (unsigned long long)done,
             (unsigned long long)total);
    if (!t->quiet) cli_live(text);
    return cli_signal() == 0;
}

static json_t *to_json(const lcsm_evaluation *r, size_t length, bool curve)
{
    json_t *o      = json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f}", "loss", r->loss,
                               "perplexity", r->perplexity, "word_perplexity", r->word_perplexity,
                               "bits_per_byte", r->bits_per_byte, "accuracy", r->accuracy, "tokens",
                               (json_int_t)r->tokens, "blocks", (json_int_t)r->blocks, "length",
                               (json_int_t)length, "tokens_per_second", (double)r->tokens / r->seconds);
    json_t *points = json_array();
    for (size_t j = 0; curve && j < r->points; j++)
        json_array_append_new(
            points, json_pack("{s:I, s:I, s:f}", "from", (json_int_t)r->curve[j].from, "to",
                              (json_int_t)r->curve[j].to, "loss", r->curve[j].loss));
    if (curve) json_object_set(o, "curve", points);
    json_decref(points);
    return o;
}

static void print_one(const task *t, const lcsm_evaluation *r)
{
    printf("loss             %10.4f  nats per token\n", r->loss);
    printf("perplexity       %10.3f  per token\n", r->perplexity);
    printf("perplexity       %10.4g  per word\n", r->word_perplexity);
    printf("bits per byte    %10.4f\n", r->bits_per_byte);
    printf("accuracy         %10.4f  of the tokens predicted correctly\n", r->accuracy);
    printf("tokens           %10llu  %.0f per second, %s\n", (unsigned long long)r->tokens,
           (double)r->tokens / r->seconds,
           t->carried ? "memory carried from block to block" : "each block on its own");
}

/* A model that reads both ways has the token that it is asked for among its inputs. */
static void print_warning(const task *t)
{
    if (t->bidirectional)
        puts("bidirectional: the model saw the tokens it was asked for; these are not predictions");
}

static void print_lengths(const task *t, const lcsm_evaluation *r)
{
    const lcsm_evaluation *longest = &r[0];
    printf("%10s %10s %12s %14s\n", "length", "loss", "perplexity", "bits per byte");
    for (size_t j = 0; j < t->length_count; j++) {
        printf("%10zu %10.4f %12.3f %14.4f\n", t->lengths[j], r[j].loss, r[j].perplexity,
               r[j].bits_per_byte);
        if (r[j].points > longest->points) longest = &r[j];
    }
    printf("\n%10s %10s   by position in the longest blocks\n", "from", "loss");
    for (size_t j = 0; j < longest->points; j++)
        printf("%10zu %10.4f\n", longest->curve[j].from, longest->curve[j].loss);
}

static void print_json(const task *t, const lcsm_evaluation *r)
{
    json_t *all  = to_json(&r[0], t->lengths[0], false);
    json_t *list = json_array();
    for (size_t j = 0; t->length_count > 1 && j < t->length_count; j++)
        json_array_append_new(list, to_json(&r[j], t->lengths[j], true));
    json_object_set_new(all, "carried", json_boolean(t->carried));
    json_object_set_new(all, "bidirectional", json_boolean(t->bidirectional));
    if (t->length_count > 1) json_object_set(all, "lengths", list);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    fputc('\n', stdout);
    json_decref(list);
    json_decref(all);
}

/* ---- running ---------------------------------------------------------------------------- */

static int evaluate(const cli_run *run, const lcsm_dataset *data, task *t)
{
    lcsm_evaluation r[MAX_LENGTHS] = {0};
    lcsm_error      err;
    for (size_t j = 0; j < t->length_count && cli_signal() == 0; j++) {
        r[j].size                = sizeof r[j];
        lcsm_evaluate_options o  = {.size       = sizeof o,
                                    .length     = t->lengths[j],
                                    .batch      = (size_t)t->batch,
                                    .carried    = t->carried,
                                    .max_blocks = (uint64_t)t->blocks};
        lcsm_status           st = lcsm_evaluate(run->model, data, &o, &r[j], progress, t, &err);
        cli_live("");
        if (st != LCSM_OK) return cli_report("eval", &err);
    }
    if (cli_signal() != 0) return 128 + cli_signal();
    if (t->json) print_json(t, r);
    else if (t->length_count > 1) print_lengths(t, r);
    else print_one(t, &r[0]);
    if (!t->json) print_warning(t);
    return EXIT_OK;
}

static int run_task(const char *folder, const cli_list *paths, int ends, int threads, task *t)
{
    cli_run              run;
    lcsm_dataset        *data = NULL;
    lcsm_dataset_options o    = {.size = sizeof o};
    lcsm_error           err;
    int                  code = cli_run_open_as(&run, "eval", folder, t->weights, threads, true);
    if (code != EXIT_OK) return code;
    t->bidirectional =
        lcsm_model_config_number(lcsm_model_config_of(run.model), "bidirectional") == 1;
    if (ends == ENDS_AUTO) ends = run.lines ? LCSM_ENDS_LINE : LCSM_ENDS_NEVER;
    o.ends     = (lcsm_text_ends)ends;
    int length = run.length > 0 ? run.length : 512;
    if (t->length_count == 0)
        t->lengths[t->length_count++] = (size_t)(t->length > 0 ? t->length : length);
    if (lcsm_dataset_open(&data, paths->items, paths->count, run.tok, &o, NULL, NULL, &err)
        != LCSM_OK)
        code = cli_report("eval", &err);
    else {
        cli_say_skipped("eval", lcsm_dataset_bytes_skipped(data));
        code = evaluate(&run, data, t);
    }
    lcsm_dataset_free(data);
    cli_run_close(&run);
    return code;
}

/* Examples of recall are not cut out of a text, and a text has no pairs. */
static bool options_fit(const char *folder, bool recall, int ends, const task *t)
{
    const struct {
        const char *name;
        bool        given, recall;
    } list[] = {
        {"--batch-size", t->batch > 0, false},      {"--blocks", t->blocks > 0, false},
        {"--carried", t->carried, false},           {"--lengths", t->length_count > 0, false},
        {"--ends", ends != ENDS_AUTO, false},       {"--pairs", t->pairs > 0, true},
        {"--test-examples", t->examples > 0, true}, {"--seed", t->seed >= 0, true}};
    for (size_t j = 0; j < sizeof list / sizeof list[0]; j++) {
        if (!list[j].given || list[j].recall == recall) continue;
        fprintf(stderr,
                recall ? "lcsm eval: %s is for text, but %s was trained on examples; "
                         "expected --seq-len, --pairs, --test-examples or --seed\n"
                       : "lcsm eval: %s is for tasks with examples, but %s is to read text\n",
                list[j].name, folder);
        return false;
    }
    return true;
}

static void print_recall(const task *t, const lcsm_train_config *cfg, const lcsm_tally *sum,
                         double score)
{
    char           name[64] = "";
    lcsm_task_info info     = {.size = sizeof info};
    (void)lcsm_train_config_get(cfg, "task", name, sizeof name, NULL);
    (void)lcsm_task_named(name, &info, NULL);
    double loss     = sum->loss / (double)sum->count,
           accuracy = (double)sum->right / (double)sum->count;
    if (t->json) {
        printf("{\"loss\": %.9g, \"perplexity\": %.9g, \"accuracy\": %.9g, \"score\": %.9g, "
               "\"queries\": %lld, \"bidirectional\": %s}\n",
               loss, exp(loss), accuracy, score, (long long)sum->count,
               t->bidirectional ? "true" : "false");
        return;
    }
    printf("accuracy         %10.4f  of %lld queries\nloss             %10.4f  nats per query\n",
           accuracy, (long long)sum->count, loss);
    if (strcmp(info.metric, "accuracy") != 0) printf("%-16s %10.4f\n", info.metric, score);
    print_warning(t);
}

/* The examples that are asked for instead of the run's own. */
static lcsm_status change_examples(lcsm_train_config *cfg, const task *t, lcsm_error *err)
{
    const struct {
        const char *key;
        int         value;
        bool        given;
    } list[]       = {{"seq_len", t->length, t->length > 0},
                      {"pairs", t->pairs, t->pairs > 0},
                      {"test_examples", t->examples, t->examples > 0},
                      {"seed", t->seed, t->seed >= 0}};
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < sizeof list / sizeof list[0] && st == LCSM_OK; j++)
        if (list[j].given) st = lcsm_train_config_set_number(cfg, list[j].key, list[j].value, err);
    return st;
}

static int evaluate_recall(const char *folder, lcsm_train_config *cfg, int threads, task *t)
{
    cli_run    run;
    lcsm_tally sum;
    double     score;
    lcsm_error err;
    if (change_examples(cfg, t, &err) != LCSM_OK) return cli_report("eval", &err);
    int code = cli_run_open_as(&run, "eval", folder, t->weights, threads, false);
    if (code != EXIT_OK) return code;
    t->bidirectional =
        lcsm_model_config_number(lcsm_model_config_of(run.model), "bidirectional") == 1;
    if (lcsm_evaluate_task(run.model, cfg, &sum, &score, &err) != LCSM_OK)
        code = cli_report("eval", &err);
    else print_recall(t, cfg, &sum, score);
    cli_run_close(&run);
    return code;
}

/* A run of such a task is evaluated on the examples that its training never saw. */
static int recall(const char *folder, int ends, int threads, task *t)
{
    cli_config cfg;
    char       name[64] = "";
    lcsm_error err;
    int        code = cli_config_create(&cfg, "eval", NULL);
    if (code == EXIT_OK && lcsm_run_settings(folder, NULL, cfg.train, &err) != LCSM_OK)
        code = cli_report("eval", &err);
    if (code == EXIT_OK) (void)lcsm_train_config_get(cfg.train, "task", name, sizeof name, NULL);
    if (code == EXIT_OK && !cli_makes_examples(name)) {
        fputs("lcsm eval: expected --data TEXT: the task lm has no examples of its own\n", stderr);
        code = EXIT_USAGE;
    }
    if (code == EXIT_OK && !options_fit(folder, true, ends, t)) code = EXIT_USAGE;
    if (code == EXIT_OK) code = evaluate_recall(folder, cfg.train, threads, t);
    cli_config_free(&cfg);
    return code;
}

/* One run is evaluated; a second one would be read as text. */
static bool are_texts(const cli_list *data)
{
    for (size_t j = 0; j < data->count; j++) {
        if (!cli_is_run(data->items[j])) continue;
        fprintf(stderr,
                "lcsm eval: %s is a run folder; expected text; evaluate one run at a time\n",
                data->items[j]);
        return false;
    }
    return true;
}

int cmd_eval(int argc, char **argv)
{
    bool             help    = false;
    int              threads = 0, count = 0;
    const char      *lengths = NULL, *where = "auto";
    static cli_list  data;
    int              ends      = 0;
    task             t         = {.seed = -1};
    const cli_option options[] = {
        {"--help", CLI_FLAG, &help, 0, 0},
        {"--json", CLI_FLAG, &t.json, 0, 0},
        {"--quiet", CLI_FLAG, &t.quiet, 0, 0},
        {"--data", CLI_LIST, &data, 0, 0},
        {"--weights", CLI_TEXT, &t.weights, 0, 0},
        {"--seq-len", CLI_COUNT, &t.length, 1, 1 << 24},
        {"--batch-size", CLI_COUNT, &t.batch, 1, 1 << 20},
        {"--blocks", CLI_COUNT, &t.blocks, 1, 1 << 30},
        {"--carried", CLI_FLAG, &t.carried, 0, 0},
        {"--pairs", CLI_COUNT, &t.pairs, 1, 1 << 24},
        {"--test-examples", CLI_COUNT, &t.examples, 1, 1 << 30},
        {"--seed", CLI_COUNT, &t.seed, 0, 1 << 30},
        {"--lengths", CLI_TEXT, &lengths, 0, 0},
        {"--ends", CLI_TEXT, &where, 0, 0},
        {"--threads", CLI_COUNT, &threads, 1, 1024},
        {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    for (int j = 2; j <= count && data.count < sizeof data.items / sizeof data.items[0]; j++)
        data.items[data.count++] = argv[j];
    if (count < 1) {
        fputs("lcsm eval: expected a run folder, and --data TEXT if it is a run of the task lm\n",
              stderr);
        return EXIT_USAGE;
    }
    if (!are_texts(&data) || !parse_lengths(&t, lengths) || !parse_ends(&ends, where))
        return EXIT_USAGE;
    cli_catch_signals(NULL);
    if (data.count == 0) return recall(argv[1], ends, threads, &t);
    if (!options_fit(argv[1], false, ends, &t)) return EXIT_USAGE;
    if (!cli_take_stdin("eval", NULL, data.items, data.count)) return EXIT_INPUT;
    return run_task(argv[1], &data, ends, threads, &t);
}
