/* cli_service.h - what the commands that answer HTTP share: address, key, certificate, signals. */
#ifndef LCSM_CLI_SERVICE_H
#define LCSM_CLI_SERVICE_H
#include "cli.h"
#include "serve/serve.h"

enum { CLI_KEY_SIZE = 4096 };

typedef struct {
    const char        *command;
    lcsm_serve_options o;
    const char        *key_file;
    char               key[CLI_KEY_SIZE];
    bool               quiet;
} cli_service;

/* With the defaults of all commands. */
void cli_service_begin(cli_service *s, const char *command, int port);

/* The options that all have; `own` are those of a command, which end with a NULL name. */
enum { CLI_SERVICE_OPTIONS = 40 };
void cli_service_options(cli_option list[CLI_SERVICE_OPTIONS], cli_service *s,
                         const cli_option *own);

/* What is wrong with a command line, or NULL. */
const char *cli_service_wrong(const cli_service *s);

/* Reads the key. Returns EXIT_OK, or an exit code after a message. */
int cli_service_key(cli_service *s);

/* Serves until a signal comes; returns the exit code. */
int cli_service_run(cli_service *s);

/* The lines of --help about them. */
#define CLI_SERVICE_HELP                                                                           \
    "  --api-key-file FILE require the key in this file, as the header Authorization: Bearer "     \
    "KEY;\n"                                                                                       \
    "                      without the option the environment variable LCSM_API_KEY has it, if "   \
    "set\n"                                                                                        \
    "  --tls-cert FILE     serve HTTPS with this certificate (PEM) ...\n"                          \
    "  --tls-key FILE      ... and its key\n"                                                      \
    "  --connections N     open connections at most (default: 1024)\n"                             \
    "  --request-timeout S seconds for a request to arrive completely (default: 30)\n"

#endif
