/* cmd_serve.c - lcsm serve: models behind HTTP. */
#include <stdlib.h>
#include <string.h>

#include "cli_service.h"

static const char HELP[] =
    "lcsm serve - serve models over HTTP, with an OpenAI-style API\n"
    "\n"
    "usage: lcsm serve RUN... [--host H] [--port N] [--streams N] [--state-dir DIR] ...\n"
    "\n"
    "Serves the models of run folders: completions, streamed if asked, several at once over one\n"
    "pass of the weights; tokens, metrics, and kept states, from which a conversation continues\n"
    "without reading its past again. The page at / is for trying a model in a browser. A model's\n"
    "name is that of its folder. SIGTERM or Ctrl-C lets requests under way finish, then exits\n"
    "with 143 or 130. docs/server.md describes all paths.\n"
    "\n"
    "  --host H            address to listen on (default: 127.0.0.1, this machine alone)\n"
    "  --port N            port; 0 = any that is free (default: 8080)\n" CLI_SERVICE_HELP
    "  --streams N         texts generated at once per model (default: 16)\n"
    "  --queue N           requests that may wait for that; further ones get 429 (default: 64)\n"
    "  --max-body N        bytes of a request (default: 8388608)\n"
    "  --max-prompt N      tokens of a prompt (default: 1048576)\n"
    "  --max-tokens N      tokens of a reply (default: 65536)\n"
    "  --timeout S         seconds for a request to be answered, once it runs (default: 600)\n"
    "  --grace S           seconds to finish requests when stopping (default: 10)\n"
    "  --state-dir DIR     keep states in this folder, across restarts (default: in memory)\n"
    "  --state-bytes N     size of all kept states; the least recently used go first (default:\n"
    "                      268435456)\n"
    "  --weights TYPE      store matrices as f32, f16, bf16, q8, q4 or q4k, for less memory and\n"
    "                      more speed (default: as in the run folder)\n"
    "  --threads N         number of threads per model (default: one per processor)\n"
    "  --quiet             no messages on stderr\n"
    "\n"
    "  lcsm serve runs/book\n"
    "  curl -s http://127.0.0.1:8080/v1/completions -H 'Content-Type: application/json' \\\n"
    "      -d '{\"prompt\": \"It was\", \"max_tokens\": 50, \"stream\": true}'\n"
    "  lcsm serve runs/a runs/b --port 9000 --state-dir states --api-key-file key.txt\n";

enum { MODELS = 64 };

typedef struct {
    cli_service      http;
    cli_run          runs[MODELS];
    lcsm_chat       *chats[MODELS];
    lcsm_serve_model models[MODELS];
    char             names[MODELS][128];
    size_t           count;
    const char      *weights;
} service;

/* The last piece of a path, with a number if another model has it already. */
static void name_model(service *s, size_t at, const char *folder)
{
    size_t end = strlen(folder), same = 1;
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/') begin--;
    char name[100];
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - begin), folder + begin);
    for (size_t j = 0; j < at; j++) {
        size_t n = strlen(name);
        same +=
            strncmp(s->names[j], name, n) == 0 && (s->names[j][n] == '\0' || s->names[j][n] == '-');
    }
    if (same == 1) (void)snprintf(s->names[at], sizeof s->names[at], "%s", name);
    else (void)snprintf(s->names[at], sizeof s->names[at], "%s-%zu", name, same);
}

/* A model without a template can be served, too; one whose template is wrong is told of. */
static void open_chat(service *s, size_t at, const char *folder)
{
    lcsm_error err = {0};
    if (lcsm_chat_load(&s->chats[at], folder, &err) != LCSM_OK && err.status != LCSM_ERR_IO
        && !s->http.quiet)
        (void)cli_report("serve", &err);
}

static int open_models(service *s, char **folders, int count, int threads)
{
    for (int j = 0; j < count; j++) {
        cli_run *r    = &s->runs[j];
        int      code = cli_run_open_as(r, "serve", folders[j], s->weights, threads, true);
        if (code != EXIT_OK) return code;
        name_model(s, s->count, folders[j]);
        open_chat(s, s->count, folders[j]);
        s->models[s->count] = (lcsm_serve_model){.name   = s->names[s->count],
                                                 .folder = folders[j],
                                                 .model  = r->model,
                                                 .tok    = r->tok,
                                                 .chat   = s->chats[s->count],
                                                 .lines  = r->lines};
        s->count++;
    }
    return EXIT_OK;
}

/* What is wrong with a command line, or NULL. */
static const char *usage(const service *s, int count)
{
    if (count == 0) return "expected one run folder or more: lcsm serve RUN...";
    if (count > MODELS) return "more than 64 models";
    return cli_service_wrong(&s->http);
}

static void take_counts(lcsm_serve_options *o, const int *streams, const int *queue,
                        const int *limits)
{
    o->streams       = (size_t)*streams;
    o->queue         = (size_t)*queue;
    o->body_bytes    = (size_t)limits[0];
    o->prompt_tokens = (size_t)limits[1];
    o->reply_tokens  = (size_t)limits[2];
}

static void close_models(service *s)
{
    for (size_t j = 0; j < s->count; j++) {
        lcsm_chat_free(s->chats[j]);
        cli_run_close(&s->runs[j]);
    }
}

static int serve(service *s, char **folders, int count, int threads)
{
    int code = cli_service_key(&s->http);
    if (code == EXIT_OK) code = open_models(s, folders, count, threads);
    s->http.o.models      = s->models;
    s->http.o.model_count = s->count;
    if (code == EXIT_OK) code = cli_service_run(&s->http);
    close_models(s);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    static service      s;
    bool                help  = false;
    int                 count = 0, threads = 0, streams = 16, queue = 64;
    int                 limits[3]   = {8 << 20, 1 << 20, 1 << 16};
    double              state_bytes = 256 << 20;
    lcsm_serve_options *o           = &s.http.o;
    cli_option          list[CLI_SERVICE_OPTIONS];
    const cli_option    own[] = {
           {"--help", CLI_FLAG, &help, 0, 0},
           {"--streams", CLI_COUNT, &streams, 1, 4096},
           {"--queue", CLI_COUNT, &queue, 0, 1 << 20},
           {"--max-body", CLI_COUNT, &limits[0], 1024, 1 << 30},
           {"--max-prompt", CLI_COUNT, &limits[1], 1, 1 << 30},
           {"--max-tokens", CLI_COUNT, &limits[2], 1, 1 << 24},
           {"--timeout", CLI_NUMBER, &o->stream_seconds, 0.1, 1e9},
           {"--grace", CLI_NUMBER, &o->grace_seconds, 0, 1e6},
           {"--state-dir", CLI_TEXT, &o->state_dir, 0, 0},
           {"--state-bytes", CLI_NUMBER, &state_bytes, 0, 1e15},
           {"--weights", CLI_TEXT, &s.weights, 0, 0},
           {"--threads", CLI_COUNT, &threads, 1, 1024},
           {NULL, CLI_FLAG, NULL, 0, 0},
    };
    cli_service_begin(&s.http, "serve", 8080);
    cli_service_options(list, &s.http, own);
    if (!cli_parse(argc, argv, list, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    const char *wrong = usage(&s, count);
    if (wrong != NULL) {
        fprintf(stderr, "lcsm serve: %s\n", wrong);
        return EXIT_USAGE;
    }
    take_counts(o, &streams, &queue, limits);
    o->state_bytes = (size_t)state_bytes;
    return serve(&s, argv + 1, count, threads);
}
