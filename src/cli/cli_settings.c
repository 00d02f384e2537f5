/* cli_settings.c - the keys of models and of training: as options, as help, and those without
 * effect. */
#include <string.h>

#include "base/strbuf.h"
#include "cli.h"

/* ---- handles ---------------------------------------------------------------------------- */

int cli_config_create(cli_config *c, const char *command, const cli_config *from)
{
    lcsm_error  err;
    lcsm_status st;
    *c = (cli_config){0};
    st = from == NULL ? lcsm_model_config_create(&c->model, &err)
                      : lcsm_model_config_clone(&c->model, from->model, &err);
    if (st == LCSM_OK)
        st = from == NULL ? lcsm_train_config_create(&c->train, &err)
                          : lcsm_train_config_clone(&c->train, from->train, &err);
    if (st == LCSM_OK) return EXIT_OK;
    cli_config_free(c);
    return cli_report(command, &err);
}

void cli_config_free(cli_config *c)
{
    lcsm_model_config_free(c->model);
    lcsm_train_config_free(c->train);
    *c = (cli_config){0};
}

const char *cli_model_kind(const lcsm_model_config *model)
{
    static const char *const kinds[] = {"layers_pattern", "code"};
    char                     text[CLI_VALUE];
    for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++)
        if (lcsm_model_config_get(model, kinds[j], text, CLI_VALUE, NULL) == LCSM_OK
            && *text != '\0')
            return kinds[j];
    return "method";
}

const char *cli_model_name(const lcsm_model_config *model, char text[CLI_VALUE])
{
    (void)lcsm_model_config_get(model, cli_model_kind(model), text, CLI_VALUE, NULL);
    return text;
}

bool cli_is_pattern(const char *word)
{
    return word[strcspn(word, ",+*")] != '\0';
}

bool cli_is_method(const char *command, const char *name)
{
    lcsm_error         err;
    lcsm_model_config *cfg = NULL;
    bool               ok  = lcsm_model_config_create(&cfg, &err) == LCSM_OK
           && lcsm_model_config_set(cfg, "method", name, &err) == LCSM_OK
           && lcsm_model_config_check(cfg, &err) == LCSM_OK;
    lcsm_model_config_free(cfg);
    if (!ok) (void)cli_report(command, &err);
    return ok;
}

/* ---- the command line ------------------------------------------------------------------- */

const char *cli_setting(const cli_settings *s, const char *key)
{
    const char *value = NULL;
    for (size_t j = 0; j < s->count; j++)
        if (strcmp(s->items[j].key, key) == 0) value = s->items[j].value;
    return value;
}

/* Which model is meant is said once. */
static int check_one_model(const cli_settings *s, const char *command)
{
    static const char *const names[] = {"method", "code", "layers_pattern"};
    static const char *const flags[] = {"--method", "--code", "--layers-pattern"};
    int                      first   = -1;
    for (int j = 0; j < 3; j++) {
        const char *value = cli_setting(s, names[j]);
        if (value == NULL || *value == '\0') continue;
        if (first >= 0) {
            fprintf(stderr, "lcsm %s: %s %s and %s %s name two models; pass one of them\n", command,
                    flags[first], cli_setting(s, names[first]), flags[j], value);
            return EXIT_USAGE;
        }
        first = j;
    }
    return EXIT_OK;
}

/* A key as its flag. */
static const char *flag_of(const char *key, char flag[CLI_VALUE])
{
    (void)snprintf(flag, CLI_VALUE, "--%s", key);
    for (char *c = flag; *c != '\0'; c++)
        if (*c == '_') *c = '-';
    return flag;
}

/* The message of a setting begins with its key, which the user has written as a flag. */
static int report_flag(const char *command, const char *key, const lcsm_error *err)
{
    lcsm_error said = *err;
    size_t     n    = strlen(key);
    char       flag[CLI_VALUE];
    if (strncmp(err->text, key, n) == 0 && err->text[n] == ' ')
        (void)snprintf(said.text, sizeof said.text, "%.60s%.170s", flag_of(key, flag),
                       err->text + n);
    return cli_report(command, &said);
}

int cli_settings_apply(const cli_settings *s, const char *command, const cli_config *c)
{
    lcsm_error  err;
    const char *task = s->train ? cli_setting(s, "task") : NULL;
    /* First, because it gives others their values. */
    if (task != NULL && lcsm_train_config_set(c->train, "task", task, &err) != LCSM_OK)
        return cli_report(command, &err);
    for (size_t j = 0; j < s->count; j++) {
        const char *key = s->items[j].key, *value = s->items[j].value;
        if (strcmp(key, "method") == 0 && !cli_is_method(command, value)) return EXIT_USAGE;
        lcsm_status st = lcsm_model_config_find(key, NULL)
                           ? lcsm_model_config_set(c->model, key, value, &err)
                           : lcsm_train_config_set(c->train, key, value, &err);
        if (st != LCSM_OK) return report_flag(command, key, &err);
    }
    return check_one_model(s, command);
}

/* ---- settings without effect ------------------------------------------------------------ */

/* Sizes that all models of a comparison may be given. */
static bool is_size(const char *key)
{
    return strcmp(key, "heads") == 0 || strcmp(key, "expand") == 0 || strcmp(key, "hidden") == 0;
}

static bool model_idles(const char *key, const lcsm_model_config *a, const lcsm_model_config *b)
{
    char x[CLI_VALUE], y[CLI_VALUE];
    return !lcsm_model_config_reads(a, key)
        && lcsm_model_config_get(a, key, x, CLI_VALUE, NULL) == LCSM_OK
        && lcsm_model_config_get(b, key, y, CLI_VALUE, NULL) == LCSM_OK && strcmp(x, y) != 0;
}

static bool train_idles(const char *key, const lcsm_train_config *a, const lcsm_train_config *b)
{
    char x[CLI_VALUE], y[CLI_VALUE];
    return !lcsm_train_config_reads(a, key)
        && lcsm_train_config_get(a, key, x, CLI_VALUE, NULL) == LCSM_OK
        && lcsm_train_config_get(b, key, y, CLI_VALUE, NULL) == LCSM_OK && strcmp(x, y) != 0;
}

/* The first key, or with `size` the first size, that has no effect and is not as in `base`. */
static bool find_idle(const lcsm_model_config *model, const lcsm_model_config *base, bool size,
                      lcsm_setting_info *out)
{
    for (size_t j = 0; lcsm_model_config_key(j, out); j++)
        if (is_size(out->name) == size && model_idles(out->name, model, base)) return true;
    return false;
}

const char *cli_idle_size(const lcsm_model_config *model, const lcsm_model_config *shared)
{
    lcsm_setting_info info = {.size = sizeof info};
    return find_idle(model, shared, true, &info) ? info.name : NULL;
}

static int refuse_model(const char *command, const lcsm_model_config *model,
                        const lcsm_model_config *base)
{
    char              name[CLI_VALUE], flag[CLI_VALUE];
    lcsm_setting_info info = {.size = sizeof info};
    if (!find_idle(model, base, false, &info)) return EXIT_OK;
    fprintf(stderr, "lcsm %s: %s is unused in %s %s; it applies to %s\n", command,
            flag_of(info.name, flag), cli_model_kind(model), cli_model_name(model, name),
            info.readers);
    return EXIT_USAGE;
}

static int refuse_train(const char *command, const lcsm_train_config *train,
                        const lcsm_train_config *base)
{
    char              task[CLI_VALUE] = "", flag[CLI_VALUE];
    lcsm_setting_info info            = {.size = sizeof info};
    (void)lcsm_train_config_get(train, "task", task, CLI_VALUE, NULL);
    for (size_t j = 0; lcsm_train_config_key(j, &info); j++) {
        if (!train_idles(info.name, train, base)) continue;
        fprintf(stderr, "lcsm %s: %s is unused in the task %s; it applies to the task %s\n",
                command, flag_of(info.name, flag), task, info.readers);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int cli_refuse_unused(const char *command, const cli_config *c, const lcsm_model_config *shared,
                      const lcsm_train_config *base)
{
    cli_config standard;
    char       a[CLI_VALUE], b[CLI_VALUE];
    int        code = cli_config_create(&standard, command, NULL);
    if (code != EXIT_OK) return code;
    bool same =
        shared != NULL && strcmp(cli_model_name(c->model, a), cli_model_name(shared, b)) == 0;
    if (shared == NULL || same) shared = standard.model;
    if (c->train != NULL)
        code = refuse_train(command, c->train, base != NULL ? base : standard.train);
    if (code == EXIT_OK && c->model != NULL) code = refuse_model(command, c->model, shared);
    cli_config_free(&standard);
    return code;
}

/* ---- help ------------------------------------------------------------------------------- */

enum { FLAG_WIDTH = 26, HELP_WIDTH = 96 };

/* The length of a word with the blanks before it; choices may part after each bar. */
static int word_length(const char *p)
{
    size_t n = strspn(p, " ");
    n += strcspn(p + n, " |");
    return (int)(p[n] == '|' ? n + 1 : n);
}

/* The end of a line and further ones, which begin below where this began, at `column`. */
static void print_filled(const char *text, int column)
{
    const int begin = FLAG_WIDTH + 3;
    for (int n; (n = word_length(text)) > 0; text += n, column += n) {
        if (column + n > HELP_WIDTH) {
            printf("\n%*s", begin, "");
            column = begin;
            while (*text == ' ') text++, n--;
        }
        printf("%.*s", n, text);
    }
    putchar('\n');
}

void cli_print_keys(bool key(size_t index, lcsm_setting_info *out))
{
    static const char *const value[] = {"N", "X", "", "CLI_VALUE", "WORD"};
    lcsm_setting_info        info    = {.size = sizeof info};
    for (size_t j = 0; key(j, &info); j++) {
        char        flag[CLI_VALUE], with_value[CLI_VALUE + 8];
        lcsm_strbuf text = {0};
        (void)snprintf(with_value, sizeof with_value, "%s %s", flag_of(info.name, flag),
                       value[info.type]);
        lcsm_strbuf_add(&text, info.help);
        if (*info.choices != '\0') lcsm_strbuf_printf(&text, ": %s", info.choices);
        if (*info.standard != '\0') lcsm_strbuf_printf(&text, " (%s)", info.standard);
        print_filled(lcsm_strbuf_text(&text), printf("  %-*s ", FLAG_WIDTH, with_value));
        lcsm_strbuf_free(&text);
    }
}
