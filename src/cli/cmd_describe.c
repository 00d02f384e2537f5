/* cmd_describe.c - lcsm describe: what one model is. */
#include <jansson.h>
#include <lcsm/model.h>
#include <lcsm/report.h>
#include <lcsm/train.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm describe - one model: equations, states, parameters, memory, cost\n"
    "\n"
    "usage: lcsm describe METHOD|CODE|PATTERN [--recipe NAME] [--KEY VALUE...] [--size SIZE] "
    "[--json]\n"
    "       lcsm describe RUN [--json]\n"
    "\n"
    "METHOD is a name from lcsm methods, CODE a code e-o-s-a of the paper or 0 for the SSM,\n"
    "PATTERN the mixers of the layers as in --layers-pattern. Any model setting may be added:\n"
    "--d-model 512 --layers 10 --expand 128 --vocab 50265 ... (lcsm train --help lists them). RUN\n"
    "is a run folder: its settings are used, and how it was trained and what it scored is printed\n"
    "too. A folder whose name is also a method needs a slash: ./gla.\n"
    "\n"
    "  --recipe NAME  start from recipes/NAME.json or from a file; wikitext103 is the paper's\n"
    "                 language model, whose depth depends on the code\n"
    "  --size SIZE    1m 3m 10m 30m 50m 100m 300m 1b: the width of that size, and the depth that\n"
    "                 comes closest to that many parameters\n"
    "  --seq-len N    sequence length for which the training cost is counted (default: 512)\n"
    "  --json         {\"name\", \"parameters\", \"memory_floats\", \"flops_per_token\", ...}\n"
    "\n"
    "  lcsm describe 1-9-1-4\n"
    "  lcsm describe 1-1-1-0 --recipe wikitext103\n"
    "  lcsm describe mamba --size 10m\n"
    "  lcsm describe 'gla*3,attention' --layers 8\n"
    "  lcsm describe runs/book\n";

typedef struct {
    const char *name;
    const char *run; /* the folder, or NULL */
    bool        json;
    json_t     *rows, *facts;
    const char *section; /* the one that is being printed */
    int         shown;
} show;

static void take_parameter(void *user, const lcsm_parameter_info *p)
{
    show *s = user;
    json_array_append_new(s->rows,
                          json_pack("{s:s, s:s, s:I, s:b}", "name", p->name, "shape", p->shape,
                                    "count", (json_int_t)p->count, "frozen", (int)p->frozen));
    if (s->json) return;
    if (s->shown++ == 0) printf("parameters\n");
    printf("  %-36s %-18s %12zu%s\n", p->name, p->shape, p->count, p->frozen ? "  frozen" : "");
}

static void print_equations(const char *text)
{
    while (*text != 0) {
        int size = (int)strcspn(text, "\n");
        printf("  %.*s\n", size, text);
        text += size + (text[size] != 0);
    }
    putchar('\n');
}

/* "" for a name that is not a method. */
static const char *family_of(const char *method)
{
    lcsm_method_info m = {.size = sizeof m};
    for (size_t j = 0; lcsm_method_at(j, &m, NULL) == LCSM_OK; j++)
        if (strcmp(m.name, method) == 0) return m.family;
    return "";
}

static void print_states(const lcsm_model_config *cfg, const lcsm_model_summary *about)
{
    char        name[CLI_VALUE];
    const char *kind = cli_model_kind(cfg);
    bool        code = strcmp(kind, "code") == 0, hybrid = strcmp(kind, "layers_pattern") == 0;
    (void)cli_model_name(cfg, name);
    printf("%s%s (%s)\n", code ? "code " : "", name,
           hybrid ? "hybrid" : family_of(code ? "code" : name));
    print_equations(about->equations);
    printf("states of layer 0 (op %s): name, shape (T: per token), origin, meaning\n", about->op);
    for (size_t j = 0; j < about->state_count; j++)
        printf("  %-10s %-16s %-8s %s\n", about->states[j].name, about->states[j].shape,
               about->states[j].from, about->states[j].meaning);
    putchar('\n');
}

static json_t *states_json(const lcsm_model_summary *m)
{
    json_t *list = json_array();
    for (size_t j = 0; j < m->state_count; j++) {
        const lcsm_state_info *s = &m->states[j];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", s->name, "shape",
                                              s->shape, "from", s->from, "meaning", s->meaning));
    }
    return list;
}

static void print_json(const show *s, const lcsm_model_summary *m)
{
    size_t  total = m->parameters + m->reference_frozen, frozen = m->frozen + m->reference_frozen;
    json_t *all =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:s, s:s, s:o, s:O}", "name",
                  s->name, "equations", m->equations, "parameters", (json_int_t)total, "frozen",
                  (json_int_t)frozen, "stored", (json_int_t)m->parameters, "memory_floats",
                  (json_int_t)m->memory_floats, "flops_per_token", m->train_flops,
                  "decode_flops_per_token", m->decode_flops, "form", m->form, "reason", m->reason,
                  "op", m->op, "states", states_json(m), "parameter_list", s->rows);
    if (s->run != NULL) json_object_update(all, s->facts);
    json_dumpf(all, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(all);
}

/* Softmax attention without a window carries all tokens up to max_length. */
static bool grows(const lcsm_model_config *cfg)
{
    return lcsm_model_config_reads(cfg, "attention.window")
        && lcsm_model_config_number(cfg, "attention.window") == 0;
}

static void print_summary(const lcsm_model_config *cfg, const lcsm_model_summary *m)
{
    size_t total = m->parameters + m->reference_frozen, frozen = m->frozen + m->reference_frozen;
    printf("\n  parameters       %12zu", total);
    if (frozen > 0) printf("  %zu of them frozen", frozen);
    if (m->reference_frozen > 0)
        printf(" (%zu are constants that only the paper's layer stores)", m->reference_frozen);
    printf("\n  memory           %12zu  floats per sequence, %s\n", m->memory_floats,
           grows(cfg) ? "at max_length tokens" : "at any length");
    printf("  training         %12.4g  flops per token\n", m->train_flops);
    printf("  decoding         %12.4g  flops per token\n", m->decode_flops);
    if (m->form[0] != 0) printf("  form             %12s  %s\n", m->form, m->reason);
}

/* ---- runs ------------------------------------------------------------------------------- */

/* Numbers as numbers, a name that comes again as a list. */
static void keep_fact(json_t *section, const char *name, const char *value)
{
    char   *end;
    double  number = strtod(value, &end);
    json_t *old = json_object_get(section, name), *item = json_string(value);
    if (*end == 0 && *value != 0) {
        bool whole = number == (double)(json_int_t)number;
        json_decref(item);
        item = whole ? json_integer((json_int_t)number) : json_real(number);
    }
    if (old == NULL) json_object_set_new(section, name, item);
    else if (json_is_array(old)) json_array_append_new(old, item);
    else json_object_set_new(section, name, json_pack("[O, o]", old, item));
}

static void take_fact(void *user, const char *section, const char *name, const char *value)
{
    show *s = user;
    if (json_object_get(s->facts, section) == NULL)
        json_object_set_new(s->facts, section, json_object());
    keep_fact(json_object_get(s->facts, section), name, value);
    if (s->json) return;
    if (s->section == NULL || strcmp(s->section, section) != 0) printf("\n%s\n", section);
    s->section = section;
    printf("  %-18s %s\n", name, value);
}

/* ---- settings --------------------------------------------------------------------------- */

/* The setting that names a model beside the word, or NULL. */
static const char *second_name(const cli_settings *s)
{
    if (cli_setting(s, "method") != NULL) return "--method";
    if (cli_setting(s, "layers_pattern") != NULL) return "--layers-pattern";
    return cli_setting(s, "code") != NULL ? "--code" : NULL;
}

/* ---- the command ------------------------------------------------------------------------ */

/* Nothing is printed before the model is known to be one. */
static lcsm_status describe_with(const lcsm_context *ctx, lcsm_model_config *cfg, show *s,
                                 int length, const char *size, lcsm_error *err)
{
    lcsm_model_summary m  = {.size = sizeof m};
    lcsm_status        st = LCSM_OK;
    if (size != NULL) st = lcsm_model_config_size(cfg, ctx, size, err);
    if (st == LCSM_OK) st = lcsm_model_describe(ctx, cfg, length, &m, NULL, NULL, err);
    if (st != LCSM_OK) return st;
    if (!s->json) print_states(cfg, &m);
    st = lcsm_model_describe(ctx, cfg, length, &m, take_parameter, s, err);
    if (st == LCSM_OK && !s->json) print_summary(cfg, &m);
    if (st == LCSM_OK && s->run != NULL) st = lcsm_run_facts(s->run, take_fact, s, err);
    if (st == LCSM_OK && s->json) print_json(s, &m);
    return st;
}

static int describe(lcsm_model_config *cfg, show *s, int length, const char *size)
{
    lcsm_context *ctx;
    lcsm_error    err;
    if (lcsm_context_create(&ctx, NULL, &err) != LCSM_OK) return cli_report("describe", &err);
    s->rows        = json_array();
    s->facts       = json_object();
    lcsm_status st = describe_with(ctx, cfg, s, length, size, &err);
    json_decref(s->rows);
    json_decref(s->facts);
    lcsm_context_free(ctx);
    return st == LCSM_OK ? EXIT_OK : cli_report("describe", &err);
}

/* Defaults, then the recipe, then the command line. */
static int describe_name(const cli_settings *settings, const char *recipe, show *s, int length,
                         const char *size)
{
    bool        code    = (s->name[0] >= '0' && s->name[0] <= '9') || strcmp(s->name, "ssm") == 0;
    bool        pattern = cli_is_pattern(s->name);
    const char *kind    = pattern ? "layers_pattern" : code ? "code" : "method";
    if (!code && !pattern && !cli_is_method("describe", s->name)) return EXIT_USAGE;
    cli_config cfg = {0}, base = {0};
    lcsm_error err;
    int        end = cli_config_create(&base, "describe", NULL);
    if (end == EXIT_OK && recipe != NULL
        && lcsm_recipe_load(recipe, base.model, NULL, &err) != LCSM_OK)
        end = cli_report("describe", &err);
    if (end == EXIT_OK) end = cli_config_create(&cfg, "describe", &base);
    if (end == EXIT_OK) end = cli_settings_apply(settings, "describe", &cfg);
    if (end == EXIT_OK && lcsm_model_config_set(cfg.model, kind, s->name, &err) != LCSM_OK)
        end = cli_report("describe", &err);
    if (end == EXIT_OK) end = cli_refuse_unused("describe", &cfg, base.model, NULL);
    if (end == EXIT_OK) end = describe(cfg.model, s, length, size);
    cli_config_free(&cfg);
    cli_config_free(&base);
    return end;
}

/* A path is one; a word is one unless a method has that name. */
static bool is_folder(const char *name)
{
    return strchr(name, '/') != NULL || (cli_is_run(name) && family_of(name)[0] == 0);
}

/* A run has its settings: others would describe another model. */
static int describe_run(show *s, int length, bool more)
{
    lcsm_error err;
    cli_config cfg;
    if (more) {
        fprintf(stderr, "lcsm describe: %s is a run folder and has its own settings; omit others\n",
                s->name);
        return EXIT_USAGE;
    }
    if (!cli_is_run(s->name)) {
        fprintf(stderr,
                "lcsm describe: %s is not a run folder; expected config.json and model.safetensors "
                "in it\n",
                s->name);
        return EXIT_INPUT;
    }
    s->run   = s->name;
    int code = cli_config_create(&cfg, "describe", NULL);
    if (code != EXIT_OK) return code;
    if (lcsm_run_settings(s->name, cfg.model, NULL, &err) != LCSM_OK)
        code = cli_report("describe", &err);
    if (code == EXIT_OK) code = describe(cfg.model, s, length, NULL);
    cli_config_free(&cfg);
    return code;
}

int cmd_describe(int argc, char **argv)
{
    bool             help = false;
    int              count, length = 512;
    const char      *recipe = NULL, *size = NULL;
    show             s         = {0};
    cli_settings     settings  = {.train = false};
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &s.json, 0, 0},
                                  {"--recipe", CLI_TEXT, &recipe, 0, 0},
                                  {"--size", CLI_TEXT, &size, 0, 0},
                                  {"--seq-len", CLI_COUNT, &length, 1, 1 << 24},
                                  {NULL, CLI_SETTINGS, &settings, 0, 0}};
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 1) {
        fputs("lcsm describe: expected one method, code, pattern or run folder; lcsm methods lists "
              "methods "
              "and codes\n",
              stderr);
        return EXIT_USAGE;
    }
    const char *second = second_name(&settings);
    if (second != NULL) {
        fprintf(stderr, "lcsm describe: %s and %s both name a model; omit %s\n", argv[1], second,
                second);
        return EXIT_USAGE;
    }
    s.name = argv[1];
    if (is_folder(s.name))
        return describe_run(&s, length, settings.count > 0 || recipe != NULL || size != NULL);
    return describe_name(&settings, recipe, &s, length, size);
}
