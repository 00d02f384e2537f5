/* cmd_train.c - lcsm train: from text, or from recall examples, to a model in a run folder. */
#include <jansson.h>
#include <lcsm/train.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const char HELP[] =
    "lcsm train - train a model\n"
    "\n"
    "usage: lcsm train --data TEXT... --out RUN [--method NAME | --code E-O-S-A |\n"
    "                  --layers-pattern NAME*N,NAME...] [--KEY VALUE...]\n"
    "       lcsm train --task TASK --out RUN [--KEY VALUE...]     (lcsm tasks lists them)\n"
    "       lcsm train --init RUN --data TEXT... --out NEW [--KEY VALUE...]     (fine-tuning)\n"
    "       lcsm train --resume --out RUN\n"
    "\n"
    "Writes a run folder: config.json (all settings), model.safetensors (the best model by\n"
    "evaluation), tokenizer.json, metrics.jsonl and checkpoints/. Ctrl-C writes a checkpoint and\n"
    "stops. --resume continues a run; the result is bit-identical to an uninterrupted one.\n"
    "\n"
    "  --data PATH       text file, .gz file, folder of them, or - for stdin; may be repeated\n"
    "  --valid PATH      text for evaluation (default: the end of the data is held out)\n"
    "  --test PATH       text on which the best model is evaluated once, at the end\n"
    "  --tokenizer FILE  tokenizer.json or its folder (default: every byte is a token)\n"
    "  --out RUN         run folder to write\n"
    "  --init RUN        begin with the weights of a trained or imported model; settings of the\n"
    "                    model and the tokenizer are its own. With --adapter R only low-rank\n"
    "                    adapters are trained, with --initial-memory true only what memories\n"
    "                    begin with (lcsm merge makes them part of the model)\n"
    "  --resume          continue RUN; training settings may change, e.g. a larger --steps, but\n"
    "                    not the task, the model or the tokenizer\n"
    "  --recipe NAME     settings from recipes/NAME.json, or from a file\n"
    "  --config FILE     settings from a JSON file with the keys below; command-line flags take\n"
    "                    precedence\n"
    "  --cache DIR       keep token files on disk, for data that do not fit into memory\n"
    "  --threads N       number of threads (default: one per processor)\n"
    "  --distributed X   auto, mpi or none: whether the processes that mpirun or srun started\n"
    "                    train one run together (default: auto, they do)\n"
    "  --sequence-parallel P\n"
    "                    P ranks share a sequence: --segments P, of which each has one, and a\n"
    "                    shard for every P ranks\n"
    "  --quiet           no progress output\n"
    "  --json            result as JSON on stdout\n"
    "\n"
    "  lcsm train --data book.txt --out runs/book --minutes 2\n"
    "  lcsm train --data book.txt --out runs/m --method mamba --d-model 256 --layers 4\n"
    "  lcsm train --data book.txt --out runs/h --layers-pattern 'gla*3,attention' --layers 8\n"
    "  lcsm train --init runs/book --data letters.txt --lr 2e-4 --out runs/letters\n"
    "  lcsm train --init runs/book --adapter 16 --data letters.txt --out runs/letters\n"
    "  lcsm train --task mqar --code 1-1-1-0 --seq-len 64 --pairs 4 --out runs/recall\n"
    "  mpirun -n 4 lcsm train --data book.txt --out runs/book --minutes 2\n"
    "  mpirun -n 4 lcsm train --data book.txt --seq-len 262144 --batch-size 2 --sequence-parallel "
    "2\n"
    "         --out runs/long\n"
    "  lcsm train --task parity --method deltanet --beta-max 2 --out runs/parity\n"
    "\n";

static bool asked_to_stop(void *user)
{
    (void)user;
    return cli_signal() != 0;
}

/* ---- progress ------------------------------------------------------------------------------- */

enum { CURVE = 60 };

typedef struct {
    double      curve[CURVE]; /* losses of the last evaluations */
    int         points;
    bool        quiet, recall; /* recall: the task makes its examples */
    bool        silent;        /* not rank 0: only that one prints */
    cli_colours colour;
} screen;

static const char *duration(char text[24], double seconds)
{
    long t = isfinite(seconds) && seconds < 1e9 ? lround(seconds) : -1;
    if (t < 0) snprintf(text, 24, "?");
    else if (t < 3600) snprintf(text, 24, "%ld:%02ld", t / 60, t % 60);
    else snprintf(text, 24, "%ld:%02ld:%02ld", t / 3600, t / 60 % 60, t % 60);
    return text;
}

/* One live line with as many of its parts as the terminal is wide for, or a line of all. */
static void show_step(const screen *s, const lcsm_train_event *e)
{
    char               parts[8][40] = {{0}}, left[24], line[sizeof parts + 1] = "";
    const lcsm_update *u    = e->update;
    size_t             room = cli_is_live() ? (size_t)cli_columns() : sizeof line;
    snprintf(parts[0], 40, "step %lld", (long long)u->step);
    snprintf(parts[1], 40, "loss %.4f", u->loss);
    if (!s->recall) snprintf(parts[2], 40, "ppl %.2f", exp(u->loss));
    else snprintf(parts[2], 40, "acc %.1f %%", 100 * u->accuracy);
    snprintf(parts[3], 40, "lr %.1e", u->lr);
    snprintf(parts[4], 40, "%.0f tok/s", e->tokens_per_second);
    snprintf(parts[5], 40, "left %s", duration(left, e->left));
    snprintf(parts[6], 40, "%.0f MB", (double)e->bytes / 1e6);
    if (isfinite(e->waiting))
        snprintf(parts[7], 40, "waiting %.0f %%, rank %d slowest", 100 * e->waiting, e->slowest);
    for (size_t j = 0, n = 0; j < 8 && parts[j][0] != '\0' && n + 2 + strlen(parts[j]) < room;
         j++) {
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", j == 0 ? "" : "  ", parts[j]);
    }
    if (cli_is_live()) cli_live(line);
    else if (e->log) fprintf(stderr, "%s\n", line);
}

static void show_eval(const screen *s, const lcsm_train_event *e)
{
    double loss = e->tally.loss / (double)e->tally.count;
    fprintf(stderr, "%s  ", s->colour.bold);
    if (strcmp(e->split, "test") == 0) fprintf(stderr, "test of the best model");
    else fprintf(stderr, "%s at step %lld", e->split, (long long)e->update->step);
    fprintf(stderr, ": loss %.4f", loss);
    if (!s->recall) fprintf(stderr, "  ppl %.2f", exp(loss));
    if (isfinite(e->bits_per_byte)) fprintf(stderr, "  bits/byte %.3f", e->bits_per_byte);
    if (isfinite(e->score)) fprintf(stderr, "  score %.3f", e->score);
    fprintf(stderr, "  acc %.1f %%%s%s\n", 100 * (double)e->tally.right / (double)e->tally.count,
            e->best ? "  best" : "", s->colour.off);
}

static void keep_point(screen *s, double loss)
{
    if (!isfinite(loss)) return;
    if (s->points == CURVE) memmove(s->curve, s->curve + 1, (size_t)--s->points * sizeof *s->curve);
    s->curve[s->points++] = loss;
}

/* The losses as a row of bars. */
static void print_curve(const screen *s)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double                   low = INFINITY, high = -INFINITY;
    for (int j = 0; j < s->points; j++) {
        low  = fmin(low, s->curve[j]);
        high = fmax(high, s->curve[j]);
    }
    if (s->points < 2 || !(high > low)) return;
    printf("valid loss %.3f ", s->curve[0]);
    for (int j = 0; j < s->points; j++)
        fputs(bars[(int)(7.999 * (s->curve[j] - low) / (high - low))], stdout);
    printf(" %.3f\n", s->curve[s->points - 1]);
}

/* A step of a large model takes minutes. The line break is for the live line. */
static const char STOPPING[] =
    "\nstopping after this step, with a checkpoint; a second signal ends it now, without one\n";

/* Until a run has started there is nothing to save, and a signal ends the program at once. */
static void on_event(void *user, const lcsm_train_event *e)
{
    screen *s = user;
    if (e->kind == LCSM_TRAIN_START)
        cli_catch_signals(s->quiet || s->silent ? NULL : STOPPING + !cli_is_live());
    if (e->kind == LCSM_TRAIN_EVAL && strcmp(e->split, "valid") == 0)
        keep_point(s, e->tally.loss / (double)e->tally.count);
    if (s->quiet || s->silent) return;
    if (e->kind != LCSM_TRAIN_UPDATE) cli_live("");
    switch (e->kind) {
    case LCSM_TRAIN_UPDATE: show_step(s, e); break;
    case LCSM_TRAIN_EVAL: show_eval(s, e); break;
    case LCSM_TRAIN_START:
    case LCSM_TRAIN_NOTE: fprintf(stderr, "%s%s%s\n", s->colour.dim, e->text, s->colour.off); break;
    default: break;
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static void put_real(json_t *o, const char *key, double value)
{
    json_object_set_new(o, key, isfinite(value) ? json_real(value) : json_null());
}

static void print_json(const char *run, const lcsm_train_result *r)
{
    json_t *o = json_pack("{s:s, s:s, s:I, s:I}", "run", run, "reason", r->reason, "steps",
                          (json_int_t)r->steps, "tokens", (json_int_t)r->tokens);
    put_real(o, "seconds", r->seconds);
    put_real(o, "loss", r->loss);
    put_real(o, "best_loss", r->best_loss);
    put_real(o, "best_accuracy", r->best_accuracy);
    put_real(o, "test_loss", r->test_loss);
    put_real(o, "tokens_per_second", r->tokens_per_second);
    json_dumpf(o, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(o);
}

static const char *reason_text(const char *reason)
{
    static const char *const texts[][2] = {{"steps", "all steps done"},
                                           {"time", "the time is up"},
                                           {"solved", "accuracy reached"},
                                           {"early-stop", "no better evaluation"},
                                           {"signal", "stopped by a signal"}};
    for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
        if (strcmp(reason, texts[j][0]) == 0) return texts[j][1];
    return reason;
}

static void print_result(const char *run, const lcsm_train_result *r, bool writes)
{
    char time[24];
    printf("%lld step%s, %lld tokens, %s", (long long)r->steps, r->steps == 1 ? "" : "s",
           (long long)r->tokens, duration(time, r->seconds));
    if (isfinite(r->tokens_per_second))
        printf(", %.0f tok/s without evaluation", r->tokens_per_second);
    printf(": %s\n", reason_text(r->reason));
    if (isfinite(r->best_loss)) printf("best valid loss %.4f nats", r->best_loss);
    if (isfinite(r->best_accuracy)) printf(", accuracy %.1f %%", 100 * r->best_accuracy);
    printf("%s\n", isfinite(r->best_loss) ? "" : "no evaluation");
    if (isfinite(r->test_loss))
        printf("test loss %.4f nats, perplexity %.2f\n", r->test_loss, exp(r->test_loss));
    if (r->stopped) cli_hint("continue with:  lcsm train --resume --out ", run, "");
    else if (writes) cli_hint("try:  lcsm generate ", run, " --prompt \"...\"");
}

/* ---- options -------------------------------------------------------------------------------- */

typedef struct {
    bool         help, resume, quiet, json;
    int          threads, sequence;
    const char  *out, *init, *recipe, *config, *tokenizer, *cache, *distributed;
    lcsm_dist   *dist;
    cli_list     data, valid, test;
    cli_settings settings;
} flags;

static int print_help(void)
{
    fputs(HELP, stdout);
    puts("Defaults are in brackets. A switch by itself means true; --tied false turns one off.\n");
    puts("Training:");
    cli_print_keys(lcsm_train_config_key);
    puts("\nModel:");
    cli_print_keys(lcsm_model_config_key);
    return EXIT_OK;
}

/* Defaults, then the run to resume, or the model to begin with, and the recipe. */
static int shared_settings(cli_config *shared, const flags *f)
{
    lcsm_error  err;
    lcsm_status st   = LCSM_OK;
    int         code = cli_config_create(shared, "train", NULL);
    if (code != EXIT_OK) return code;
    if (f->resume) st = lcsm_run_settings(f->out, shared->model, shared->train, &err);
    else if (f->init != NULL) st = lcsm_run_settings(f->init, shared->model, NULL, &err);
    if (st == LCSM_OK && f->recipe != NULL)
        st = lcsm_recipe_load(f->recipe, shared->model, shared->train, &err);
    return st == LCSM_OK ? EXIT_OK : cli_report("train", &err);
}

/* These, then the file and the command line. */
static int all_settings(cli_config *c, const cli_config *shared, const flags *f)
{
    lcsm_error err;
    int        code = cli_config_create(c, "train", shared);
    if (code == EXIT_OK && f->config != NULL
        && lcsm_settings_load(f->config, c->model, c->train, &err) != LCSM_OK)
        code = cli_report("train", &err);
    if (code == EXIT_OK) code = cli_settings_apply(&f->settings, "train", c);
    if (code == EXIT_OK) lcsm_train_wire(c->train, c->model);
    return code;
}

/* What would do nothing is refused; what a run that is resumed has from before is not. */
static int check_used(const cli_config *c, const cli_config *shared, const flags *f)
{
    char        name[CLI_VALUE];
    cli_config  training = {.train = c->train};
    const char *idle     = cli_idle_size(c->model, shared->model);
    int         code     = f->resume ? cli_refuse_unused("train", &training, NULL, shared->train)
                                     : cli_refuse_unused("train", c, shared->model, NULL);
    if (code == EXIT_OK && idle != NULL && !f->quiet && lcsm_dist_rank(f->dist) == 0)
        fprintf(stderr, "lcsm train: %s is unused in %s\n", idle, cli_model_name(c->model, name));
    return code;
}

/* Text from stdin is kept in the run folder, so that the run can be resumed. */
static int take_stdin(flags *f)
{
    static char path[4096];
    char        config[4096];
    bool        asked = false;
    for (size_t j = 0; j < f->data.count; j++) asked = asked || strcmp(f->data.items[j], "-") == 0;
    (void)snprintf(path, sizeof path, "%s/data.txt", f->out);
    (void)snprintf(config, sizeof config, "%s/config.json", f->out);
    if (!asked || (!f->resume && access(config, F_OK) == 0)) return EXIT_OK; /* which is refused */
    if (f->resume) {
        fprintf(stderr,
                "lcsm train: --data - is for a new run, which keeps the text in %s; omit --data to "
                "resume\n",
                path);
        return EXIT_USAGE;
    }
    return cli_take_stdin("train", path, f->data.items, f->data.count) ? EXIT_OK : EXIT_INPUT;
}

static bool is_recall(const lcsm_train_config *cfg)
{
    char task[64] = "";
    (void)lcsm_train_config_get(cfg, "task", task, sizeof task, NULL);
    return cli_makes_examples(task);
}

static void show_results(const lcsm_train_job *job, const flags *f, const screen *s,
                         const lcsm_train_result *result)
{
    bool both_ways = lcsm_model_config_number(job->model, "bidirectional") == 1;
    if (s->silent) return;
    if (f->json) {
        print_json(job->out, result);
        return;
    }
    print_curve(s);
    print_result(job->out, result, !s->recall && !both_ways);
}

static int train(const lcsm_train_job *job, const flags *f)
{
    screen               s      = {.quiet  = f->quiet,
                                   .recall = is_recall(job->train),
                                   .silent = lcsm_dist_rank(f->dist) > 0,
                                   .colour = cli_colours_of(stderr)};
    lcsm_train_hooks     hooks  = {sizeof hooks, on_event, asked_to_stop, &s};
    lcsm_context_options opt    = {.size = sizeof opt, .threads = f->threads};
    lcsm_context        *ctx    = NULL;
    lcsm_train_result    result = {.size = sizeof result};
    lcsm_error           err    = {0};
    if (opt.threads == 0) opt.threads = lcsm_dist_threads(f->dist);
    lcsm_status st = lcsm_context_create(&ctx, &opt, &err);
    if (st == LCSM_OK) st = lcsm_train(ctx, job, &hooks, &result, &err);
    lcsm_context_free(ctx);
    if (!s.silent) cli_live("");
    if (st != LCSM_OK) return cli_report_rank("train", f->dist, &err);
    show_results(job, f, &s, &result);
    return result.stopped ? 128 + (cli_signal() != 0 ? cli_signal() : SIGTERM) : EXIT_OK;
}

/* What ranks cannot share, and what they can and should not. */
static int check_ranks(const flags *f)
{
    char text[300];
    bool stdin_data = false;
    for (size_t j = 0; j < f->data.count; j++) stdin_data |= strcmp(f->data.items[j], "-") == 0;
    if (stdin_data && lcsm_dist_size(f->dist) > 1) {
        if (lcsm_dist_rank(f->dist) == 0)
            fputs("lcsm train: --data - is for one process; write the text into a file that all "
                  "ranks can read\n",
                  stderr);
        return EXIT_USAGE;
    }
    if (f->dist == NULL || lcsm_dist_rank(f->dist) > 0 || f->quiet) return EXIT_OK;
    fprintf(stderr, "%s\n", lcsm_dist_text(f->dist));
    if (lcsm_dist_crowded(f->dist, f->threads, text, sizeof text))
        fprintf(stderr, "lcsm train: warning: %s\n", text);
    return EXIT_OK;
}

static int refuse_sharing(const flags *f, const char *why)
{
    if (lcsm_dist_rank(f->dist) == 0)
        fprintf(stderr, "lcsm train: --sequence-parallel is %d, %s\n", f->sequence, why);
    return EXIT_USAGE;
}

static int report_rank(const flags *f, const lcsm_error *err)
{
    return lcsm_dist_rank(f->dist) == 0 ? cli_report("train", err) : EXIT_USAGE;
}

/* Ranks that share a sequence have a segment each. */
static int share_sequences(const flags *f, lcsm_train_config *cfg)
{
    lcsm_error err;
    char       text[64] = "", why[120];
    int        size     = lcsm_dist_size(f->dist);
    if (f->sequence == 0) return EXIT_OK;
    if (size % f->sequence != 0) {
        (void)snprintf(why, sizeof why, "but there %s %d rank%s; expected a divisor%s",
                       size == 1 ? "is" : "are", size, size == 1 ? "" : "s",
                       size == 1 ? ", or --segments for one process" : "");
        return refuse_sharing(f, why);
    }
    (void)snprintf(text, sizeof text, "%d", f->sequence);
    if (lcsm_train_config_set(cfg, "segments", text, &err) != LCSM_OK) return report_rank(f, &err);
    if (lcsm_train_config_get(cfg, "shards", text, sizeof text, &err) != LCSM_OK)
        return report_rank(f, &err);
    int shards = (int)strtol(text, NULL, 10), want = size / f->sequence;
    if (shards == 0 || shards == want) return EXIT_OK;
    (void)snprintf(why, sizeof why, "which gives %d ranks %d shard%s, but shards is %d", size, want,
                   want == 1 ? "" : "s", shards);
    return refuse_sharing(f, why);
}

/* What the processes do together, from here on. */
static int join_ranks(flags *f)
{
    lcsm_error err;
    if (lcsm_dist_open(&f->dist, f->distributed, &err) != LCSM_OK) return cli_report("train", &err);
    int code = check_ranks(f);
    return code == EXIT_OK ? take_stdin(f) : code;
}

static int run(flags *f)
{
    cli_config shared = {0}, c = {0};
    int        code = shared_settings(&shared, f);
    if (code == EXIT_OK) code = all_settings(&c, &shared, f);
    if (code == EXIT_OK) code = join_ranks(f);
    if (code == EXIT_OK) code = share_sequences(f, c.train);
    if (code == EXIT_OK) code = check_used(&c, &shared, f);
    lcsm_train_job job = {.size        = sizeof job,
                          .model       = c.model,
                          .train       = c.train,
                          .data        = f->data.items,
                          .data_count  = f->data.count,
                          .valid       = f->valid.items,
                          .valid_count = f->valid.count,
                          .test        = f->test.items,
                          .test_count  = f->test.count,
                          .tokenizer   = f->tokenizer,
                          .cache       = f->cache,
                          .out         = f->out,
                          .resume      = f->resume,
                          .init        = f->init,
                          .dist        = f->dist};
    if (code == EXIT_OK) code = train(&job, f);
    lcsm_dist_close(f->dist, code != EXIT_OK && code < 128 ? LCSM_ERR_CONFIG : LCSM_OK);
    cli_config_free(&shared);
    cli_config_free(&c);
    return code;
}

int cmd_train(int argc, char **argv)
{
    flags            f         = {.settings = {.train = true}};
    int              words     = 0;
    const cli_option options[] = {{"--help", CLI_FLAG, &f.help, 0, 0},
                                  {"--resume", CLI_FLAG, &f.resume, 0, 0},
                                  {"--quiet", CLI_FLAG, &f.quiet, 0, 0},
                                  {"--json", CLI_FLAG, &f.json, 0, 0},
                                  {"--threads", CLI_COUNT, &f.threads, 1, 1024},
                                  {"--out", CLI_TEXT, &f.out, 0, 0},
                                  {"--recipe", CLI_TEXT, &f.recipe, 0, 0},
                                  {"--config", CLI_TEXT, &f.config, 0, 0},
                                  {"--tokenizer", CLI_TEXT, &f.tokenizer, 0, 0},
                                  {"--cache", CLI_TEXT, &f.cache, 0, 0},
                                  {"--data", CLI_LIST, &f.data, 0, 0},
                                  {"--valid", CLI_LIST, &f.valid, 0, 0},
                                  {"--test", CLI_LIST, &f.test, 0, 0},
                                  {"--init", CLI_TEXT, &f.init, 0, 0},
                                  {"--distributed", CLI_TEXT, &f.distributed, 0, 0},
                                  {"--sequence-parallel", CLI_COUNT, &f.sequence, 1, 1 << 16},
                                  {NULL, CLI_SETTINGS, &f.settings, 0, 0}};
    if (!cli_parse(argc, argv, options, &words)) return EXIT_USAGE;
    if (f.help) return print_help();
    if (words != 0 || f.out == NULL) {
        fprintf(stderr,
                words != 0 ? "lcsm train: unexpected argument '%s'; see lcsm train --help\n"
                           : "lcsm train: --out RUN is missing%.0s; see lcsm train --help\n",
                words != 0 ? argv[1] : "");
        return EXIT_USAGE;
    }
    return run(&f);
}
