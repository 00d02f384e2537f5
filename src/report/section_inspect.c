/* section_inspect.c - inspect.json as tables and figures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/chart.h"
#include "report/section.h"

/* ---- layers -------------------------------------------------------------------------------- */

static const struct {
    const char *key, *head;
    int         digits;
} COLUMNS[] = {
    {"half_life_median", "half-life, median", 1},
    {"half_life_low", "10 %", 1},
    {"half_life_high", "90 %", 1},
    {"forever", "rows without decay", 0},
    {"gate_mean", "decay, mean", 3},
    {"gate_low", "10 %", 3},
    {"gate_high", "90 %", 3},
    {"state_norm", "memory norm at the end", 3},
};

/* A half-life that is null is that of a row which keeps all; one that is missing has a reason. */
static void put_layer(lcsm_table *t, const json_t *layer)
{
    const char *why = json_string_value(json_object_get(layer, "no_half_life"));
    for (size_t c = 0; c < COUNT(COLUMNS); c++) {
        const json_t *v = json_object_get(layer, COLUMNS[c].key);
        if (c == 0 && why != NULL) lcsm_table_cell(t, "none: %s", why);
        else if (json_is_null(v)) lcsm_table_cell(t, "%s", "no decay");
        else lcsm_table_number(t, COLUMNS[c].digits, lcsm_json_number(layer, COLUMNS[c].key));
    }
}

static void put_layers(lcsm_doc *d, const json_t *layers)
{
    lcsm_table t = {0};
    lcsm_table_column(&t, "layer", LCSM_RIGHT);
    for (size_t c = 0; c < COUNT(COLUMNS); c++) lcsm_table_column(&t, COLUMNS[c].head, LCSM_RIGHT);
    for (size_t j = 0; j < json_array_size(layers); j++) {
        lcsm_table_cell(&t, "%zu", j);
        put_layer(&t, json_array_get(layers, j));
    }
    lcsm_doc_table(d, &t,
                   "The memory of each layer on the inspected text: half-lives in tokens, and the "
                   "decays o_t.");
}

/* ---- curves -------------------------------------------------------------------------------- */

/* A list of numbers against other ones or, if there are none, against multiples of `step`; false
 * if it is empty. */
static bool take_list(lcsm_series *out, double **memory, const json_t *list, const json_t *at,
                      double step)
{
    size_t n = json_array_size(list);
    *memory  = n == 0 ? NULL : malloc(2 * n * sizeof **memory);
    if (*memory == NULL) return false;
    for (size_t j = 0; j < n; j++) {
        (*memory)[j] =
            at == NULL ? step * (double)(j + 1) : json_number_value(json_array_get(at, j));
        (*memory)[n + j] = json_number_value(json_array_get(list, j));
    }
    *out = (lcsm_series){.label = "", .x = *memory, .y = *memory + n, .count = n};
    return true;
}

static void put_norms(lcsm_doc *d, const json_t *root, const char *file)
{
    const json_t *layers = json_object_get(root, "layers");
    double        every  = lcsm_json_number(root, "state_norm_every");
    enum { MOST = 64 };
    lcsm_series series[MOST];
    double     *memory[MOST];
    char        names[MOST][32], name[96];
    size_t      count = 0;
    lcsm_strbuf svg   = {0};
    for (size_t j = 0; j < json_array_size(layers) && count < MOST; j++) {
        const json_t *list = json_object_get(json_array_get(layers, j), "state_norms");
        if (!take_list(&series[count], &memory[count], list, NULL, every)) continue;
        (void)snprintf(names[count], sizeof names[count], "layer %zu", j);
        series[count].label = names[count];
        count++;
    }
    if (count == 0) return;
    lcsm_chart c = {.title   = "The size of the memory over time",
                    .x_label = "tokens read",
                    .y_label = "root mean square",
                    .series  = series,
                    .count   = count,
                    .y_log   = true,
                    .ordered = count > 2};
    lcsm_chart_svg(&c, &svg);
    (void)snprintf(name, sizeof name, "%.60s-norms", file);
    lcsm_doc_figure(d, &svg, name,
                    "The root mean square of each layer's memory while the text is read. A flat "
                    "line means that the memory forgets as fast as it takes in.");
    for (size_t j = 0; j < count; j++) free(memory[j]);
}

static void put_influence(lcsm_doc *d, const json_t *root, const char *file)
{
    lcsm_series   series;
    double       *memory;
    char          name[96];
    lcsm_strbuf   svg   = {0};
    const json_t *found = json_object_get(root, "influence");
    if (!take_list(&series, &memory, json_object_get(found, "change"),
                   json_object_get(found, "distance"), 1))
        return;
    lcsm_chart c = {.title   = "Which earlier tokens an output depends on",
                    .x_label = "tokens back",
                    .y_label = "change of the output",
                    .series  = &series,
                    .count   = 1,
                    .x_log   = true,
                    .y_log   = true};
    lcsm_chart_svg(&c, &svg);
    (void)snprintf(name, sizeof name, "%.60s-influence", file);
    lcsm_doc_figure(d, &svg, name,
                    "How much the probabilities of the last output change (total variation) when "
                    "one earlier token is replaced. Nine tenths of the influence lie within %s%.0f "
                    "of the last %.0f tokens.",
                    json_is_true(json_object_get(root, "effective_context_open")) ? "at least "
                                                                                  : "",
                    lcsm_json_number(root, "effective_context"), series.x[series.count - 1]);
    free(memory);
}

void lcsm_section_inspect(lcsm_doc *d, const lcsm_record *r, const char *file)
{
    lcsm_json_doc doc;
    if (!lcsm_record_inspection(&doc, r->folder)) return;
    const json_t *layers = json_object_get(doc.root, "layers");
    put_norms(d, doc.root, file);
    put_influence(d, doc.root, file);
    if (json_array_size(layers) > 0) put_layers(d, layers);
    lcsm_json_doc_free(&doc);
}
