/* cli_settings.c - the keys of models and of training as options. */
#include <string.h>

#include "cli.h"

typedef struct {
    const char        *command;
    lcsm_model_config *model;
    lcsm_train_config *train;
    const char        *method, *code; /* as they were given; NULL: not */
} settings;

enum { KEY_ROOM = 80 };

static bool known(const settings *s, const char *key)
{
    return lcsm_model_config_has(key) || (s->train != NULL && lcsm_train_config_has(key));
}

static lcsm_status set(const settings *s, const char *key, const char *value, lcsm_error *err)
{
    return lcsm_model_config_has(key) ? lcsm_model_config_set(s->model, key, value, err)
                                      : lcsm_train_config_set(s->train, key, value, err);
}

/* The key of "--key" or "--key=value", or false. */
static bool key_of(const settings *s, const char *word, char key[KEY_ROOM])
{
    size_t size = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || size < 3 || size - 2 >= KEY_ROOM) return false;
    memcpy(key, word + 2, size - 2);
    key[size - 2] = 0;
    return known(s, key);
}

bool cli_is_method(const char *command, const char *name)
{
    lcsm_error        err;
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    if (lcsm_model_config_set(&cfg, "method", name, &err) == LCSM_OK
        && lcsm_model_config_check(&cfg, &err) == LCSM_OK)
        return true;
    (void)cli_report(command, &err);
    return false;
}

/* Without a value a key is switched on; what is no switch, or takes any text, needs one. */
static int take_bare(const settings *s, const char *key)
{
    lcsm_error err;
    bool       text = set(s, key, "?", &err) == LCSM_OK;
    if (!text && set(s, key, "true", &err) == LCSM_OK) return EXIT_OK;
    fprintf(stderr, "lcsm %s: --%s needs a value\n", s->command, key);
    return EXIT_USAGE;
}

static int take_value(settings *s, const char *key, const char *value)
{
    lcsm_error err;
    if (strcmp(key, "method") == 0) s->method = value;
    if (strcmp(key, "code") == 0) s->code = value;
    if (strcmp(key, "method") == 0 && !cli_is_method(s->command, value)) return EXIT_USAGE;
    return set(s, key, value, &err) == LCSM_OK ? EXIT_OK : cli_report(s->command, &err);
}

/* Which model is meant is said once. */
static int check_one_model(const settings *s)
{
    if (s->method == NULL || s->code == NULL || *s->code == '\0') return EXIT_OK;
    fprintf(stderr, "lcsm %s: --method %s and --code %s name two models; pass one of them\n",
            s->command, s->method, s->code);
    return EXIT_USAGE;
}

bool cli_take_settings(int *argc, char **argv, lcsm_model_config *model, lcsm_train_config *train,
                       int *code)
{
    settings s    = {argv[0], model, train, NULL, NULL};
    int      kept = 1;
    *code         = EXIT_OK;
    for (int j = 1; j < *argc && *code == EXIT_OK; j++) {
        char        key[KEY_ROOM];
        const char *equals = strchr(argv[j], '=');
        bool        next   = j + 1 < *argc && strncmp(argv[j + 1], "--", 2) != 0;
        if (!key_of(&s, argv[j], key)) argv[kept++] = argv[j];
        else if (equals != NULL) *code = take_value(&s, key, equals + 1);
        else if (next) *code = take_value(&s, key, argv[++j]);
        else *code = take_bare(&s, key);
    }
    *argc      = kept;
    argv[kept] = NULL;
    if (*code == EXIT_OK) *code = check_one_model(&s);
    return *code == EXIT_OK;
}
