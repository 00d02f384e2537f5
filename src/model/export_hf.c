/*
 * export_hf.c - a model as a folder of transformers or fla: config.json and model.safetensors.
 *
 * The config and the tensors come from the rows that import reads by, and are read back by them
 * before anything is written. What comes back with another setting is not written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "format/json_doc.h"
#include "format/run_folder.h"
#include "format/safetensors.h"
#include "model/import.h"
#include "model/model_weights.h"
#include "model/pattern.h"

enum { KIND = 64 }; /* bytes of a release's name */

typedef struct {
    const lcsm_model         *model;
    const lcsm_export_format *format;
    const lcsm_release       *release;
    lcsm_export_plan          plan;
    double                    scale; /* that goes into the embedding */
    lcsm_export_tensors       tensors;
} writer;

/* ---- settings --------------------------------------------------------------------------- */

/* What settings of 0 or "auto" stand for in every model. */
static void settle(writer *w)
{
    lcsm_model_config *c = &w->plan.cfg;
    const lcsm_params *p = w->model->params;
    lcsm_model_config  own;
    c->layers = lcsm_model_config_layers(c);
    if (c->norm == LCSM_BLOCK_NORM_AUTO)
        c->norm = lcsm_params_find(p, "norm.bias") >= 0   ? LCSM_BLOCK_NORM_LAYER
                : lcsm_params_find(p, "norm.weight") >= 0 ? LCSM_BLOCK_NORM_RMS
                                                          : LCSM_BLOCK_NORM_SIMPLE;
    if (c->norm_eps == 0) c->norm_eps = c->norm == LCSM_BLOCK_NORM_LAYER ? 1e-5 : 1e-6;
    if (c->final_norm_eps == 0) c->final_norm_eps = c->norm_eps;
    if (c->mixer_eps == 0) c->mixer_eps = w->format->mixer_eps;
    if (lcsm_pattern_layer(&own, c, 0, 0)) c->channel_mixer = (int)lcsm_model_config_channel(&own);
    for (size_t j = 0; j < p->count && c->hidden == 0; j++)
        if (strstr(p->list[j].name, ".channel.w1.weight") != NULL)
            c->hidden = p->list[j].shape.dim[0];
}

/* The embedding with its scale in it; a tied one then needs a head of its own. */
static void scale_embedding(writer *w)
{
    lcsm_model_config *c   = &w->plan.cfg;
    double             own = c->embed_scale > 0 ? c->embed_scale : sqrt((double)c->d_model);
    w->scale       = fabs(own - w->plan.embed_scale) <= 1e-9 * own ? 1 : own / w->plan.embed_scale;
    c->embed_scale = w->plan.embed_scale;
    if (w->scale != 1) c->tied = false;
}

/* Numbers that configs have without a fraction. */
static bool is_whole(const char *key, double x)
{
    static const char *const WHOLE[] = {"inner_ratio", "slot_tau"};
    for (size_t j = 0; j < COUNT(WHOLE); j++)
        if (strcmp(WHOLE[j], key) == 0) return x == floor(x);
    return false;
}

static json_t *value_of(const lcsm_model_config *c, const lcsm_key *key)
{
    double x = lcsm_keys_number(&LCSM_MODEL_KEYS, c, key->name);
    if (key->type == LCSM_SETTING_BOOL) return json_boolean(x != 0);
    if (key->type == LCSM_SETTING_INT || is_whole(key->name, x)) return json_integer((json_int_t)x);
    return json_real(x);
}

/* The only value that a key may have, as a word of the table says it. */
static json_t *only_of(const char *word)
{
    size_t n = strcspn(word, "|");
    if (n == 4 && memcmp(word, "true", n) == 0) return json_true();
    if (n == 5 && memcmp(word, "false", n) == 0) return json_false();
    if (n == 1 && *word == '1') return json_integer(1);
    return n > 0 ? json_stringn(word, n) : NULL;
}

static void put_key(writer *w, const lcsm_import_key *row)
{
    char         name[LCSM_KEY_TEXT_SIZE];
    json_t      *config = w->plan.config;
    const size_t n      = strcspn(row->theirs, "|");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, row->theirs);
    if (json_object_get(config, name) != NULL) return;
    const lcsm_key *key   = row->ours != NULL ? lcsm_keys_find(&LCSM_MODEL_KEYS, row->ours) : NULL;
    json_t         *value = key != NULL       ? value_of(&w->plan.cfg, key)
                          : row->only != NULL ? only_of(row->only)
                                              : NULL;
    if (value != NULL) (void)json_object_set_new(config, name, value);
}

static void put_keys(writer *w)
{
    const lcsm_release *r      = w->release;
    json_t             *config = w->plan.config;
    for (size_t j = LCSM_IMPORT_LISTS; j-- > 0;) /* the last of a key counts in import */
        for (const lcsm_import_key *row = r->keys[j]; row != NULL && row->theirs != NULL; row++)
            put_key(w, row);
    (void)json_object_set_new(config, "architectures", json_pack("[s]", r->architecture));
    (void)json_object_set_new(config, "model_type", json_string(r->model_type));
    (void)json_object_set_new(config, "eos_token_id",
                              w->plan.cfg.eos_token_id >= 0
                                  ? json_integer((json_int_t)w->plan.cfg.eos_token_id)
                                  : json_null());
    (void)json_object_set_new(config, "bos_token_id", json_null()); /* not those of a default */
    (void)json_object_set_new(config, "pad_token_id", json_null());
}

/* ---- the way back ----------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_named_tensor *)a)->name, ((const lcsm_named_tensor *)b)->name);
}

/* What import would see; the caller frees list and used. */
static lcsm_status open_source(lcsm_import_source *src, const writer *w, lcsm_error *err)
{
    const lcsm_export_tensors *t = &w->tensors;
    *src                         = (lcsm_import_source){.ctx     = w->model->ctx,
                                                        .options = {.allow_nonfinite = true},
                                                        .label   = w->release->kind,
                                                        .place   = w->release->kind,
                                                        .config  = w->plan.config,
                                                        .count   = t->count};
    src->list                    = calloc(t->count + 1, sizeof *src->list);
    src->used                    = calloc(t->count + 1, sizeof *src->used);
    if (src->list == NULL || src->used == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu names", t->count);
    memcpy(src->list, t->list, t->count * sizeof *src->list);
    qsort(src->list, src->count, sizeof *src->list, by_name);
    return LCSM_OK;
}

static void close_source(lcsm_import_source *src)
{
    free(src->list);
    free(src->used);
}

static lcsm_status read_back(lcsm_import_plan *back, lcsm_import_source *src, const writer *w,
                             lcsm_error *err)
{
    *back = (lcsm_import_plan){0};
    lcsm_model_config_defaults(&back->cfg);
    LCSM_OR_RETURN(lcsm_import_settings(back, src, w->release, err));
    return w->release->finish != NULL ? w->release->finish(back, src, err) : LCSM_OK;
}

/* Where the parts of tensors are, from a config and the tensors that have none. */
static lcsm_status find_parts(lcsm_import_plan *out, writer *w, lcsm_error *err)
{
    lcsm_import_source src   = {0};
    lcsm_import_plan   plain = {.cfg = w->plan.cfg};
    lcsm_status        st;
    LCSM_TRY(lcsm_export_tensors_make(&w->tensors, w->model, w->release, &plain, false, 1, err));
    LCSM_TRY(open_source(&src, w, err));
    LCSM_TRY(read_back(out, &src, w, err));
cleanup:
    close_source(&src);
    lcsm_export_tensors_free(&w->tensors);
    return st;
}

static lcsm_status other_setting(const writer *w, const char *key, const char *has,
                                 const char *gives, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is %.40s in this model, but %.40s in %s", key, has,
                     gives, w->release->kind);
}

/* Settings of training, of text, or of a length; and those that are compared in another way. */
static bool is_free(const char *key)
{
    static const char *const FREE[] = {
        "dropout",       "vocab",          "max_length",    "method",           "o_trained",
        "channel_mixer", "o_learned",      "memory_type",   "o_init",           "theta_init",
        "mixer_eps",     "final_norm_eps", "adapter_scale", "adapter_matrices", "layers_pattern",
        "eos_token_id",  "hidden"};
    for (size_t j = 0; j < COUNT(FREE); j++)
        if (strcmp(FREE[j], key) == 0) return true;
    return false;
}

static bool same_value(const lcsm_key *key, const lcsm_model_config *a, const lcsm_model_config *b)
{
    if (lcsm_key_same(key, a, b)) return true;
    if (key->type != LCSM_SETTING_REAL) return false;
    double x = lcsm_keys_number(&LCSM_MODEL_KEYS, a, key->name);
    double y = lcsm_keys_number(&LCSM_MODEL_KEYS, b, key->name);
    return fabs(x - y) <= 1e-6 * fabs(x);
}

/* Each layer is of the same method, with the same channel mixer. */
static lcsm_status same_layers(const writer *w, const lcsm_model_config *back, lcsm_error *err)
{
    const lcsm_model_config *cfg = &w->plan.cfg;
    for (ptrdiff_t j = 0; j < cfg->layers; j++) {
        lcsm_model_config a, b, none;
        if (!lcsm_pattern_layer(&a, cfg, j, 0) || !lcsm_pattern_layer(&b, back, j, 0)
            || lcsm_pattern_layer(&none, cfg, j, 1) || strcmp(a.method, b.method) != 0)
            return other_setting(w, "the order of layers", lcsm_model_config_name(cfg),
                                 lcsm_model_config_name(back), err);
        if (lcsm_model_config_channel(&a) != lcsm_model_config_channel(&b))
            return lcsm_fail(err, LCSM_ERR_CONFIG,
                             "%s does not have the channel mixer of this model", w->release->kind);
    }
    return LCSM_OK;
}

static void warn_eps(const writer *w, const char *what, double own, double theirs)
{
    if (fabs(own - theirs) > 1e-6 * own)
        lcsm_log(&w->model->ctx->log, LCSM_LOG_WARNING, "%s has the eps %g; in %s it is %g", what,
                 own, w->release->kind, theirs);
}

static lcsm_status same_settings(const writer *w, const lcsm_model_config *back, lcsm_error *err)
{
    const lcsm_model_config *c  = &w->plan.cfg;
    lcsm_status              st = same_layers(w, back, err);
    for (size_t j = 0; j < LCSM_MODEL_KEYS.count && st == LCSM_OK; j++) {
        const lcsm_key *key = &LCSM_MODEL_KEYS.rows[j];
        char            a[LCSM_KEY_TEXT_SIZE], b[LCSM_KEY_TEXT_SIZE];
        if (is_free(key->name) || !lcsm_model_config_reads(c, key->name)
            || same_value(key, c, back))
            continue;
        (void)lcsm_keys_get(&LCSM_MODEL_KEYS, c, key->name, a, sizeof a, NULL);
        (void)lcsm_keys_get(&LCSM_MODEL_KEYS, back, key->name, b, sizeof b, NULL);
        st = other_setting(w, key->name, a, b, err);
    }
    if (st != LCSM_OK) return st;
    double last = back->final_norm_eps > 0 ? back->final_norm_eps : back->norm_eps;
    warn_eps(w, "the last norm", c->final_norm_eps, last);
    if (c->mixer_eps > 0 && back->mixer_eps > 0)
        warn_eps(w, "the norm inside the mixers", c->mixer_eps, back->mixer_eps);
    return LCSM_OK;
}

/* Import finds every tensor in its shape, and the same settings. */
static lcsm_status check_back(const writer *w, lcsm_error *err)
{
    lcsm_import_source src = {0};
    lcsm_import_plan   back;
    lcsm_status        st;
    LCSM_TRY(open_source(&src, w, err));
    LCSM_TRY(read_back(&back, &src, w, err));
    lcsm_export_settle_attention(&back.cfg);
    LCSM_TRY(same_settings(w, &back.cfg, err));
    LCSM_TRY(lcsm_import_check_tensors(&src, &back, w->release, err));
cleanup:
    close_source(&src);
    return st;
}

/* ---- one format ------------------------------------------------------------------------- */

static void writer_free(writer *w)
{
    lcsm_export_tensors_free(&w->tensors);
    json_decref(w->plan.config);
    *w = (writer){0};
}

static lcsm_status restore(writer *w, lcsm_error *err)
{
    w->plan = (lcsm_export_plan){
        .config = json_object(), .cfg = w->model->cfg, .model = w->model, .embed_scale = 1};
    if (w->plan.config == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a config");
    settle(w);
    const char *lacks = w->format->restore(&w->plan);
    if (lacks != NULL)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s does not have %s", w->release->kind, lacks);
    scale_embedding(w);
    put_keys(w);
    return LCSM_OK;
}

/* All that is written, or why the format cannot say it. */
static lcsm_status compose(writer *w, const lcsm_model *model, const lcsm_export_format *format,
                           lcsm_error *err)
{
    lcsm_import_plan parts;
    lcsm_status      st;
    *w = (writer){
        .model = model, .format = format, .release = lcsm_release_find(format->architecture)};
    LCSM_TRY(restore(w, err));
    LCSM_TRY(find_parts(&parts, w, err));
    LCSM_TRY(lcsm_export_tensors_make(&w->tensors, model, w->release, &parts, true, w->scale, err));
    LCSM_TRY(check_back(w, err));
cleanup:
    if (st != LCSM_OK) writer_free(w);
    return st;
}

/* ---- which format ----------------------------------------------------------------------- */

/* Whether the model has layers of that method, or attention in a hybrid. */
static bool suits(const lcsm_export_format *f, const lcsm_model_config *cfg)
{
    lcsm_model_config own;
    bool              some = false;
    for (ptrdiff_t j = 0; j < lcsm_model_config_layers(cfg); j++) {
        if (!lcsm_pattern_layer(&own, cfg, j, 0) || own.code[0] != 0) return false;
        bool is = strcmp(own.method, f->method) == 0;
        if (!is && !(f->hybrid && strcmp(own.method, "attention") == 0)) return false;
        some = some || is;
    }
    return some;
}

static lcsm_status check_model(const lcsm_model *m, lcsm_error *err)
{
    const char *what = NULL;
    if (m->cfg.adapter > 0) what = "adapters; lcsm merge makes them part of the matrices";
    if (m->cfg.initial_memory) what = "an initial memory, which no format has";
    if (m->cfg.bidirectional) what = "both directions of time, which no format has";
    return what == NULL ? LCSM_OK : lcsm_fail(err, LCSM_ERR_CONFIG, "the model has %s", what);
}

/* The release that a run was imported from, or "". */
static void read_origin(char kind[KIND], const char *run)
{
    lcsm_json_doc doc = {0};
    char          path[LCSM_PATH_MAX];
    kind[0] = '\0';
    if (run == NULL || lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) != LCSM_OK
        || lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, NULL) != LCSM_OK)
        return;
    const char *text = json_string_value(json_object_get(doc.root, "imported_from"));
    if (text != NULL) (void)snprintf(kind, KIND, "%s", text);
    lcsm_json_doc_free(&doc);
}

static bool is_origin(const lcsm_export_format *f, const char *origin)
{
    return strcmp(lcsm_release_find(f->architecture)->kind, origin) == 0;
}

/* The format that the model came from, or the first that can say it; the first one says why not. */
static lcsm_status choose(writer *w, const lcsm_model *model, const char *origin, lcsm_error *err)
{
    lcsm_error   first = {0}, why = {0};
    const size_t n  = LCSM_EXPORT_FORMAT_COUNT;
    lcsm_status  st = check_model(model, err);
    if (st != LCSM_OK) return st;
    for (size_t j = 0; j < 2 * n; j++) {
        const lcsm_export_format *f = &LCSM_EXPORT_FORMATS[j < n ? j : j - n];
        if (is_origin(f, origin) != (j < n) || !suits(f, &model->cfg)) continue;
        st = compose(w, model, f, &why);
        if (st == LCSM_OK || st == LCSM_ERR_MEMORY) return st;
        if (first.status == LCSM_OK) first = why;
    }
    if (first.status != LCSM_OK) return lcsm_fail(err, LCSM_ERR_CONFIG, "%s", first.text);
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "%s has no format of transformers or fla; lcsm export --help lists the "
                     "methods that have one",
                     lcsm_model_config_name(&model->cfg));
}

/* ---- files ------------------------------------------------------------------------------ */

static const struct {
    const char      *name, *torch;
    lcsm_weight_type type;
    lcsm_element     element;
} TYPES[] = {{"f32", "float32", LCSM_WEIGHT_REAL, LCSM_ELEMENT_F32},
             {"f16", "float16", LCSM_WEIGHT_F16, LCSM_ELEMENT_F16},
             {"bf16", "bfloat16", LCSM_WEIGHT_BF16, LCSM_ELEMENT_BF16}};

static lcsm_status find_type(size_t *out, const char *name, lcsm_error *err)
{
    for (*out = 0; *out < COUNT(TYPES); ++*out)
        if (strcmp(TYPES[*out].name, name) == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "\"%.40s\" is not a type; expected f32, f16 or bf16",
                     name);
}

/* Every tensor in 16 bits, in place of its float32 numbers. */
static lcsm_status narrow(lcsm_export_tensors *t, size_t type, lcsm_error *err)
{
    const lcsm_block_type *b = lcsm_weight_blocks(TYPES[type].type);
    for (size_t j = 0; j < t->count && TYPES[type].element != LCSM_ELEMENT_F32; j++) {
        size_t count = 0, bytes;
        (void)lcsm_named_tensor_measure(&t->list[j], &count, &bytes);
        unsigned char *to = malloc(count * b->bytes + 1);
        if (to == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for tensor %s", t->names[j]);
        lcsm_blocks_encode(to, b, t->list[j].data, count);
        free(t->values[j]);
        t->values[j]       = (float *)(void *)to;
        t->list[j].data    = to;
        t->list[j].element = TYPES[type].element;
    }
    return LCSM_OK;
}

static lcsm_status write_text(const char *folder, const char *name, json_t *text, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    char       *bytes = json_dumps(text, JSON_INDENT(2) | JSON_SORT_KEYS);
    lcsm_status st    = lcsm_path_join(path, folder, name, err);
    if (bytes == NULL) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", name);
    if (st == LCSM_OK) st = lcsm_file_write_atomic(path, bytes, strlen(bytes), err);
    free(bytes);
    return st;
}

/* What the run has of its tokenizer, as it is; the class that reads any tokenizer.json, where the
 * run does not say one. */
static lcsm_status copy_texts(const char *to, const char *run, lcsm_error *err)
{
    static const char *const NAMES[]           = {LCSM_RUN_TOKENIZER, "chat_template.jinja",
                                                  "tokenizer_config.json"};
    bool                     has[COUNT(NAMES)] = {false};
    char                     from[LCSM_PATH_MAX], path[LCSM_PATH_MAX];
    for (size_t j = 0; j < COUNT(NAMES) && run != NULL; j++) {
        lcsm_file file = {0};
        LCSM_OR_RETURN(lcsm_path_join(from, run, NAMES[j], err));
        LCSM_OR_RETURN(lcsm_path_join(path, to, NAMES[j], err));
        if (!lcsm_path_exists(from)) continue;
        has[j]         = true;
        lcsm_status st = lcsm_file_read(&file, from, LCSM_JSON_LARGE_SIZE, err);
        if (st == LCSM_OK) st = lcsm_file_write_atomic(path, file.data, file.size, err);
        lcsm_file_close(&file);
        LCSM_OR_RETURN(st);
    }
    if (!has[0] || has[2]) return LCSM_OK;
    json_t     *own = json_pack("{s:s}", "tokenizer_class", "PreTrainedTokenizerFast");
    lcsm_status st  = write_text(to, NAMES[2], own, err);
    json_decref(own);
    return st;
}

static lcsm_status store(const writer *w, const char *folder, const char *run, size_t type,
                         lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    (void)json_object_set_new(w->plan.config, "torch_dtype", json_string(TYPES[type].torch));
    LCSM_OR_RETURN(lcsm_folder_make(folder, err));
    LCSM_OR_RETURN(lcsm_path_join(path, folder, LCSM_RUN_MODEL, err));
    LCSM_OR_RETURN(lcsm_safetensors_save(path, w->tensors.list, w->tensors.count, NULL, 0, err));
    LCSM_OR_RETURN(copy_texts(folder, run, err));
    return write_text(folder, LCSM_RUN_CONFIG, w->plan.config, err);
}

lcsm_status lcsm_export_hf(const lcsm_model *model, const char *folder, const char *run,
                           const char *type, char kind[64], lcsm_error *err)
{
    writer      w = {0};
    size_t      t;
    char        path[LCSM_PATH_MAX], origin[KIND];
    lcsm_status st;
    LCSM_TRY(find_type(&t, type != NULL ? type : "f32", err));
    LCSM_TRY(lcsm_path_join(path, folder, LCSM_RUN_CONFIG, err));
    if (lcsm_path_exists(path))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_IO, "%s already exists: use another folder", path));
    read_origin(origin, run);
    LCSM_TRY(choose(&w, model, origin, err));
    LCSM_TRY(narrow(&w.tensors, t, err));
    LCSM_TRY(store(&w, folder, run, t, err));
    if (kind != NULL) (void)snprintf(kind, 64, "%s", w.release->kind);
cleanup:
    writer_free(&w);
    return st;
}
