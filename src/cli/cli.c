/* cli.c - what the subcommands share. */
#include "cli.h"

#include <stdio.h>

static const cli_exit EXIT_OF[LCSM_STATUS_COUNT] = {
    [LCSM_OK]              = EXIT_OK,
    [LCSM_ERR_ARGUMENT]    = EXIT_USAGE,
    [LCSM_ERR_CONFIG]      = EXIT_USAGE,
    [LCSM_ERR_FORMAT]      = EXIT_INPUT,
    [LCSM_ERR_IO]          = EXIT_INPUT,
    [LCSM_ERR_MEMORY]      = EXIT_ROOM,
    [LCSM_ERR_NUMBER]      = EXIT_NUMBER,
    [LCSM_ERR_UNSUPPORTED] = EXIT_FAILED,
    [LCSM_ERR_INTERNAL]    = EXIT_FAILED,
};

int cli_report(const char *command, const lcsm_error *err)
{
    fprintf(stderr, "lcsm %s: %s\n", command, err->text);
    return (int)EXIT_OF[err->status];
}

int cli_unknown(const char *command, const char *what, const char *name, const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL) count++;
    const char *near = lcsm_suggest(name, names, count);
    fprintf(stderr, "lcsm%s%s: unknown %s '%s'", *command != '\0' ? " " : "", command, what, name);
    if (near != NULL) fprintf(stderr, ", did you mean '%s'?", near);
    fputc('\n', stderr);
    return EXIT_USAGE;
}
