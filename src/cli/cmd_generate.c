/* cmd_generate.c - lcsm generate: text from a model, as it is made. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_chat.h"
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
    "  --branch N          N continuations of the prompt, which is read once; each is printed "
    "when\n"
    "                      all are done, after a line with its number (default: 1)\n"
    "  --interactive       read prompts from stdin, one per line; the memory is kept between them\n"
    "  --chat              the prompt is a message to a model that was trained to talk: it is put\n"
    "                      into the model's chat template (chat_template.jinja or\n"
    "                      tokenizer_config.json), and what is generated is the reply. With\n"
    "                      --interactive each line is the next message of one conversation\n"
    "  --system TEXT       with --chat, the system message\n"
    "  --echo              print the prompt too\n"
    "  --prefix-cache DIR  keep what the model knows behind the prompt in this folder: the next\n"
    "                      time a prompt begins alike, that part is not read again\n"
    "  --draft RUN         a smaller model of the same vocabulary proposes tokens, and the model\n"
    "                      reads several at once. What is generated is distributed as without it,\n"
    "                      but the same seed gives another text\n"
    "  --draft-tokens N    tokens that are read at once, 2 to 64 (default: 4)\n"
    "  --load-state FILE   continue from a saved state; the prompt may then be empty\n"
    "  --save-state FILE   save the state (the recurrent memory) at the end\n"
    "  --weights TYPE      store matrices as f32, f16, bf16, q8, q4 or q4k, for less memory and\n"
    "                      more speed (default: as in the run folder)\n"
    "  --threads N         number of threads (default: one per processor)\n"
    "  --quiet             no statistics on stderr\n"
    "  --json              {\"text\", \"tokens\", \"reason\", \"tokens_per_second\", ...} instead "
    "of text;\n"
    "                      with --branch {\"branches\": [{\"text\", \"tokens\", \"reason\"}], "
    "...}\n"
    "\n"
    "  lcsm generate runs/book --prompt 'It was a dark night'\n"
    "  lcsm generate runs/talks --chat --interactive --system 'Answer briefly.'\n"
    "  lcsm generate runs/book --prompt - --n 0 < chapter1.txt | head -c 100000\n"
    "  lcsm generate runs/book --prompt 'Once' --n 50 --save-state s && \\\n"
    "      lcsm generate runs/book --load-state s --n 50\n";

/* Text that is printed at the end. */
typedef struct {
    char  *bytes;
    size_t size, capacity;
} text;

typedef struct {
    const char           *prompt, *load, *save, *weights, *system, *draft;
    bool                  json, quiet, interactive, echo, chatting;
    cli_chat              chat;
    text                  reply; /* what the model says to a message */
    lcsm_generate_options generate;
    lcsm_sample_options   sample;
    text                  all;
    int                   branches;
    text                 *branch; /* the text of each, where there are several */
    lcsm_generate_end    *ends;
    uint64_t              proposed, accepted; /* tokens of the draft */
    bool                  broken;             /* stdout takes nothing more */
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

static bool keep(text *t, const char *more, size_t size)
{
    if (t->size + size + 1 > t->capacity) {
        size_t capacity = 2 * (t->size + size) + 256;
        char  *bytes    = realloc(t->bytes, capacity);
        if (bytes == NULL) {
            fputs("lcsm generate: not enough memory for the text\n", stderr);
            return false;
        }
        t->bytes    = bytes;
        t->capacity = capacity;
    }
    memcpy(t->bytes + t->size, more, size);
    t->size += size;
    return true;
}

static bool put(void *user, const char *more, size_t size)
{
    task *t = user;
    bool  ok;
    if (t->chatting && !keep(&t->reply, more, size)) ok = false;
    else if (t->json) ok = keep(&t->all, more, size);
    else ok = fwrite(more, 1, size, stdout) == size && fflush(stdout) == 0;
    if (!ok) t->broken = t->json || !cli_write_interrupted();
    return ok && cli_signal() == 0;
}

static bool put_branch(void *user, size_t which, const char *more, size_t size)
{
    task *t = user;
    if (!keep(&t->branch[which], more, size)) t->broken = true;
    return !t->broken && cli_signal() == 0;
}

/* The prompt as text: bytes that are no characters become U+FFFD, as those of tokens do. */
static bool put_prompt(task *t, const char *prompt, size_t size)
{
    enum { PIECE = 256 };
    lcsm_utf8_stream s = {0};
    char             out[3 * PIECE + LCSM_UTF8_REST];
    bool             ok = true;
    for (size_t n; ok && size > 0; prompt += n, size -= n) {
        n  = size < PIECE ? size : PIECE;
        ok = put(t, out, lcsm_utf8_push(&s, prompt, n, out));
    }
    return ok && put(t, out, lcsm_utf8_end(&s, out));
}

/* All of stdin, with a zero behind it; NULL after a message. */
static char *read_stdin(size_t *size)
{
    size_t capacity = 1 << 16;
    char  *bytes    = malloc(capacity);
    *size           = 0;
    while (bytes != NULL && !feof(stdin) && !ferror(stdin)) {
        *size += fread(bytes + *size, 1, capacity - *size - 1, stdin);
        if (*size + 1 < capacity) continue;
        char *more = realloc(bytes, capacity *= 2);
        if (more == NULL) free(bytes);
        bytes = more;
    }
    if (bytes == NULL) fputs("lcsm generate: not enough memory for the prompt\n", stderr);
    else bytes[*size] = '\0';
    return bytes;
}

/* ---- running ---------------------------------------------------------------------------- */

/* All continuations of what the session has read, together. */
static lcsm_status run_branches(lcsm_session *s, const lcsm_tokenizer *tok, task *t,
                                lcsm_generate_end *end, lcsm_error *err)
{
    lcsm_session *many = NULL;
    size_t        n    = (size_t)t->branches;
    t->branch          = calloc(n, sizeof *t->branch);
    t->ends            = calloc(n, sizeof *t->ends);
    if (t->branch == NULL || t->ends == NULL) {
        *err = (lcsm_error){LCSM_ERR_MEMORY, "not enough memory for the branches"};
        return err->status;
    }
    for (size_t j = 0; j < n; j++) t->ends[j].size = sizeof t->ends[j];
    lcsm_status st = lcsm_session_branch(&many, s, n, err);
    if (st == LCSM_OK)
        st = lcsm_generate_branches(many, tok, &t->generate, put_branch, t, t->ends, err);
    lcsm_session_free(many);
    for (size_t j = 0; j < n; j++) end->tokens += t->ends[j].tokens;
    end->reason = t->ends[0].reason;
    return st;
}

static lcsm_status run_prompt(lcsm_session *s, const lcsm_tokenizer *tok, task *t,
                              const char *prompt, size_t size, lcsm_error *err)
{
    lcsm_generate_end end   = {.size = sizeof end};
    double            begin = cli_seconds();
    lcsm_status       st    = lcsm_generate_prompt(s, tok, &t->generate, prompt, size, err);
    if (st != LCSM_OK) return st;
    t->prompt_seconds += cli_seconds() - begin;
    begin = cli_seconds();
    if (t->echo && !put_prompt(t, prompt, size)) return LCSM_OK;
    if (t->branches > 1) st = run_branches(s, tok, t, &end, err);
    else st = lcsm_generate(s, tok, &t->generate, put, t, &end, err);
    t->seconds += cli_seconds() - begin;
    t->tokens += end.tokens;
    t->proposed += end.proposed;
    t->accepted += end.accepted;
    t->reason = end.reason;
    return st;
}

/* A message, and the reply to it. The model reads what is new of the conversation, or all of it
 * where the template changes what it read before. */
static lcsm_status run_message(lcsm_session *s, const lcsm_tokenizer *tok, task *t,
                               const char *message, size_t size, lcsm_error *err)
{
    const char *more;
    bool        again;
    lcsm_status st = cli_chat_ask(&t->chat, message, size, &more, &again, err);
    if (st != LCSM_OK) return st;
    if (again) lcsm_session_reset(s);
    if (again && t->generate.draft != NULL) lcsm_session_reset(t->generate.draft);
    t->reply.size = 0;
    st            = run_prompt(s, tok, t, more, strlen(more), err);
    if (st != LCSM_OK || t->branches > 1) return st;
    bool ended = t->reason == LCSM_END_OF_TEXT || t->reason == LCSM_END_STOP;
    return cli_chat_reply(&t->chat, t->reply.bytes, t->reply.size, ended, err);
}

static lcsm_status run_any(lcsm_session *s, const lcsm_tokenizer *tok, task *t, const char *prompt,
                           size_t size, lcsm_error *err)
{
    return t->chatting ? run_message(s, tok, t, prompt, size, err)
                       : run_prompt(s, tok, t, prompt, size, err);
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
        if (t->chatting && size > 0 && line[size - 1] == '\n') size--;
        st = run_any(s, tok, t, line, (size_t)size, err);
        if (!t->json) putchar('\n');
    }
    free(line);
    return st;
}

static lcsm_status run_text(lcsm_session *s, const lcsm_tokenizer *tok, task *t, lcsm_error *err)
{
    size_t size = t->prompt != NULL ? strlen(t->prompt) : 0;
    if (t->prompt == NULL || strcmp(t->prompt, "-") != 0)
        return run_any(s, tok, t, t->prompt != NULL ? t->prompt : "", size, err);
    char *prompt = read_stdin(&size);
    if (prompt == NULL) {
        *err = (lcsm_error){LCSM_ERR_MEMORY, "not enough memory for the prompt"};
        return err->status;
    }
    lcsm_status st = run_any(s, tok, t, prompt, size, err);
    free(prompt);
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

static json_t *json_of_branches(const task *t)
{
    json_t *all = json_array();
    for (int j = 0; j < t->branches; j++) {
        const text *b   = &t->branch[j];
        json_t     *one = json_pack("{s:s%, s:I, s:s}", "text", b->bytes != NULL ? b->bytes : "",
                                    b->size, "tokens", (json_int_t)t->ends[j].tokens, "reason",
                                    REASONS[t->ends[j].reason]);
        if (json_array_append_new(all, one) != 0) break;
    }
    return all;
}

static json_t *json_of(const task *t, double rate)
{
    json_t *all  = json_pack("{s:I, s:s, s:f, s:f, s:I}", "tokens", (json_int_t)t->tokens, "reason",
                             REASONS[t->reason], "tokens_per_second", rate, "prompt_seconds",
                             t->prompt_seconds, "seed", (json_int_t)t->sample.seed);
    json_t *what = t->branches > 1
                     ? json_of_branches(t)
                     : json_stringn(t->all.bytes != NULL ? t->all.bytes : "", t->all.size);
    if (json_object_set_new(all, t->branches > 1 ? "branches" : "text", what) == 0) return all;
    json_decref(all);
    return NULL;
}

static int report_json(const task *t, double rate)
{
    json_t *all = json_of(t, rate);
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

static void print_branches(const task *t)
{
    for (int j = 0; j < t->branches; j++) {
        const text *b = &t->branch[j];
        printf("[%d]\n", j + 1);
        if (b->size > 0) (void)fwrite(b->bytes, 1, b->size, stdout);
        putchar('\n');
    }
}

static int report(const task *t)
{
    double rate = t->seconds > 0 ? (double)t->tokens / t->seconds : 0;
    if (t->json) return report_json(t, rate);
    if (t->branches > 1) print_branches(t);
    else if (isatty(STDOUT_FILENO) != 0 || (!t->interactive && !t->quiet)) cli_end_text();
    if (!t->quiet)
        fprintf(stderr, "%llu tokens, %.0f per second; prompt %.2f s; %s\n",
                (unsigned long long)t->tokens, rate, t->prompt_seconds, ENDS[t->reason]);
    if (!t->quiet && t->proposed > 0)
        fprintf(stderr, "%llu of %llu tokens of the draft were accepted\n",
                (unsigned long long)t->accepted, (unsigned long long)t->proposed);
    return EXIT_OK;
}

/* The template, and the text of the token that ends a reply as one more stop. */
static lcsm_status open_chat(const char *folder, task *t, lcsm_error *err)
{
    static cli_list stop;
    lcsm_status     st = cli_chat_open(&t->chat, folder, t->system, err);
    if (st != LCSM_OK || *lcsm_chat_end(t->chat.chat) == '\0') return st;
    for (size_t j = 0; j < t->generate.stop_count && j + 1 < sizeof stop.items / sizeof *stop.items;
         j++)
        stop.items[stop.count++] = t->generate.stop[j];
    stop.items[stop.count++] = lcsm_chat_end(t->chat.chat);
    t->generate.stop         = stop.items;
    t->generate.stop_count   = stop.count;
    return LCSM_OK;
}

/* The model that proposes tokens, in the context of the other. */
static lcsm_status open_draft(lcsm_model **small, const cli_run *r, task *t, lcsm_error *err)
{
    lcsm_model_load_options o  = {.size = sizeof o, .weights = t->weights};
    lcsm_status             st = LCSM_OK;
    if (t->draft != NULL) st = lcsm_model_load_with(small, r->ctx, t->draft, &o, err);
    if (t->draft != NULL && st == LCSM_OK)
        st = lcsm_session_create(&t->generate.draft, *small, NULL, err);
    return st;
}

static int generate(const char *folder, int threads, task *t)
{
    cli_run     r;
    lcsm_error  err;
    lcsm_model *small = NULL;
    if (t->save != NULL && !cli_may_write("generate", t->save, false)) return EXIT_INPUT;
    int code = cli_run_open_as(&r, "generate", folder, t->weights, threads, true);
    if (code != EXIT_OK) return code;
    t->generate.lines = r.lines && !t->chatting;
    lcsm_status st    = t->chatting ? open_chat(folder, t, &err) : LCSM_OK;
    cli_catch_signals(NULL);
    if (st == LCSM_OK) st = open_draft(&small, &r, t, &err);
    if (st == LCSM_OK) st = run(&r, t, &err);
    lcsm_session_free(t->generate.draft);
    lcsm_model_free(small);
    if (st != LCSM_OK) code = cli_report("generate", &err);
    else if (t->broken) code = EXIT_ROOM; /* main() says so of stdout */
    else code = report(t);
    for (int j = 0; t->branch != NULL && j < t->branches; j++) free(t->branch[j].bytes);
    free(t->branch);
    free(t->ends);
    free(t->all.bytes);
    free(t->reply.bytes);
    cli_chat_close(&t->chat);
    cli_run_close(&r);
    if (code == EXIT_OK && cli_signal() != 0) code = 128 + cli_signal();
    return code;
}

/* What is wrong with a command line, or NULL. */
static const char *usage(const task *t, int count)
{
    if (count != 1) return "expected one run folder: lcsm generate RUN --prompt TEXT";
    if (t->interactive && t->prompt != NULL) return "--interactive reads its prompts from stdin";
    if (t->system != NULL && !t->chatting) return "--system is for --chat";
    if (t->chatting && t->load != NULL)
        return "--chat begins a conversation: use it without --load-state";
    if (t->draft != NULL && (t->load != NULL || t->branches > 1))
        return "--draft reads the prompt too: use it without --load-state and --branch";
    if (t->branches == 1) return NULL;
    if (t->interactive || t->save != NULL)
        return "--branch makes several texts: use it without --interactive and --save-state";
    return t->generate.tokens == 0 ? "--branch prints its texts at the end: --n 0 has none" : NULL;
}

int cmd_generate(int argc, char **argv)
{
    bool                 help    = false;
    int                  threads = 0, count = 0, n = 200, top_k = 0, seed = 0, drafts = 4;
    static cli_list      stop;
    task                 t         = {.branches = 1,
                                      .generate = {.size = sizeof t.generate, .sample = &t.sample},
                                      .sample = {.size = sizeof t.sample, .temperature = 0.8, .top_p = 0.95}};
    lcsm_sample_options *o         = &t.sample;
    const cli_option     options[] = {
            {"--help", CLI_FLAG, &help, 0, 0},
            {"--json", CLI_FLAG, &t.json, 0, 0},
            {"--quiet", CLI_FLAG, &t.quiet, 0, 0},
            {"--prompt", CLI_TEXT, &t.prompt, 0, 0},
            {"--weights", CLI_TEXT, &t.weights, 0, 0},
            {"--n", CLI_COUNT, &n, 0, 2147483647},
            {"--temperature", CLI_NUMBER, &o->temperature, 0, 100},
            {"--top-k", CLI_COUNT, &top_k, 0, 2147483647},
            {"--top-p", CLI_NUMBER, &o->top_p, 0, 1},
            {"--min-p", CLI_NUMBER, &o->min_p, 0, 1},
            {"--repeat-penalty", CLI_NUMBER, &o->repeat_penalty, 0, 100},
            {"--stop", CLI_LIST, &stop, 0, 0},
            {"--ignore-end", CLI_FLAG, &t.generate.ignore_end, 0, 0},
            {"--seed", CLI_COUNT, &seed, 0, 2147483647},
            {"--branch", CLI_COUNT, &t.branches, 1, 65536},
            {"--interactive", CLI_FLAG, &t.interactive, 0, 0},
            {"--chat", CLI_FLAG, &t.chatting, 0, 0},
            {"--system", CLI_TEXT, &t.system, 0, 0},
            {"--echo", CLI_FLAG, &t.echo, 0, 0},
            {"--prefix-cache", CLI_TEXT, &t.generate.cache, 0, 0},
            {"--draft", CLI_TEXT, &t.draft, 0, 0},
            {"--draft-tokens", CLI_COUNT, &drafts, 2, 64},
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
    t.generate.tokens = (uint64_t)n;
    const char *wrong = usage(&t, count);
    if (wrong != NULL) {
        fprintf(stderr, "lcsm generate: %s\n", wrong);
        return EXIT_USAGE;
    }
    o->top_k                = (size_t)top_k;
    o->seed                 = (uint64_t)seed;
    t.generate.stop         = stop.items;
    t.generate.stop_count   = stop.count;
    t.generate.draft_tokens = (size_t)drafts;
    return generate(argv[1], threads, &t);
}
