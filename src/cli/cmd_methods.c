/* cmd_methods.c - lcsm methods: the paper's tables, as the code has them. */
#include <jansson.h>
#include <lcsm/model.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "lcsm methods - list the methods and the oscillation codes\n"
    "\n"
    "usage: lcsm methods [--json]\n"
    "\n"
    "Every model is m_t = psi(o_t, m_{t-1}) + e_t i_t^T, y_t = m_t^T s_t with its own states: "
    "input\n"
    "i, expand e, oscillation o, shrink s. psi is x for an elementwise product and @ for a matrix\n"
    "product. The memory is in floats per layer: k and d are the rows and columns of a head's "
    "memory\n"
    "(k d is per head), D is the model width, N and P are state sizes (--state-size), n is\n"
    "--max-length, and T the number of tokens so far.\n"
    "\n"
    "  --json    [{\"name\", \"family\", \"psi\", ...}]; the row \"code\" has \"codes\": [...]\n"
    "\n"
    "  lcsm describe gla      one of them: equations, parameters, memory, cost\n";

enum { COLUMNS = 8, REFERENCE = COLUMNS, CELLS };

static void cells_of(const lcsm_method_info *m, const char *cells[CELLS])
{
    const char *list[CELLS] = {m->name,   m->family, m->input,  m->expand,   m->oscillation,
                               m->shrink, m->psi,    m->memory, m->reference};
    memcpy(cells, list, sizeof list);
}

/* As wide as the longest of each column. */
static void print_methods(const cli_colours *c)
{
    static const lcsm_method_info head = {
        .name        = "method",
        .family      = "family",
        .input       = "input",
        .expand      = "expand",
        .oscillation = "oscillation",
        .shrink      = "shrink",
        .psi         = "psi",
        .memory      = "memory",
        .reference   = "reference",
    };
    int              width[COLUMNS] = {0};
    const char      *cells[CELLS];
    lcsm_method_info m = head;
    m.size             = sizeof m;
    for (size_t j = 0; j == 0 || lcsm_method_at(j - 1, &m, NULL) == LCSM_OK; j++) {
        cells_of(&m, cells);
        for (int k = 0; k < COLUMNS; k++)
            if (width[k] < (int)strlen(cells[k])) width[k] = (int)strlen(cells[k]);
    }
    cells_of(&head, cells);
    printf("%s", c->bold);
    for (int k = 0; k < COLUMNS; k++) printf("%-*s  ", width[k], cells[k]);
    printf("%s%s\n", cells[REFERENCE], c->off);
    for (size_t j = 0; lcsm_method_at(j, &m, NULL) == LCSM_OK; j++) {
        cells_of(&m, cells);
        for (int k = 0; k < COLUMNS - 1; k++) printf("%-*s  ", width[k], cells[k]);
        if (m.year > 0) printf("%-*s  %s %d\n", width[COLUMNS - 1], m.memory, m.reference, m.year);
        else printf("%s\n", m.memory);
    }
}

static void print_codes(const cli_colours *c)
{
    printf("\n%scodes e-o-s-a%s: e and s: 1 from the data, 0 learned (k x D); a, the activation "
           "of e and s: 0 none,\n1 relu, 2 sigmoid, 3 1+elu, 4 silu, 5 elu, 6 relu^2, 7 square; "
           "\"0\" alone is the SSM. o, with X from\nthe data (z), W learned (P), and gate(z) = "
           "sigmoid(z)^(1/tau):\n",
           c->bold, c->off);
    lcsm_code_info o = {.size = sizeof o};
    for (size_t j = 0; lcsm_code_at(j, &o, NULL) == LCSM_OK; j++) {
        printf("  %2d  %-10s %s\n", o.code, o.notation, o.construction);
    }
}

static json_t *codes_json(void)
{
    json_t        *codes = json_array();
    lcsm_code_info o     = {.size = sizeof o};
    for (size_t j = 0; lcsm_code_at(j, &o, NULL) == LCSM_OK; j++) {
        json_array_append_new(codes, json_pack("{s:i, s:s, s:s}", "code", o.code, "notation",
                                               o.notation, "construction", o.construction));
    }
    return codes;
}

static void print_json(void)
{
    json_t          *methods = json_array();
    lcsm_method_info m       = {.size = sizeof m};
    for (size_t j = 0; lcsm_method_at(j, &m, NULL) == LCSM_OK; j++) {
        json_t *row =
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:s}", "name", m.name,
                      "family", m.family, "input", m.input, "expand", m.expand, "oscillation",
                      m.oscillation, "shrink", m.shrink, "psi", m.psi, "memory", m.memory, "bare",
                      (int)m.bare, "year", m.year, "reference", m.reference);
        if (strcmp(m.name, "code") == 0) json_object_set_new(row, "codes", codes_json());
        json_array_append_new(methods, row);
    }
    json_dumpf(methods, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(methods);
}

int cmd_methods(int argc, char **argv)
{
    bool             help = false, json = false;
    int              count;
    cli_colours      c         = cli_colours_of(stdout);
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &json, 0, 0},
                                  {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &count)) return EXIT_USAGE;
    if (!help && !cli_no_words(argv[0], argv, count)) return EXIT_USAGE;
    if (help) fputs(HELP, stdout);
    else if (json) print_json();
    else {
        print_methods(&c);
        print_codes(&c);
    }
    return EXIT_OK;
}
