/* cmd_describe.c - lcsm describe: what one model is. */
#include <jansson.h>
#include <lcsm/model.h>
#include <lcsm/train.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm describe - one model: states, parameters, memory, cost\n"
    "\n"
    "usage: lcsm describe METHOD|CODE [--recipe NAME] [--KEY VALUE...] [--size SIZE] [--seq-len "
    "N]\n"
    "                     [--json]\n"
    "\n"
    "Any key of a model may be given: --d-model 512 --layers 10 --expand 128 --vocab 50265 "
    "--flavour\n"
    "bare ... The cost of training is that at --seq-len (512).\n"
    "\n"
    "  --recipe    settings from recipes/NAME.json or a file, before all others; wikitext103 is "
    "the\n"
    "              paper's language model, whose depth depends on the code\n"
    "  --size      1m 3m 10m 30m 50m 100m 300m 1b: the width of that size, and the depth that "
    "comes\n"
    "              nearest to so many parameters\n"
    "  --json      {\"name\", \"parameters\", \"memory_floats\", \"flops_per_token\", ...}\n"
    "\n"
    "  lcsm describe gla --d-model 512 --layers 6\n"
    "  lcsm describe 1-1-1-0 --recipe wikitext103\n"
    "  lcsm describe mamba --size 10m\n";

typedef struct {
    const char *name;
    bool        json;
    json_t     *rows;
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

static void print_states(const char *name, const lcsm_model_summary *about)
{
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_method_info m = lcsm_method_at(j);
        if (strcmp(m.name, name) != 0) continue;
        printf("%s (%s)\n  m_t = %s + e_t i_t^T,  y_t = m_t^T s_t\n", m.name, m.family,
               m.psi[0] == '@' ? "o_t m_{t-1}" : "o_t * m_{t-1}");
        printf("  i = %s,  e = %s,  o = %s,  s = %s,  memory %s\n\n", m.input, m.expand,
               m.oscillation, m.shrink, m.memory);
    }
    printf("states of layer 0 (%s)\n", about->op);
    for (size_t j = 0; j < about->state_count; j++)
        printf("  %-12s %-24s %s\n", about->states[j].name, about->states[j].shape,
               about->states[j].from);
    putchar('\n');
}

static json_t *states_json(const lcsm_model_summary *m)
{
    json_t *list = json_array();
    for (size_t j = 0; j < m->state_count; j++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", m->states[j].name, "shape",
                                              m->states[j].shape, "from", m->states[j].from));
    return list;
}

static void print_summary(const show *s, const lcsm_model_summary *m)
{
    size_t total = m->parameters + m->reference_frozen, frozen = m->frozen + m->reference_frozen;
    if (s->json) {
        json_t *all =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:s, s:s, s:o, s:O}", "name",
                      s->name, "parameters", (json_int_t)total, "frozen", (json_int_t)frozen,
                      "stored", (json_int_t)m->parameters, "memory_floats",
                      (json_int_t)m->memory_floats, "flops_per_token", m->train_flops,
                      "decode_flops_per_token", m->decode_flops, "form", m->form, "reason",
                      m->reason, "op", m->op, "states", states_json(m), "parameter_list", s->rows);
        json_dumpf(all, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
        json_decref(all);
        return;
    }
    printf("\n  parameters       %12zu", total);
    if (frozen > 0)
        printf("  (%zu frozen, %zu of them constants that only the paper's layer stores)", frozen,
               m->reference_frozen);
    printf("\n  memory           %12zu  floats a sequence, whatever its length\n",
           m->memory_floats);
    printf("  training         %12.4g  flops a token\n", m->train_flops);
    printf("  decoding         %12.4g  flops a token\n", m->decode_flops);
    if (m->form[0] != 0) printf("  form             %12s  %s\n", m->form, m->reason);
}

/* ---- settings --------------------------------------------------------------------------- */

/* The recipe comes before the keys, so it is looked for first. */
static int take_recipe(int argc, char **argv, lcsm_model_config *cfg)
{
    char              path[4096];
    const char       *name = NULL;
    lcsm_error        err;
    lcsm_train_config unused;
    for (int j = 1; j < argc; j++) {
        bool next = j + 1 < argc && strncmp(argv[j + 1], "--", 2) != 0;
        if (strncmp(argv[j], "--recipe=", 9) == 0) name = argv[j] + 9;
        if (strcmp(argv[j], "--recipe") == 0 && next) name = argv[j + 1];
    }
    if (name == NULL) return EXIT_OK;
    lcsm_train_config_defaults(&unused);
    lcsm_status st = lcsm_recipe_find(path, sizeof path, name, &err);
    if (st == LCSM_OK) st = lcsm_settings_read(path, cfg, &unused, &err);
    return st == LCSM_OK ? EXIT_OK : cli_report("describe", &err);
}

static bool is_flag(const char *word, const char *name)
{
    return strcspn(word, "=") == strlen(name) && strncmp(word, name, strlen(name)) == 0;
}

/* The setting that names a model beside the word, or NULL. */
static const char *second_name(int argc, char **argv)
{
    for (int j = 1; j < argc; j++) {
        if (is_flag(argv[j], "--method")) return "--method";
        if (is_flag(argv[j], "--code")) return "--code";
    }
    return NULL;
}

/* ---- the command ------------------------------------------------------------------------ */

/* Nothing is printed before the model is known to be one. */
static lcsm_status describe_with(const lcsm_context *ctx, lcsm_model_config *cfg, show *s,
                                 int length, const char *size, lcsm_error *err)
{
    lcsm_model_summary m;
    lcsm_status        st = LCSM_OK;
    if (size != NULL) st = lcsm_model_config_size(cfg, ctx, size, err);
    if (st == LCSM_OK) st = lcsm_model_describe(ctx, cfg, length, &m, NULL, NULL, err);
    if (st != LCSM_OK) return st;
    if (!s->json) print_states(cfg->code[0] != 0 ? "code" : cfg->method, &m);
    st = lcsm_model_describe(ctx, cfg, length, &m, take_parameter, s, err);
    if (st == LCSM_OK) print_summary(s, &m);
    return st;
}

static int describe(lcsm_model_config *cfg, const lcsm_model_config *recipe, show *s, int length,
                    const char *size)
{
    lcsm_context *ctx;
    lcsm_error    err;
    bool          code = (s->name[0] >= '0' && s->name[0] <= '9') || strcmp(s->name, "ssm") == 0;
    if (!code && !cli_is_method("describe", s->name)) return EXIT_USAGE;
    if (lcsm_model_config_set(cfg, code ? "code" : "method", s->name, &err) != LCSM_OK
        || lcsm_model_config_unused(cfg, recipe, &err) != LCSM_OK)
        return cli_report("describe", &err);
    if (lcsm_context_create(&ctx, NULL, &err) != LCSM_OK) return cli_report("describe", &err);
    s->rows        = json_array();
    lcsm_status st = describe_with(ctx, cfg, s, length, size, &err);
    json_decref(s->rows);
    lcsm_context_free(ctx);
    return st == LCSM_OK ? EXIT_OK : cli_report("describe", &err);
}

int cmd_describe(int argc, char **argv)
{
    bool              help = false;
    int               count, length = 512, code;
    const char       *recipe = NULL, *size = NULL;
    show              s = {0};
    lcsm_model_config cfg, base;
    const cli_option  options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                   {"--json", CLI_FLAG, &s.json, 0, 0},
                                   {"--recipe", CLI_TEXT, &recipe, 0, 0},
                                   {"--size", CLI_TEXT, &size, 0, 0},
                                   {"--seq-len", CLI_COUNT, &length, 1, 1 << 24},
                                   {NULL, CLI_MODEL, NULL, 0, 0}};
    const char       *second    = second_name(argc, argv);
    lcsm_model_config_defaults(&cfg);
    if ((code = take_recipe(argc, argv, &cfg)) != EXIT_OK) return code;
    base = cfg;
    if (!cli_take_settings(&argc, argv, &cfg, NULL, &code)) return code;
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 1) {
        fputs("lcsm describe: want one method or code; lcsm methods lists them\n", stderr);
        return EXIT_USAGE;
    }
    if (second != NULL) {
        fprintf(stderr, "lcsm describe: %s and %s both name a model, want one of them, as a word\n",
                argv[1], second);
        return EXIT_USAGE;
    }
    s.name = argv[1];
    return describe(&cfg, &base, &s, length, size);
}
