/* memory_view.c - half-lives by lcsm_inspect, in short. */
#include "serve/memory_view.h"

#include <lcsm/inspect.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/json_doc.h"

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* The half-lives of a layer; a null is one without end. */
static json_t *short_of(const json_t *layer, size_t at)
{
    const json_t *list = json_object_get(layer, "half_life");
    size_t        n    = json_array_size(list);
    double       *x    = calloc(n + 1, sizeof *x);
    if (x == NULL) return NULL;
    for (size_t j = 0; j < n; j++) {
        const json_t *v = json_array_get(list, j);
        x[j]            = json_is_number(v) ? json_number_value(v) : INFINITY;
    }
    qsort(x, n, sizeof *x, by_size);
    const char *op  = json_string_value(json_object_get(layer, "op"));
    json_t     *row = NULL;
    if (n > 0)
        row = json_pack("{s:I, s:s, s:o, s:o, s:o}", "layer", (json_int_t)at, "op",
                        op != NULL ? op : "", "low", number(x[n / 10]), "median", number(x[n / 2]),
                        "high", number(x[n - 1 - n / 10]));
    free(x);
    return row;
}

static json_t *short_of_all(const json_t *facts, const char *name)
{
    const json_t *layers = json_object_get(facts, "layers");
    json_t       *list   = json_array();
    for (size_t j = 0; j < json_array_size(layers); j++) {
        json_t *row = short_of(json_array_get(layers, j), j);
        if (row != NULL) (void)json_array_append_new(list, row);
    }
    return json_pack("{s:s, s:s, s:o}", "object", "memory", "model", name, "layers", list);
}

static bool is_too_large(const lcsm_serve_model *m, lcsm_fault *fault)
{
    if (lcsm_model_param_count(m->model) <= LCSM_MEMORY_VIEW_MOST) return false;
    (void)lcsm_fault_set(fault, 400, NULL, "model_too_large",
                         "models of more than %d parameters are not looked into here: lcsm inspect "
                         "does that",
                         LCSM_MEMORY_VIEW_MOST);
    return true;
}

json_t *lcsm_memory_view(const lcsm_serve_model *m, lcsm_fault *fault)
{
    const lcsm_context_options one  = {.size = sizeof one, .threads = 1};
    lcsm_inspect_options       what = {.size = sizeof what, .run = m->folder, .tokens = 256};
    lcsm_context              *ctx  = NULL;
    lcsm_error                 err  = {0};
    lcsm_json_doc              doc  = {0};
    char                      *text = NULL;
    json_t                    *view = NULL;
    lcsm_status                st   = LCSM_OK;
    if (is_too_large(m, fault)) return NULL;
    LCSM_TRY(lcsm_context_create(&ctx, &one, &err));
    LCSM_TRY(lcsm_inspect(ctx, &what, &text, &err));
    LCSM_TRY(lcsm_json_doc_parse(&doc, "inspection", text, strlen(text), &err));
    view = short_of_all(doc.root, m->name);
cleanup:
    if (st != LCSM_OK) (void)lcsm_fault_take(fault, NULL, &err);
    else if (view == NULL) (void)lcsm_fault_set(fault, 503, NULL, NULL, "not enough memory");
    lcsm_json_doc_free(&doc);
    lcsm_context_free(ctx);
    free(text);
    return view;
}

json_t *lcsm_writes_view(const lcsm_serve_model *m, const int32_t *tokens, size_t count,
                         lcsm_fault *fault)
{
    lcsm_error    err  = {0};
    lcsm_json_doc doc  = {0};
    char         *text = NULL;
    json_t       *view = NULL;
    if (is_too_large(m, fault)) return NULL;
    if (lcsm_inspect_writes(m->model, tokens, count, &text, &err) != LCSM_OK
        || lcsm_json_doc_parse(&doc, "writes", text, strlen(text), &err) != LCSM_OK)
        (void)lcsm_fault_take(fault, NULL, &err);
    else
        view = json_pack("{s:s, s:s, s:O}", "object", "writes", "model", m->name, "layers",
                         json_object_get(doc.root, "layers"));
    lcsm_json_doc_free(&doc);
    free(text);
    return view;
}
