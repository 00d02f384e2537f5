/* Import: made-up folders of every kind, and one mistake at a time. */
#include <lcsm/import.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "format/safetensors.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

/* ---- folders ---------------------------------------------------------------------------- */

enum { MAX_TENSORS = 64, MAX_COUNT = 512 };

typedef struct {
    lcsm_named_tensor list[MAX_TENSORS];
    char              names[MAX_TENSORS][96];
    float             values[MAX_TENSORS][MAX_COUNT];
    size_t            count;
} weights;

/* A tensor of random numbers that depend on its place in the file only; dims end with 0. */
static void add(weights *w, const char *name, const size_t *dims)
{
    lcsm_named_tensor *t     = &w->list[w->count];
    size_t             count = 1;
    assert_true(w->count < MAX_TENSORS);
    *t = (lcsm_named_tensor){
        .name = w->names[w->count], .element = LCSM_ELEMENT_F32, .data = w->values[w->count]};
    (void)snprintf(w->names[w->count], sizeof w->names[0], "%s", name);
    for (; dims[t->rank] != 0; t->rank++) count *= t->shape[t->rank] = dims[t->rank];
    assert_true(count <= MAX_COUNT);
    for (size_t j = 0; j < count; j++)
        w->values[w->count][j] = (float)lcsm_rng_normal(4, (uint32_t)w->count, j);
    w->count++;
}

#define DIMS(...) ((const size_t[]){__VA_ARGS__, 0})

static void add_layer(weights *w, int i, const char *name, const size_t *dims)
{
    char full[96];
    (void)snprintf(full, sizeof full, "backbone.layers.%d.%s", i, name);
    add(w, full, dims);
}

typedef struct {
    bool original, bias, no_conv_bias, layer_norm, head;
} mamba_kind;

static weights *mamba(mamba_kind k)
{
    weights *w = calloc(1, sizeof *w);
    assert_non_null(w);
    add(w, k.original ? "backbone.embedding.weight" : "backbone.embeddings.weight", DIMS(16, 8));
    for (int i = 0; i < 2; i++) {
        add_layer(w, i, "norm.weight", DIMS(8));
        if (k.layer_norm) add_layer(w, i, "norm.bias", DIMS(8));
        add_layer(w, i, "mixer.in_proj.weight", DIMS(32, 8));
        if (k.bias) add_layer(w, i, "mixer.in_proj.bias", DIMS(32));
        add_layer(w, i, "mixer.conv1d.weight", DIMS(16, 1, 4));
        if (!k.no_conv_bias) add_layer(w, i, "mixer.conv1d.bias", DIMS(16));
        add_layer(w, i, "mixer.x_proj.weight", DIMS(9, 16));
        add_layer(w, i, "mixer.dt_proj.weight", DIMS(16, 1));
        add_layer(w, i, "mixer.dt_proj.bias", DIMS(16));
        add_layer(w, i, "mixer.A_log", DIMS(16, 4));
        add_layer(w, i, "mixer.D", DIMS(16));
        add_layer(w, i, "mixer.out_proj.weight", DIMS(8, 16));
        if (k.bias) add_layer(w, i, "mixer.out_proj.bias", DIMS(8));
    }
    add(w, "backbone.norm_f.weight", DIMS(8));
    if (k.layer_norm) add(w, "backbone.norm_f.bias", DIMS(8));
    if (k.head) add(w, "lm_head.weight", DIMS(16, 8));
    return w;
}

#define ARCH  "\"architectures\": [\"MambaForCausalLM\"], \"model_type\": \"mamba\", "
#define SIZES "\"vocab_size\": 16, \"hidden_size\": 8, \"num_hidden_layers\": 2, \"state_size\": 4"
#define HF    "{" ARCH SIZES ", \"time_step_rank\": \"auto\""

static size_t find(const weights *w, const char *name)
{
    for (size_t j = 0; j < w->count; j++)
        if (strcmp(w->names[j], name) == 0) return j;
    fail_msg("no tensor %s", name);
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------- */

typedef struct {
    lcsm_context *ctx;
    temp_folder   f;
    lcsm_error    err;
    char          warning[256];
} fixture;

static void take_warning(void *user, lcsm_log_level level, const char *text)
{
    fixture *x = user;
    if (level >= LCSM_LOG_WARNING) (void)snprintf(x->warning, sizeof x->warning, "%s", text);
}

/* Imports the weights and the config; frees neither. */
static lcsm_status import(fixture *x, const weights *w, const char *config,
                          lcsm_import_options options)
{
    lcsm_context_options o = {.size = sizeof o, .log = take_warning, .log_user = x};
    *x                     = (fixture){.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x->ctx, &o, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_save(temp_path(&x->f, "model.safetensors"), w->list, w->count,
                                           NULL, 0, NULL),
                     LCSM_OK);
    temp_write(&x->f, "config.json", config, strlen(config));
    return lcsm_import(x->ctx, x->f.path, temp_path(&x->f, "run"), &options, NULL, &x->err);
}

static void done(fixture *x)
{
    temp_folder_remove(&x->f);
    lcsm_context_free(x->ctx);
}

static lcsm_model *load(fixture *x)
{
    lcsm_model *m;
    if (lcsm_model_load(&m, x->ctx, temp_path(&x->f, "run"), &x->err) != LCSM_OK)
        fail_msg("%s", x->err.text);
    return m;
}

/* The model of a folder that must be good. x is to be done after it is freed. */
static lcsm_model *good(fixture *x, const weights *w, const char *config,
                        lcsm_import_options options)
{
    if (import(x, w, config, options) != LCSM_OK) fail_msg("%s", x->err.text);
    return load(x);
}

static void refused(weights *w, const char *config, lcsm_status status, const char *says)
{
    fixture     x;
    lcsm_status st =
        import(&x, w, config, (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    if (st != status) fail_msg("status %d for \"%s\": %s", (int)st, says, x.err.text);
    if (strstr(x.err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", x.err.text, says);
    done(&x);
    free(w);
}

static const float *values(const lcsm_model *m, const char *name)
{
    int row = lcsm_params_find(m->params, name);
    if (row < 0) fail_msg("no parameter %s", name);
    return lcsm_param_values(m->params, row);
}

/* ---- what comes in ---------------------------------------------------------------------- */

TEST(import_mamba_puts_every_number_in_its_place)
{
    fixture     x;
    weights    *w = mamba((mamba_kind){0});
    lcsm_model *m = good(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    const float *A = values(m, "layers.1.mixer.A_log"),
                *a = w->values[find(w, "backbone.layers.1.mixer.A_log")];
    for (size_t c = 0; c < 16; c++)
        for (size_t n = 0; n < 4; n++) assert_true(A[n * 16 + c] == a[c * 4 + n]);
    assert_memory_equal(values(m, "layers.0.mixer.conv1d.weight"),
                        w->values[find(w, "backbone.layers.0.mixer.conv1d.weight")],
                        64 * sizeof(float));
    assert_memory_equal(values(m, "embedding.weight"), w->values[0], 128 * sizeof(float));
    assert_true(m->cfg.tied);
    assert_true(m->cfg.norm_eps == 1e-5);
    lcsm_model_free(m);
    done(&x);
    free(w);
}

/* A number or a list, if it is a token of the model; otherwise the tokenizer's counts. */
TEST(import_keeps_the_token_that_ends_a_text)
{
    static const struct {
        const char *config;
        ptrdiff_t   end;
    } cases[] = {{HF "}", -1},
                 {HF ",\"eos_token_id\":0}", 0},
                 {HF ",\"eos_token_id\":[5,0]}", 5},
                 {HF ",\"eos_token_id\":null}", -1},
                 {HF ",\"eos_token_id\":100000}", -1},
                 {HF ",\"eos_token_id\":\"x\"}", -1}};
    for (size_t j = 0; j < COUNT(cases); j++) {
        fixture     x;
        weights    *w = mamba((mamba_kind){0});
        lcsm_model *m = good(&x, w, cases[j].config,
                             (lcsm_import_options){.size = sizeof(lcsm_import_options)});
        assert_int_equal(m->cfg.eos_token_id, cases[j].end);
        lcsm_model_free(m);
        done(&x);
        free(w);
    }
}

/* The same tensors under other configs are the same model. */
static void assert_same(const weights *a, const char *config_a, const weights *b,
                        const char *config_b)
{
    fixture     x, y;
    lcsm_model *m =
        good(&x, a, config_a, (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    lcsm_model *n =
        good(&y, b, config_b, (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    for (int j = 0; j < (int)m->params->count; j++)
        assert_memory_equal(lcsm_param_values(m->params, j), lcsm_param_values(n->params, j),
                            lcsm_param_bytes(m->params, j));
    assert_memory_equal(&m->cfg, &n->cfg, sizeof m->cfg);
    lcsm_model_free(m);
    lcsm_model_free(n);
    done(&x);
    done(&y);
}

TEST(import_mamba_of_all_three_sources_is_the_same)
{
    weights *hf = mamba((mamba_kind){0}), *original = mamba((mamba_kind){.original = true});
    assert_same(hf, HF "}", original,
                "{\"d_model\": 8, \"n_layer\": 2, \"vocab_size\": 13, \"pad_vocab_size_multiple\": "
                "8, \"ssm_cfg\": {\"d_state\": 4, \"dt_rank\": \"auto\"}, \"attn_layer_idx\": [], "
                "\"d_intermediate\": 0, \"rms_norm\": true}");
    assert_same(hf, HF "}", hf,
                "{" ARCH SIZES ", \"dt_rank\": 1, \"norm_eps\": 1e-5, "
                "\"tie_word_embeddings\": true, \"attn\": null, \"hidden_act\": \"swish\"}");
    assert_same(hf, HF "}", hf, HF ", \"d_inner\": 16, \"n_layer\": 2, \"something\": [1]}");
    free(hf);
    free(original);
}

TEST(import_mamba_with_biases_and_layer_norm)
{
    fixture     x;
    weights    *w = mamba((mamba_kind){.bias = true, .no_conv_bias = true, .layer_norm = true});
    lcsm_model *m =
        good(&x, w, HF ", \"use_bias\": true, \"use_conv_bias\": false, \"rms_norm\": false}",
             (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    assert_int_equal(lcsm_params_find(m->params, "layers.0.mixer.conv1d.bias"), -1);
    assert_memory_equal(values(m, "layers.1.mixer.out_proj.bias"),
                        w->values[find(w, "backbone.layers.1.mixer.out_proj.bias")],
                        8 * sizeof(float));
    assert_memory_equal(values(m, "norm.bias"), w->values[find(w, "backbone.norm_f.bias")],
                        8 * sizeof(float));
    lcsm_model_free(m);
    done(&x);
    free(w);
}

TEST(import_head_that_repeats_the_embedding_is_tied)
{
    fixture  x;
    weights *w = mamba((mamba_kind){.head = true});
    memcpy(w->values[find(w, "lm_head.weight")], w->values[0], 128 * sizeof(float));
    lcsm_model *m = good(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    assert_true(m->cfg.tied);
    assert_string_equal(x.warning, "");
    lcsm_model_free(m);
    done(&x);
    w->values[find(w, "lm_head.weight")][3] = 9;
    m = good(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    assert_false(m->cfg.tied);
    assert_non_null(strstr(x.warning, "lm_head.weight differs"));
    assert_true(values(m, "head.weight")[3] == 9);
    lcsm_model_free(m);
    done(&x);
    free(w);
}

TEST(import_half_precision_is_widened)
{
    fixture  x;
    weights *w  = mamba((mamba_kind){0});
    size_t   at = find(w, "backbone.norm_f.weight");
    uint16_t half[8], brain[8];
    for (size_t j = 0; j < 8; j++) {
        half[j]  = (uint16_t)(0x3C00 + 0x80 * j); /* 1 + j / 8 */
        brain[j] = (uint16_t)(0x3F80 + 0x10 * j); /* the same */
    }
    w->list[at].element                                       = LCSM_ELEMENT_F16;
    w->list[at].data                                          = half;
    w->list[find(w, "backbone.layers.0.norm.weight")].element = LCSM_ELEMENT_BF16;
    w->list[find(w, "backbone.layers.0.norm.weight")].data    = brain;
    lcsm_model *m = good(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    for (size_t j = 0; j < 8; j++) {
        assert_true(values(m, "norm.weight")[j] == 1 + (float)j / 8);
        assert_true(values(m, "layers.0.norm1.weight")[j] == 1 + (float)j / 8);
    }
    lcsm_model_free(m);
    done(&x);
    free(w);
}

TEST(import_copies_the_tokenizer_and_refuses_a_folder_in_use)
{
    static const char  text[] = "{\"model\": {}}";
    fixture            x;
    lcsm_import_result r = {.size = sizeof r};
    weights           *w = mamba((mamba_kind){0});
    size_t             size;
    assert_int_equal(
        import(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)}), LCSM_OK);
    temp_write(&x.f, "tokenizer.json", text, sizeof text - 1);
    assert_int_equal(lcsm_import(x.ctx, x.f.path, temp_path(&x.f, "run"), NULL, &r, &x.err),
                     LCSM_ERR_IO);
    assert_non_null(strstr(x.err.text, "already exists"));
    assert_int_equal(lcsm_import(x.ctx, x.f.path, temp_path(&x.f, "two"), NULL, &r, &x.err),
                     LCSM_OK);
    assert_true(r.tokenizer);
    assert_int_equal(r.tensors, 22);
    assert_string_equal(r.kind, "Mamba (Hugging Face)");
    unsigned char *copy = temp_read(&x.f, "two/tokenizer.json", &size);
    assert_int_equal(size, sizeof text - 1);
    assert_memory_equal(copy, text, size);
    free(copy);
    done(&x);
    free(w);
}

/* ---- what is refused -------------------------------------------------------------------- */

TEST(import_names_the_tensor_that_does_not_fit)
{
    weights *w                                         = mamba((mamba_kind){0});
    w->list[find(w, "backbone.layers.1.mixer.D")].name = "backbone.layers.1.mixer.E";
    refused(w, HF "}", LCSM_ERR_FORMAT,
            "tensor backbone.layers.1.mixer.D is missing; expected F32 [16]");

    w                                                          = mamba((mamba_kind){0});
    w->list[find(w, "backbone.layers.0.mixer.A_log")].shape[0] = 4;
    w->list[find(w, "backbone.layers.0.mixer.A_log")].shape[1] = 16;
    refused(w, HF "}", LCSM_ERR_FORMAT, "A_log is F32 [4, 16]; expected F32 [16, 4]");

    w = mamba((mamba_kind){0});
    add(w, "backbone.layers.2.norm.weight", DIMS(8));
    refused(w, HF "}", LCSM_ERR_FORMAT, "backbone.layers.2.norm.weight is not part");

    w                                                     = mamba((mamba_kind){0});
    w->list[find(w, "backbone.layers.0.mixer.D")].element = LCSM_ELEMENT_I32;
    refused(w, HF "}", LCSM_ERR_FORMAT, "mixer.D has type I32");

    w                                                  = mamba((mamba_kind){0});
    w->values[find(w, "backbone.layers.0.mixer.D")][2] = INFINITY;
    refused(w, HF "}", LCSM_ERR_NUMBER, "1 numbers of tensor backbone.layers.0.mixer.D");

    refused(mamba((mamba_kind){0}), HF ", \"tie_word_embeddings\": false}", LCSM_ERR_FORMAT,
            "tensor lm_head.weight is missing");
}

TEST(import_names_the_key_that_does_not_fit)
{
    static const struct {
        const char *config;
        lcsm_status status;
        const char *says;
    } cases[] = {
        {HF ", \"conv_kernel\": \"4\"}", LCSM_ERR_FORMAT, "conv_kernel has the wrong type"},
        {HF ", \"use_bias\": 1}", LCSM_ERR_FORMAT, "use_bias has the wrong type"},
        {HF ", \"expand\": 100}", LCSM_ERR_FORMAT, "expand is 100"},
        {HF ", \"intermediate_size\": 17}", LCSM_ERR_FORMAT, "intermediate_size is 17"},
        {HF ", \"n_layer\": 3}", LCSM_ERR_FORMAT, "n_layer is 3"},
        {HF ", \"hidden_act\": \"gelu\"}", LCSM_ERR_FORMAT, "hidden_act is \"gelu\""},
        {HF ", \"attn\": {\"layers\": [1]}}", LCSM_ERR_FORMAT, "attn is set"},
        {HF ", \"attnres_block_size\": 4}", LCSM_ERR_FORMAT, "attnres_block_size is set"},
        {HF ", \"quantization_config\": {}}", LCSM_ERR_FORMAT, "quantization_config is set"},
        {"{\"architectures\": [\"MambaForCausalLM\"], \"model_type\": \"falcon_mamba\"}",
         LCSM_ERR_FORMAT, "model_type \"falcon_mamba\" is not supported"},
        {"{\"architectures\": [\"Rwkv9ForCausalLM\"]}", LCSM_ERR_FORMAT,
         "architecture \"Rwkv9ForCausalLM\" is not supported. lcsm import --help"},
        {"{\"architectures\": 3}", LCSM_ERR_FORMAT, "architectures is not a list"},
        {"{\"model_type\": \"mamba\"}", LCSM_ERR_FORMAT,
         "embeddings.weight is F32 [16, 8]; expected"},
        {"{\"d_model\": 8, \"n_layer\": 2, \"d_intermediate\": 5}", LCSM_ERR_FORMAT,
         "d_intermediate"},
        {"{\"d_model\": 8, \"n_layer\": 2, \"attn_layer_idx\": [1]}", LCSM_ERR_FORMAT,
         "attn_layer_idx"},
        {"{\"d_model\": 8, \"n_layer\": 2, \"ssm_cfg\": {\"layer\": \"Mamba9\"}}", LCSM_ERR_FORMAT,
         "ssm_cfg.layer is \"Mamba9\""},
        {"{\"d_model\": 8, \"n_layer\": 2, \"ssm_cfg\": 3}", LCSM_ERR_FORMAT,
         "ssm_cfg is not an object"},
        {"[1]", LCSM_ERR_FORMAT, "expected an object"},
    };
    for (size_t j = 0; j < sizeof cases / sizeof cases[0]; j++)
        refused(mamba((mamba_kind){0}), cases[j].config, cases[j].status, cases[j].says);
}

TEST(import_takes_what_options_allow)
{
    fixture  x;
    weights *w                  = mamba((mamba_kind){0});
    size_t   at                 = find(w, "backbone.layers.0.mixer.D");
    w->values[at][2]            = NAN;
    lcsm_import_options options = {
        .size = sizeof options, .allow_nonfinite = true, .ignore_extra = true};
    add(w, "backbone.extra", DIMS(3));
    lcsm_model *m = good(&x, w, HF "}", options);
    assert_true(isnan(values(m, "layers.0.mixer.D")[2]));
    lcsm_model_free(m);
    done(&x);
    free(w);
}

TEST(import_file_that_is_no_archive_under_a_name_of_pytorch)
{
    fixture  x;
    weights *w = mamba((mamba_kind){0});
    assert_int_equal(
        import(&x, w, HF "}", (lcsm_import_options){.size = sizeof(lcsm_import_options)}), LCSM_OK);
    assert_int_equal(
        rename(temp_path(&x.f, "model.safetensors"), temp_path(&x.f, "pytorch_model.bin")), 0);
    assert_int_equal(lcsm_import(x.ctx, x.f.path, temp_path(&x.f, "two"), NULL, NULL, &x.err),
                     LCSM_ERR_FORMAT);
    assert_non_null(strstr(x.err.text, "is not a whole zip archive"));
    done(&x);
    free(w);
}

/* ---- RWKV ------------------------------------------------------------------------------- */

enum { RWKV_LAYERS = 3 };

/* attention has A channels, the channel mixer I. */
static weights *rwkv(size_t A, size_t I)
{
    static const struct {
        const char *name;
        char        dims[4]; /* H, A or I for each axis, 1 for one */
    } rows[] = {
        {"ln1.weight", "H"},
        {"ln1.bias", "H"},
        {"ln2.weight", "H"},
        {"ln2.bias", "H"},
        {"attention.time_decay", "A"},
        {"attention.time_first", "A"},
        {"attention.time_mix_key", "11H"},
        {"attention.time_mix_value", "11H"},
        {"attention.time_mix_receptance", "11H"},
        {"attention.key.weight", "AH"},
        {"attention.value.weight", "AH"},
        {"attention.receptance.weight", "AH"},
        {"attention.output.weight", "HA"},
        {"feed_forward.time_mix_key", "11H"},
        {"feed_forward.time_mix_receptance", "11H"},
        {"feed_forward.key.weight", "IH"},
        {"feed_forward.receptance.weight", "HH"},
        {"feed_forward.value.weight", "HI"},
    };
    weights *w = calloc(1, sizeof *w);
    assert_non_null(w);
    add(w, "rwkv.embeddings.weight", DIMS(16, 8));
    add(w, "rwkv.blocks.0.pre_ln.weight", DIMS(8));
    add(w, "rwkv.blocks.0.pre_ln.bias", DIMS(8));
    for (int i = 0; i < RWKV_LAYERS; i++)
        for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
            char   name[96];
            size_t dims[5] = {0};
            (void)snprintf(name, sizeof name, "rwkv.blocks.%d.%s", i, rows[j].name);
            for (size_t k = 0; rows[j].dims[k] != '\0'; k++) {
                char c  = rows[j].dims[k];
                dims[k] = c == 'H' ? 8 : c == 'A' ? A : c == 'I' ? I : 1;
            }
            add(w, name, dims);
        }
    add(w, "rwkv.ln_out.weight", DIMS(8));
    add(w, "rwkv.ln_out.bias", DIMS(8));
    add(w, "head.weight", DIMS(16, 8));
    return w;
}

#define RWKV                                                                                       \
    "{\"architectures\": [\"RwkvForCausalLM\"], \"model_type\": \"rwkv\", \"vocab_size\": 16, "    \
    "\"hidden_size\": 8, \"num_hidden_layers\": 3"

TEST(import_rwkv_of_any_width)
{
    fixture     x;
    weights    *w = rwkv(12, 20);
    lcsm_model *m = good(&x, w,
                         RWKV ", \"attention_hidden_size\": 12, \"intermediate_size\": 20, "
                              "\"layer_norm_epsilon\": 1e-3}",
                         (lcsm_import_options){.size = sizeof(lcsm_import_options)});
    assert_memory_equal(values(m, "layers.2.mixer.time_mix_v"),
                        w->values[find(w, "rwkv.blocks.2.attention.time_mix_value")],
                        8 * sizeof(float));
    assert_memory_equal(values(m, "layers.1.mixer.output.weight"),
                        w->values[find(w, "rwkv.blocks.1.attention.output.weight")],
                        96 * sizeof(float));
    assert_true(m->cfg.norm_eps == 1e-3);
    assert_true(m->cfg.final_norm_eps == 1e-5);
    lcsm_model_free(m);
    done(&x);
    free(w);
}

TEST(import_rwkv_rescaled_weights_are_multiplied_again)
{
    fixture     x;
    weights    *w = rwkv(8, 32);
    lcsm_model *m =
        good(&x, w, RWKV ", \"rescale_every\": 2}",
             (lcsm_import_options){.size = sizeof(lcsm_import_options), .rwkv_rescaled = true});
    const float *out = values(m, "layers.2.mixer.output.weight"),
                *old = w->values[find(w, "rwkv.blocks.2.attention.output.weight")];
    for (size_t j = 0; j < 64; j++) assert_true(out[j] == 2 * old[j]);
    assert_memory_equal(values(m, "layers.1.channel.value.weight"),
                        w->values[find(w, "rwkv.blocks.1.feed_forward.value.weight")],
                        256 * sizeof(float));
    assert_memory_equal(values(m, "layers.2.channel.key.weight"),
                        w->values[find(w, "rwkv.blocks.2.feed_forward.key.weight")],
                        256 * sizeof(float));
    lcsm_model_free(m);
    done(&x);
    free(w);
}
