/* import.c - from a folder or file, by the row of its release, to a run folder. */
#include "model/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/sized.h"
#include "format/gguf.h"
#include "format/run_folder.h"
#include "format/rwkv_bin.h"
#include "format/torch_file.h"
#include "format/weights.h"
#include "model/model_weights.h"
#include "text/tokenizer.h"
#include "text/tokenizer_convert.h"

/* ---- which release ----------------------------------------------------------------------- */

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

/* Whether the config has one of these keys, "one|two". */
static bool has_key(const json_t *config, const char *keys)
{
    char name[64];
    for (const char *at = keys; *at != '\0'; at += strcspn(at, "|"), at += *at == '|') {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "|"), at);
        if (json_object_get(config, name) != NULL) return true;
    }
    return false;
}

/* The row of an architecture, or of a model_type where that is NULL. */
static const lcsm_release *find_release(const lcsm_import_source *src, const char *architecture,
                                        const char *type)
{
    for (size_t j = 0; j < LCSM_RELEASE_COUNT; j++) {
        const lcsm_release *r = &LCSM_RELEASES[j];
        if (strcmp(architecture != NULL ? r->architecture : r->model_type,
                   architecture != NULL ? architecture : type)
            != 0)
            continue;
        if (r->has == NULL || has_key(src->config, r->has)) return r;
    }
    return NULL;
}

static lcsm_status choose(const lcsm_release **out, const lcsm_import_source *src, lcsm_error *err)
{
    const char *architecture, *type = NULL;
    json_t     *model_type = json_object_get(src->config, "model_type");
    lcsm_status st         = read_architecture(&architecture, src, err);
    *out                   = &LCSM_RELEASE_MAMBA_ORIGINAL; /* its config names nothing */
    if (st != LCSM_OK) return st;
    if (model_type != NULL && (type = json_string_value(model_type)) == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: model_type is not a string", src->place);
    if (architecture == NULL && type == NULL) {
        if (is_original_mamba(src->config)) {
            if (strcmp(lcsm_import_mamba_layer(src->config), "Mamba2") == 0)
                *out = &LCSM_RELEASE_MAMBA2_ORIGINAL;
            return LCSM_OK;
        }
        return lcsm_import_unsupported(src->place, NULL, NULL, err);
    }
    *out = find_release(src, architecture, type);
    if (*out == NULL)
        return lcsm_import_unsupported(src->place,
                                       architecture != NULL ? "architecture" : "model_type",
                                       architecture != NULL ? architecture : type, err);
    if (type != NULL && strcmp((*out)->model_type, type) != 0)
        return lcsm_import_unsupported(src->place, "model_type", type, err);
    return LCSM_OK;
}

/* ---- the two ends of a model ------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_named_tensor *)a)->name, ((const lcsm_named_tensor *)b)->name);
}

static size_t find(const lcsm_import_source *src, const char *name)
{
    lcsm_named_tensor  key   = {.name = name};
    lcsm_named_tensor *found = bsearch(&key, src->list, src->count, sizeof key, by_name);
    return found != NULL ? (size_t)(found - src->list) : SIZE_MAX;
}

size_t lcsm_import_find(const lcsm_import_source *src, const char *name)
{
    char   inside[LCSM_IMPORT_NAME];
    size_t n = src->outer != NULL ? strlen(src->outer) : 0;
    size_t j = find(src, name);
    if (j != SIZE_MAX || src->outer == NULL || strncmp(name, src->outer, n) != 0) return j;
    (void)snprintf(inside, sizeof inside, "%s%s", src->inner, name + n);
    return find(src, inside);
}

/* ---- models inside of others ------------------------------------------------------------ */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Where files keep a model that reads text: beside one that sees, or a level deeper. What is beside
 * it, and heads that predict later tokens, are not read. */
static void look_inside(lcsm_import_source *src)
{
    static const char *const NEST[][2] = {{"model.", "model.language_model."},
                                          {"backbone.", "model.backbone."}};
    static const char *const BESIDE[]  = {"model.visual.", "mtp."};
    bool                     found[2]  = {0};
    for (size_t j = 0; j < src->count; j++) {
        for (size_t k = 0; k < COUNT(NEST); k++)
            found[k] = found[k] || begins(src->list[j].name, NEST[k][1]);
        for (size_t k = 0; k < COUNT(BESIDE); k++)
            if (begins(src->list[j].name, BESIDE[k])) src->used[j] = true;
    }
    for (size_t k = 0; k < COUNT(NEST); k++)
        if (found[k]) src->outer = NEST[k][0], src->inner = NEST[k][1];
}

static bool equal(const lcsm_named_tensor *a, const lcsm_named_tensor *b)
{
    size_t count, a_bytes, b_bytes;
    return lcsm_named_tensor_measure(a, &count, &a_bytes)
        && lcsm_named_tensor_measure(b, &count, &b_bytes) && a->element == b->element
        && a_bytes == b_bytes && memcmp(a->data, b->data, a_bytes) == 0;
}

/* One table for both ends, or two: by what the file has, and what the config says. A head that
 * repeats the embedding is no head of its own. */
static lcsm_status tie_head(const lcsm_import_source *src, const lcsm_release *release, bool *tied,
                            lcsm_error *err)
{
    const char *embedding = lcsm_release_name(release, "embedding.weight");
    const char *head      = lcsm_release_name(release, "head.weight");
    size_t      e = lcsm_import_find(src, embedding), h = lcsm_import_find(src, head);
    if (h == SIZE_MAX && !*tied)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: tensor %s is missing, and the config does not tie it to %s",
                         src->label, head, embedding);
    if (h == SIZE_MAX || e == SIZE_MAX || !*tied) return LCSM_OK;
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

/* Configs written by Python may have the word Infinity, which is not JSON: it becomes null. */
static void drop_infinity(char *text, size_t size)
{
    static const char WORD[] = "Infinity";
    bool              inside = false;
    for (size_t j = 0; j + sizeof WORD - 1 <= size; j++) {
        if (text[j] == '\\' && inside) j++;
        else if (text[j] == '"') inside = !inside;
        else if (!inside && memcmp(text + j, WORD, sizeof WORD - 1) == 0) {
            memcpy(text + j, "null    ", sizeof WORD - 1);
            if (j > 0 && text[j - 1] == '-') text[j - 1] = ' ';
        }
    }
}

static lcsm_status read_config(lcsm_json_doc *doc, const char *path, lcsm_error *err)
{
    lcsm_file   file = {0};
    char       *copy = NULL;
    lcsm_status st;
    LCSM_TRY(lcsm_file_read(&file, path, LCSM_JSON_CONFIG_SIZE, err));
    copy = malloc(file.size + 1);
    if (copy == NULL) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory", path));
    memcpy(copy, file.data, file.size);
    drop_infinity(copy, file.size);
    LCSM_TRY(lcsm_json_doc_parse(doc, path, copy, file.size, err));
    lcsm_json root = lcsm_json_root(doc);
    if (!json_is_object(doc->root)) LCSM_TRY(lcsm_json_fail(&root, err, "an object"));
cleanup:
    free(copy);
    lcsm_file_close(&file);
    return st;
}

static bool is_auto(const json_t *value)
{
    const char *text = json_string_value(value);
    return text != NULL && strcmp(text, "auto") == 0;
}

/* null and "auto" mean absent in these configs. */
static void drop_absent(json_t *object)
{
    const char *name;
    json_t     *value;
    void       *next;
    json_object_foreach_safe(object, next, name, value)
    {
        if (json_is_null(value) || is_auto(value)) (void)json_object_del(object, name);
        else if (json_is_object(value)) drop_absent(value);
    }
}

/* The config of a model that reads text, inside that of one that also sees: its keys count, and its
 * architecture is that of the outer one. */
static void lift_text_config(json_t *config)
{
    json_t *text = json_incref(json_object_get(config, "text_config"));
    json_t *list = json_object_get(config, "architectures");
    if (json_is_object(text)) {
        (void)json_object_del(text, "architectures");
        (void)json_object_del(text, "model_type");
        if (list == NULL) (void)json_object_del(config, "model_type");
        (void)json_object_update(config, text);
        (void)json_object_del(config, "text_config");
        (void)json_object_del(config, "vision_config");
    }
    json_decref(text);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Files that go into the run folder as they are. */
enum { TOKENIZER, TOKENIZER_CONFIG, CHAT_TEMPLATE, TEXT_FILES };
static const char *const TEXT_NAMES[TEXT_FILES] = {LCSM_RUN_TOKENIZER, "tokenizer_config.json",
                                                   "chat_template.jinja"};

/* Writes the run folder. */
static lcsm_status store(const char *to, const char *kind, const lcsm_import_plan *plan,
                         const lcsm_params *params, const lcsm_file texts[TEXT_FILES],
                         lcsm_error *err)
{
    lcsm_status st;
    json_t     *config = lcsm_model_config_json(&plan->cfg);
    if (config != NULL) (void)json_object_set_new(config, "imported_from", json_string(kind));
    LCSM_TRY(lcsm_model_store(to, config, params, err));
    for (size_t j = 0; j < TEXT_FILES; j++) {
        lcsm_run_file file = {.name = TEXT_NAMES[j], .bytes = texts[j].data, .size = texts[j].size};
        if (texts[j].data != NULL) LCSM_TRY(lcsm_run_store(to, &file, err));
    }
cleanup:
    json_decref(config);
    return st;
}

/* The types of the weights that are written. */
static lcsm_status pack(lcsm_params *params, const lcsm_import_source *src,
                        const lcsm_import_plan *plan, lcsm_error *err)
{
    lcsm_weight_type type = LCSM_WEIGHT_REAL;
    if (src->options.weights == NULL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_weight_find(&type, src->options.weights, err));
    if (type == LCSM_WEIGHT_REAL) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_model_find_streamed(params, src->ctx, &plan->cfg, err));
    return lcsm_params_pack(params, type, src->ctx->pool, err);
}

static lcsm_status sort_list(lcsm_import_source *src, lcsm_error *err)
{
    qsort(src->list, src->count, sizeof *src->list, by_name);
    for (size_t j = 1; j < src->count; j++)
        if (by_name(&src->list[j - 1], &src->list[j]) == 0)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s: two tensors have the name %.80s",
                             src->label, src->list[j].name);
    return LCSM_OK;
}

static lcsm_status run(lcsm_import_source *src, const lcsm_release *release, const char *to,
                       const lcsm_file texts[TEXT_FILES], lcsm_import_result *result,
                       lcsm_error *err)
{
    lcsm_status      st     = LCSM_OK;
    lcsm_import_plan plan   = {.query_scale = 1, .logit_scale = 1};
    lcsm_params     *params = NULL;
    LCSM_TRY(sort_list(src, err));
    look_inside(src);
    lcsm_model_config_defaults(&plan.cfg);
    LCSM_TRY(lcsm_import_settings(&plan, src, release, err));
    if (release->finish != NULL) LCSM_TRY(release->finish(&plan, src, err));
    LCSM_TRY(tie_head(src, release, &plan.cfg.tied, err));
    keep_end(&plan.cfg, src);
    LCSM_TRY(lcsm_import_tensors(&params, src, &plan, release, err));
    LCSM_TRY(pack(params, src, &plan, err));
    LCSM_TRY(store(to, release->kind, &plan, params, texts, err));
    if (result != NULL) {
        lcsm_import_result r = {.size       = sizeof r,
                                .tensors    = src->count,
                                .parameters = lcsm_params_total(params),
                                .tokenizer  = texts[TOKENIZER].data != NULL};
        (void)snprintf(r.kind, sizeof r.kind, "%s", release->kind);
        lcsm_sized_fill(result, &r, sizeof r);
    }
cleanup:
    lcsm_params_free(params);
    return st;
}

static void free_texts(lcsm_file texts[TEXT_FILES])
{
    for (size_t j = 0; j < TEXT_FILES; j++) lcsm_file_close(&texts[j]);
}

/* The bytes become those of a file that was read. */
static lcsm_status keep_text(lcsm_file *out, const char *text, size_t size, lcsm_error *err)
{
    unsigned char *own = malloc(size + 1);
    if (own == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a text");
    memcpy(own, text, size);
    own[size] = 0;
    *out      = (lcsm_file){.data = own, .size = size};
    return LCSM_OK;
}

/* tokenizer.model or the vocabulary of RWKV World, where there is no tokenizer.json. One that is
 * not supported is a warning: the model runs on tokens. */
static lcsm_status convert_tokenizer(lcsm_file *out, const lcsm_import_source *src,
                                     const char *folder, lcsm_error *err)
{
    static const char *const NAMES[] = {"tokenizer.model", "rwkv_vocab_v20230424.txt"};
    char                     path[LCSM_PATH_MAX];
    for (size_t j = 0; j < COUNT(NAMES) && out->data == NULL; j++) {
        lcsm_tokenizer *tok = NULL;
        lcsm_error      why = {0};
        LCSM_OR_RETURN(lcsm_path_join(path, folder, NAMES[j], err));
        if (!lcsm_path_exists(path)) continue;
        if (lcsm_tokenizer_load(&tok, path, &why) != LCSM_OK) {
            lcsm_log(&src->ctx->log, LCSM_LOG_WARNING, "without its tokenizer: %s", why.text);
            continue;
        }
        lcsm_status st = keep_text(out, tok->json, tok->json_size, err);
        lcsm_tokenizer_free(tok);
        LCSM_OR_RETURN(st);
    }
    return LCSM_OK;
}

/* Those that are there. */
static lcsm_status read_texts(lcsm_file out[TEXT_FILES], const lcsm_import_source *src,
                              const char *folder, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    for (size_t j = 0; j < TEXT_FILES; j++) {
        LCSM_OR_RETURN(lcsm_path_join(path, folder, TEXT_NAMES[j], err));
        if (lcsm_path_exists(path))
            LCSM_OR_RETURN(lcsm_file_read(&out[j], path, LCSM_JSON_LARGE_SIZE, err));
    }
    return out[TOKENIZER].data != NULL ? LCSM_OK
                                       : convert_tokenizer(&out[TOKENIZER], src, folder, err);
}

/* The weights of a folder, in either of the two formats. */
typedef struct {
    lcsm_weights      safetensors;
    lcsm_torch_folder torch;
} folder_weights;

static void close_weights(folder_weights *w)
{
    lcsm_weights_close(&w->safetensors);
    lcsm_torch_folder_close(&w->torch);
}

static bool holds(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, name, NULL) == LCSM_OK && lcsm_path_exists(path);
}

static lcsm_status open_weights(folder_weights *w, lcsm_import_source *src, const char *folder,
                                lcsm_error *err)
{
    bool torch = lcsm_torch_folder_is(folder) && !holds(folder, LCSM_RUN_MODEL)
              && !holds(folder, LCSM_RUN_MODEL ".index.json");
    if (torch) {
        LCSM_OR_RETURN(lcsm_torch_folder_open(&w->torch, folder, err));
        LCSM_OR_RETURN(reserve(src, w->torch.count, err));
        for (size_t j = 0; j < src->count; j++) src->list[j] = lcsm_torch_folder_at(&w->torch, j);
        return LCSM_OK;
    }
    LCSM_OR_RETURN(lcsm_weights_open(&w->safetensors, folder, 0, err));
    if (w->safetensors.warning.status != LCSM_OK)
        lcsm_log(&src->ctx->log, LCSM_LOG_WARNING, "%s", w->safetensors.warning.text);
    LCSM_OR_RETURN(reserve(src, w->safetensors.count, err));
    for (size_t j = 0; j < src->count; j++) src->list[j] = lcsm_weights_at(&w->safetensors, j);
    return LCSM_OK;
}

static lcsm_status import_folder(lcsm_import_source *src, const char *from, const char *to,
                                 lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status         st;
    folder_weights      weights           = {0};
    lcsm_json_doc       doc               = {0};
    lcsm_file           texts[TEXT_FILES] = {0};
    const lcsm_release *release           = NULL;
    char                path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_path_join(path, from, LCSM_RUN_CONFIG, err));
    LCSM_TRY(read_config(&doc, path, err));
    src->label  = from;
    src->place  = path;
    src->config = doc.root;
    drop_absent(src->config);
    lift_text_config(src->config);
    LCSM_TRY(choose(&release, src, err));
    LCSM_TRY(check_refused(src, err));
    LCSM_TRY(open_weights(&weights, src, from, err));
    LCSM_TRY(read_texts(texts, src, from, err));
    LCSM_TRY(run(src, release, to, texts, result, err));
cleanup:
    src->place  = NULL;
    src->config = NULL;
    free_texts(texts);
    close_weights(&weights);
    lcsm_json_doc_free(&doc);
    return st;
}

static lcsm_status import_bin(lcsm_import_source *src, const char *from, const char *to,
                              lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status   st;
    lcsm_rwkv_bin bin = {0};
    LCSM_TRY(lcsm_rwkv_bin_open(&bin, from, err));
    src->label  = from;
    src->place  = from;
    src->config = json_pack("{s:I, s:I, s:I}", "vocab_size", (json_int_t)bin.vocab, "hidden_size",
                            (json_int_t)bin.embed, "num_hidden_layers", (json_int_t)bin.layers);
    LCSM_TRY(reserve(src, bin.count, err));
    for (size_t j = 0; j < bin.count; j++) src->list[j] = lcsm_rwkv_bin_at(&bin, j);
    LCSM_TRY(run(src, &LCSM_RELEASE_RWKV_BIN, to, (lcsm_file[TEXT_FILES]){0}, result, err));
cleanup:
    json_decref(src->config);
    src->config = NULL;
    lcsm_rwkv_bin_close(&bin);
    return st;
}

/* The text of a special token, as templates name it. */
static void put_token(json_t *to, const json_t *keys, const char *name, const char *key)
{
    const json_t *tokens = json_object_get(keys, "tokenizer.ggml.tokens");
    const json_t *id     = json_object_get(keys, key);
    json_t       *text   = json_is_integer(id) && json_integer_value(id) >= 0
                             ? json_array_get(tokens, (size_t)json_integer_value(id))
                             : NULL;
    if (json_is_string(text)) (void)json_object_set(to, name, text);
}

/* tokenizer.json, and the chat template with its tokens, out of the metadata. */
static lcsm_status gguf_texts(lcsm_file texts[TEXT_FILES], const lcsm_import_source *src,
                              const json_t *keys, lcsm_error *err)
{
    static const char EOS[] = "tokenizer.ggml.eos_token_id";
    const json_t     *chat  = json_object_get(keys, "tokenizer.chat_template");
    lcsm_error        why   = {0};
    lcsm_tokenizer   *tok   = NULL;
    char             *json  = NULL;
    size_t            size  = 0;
    lcsm_status       st    = lcsm_tokenizer_from_gguf(&json, &size, src->label, keys, &why);
    if (st == LCSM_OK && json != NULL)
        st = lcsm_tokenizer_parse(&tok, src->label, json, size, &why);
    if (st != LCSM_OK)
        lcsm_log(&src->ctx->log, LCSM_LOG_WARNING, "without its tokenizer: %s", why.text);
    lcsm_status kept = LCSM_OK;
    if (st == LCSM_OK && json != NULL) kept = keep_text(&texts[TOKENIZER], json, size, err);
    lcsm_tokenizer_free(tok);
    free(json);
    if (kept != LCSM_OK) return kept;
    if (json_object_get(keys, EOS) != NULL)
        (void)json_object_set(src->config, "eos_token_id", json_object_get(keys, EOS));
    if (!json_is_string(chat)) return LCSM_OK;
    json_t *config = json_object();
    put_token(config, keys, "bos_token", "tokenizer.ggml.bos_token_id");
    put_token(config, keys, "eos_token", EOS);
    json = json_dumps(config, JSON_INDENT(2));
    json_decref(config);
    if (json == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a text");
    st = keep_text(&texts[TOKENIZER_CONFIG], json, strlen(json), err);
    free(json);
    if (st != LCSM_OK) return st;
    return keep_text(&texts[CHAT_TEMPLATE], json_string_value(chat), json_string_length(chat), err);
}

static lcsm_status import_gguf(lcsm_import_source *src, const char *from, const char *to,
                               lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status         st;
    lcsm_gguf           gguf              = {0};
    lcsm_file           texts[TEXT_FILES] = {0};
    const lcsm_release *release;
    LCSM_TRY(lcsm_gguf_open(&gguf, from, err));
    src->label = from;
    src->place = from;
    LCSM_TRY(lcsm_import_gguf_config(&release, &src->config, gguf.keys, from, err));
    LCSM_TRY(reserve(src, gguf.count, err));
    LCSM_TRY(lcsm_gguf_tensors(src->list, &gguf, err));
    LCSM_TRY(gguf_texts(texts, src, gguf.keys, err));
    LCSM_TRY(run(src, release, to, texts, result, err));
cleanup:
    free_texts(texts);
    json_decref(src->config);
    src->config = NULL;
    lcsm_gguf_close(&gguf);
    return st;
}

/* One file of tensors whose names say what model it is. texts: of its folder, or none. */
static lcsm_status import_named(lcsm_import_source *src, const char *from, lcsm_file_kind kind,
                                const char *to, const lcsm_file texts[TEXT_FILES],
                                lcsm_import_result *result, lcsm_error *err)
{
    lcsm_status         st;
    lcsm_torch_file     torch = {0};
    lcsm_safetensors    safe  = {0};
    const lcsm_release *release;
    src->label = from;
    src->place = from;
    if (kind == LCSM_FILE_TORCH) LCSM_TRY(lcsm_torch_file_open(&torch, from, err));
    else LCSM_TRY(lcsm_safetensors_open(&safe, from, 0, err));
    LCSM_TRY(reserve(src, torch.count + safe.count, err));
    for (size_t j = 0; j < src->count; j++)
        src->list[j] = kind == LCSM_FILE_TORCH ? torch.list[j] : lcsm_safetensors_at(&safe, j);
    LCSM_TRY(lcsm_import_by_names(&release, &src->config, src, err));
    LCSM_TRY(run(src, release, to, texts, result, err));
cleanup:
    json_decref(src->config);
    src->config = NULL;
    lcsm_torch_file_close(&torch);
    lcsm_safetensors_close(&safe);
    return st;
}

static lcsm_status import_file(lcsm_import_source *src, const char *from, const char *to,
                               const lcsm_file texts[TEXT_FILES], lcsm_import_result *result,
                               lcsm_error *err)
{
    lcsm_file_kind kind;
    LCSM_OR_RETURN(lcsm_import_check_file(&kind, from, err));
    if (kind == LCSM_FILE_GGUF) return import_gguf(src, from, to, result, err);
    if (kind == LCSM_FILE_RWKV_CPP) return import_bin(src, from, to, result, err);
    return import_named(src, from, kind, to, texts, result, err);
}

/* A folder with a config, or with a file that needs none. */
static lcsm_status import_any(lcsm_import_source *src, const char *from, const char *to,
                              lcsm_import_result *result, lcsm_error *err)
{
    char        file[LCSM_PATH_MAX];
    lcsm_file   texts[TEXT_FILES] = {0};
    lcsm_status st;
    if (!is_folder(from)) return import_file(src, from, to, texts, result, err);
    LCSM_OR_RETURN(lcsm_import_check_folder(file, from, err));
    if (file[0] == '\0') return import_folder(src, from, to, result, err);
    st = read_texts(texts, src, from, err);
    if (st == LCSM_OK) st = import_file(src, file, to, texts, result, err);
    free_texts(texts);
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
    LCSM_TRY(import_any(&src, from, to, result, err));
cleanup:
    free(src.list);
    free(src.used);
    return lcsm_file_fault(st, err);
}
