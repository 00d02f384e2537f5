/* decay.c - half-lives from weights that are decays, or from inspect.json. */
#include "report/decay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "format/run_folder.h"
#include "format/safetensors.h"
#include "report/rank.h"

typedef double log_decay_fn(double z, double tau);

/* log sigmoid(z)^(1/tau), which stays finite for every z. */
static double gate(double z, double tau)
{
    return -(z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z) / tau;
}

static double as_it_is(double z, double tau)
{
    (void)tau;
    return z;
}

static double minus_exp(double z, double tau)
{
    (void)tau;
    return -exp(z);
}

/* Which parameter of a layer holds decays, and how. code is that of o in e-o-s-a; -1: any method
 * that has a parameter of this name. */
static const struct {
    const char   *name;
    int           code;
    log_decay_fn *log_decay;
} SOURCES[] = {
    {"o_kd", 0, gate},
    {"o_k", 4, gate},
    {"o_d", 5, gate},
    {"log_decay", -1, as_it_is},
    {"time_decay", -1, minus_exp},
};

static int code_of(const lcsm_record *r)
{
    char text[LCSM_KEY_TEXT_SIZE], *end;
    long e = strtol(lcsm_record_setting(r, "code", text), &end, 10);
    (void)e;
    return *end == '-' ? (int)strtol(end + 1, NULL, 10) : -1;
}

static lcsm_status allocate(lcsm_decays *d, size_t layers, size_t rows, lcsm_error *err)
{
    size_t n, bytes;
    if (!lcsm_size_mul(layers, rows, &n) || !lcsm_size_mul(n, sizeof *d->half_life, &bytes)
        || (d->half_life = malloc(bytes)) == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu x %zu half-lives", layers,
                         rows);
    d->layers = layers;
    d->rows   = rows;
    for (size_t j = 0; j < n; j++) d->half_life[j] = NAN;
    return LCSM_OK;
}

static void sort_down(double *values, size_t count)
{
    lcsm_sort(values, count);
    for (size_t j = 0; j < count / 2; j++) {
        double v              = values[j];
        values[j]             = values[count - 1 - j];
        values[count - 1 - j] = v;
    }
}

/* ---- weights ------------------------------------------------------------------------------- */

static bool find_layer(lcsm_named_tensor *t, const lcsm_safetensors *file, size_t layer,
                       const char *name)
{
    char full[96];
    (void)snprintf(full, sizeof full, "layers.%zu.mixer.%s", layer, name);
    return lcsm_safetensors_find(t, file, full);
}

/* A matrix (rows, columns) of decays tells for each row the median over its columns. */
static lcsm_status read_layer(lcsm_decays *d, size_t layer, const lcsm_named_tensor *t,
                              size_t columns, log_decay_fn *log_decay, double tau, lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    size_t      count = d->rows * columns;
    double     *z     = malloc(count * sizeof *z);
    if (z == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", t->name);
    LCSM_TRY(lcsm_named_tensor_f64(z, t, err));
    for (size_t j = 0; j < count; j++) z[j] = log(0.5) / fmin(log_decay(z[j], tau), -0.0);
    for (size_t row = 0; row < d->rows; row++) {
        lcsm_sort(z + row * columns, columns);
        d->half_life[layer * d->rows + row] = lcsm_quantile(z + row * columns, columns, 0.5);
    }
    sort_down(d->half_life + layer * d->rows, d->rows);
cleanup:
    free(z);
    return st;
}

static lcsm_status read_source(lcsm_decays *d, const lcsm_safetensors *file, size_t source,
                               double tau, bool frozen, lcsm_error *err)
{
    const char       *name   = SOURCES[source].name;
    size_t            layers = 0, columns, count, bytes;
    lcsm_named_tensor t, same;
    if (!find_layer(&t, file, 0, name) || t.rank == 0) return LCSM_OK;
    while (find_layer(&same, file, layers, name)) layers++;
    if (!lcsm_named_tensor_measure(&t, &count, &bytes) || count == 0) return LCSM_OK;
    columns = t.rank >= 3 ? t.shape[t.rank - 1] : 1;
    LCSM_OR_RETURN(allocate(d, layers, count / columns, err));
    for (size_t j = 0; j < layers; j++) {
        size_t here = 0;
        (void)find_layer(&same, file, j, name);
        if (!lcsm_named_tensor_measure(&same, &here, &bytes) || here != count) continue;
        LCSM_OR_RETURN(read_layer(d, j, &same, columns,
                                  frozen ? as_it_is : SOURCES[source].log_decay, tau, err));
    }
    return LCSM_OK;
}

static lcsm_status from_weights(lcsm_decays *d, const lcsm_record *r, lcsm_error *err)
{
    lcsm_status      st   = LCSM_OK;
    lcsm_safetensors file = {0};
    char             path[LCSM_PATH_MAX], text[LCSM_KEY_TEXT_SIZE];
    int              code   = code_of(r);
    double           tau    = strtod(lcsm_record_setting(r, "tau", text), NULL);
    bool             frozen = strcmp(lcsm_record_setting(r, "o_learned", text), "false") == 0;
    if (lcsm_path_join(path, r->folder, LCSM_RUN_MODEL, NULL) != LCSM_OK || !lcsm_path_exists(path)
        || lcsm_safetensors_open(&file, path, 0, NULL) != LCSM_OK)
        return LCSM_OK;
    for (size_t j = 0; j < COUNT(SOURCES) && d->layers == 0; j++)
        if (SOURCES[j].code == code)
            LCSM_TRY(read_source(d, &file, j, tau > 0 ? tau : 1, frozen && code >= 0, err));
cleanup:
    lcsm_safetensors_close(&file);
    return st;
}

/* ---- inspect.json -------------------------------------------------------------------------- */

static const json_t *list_of(const json_t *layers, size_t layer)
{
    return json_object_get(json_array_get(layers, layer), "half_life");
}

static lcsm_status from_inspect(lcsm_decays *d, const lcsm_record *r, lcsm_error *err)
{
    lcsm_status   st = LCSM_OK;
    lcsm_json_doc doc;
    size_t        rows = 0;
    if (!lcsm_record_inspection(&doc, r->folder)) return LCSM_OK;
    const json_t *layers = json_object_get(doc.root, "layers");
    for (size_t j = 0; j < json_array_size(layers); j++)
        if (json_array_size(list_of(layers, j)) > rows) rows = json_array_size(list_of(layers, j));
    if (rows == 0) goto cleanup;
    LCSM_TRY(allocate(d, json_array_size(layers), rows, err));
    d->from_inspect = true;
    for (size_t j = 0; j < d->layers; j++) {
        const json_t *list = list_of(layers, j);
        size_t        n    = json_array_size(list);
        for (size_t k = 0; k < n; k++) {
            const json_t *v            = json_array_get(list, k);
            d->half_life[j * rows + k] = json_is_number(v) ? json_number_value(v) : INFINITY;
        }
        sort_down(d->half_life + j * rows, n);
    }
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

lcsm_status lcsm_decays_read(lcsm_decays *out, const lcsm_record *r, lcsm_error *err)
{
    *out           = (lcsm_decays){0};
    lcsm_status st = from_inspect(out, r, err);
    if (st == LCSM_OK && out->layers == 0) st = from_weights(out, r, err);
    if (st != LCSM_OK) lcsm_decays_free(out);
    return st;
}

void lcsm_decays_free(lcsm_decays *d)
{
    free(d->half_life);
    *d = (lcsm_decays){0};
}
