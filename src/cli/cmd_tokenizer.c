/* cmd_tokenizer.c - lcsm tokenizer: train, encode, decode, info. */
#include <errno.h>
#include <jansson.h>
#include <lcsm/tokenizer.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm tokenizer - byte-level BPE: train, encode, decode, show\n"
    "\n"
    "usage: lcsm tokenizer train FILE|FOLDER... [--vocab N] [--out FILE] [--eos TEXT]\n"
    "                            [--min-count N] [--quiet] [--json]\n"
    "       lcsm tokenizer encode [--tokenizer FILE] [--merges FILE] [--special] [--template]\n"
    "                            [--invalid refuse|skip] [--json] [TEXT|-]\n"
    "       lcsm tokenizer decode [--tokenizer FILE] [--merges FILE] [--json] [ID...|-]\n"
    "       lcsm tokenizer info   [--tokenizer FILE] [--merges FILE] [--json]\n"
    "\n"
    "A tokenizer is a tokenizer.json of Hugging Face's byte-level family, or the folder that "
    "contains\n"
    "one; with --merges it is GPT-2's pair of files encoder.json and vocab.bpe. Without "
    "--tokenizer\n"
    "the ids are the bytes of the text. Text and ids are read from stdin if none are given, or for "
    "-.\n"
    "Invalid UTF-8 round-trips unchanged if the vocabulary has every byte; some lack a few "
    "(GPT-NeoX:\n"
    "C0, C1, F5 to FF). A normalizer, such as NFC, changes text.\n"
    "\n"
    "lcsm tokenizer train --help, encode --help, decode --help and info --help list the options.\n"
    "\n"
    "  lcsm tokenizer train corpus.txt.gz --vocab 8192 --out tokenizer.json\n"
    "  lcsm tokenizer encode --tokenizer tokenizer.json \"Hello world\"\n"
    "  lcsm tokenizer encode \"Hi\" | lcsm tokenizer decode\n";

#define USES_TOKENIZER                                                                             \
    "\n"                                                                                           \
    "  --tokenizer FILE   tokenizer.json, or its folder (default: the ids are bytes)\n"            \
    "  --merges FILE      GPT-2's vocab.bpe; --tokenizer is then the encoder.json beside it\n"

static const char HELP_TRAIN[] =
    "lcsm tokenizer train - train a byte-level BPE tokenizer on text\n"
    "\n"
    "usage: lcsm tokenizer train FILE|FOLDER... [--vocab N] [--out FILE] [--eos TEXT]\n"
    "                            [--min-count N] [--quiet] [--json]\n"
    "\n"
    "Counts words, then repeatedly merges the most frequent pair of tokens (of equally frequent\n"
    "pairs the one with the smallest ids): the same text always gives the same tokenizer.\n"
    "\n"
    "  --vocab N          vocabulary size, including the 256 bytes and the end-of-text token\n"
    "                     (default: 8192)\n"
    "  --out FILE         file for the trained tokenizer (default: tokenizer.json)\n"
    "  --eos TEXT         end-of-text token, id 0; \"\" = none (default: <|endoftext|>)\n"
    "  --min-count N      merge only pairs that occur at least N times (default: 2)\n"
    "  --quiet            no progress output\n"
    "  --json             {vocab, merges, seconds, out}\n"
    "\n"
    "  lcsm tokenizer train corpus.txt.gz --vocab 8192 --out tokenizer.json\n";

static const char HELP_ENCODE[] =
    "lcsm tokenizer encode - text to ids\n"
    "\n"
    "usage: lcsm tokenizer encode [--tokenizer FILE] [--merges FILE] [--special] [--template]\n"
    "                             [--invalid refuse|skip] [--json] [TEXT|-]\n"
    "\n"
    "Text is read from stdin if none is given, or for -.\n" USES_TOKENIZER
    "  --special          turn special tokens in the text into their ids\n"
    "  --template         add what the tokenizer puts around a text, e.g. <s>\n"
    "  --invalid skip     skip bytes that the vocabulary has no token for, and print how many\n"
    "                     (default: refuse, an error with the byte and its offset)\n"
    "  --json             {ids, count, skipped}\n"
    "\n"
    "  lcsm tokenizer encode --tokenizer tokenizer.json \"Hello world\"\n"
    "  lcsm tokenizer encode --tokenizer encoder.json --merges vocab.bpe - < text.txt\n";

static const char HELP_DECODE[] =
    "lcsm tokenizer decode - ids to text\n"
    "\n"
    "usage: lcsm tokenizer decode [--tokenizer FILE] [--merges FILE] [--json] [ID...|-]\n"
    "\n"
    "Ids are read from stdin if none are given, or for -.\n" USES_TOKENIZER
    "  --json             {text}\n"
    "\n"
    "  lcsm tokenizer encode \"Hi\" | lcsm tokenizer decode\n";

static const char HELP_INFO[] =
    "lcsm tokenizer info - vocabulary, merges and settings of a tokenizer\n"
    "\n"
    "usage: lcsm tokenizer info [--tokenizer FILE] [--merges FILE] [--json]\n" USES_TOKENIZER
    "  --json             {kind, vocab, tokens, merges, added, special, eos, ...}\n"
    "\n"
    "  lcsm tokenizer info --tokenizer tokenizer.json\n";

typedef struct {
    const char *tokenizer, *merges, *out, *eos, *invalid;
    int         vocab, min_count;
    bool        help, json, quiet, special, add_template;
} settings;

static int print_json(const char *command, json_t *object)
{
    int code = object == NULL || json_dumpf(object, stdout, JSON_INDENT(2)) != 0;
    json_decref(object);
    if (code != 0) fprintf(stderr, "lcsm %s: the result cannot be written\n", command);
    fputc('\n', stdout);
    return code == 0 ? EXIT_OK : EXIT_ROOM;
}

static lcsm_status load(lcsm_tokenizer **tok, const settings *s, lcsm_error *err)
{
    if (s->tokenizer == NULL) return lcsm_tokenizer_bytes(tok, err);
    if (s->merges == NULL) return lcsm_tokenizer_load(tok, s->tokenizer, err);
    return lcsm_tokenizer_load_gpt2(tok, s->tokenizer, s->merges, err);
}

/* ---- train ------------------------------------------------------------------------------ */

static int train(int count, char **words, const settings *s, const char *command)
{
    lcsm_error              err;
    lcsm_tokenizer         *tok;
    cli_progress            progress = cli_progress_begin(s->quiet);
    const char             *out      = s->out == NULL ? "tokenizer.json" : s->out;
    lcsm_tokenizer_training options  = {.size      = sizeof options,
                                        .vocab     = (size_t)s->vocab,
                                        .eos       = s->eos,
                                        .min_count = (uint64_t)s->min_count};
    if (count == 0) {
        fprintf(stderr, "lcsm %s: expected text files or folders\n", command);
        return EXIT_USAGE;
    }
    const char **paths = calloc((size_t)count, sizeof *paths);
    if (paths == NULL) return EXIT_ROOM;
    for (int j = 0; j < count; j++) paths[j] = words[j];
    if (!cli_may_write(command, out, true)
        || !cli_take_stdin(command, NULL, paths, (size_t)count)) {
        free(paths);
        return EXIT_INPUT;
    }
    double      begun = cli_seconds();
    lcsm_status st = lcsm_tokenizer_train(&tok, paths, (size_t)count, &options, cli_progress_show,
                                          &progress, &err);
    free(paths);
    cli_progress_end(&progress);
    lcsm_tokenizer_info info = {.size = sizeof info};
    if (st == LCSM_OK) st = lcsm_tokenizer_save(tok, out, &err);
    if (st == LCSM_OK) st = lcsm_tokenizer_describe(tok, &info, &err);
    if (st != LCSM_OK) return cli_report(command, &err);
    double seconds = cli_seconds() - begun;
    lcsm_tokenizer_free(tok);
    if (s->json)
        return print_json(
            command, json_pack("{s:I, s:I, s:f, s:s}", "vocab", (json_int_t)info.vocab, "merges",
                               (json_int_t)info.merges, "seconds", seconds, "out", out));
    printf("%s: %zu tokens, %zu merges, in %.1f s\n", out, info.vocab, info.merges, seconds);
    if (info.vocab < (size_t)s->vocab)
        fprintf(stderr, "lcsm %s: no more pairs occur at least %d times\n", command, s->min_count);
    return EXIT_OK;
}

/* ---- encode ----------------------------------------------------------------------------- */

/* Where ids go: a line of numbers, or a list. */
typedef struct {
    json_t *list;
    bool    follows;
} id_sink;

/* printf would take longer than encoding does. */
static void print_id(int32_t id, bool follows)
{
    char  text[16];
    char *at = text + sizeof text;
    do *--at = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    if (follows) *--at = ' ';
    (void)fwrite(at, 1, (size_t)(text + sizeof text - at), stdout);
}

static lcsm_status take_ids(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    id_sink *sink = user;
    for (size_t j = 0; j < count; j++) {
        if (sink->list != NULL) (void)json_array_append_new(sink->list, json_integer(ids[j]));
        else print_id(ids[j], sink->follows);
        sink->follows = true;
    }
    if (ferror(stdout) == 0) return LCSM_OK;
    err->status = LCSM_ERR_SPACE;
    (void)snprintf(err->text, sizeof err->text, "cannot write the result: %s", strerror(errno));
    return LCSM_ERR_SPACE;
}

static lcsm_status feed_stdin(lcsm_encoder *enc, lcsm_error *err)
{
    static char piece[1 << 16];
    lcsm_status st = LCSM_OK;
    for (;;) {
        ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            err->status = LCSM_ERR_IO;
            (void)snprintf(err->text, sizeof err->text, "cannot read stdin: %s", strerror(errno));
            return LCSM_ERR_IO;
        }
        if (got == 0 || st != LCSM_OK) return st;
        st = lcsm_encoder_feed(enc, piece, (size_t)got, err);
    }
}

static int encode(int count, char **words, const settings *s, const char *command)
{
    lcsm_error      err;
    lcsm_tokenizer *tok     = NULL;
    lcsm_encoder   *enc     = NULL;
    id_sink         sink    = {.list = s->json ? json_array() : NULL};
    uint64_t        skipped = 0;
    bool            skip    = s->invalid != NULL && strcmp(s->invalid, "skip") == 0;
    unsigned        flags   = (s->special ? LCSM_ENCODE_SPECIAL : 0u)
                   | (s->add_template ? LCSM_ENCODE_TEMPLATE : 0u) | (skip ? LCSM_ENCODE_SKIP : 0u);
    if (s->invalid != NULL && !skip && strcmp(s->invalid, "refuse") != 0) {
        fprintf(stderr, "lcsm %s: --invalid is '%s'; expected refuse or skip\n", command,
                s->invalid);
        return EXIT_USAGE;
    }
    if (count > 1) {
        fprintf(stderr, "lcsm %s: one text at a time; put it in quotes\n", command);
        return EXIT_USAGE;
    }
    lcsm_status st = load(&tok, s, &err);
    if (st == LCSM_OK) st = lcsm_encoder_create(&enc, tok, flags, take_ids, &sink, &err);
    if (st == LCSM_OK && (count == 0 || strcmp(words[0], "-") == 0)) st = feed_stdin(enc, &err);
    else if (st == LCSM_OK) st = lcsm_encoder_feed(enc, words[0], strlen(words[0]), &err);
    if (st == LCSM_OK) st = lcsm_encoder_finish(enc, &err);
    if (st == LCSM_OK) skipped = lcsm_encoder_skipped(enc);
    bool lacks = enc != NULL && st == LCSM_ERR_FORMAT;
    lcsm_encoder_free(enc);
    lcsm_tokenizer_free(tok);
    if (st != LCSM_OK) {
        json_decref(sink.list);
        if (sink.list == NULL && sink.follows) putchar('\n');
        int code = cli_report(command, &err);
        if (lacks) fprintf(stderr, "lcsm %s: --invalid skip leaves such bytes out\n", command);
        return code;
    }
    cli_say_skipped(command, skipped);
    if (sink.list != NULL) {
        json_int_t ids = (json_int_t)json_array_size(sink.list);
        return print_json(command, json_pack("{s:o, s:I, s:I}", "ids", sink.list, "count", ids,
                                             "skipped", (json_int_t)skipped));
    }
    putchar('\n');
    return EXIT_OK;
}

/* ---- decode ----------------------------------------------------------------------------- */

typedef struct {
    const lcsm_tokenizer *tok;
    const char           *command;
    char                 *text; /* gathered, for --json */
    size_t                size, room;
    bool                  gather;
} text_sink;

static bool put_piece(text_sink *sink, const char *bytes, size_t size)
{
    if (size == 0) return true;
    if (!sink->gather) return fwrite(bytes, 1, size, stdout) == size;
    if (sink->size + size > sink->room) {
        char *more = realloc(sink->text, 2 * (sink->size + size));
        if (more == NULL) return false;
        sink->text = more;
        sink->room = 2 * (sink->size + size);
    }
    memcpy(sink->text + sink->size, bytes, size);
    sink->size += size;
    return true;
}

/* One id, as it is written. */
static int put_id(text_sink *sink, const char *word)
{
    char       *end;
    size_t      size  = 0;
    long        id    = strtol(word, &end, 10);
    bool        right = end != word && *end == '\0' && id >= 0 && id <= INT32_MAX;
    const char *bytes = right ? lcsm_tokenizer_piece(sink->tok, (int32_t)id, &size) : NULL;
    if (bytes == NULL) {
        fprintf(stderr, "lcsm %s: '%s' is not a token; expected 0 to %zu\n", sink->command, word,
                lcsm_tokenizer_vocab(sink->tok) - 1);
        return EXIT_USAGE;
    }
    return put_piece(sink, bytes, size) ? EXIT_OK : EXIT_ROOM;
}

static int decode_stdin(text_sink *sink)
{
    char word[64];
    int  code = EXIT_OK;
    while (code == EXIT_OK && scanf(" %63s", word) == 1) code = put_id(sink, word);
    return code;
}

/* Text as JSON has to be UTF-8. */
static int print_text(const text_sink *sink)
{
    lcsm_utf8_stream s    = {0};
    char            *text = malloc(3 * sink->size + LCSM_UTF8_REST);
    if (text == NULL) return EXIT_ROOM;
    size_t size = lcsm_utf8_push(&s, sink->text, sink->size, text);
    size += lcsm_utf8_end(&s, text + size);
    int code = print_json(sink->command, json_pack("{s:s%}", "text", text, size));
    free(text);
    return code;
}

static int decode(int count, char **words, const settings *s, const char *command)
{
    lcsm_error      err;
    lcsm_tokenizer *tok;
    int             code = EXIT_OK;
    if (load(&tok, s, &err) != LCSM_OK) return cli_report(command, &err);
    text_sink sink = {.tok = tok, .command = command, .gather = s->json};
    bool      all  = count == 0 || (count == 1 && strcmp(words[0], "-") == 0);
    if (all) code = decode_stdin(&sink);
    for (int j = 0; !all && code == EXIT_OK && j < count; j++) code = put_id(&sink, words[j]);
    if (code == EXIT_OK && s->json) code = print_text(&sink);
    if (code == EXIT_OK && !s->json && isatty(STDOUT_FILENO)) putchar('\n');
    free(sink.text);
    lcsm_tokenizer_free(tok);
    return code;
}

/* ---- info ------------------------------------------------------------------------------- */

static int info(int count, char **words, const settings *s, const char *command)
{
    lcsm_error      err;
    lcsm_tokenizer *tok;
    settings        named = *s;
    if (count > 0 && named.tokenizer == NULL) named.tokenizer = words[0];
    if (load(&tok, &named, &err) != LCSM_OK) return cli_report(command, &err);
    lcsm_tokenizer_info i = {.size = sizeof i};
    if (lcsm_tokenizer_describe(tok, &i, &err) != LCSM_OK) return cli_report(command, &err);
    int32_t eos = lcsm_tokenizer_eos(tok);
    char    hash[17];
    int     code = EXIT_OK;
    (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)lcsm_tokenizer_hash(tok));
    if (s->json) {
        json_t *o =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:s, s:s, s:s}", "kind", i.kind,
                      "vocab", (json_int_t)i.vocab, "tokens", (json_int_t)i.tokens, "merges",
                      (json_int_t)i.merges, "added", (json_int_t)i.added, "special",
                      (json_int_t)i.special, "eos", (int)eos, "longest", (json_int_t)i.longest,
                      "normalizer", i.normalizer, "pre_tokenizer", i.pre_tokenizer, "hash", hash);
        code = print_json(command, o);
    } else {
        printf("kind           %s\nvocabulary     %zu ids, %zu of them used\n", i.kind, i.vocab,
               i.tokens);
        printf("merges         %zu\nadded tokens   %zu, of which %zu special\n", i.merges, i.added,
               i.special);
        printf("longest token  %zu bytes\nnormalizer     %s\npre-tokenizer  %s\n", i.longest,
               i.normalizer, i.pre_tokenizer);
        if (eos >= 0) printf("end of text    %ld\n", (long)eos);
        else puts("end of text    none");
        printf("hash           %s\n", hash);
    }
    lcsm_tokenizer_free(tok);
    return code;
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct {
    const char *name, *help;
    char        title[24];
    int (*run)(int count, char **words, const settings *s, const char *command);
} part;

static int run(int argc, char **argv, const part *p)
{
    settings         s         = {.vocab = 8192, .min_count = 2};
    int              words     = 0;
    const cli_option options[] = {
        {"--help", CLI_FLAG, &s.help, 0, 0},
        {"--tokenizer", CLI_TEXT, &s.tokenizer, 0, 0},
        {"--merges", CLI_TEXT, &s.merges, 0, 0},
        {"--special", CLI_FLAG, &s.special, 0, 0},
        {"--template", CLI_FLAG, &s.add_template, 0, 0},
        {"--vocab", CLI_COUNT, &s.vocab, 256, 1 << 24},
        {"--invalid", CLI_TEXT, &s.invalid, 0, 0},
        {"--out", CLI_TEXT, &s.out, 0, 0},
        {"--eos", CLI_TEXT, &s.eos, 0, 0},
        {"--min-count", CLI_COUNT, &s.min_count, 1, INT_MAX},
        {"--quiet", CLI_FLAG, &s.quiet, 0, 0},
        {"--json", CLI_FLAG, &s.json, 0, 0},
        {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (s.help) {
        fputs(p->help, stdout);
        return EXIT_OK;
    }
    if (s.merges != NULL && s.tokenizer == NULL) {
        fprintf(stderr, "lcsm %s: --merges needs --tokenizer with the encoder.json beside it\n",
                argv[0]);
        return EXIT_USAGE;
    }
    return p->run(words, argv + 1, &s, argv[0]);
}

int cmd_tokenizer(int argc, char **argv)
{
    static part              parts[] = {{"train", HELP_TRAIN, "tokenizer train", train},
                                        {"encode", HELP_ENCODE, "tokenizer encode", encode},
                                        {"decode", HELP_DECODE, "tokenizer decode", decode},
                                        {"info", HELP_INFO, "tokenizer info", info}};
    static const char *const names[] = {"train", "encode", "decode", "info", NULL};
    if (argc < 2) {
        fputs("lcsm tokenizer: expected train, encode, decode or info; see lcsm tokenizer --help\n",
              stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    for (int j = 0; names[j] != NULL; j++) {
        if (strcmp(argv[1], names[j]) != 0) continue;
        argv[1] = parts[j].title;
        return run(argc - 1, argv + 1, &parts[j]);
    }
    return cli_unknown("tokenizer", "subcommand", argv[1], names);
}
