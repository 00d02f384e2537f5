/*
 * cli.h - what the subcommands share. One file a subcommand: cmd_<name>.c.
 *
 * A command gets its own name as argv[0], prints results on stdout and messages on stderr, and
 * returns an exit code.
 */
#ifndef LCSM_CLI_H
#define LCSM_CLI_H
#include <lcsm/dist.h>
#include <lcsm/tools.h>
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

cli_command cmd_bench, cmd_bench_decode, cmd_bench_dist, cmd_check, cmd_describe, cmd_eval,
    cmd_experiment, cmd_export, cmd_generate, cmd_import, cmd_inspect, cmd_merge, cmd_methods,
    cmd_report, cmd_serve, cmd_tasks, cmd_train, cmd_version, cmd_view;
cli_command cmd_bench_methods, cmd_bench_tokenizer, cmd_bench_train, cmd_tokenizer;

/* Prints "lcsm COMMAND: text" on stderr and returns the exit code that fits the status. */
int cli_report(const char *command, const lcsm_error *err);

/* The same of one rank of several: what all of them have agreed on is printed once, by rank 0. */
int cli_report_rank(const char *command, const lcsm_dist *dist, const lcsm_error *err);

/* Prints "lcsm COMMAND: unknown option NAME" with the nearest known name, whatever its
 * case (names ends in NULL), on stderr and returns EXIT_USAGE. */
int cli_unknown(const char *command, const char *what, const char *name, const char *const *names);

/* A method of the table by its number; "" if there is none. */
const char *cli_method_name(size_t row);

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
    enum { CLI_FLAG, CLI_COUNT, CLI_NUMBER, CLI_TEXT, CLI_LIST, CLI_SETTINGS } kind;
    void  *to; /* bool, int, double, const char *, cli_list or cli_settings */
    double least, most;
} cli_option;

/* The settings of a command line, in its order. */
typedef struct {
    bool   train; /* keys of training are options too, beside those of a model */
    size_t count;
    struct {
        const char *key, *value; /* as the library names it */
    } items[256];
} cli_settings;

/* Reads argv[1] and what follows, once; options may also be written --name=value, as a value must
 * be that begins with --, and -- ends them. Other words are moved to the front of argv, and *words
 * says how many they are. The list of options ends with a NULL name, of kind CLI_SETTINGS if keys
 * of models are options too. False after a message: return EXIT_USAGE. */
bool cli_parse(int argc, char **argv, const cli_option *options, int *words);

/* For a command without words. False after a message: return EXIT_USAGE. */
bool cli_no_words(const char *command, char **argv, int words);

/* The instruction set of a name. False after a message: return EXIT_USAGE. */
bool cli_isa(const char *command, const char *name, lcsm_isa *isa);

/* Whether a method has this name. False after a message: return EXIT_USAGE. */
bool cli_is_method(const char *command, const char *name);

/* Settings of a model and of training, from which a command begins. {0} may be freed. */
typedef struct {
    lcsm_model_config *model;
    lcsm_train_config *train;
} cli_config;

/* The defaults, or a copy of *from. Returns EXIT_OK, or an exit code after a message. */
int  cli_config_create(cli_config *c, const char *command, const cli_config *from);
void cli_config_free(cli_config *c);

/* The last value that the command line has for a key; NULL: none. */
const char *cli_setting(const cli_settings *s, const char *key);

/* Sets what the command line says. Returns EXIT_OK, or an exit code after a message. */
int cli_settings_apply(const cli_settings *s, const char *command, const cli_config *c);

/* Refuses a setting of the model, or of training unless c->train is NULL, that is not as in `base`
 * and has no effect. NULL stands for the defaults; `shared`, from which several models begin,
 * counts only for the model that it names. Returns EXIT_OK, or an exit code after a message. */
int cli_refuse_unused(const char *command, const cli_config *c, const lcsm_model_config *shared,
                      const lcsm_train_config *base);

/* heads, expand or hidden, if that is not as in `shared` and has no effect; otherwise NULL. All
 * models of a comparison may be given these, so they are not refused. */
const char *cli_idle_size(const lcsm_model_config *model, const lcsm_model_config *shared);

/* The setting that names a model, layers_pattern, code or method, and its value. */
const char *cli_model_kind(const lcsm_model_config *model);
enum { CLI_VALUE = 512 }; /* bytes of any value of a setting */
const char *cli_model_name(const lcsm_model_config *model, char text[CLI_VALUE]);

/* Whether a word names the mixers of several layers, as in gla*3,attention. */
bool cli_is_pattern(const char *word);

/* The lines of --help about keys. */
void cli_print_keys(bool key(size_t index, lcsm_setting_info *out));

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
/* Whether the task makes its examples, and reads no text. */
bool cli_makes_examples(const char *task);
/* One line on stderr about bytes that the vocabulary lacks; nothing for 0. */
void cli_say_skipped(const char *command, uint64_t bytes);
int  cli_run_open(cli_run *r, const char *command, const char *folder, int threads, bool text);
/* The same with the type of weights, or NULL. */
int  cli_run_open_as(cli_run *r, const char *command, const char *folder, const char *weights,
                     int threads, bool text);
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
