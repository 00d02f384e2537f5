/* import.c - which importer, the tensors by their rules, and the run folder. */
#include "model/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/sized.h"
#include "format/run_folder.h"
#include "model/model_graph.h"
#include "model/model_weights.h"

/* ---- which importer --------------------------------------------------------------------- */

static const struct {
    const char     *architecture, *model_type;
    lcsm_import_fn *import;
} ARCHITECTURES[] = {
    {"MambaForCausalLM", "mamba", lcsm_import_mamba},
    {"RwkvForCausalLM", "rwkv", lcsm_import_rwkv4},
};

/* Settings that would change the arithmetic. */
static const struct {
    const char *key, *means;
} REFUSED[] = {
    {"attn", "a hybrid model with attention layers"},
    {"attnres_block_size", "a model with attention over residuals"},
    {"quantization_config", "a quantised model"},
};

static lcsm_status check_refused(const lcsm_import_source *src, lcsm_error *err)
{
    for (size_t j = 0; j < COUNT(REFUSED); j++)
        if (json_object_get(src->config, REFUSED[j].key) != NULL)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is set: %s is not supported", src->place,
                             REFUSED[j].key, REFUSED[j].means);
    return LCSM_OK;
}

/* The first of "architectures", or NULL; not a text is an error. */
static lcsm_status read_architecture(const char **out, const lcsm_import_source *src,
                                     lcsm_error *err)
{
    json_t *list = json_object_get(src->config, "architectures");
    *out         = NULL;
    if (list == NULL) return LCSM_OK;
    *out = json_string_value(json_array_get(list, 0));
    if (*out != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: architectures is not a list of strings",
                     src->place);
}

/* The original package writes no name, but always these. */
static bool is_original_mamba(const json_t *config)
{
    return json_object_get(config, "n_layer") != NULL && json_object_get(config, "d_model") != NULL;
}

static lcsm_status choose(lcsm_import_fn **out, const lcsm_import_source *src, lcsm_error *err)
{
    const char *architecture, *type = NULL;
    json_t     *model_type = json_object_get(src->config, "model_type");
    lcsm_status st         = read_architecture(&architecture, src, err);
    *out                   = lcsm_import_mamba_original; /* its config names nothing */
    if (st != LCSM_OK) return st;
    if (model_type != NULL && (type = json_string_value(model_type)) == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: model_type is not a string", src->place);
    if (architecture == NULL && type == NULL) {
        if (is_original_mamba(src->config)) return LCSM_OK;
        return lcsm_import_unsupported(src->place, NULL, NULL, err);
    }
    for (size_t j = 0; j < COUNT(ARCHITECTURES); j++) {
        if (strcmp(architecture != NULL ? ARCHITECTURES[j].architecture
                                        : ARCHITECTURES[j].model_type,
                   architecture != NULL ? architecture : type)
            != 0)
            continue;
        if (type != NULL && strcmp(ARCHITECTURES[j].model_type, type) != 0)
            return lcsm_import_unsupported(src->place, "model_type", type, err);
        *out = ARCHITECTURES[j].import;
        return LCSM_OK;
    }
    return lcsm_import_unsupported(src->place, architecture != NULL ? "architecture" : "model_type",
                                   architecture != NULL ? architecture : type, err);
}

/* ---- what importers share --------------------------------------------------------------- */

static bool listed(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

lcsm_status lcsm_import_keys(const lcsm_import_source *src, json_t *object, const lcsm_keys *keys,
                             const char *const *ignored, void *settings, lcsm_error *err)
{
    const char *name;
    json_t     *value;
    lcsm_keys_defaults(keys, settings);
    lcsm_status st = lcsm_keys_pick(keys, settings, object, src->place, err);
    if (st != LCSM_OK) return st;
    json_object_foreach(object, name, value)
    {
        if (lcsm_keys_find(keys, name) == NULL && !listed(ignored, name))
            lcsm_log(&src->ctx->log, LCSM_LOG_INFO, "%s: unknown key %s is not used", src->place,
                     name);
    }
    return LCSM_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_named_tensor *)a)->name, ((const lcsm_named_tensor *)b)->name);
}

size_t lcsm_import_find(const lcsm_import_source *src, const char *name)
{
    lcsm_named_tensor  key   = {.name = name};
    lcsm_named_tensor *found = bsearch(&key, src->list, src->count, sizeof key, by_name);
    return found != NULL ? (size_t)(found - src->list) : SIZE_MAX;
}

static bool equal(const lcsm_named_tensor *a, const lcsm_named_tensor *b)
{
    size_t count, a_bytes, b_bytes;
    return lcsm_named_tensor_measure(a, &count, &a_bytes)
        && lcsm_named_tensor_measure(b, &count, &b_bytes) && a->element == b->element
        && a_bytes == b_bytes && memcmp(a->data, b->data, a_bytes) == 0;
}

lcsm_status lcsm_import_head(lcsm_import_source *src, const char *embedding, const char *head,
                             bool says_tied, bool *tied, lcsm_error *err)
{
    size_t e = lcsm_import_find(src, embedding), h = lcsm_import_find(src, head);
    *tied = says_tied;
    if (h == SIZE_MAX && !says_tied)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: tensor %s is missing, and the config does not tie it to %s",
                         src->label, head, embedding);
    if (h == SIZE_MAX || e == SIZE_MAX || !says_tied) return LCSM_OK;
    if (equal(&src->list[e], &src->list[h])) {
        src->used[h] = true;
        return LCSM_OK;
    }
    lcsm_log(&src->ctx->log, LCSM_LOG_WARNING,
             "%s: %s differs from %s although the config ties them; the head is used as it is",
             src->label, head, embedding);
    *tied = false;
    return LCSM_OK;
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* "{i}" replaced by the layer. */
static void expand(char out[LCSM_SAFETENSORS_NAME], const char *pattern, int layer)
{
    const char *at = strstr(pattern, "{i}");
    if (at == NULL) (void)snprintf(out, LCSM_SAFETENSORS_NAME, "%s", pattern);
    else
        (void)snprintf(out, LCSM_SAFETENSORS_NAME, "%.*s%d%s", (int)(at - pattern), pattern, layer,
                       at + 3);
}

/* The shape that a tensor of theirs must have to become this one of ours. */
static lcsm_named_tensor their_shape(const lcsm_param *p, lcsm_take how, const char *name)
{
    size_t            a = (size_t)p->shape.dim[0], b = (size_t)p->shape.dim[1];
    lcsm_named_tensor t = {.name = name, .rank = (size_t)p->shape.rank};
    if (how == LCSM_TAKE_COLUMNS)
        return (lcsm_named_tensor){.name = name, .rank = 2, .shape = {b, a}};
    if (how == LCSM_TAKE_CHANNELS)
        return (lcsm_named_tensor){.name = name, .rank = 3, .shape = {a, 1, b}};
    if (how == LCSM_TAKE_VECTOR)
        return (lcsm_named_tensor){.name = name, .rank = 3, .shape = {1, 1, a}};
    for (size_t j = 0; j < t.rank; j++) t.shape[j] = (size_t)p->shape.dim[j];
    return t;
}

static lcsm_status check_tensor(const lcsm_import_source *src, const lcsm_named_tensor *want,
                                size_t at, lcsm_error *err)
{
    char                     a[LCSM_NAMED_TEXT], b[LCSM_NAMED_TEXT];
    lcsm_named_tensor        shown = *want;
    const lcsm_named_tensor *have  = at != SIZE_MAX ? &src->list[at] : NULL;
    shown.element                  = have != NULL ? have->element : LCSM_ELEMENT_F32;
    if (have == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is missing; expected %s", src->label,
                         want->name, lcsm_named_tensor_text(a, &shown));
    if (have->rank != want->rank
        || memcmp(have->shape, want->shape, want->rank * sizeof want->shape[0]) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is %s; expected %s", src->label,
                         want->name, lcsm_named_tensor_text(a, have),
                         lcsm_named_tensor_text(b, &shown));
    return LCSM_OK;
}

static lcsm_status check_finite(const lcsm_import_source *src, const lcsm_named_tensor *t,
                                lcsm_error *err)
{
    size_t bad = src->options.allow_nonfinite ? 0 : lcsm_named_tensor_nonfinite(t);
    lcsm_file_release(t->file);
    if (bad == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_NUMBER,
                     "%s: %zu numbers of tensor %s are NaN or infinite; --allow-nonfinite accepts "
                     "them",
                     src->label, bad, t->name);
}

/* In place: x (rows, cols) becomes (cols, rows). */
static lcsm_status transpose(float *x, size_t rows, size_t cols, lcsm_error *err)
{
    float *copy = malloc(rows * cols * sizeof *copy);
    if (copy == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to transpose a tensor");
    memcpy(copy, x, rows * cols * sizeof *copy);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) x[c * rows + r] = copy[r * cols + c];
    free(copy);
    return LCSM_OK;
}

static lcsm_status log_rates(float *x, size_t count, const lcsm_import_source *src,
                             const char *name, lcsm_error *err)
{
    for (size_t j = 0; j < count; j++) {
        if (!(x[j] < 0))
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: tensor %s has %g at %zu; expected less than 0", src->label, name,
                             (double)x[j], j);
        x[j] = logf(-x[j]);
    }
    return LCSM_OK;
}

/* One parameter of ours from one tensor of theirs. */
static lcsm_status take(const lcsm_import_source *src, const lcsm_import_plan *plan,
                        const lcsm_import_rule *rule, int layer, const char *name,
                        lcsm_params *params, int row, lcsm_error *err)
{
    const lcsm_param *p    = &params->list[row];
    lcsm_named_tensor want = their_shape(p, rule->how, name);
    size_t            at   = lcsm_import_find(src, name);
    float            *to   = lcsm_param_values(params, row);
    lcsm_status       st   = LCSM_OK;
    LCSM_OR_RETURN(check_tensor(src, &want, at, err));
    src->used[at] = true;
    if (to == NULL) return check_finite(src, &src->list[at], err);
    LCSM_OR_RETURN(lcsm_named_tensor_f32(to, &src->list[at], err));
    if (rule->how == LCSM_TAKE_COLUMNS)
        LCSM_OR_RETURN(transpose(to, want.shape[0], want.shape[1], err));
    if (rule->how == LCSM_TAKE_LOG_RATE) LCSM_OR_RETURN(log_rates(to, p->count, src, name, err));
    if (rule->how == LCSM_TAKE_RESCALED && src->options.rwkv_rescaled && plan->rescale_every > 0)
        for (size_t j = 0; j < p->count; j++)
            to[j] = ldexpf(to[j], layer / (int)plan->rescale_every);
    return st;
}

/* Every rule for every layer. Rules whose parameter this model does not have rest. */
static lcsm_status take_all(const lcsm_import_source *src, const lcsm_import_plan *plan,
                            lcsm_params *params, size_t *taken, lcsm_error *err)
{
    char ours[LCSM_SAFETENSORS_NAME], theirs[LCSM_SAFETENSORS_NAME];
    *taken = 0;
    for (size_t j = 0; j < plan->rule_count; j++) {
        const lcsm_import_rule *rule = &plan->rules[j];
        int layers = strstr(rule->ours, "{i}") != NULL ? (int)plan->cfg.layers : 1;
        for (int i = 0; i < layers; i++) {
            expand(ours, rule->ours, i);
            expand(theirs, rule->theirs, i);
            int row = lcsm_params_find(params, ours);
            if (row < 0) continue;
            lcsm_status st = take(src, plan, rule, i, theirs, params, row, err);
            if (st != LCSM_OK) return st;
            *taken += 1;
        }
    }
    return LCSM_OK;
}

static lcsm_status check_extra(const lcsm_import_source *src, lcsm_error *err)
{
    for (size_t j = 0; j < src->count && !src->options.ignore_extra; j++)
        if (!src->used[j])
            return lcsm_fail(
                err, LCSM_ERR_FORMAT,
                "%s: tensor %.80s is not part of this architecture; --ignore-extra skips it",
                src->label, src->list[j].name);
    return LCSM_OK;
}

/* The list of our parameters with their numbers. All shapes are checked before anything of that
 * size is allocated. */
static lcsm_status convert(lcsm_params **out, const lcsm_import_source *src,
                           const lcsm_import_plan *plan, lcsm_error *err)
{
    size_t       taken  = 0;
    lcsm_params *params = NULL;
    lcsm_status  st     = LCSM_OK;
    LCSM_TRY(lcsm_model_list(&params, src->ctx, &plan->cfg, 0, err));
    LCSM_TRY(take_all(src, plan, params, &taken, err));
    LCSM_TRY(check_extra(src, err));
    if (taken != params->count)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_INTERNAL, "%zu rules for %zu parameters", taken,
                           params->count));
    params->blank = true;
    LCSM_TRY(lcsm_params_reserve(params, false, err));
    LCSM_TRY(take_all(src, plan, params, &taken, err));
    *out   = params;
    params = NULL;
cleanup:
    lcsm_params_free(params);
    return st;
}

/* ---- the end of a text ------------------------------------------------------------------ */

/* One number, or a list whose first counts; without a token of this model the tokenizer's rules. */
static void keep_end(lcsm_model_config *cfg, const lcsm_import_source *src)
{
    json_t *id = json_object_get(src->config, "eos_token_id");
    if (json_is_array(id)) id = json_array_get(id, 0);
    if (id == NULL) return;
    json_int_t token = json_is_integer(id) ? json_integer_value(id) : -1;
    if (token >= 0 && token < cfg->vocab) cfg->eos_token_id = (ptrdiff_t)token;
    else
        lcsm_log(&src->ctx->log, LCSM_LOG_WARNING,
                 "%s: eos_token_id is not a token of this model; the tokenizer's end-of-text token "
                 "is used",
                 src->place);
}

/* ---- sources ---------------------------------------------------------------------------- */

static lcsm_status reserve(lcsm_import_source *src, size_t count, lcsm_error *err)
{
    src->list  = calloc(count + 1, sizeof *src->list);
    src->used  = calloc(count + 1, sizeof *src->used);
    src->count = count;
    if (src->list != NULL && src->used != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for %zu names", src->label,
                     count);
}

/* null means absent in these configs. */
static void drop_nulls(json_t *object)
{
    const char *name;
    json_t     *value;
    void       *next;
    json_object_foreach_safe(object, next, name, value)
    {
        if (json_is_null(value)) (void)json_object_del(object, name);
        else if (json_is_object(value)) drop_nulls(value);
    }
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Writes the run folder. */
static lcsm_status store(const char *to, const lcsm_import_plan *plan, const lcsm_params *params,
                         const lcsm_file *tokenizer, lcsm_error *err)
{
    lcsm_status   st;
    json_t       *config = lcsm_model_config_json(&plan->cfg);
    lcsm_run_file file   = {
          .name = LCSM_RUN_TOKENIZER, .bytes = tokenizer->data, .size = tokenizer->size};
    if (config != NULL) (void)json_object_set_new(config, "imported_from", json_string(plan->kind));
    LCSM_TRY(lcsm_model_store(to, config, params, err));
    if (tokenizer->data != NULL) LCSM_TRY(lcsm_run_store(to, &file, err));
cleanup:
    json_decref(config);
    return st;
}

static lcsm_status run(lcsm_import_source *src, lcsm_import_fn *import, const char *to,
                       const lcsm_file *tokenizer, lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status      st     = LCSM_OK;
    lcsm_import_plan plan   = {0};
    lcsm_params     *params = NULL;
    qsort(src->list, src->count, sizeof *src->list, by_name);
    lcsm_model_config_defaults(&plan.cfg);
    LCSM_TRY(import(&plan, src, err));
    keep_end(&plan.cfg, src);
    LCSM_TRY(convert(&params, src, &plan, err));
    LCSM_TRY(store(to, &plan, params, tokenizer, err));
    if (result != NULL) {
        lcsm_import_result r = {.size       = sizeof r,
                                .tensors    = src->count,
                                .parameters = lcsm_params_total(params),
                                .tokenizer  = tokenizer->data != NULL};
        (void)snprintf(r.kind, sizeof r.kind, "%s", plan.kind);
        lcsm_sized_fill(result, &r, sizeof r);
    }
cleanup:
    lcsm_params_free(params);
    return st;
}

/* The bytes of tokenizer.json, if there is one. */
static lcsm_status read_tokenizer(lcsm_file *out, const char *folder, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_path_join(path, folder, LCSM_RUN_TOKENIZER, err));
    if (lcsm_path_exists(path))
        LCSM_OR_RETURN(lcsm_file_read(out, path, LCSM_JSON_LARGE_SIZE, err));
    return st;
}

static lcsm_status import_folder(lcsm_import_source *src, const char *from, const char *to,
                                 lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status     st;
    lcsm_weights    weights   = {0};
    lcsm_json_doc   doc       = {0};
    lcsm_file       tokenizer = {0};
    lcsm_import_fn *import    = NULL;
    char            path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_import_check_folder(from, err));
    LCSM_TRY(lcsm_path_join(path, from, LCSM_RUN_CONFIG, err));
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    if (!json_is_object(doc.root)) LCSM_TRY(lcsm_json_fail(&root, err, "an object"));
    src->label  = from;
    src->place  = path;
    src->config = doc.root;
    drop_nulls(src->config);
    LCSM_TRY(choose(&import, src, err));
    LCSM_TRY(check_refused(src, err));
    LCSM_TRY(lcsm_weights_open(&weights, from, 0, err));
    LCSM_TRY(read_tokenizer(&tokenizer, from, err));
    if (weights.warning.status != LCSM_OK)
        lcsm_log(&src->ctx->log, LCSM_LOG_WARNING, "%s", weights.warning.text);
    LCSM_TRY(reserve(src, weights.count, err));
    for (size_t j = 0; j < weights.count; j++) src->list[j] = lcsm_weights_at(&weights, j);
    LCSM_TRY(run(src, import, to, &tokenizer, result, err));
cleanup:
    src->place  = NULL;
    src->config = NULL;
    lcsm_file_close(&tokenizer);
    lcsm_weights_close(&weights);
    lcsm_json_doc_free(&doc);
    return st;
}

static lcsm_status import_bin(lcsm_import_source *src, const char *from, const char *to,
                              lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status   st;
    lcsm_rwkv_bin bin = {0};
    LCSM_TRY(lcsm_import_check_file(from, err));
    LCSM_TRY(lcsm_rwkv_bin_open(&bin, from, err));
    src->bin   = &bin;
    src->label = from;
    LCSM_TRY(reserve(src, bin.count, err));
    for (size_t j = 0; j < bin.count; j++) src->list[j] = lcsm_rwkv_bin_at(&bin, j);
    LCSM_TRY(run(src, lcsm_import_rwkv_bin, to, &(lcsm_file){0}, result, err));
cleanup:
    src->bin = NULL;
    lcsm_rwkv_bin_close(&bin);
    return st;
}

lcsm_status lcsm_import(const lcsm_context *ctx, const char *from, const char *to,
                        const lcsm_import_options *options, lcsm_import_result *result,
                        lcsm_error *err)
{
    lcsm_import_source src = {.ctx = ctx};
    char               path[LCSM_PATH_MAX];
    lcsm_status        st;
    LCSM_TRY(LCSM_TAKE(lcsm_import_options, rwkv_rescaled, &src.options, options, err));
    if (result != NULL) LCSM_TRY(LCSM_SIZED(lcsm_import_result, tokenizer, result, err));
    LCSM_TRY(lcsm_path_join(path, to, LCSM_RUN_CONFIG, err));
    if (lcsm_path_exists(path))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_IO, "%s already exists: use another folder", path));
    st = is_folder(from) ? import_folder(&src, from, to, result, err)
                         : import_bin(&src, from, to, result, err);
cleanup:
    free(src.list);
    free(src.used);
    return lcsm_file_fault(st, err);
}
