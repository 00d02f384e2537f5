/* cli.c - what the subcommands share. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/shell.h"
#include "base/strdist.h"

static const cli_exit EXIT_OF[] = {
    [LCSM_OK]              = EXIT_OK,
    [LCSM_ERR_ARGUMENT]    = EXIT_USAGE,
    [LCSM_ERR_CONFIG]      = EXIT_USAGE,
    [LCSM_ERR_FORMAT]      = EXIT_INPUT,
    [LCSM_ERR_IO]          = EXIT_INPUT,
    [LCSM_ERR_SPACE]       = EXIT_ROOM,
    [LCSM_ERR_MEMORY]      = EXIT_ROOM,
    [LCSM_ERR_NUMBER]      = EXIT_NUMBER,
    [LCSM_ERR_UNSUPPORTED] = EXIT_FAILED,
    [LCSM_ERR_INTERNAL]    = EXIT_FAILED,
};

int cli_report(const char *command, const lcsm_error *err)
{
    (void)fflush(stdout); /* what was printed before the fault stands before it */
    fprintf(stderr, "lcsm %s: %s\n", command, err->text);
    return (int)EXIT_OF[err->status];
}

int cli_report_rank(const char *command, const lcsm_dist *dist, const lcsm_error *err)
{
    if (lcsm_dist_rank(dist) == 0 || !lcsm_dist_agreed(dist)) return cli_report(command, err);
    return (int)EXIT_OF[err->status];
}

int cli_unknown(const char *command, const char *what, const char *name, const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL) count++;
    const char *near = lcsm_suggest(name, names, count);
    fprintf(stderr, "lcsm%s%s: unknown %s '%s'", *command != '\0' ? " " : "", command, what, name);
    if (near != NULL) fprintf(stderr, ", did you mean '%s'?", near);
    else if (*command != '\0') fprintf(stderr, "; see lcsm %s --help", command);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

bool cli_isa(const char *command, const char *name, lcsm_isa *isa)
{
    const char *known;
    for (int j = 0; (known = lcsm_isa_name((lcsm_isa)j)) != NULL; j++)
        if (strcmp(name, known) == 0) {
            *isa = (lcsm_isa)j;
            return true;
        }
    fprintf(stderr, "lcsm %s: --isa is '%s'; expected", command, name);
    for (int j = 0; (known = lcsm_isa_name((lcsm_isa)j)) != NULL; j++)
        fprintf(stderr, "%s%s", j == 0 ? " one of " : ", ", known);
    fputc('\n', stderr);
    return false;
}

cli_colours cli_colours_of(FILE *stream)
{
    static const cli_colours plain = {"", "", "", "", ""};
    static const cli_colours ansi  = {"\033[32m", "\033[1;31m", "\033[2m", "\033[1m", "\033[0m"};
    const char              *no    = getenv("NO_COLOR");
    bool                     tty   = isatty(fileno(stream)) != 0;
    return tty && (no == NULL || *no == '\0') ? ansi : plain;
}

/* ---- options ---------------------------------------------------------------------------- */

static const cli_option *find_option(const cli_option *options, const char *word, size_t size)
{
    for (const cli_option *o = options; o->name != NULL; o++)
        if (strlen(o->name) == size && strncmp(o->name, word, size) == 0) return o;
    return NULL;
}

/* A key of a model or, if these are options too, of training. */
static bool find_key(const cli_settings *s, const char *key, lcsm_setting_info *out)
{
    return lcsm_model_config_find(key, out) || (s->train && lcsm_train_config_find(key, out));
}

enum { NAME_ROOM = 48, MAX_NAMES = 160 };

/* What may stand behind a command, for suggestions. */
typedef struct {
    char        text[MAX_NAMES][NAME_ROOM];
    const char *names[MAX_NAMES + 1];
    size_t      count;
} name_list;

static void add_name(name_list *l, const char *dashes, const char *name)
{
    if (l->count == MAX_NAMES) return;
    char *text = l->text[l->count];
    (void)snprintf(text, NAME_ROOM, "%s%s", dashes, name);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '_') *c = '-';
    l->names[l->count++] = text;
}

static bool unknown_option(const char *command, const cli_option *options, const char *word)
{
    name_list         l    = {.count = 0};
    lcsm_setting_info info = {.size = sizeof info};
    for (; options->name != NULL; options++) add_name(&l, "", options->name);
    const cli_settings *s = options->kind == CLI_SETTINGS ? options->to : NULL;
    for (size_t j = 0; s != NULL && lcsm_model_config_key(j, &info); j++)
        add_name(&l, "--", info.name);
    for (size_t j = 0; s != NULL && s->train && lcsm_train_config_key(j, &info); j++)
        add_name(&l, "--", info.name);
    (void)cli_unknown(command, "option", word, l.names);
    return false;
}

static bool take_number(const char *command, const cli_option *o, const char *value)
{
    char  *end;
    double x     = strtod(value, &end);
    bool   right = end != value && *end == '\0' && x >= o->least && x <= o->most;
    if (!right || (o->kind == CLI_COUNT && x != (double)(int)x)) {
        fprintf(stderr, "lcsm %s: %s is '%s'; expected a %s from %.15g to %.15g\n", command,
                o->name, value, o->kind == CLI_COUNT ? "whole number" : "number", o->least,
                o->most);
        return false;
    }
    if (o->kind == CLI_COUNT) *(int *)o->to = (int)x;
    else *(double *)o->to = x;
    return true;
}

static bool take_item(const char *command, const cli_option *o, const char *value)
{
    cli_list *list = o->to;
    if (list->count == sizeof list->items / sizeof list->items[0]) {
        fprintf(stderr, "lcsm %s: %s is given more than %zu times\n", command, o->name,
                list->count);
        return false;
    }
    list->items[list->count++] = value;
    return true;
}

/* The word behind an option as its value, or NULL after a message: what looks like an option is
 * one, and as a value it is written behind =. */
static const char *next_value(const char *command, const cli_option *o, const char *next)
{
    bool text = o->kind == CLI_TEXT || o->kind == CLI_LIST;
    if (next != NULL && strncmp(next, "--", 2) != 0) return next;
    fprintf(stderr, "lcsm %s: %s needs a value", command, o->name);
    if (next != NULL && text)
        fprintf(stderr, "; as a value '%s' is written %s=%s", next, o->name, next);
    fputc('\n', stderr);
    return NULL;
}

/* Stores an option's value; *value may come from the next word, which is then used up. */
static bool take(const char *command, const cli_option *o, const char *value, char **next,
                 int *used)
{
    if (o->kind == CLI_FLAG) {
        if (value != NULL) fprintf(stderr, "lcsm %s: %s does not take a value\n", command, o->name);
        *(bool *)o->to = true;
        return value == NULL;
    }
    if (value == NULL) {
        value = next_value(command, o, *next);
        *used = 1;
    }
    if (value == NULL) return false;
    if (o->kind == CLI_LIST) return take_item(command, o, value);
    if (o->kind != CLI_TEXT) return take_number(command, o, value);
    *(const char **)o->to = value;
    return true;
}

/* A setting. Without a value a switch is turned on; what is none needs one. */
static bool take_setting(const char *command, cli_settings *s, const lcsm_setting_info *key,
                         const char *value, const char *next, int *used)
{
    if (value == NULL && next != NULL && strncmp(next, "--", 2) != 0) {
        value = next;
        *used = 1;
    }
    if (value == NULL && key->type == LCSM_SETTING_BOOL) value = "true";
    if (value == NULL) fprintf(stderr, "lcsm %s: --%s needs a value\n", command, key->name);
    if (s->count == sizeof s->items / sizeof s->items[0])
        fprintf(stderr, "lcsm %s: more than %zu settings\n", command, s->count);
    if (value == NULL || s->count == sizeof s->items / sizeof s->items[0]) return false;
    s->items[s->count].key     = key->name;
    s->items[s->count++].value = value;
    return true;
}

/* The option that argv[0] is, with the words behind it that it uses up. */
static bool take_option(const char *command, const cli_option *options, char **argv, int *used)
{
    const char       *word  = strcmp(argv[0], "-h") == 0 ? "--help" : argv[0];
    size_t            size  = strcspn(word, "=");
    const char       *value = word[size] == '=' ? word + size + 1 : NULL;
    char              key[NAME_ROOM];
    lcsm_setting_info info = {.size = sizeof info};
    const cli_option *o = find_option(options, word, size), *end = options;
    if (o != NULL) return take(command, o, value, argv + 1, used);
    while (end->name != NULL) end++;
    (void)snprintf(key, sizeof key, "%.*s", (int)size, word);
    if (end->kind == CLI_SETTINGS && size < NAME_ROOM && strncmp(key, "--", 2) == 0
        && find_key(end->to, key + 2, &info))
        return take_setting(command, end->to, &info, value, argv[1], used);
    return unknown_option(command, options, word);
}

bool cli_parse(int argc, char **argv, const cli_option *options, int *words)
{
    bool only_words = false;
    int  count      = 0;
    for (int j = 1; j < argc; j++) {
        int used = 0;
        if (only_words || argv[j][0] != '-' || argv[j][1] == '\0') argv[++count] = argv[j];
        else if (strcmp(argv[j], "--") == 0) only_words = true;
        else if (!take_option(argv[0], options, &argv[j], &used)) return false;
        j += used;
    }
    *words = count;
    return true;
}

bool cli_no_words(const char *command, char **argv, int words)
{
    if (words > 0) fprintf(stderr, "lcsm %s: unexpected argument '%s'\n", command, argv[1]);
    return words == 0;
}

void cli_hint(const char *before, const char *path, const char *after)
{
    lcsm_strbuf word = {0};
    lcsm_put_shell(&word, path);
    printf("%s%s%s\n", before, word.failed ? path : lcsm_strbuf_text(&word), after);
    lcsm_strbuf_free(&word);
}
