/* cmd_describe.c - lcsm describe: what one model is. */
#include <jansson.h>
#include <lcsm/model.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm describe - one model: states, parameters, memory, cost\n"
    "\n"
    "usage: lcsm describe METHOD|CODE [--KEY VALUE...] [--seq-len N] [--json]\n"
    "\n"
    "Any key of a model may be given: --d-model 512 --layers 10 --expand 128 --vocab 50265 "
    "--flavour\n"
    "bare ... The cost of training is that at --seq-len (512).\n"
    "\n"
    "  --json      {\"name\", \"parameters\", \"memory_floats\", \"flops_per_token\", ...}\n"
    "\n"
    "  lcsm describe gla --d-model 512 --layers 6\n"
    "  lcsm describe 1-1-1-0 --d-model 512 --layers 9 --expand 128 --vocab 50265\n";

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

static void print_states(const char *name)
{
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_method_info m = lcsm_method_at(j);
        if (strcmp(m.name, name) != 0) continue;
        printf("%s (%s)\n  m_t = %s + e_t i_t^T,  y_t = m_t^T s_t\n", m.name, m.family,
               m.psi[0] == '@' ? "o_t m_{t-1}" : "o_t * m_{t-1}");
        printf("  i = %s,  e = %s,  o = %s,  s = %s,  memory %s\n\n", m.input, m.expand,
               m.oscillation, m.shrink, m.memory);
    }
}

static void print_summary(const show *s, const lcsm_model_summary *m)
{
    size_t total = m->parameters + m->reference_frozen, frozen = m->frozen + m->reference_frozen;
    if (s->json) {
        json_t *all =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:s, s:O}", "name", s->name,
                      "parameters", (json_int_t)total, "frozen", (json_int_t)frozen, "stored",
                      (json_int_t)m->parameters, "memory_floats", (json_int_t)m->memory_floats,
                      "flops_per_token", m->train_flops, "decode_flops_per_token", m->decode_flops,
                      "form", m->form, "reason", m->reason, "parameter_list", s->rows);
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

/* --key value pairs of the model; other options stay for cli_parse. */
static bool take_keys(int *argc, char **argv, lcsm_model_config *cfg, int *code)
{
    int kept = 1;
    for (int j = 1; j < *argc; j++) {
        lcsm_error err;
        if (strncmp(argv[j], "--", 2) != 0 || !lcsm_model_config_has(argv[j] + 2)) {
            argv[kept++] = argv[j];
            continue;
        }
        if (j + 1 == *argc) {
            fprintf(stderr, "lcsm describe: %s needs a value\n", argv[j]);
            *code = EXIT_USAGE;
            return false;
        }
        if (lcsm_model_config_set(cfg, argv[j] + 2, argv[j + 1], &err) != LCSM_OK) {
            *code = cli_report("describe", &err);
            return false;
        }
        j++;
    }
    *argc = kept;
    return true;
}

static int describe(lcsm_model_config *cfg, show *s, int length)
{
    lcsm_context      *ctx;
    lcsm_model_summary m;
    lcsm_error         err;
    bool               code = s->name[0] >= '0' && s->name[0] <= '9';
    if (lcsm_model_config_set(cfg, code ? "code" : "method", s->name, &err) != LCSM_OK)
        return cli_report("describe", &err);
    if (lcsm_context_create(&ctx, NULL, &err) != LCSM_OK) return cli_report("describe", &err);
    s->rows = json_array();
    if (!s->json) print_states(code ? "code" : s->name);
    lcsm_status st = lcsm_model_describe(ctx, cfg, length, &m, take_parameter, s, &err);
    if (st == LCSM_OK) print_summary(s, &m);
    json_decref(s->rows);
    lcsm_context_free(ctx);
    return st == LCSM_OK ? EXIT_OK : cli_report("describe", &err);
}

int cmd_describe(int argc, char **argv)
{
    bool              help = false;
    int               count, length = 512, code = EXIT_OK;
    show              s = {0};
    lcsm_model_config cfg;
    const cli_option  options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                   {"--json", CLI_FLAG, &s.json, 0, 0},
                                   {"--seq-len", CLI_COUNT, &length, 1, 1 << 24},
                                   {NULL, CLI_FLAG, NULL, 0, 0}};
    lcsm_model_config_defaults(&cfg);
    if (!take_keys(&argc, argv, &cfg, &code)) return code;
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (count != 1) {
        fputs("lcsm describe: want one method or code; lcsm methods lists them\n", stderr);
        return EXIT_USAGE;
    }
    s.name = argv[1];
    return describe(&cfg, &s, length);
}
