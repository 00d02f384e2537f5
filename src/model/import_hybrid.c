/* import_hybrid.c - models of Hugging Face with layers of two kinds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/import.h"

/* clang-format off */
#define LAYER "model.layers.{i}."
#define MIX   "layers.{i}.mixer."

#define ENDS                                                               \
    LCSM_SAME("model.embed_tokens.weight", "embedding.weight"),            \
    LCSM_SAME("lm_head.weight",            "head.weight")

#define ATTENTION(prefix)                                                  \
    LCSM_SAME(prefix "q_proj.weight", MIX "q.weight"),                     \
    LCSM_SAME(prefix "k_proj.weight", MIX "k.weight"),                     \
    LCSM_SAME(prefix "v_proj.weight", MIX "v.weight"),                     \
    LCSM_SAME(prefix "o_proj.weight", MIX "out.weight"),                   \
    LCSM_SAME(prefix "q_proj.bias",   MIX "q.bias"),                       \
    LCSM_SAME(prefix "k_proj.bias",   MIX "k.bias"),                       \
    LCSM_SAME(prefix "v_proj.bias",   MIX "v.bias"),                       \
    LCSM_SAME(prefix "o_proj.bias",   MIX "out.bias")

#define MLP(prefix)                                                        \
    LCSM_SAME(prefix "gate_proj.weight", "layers.{i}.channel.w1.weight"),  \
    LCSM_SAME(prefix "up_proj.weight",   "layers.{i}.channel.w2.weight"),  \
    LCSM_SAME(prefix "down_proj.weight", "layers.{i}.channel.w3.weight"),  \
    LCSM_SAME(prefix "gate_proj.bias",   "layers.{i}.channel.w1.bias"),    \
    LCSM_SAME(prefix "up_proj.bias",     "layers.{i}.channel.w2.bias"),    \
    LCSM_SAME(prefix "down_proj.bias",   "layers.{i}.channel.w3.bias")

#define SIZES(vocab, hidden, layers, tied)                                 \
    LCSM_SETS("vocab_size",          "vocab",   vocab),                    \
    LCSM_SETS("hidden_size",         "d_model", hidden),                   \
    LCSM_SETS("num_hidden_layers",   "layers",  layers),                   \
    LCSM_SETS("tie_word_embeddings", "tied",    tied)

#define ATTENTION_KEYS(heads, kv_heads)                                    \
    LCSM_SETS("num_attention_heads", "attention.heads",    heads),         \
    LCSM_SETS("num_key_value_heads", "attention.kv_heads", kv_heads),      \
    LCSM_SKIPS("rope_parameters|rope_theta|partial_rotary_factor|rope_scaling|layer_types")

/* ---- RecurrentGemma ---- */
const lcsm_import_rule LCSM_GEMMA_RULES[] = {
    ENDS,
    LCSM_AS(PLUS_ONE, "model.final_norm.weight",          "norm.weight"),
    LCSM_AS(PLUS_ONE, LAYER "temporal_pre_norm.weight",   "layers.{i}.norm1.weight"),
    LCSM_AS(PLUS_ONE, LAYER "channel_pre_norm.weight",    "layers.{i}.norm2.weight"),
    LCSM_SAME(LAYER "temporal_block.linear_x.weight",     MIX "x.weight"),
    LCSM_SAME(LAYER "temporal_block.linear_x.bias",       MIX "x.bias"),
    LCSM_SAME(LAYER "temporal_block.linear_y.weight",     MIX "gate.weight"),
    LCSM_SAME(LAYER "temporal_block.linear_y.bias",       MIX "gate.bias"),
    LCSM_AS(CHANNELS, LAYER "temporal_block.conv_1d.weight", MIX "conv1d.weight"),
    LCSM_SAME(LAYER "temporal_block.conv_1d.bias",        MIX "conv1d.bias"),
    LCSM_SAME(LAYER "temporal_block.rg_lru.recurrent_param", MIX "lambda"),
    LCSM_AS(BLOCKS, LAYER "temporal_block.rg_lru.input_gate_weight",     MIX "input_gate.weight"),
    LCSM_AS(BLOCKS, LAYER "temporal_block.rg_lru.recurrent_gate_weight", MIX "recurrent_gate.weight"),
    LCSM_AS(FLAT, LAYER "temporal_block.rg_lru.input_gate_bias",         MIX "input_gate.bias"),
    LCSM_AS(FLAT, LAYER "temporal_block.rg_lru.recurrent_gate_bias",     MIX "recurrent_gate.bias"),
    ATTENTION(LAYER "temporal_block."),
    LCSM_SAME(LAYER "temporal_block.linear_out.weight",   MIX "out.weight"),
    LCSM_SAME(LAYER "temporal_block.linear_out.bias",     MIX "out.bias"),
    MLP(LAYER "mlp_block."),
    LCSM_END,
};
const lcsm_import_key LCSM_GEMMA_KEYS[] = {
    SIZES("256000", "2560", "26", "true"),
    ATTENTION_KEYS("10", "0"),
    LCSM_SETS("num_attention_heads",   "heads",              "10"),
    LCSM_SETS("head_dim",              "attention.head_dim", "0"),
    LCSM_SETS("attention_window_size", "attention.window",   "2048"),
    LCSM_SETS("attention_bias",        "attention.bias",     "false"),
    LCSM_SETS("conv1d_width",          "conv_width",         "4"),
    LCSM_SETS("logits_soft_cap",       "soft_cap",           "30"),
    LCSM_SETS("rms_norm_eps",          "norm_eps",           "1e-6"),
    LCSM_SETS("intermediate_size",     "hidden",             "15360"),
    LCSM_ONLY("hidden_activation", "gelu_pytorch_tanh"),
    LCSM_SKIPS("lru_width|block_types|_block_types|w_init_variance_scale|final_w_init_variance_scale"),
    LCSM_END,
};

/* ---- Qwen3-Next ---- */
enum { Q = 1, K, V, Z, BETA, DECAY, Q_CONV, K_CONV, V_CONV, QUERY, QUERY_GATE };

#define LINEAR LAYER "linear_attn."
const lcsm_import_rule LCSM_QWEN_RULES[] = {
    ENDS,
    LCSM_AS(PLUS_ONE, "model.norm.weight",                       "norm.weight"),
    LCSM_AS(PLUS_ONE, LAYER "input_layernorm.weight",            "layers.{i}.norm1.weight"),
    LCSM_AS(PLUS_ONE, LAYER "post_attention_layernorm.weight",   "layers.{i}.norm2.weight"),
    LCSM_PART(QUERY, AS_IS, LAYER "self_attn.q_proj.weight",     MIX "q.weight"),
    LCSM_PART(QUERY_GATE, AS_IS, LAYER "self_attn.q_proj.weight", MIX "gate.weight"),
    LCSM_SAME(LAYER "self_attn.k_proj.weight",                   MIX "k.weight"),
    LCSM_SAME(LAYER "self_attn.v_proj.weight",                   MIX "v.weight"),
    LCSM_SAME(LAYER "self_attn.o_proj.weight",                   MIX "out.weight"),
    LCSM_AS(PLUS_ONE, LAYER "self_attn.q_norm.weight",           MIX "q_norm.weight"),
    LCSM_AS(PLUS_ONE, LAYER "self_attn.k_norm.weight",           MIX "k_norm.weight"),
    LCSM_PART(Q, AS_IS, LINEAR "in_proj_qkvz.weight",            MIX "q.weight"),
    LCSM_PART(K, AS_IS, LINEAR "in_proj_qkvz.weight",            MIX "k.weight"),
    LCSM_PART(V, AS_IS, LINEAR "in_proj_qkvz.weight",            MIX "v.weight"),
    LCSM_PART(Z, AS_IS, LINEAR "in_proj_qkvz.weight",            MIX "gate.weight"),
    LCSM_PART(BETA, AS_IS, LINEAR "in_proj_ba.weight",           MIX "beta.weight"),
    LCSM_PART(DECAY, AS_IS, LINEAR "in_proj_ba.weight",          MIX "decay.weight"),
    LCSM_PART(Q_CONV, CHANNELS, LINEAR "conv1d.weight",          MIX "q_conv.weight"),
    LCSM_PART(K_CONV, CHANNELS, LINEAR "conv1d.weight",          MIX "k_conv.weight"),
    LCSM_PART(V_CONV, CHANNELS, LINEAR "conv1d.weight",          MIX "v_conv.weight"),
    LCSM_SAME(LINEAR "A_log",                                    MIX "A_log"),
    LCSM_SAME(LINEAR "dt_bias",                                  MIX "dt_bias"),
    LCSM_SAME(LINEAR "norm.weight",                              MIX "norm.weight"),
    LCSM_SAME(LINEAR "out_proj.weight",                          MIX "out.weight"),
    MLP(LAYER "mlp."),
    LCSM_END,
};
const lcsm_import_key LCSM_QWEN_KEYS[] = {
    SIZES("151936", "2048", "48", "false"),
    ATTENTION_KEYS("16", "2"),
    LCSM_SETS("head_dim",               "attention.head_dim", "256"),
    LCSM_SETS("linear_num_value_heads", "heads",              "32"),
    LCSM_SETS("linear_num_key_heads",   "groups",             "16"),
    LCSM_SETS("linear_key_head_dim",    "expand",             "128"),
    LCSM_SETS("linear_conv_kernel_dim", "conv_width",         "4"),
    LCSM_SETS("rms_norm_eps",           "norm_eps",           "1e-6"),
    LCSM_SETS("rms_norm_eps",           "mixer_eps",          "1e-6"),
    LCSM_SETS("intermediate_size",      "hidden",             "5632"),
    LCSM_ONLY("hidden_act", "silu|swish"), LCSM_ONLY("attention_bias", "false"),
    LCSM_SKIPS("linear_value_head_dim|full_attention_interval|num_experts|num_experts_per_tok|norm_topk_prob|decoder_sparse_step"),
    LCSM_SKIPS("mlp_only_layers|moe_intermediate_size|shared_expert_intermediate_size"),
    LCSM_END,
};

/* ---- Bamba ---- */
const lcsm_import_rule LCSM_BAMBA_RULES[] = {
    ENDS,
    LCSM_SAME("model.final_layernorm.weight",   "norm.weight"),
    LCSM_SAME(LAYER "input_layernorm.weight",   "layers.{i}.norm1.weight"),
    LCSM_SAME(LAYER "pre_ff_layernorm.weight",  "layers.{i}.norm2.weight"),
    LCSM_MAMBA2_MIXER(LAYER "mamba."),
    ATTENTION(LAYER "self_attn."),
    MLP(LAYER "feed_forward."),
    LCSM_END,
};
const lcsm_import_key LCSM_BAMBA_KEYS[] = {
    SIZES("128000", "4096", "32", "false"),
    ATTENTION_KEYS("32", "8"),
    LCSM_SETS("mamba_n_heads",     "heads",          "128"),
    LCSM_SETS("mamba_n_groups",    "groups",         "1"),
    LCSM_SETS("mamba_d_state",     "state_size",     "256"),
    LCSM_SETS("mamba_d_conv",      "conv_width",     "4"),
    LCSM_SETS("mamba_expand",      "inner_ratio",    "2"),
    LCSM_SETS("mamba_conv_bias",   "conv_bias",      "true"),
    LCSM_SETS("mamba_proj_bias",   "proj_bias",      "false"),
    LCSM_SETS("rms_norm_eps",      "norm_eps",       "1e-5"),
    LCSM_SETS("rms_norm_eps",      "mixer_eps",      "1e-5"),
    LCSM_SETS("intermediate_size", "hidden",         "14336"),
    LCSM_SETS("attention_bias",    "attention.bias", "false"),
    LCSM_SETS("mlp_bias",          "channel_bias",   "false"),
    LCSM_ONLY("hidden_act", "silu|swish"),
    LCSM_SKIPS("mamba_d_head|mamba_chunk_size|attn_layer_indices|num_logits_to_keep|z_loss_coefficient|time_step_limit"),
    LCSM_END,
};
/* clang-format on */

/* ---- what hybrids share ----------------------------------------------------------------- */

/* The rotation: of rope_parameters, or of the config itself in older files. */
static lcsm_status finish_rope(lcsm_model_config *c, const lcsm_import_source *src, double part,
                               lcsm_error *err)
{
    json_t     *own   = json_object_get(src->config, "rope_parameters");
    json_t     *theta = json_object_get(own != NULL ? own : src->config, "rope_theta");
    json_t     *some  = json_object_get(own != NULL ? own : src->config, "partial_rotary_factor");
    const char *type  = json_string_value(json_object_get(own, "rope_type"));
    if (json_object_get(src->config, "rope_scaling") != NULL)
        return lcsm_import_refuse(src, "rope_scaling", "null", err);
    if (type != NULL && strcmp(type, "default") != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: rope_type is \"%.40s\", which is not supported; expected default",
                         src->place, type);
    c->attention_rope_base = json_is_number(theta) ? json_number_value(theta) : 10000;
    c->attention_rotary    = json_is_number(some) ? json_number_value(some) : part;
    return LCSM_OK;
}

/* A cache of as many tokens as the model knows, but no more than a few thousand. */
static void finish_length(lcsm_model_config *c, const lcsm_import_source *src)
{
    enum { MOST = 4096 };
    double length = lcsm_import_number(src, "max_position_embeddings", MOST);
    c->max_length = length >= 1 && length < MOST ? (ptrdiff_t)length : MOST;
}

/* Which of two methods a layer has; -1: the config does not say. */
typedef int layer_fn(const lcsm_import_source *src, ptrdiff_t layer);

static lcsm_status finish_layers(lcsm_model_config *c, const lcsm_import_source *src,
                                 const char *const names[2], layer_fn *kind, lcsm_error *err)
{
    lcsm_status  st = LCSM_OK;
    const char **of = calloc((size_t)c->layers + 1, sizeof *of);
    if (of == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a pattern");
    for (ptrdiff_t j = 0; j < c->layers && st == LCSM_OK; j++) {
        int k = kind(src, j);
        if (k < 0)
            st = lcsm_fail(err, LCSM_ERR_FORMAT, "%s: the kind of layer %td is not known",
                           src->place, j);
        else of[j] = names[k];
    }
    if (st == LCSM_OK) st = lcsm_import_pattern(c, src, of, err);
    free(of);
    return st;
}

/* A list of "linear_attention" and "full_attention". */
static int kind_in_list(const json_t *list, ptrdiff_t layer, const char *zero, const char *one)
{
    const char *kind = json_string_value(json_array_get(list, (size_t)layer));
    if (kind == NULL) return -1;
    return strcmp(kind, zero) == 0 ? 0 : strcmp(kind, one) == 0 ? 1 : -1;
}

static bool has_number(const json_t *list, ptrdiff_t n)
{
    for (size_t j = 0; j < json_array_size(list); j++)
        if (json_integer_value(json_array_get(list, j)) == n) return true;
    return false;
}

/* ---- RecurrentGemma --------------------------------------------------------------------- */

static int gemma_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    json_t *list = json_object_get(src->config, "block_types");
    if (list == NULL) list = json_object_get(src->config, "_block_types");
    if (list == NULL) return layer % 3 == 2;
    size_t n = json_array_size(list);
    return n == 0 ? -1 : kind_in_list(list, layer % (ptrdiff_t)n, "recurrent", "attention");
}

/* sqrt(H), rounded to bfloat16. */
static double embed_factor(ptrdiff_t H)
{
    float    root = (float)sqrt((double)H);
    uint32_t bits;
    memcpy(&bits, &root, sizeof bits);
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u;
    memcpy(&root, &bits, sizeof bits);
    return (double)root;
}

lcsm_status lcsm_import_gemma(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"rg-lru", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    double                   width   = lcsm_import_number(src, "lru_width", (double)c->d_model);
    c->inner_ratio                   = width / (double)c->d_model;
    c->hidden                        = c->hidden / 2;
    c->embed_scale                   = embed_factor(c->d_model);
    c->channel_mixer                 = LCSM_CHANNEL_GEGLU;
    c->channel_bias                  = true;
    c->attention_out_bias            = true;
    finish_length(c, src);
    lcsm_status st = finish_rope(c, src, 0.5, err);
    return st == LCSM_OK ? finish_layers(c, src, names, gemma_layer, err) : st;
}

/* ---- Qwen3-Next ------------------------------------------------------------------------- */

static int qwen_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    json_t   *list  = json_object_get(src->config, "layer_types");
    ptrdiff_t every = (ptrdiff_t)lcsm_import_number(src, "full_attention_interval", 4);
    if (list != NULL) return kind_in_list(list, layer, "linear_attention", "full_attention");
    return every > 0 ? (layer + 1) % every == 0 : -1;
}

static void qwen_parts(lcsm_import_plan *out, ptrdiff_t D)
{
    const lcsm_model_config *c = &out->cfg;
    ptrdiff_t                G = c->groups, r = c->heads / (G > 0 ? G : 1), n = c->expand,
              d         = c->attention_head_dim;
    ptrdiff_t         S = 2 * n + 2 * r * D, C = 2 * G * n + c->heads * D;
    lcsm_import_part *p = out->parts;
    p[Q]                = (lcsm_import_part){G, S, 0};
    p[K]                = (lcsm_import_part){G, S, n};
    p[V]                = (lcsm_import_part){G, S, 2 * n};
    p[Z]                = (lcsm_import_part){G, S, 2 * n + r * D};
    p[BETA]             = (lcsm_import_part){G, 2 * r, 0};
    p[DECAY]            = (lcsm_import_part){G, 2 * r, r};
    p[Q_CONV]           = (lcsm_import_part){1, C, 0};
    p[K_CONV]           = (lcsm_import_part){1, C, G * n};
    p[V_CONV]           = (lcsm_import_part){1, C, 2 * G * n};
    p[QUERY]            = (lcsm_import_part){c->attention_heads, 2 * d, 0};
    p[QUERY_GATE]       = (lcsm_import_part){c->attention_heads, 2 * d, d};
}

lcsm_status lcsm_import_qwen(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"gated-deltanet", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    double                   D       = lcsm_import_number(src, "linear_value_head_dim", 128);
    if (lcsm_import_number(src, "num_experts", 512) > 0)
        return lcsm_import_refuse(src, "num_experts", "0", err);
    c->value_ratio       = D * (double)c->heads / (double)c->d_model;
    c->attention_gate    = true;
    c->attention_qk_norm = true;
    c->output_gate       = LCSM_OUTPUT_GATE_SILU;
    c->channel_mixer     = LCSM_CHANNEL_GLU;
    finish_length(c, src);
    qwen_parts(out, (ptrdiff_t)D);
    lcsm_status st = finish_rope(c, src, 0.25, err);
    return st == LCSM_OK ? finish_layers(c, src, names, qwen_layer, err) : st;
}

/* ---- Bamba ------------------------------------------------------------------------------ */

static int bamba_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    return has_number(json_object_get(src->config, "attn_layer_indices"), layer);
}

lcsm_status lcsm_import_bamba(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"mamba2", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    c->attention_out_bias            = c->attention_bias;
    c->channel_mixer                 = LCSM_CHANNEL_GLU;
    finish_length(c, src);
    lcsm_status st = lcsm_import_time_steps(c, src, err);
    if (st == LCSM_OK) st = finish_rope(c, src, 0.5, err);
    return st == LCSM_OK ? finish_layers(c, src, names, bamba_layer, err) : st;
}
