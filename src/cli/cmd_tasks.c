/* cmd_tasks.c - lcsm tasks: the table of tasks, and examples of one. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm tasks - list what can be learned, and show examples of it\n"
    "\n"
    "usage: lcsm tasks [--json]\n"
    "       lcsm tasks show TASK [--examples N] [--KEY VALUE...] [--json]\n"
    "\n"
    "A task is a setting of lcsm train: --task parity. It gives --seq-len, --examples and its own\n"
    "settings the values that were published; what is given beside it takes precedence. \"lm\" "
    "reads\n"
    "text, and every other task makes its examples. Metrics: accuracy, of the positions that are\n"
    "asked; macro accuracy, the mean over answers; scaled accuracy, (accuracy - chance) / (1 - "
    "chance).\n"
    "\n"
    "  --examples N     how many examples to show (default: 2)\n"
    "  --KEY VALUE      settings of lcsm train, as --seq-len 32 or --vocab 64 (default: short "
    "ones)\n"
    "  --json           [{\"name\", \"asks\", \"metric\", \"chance\", \"reference\", ...}]; of "
    "show,\n"
    "                   one of them with \"examples\": [{\"inputs\", \"targets\"}]\n"
    "\n"
    "  lcsm tasks show modular-arithmetic\n";

/* ---- the list ------------------------------------------------------------------------------- */

static void print_tasks(const cli_colours *c)
{
    lcsm_task_info t = {.size = sizeof t};
    printf("%s%-21s %-66s %-16s %-7s %s%s\n", c->bold, "task", "what is asked", "metric", "chance",
           "reference", c->off);
    for (size_t j = 0; lcsm_task_at(j, &t, NULL) == LCSM_OK; j++) {
        char chance[16] = "";
        if (isfinite(t.chance)) (void)snprintf(chance, sizeof chance, "%.4f", t.chance);
        printf("%-21s %-66s %-16s %-7s %s\n", t.name, t.asks, t.metric, chance, t.reference);
    }
}

static json_t *published_json(const char *name)
{
    json_t     *o = json_object();
    const char *label;
    double      value;
    for (size_t j = 0; lcsm_task_number_at(name, j, &label, &value); j++)
        json_object_set_new(o, label, json_real(value));
    return o;
}

static json_t *task_json(const lcsm_task_info *t)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o}", "name", t->name, "asks", t->asks,
                  "metric", t->metric, "reference", t->reference, "standard", t->standard, "text",
                  (int)t->text, "fresh", (int)t->fresh, "published", published_json(t->name));
    json_object_set_new(o, "chance", isfinite(t->chance) ? json_real(t->chance) : json_null());
    json_object_set_new(o, "vocab", json_integer((json_int_t)t->vocab));
    json_object_set_new(o, "seq_len", json_integer((json_int_t)t->length));
    json_object_set_new(o, "test_len", json_integer((json_int_t)t->test_length));
    return o;
}

static void print_json(json_t *o)
{
    json_dumpf(o, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(o);
}

static int list(bool json, const cli_colours *c)
{
    lcsm_task_info t   = {.size = sizeof t};
    json_t        *all = json ? json_array() : NULL;
    for (size_t j = 0; json && lcsm_task_at(j, &t, NULL) == LCSM_OK; j++)
        json_array_append_new(all, task_json(&t));
    if (json) print_json(all);
    else print_tasks(c);
    return EXIT_OK;
}

/* ---- examples ------------------------------------------------------------------------------- */

typedef struct {
    lcsm_task_info     info;
    lcsm_train_config *cfg;
    size_t             vocab; /* 0: the task's own */
    int                examples;
    bool               json;
} show;

/* "key=value key=value", of which vocab is no setting of training. */
static lcsm_status take_small(show *s, lcsm_error *err)
{
    char        key[64], value[64];
    int         read = 0;
    lcsm_status st   = LCSM_OK;
    for (const char *p = s->info.small;
         st == LCSM_OK && sscanf(p, " %63[^=]=%63s%n", key, value, &read) == 2; p += read) {
        if (strcmp(key, "vocab") == 0) s->vocab = strtoul(value, NULL, 10);
        else st = lcsm_train_config_set(s->cfg, key, value, err);
    }
    return st;
}

/* Short settings, unless some are given; those are over the published ones. */
static int take_settings(show *s, const cli_settings *given)
{
    lcsm_error  err;
    lcsm_status st = lcsm_train_config_set(s->cfg, "task", s->info.name, &err);
    if (st == LCSM_OK && given->count == 0) st = take_small(s, &err);
    for (size_t j = 0; st == LCSM_OK && j < given->count; j++) {
        const char *key = given->items[j].key, *value = given->items[j].value;
        if (strcmp(key, "vocab") == 0) s->vocab = strtoul(value, NULL, 10);
        else if (!lcsm_train_config_find(key, NULL)) {
            fprintf(stderr, "lcsm tasks: %s is a setting of models, which examples do not have\n",
                    key);
            return EXIT_USAGE;
        } else st = lcsm_train_config_set(s->cfg, key, value, &err);
    }
    return st == LCSM_OK ? EXIT_OK : cli_report("tasks", &err);
}

static void symbol(const show *s, bool answer, int32_t token, char text[64])
{
    if (answer && token == LCSM_TARGET_NONE) (void)snprintf(text, 64, "%s", "");
    else (void)lcsm_task_symbol(s->cfg, s->vocab, answer, token, text, NULL);
}

/* Padding behind the last position that is asked is left out. */
static size_t shown(const show *s, const int32_t *x, const int32_t *y, size_t n)
{
    char text[64];
    for (; n > 1 && y[n - 1] == LCSM_TARGET_NONE; n--) {
        symbol(s, false, x[n - 1], text);
        if (strcmp(text, "_") != 0) break;
    }
    return n;
}

/* Inputs, and under each of them what is asked there, in lines of as many as fit. */
static void print_example(const show *s, const int32_t *x, const int32_t *y, size_t n)
{
    enum { WIDTH = 96, INDENT = 8 };
    char a[64], b[64], asked[WIDTH + 80];
    n = shown(s, x, y, n);
    for (size_t t = 0; t < n;) {
        size_t used = 0;
        printf("  input ");
        for (; t < n; t++) {
            symbol(s, false, x[t], a);
            symbol(s, true, y[t], b);
            size_t w = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
            if (used > 0 && used + w + 1 > WIDTH - INDENT) break;
            printf(" %-*s", (int)w, a);
            used += (size_t)snprintf(asked + used, sizeof asked - used, " %-*s", (int)w, b);
        }
        printf("\n  asked %.*s\n", (int)used, asked);
    }
}

static json_t *numbers(const int32_t *x, size_t n)
{
    json_t *list = json_array();
    for (size_t t = 0; t < n; t++) json_array_append_new(list, json_integer(x[t]));
    return list;
}

/* Examples of training or of the test. */
static lcsm_status each_example(const show *s, bool test, json_t *to, lcsm_error *err)
{
    double      own = lcsm_train_config_number(s->cfg, "test_len");
    double      len = test && own > 0 ? own : lcsm_train_config_number(s->cfg, "seq_len");
    size_t      n   = (size_t)len;
    int32_t    *x   = calloc(2 * n + 1, sizeof *x);
    lcsm_status st  = x == NULL ? LCSM_ERR_MEMORY : LCSM_OK;
    for (int j = 0; st == LCSM_OK && j < s->examples; j++) {
        st = lcsm_task_example(s->cfg, s->vocab, test, (uint64_t)j, x, x + n, err);
        if (st != LCSM_OK) break;
        if (to != NULL)
            json_array_append_new(to,
                                  json_pack("{s:s, s:o, s:o}", "split", test ? "test" : "train",
                                            "inputs", numbers(x, n), "targets", numbers(x + n, n)));
        else print_example(s, x, x + n, n);
        if (to == NULL) fputc('\n', stdout);
    }
    free(x);
    return st;
}

static void print_about(const show *s, const cli_colours *c)
{
    const lcsm_task_info *t = &s->info;
    const char           *label;
    double                value;
    printf("%s%s%s: %s\n", c->bold, t->name, c->off, t->asks);
    if (*t->reference != '\0') printf("  defined in    %s\n", t->reference);
    printf("  metric        %s", t->metric);
    if (isfinite(t->chance)) printf(", chance %.4f", t->chance);
    if (!t->text)
        printf("\n  published as  vocab %zu, %zu positions, %zu in the test%s", t->vocab, t->length,
               t->test_length, t->fresh ? ", examples never repeat" : "");
    if (*t->standard != '\0') printf("\n                %s", t->standard);
    if (*t->source != '\0') printf("\n  in print      %s:\n               ", t->source);
    for (size_t j = 0; lcsm_task_number_at(t->name, j, &label, &value); j++)
        printf(" %s %.3f", label, value);
    fputs("\n\n", stdout);
}

static int print_examples(const show *s, const cli_colours *c)
{
    lcsm_error  err = {0};
    lcsm_status st  = LCSM_OK;
    print_about(s, c);
    if (s->info.text) return EXIT_OK;
    for (int test = 0; test < 2 && st == LCSM_OK; test++) {
        printf("%s%s%s\n", c->bold, test ? "test" : "training", c->off);
        st = each_example(s, test == 1, NULL, &err);
    }
    return st == LCSM_OK ? EXIT_OK : cli_report("tasks", &err);
}

static int json_examples(const show *s)
{
    lcsm_error  err = {0};
    json_t     *o = task_json(&s->info), *list = json_array();
    lcsm_status st = LCSM_OK;
    for (int test = 0; test < 2 && st == LCSM_OK && !s->info.text; test++)
        st = each_example(s, test == 1, list, &err);
    json_object_set_new(o, "examples", list);
    if (st == LCSM_OK) print_json(o);
    else json_decref(o);
    return st == LCSM_OK ? EXIT_OK : cli_report("tasks", &err);
}

static int show_task(const char *name, const cli_settings *given, int examples, bool json,
                     const cli_colours *c)
{
    lcsm_error err;
    show       s    = {.info = {.size = sizeof s.info}, .examples = examples, .json = json};
    int        code = EXIT_OK;
    if (lcsm_task_named(name, &s.info, &err) != LCSM_OK
        || lcsm_train_config_create(&s.cfg, &err) != LCSM_OK)
        return cli_report("tasks", &err);
    code = take_settings(&s, given);
    if (code == EXIT_OK) code = json ? json_examples(&s) : print_examples(&s, c);
    lcsm_train_config_free(s.cfg);
    return code;
}

int cmd_tasks(int argc, char **argv)
{
    bool             help = false, json = false;
    int              count = 0, examples = 2;
    cli_settings     given     = {.train = true};
    cli_colours      c         = cli_colours_of(stdout);
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &json, 0, 0},
                                  {"--examples", CLI_COUNT, &examples, 1, 1000},
                                  {NULL, CLI_SETTINGS, &given, 0, 0}};
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count == 0) return list(json, &c);
    if (count == 2 && strcmp(argv[1], "show") == 0)
        return show_task(argv[2], &given, examples, json, &c);
    fprintf(stderr, "lcsm tasks: unexpected argument '%s'; see lcsm tasks --help\n", argv[1]);
    return EXIT_USAGE;
}
