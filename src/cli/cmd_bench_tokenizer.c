/* cmd_bench_tokenizer.c - lcsm bench tokenizer: text to ids, on one core. */
#include <jansson.h>
#include <lcsm/dataset.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm bench tokenizer - tokenizer speed in megabytes per second, on one core\n"
    "\n"
    "usage: lcsm bench tokenizer FILE|FOLDER... [--tokenizer FILE] [--merges FILE] [--seconds S]\n"
    "                            [--json]\n"
    "\n"
    "Encodes the text repeatedly, each time with a fresh encoder, and shows the best time; decodes "
    "the\n"
    "ids and compares the result with the text. bench/tokenizer.py in the source tree runs this\n"
    "alternately with Hugging Face's tokenizers and prints the ratio.\n"
    "\n"
    "  --tokenizer FILE  tokenizer.json or its folder (default: a vocabulary of 8192, trained on "
    "the\n"
    "                    text first, and timed too)\n"
    "  --merges FILE     GPT-2's vocab.bpe; then --tokenizer is encoder.json\n"
    "  --seconds S       duration of each measurement (default: 2)\n"
    "  --json            {\"results\": [{\"case\", \"threads\", \"seconds\", \"bytes\", "
    "\"tokens\",\n"
    "                    \"mb_per_second\"}]}\n"
    "\n"
    "  lcsm bench tokenizer corpus.txt.gz --tokenizer gpt2/tokenizer.json\n";

typedef struct {
    const char *tokenizer, *merges;
    double      seconds;
    bool        help, json;
} settings;

typedef struct {
    char    *bytes;
    size_t   size;
    int32_t *ids;
    size_t   count;
} text;

/* All of the files, read as a stream of bytes. */
static lcsm_status read_text(text *t, char **paths, int count, lcsm_error *err)
{
    lcsm_tokenizer *bytes = NULL;
    lcsm_dataset   *ds    = NULL;
    lcsm_status     st    = lcsm_tokenizer_bytes(&bytes, err);
    if (st == LCSM_OK)
        st = lcsm_dataset_open(&ds, (const char *const *)paths, (size_t)count, bytes, NULL, NULL,
                               NULL, err);
    if (st == LCSM_OK) {
        t->size  = (size_t)lcsm_dataset_tokens(ds);
        t->bytes = malloc(t->size);
        if (t->bytes == NULL) st = LCSM_ERR_MEMORY;
        for (size_t j = 0; t->bytes != NULL && j < t->size; j++) {
            int32_t id;
            lcsm_dataset_read(ds, j, 1, &id);
            t->bytes[j] = (char)id;
        }
    }
    if (st == LCSM_ERR_MEMORY && ds != NULL)
        *err = (lcsm_error){.status = st, .text = "not enough memory for the text"};
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(bytes);
    return st;
}

static json_t *row(const char *name, double seconds, size_t bytes, size_t tokens)
{
    return json_pack("{s:s, s:i, s:f, s:I, s:I, s:f}", "case", name, "threads", 1, "seconds",
                     seconds, "bytes", (json_int_t)bytes, "tokens", (json_int_t)tokens,
                     "mb_per_second", (double)bytes / seconds * 1e-6);
}

static lcsm_status get_tokenizer(lcsm_tokenizer **tok, const settings *s, char **paths, int count,
                                 size_t bytes, json_t *results, lcsm_error *err)
{
    if (s->tokenizer != NULL && s->merges != NULL)
        return lcsm_tokenizer_load_gpt2(tok, s->tokenizer, s->merges, err);
    if (s->tokenizer != NULL) return lcsm_tokenizer_load(tok, s->tokenizer, err);
    double      begun = cli_seconds();
    lcsm_status st =
        lcsm_tokenizer_train(tok, (const char *const *)paths, (size_t)count, NULL, NULL, NULL, err);
    if (st == LCSM_OK)
        json_array_append_new(results, row("tokenizer/train", cli_seconds() - begun, bytes,
                                           lcsm_tokenizer_vocab(*tok)));
    return st;
}

/* The best of several times; the ids of the last one are kept. */
static lcsm_status time_encode(const lcsm_tokenizer *tok, text *t, double seconds, double *best,
                               lcsm_error *err)
{
    double end = cli_seconds() + seconds;
    *best      = 1e300;
    do {
        free(t->ids);
        double      begun = cli_seconds();
        lcsm_status st = lcsm_tokenizer_encode(tok, t->bytes, t->size, 0, &t->ids, &t->count, err);
        double      past = cli_seconds() - begun;
        if (st != LCSM_OK) return st;
        if (past < *best) *best = past;
    } while (cli_seconds() < end);
    return LCSM_OK;
}

static lcsm_status time_decode(const lcsm_tokenizer *tok, const text *t, double seconds,
                               double *best, bool *same, lcsm_error *err)
{
    double end = cli_seconds() + seconds;
    *best      = 1e300;
    do {
        char       *back;
        size_t      size;
        double      begun = cli_seconds();
        lcsm_status st    = lcsm_tokenizer_decode(tok, t->ids, t->count, &back, &size, err);
        double      past  = cli_seconds() - begun;
        if (st != LCSM_OK) return st;
        *same = size == t->size && memcmp(back, t->bytes, size) == 0;
        if (past < *best) *best = past;
        free(back);
    } while (cli_seconds() < end);
    return LCSM_OK;
}

static void print_rows(const json_t *results)
{
    for (size_t j = 0; j < json_array_size(results); j++) {
        const char *name;
        double      seconds, rate;
        json_int_t  tokens;
        (void)json_unpack(json_array_get(results, j), "{s:s, s:f, s:I, s:f}", "case", &name,
                          "seconds", &seconds, "tokens", &tokens, "mb_per_second", &rate);
        printf("%-20s %9.2f ms %8.1f MB/s %11lld tokens\n", name, seconds * 1e3, rate,
               (long long)tokens);
    }
}

static int run(char **paths, int count, const settings *s, const char *command)
{
    lcsm_error      err     = {0};
    lcsm_tokenizer *tok     = NULL;
    text            t       = {0};
    json_t         *results = json_array();
    double          best    = 0;
    bool            same    = true;
    lcsm_status     st      = read_text(&t, paths, count, &err);
    if (st == LCSM_OK) st = get_tokenizer(&tok, s, paths, count, t.size, results, &err);
    if (st == LCSM_OK) st = time_encode(tok, &t, s->seconds, &best, &err);
    if (st == LCSM_OK)
        json_array_append_new(results, row("tokenizer/encode", best, t.size, t.count));
    if (st == LCSM_OK) st = time_decode(tok, &t, s->seconds, &best, &same, &err);
    if (st == LCSM_OK)
        json_array_append_new(results, row("tokenizer/decode", best, t.size, t.count));
    lcsm_tokenizer_free(tok);
    free(t.bytes);
    free(t.ids);
    if (st == LCSM_OK && !s->json) print_rows(results);
    if (st == LCSM_OK && s->json) {
        json_t *all = json_pack("{s:O}", "results", results);
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
        fputc('\n', stdout);
        json_decref(all);
    }
    json_decref(results);
    if (st != LCSM_OK) return cli_report(command, &err);
    if (!same) /* a normalizer changes text, and may */
        fprintf(stderr, "lcsm %s: the decoded text differs from the text\n", command);
    return EXIT_OK;
}

int cmd_bench_tokenizer(int argc, char **argv)
{
    settings         s         = {.seconds = 2};
    int              words     = 0;
    const cli_option options[] = {
        {"--help", CLI_FLAG, &s.help, 0, 0},     {"--tokenizer", CLI_TEXT, &s.tokenizer, 0, 0},
        {"--merges", CLI_TEXT, &s.merges, 0, 0}, {"--seconds", CLI_NUMBER, &s.seconds, 0.001, 3600},
        {"--json", CLI_FLAG, &s.json, 0, 0},     {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (s.help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (words == 0 || (s.merges != NULL && s.tokenizer == NULL)) {
        fprintf(stderr, "lcsm %s: %s\n", argv[0],
                words == 0 ? "expected text files or folders"
                           : "--merges needs --tokenizer with the encoder.json beside it");
        return EXIT_USAGE;
    }
    return run(argv + 1, words, &s, argv[0]);
}
