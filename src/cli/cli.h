/*
 * cli.h - what the subcommands share. One file a subcommand: cmd_<name>.c.
 *
 * A command gets its own name as argv[0], prints results on stdout and messages on stderr, and
 * returns an exit code.
 */
#ifndef LCSM_CLI_H
#define LCSM_CLI_H
#include <lcsm/lcsm.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum {
    EXIT_OK     = 0,
    EXIT_FAILED = 1, /* the command ran and the answer is no */
    EXIT_USAGE  = 2,
    EXIT_INPUT  = 3, /* a bad input file */
    EXIT_ROOM   = 4, /* out of memory or disk */
    EXIT_NUMBER = 5, /* numbers not finite */
} cli_exit;

typedef int cli_command(int argc, char **argv);

cli_command cmd_bench, cmd_bench_decode, cmd_check, cmd_describe, cmd_eval, cmd_experiment,
    cmd_generate, cmd_import, cmd_inspect, cmd_methods, cmd_report, cmd_train;
cli_command cmd_bench_methods, cmd_bench_tokenizer, cmd_bench_train, cmd_tokenizer;

/* Prints "lcsm COMMAND: text" on stderr and returns the exit code that fits the status. */
int cli_report(const char *command, const lcsm_error *err);

/* Prints "lcsm COMMAND: unknown option NAME" with the nearest known name, whatever its
 * case (names ends in NULL), on stderr and returns EXIT_USAGE. */
int cli_unknown(const char *command, const char *what, const char *name, const char *const *names);

/* Prints a command with a path in it, as a shell takes it, and ends the line. */
void cli_hint(const char *before, const char *path, const char *after);

/* The values of an option that may be given several times. */
typedef struct {
    const char *items[256];
    size_t      count;
} cli_list;

/* An option of a command. A number is checked against its range. */
typedef struct {
    const char *name; /* with its dashes */
    enum { CLI_FLAG, CLI_COUNT, CLI_NUMBER, CLI_TEXT, CLI_LIST, CLI_SETTINGS, CLI_MODEL } kind;
    void  *to; /* bool, int, double, const char * or cli_list */
    double least, most;
} cli_option;

/* Reads argv[1] and what follows; options may also be written --name=value, as a value must be that
 * begins with --, and -- ends them. Other words are moved to the front of argv, and *words says how
 * many they are. The list of options ends with a NULL name, of kind CLI_SETTINGS if settings were
 * taken before, or CLI_MODEL if only those of a model were. False after a message: return
 * EXIT_USAGE. */
bool cli_parse(int argc, char **argv, const cli_option *options, int *words);

/* For a command without words. False after a message: return EXIT_USAGE. */
bool cli_no_words(const char *command, char **argv, int words);

/* The instruction set of a name. False after a message: return EXIT_USAGE. */
bool cli_isa(const char *command, const char *name, lcsm_isa *isa);

/* Whether a method has this name. False after a message: return EXIT_USAGE. */
bool cli_is_method(const char *command, const char *name);

/* Takes "--key value", "--key=value" and, of a switch, "--key" out of argv for every key of a model
 * and of training. *code is what to return if it fails, after a message. Without `train` its keys
 * stay. */
bool cli_take_settings(int *argc, char **argv, lcsm_model_config *model, lcsm_train_config *train,
                       int *code);

/* Whether a file can be made there, which is better known before the work than after it; with
 * `make` the folders that are missing are made. False after a message: return EXIT_INPUT. */
bool cli_may_write(const char *command, const char *path, bool make);

/* Text from stdin: the one path that is - becomes that of a file which holds it, `keep`, or one
 * that ends with the program (NULL). False after a message: return EXIT_INPUT. */
bool cli_take_stdin(const char *command, const char *keep, const char **paths, size_t count);

/* Whether the folder has the settings and the weights of a model. */
bool cli_is_run(const char *folder);

/* A run that a command works on. {0} may be closed. */
typedef struct {
    lcsm_context   *ctx;
    lcsm_model     *model;
    lcsm_tokenizer *tok;
    int             length; /* of a sequence in training; 0: lcsm did not train it */
    bool            lines;  /* lcsm trained it with a tokenizer whose end-of-text ends lines */
} cli_run;

/* Loads the model of a run folder and, if wanted, its tokenizer: tokenizer.json, or bytes where
 * there is none and the vocabulary is 256. A run of recall has none. Returns EXIT_OK, or an exit
 * code after a message. */
/* One line on stderr about bytes that the vocabulary lacks; nothing for 0. */
void cli_say_skipped(const char *command, uint64_t bytes);
int  cli_run_open(cli_run *r, const char *command, const char *folder, int threads, bool text);
void cli_run_close(cli_run *r);

/* Catches SIGINT and SIGTERM. The first one writes the notice, if not NULL, to stderr and makes
 * cli_signal say which; the second ends the program at once. */
void cli_catch_signals(const char *notice);
int  cli_signal(void);

/* Whether a caught signal has just ended a write to stdout, whose reader may never read on. What
 * stdout still holds, and what follows, is then dropped, and no longer a failure of stdout. Asked
 * before errno changes. */
bool cli_write_interrupted(void);

/* Escape sequences, or "" where the stream is no terminal or NO_COLOR is set. */
typedef struct {
    const char *good, *bad, *dim, *bold, *off;
} cli_colours;

cli_colours cli_colours_of(FILE *stream);

#endif
