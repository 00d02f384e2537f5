/* logits_check.c - a model with weights against logits that others computed from them. */
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "check/verdict.h"
#include "format/json_doc.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/model_weights.h"

/* One sequence: tokens, and the logits behind the last `known` of them. */
typedef struct {
    int32_t *tokens;
    size_t   count, known;
    double  *want;
} record;

typedef struct {
    size_t  V;
    record *list;
    size_t  count;
} records;

static void free_records(records *r)
{
    for (size_t j = 0; j < r->count; j++) {
        free(r->list[j].tokens);
        free(r->list[j].want);
    }
    free(r->list);
}

static lcsm_status reserve(record *r, size_t count, size_t known, size_t V, lcsm_error *err)
{
    size_t numbers = 0;
    bool   fits    = lcsm_size_mul(known, V, &numbers);
    r->tokens      = calloc(count + 1, sizeof *r->tokens);
    r->want        = fits ? calloc(numbers + 1, sizeof *r->want) : NULL;
    r->count       = count;
    r->known       = known;
    if (r->tokens != NULL && r->want != NULL) return LCSM_OK;
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for recorded logits");
    return LCSM_ERR_MEMORY;
}

/* ---- files ------------------------------------------------------------------------------ */

static lcsm_status read_sequence(record *r, size_t V, const lcsm_json *tokens,
                                 const lcsm_json *logits, lcsm_error *err)
{
    size_t      count = lcsm_json_count(tokens);
    lcsm_json   step;
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(reserve(r, count, count, V, err));
    for (size_t t = 0; t < count; t++) {
        int64_t id = 0;
        LCSM_OR_RETURN(lcsm_json_get_int(&id, lcsm_json_item(tokens, t), 0, (int64_t)V - 1, err));
        r->tokens[t] = (int32_t)id;
        LCSM_OR_RETURN(lcsm_json_get_array(&step, lcsm_json_item(logits, t), V, V, err));
        for (size_t v = 0; v < V; v++)
            LCSM_OR_RETURN(lcsm_json_get_real(&r->want[t * V + v], lcsm_json_item(&step, v),
                                              -INFINITY, INFINITY, err));
    }
    return st;
}

static lcsm_status read_json(records *out, const char *file, lcsm_error *err)
{
    lcsm_json_doc doc = {0};
    lcsm_json     sequences, logits, tokens, steps;
    lcsm_status   st;
    LCSM_TRY(lcsm_json_doc_read(&doc, file, LCSM_JSON_LARGE_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    LCSM_TRY(lcsm_json_get_array(&sequences, lcsm_json_need(&root, "sequences"), 1, 1 << 20, err));
    size_t count = lcsm_json_count(&sequences);
    LCSM_TRY(lcsm_json_get_array(&logits, lcsm_json_need(&root, "logits"), count, count, err));
    out->list = calloc(count, sizeof *out->list);
    if (out->list == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", file);
        goto cleanup;
    }
    for (; out->count < count; out->count++) {
        LCSM_TRY(
            lcsm_json_get_array(&tokens, lcsm_json_item(&sequences, out->count), 1, 1 << 20, err));
        size_t n = lcsm_json_count(&tokens);
        LCSM_TRY(lcsm_json_get_array(&steps, lcsm_json_item(&logits, out->count), n, n, err));
        st = read_sequence(&out->list[out->count], out->V, &tokens, &steps, err);
        if (st != LCSM_OK) {
            out->count++;
            goto cleanup;
        }
    }
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

static lcsm_status read_floats(records *out, const char *file, const int32_t *tokens, size_t count,
                               lcsm_error *err)
{
    lcsm_file   bytes = {0};
    lcsm_status st;
    size_t      row = out->V * sizeof(float);
    LCSM_TRY(lcsm_file_map(&bytes, file, err));
    size_t known = bytes.size / row;
    if (bytes.size % row != 0 || (known != 1 && known != count))
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_FORMAT,
                      "%s has %zu bytes; expected %zu (one step of %zu logits) or %zu (%zu steps)",
                      file, bytes.size, row, out->V, row * count, count));
    out->list = calloc(1, sizeof *out->list);
    if (out->list == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", file);
        goto cleanup;
    }
    out->count = 1;
    LCSM_TRY(reserve(&out->list[0], count, known, out->V, err));
    memcpy(out->list[0].tokens, tokens, count * sizeof *tokens);
    for (size_t j = 0; j < known * out->V; j++) {
        float x;
        memcpy(&x, bytes.data + j * sizeof x, sizeof x);
        out->list[0].want[j] = (double)x;
    }
cleanup:
    lcsm_file_close(&bytes);
    return st;
}

/* ---- comparison ------------------------------------------------------------------------- */

/* The largest difference over all steps that are known. */
static lcsm_status compare(lcsm_session *s, const record *r, size_t V, size_t first, size_t rest,
                           double *worst, lcsm_error *err)
{
    float      *got = calloc(r->count * V, sizeof *got);
    lcsm_status st  = LCSM_OK;
    if (got == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for logits");
    lcsm_session_reset(s);
    for (size_t t = 0, n = first; t < r->count; t += n, n = rest) {
        if (n > r->count - t) n = r->count - t;
        LCSM_TRY(lcsm_session_feed(s, r->tokens + t, n, got + t * V, err));
    }
    const float *from = got + (r->count - r->known) * V;
    for (size_t j = 0; j < r->known * V; j++) {
        double d = fabs((double)from[j] - r->want[j]);
        if (!(d <= *worst)) *worst = isnan(d) ? INFINITY : d;
    }
cleanup:
    free(got);
    return st;
}

/* ---- what float costs ------------------------------------------------------------------- */

/* The model's logits of a record by the graph itself, in one number type. */
static lcsm_status run_graph(const lcsm_context *ctx, const lcsm_model *model, lcsm_dtype dtype,
                             const record *r, size_t V, double *out, lcsm_error *err)
{
    const lcsm_model_want want   = {.whole = true, .logits = true};
    lcsm_params          *params = NULL;
    lcsm_graph           *g      = NULL;
    lcsm_model_io         io;
    lcsm_status           st;
    LCSM_TRY(lcsm_params_create(&params, dtype, 0, err));
    params->blank = true;
    LCSM_TRY(lcsm_graph_create(&g, ctx, params, err));
    LCSM_TRY(lcsm_model_build(g, &model->cfg, 1, (ptrdiff_t)r->count, &want, &io, err));
    LCSM_TRY(lcsm_graph_plan(g, NULL, err));
    LCSM_TRY(lcsm_params_copy(params, model->params, err));
    memcpy(io.tokens->data, r->tokens, r->count * sizeof *r->tokens);
    LCSM_TRY(lcsm_graph_forward(g, NULL, err));
    for (size_t j = 0; j < r->count * V; j++)
        out[j] = dtype == LCSM_F64 ? ((double *)io.logits->data)[j]
                                   : (double)((float *)io.logits->data)[j];
cleanup:
    lcsm_graph_free(g);
    lcsm_params_free(params);
    return st;
}

/* The largest difference between the plain float32 kernels and double, over the known steps. */
static lcsm_status add_rounding(const lcsm_context *plain, const lcsm_model *model, const record *r,
                                size_t V, double *worst, lcsm_error *err)
{
    double     *x = calloc(2 * r->count * V, sizeof *x), *y = x == NULL ? NULL : x + r->count * V;
    lcsm_status st = LCSM_OK;
    if (x == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for logits");
    LCSM_TRY(run_graph(plain, model, LCSM_F32, r, V, x, err));
    LCSM_TRY(run_graph(model->ctx, model, LCSM_F64, r, V, y, err));
    for (size_t j = (r->count - r->known) * V; j < r->count * V; j++)
        *worst = fmax(*worst, fabs(x[j] - y[j]));
cleanup:
    free(x);
    return st;
}

static double largest(const records *r)
{
    double most = 1;
    for (size_t j = 0; j < r->count; j++)
        for (size_t k = 0; k < r->list[j].known * r->V; k++)
            most = fmax(most, fabs(r->list[j].want[k]));
    return most;
}

/* What these logits may differ by: a bound that was asked for, or what float costs here. */
static lcsm_status find_bound(const lcsm_model *model, const records *r, double asked,
                              lcsm_measure *out, lcsm_error *err)
{
    const lcsm_context_options options = {
        .size = sizeof options, .isa = LCSM_ISA_REFERENCE, .threads = 1};
    lcsm_context *plain = NULL;
    lcsm_status   st    = LCSM_OK;
    double        size  = largest(r);
    *out                = (lcsm_measure){NAN, NAN, asked};
    if (!isnan(asked)) return LCSM_OK;
    LCSM_TRY(lcsm_context_create(&plain, &options, err));
    out->reference = 0;
    for (size_t j = 0; j < r->count; j++)
        LCSM_TRY(add_rounding(plain, model, &r->list[j], r->V, &out->reference, err));
    out->bound = size * lcsm_float_bound(out->reference / size);
cleanup:
    lcsm_context_free(plain);
    return st;
}

/* ---- the three ways --------------------------------------------------------------------- */

typedef struct {
    const char      *file;
    records          records;
    lcsm_measure     bound;
    lcsm_check_sink *sink;
    void            *user;
} checker;

enum { WHOLE, STEPS, SPLIT, WAYS };

static lcsm_status check_way(const checker *c, lcsm_session *s, int way, lcsm_error *err)
{
    static const char *const NAMES[] = {"whole sequences", "token by token", "split in half"};
    const records           *r       = &c->records;
    lcsm_verdict             v       = LCSM_NO_VERDICT;
    double                   worst   = 0;
    lcsm_status              st      = LCSM_OK;
    for (size_t j = 0; j < r->count && st == LCSM_OK; j++) {
        size_t n = r->list[j].count, half = n > 1 ? n / 2 : 1;
        size_t first[WAYS] = {n, 1, half};
        st = compare(s, &r->list[j], r->V, first[way], way == STEPS ? 1 : n, &worst, err);
    }
    if (st != LCSM_OK) return st;
    v.output = (lcsm_measure){worst, c->bound.reference, c->bound.bound};
    (void)snprintf(v.detail, sizeof v.detail, "%zu sequences of %zu logits, absolute", r->count,
                   r->V);
    lcsm_verdict_emit(&v, c->file, NAMES[way], "float", c->sink, c->user);
    return LCSM_OK;
}

lcsm_status lcsm_check_logits(const lcsm_model *model, const char *file, const int32_t *tokens,
                              size_t count, double bound, lcsm_check_sink *sink, void *user,
                              lcsm_error *err)
{
    checker       c = {.file    = file,
                       .records = {.V = (size_t)lcsm_model_config_of(model)->vocab},
                       .sink    = sink,
                       .user    = user};
    lcsm_session *s = NULL;
    lcsm_status   st;
    st = count > 0 ? read_floats(&c.records, file, tokens, count, err)
                   : read_json(&c.records, file, err);
    if (st != LCSM_OK) {
        st = lcsm_file_fault(st, err);
        goto cleanup;
    }
    LCSM_TRY(find_bound(model, &c.records, bound, &c.bound, err));
    LCSM_TRY(lcsm_session_create(&s, model, NULL, err));
    for (int way = 0; way < WAYS; way++) LCSM_TRY(check_way(&c, s, way, err));
cleanup:
    lcsm_session_free(s);
    free_records(&c.records);
    return st;
}
