/* main.c - the command table of the program lcsm. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

typedef struct {
    const char  *name, *summary;
    cli_command *run;
    bool         parts; /* a word behind the name says which part of it */
} command;

static cli_command help;

static const command COMMANDS[] = {
    {"bench", "measure speed, beside this machine's measured peak", cmd_bench, true},
    {"check", "check gradients and kernels on this machine", cmd_check, false},
    {"describe", "show one model or run: equations, parameters, cost", cmd_describe, false},
    {"eval", "evaluate a model on text or on its task", cmd_eval, false},
    {"experiment", "repeat the paper's tables and figures", cmd_experiment, true},
    {"export", "write a model for transformers, fla or llama.cpp", cmd_export, false},
    {"generate", "generate text with a trained model", cmd_generate, false},
    {"help", "show this page, or that of a command", help, false},
    {"import", "convert a released model into a run folder", cmd_import, false},
    {"inspect", "show what a trained model remembers", cmd_inspect, false},
    {"merge", "merge low-rank adapters into the weights", cmd_merge, false},
    {"methods", "list the methods and the oscillation codes", cmd_methods, false},
    {"report", "tables, figures and an HTML page from run folders", cmd_report, false},
    {"serve", "serve models over HTTP, with an OpenAI-style API and a page", cmd_serve, false},
    {"tasks", "list what can be learned, with examples", cmd_tasks, false},
    {"train", "train a model on text or on another task", cmd_train, false},
    {"tokenizer", "byte-level BPE: train, encode, decode, show", cmd_tokenizer, true},
    {"version", "show the version and how it was built", cmd_version, false},
    {"view", "watch a run or an experiment in a browser", cmd_view, false},
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof COMMANDS[0] };

static void print_help(FILE *out)
{
    fputs("lcsm - linear-complexity sequence models\n\n"
          "usage: lcsm COMMAND [OPTION...]\n\n",
          out);
    for (int j = 0; j < COMMAND_COUNT; j++)
        fprintf(out, "  %-12s %s\n", COMMANDS[j].name, COMMANDS[j].summary);
    fputs("\nRun lcsm COMMAND --help for the options of a command.\nFirst steps: lcsm train --data "
          "book.txt --out runs/book --minutes 5\n             lcsm generate runs/book --prompt "
          "\"It was\"\n",
          out);
}

static const command *find(const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    for (int j = 0; j < COMMAND_COUNT; j++)
        if (strcmp(name, COMMANDS[j].name) == 0) return &COMMANDS[j];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (int j = 0; j < COMMAND_COUNT; j++) names[j] = COMMANDS[j].name;
    int code = cli_unknown("", "command", name, names);
    fputs("lcsm help lists the commands\n", stderr);
    return code;
}

/* `help COMMAND` is `COMMAND --help`, and `help COMMAND PART` is `COMMAND PART --help`. */
static int help(int argc, char **argv)
{
    static char flag[] = "--help";
    if (argc < 2 || (argc == 2 && strcmp(argv[1], flag) == 0)) {
        print_help(stdout);
        return EXIT_OK;
    }
    const command *c = find(argv[1]);
    if (c == NULL) return unknown(argv[1]);
    int last = c->parts && argc > 2 ? 2 : 1;
    if (!cli_no_words("help", argv + last, argc - 1 - last)) return EXIT_USAGE;
    for (int j = 1; j < argc; j++) argv[j - 1] = argv[j];
    argv[argc - 1] = flag;
    return c->run(argc, argv);
}

/* A closed stdin, stdout or stderr would be the number of the next file that is opened, which then
 * takes what is printed. Nothing can be written to what stands in its place. */
static void fill_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
}

/* A result that was not written is a failure, whatever the command says. */
static int check_output(const char *name, int code)
{
    bool flushed = fflush(stdout) == 0;
    if (!flushed && cli_write_interrupted()) return 128 + cli_signal();
    if (flushed && ferror(stdout) == 0) return code;
    fprintf(stderr,
            "lcsm %s: the output could not be written completely to stdout; is the disk full?\n",
            name);
    return code == EXIT_OK ? EXIT_ROOM : code;
}

int main(int argc, char **argv)
{
    fill_standard_files();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const command *c = find(argv[1]);
    return c == NULL ? unknown(argv[1]) : check_output(c->name, c->run(argc - 1, argv + 1));
}
