/* cli_run.c - run folders and signals, for the commands that use a model. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

bool cli_makes_examples(const char *task)
{
    lcsm_task_info t = {.size = sizeof t};
    return lcsm_task_named(task, &t, NULL) == LCSM_OK && !t.text;
}

static bool holds(const char *folder, const char *name)
{
    char path[4096];
    int  size = snprintf(path, sizeof path, "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof path && access(path, F_OK) == 0;
}

bool cli_is_run(const char *folder)
{
    return holds(folder, "config.json") && holds(folder, "model.safetensors");
}

static lcsm_status open_tokenizer(cli_run *r, const char *folder, lcsm_error *err)
{
    double vocab = lcsm_model_config_number(lcsm_model_config_of(r->model), "vocab");
    if (holds(folder, "tokenizer.json")) return lcsm_tokenizer_load(&r->tok, folder, err);
    if (vocab == 256) return lcsm_tokenizer_bytes(&r->tok, err);
    err->status = LCSM_ERR_IO;
    (void)snprintf(err->text, sizeof err->text,
                   "%.150s has no tokenizer.json, and only a vocabulary of 256 needs none (it has "
                   "%.0f)",
                   folder, vocab);
    return err->status;
}

/* The tokens of such a task are its own, whatever the size of the vocabulary. */
static lcsm_status refuse_task(const char *folder, const char *task, lcsm_error *err)
{
    err->status = LCSM_ERR_ARGUMENT;
    (void)snprintf(
        err->text, sizeof err->text,
        "%.100s was trained on the task %.30s, not on text; lcsm eval RUN, without --data, "
        "says how well it does",
        folder, task);
    return err->status;
}

/* What the settings of training say, if there are any. */
static lcsm_status read_training(cli_run *r, const char *folder, bool text, lcsm_error *err)
{
    lcsm_train_config *cfg      = NULL;
    char               task[64] = "";
    lcsm_status        st       = lcsm_train_config_create(&cfg, err);
    if (st == LCSM_OK) st = lcsm_run_settings(folder, NULL, cfg, err);
    if (st == LCSM_OK) {
        char ends[16] = "";
        r->length     = (int)lcsm_train_config_number(cfg, "seq_len");
        (void)lcsm_train_config_get(cfg, "ends", ends, sizeof ends, NULL);
        r->lines = strcmp(ends, "auto") == 0 || strcmp(ends, "line") == 0;
        (void)lcsm_train_config_get(cfg, "task", task, sizeof task, NULL);
    }
    if (st == LCSM_ERR_ARGUMENT) st = LCSM_OK; /* lcsm did not train it */
    lcsm_train_config_free(cfg);
    return text && cli_makes_examples(task) ? refuse_task(folder, task, err) : st;
}

static void warn(void *user, lcsm_log_level level, const char *text)
{
    if (level >= LCSM_LOG_WARNING) fprintf(stderr, "lcsm %s: %s\n", (const char *)user, text);
}

void cli_say_skipped(const char *command, uint64_t bytes)
{
    if (bytes == 0) return;
    fprintf(stderr, "lcsm %s: skipped %llu bytes of text that the vocabulary has no tokens for\n",
            command, (unsigned long long)bytes);
}

int cli_run_open(cli_run *r, const char *command, const char *folder, int threads, bool text)
{
    return cli_run_open_as(r, command, folder, NULL, threads, text);
}

int cli_run_open_as(cli_run *r, const char *command, const char *folder, const char *weights,
                    int threads, bool text)
{
    lcsm_model_load_options load    = {.size = sizeof load, .weights = weights};
    lcsm_context_options    options = {.size     = sizeof options,
                                       .threads  = threads,
                                       .log      = warn,
                                       .log_user = (void *)(uintptr_t)command};
    lcsm_error              err     = {0};
    *r                              = (cli_run){0};
    if (lcsm_context_create(&r->ctx, &options, &err) == LCSM_OK
        && lcsm_model_load_with(&r->model, r->ctx, folder, &load, &err) == LCSM_OK
        && read_training(r, folder, text, &err) == LCSM_OK
        && (!text || open_tokenizer(r, folder, &err) == LCSM_OK)) {
        r->lines = r->lines && text && lcsm_tokenizer_eos(r->tok) >= 0;
        return EXIT_OK;
    }
    cli_run_close(r);
    return cli_report(command, &err);
}

void cli_run_close(cli_run *r)
{
    lcsm_tokenizer_free(r->tok);
    lcsm_model_free(r->model);
    lcsm_context_free(r->ctx);
    *r = (cli_run){0};
}

/* ---- signals ---------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;
static const char           *first_words = "";

static void on_signal(int number)
{
    int     before = errno;
    ssize_t put    = write(STDERR_FILENO, first_words, strlen(first_words));
    (void)put;
    errno  = before;
    caught = number;
}

/* Without SA_RESTART, so that waiting for input, or for a reader of stdout, ends too. */
void cli_catch_signals(const char *notice)
{
    first_words             = notice == NULL ? "" : notice;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int cli_signal(void)
{
    return (int)caught;
}

bool cli_write_interrupted(void)
{
    if (caught == 0 || errno != EINTR) return false;
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)close(nowhere);
    }
    clearerr(stdout);
    return true;
}

const char *cli_method_name(size_t row)
{
    lcsm_method_info m = {.size = sizeof m};
    return lcsm_method_at(row, &m, NULL) == LCSM_OK ? m.name : "";
}
