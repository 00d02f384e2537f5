/* cli_service.c - a server for a command, from its options to its end. */
#include "cli_service.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

void cli_service_begin(cli_service *s, const char *command, int port)
{
    *s = (cli_service){.command = command,
                       .o       = {.host            = "127.0.0.1",
                                   .port            = port,
                                   .connections     = 1024,
                                   .body_bytes      = 8 << 20,
                                   .request_seconds = 30,
                                   .stream_seconds  = 600,
                                   .grace_seconds   = 10}};
}

void cli_service_options(cli_option list[CLI_SERVICE_OPTIONS], cli_service *s,
                         const cli_option *own)
{
    const cli_option shared[] = {
        {"--host", CLI_TEXT, &s->o.host, 0, 0},
        {"--port", CLI_COUNT, &s->o.port, 0, 65535},
        {"--api-key-file", CLI_TEXT, &s->key_file, 0, 0},
        {"--tls-cert", CLI_TEXT, &s->o.cert, 0, 0},
        {"--tls-key", CLI_TEXT, &s->o.key, 0, 0},
        {"--connections", CLI_COUNT, &s->o.connections, 1, 1 << 20},
        {"--request-timeout", CLI_NUMBER, &s->o.request_seconds, 0.1, 1e6},
        {"--quiet", CLI_FLAG, &s->quiet, 0, 0},
    };
    size_t count = sizeof shared / sizeof shared[0];
    memcpy(list, shared, sizeof shared);
    while (own->name != NULL && count + 1 < CLI_SERVICE_OPTIONS) list[count++] = *own++;
    list[count] = (cli_option){NULL, CLI_FLAG, NULL, 0, 0};
}

const char *cli_service_wrong(const cli_service *s)
{
    return (s->o.cert == NULL) != (s->o.key == NULL) ? "--tls-cert and --tls-key belong together"
                                                     : NULL;
}

/* The key of a file, or of the environment, without what stands around it. */
int cli_service_key(cli_service *s)
{
    lcsm_error  err  = {0};
    lcsm_file   file = {0};
    const char *from = getenv("LCSM_API_KEY");
    size_t      size = from != NULL ? strlen(from) : 0;
    if (s->key_file != NULL
        && lcsm_file_read(&file, s->key_file, CLI_KEY_SIZE - 1, &err) != LCSM_OK)
        return cli_report(s->command, &err);
    if (s->key_file != NULL) {
        from = (const char *)file.data;
        size = file.size;
    }
    while (size > 0 && strchr(" \t\r\n", from[size - 1]) != NULL) size--;
    bool fits = size < CLI_KEY_SIZE;
    if (fits && size > 0) memcpy(s->key, from, size);
    lcsm_file_close(&file);
    s->o.api_key = size > 0 ? s->key : NULL;
    if (fits && (size > 0 || s->key_file == NULL)) return EXIT_OK;
    fprintf(stderr, "lcsm %s: the API key %s\n", s->command,
            fits ? "file is empty" : "is too long");
    return EXIT_INPUT;
}

static bool stop(void *user)
{
    (void)user;
    return cli_signal() != 0;
}

static void ready(void *user, int port)
{
    const cli_service *s   = user;
    bool               six = strchr(s->o.host, ':') != NULL;
    printf("%s://%s%s%s:%d\n", s->o.cert != NULL ? "https" : "http", six ? "[" : "", s->o.host,
           six ? "]" : "", port);
    (void)fflush(stdout);
}

static void say(void *user, const char *text)
{
    const cli_service *s = user;
    if (!s->quiet) fprintf(stderr, "lcsm %s: %s\n", s->command, text);
}

int cli_service_run(cli_service *s)
{
    lcsm_error err = {0};
    s->o.stop      = stop;
    s->o.ready     = ready;
    s->o.log       = say;
    s->o.user      = s;
    cli_catch_signals(NULL);
    lcsm_status st = lcsm_serve(&s->o, &err);
    if (st != LCSM_OK) return cli_report(s->command, &err);
    return cli_signal() != 0 ? 128 + cli_signal() : EXIT_OK;
}
