/* model_weights.c - models with weights: made new, loaded from a run folder, saved to one. */
#include "model/model_weights.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/size.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "format/json_doc.h"
#include "format/json_write.h"
#include "format/run_folder.h"
#include "kernel/context.h"
#include "model/config.h"
#include "model/model_graph.h"

static const char MODEL_TYPE[] = "lcsm";

/* ---- the list --------------------------------------------------------------------------- */

lcsm_status lcsm_model_list(lcsm_params **out, const lcsm_context *ctx,
                            const lcsm_model_config *cfg, uint64_t seed, lcsm_error *err)
{
    lcsm_status  st;
    lcsm_params *params = NULL;
    lcsm_graph  *g      = NULL;
    *out                = NULL;
    LCSM_TRY(lcsm_params_create(&params, LCSM_F32, seed, err));
    LCSM_TRY(lcsm_model_sketch(&g, ctx, params, cfg, 1, false, err));
    *out   = params;
    params = NULL;
cleanup:
    lcsm_graph_free(g);
    lcsm_params_free(params);
    return st;
}

lcsm_status lcsm_model_find_streamed(lcsm_params *params, const lcsm_context *ctx,
                                     const lcsm_model_config *cfg, lcsm_error *err)
{
    static const struct {
        ptrdiff_t T;
        bool      train;
    } GRAPHS[]     = {{1, false}, {4, false}, {4, true}}; /* decoding, reading, evaluation */
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < params->count; j++) params->list[j].flags |= LCSM_PARAM_STREAMED;
    for (size_t j = 0; j < COUNT(GRAPHS) && st == LCSM_OK; j++) {
        lcsm_graph *g = NULL;
        st            = lcsm_model_sketch(&g, ctx, params, cfg, GRAPHS[j].T, GRAPHS[j].train, err);
        if (st == LCSM_OK) lcsm_graph_streams(g);
        lcsm_graph_free(g);
    }
    return st;
}

/* ---- types of tensors ------------------------------------------------------------------- */

/* Blocks with levels have no type in a tensor file: they are bytes under a name that says it. */
static const lcsm_weight_type LEVELS[] = {LCSM_WEIGHT_Q8, LCSM_WEIGHT_Q4, LCSM_WEIGHT_Q4K};

static lcsm_element element_of(lcsm_dtype dtype, lcsm_weight_type type)
{
    static const lcsm_element ELEMENTS[LCSM_WEIGHT_COUNT] = {[LCSM_WEIGHT_F16]  = LCSM_ELEMENT_F16,
                                                             [LCSM_WEIGHT_BF16] = LCSM_ELEMENT_BF16,
                                                             [LCSM_WEIGHT_Q8]   = LCSM_ELEMENT_U8,
                                                             [LCSM_WEIGHT_Q4]   = LCSM_ELEMENT_U8,
                                                             [LCSM_WEIGHT_Q4K]  = LCSM_ELEMENT_U8};
    if (type != LCSM_WEIGHT_REAL) return ELEMENTS[type];
    return dtype == LCSM_F32 ? LCSM_ELEMENT_F32 : LCSM_ELEMENT_F64;
}

/* A parameter as a tensor of a file, if it has this type. Its name is the list's: blocks_name. */
static lcsm_named_tensor tensor_as(const lcsm_params *params, size_t row, lcsm_weight_type type)
{
    const lcsm_param *p = &params->list[row];
    lcsm_named_tensor t = {.name    = p->name,
                           .element = element_of(params->dtype, type),
                           .rank    = (size_t)p->shape.rank,
                           .data    = lcsm_param_values(params, (int)row)};
    for (int j = 0; j < p->shape.rank; j++) t.shape[j] = (size_t)p->shape.dim[j];
    if (t.element == LCSM_ELEMENT_U8) t.shape[1] = lcsm_weight_row(type, t.shape[1]);
    return t;
}

static lcsm_named_tensor tensor_of(const lcsm_params *params, size_t row)
{
    return tensor_as(params, row, LCSM_WEIGHT_REAL);
}

/* "head.weight.q8" */
static void blocks_name(char out[LCSM_SAFETENSORS_NAME], const char *name, lcsm_weight_type type)
{
    (void)snprintf(out, LCSM_SAFETENSORS_NAME, "%s.%s", name, lcsm_weight_name(type));
}

lcsm_status lcsm_model_tensors(lcsm_named_tensor **out, const lcsm_params *params, lcsm_error *err)
{
    enum { NAME = LCSM_SAFETENSORS_NAME };
    *out        = calloc(params->count + 1, sizeof **out + NAME);
    char *names = *out == NULL ? NULL : (char *)(*out + params->count + 1);
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the names of %zu tensors",
                         params->count);
    for (size_t j = 0; j < params->count; j++, names += NAME) {
        lcsm_named_tensor *t = &(*out)[j];
        *t                   = tensor_as(params, j, params->list[j].type);
        if (t->element != LCSM_ELEMENT_U8) continue;
        blocks_name(names, t->name, params->list[j].type);
        t->name = names;
    }
    return LCSM_OK;
}

lcsm_status lcsm_model_tensors_of(lcsm_named_tensor **out, size_t *count, const lcsm_params *params,
                                  lcsm_tensors_part part, lcsm_error *err)
{
    lcsm_status st = lcsm_model_tensors(out, params, err);
    *count         = 0;
    for (size_t j = 0; st == LCSM_OK && j < params->count; j++) {
        bool trained = (params->list[j].flags & params->only) != 0;
        if (trained == (part == LCSM_TENSORS_TRAINED)) (*out)[(*count)++] = (*out)[j];
    }
    return st;
}

/* ---- weights from a file ---------------------------------------------------------------- */

static const char *label_of(const lcsm_weights *w)
{
    return w->shard_count > 0 ? w->shards[0].label : "the file";
}

static bool same_shape(const lcsm_named_tensor *a, const lcsm_named_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

/* What a file has of a parameter: as numbers under its name, or as blocks. */
static bool find_row(lcsm_named_tensor *out, lcsm_weight_type *type, const lcsm_weights *w,
                     const char *name)
{
    char with[LCSM_SAFETENSORS_NAME];
    *type = LCSM_WEIGHT_REAL;
    if (lcsm_weights_find(out, w, name)) {
        for (int j = LCSM_WEIGHT_F16; j <= LCSM_WEIGHT_BF16; j++)
            if (out->element == element_of(LCSM_F32, (lcsm_weight_type)j))
                *type = (lcsm_weight_type)j;
        return true;
    }
    for (size_t j = 0; j < COUNT(LEVELS); j++) {
        *type = LEVELS[j];
        blocks_name(with, name, *type);
        if (lcsm_weights_find(out, w, with)) return true;
    }
    return false;
}

/* Whether rows of a parameter are whole blocks, as they are in the file. */
static bool has_blocks(const lcsm_param *p, lcsm_weight_type type)
{
    size_t values = lcsm_weight_blocks(type)->values;
    return values == 1 || (p->shape.rank == 2 && (size_t)p->shape.dim[1] % values == 0);
}

static lcsm_status check_row(const lcsm_params *params, size_t row, const lcsm_weights *w,
                             unsigned may_miss, lcsm_error *err)
{
    lcsm_named_tensor want = tensor_of(params, row), have;
    lcsm_weight_type  type;
    char              a[LCSM_NAMED_TEXT], b[LCSM_NAMED_TEXT];
    bool              there = find_row(&have, &type, w, want.name);
    if (!there && (params->list[row].flags & may_miss) != 0) return LCSM_OK;
    if (!there)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is missing; expected %s", label_of(w),
                         want.name, lcsm_named_tensor_text(a, &want));
    if (!has_blocks(&params->list[row], type))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: tensor %s cannot be %s: its rows are not whole blocks of %zu",
                         label_of(w), want.name, lcsm_weight_name(type),
                         lcsm_weight_blocks(type)->values);
    want = tensor_as(params, row, type);
    if (!same_shape(&want, &have)
        || (want.element == LCSM_ELEMENT_U8 && have.element != LCSM_ELEMENT_U8))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is %s; expected %s", label_of(w),
                         have.name, lcsm_named_tensor_text(a, &have),
                         lcsm_named_tensor_text(b, &want));
    return LCSM_OK;
}

/* The row that a tensor of a file is of, or -1. */
static int row_of_name(const lcsm_params *params, const char *name)
{
    char  plain[LCSM_SAFETENSORS_NAME + 1];
    char *dot;
    int   row = lcsm_params_find(params, name);
    (void)snprintf(plain, sizeof plain, "%s", name);
    if (row >= 0 || (dot = strrchr(plain, '.')) == NULL) return row;
    for (size_t j = 0; j < COUNT(LEVELS); j++)
        if (strcmp(dot + 1, lcsm_weight_name(LEVELS[j])) == 0) {
            *dot = '\0';
            return lcsm_params_find(params, plain);
        }
    return -1;
}

/* Models of both directions of time used to store a constant of the graph. */
static bool was_constant(const char *name)
{
    static const char END[] = ".mixer.nothing_before";
    size_t            n     = strlen(name);
    return n >= sizeof END && strcmp(name + n - (sizeof END - 1), END) == 0;
}

/* Names and shapes, before anything of their size is allocated. */
static lcsm_status check_weights(const lcsm_params *params, const lcsm_weights *w,
                                 unsigned may_miss, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < params->count && st == LCSM_OK; j++)
        st = check_row(params, j, w, may_miss, err);
    for (size_t j = 0; j < w->count && st == LCSM_OK; j++) {
        lcsm_named_tensor t = lcsm_weights_at(w, j);
        if (row_of_name(params, t.name) < 0 && !was_constant(t.name))
            st = lcsm_fail(err, LCSM_ERR_FORMAT,
                           "%s: tensor %.80s is not one of this model's %zu parameters",
                           label_of(w), t.name, params->count);
    }
    return st;
}

/* The values of rows that lie in the block. */
static lcsm_status read_rows(lcsm_params *params, const lcsm_weights *weights, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < params->count; j++) {
        lcsm_named_tensor t;
        lcsm_weight_type  type;
        void             *to = lcsm_param_values(params, (int)j);
        if (params->list[j].at != NULL) continue;
        if (!find_row(&t, &type, weights, params->list[j].name)) continue;
        if (t.element == LCSM_ELEMENT_U8)
            lcsm_blocks_decode(to, lcsm_weight_blocks(type), t.data, params->list[j].count);
        else
            LCSM_OR_RETURN(params->dtype == LCSM_F32 ? lcsm_named_tensor_f32(to, &t, err)
                                                     : lcsm_named_tensor_f64(to, &t, err));
    }
    return st;
}

lcsm_status lcsm_model_take(lcsm_params *params, const lcsm_weights *weights, lcsm_error *err)
{
    LCSM_OR_RETURN(check_weights(params, weights, 0, err));
    params->blank = true;
    LCSM_OR_RETURN(lcsm_params_reserve(params, false, err));
    return read_rows(params, weights, err);
}

lcsm_status lcsm_model_take_base(lcsm_params *params, const lcsm_weights *weights, lcsm_error *err)
{
    LCSM_OR_RETURN(check_weights(params, weights, LCSM_PARAM_ADDED, err));
    return read_rows(params, weights, err);
}

/* Float32 where it lies aligned, and blocks where only ops read them that know blocks. */
static bool usable(const lcsm_param *p, const lcsm_named_tensor *t, lcsm_weight_type type)
{
    if (type != LCSM_WEIGHT_REAL)
        return (p->flags & LCSM_PARAM_STREAMED) != 0 && p->shape.rank == 2;
    return t->element == LCSM_ELEMENT_F32 && (uintptr_t)t->data % _Alignof(float) == 0;
}

lcsm_status lcsm_model_map(lcsm_params *params, const lcsm_context *ctx,
                           const lcsm_model_config *cfg, const lcsm_weights *weights,
                           lcsm_error *err)
{
    LCSM_OR_RETURN(check_weights(params, weights, 0, err));
    LCSM_OR_RETURN(lcsm_model_find_streamed(params, ctx, cfg, err));
    for (size_t j = 0; j < params->count; j++) {
        lcsm_named_tensor t;
        lcsm_weight_type  type;
        (void)find_row(&t, &type, weights, params->list[j].name);
        if (usable(&params->list[j], &t, type)) lcsm_params_place(params, (int)j, type, t.data);
    }
    params->blank = true;
    LCSM_OR_RETURN(lcsm_params_reserve(params, false, err));
    return read_rows(params, weights, err);
}

/* ---- config.json ------------------------------------------------------------------------ */

/* A pattern or a code takes the place of a method, and only what the model reads is said. */
static bool says(const lcsm_model_config *cfg, const char *key)
{
    static const char *const names[] = {"layers_pattern", "code", "method"};
    for (size_t j = 0; j < COUNT(names); j++)
        if (strcmp(key, names[j]) == 0) return strcmp(lcsm_model_config_kind(cfg), key) == 0;
    if (strcmp(key, "adapter") == 0) return cfg->adapter > 0; /* as before there were any */
    if (strcmp(key, "initial_memory") == 0) return cfg->initial_memory;
    return lcsm_model_config_reads(cfg, key);
}

static void drop_unsaid(const lcsm_model_config *cfg, json_t *object)
{
    for (size_t j = 0; j < LCSM_MODEL_KEYS.count; j++)
        if (!says(cfg, LCSM_MODEL_KEYS.rows[j].name))
            (void)json_object_del(object, LCSM_MODEL_KEYS.rows[j].name);
}

json_t *lcsm_model_config_json(const lcsm_model_config *cfg)
{
    json_t *o  = json_object();
    bool    ok = o != NULL && json_object_set_new(o, "model_type", json_string(MODEL_TYPE)) == 0
           && json_object_set_new(o, "format_version", json_integer(LCSM_CONFIG_VERSION)) == 0
           && lcsm_keys_write(&LCSM_MODEL_KEYS, cfg, o);
    if (ok) drop_unsaid(cfg, o);
    else json_decref(o);
    return ok ? o : NULL;
}

/* A released model has another model_type, and what to do with it. */
static lcsm_status check_type(const lcsm_json *root, lcsm_error *err)
{
    const char *type    = "";
    int64_t     version = 0;
    lcsm_status st      = LCSM_OK;
    LCSM_OR_RETURN(lcsm_json_get_text(&type, lcsm_json_need(root, "model_type"), err));
    if (strcmp(type, MODEL_TYPE) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: model_type is \"%.40s\"; expected \"%s\"; convert released models "
                         "with lcsm import",
                         root->doc->label, type, MODEL_TYPE);
    LCSM_OR_RETURN(
        lcsm_json_get_int(&version, lcsm_json_need(root, "format_version"), 0, INT64_MAX, err));
    if (version != LCSM_CONFIG_VERSION)
        st = lcsm_fail(err, LCSM_ERR_FORMAT, "%s: format_version is %lld; expected %d",
                       root->doc->label, (long long)version, LCSM_CONFIG_VERSION);
    return st;
}

lcsm_status lcsm_model_config_load(lcsm_model_config *cfg, const char *folder, lcsm_error *err)
{
    lcsm_status   st;
    lcsm_json_doc doc = {0};
    char          path[LCSM_PATH_MAX];
    lcsm_model_config_defaults(cfg);
    LCSM_TRY(lcsm_run_config(path, folder, err));
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    if (!json_is_object(doc.root)) LCSM_TRY(lcsm_json_fail(&root, err, "an object"));
    LCSM_TRY(check_type(&root, err));
    LCSM_TRY(lcsm_keys_pick(&LCSM_MODEL_KEYS, cfg, doc.root, path, err));
    if (cfg->code[0] != '\0') memcpy(cfg->method, "code", sizeof "code");
    LCSM_TRY(lcsm_model_config_check(cfg, err));
cleanup:
    lcsm_json_doc_free(&doc);
    return lcsm_file_fault(st, err);
}

/* ---- models ----------------------------------------------------------------------------- */

lcsm_status lcsm_model_wrap(lcsm_model **out, const lcsm_context *ctx, const lcsm_model_config *cfg,
                            lcsm_params *params, lcsm_error *err)
{
    lcsm_model *m  = calloc(1, sizeof *m);
    lcsm_status st = lcsm_params_reserve(params, false, err);
    *out           = NULL;
    if (m == NULL) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a model");
    if (m == NULL || st != LCSM_OK) {
        free(m);
        lcsm_params_free(params);
        return st;
    }
    *m           = (lcsm_model){.ctx = ctx, .cfg = *cfg, .params = params};
    m->cfg.vocab = lcsm_model_config_vocab(cfg, 0);
    *out         = m;
    return LCSM_OK;
}

lcsm_status lcsm_model_create(lcsm_model **out, const lcsm_context *ctx,
                              const lcsm_model_config *cfg, uint64_t seed, lcsm_error *err)
{
    lcsm_params *params;
    *out           = NULL;
    lcsm_status st = lcsm_model_list(&params, ctx, cfg, seed, err);
    return st == LCSM_OK ? lcsm_model_wrap(out, ctx, cfg, params, err) : st;
}

void lcsm_model_free(lcsm_model *model)
{
    if (model == NULL) return;
    lcsm_params_free(model->params);
    lcsm_weights_close(&model->weights);
    free(model->settled);
    free(model);
}

lcsm_status lcsm_model_load_with(lcsm_model **out, const lcsm_context *ctx, const char *folder,
                                 const lcsm_model_load_options *options, lcsm_error *err)
{
    lcsm_status             st;
    lcsm_weights            weights = {0};
    lcsm_params            *params  = NULL;
    lcsm_model             *model   = NULL;
    lcsm_model_config       cfg;
    lcsm_model_load_options o;
    *out = NULL;
    LCSM_TRY(LCSM_TAKE(lcsm_model_load_options, weights, &o, options, err));
    LCSM_TRY(lcsm_model_config_load(&cfg, folder, err));
    LCSM_TRY(lcsm_weights_open(&weights, folder, 0, err));
    LCSM_TRY(lcsm_model_list(&params, ctx, &cfg, 0, err));
    LCSM_TRY(lcsm_model_map(params, ctx, &cfg, &weights, err));
    st     = lcsm_model_wrap(&model, ctx, &cfg, params, err);
    params = NULL;
    LCSM_TRY(st);
    model->weights = weights;
    weights        = (lcsm_weights){0};
    if (o.weights != NULL) LCSM_TRY(lcsm_model_pack(model, o.weights, err));
    lcsm_model_settle(model);
    *out  = model;
    model = NULL;
cleanup:
    lcsm_model_free(model);
    lcsm_params_free(params);
    lcsm_weights_close(&weights);
    return st;
}

lcsm_status lcsm_model_load(lcsm_model **out, const lcsm_context *ctx, const char *folder,
                            lcsm_error *err)
{
    return lcsm_model_load_with(out, ctx, folder, NULL, err);
}

lcsm_status lcsm_model_pack(lcsm_model *model, const char *weights, lcsm_error *err)
{
    lcsm_weight_type type;
    lcsm_status      st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_weight_find(&type, weights, err));
    LCSM_OR_RETURN(lcsm_model_find_streamed(model->params, model->ctx, &model->cfg, err));
    LCSM_OR_RETURN(lcsm_params_pack(model->params, type, model->ctx->pool, err));
    for (size_t j = 0; j < model->weights.shard_count; j++)
        lcsm_file_release(&model->weights.shards[j].file);
    lcsm_model_unsettle(model);
    return st;
}

lcsm_status lcsm_model_store(const char *folder, json_t *config, const lcsm_params *params,
                             lcsm_error *err)
{
    lcsm_status        st;
    lcsm_named_tensor *tensors = NULL;
    lcsm_json_writer   w       = lcsm_json_writer_pretty();
    if (config == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its config", folder);
    lcsm_json_put_value(&w, NULL, config);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    lcsm_run_file json = {
        .name = LCSM_RUN_CONFIG, .bytes = lcsm_strbuf_text(&w.text), .size = w.text.size};
    lcsm_run_file file = {.name = LCSM_RUN_MODEL, .count = params->count};
    LCSM_TRY(lcsm_folder_make(folder, err));
    LCSM_TRY(lcsm_run_store(folder, &json, err));
    LCSM_TRY(lcsm_model_tensors(&tensors, params, err));
    file.tensors = tensors;
    LCSM_TRY(lcsm_run_store(folder, &file, err));
cleanup:
    free(tensors);
    lcsm_json_writer_free(&w);
    return st;
}

/* Of the values one after the other, as a list has them whose rows all lie in its block. */
static void sha256_of_values(char text[LCSM_SHA256_TEXT], const lcsm_params *p)
{
    static const char GAP[LCSM_ALIGN];
    lcsm_sha256_sum   sum = lcsm_sha256_begin();
    for (size_t j = 0; j < p->count; j++) {
        size_t bytes = lcsm_param_bytes(p, (int)j);
        lcsm_sha256_add(&sum, lcsm_param_values(p, (int)j), bytes);
        lcsm_sha256_add(&sum, GAP, (LCSM_ALIGN - bytes % LCSM_ALIGN) % LCSM_ALIGN);
    }
    lcsm_sha256_end(text, &sum);
}

/* Of the settings as text, the SHA-256 of the values, and every name. */
lcsm_status lcsm_model_sha256(char text[LCSM_SHA256_TEXT], const lcsm_model *model, lcsm_error *err)
{
    const lcsm_params *p      = model->params;
    json_t            *config = lcsm_model_config_json(&model->cfg);
    char              *dump   = config != NULL ? json_dumps(config, JSON_COMPACT) : NULL;
    lcsm_strbuf        all    = {0};
    sha256_of_values(text, p);
    lcsm_strbuf_add(&all, dump != NULL ? dump : "");
    lcsm_strbuf_add(&all, text);
    for (size_t j = 0; j < p->count; j++) lcsm_strbuf_printf(&all, "%s\n", p->list[j].name);
    bool ok = dump != NULL && !all.failed;
    lcsm_sha256(text, lcsm_strbuf_text(&all), ok ? all.size : 0);
    lcsm_strbuf_free(&all);
    free(dump);
    json_decref(config);
    return ok ? LCSM_OK
              : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a model's checksum");
}

lcsm_status lcsm_model_save(const lcsm_model *model, const char *folder, lcsm_error *err)
{
    json_t     *config = lcsm_model_config_json(&model->cfg);
    lcsm_status st     = lcsm_model_store(folder, config, model->params, err);
    json_decref(config);
    return st;
}

const lcsm_model_config *lcsm_model_config_of(const lcsm_model *model)
{
    return &model->cfg;
}

size_t lcsm_model_param_count(const lcsm_model *model)
{
    return lcsm_params_total(model->params);
}

size_t lcsm_model_weight_bytes(const lcsm_model *model)
{
    return lcsm_params_bytes(model->params);
}
