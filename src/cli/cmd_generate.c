/* cmd_generate.c - lcsm generate: text from a model, as it is made. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm generate - generate text with a trained model\n"
    "\n"
    "usage: lcsm generate RUN [--prompt TEXT|-] [--n N] [--temperature X] [--seed N] ...\n"
    "\n"
    "Continues the prompt (- reads it from stdin) and prints tokens as they are generated. Memory\n"
    "use stays constant however long the text is. The same seed gives the same text. Ctrl-C "
    "stops;\n"
    "--save-state still writes its file.\n"
    "\n"
    "  --n N               tokens to generate; 0 = unlimited (default: 200)\n"
    "  --temperature X     sampling temperature; 0 = always the most likely token (default: 0.8)\n"
    "  --top-k N           sample from the N most likely tokens (default: 0 = all)\n"
    "  --top-p P           sample from the most likely tokens with total probability P (default:\n"
    "                      0.95)\n"
    "  --min-p P           drop tokens less likely than P times the most likely one\n"
    "  --repeat-penalty X  above 1, make the last 64 tokens less likely\n"
    "  --stop TEXT         stop before this text; may be repeated\n"
    "  --ignore-end        continue after an end-of-text token\n"
    "  --seed N            random seed (default: 0)\n"
    "  --interactive       read prompts from stdin, one per line; the memory is kept between them\n"
    "  --echo              print the prompt too\n"
    "  --load-state FILE   continue from a saved state; the prompt may then be empty\n"
    "  --save-state FILE   save the state (the recurrent memory) at the end\n"
    "  --threads N         number of threads (default: one per processor)\n"
    "  --quiet             no statistics on stderr\n"
    "  --json              {\"text\", \"tokens\", \"reason\", \"tokens_per_second\", ...} instead "
    "of text\n"
    "\n"
    "  lcsm generate runs/book --prompt 'It was a dark night'\n"
    "  lcsm generate runs/book --prompt - --n 0 < chapter1.txt | head -c 100000\n"
    "  lcsm generate runs/book --prompt 'Once' --n 50 --save-state s && \\\n"
    "      lcsm generate runs/book --load-state s --n 50\n";

typedef struct {
    const char           *prompt, *load, *save;
    bool                  json, quiet, interactive, echo;
    lcsm_generate_options generate;
    lcsm_sample_options   sample;
    char                 *all;
    size_t                size, capacity;
    bool                  broken; /* stdout takes nothing more */
    double                seconds, prompt_seconds;
    uint64_t              tokens;
    lcsm_generate_reason  reason;
} task;

static const char *const REASONS[] = {[LCSM_END_TOKENS]  = "tokens",
                                      [LCSM_END_STOP]    = "stop",
                                      [LCSM_END_OF_TEXT] = "end",
                                      [LCSM_END_CALLER]  = "interrupted"};
static const char *const ENDS[]    = {[LCSM_END_TOKENS]  = "ended: all tokens generated",
                                      [LCSM_END_STOP]    = "ended: stop text",
                                      [LCSM_END_OF_TEXT] = "ended: end of text",
                                      [LCSM_END_CALLER]  = "interrupted"};

/* ---- text ------------------------------------------------------------------------------- */

/* Appends to what --json prints at the end. */
static bool keep(task *t, const char *text, size_t size)
{
    if (t->size + size + 1 > t->capacity) {
        size_t capacity = 2 * (t->size + size) + 256;
        char  *all      = realloc(t->all, capacity);
        if (all == NULL) {
            fputs("lcsm generate: not enough memory for the text\n", stderr);
            return false;
        }
        t->all      = all;
        t->capacity = capacity;
    }
    memcpy(t->all + t->size, text, size);
    t->size += size;
    return true;
}

static bool put(void *user, const char *text, size_t size)
{
    task *t = user;
    bool  ok;
    if (t->json) ok = keep(t, text, size);
    else ok = fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0;
    if (!ok) t->broken = t->json || !cli_write_interrupted();
    return ok && cli_signal() == 0;
}

/* The prompt as text: bytes that are no characters become U+FFFD, as those of tokens do. */
static bool put_prompt(task *t, const char *text, size_t size)
{
    enum { PIECE = 256 };
    lcsm_utf8_stream s = {0};
    char             out[3 * PIECE + LCSM_UTF8_REST];
    bool             ok = true;
    for (size_t n; ok && size > 0; text += n, size -= n) {
        n  = size < PIECE ? size : PIECE;
        ok = put(t, out, lcsm_utf8_push(&s, text, n, out));
    }
    return ok && put(t, out, lcsm_utf8_end(&s, out));
}

/* All of stdin, with a zero behind it; NULL after a message. */
static char *read_stdin(size_t *size)
{
    size_t capacity = 1 << 16;
    char  *text     = malloc(capacity);
    *size           = 0;
    while (text != NULL && !feof(stdin) && !ferror(stdin)) {
        *size += fread(text + *size, 1, capacity - *size - 1, stdin);
        if (*size + 1 < capacity) continue;
        char *more = realloc(text, capacity *= 2);
        if (more == NULL) free(text);
        text = more;
    }
    if (text == NULL) fputs("lcsm generate: not enough memory for the prompt\n", stderr);
    else text[*size] = '\0';
    return text;
}

/* ---- running ---------------------------------------------------------------------------- */

static lcsm_status run_prompt(lcsm_session *s, const lcsm_tokenizer *tok, task *t, const char *text,
                              size_t size, lcsm_error *err)
{
    lcsm_generate_end end   = {.size = sizeof end};
    double            begin = cli_seconds();
    lcsm_status       st    = lcsm_generate_prompt(s, tok, &t->generate, text, size, err);
    if (st != LCSM_OK) return st;
    t->prompt_seconds += cli_seconds() - begin;
    begin = cli_seconds();
    if (t->echo && !put_prompt(t, text, size)) return LCSM_OK;
    st = lcsm_generate(s, tok, &t->generate, put, t, &end, err);
    t->seconds += cli_seconds() - begin;
    t->tokens += end.tokens;
    t->reason = end.reason;
    return st;
}

static lcsm_status run_lines(lcsm_session *s, const lcsm_tokenizer *tok, task *t, lcsm_error *err)
{
    char       *line     = NULL;
    size_t      capacity = 0;
    bool        terminal = isatty(STDIN_FILENO) != 0;
    lcsm_status st       = LCSM_OK;
    while (st == LCSM_OK && cli_signal() == 0 && !t->broken) {
        if (terminal) fputs("> ", stderr);
        ssize_t size = getline(&line, &capacity, stdin);
        if (size < 0) break;
        st = run_prompt(s, tok, t, line, (size_t)size, err);
        if (!t->json) putchar('\n');
    }
    free(line);
    return st;
}

static lcsm_status run_text(lcsm_session *s, const lcsm_tokenizer *tok, task *t, lcsm_error *err)
{
    size_t size = t->prompt != NULL ? strlen(t->prompt) : 0;
    if (t->prompt == NULL || strcmp(t->prompt, "-") != 0)
        return run_prompt(s, tok, t, t->prompt != NULL ? t->prompt : "", size, err);
    char *text = read_stdin(&size);
    if (text == NULL) {
        *err = (lcsm_error){LCSM_ERR_MEMORY, "not enough memory for the prompt"};
        return err->status;
    }
    lcsm_status st = run_prompt(s, tok, t, text, size, err);
    free(text);
    return st;
}

static lcsm_status run(const cli_run *r, task *t, lcsm_error *err)
{
    lcsm_session *s;
    lcsm_status   st = lcsm_session_create(&s, r->model, NULL, err);
    if (st == LCSM_OK && t->load != NULL) st = lcsm_session_load_state(s, t->load, err);
    if (st == LCSM_OK)
        st = t->interactive ? run_lines(s, r->tok, t, err) : run_text(s, r->tok, t, err);
    if (st == LCSM_OK && t->save != NULL) st = lcsm_session_save_state(s, t->save, err);
    lcsm_session_free(s);
    return st;
}

/* ---- the end ---------------------------------------------------------------------------- */

static int report_json(const task *t, double rate)
{
    json_t *all = json_pack("{s:s%, s:I, s:s, s:f, s:f, s:I}", "text", t->all != NULL ? t->all : "",
                            t->size, "tokens", (json_int_t)t->tokens, "reason", REASONS[t->reason],
                            "tokens_per_second", rate, "prompt_seconds", t->prompt_seconds, "seed",
                            (json_int_t)t->sample.seed);
    if (all == NULL) {
        fputs("lcsm generate: not enough memory for the JSON of the text\n", stderr);
        return EXIT_ROOM;
    }
    bool ok = json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0
           && fputc('\n', stdout) != EOF;
    if (!ok) (void)cli_write_interrupted(); /* if not, main() says so of stdout */
    json_decref(all);
    return EXIT_OK;
}

static int report(const task *t)
{
    double rate = t->seconds > 0 ? (double)t->tokens / t->seconds : 0;
    if (t->json) return report_json(t, rate);
    if (isatty(STDOUT_FILENO) != 0 || (!t->interactive && !t->quiet)) cli_end_text();
    if (!t->quiet)
        fprintf(stderr, "%llu tokens, %.0f per second; prompt %.2f s; %s\n",
                (unsigned long long)t->tokens, rate, t->prompt_seconds, ENDS[t->reason]);
    return EXIT_OK;
}

static int generate(const char *folder, int threads, task *t)
{
    cli_run    r;
    lcsm_error err;
    if (t->save != NULL && !cli_may_write("generate", t->save, false)) return EXIT_INPUT;
    int code = cli_run_open(&r, "generate", folder, threads, true);
    if (code != EXIT_OK) return code;
    t->generate.lines = r.lines;
    cli_catch_signals(NULL);
    lcsm_status st = run(&r, t, &err);
    if (st != LCSM_OK) code = cli_report("generate", &err);
    else if (t->broken) code = EXIT_ROOM; /* main() says so of stdout */
    else code = report(t);
    free(t->all);
    cli_run_close(&r);
    if (code == EXIT_OK && cli_signal() != 0) code = 128 + cli_signal();
    return code;
}

int cmd_generate(int argc, char **argv)
{
    bool                 help    = false;
    int                  threads = 0, count = 0, n = 200, top_k = 0, seed = 0;
    static cli_list      stop;
    task                 t         = {.generate = {.size = sizeof t.generate, .sample = &t.sample},
                                      .sample = {.size = sizeof t.sample, .temperature = 0.8, .top_p = 0.95}};
    lcsm_sample_options *o         = &t.sample;
    const cli_option     options[] = {
            {"--help", CLI_FLAG, &help, 0, 0},
            {"--json", CLI_FLAG, &t.json, 0, 0},
            {"--quiet", CLI_FLAG, &t.quiet, 0, 0},
            {"--prompt", CLI_TEXT, &t.prompt, 0, 0},
            {"--n", CLI_COUNT, &n, 0, 2147483647},
            {"--temperature", CLI_NUMBER, &o->temperature, 0, 100},
            {"--top-k", CLI_COUNT, &top_k, 0, 2147483647},
            {"--top-p", CLI_NUMBER, &o->top_p, 0, 1},
            {"--min-p", CLI_NUMBER, &o->min_p, 0, 1},
            {"--repeat-penalty", CLI_NUMBER, &o->repeat_penalty, 0, 100},
            {"--stop", CLI_LIST, &stop, 0, 0},
            {"--ignore-end", CLI_FLAG, &t.generate.ignore_end, 0, 0},
            {"--seed", CLI_COUNT, &seed, 0, 2147483647},
            {"--interactive", CLI_FLAG, &t.interactive, 0, 0},
            {"--echo", CLI_FLAG, &t.echo, 0, 0},
            {"--load-state", CLI_TEXT, &t.load, 0, 0},
            {"--save-state", CLI_TEXT, &t.save, 0, 0},
            {"--threads", CLI_COUNT, &threads, 1, 1024},
            {NULL, CLI_FLAG, NULL, 0, 0},
    };
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 1 || (t.interactive && t.prompt != NULL)) {
        fputs(count != 1
                  ? "lcsm generate: expected one run folder: lcsm generate RUN --prompt TEXT\n"
                  : "lcsm generate: --interactive reads its prompts from stdin\n",
              stderr);
        return EXIT_USAGE;
    }
    o->top_k              = (size_t)top_k;
    o->seed               = (uint64_t)seed;
    t.generate.tokens     = (uint64_t)n;
    t.generate.stop       = stop.items;
    t.generate.stop_count = stop.count;
    return generate(argv[1], threads, &t);
}
