/*
 * The name tables of released models: folders with the names and shapes of each release
 * (released_names.json) and numbers of our own. Every tensor is used, and each is missed by name.
 */
#include <lcsm/import.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "format/json_doc.h"
#include "format/safetensors.h"
#include "model/import.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

#define NAMES "tests/unit/released_names.json"

enum { MAX_TENSORS = 128 };

typedef struct {
    lcsm_context     *ctx;
    temp_folder       f;
    lcsm_named_tensor list[MAX_TENSORS];
    size_t            count;
} folder;

static void add(folder *x, const char *name, const json_t *shape)
{
    assert_true(x->count < MAX_TENSORS);
    lcsm_named_tensor *t     = &x->list[x->count];
    size_t             count = 1;
    *t                       = (lcsm_named_tensor){
                              .name = name, .element = LCSM_ELEMENT_F32, .rank = json_array_size(shape)};
    for (size_t j = 0; j < t->rank; j++)
        count *= t->shape[j] = (size_t)json_integer_value(json_array_get(shape, j));
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t j = 0; j < count; j++)
        values[j] = 0.3f * (float)lcsm_rng_normal(9, (uint32_t)x->count, j);
    t->data = values;
    x->count++;
}

static void make(folder *x, json_t *release)
{
    const char *name;
    json_t     *shape;
    char       *config = json_dumps(json_object_get(release, "config"), 0);
    *x                 = (folder){.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x->ctx, NULL, NULL), LCSM_OK);
    json_object_foreach(json_object_get(release, "tensors"), name, shape) add(x, name, shape);
    temp_write(&x->f, "config.json", config, strlen(config));
    free(config);
}

static void done(folder *x)
{
    for (size_t j = 0; j < x->count; j++) free((void *)(uintptr_t)x->list[j].data);
    temp_folder_remove(&x->f);
    lcsm_context_free(x->ctx);
}

/* Imports the first `count` tensors. */
static lcsm_status import(folder *x, size_t count, const char *to, lcsm_error *err)
{
    assert_int_equal(
        lcsm_safetensors_save(temp_path(&x->f, "model.safetensors"), x->list, count, NULL, 0, NULL),
        LCSM_OK);
    return lcsm_import(x->ctx, x->f.path, temp_path(&x->f, to), NULL, NULL, err);
}

/* The imported model gives finite logits, the same token by token as at once. */
static void assert_runs(folder *x, const char *name)
{
    static const int32_t tokens[] = {3, 1, 4, 1, 5};
    float                whole[5 * 32], steps[5 * 32];
    lcsm_error           err = {0};
    lcsm_model          *m;
    lcsm_session        *s;
    if (lcsm_model_load(&m, x->ctx, temp_path(&x->f, "run"), &err) != LCSM_OK)
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(lcsm_session_create(&s, m, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, tokens, 5, whole, &err), LCSM_OK);
    lcsm_session_reset(s);
    for (size_t t = 0; t < 5; t++)
        assert_int_equal(lcsm_session_feed(s, tokens + t, 1, steps + 23 * t, &err), LCSM_OK);
    for (size_t j = 0; j < 5 * 23; j++) {
        /* float: a hundred roundings of numbers below 10 */
        if (!(fabsf(whole[j] - steps[j]) <= 1e-4f))
            fail_msg("%s: logit %zu is %g and %g", name, j, (double)whole[j], (double)steps[j]);
    }
    lcsm_session_free(s);
    lcsm_model_free(m);
}

static const float *theirs(const folder *x, const char *name)
{
    for (size_t j = 0; j < x->count; j++)
        if (strcmp(x->list[j].name, name) == 0) return x->list[j].data;
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Rows of fused tensors and norms of 1 + w, of Qwen3-Next: 2 key heads of 6 and 4 value heads of 5,
 * so a group of its 64 rows has 6 of q, 6 of k, 10 of v and 10 of the gate. */
TEST(import_of_fused_rows_takes_those_of_its_part)
{
    enum { H = 18 };
    lcsm_json_doc doc = {0};
    lcsm_error    err = {0};
    folder        x;
    lcsm_model   *m;
    assert_int_equal(lcsm_json_doc_read(&doc, NAMES, LCSM_JSON_LARGE_SIZE, NULL), LCSM_OK);
    make(&x, json_object_get(doc.root, "qwen3_next"));
    assert_int_equal(import(&x, x.count, "run", &err), LCSM_OK);
    assert_int_equal(lcsm_model_load(&m, x.ctx, temp_path(&x.f, "run"), &err), LCSM_OK);
    const float *fused = theirs(&x, "model.layers.1.linear_attn.in_proj_qkvz.weight");
    const float *k =
        lcsm_param_values(m->params, lcsm_params_find(m->params, "layers.1.mixer.k.weight"));
    const float *v =
        lcsm_param_values(m->params, lcsm_params_find(m->params, "layers.1.mixer.v.weight"));
    assert_memory_equal(k, fused + 6 * H, 6 * H * sizeof(float));
    assert_memory_equal(k + 6 * H, fused + (32 + 6) * H, 6 * H * sizeof(float));
    assert_memory_equal(v + 10 * H, fused + (32 + 12) * H, 10 * H * sizeof(float));
    const float *norm = lcsm_param_values(m->params, lcsm_params_find(m->params, "norm.weight"));
    for (size_t j = 0; j < H; j++) assert_true(norm[j] == 1 + theirs(&x, "model.norm.weight")[j]);
    lcsm_model_free(m);
    done(&x);
    lcsm_json_doc_free(&doc);
}

/* Without any one of its tensors a folder is refused, and the message names that tensor. */
static void assert_misses(folder *x, const char *name)
{
    for (size_t j = 0; j < x->count; j++) {
        lcsm_error        err  = {0};
        lcsm_named_tensor last = x->list[x->count - 1], out = x->list[j];
        x->list[j]            = last;
        x->list[x->count - 1] = out;
        lcsm_status st        = import(x, x->count - 1, "other", &err);
        if (st != LCSM_ERR_FORMAT || strstr(err.text, out.name) == NULL)
            fail_msg("%s without %s: %d %s", name, out.name, (int)st, err.text);
        x->list[x->count - 1] = last;
        x->list[j]            = out;
    }
}

TEST(import_of_every_release_uses_each_of_its_tensors)
{
    lcsm_json_doc doc = {0};
    const char   *name;
    json_t       *release;
    if (lcsm_json_doc_read(&doc, NAMES, LCSM_JSON_LARGE_SIZE, NULL) != LCSM_OK)
        fail_msg("%s cannot be read", NAMES);
    json_object_foreach(doc.root, name, release)
    {
        folder     x;
        lcsm_error err = {0};
        make(&x, release);
        if (import(&x, x.count, "run", &err) != LCSM_OK) fail_msg("%s: %s", name, err.text);
        assert_runs(&x, name);
        assert_misses(&x, name);
        done(&x);
    }
    lcsm_json_doc_free(&doc);
}

/* What a release may say and we do not compute is refused by its key. */
TEST(import_names_the_option_that_is_not_supported)
{
    static const struct {
        const char *release, *key, *json, *says;
    } cases[] = {
        {"gla", "use_short_conv", "true", "use_short_conv is true"},
        {"gla", "feature_map", "\"relu\"", "feature_map is \"relu\""},
        {"gla", "clamp_min", "-3", "clamp_min is -3"},
        {"gla", "num_kv_heads", "1", "num_kv_heads is 1"},
        {"gla", "hidden_act", "\"gelu\"", "hidden_act is \"gelu\""},
        {"gla", "num_heads", "4", "4 heads do not divide 6 key channels"},
        {"gla", "attn", "{}", "attn is set"},
        {"hgrn2", "use_lower_bound", "false", "use_lower_bound is false"},
        {"hgrn2", "expand_ratio", "4", "expand_ratio is 4"},
        {"linear_attn", "feature_map", "\"hedgehog\"", "feature_map is \"hedgehog\""},
        {"delta_net", "qk_norm", "\"sum\"", "qk_norm is \"sum\""},
        {"kda", "lower_bound", "5", "lower_bound is 5"},
        {"rwkv6", "norm_first", "false", "norm_first is false"},
        {"rwkv6", "num_heads", "3", "3 heads do not divide 8 key channels"},
        {"rwkv7", "head_dim", "7", "head_dim is 7"},
        {"rwkv7", "num_heads", "2", "num_heads is 2"},
        {"mamba2", "rms_norm", "false", "rms_norm is false"},
        {"mamba2", "head_dim", "4", "num_heads times head_dim is 24"},
        {"mamba2", "time_step_limit", "[0]", "time_step_limit is not a pair"},
        {"qwen3_next_moe", "mlp_only_layers", "[1]", "mlp_only_layers is set"},
        {"kimi_linear", "num_expert_group", "2", "num_expert_group is 2"},
        {"kimi_linear", "q_lora_rank", "4", "q_lora_rank is 4"},
        {"kimi_linear", "mlp_layer_types", "[\"dense\", \"sparse\", \"dense\"]",
         "mlp_layer_types is set"},
        {"minimax", "layer_types", "[\"linear_attention\"]", "the kind of layer 1"},
        {"xlstm", "use_bias", "true", "use_bias is true"},
        {"xlstm", "num_heads", "3", "3 heads do not divide 10 key channels"},
        {"jamba", "attn_layer_period", "0", "the kind of layer 0"},
        {"qwen3_next", "layer_types", "[\"linear_attention\", \"other\"]", "the kind of layer 1"},
        {"qwen3_next", "rope_parameters", "{\"rope_type\": \"yarn\"}", "rope_type is \"yarn\""},
        {"bamba", "rope_scaling", "{}", "rope_scaling is set"},
        {"recurrent_gemma", "hidden_activation", "\"silu\"", "hidden_activation is \"silu\""},
        {"recurrent_gemma", "block_types", "[]", "the kind of layer 0"},
    };
    lcsm_json_doc doc = {0};
    assert_int_equal(lcsm_json_doc_read(&doc, NAMES, LCSM_JSON_LARGE_SIZE, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(cases); j++) {
        folder     x;
        lcsm_error err     = {0};
        json_t    *release = json_deep_copy(json_object_get(doc.root, cases[j].release));
        json_object_set_new(json_object_get(release, "config"), cases[j].key,
                            json_loads(cases[j].json, JSON_DECODE_ANY, NULL));
        make(&x, release);
        lcsm_status st = import(&x, x.count, "run", &err);
        if (st != LCSM_ERR_FORMAT || strstr(err.text, cases[j].says) == NULL)
            fail_msg("%s %s: %d \"%s\"", cases[j].release, cases[j].key, (int)st, err.text);
        done(&x);
        json_decref(release);
    }
    lcsm_json_doc_free(&doc);
}

/* Python writes a bare Infinity into configs, and the layers of a hybrid may not repeat evenly. */
TEST(import_reads_configs_that_are_not_quite_json)
{
    static const char config[] =
        "{\"architectures\": [\"Mamba2ForCausalLM\"], \"model_type\": \"mamba2\", \"vocab_size\": "
        "23, \"hidden_size\": 15, \"num_hidden_layers\": 2, \"num_heads\": 6, \"head_dim\": 5, "
        "\"n_groups\": 2, \"state_size\": 7, \"note\": \"-Infinity \\\" Infinity\", "
        "\"time_step_limit\": [0.0, Infinity], \"other\": -Infinity}";
    lcsm_json_doc doc = {0};
    lcsm_error    err = {0};
    folder        x;
    assert_int_equal(lcsm_json_doc_read(&doc, NAMES, LCSM_JSON_LARGE_SIZE, NULL), LCSM_OK);
    make(&x, json_object_get(doc.root, "mamba2"));
    temp_write(&x.f, "config.json", config, sizeof config - 1);
    if (import(&x, x.count, "run", &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_runs(&x, "mamba2");
    done(&x);
    lcsm_json_doc_free(&doc);
}

static const char *pattern_of(const char *letters, lcsm_model_config *cfg)
{
    static const lcsm_import_source src = {.place = "config.json"};
    const char                     *methods[64];
    lcsm_model_config_defaults(cfg);
    cfg->layers = (ptrdiff_t)strlen(letters);
    for (size_t j = 0; letters[j] != '\0'; j++)
        methods[j] = letters[j] == 'm' ? "mamba2" : "attention";
    assert_int_equal(lcsm_import_pattern(cfg, &src, methods, NULL), LCSM_OK);
    return cfg->layers_pattern;
}

TEST(import_pattern_is_the_shortest_that_repeats)
{
    lcsm_model_config cfg;
    assert_string_equal(pattern_of("mam", &cfg), "mamba2,attention");
    assert_string_equal(pattern_of("mmmammma", &cfg), "mamba2*3,attention");
    assert_string_equal(pattern_of("mmmmmmmmmammmmmmmmammmmmmmmammmm", &cfg),
                        "mamba2*9,attention,mamba2*8,attention,mamba2*8,attention");
    assert_string_equal(pattern_of("mmm", &cfg), "");
    assert_string_equal(cfg.method, "mamba2");
}
