/* import_hybrid.c - models of Hugging Face with layers of two kinds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/import.h"

/* clang-format off */
#define LAYER "model.layers.{i}."
#define MIX   "layers.{r}.mixer."
#define SOFT  "layers.{a}.mixer." /* of softmax attention */

#define ENDS                                                               \
    LCSM_SAME("model.embed_tokens.weight", "embedding.weight"),            \
    LCSM_SAME("lm_head.weight",            "head.weight")

#define ATTENTION(prefix)                                                  \
    LCSM_SAME(prefix "q_proj.weight", SOFT "q.weight"),                     \
    LCSM_SAME(prefix "k_proj.weight", SOFT "k.weight"),                     \
    LCSM_SAME(prefix "v_proj.weight", SOFT "v.weight"),                     \
    LCSM_SAME(prefix "o_proj.weight", SOFT "out.weight"),                   \
    LCSM_SAME(prefix "q_proj.bias",   SOFT "q.bias"),                       \
    LCSM_SAME(prefix "k_proj.bias",   SOFT "k.bias"),                       \
    LCSM_SAME(prefix "v_proj.bias",   SOFT "v.bias"),                       \
    LCSM_SAME(prefix "o_proj.bias",   SOFT "out.bias")

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
    LCSM_AS(BY_HEAD, LAYER "temporal_block.rg_lru.input_gate_bias",         MIX "input_gate.bias"),
    LCSM_AS(BY_HEAD, LAYER "temporal_block.rg_lru.recurrent_gate_bias",     MIX "recurrent_gate.bias"),
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
enum {
    Q = 1, K, V, Z, BETA, DECAY, Q_CONV, K_CONV, V_CONV, QUERY, QUERY_GATE,
    EXPERT_GATE, EXPERT_UP, EXPERT_DOWN
};

#define LINEAR LAYER "linear_attn."
const lcsm_import_rule LCSM_QWEN_RULES[] = {
    ENDS,
    LCSM_AS(PLUS_ONE, "model.norm.weight",                       "norm.weight"),
    LCSM_AS(PLUS_ONE, LAYER "input_layernorm.weight",            "layers.{i}.norm1.weight"),
    LCSM_AS(PLUS_ONE, LAYER "post_attention_layernorm.weight",   "layers.{i}.norm2.weight"),
    LCSM_PART(QUERY, AS_IS, LAYER "self_attn.q_proj.weight",     SOFT "q.weight"),
    LCSM_PART(QUERY_GATE, AS_IS, LAYER "self_attn.q_proj.weight", SOFT "gate.weight"),
    LCSM_SAME(LAYER "self_attn.k_proj.weight",                   SOFT "k.weight"),
    LCSM_SAME(LAYER "self_attn.v_proj.weight",                   SOFT "v.weight"),
    LCSM_SAME(LAYER "self_attn.o_proj.weight",                   SOFT "out.weight"),
    LCSM_AS(PLUS_ONE, LAYER "self_attn.q_norm.weight",           SOFT "q_norm.weight"),
    LCSM_AS(PLUS_ONE, LAYER "self_attn.k_norm.weight",           SOFT "k_norm.weight"),
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

/* Sizes of Qwen3.5 where its config does not say them, without and with experts. */
const lcsm_import_key LCSM_QWEN35_KEYS[] = {
    SIZES("248320", "4096", "32", "false"),
    LCSM_SETS("num_key_value_heads", "attention.kv_heads", "4"),
    LCSM_SETS("intermediate_size",   "hidden",             "12288"),
    LCSM_END,
};
const lcsm_import_key LCSM_QWEN35_MOE_KEYS[] = {SIZES("248320", "2048", "40", "false"), LCSM_END};

/* Router, experts and what all tokens use. */
#define EXPERTS(prefix, router, gate, up, down)                                            \
    LCSM_SAME(prefix router ".weight",                "layers.{i}.channel.router.weight"),         \
    LCSM_SAME(prefix "experts.{e}." gate ".weight",   "layers.{i}.channel.experts.{e}.w1.weight"), \
    LCSM_SAME(prefix "experts.{e}." up ".weight",     "layers.{i}.channel.experts.{e}.w2.weight"), \
    LCSM_SAME(prefix "experts.{e}." down ".weight",   "layers.{i}.channel.experts.{e}.w3.weight")
#define SHARED(prefix)                                                                     \
    LCSM_SAME(prefix "gate_proj.weight", "layers.{i}.channel.shared.w1.weight"),                   \
    LCSM_SAME(prefix "up_proj.weight",   "layers.{i}.channel.shared.w2.weight"),                   \
    LCSM_SAME(prefix "down_proj.weight", "layers.{i}.channel.shared.w3.weight")

const lcsm_import_rule LCSM_QWEN_EXPERT_RULES[] = {
    EXPERTS(LAYER "mlp.", "gate", "gate_proj", "up_proj", "down_proj"),
    SHARED(LAYER "mlp.shared_expert."),
    LCSM_SAME(LAYER "mlp.shared_expert_gate.weight", "layers.{i}.channel.shared_gate.weight"),
    LCSM_END,
};

/* The same layers, whose matrices are fused by what they make, and experts in one tensor. */
const lcsm_import_rule LCSM_QWEN35_RULES[] = {
    LCSM_PART(Q_CONV, AS_IS, LINEAR "in_proj_qkv.weight",  MIX "q.weight"),
    LCSM_PART(K_CONV, AS_IS, LINEAR "in_proj_qkv.weight",  MIX "k.weight"),
    LCSM_PART(V_CONV, AS_IS, LINEAR "in_proj_qkv.weight",  MIX "v.weight"),
    LCSM_SAME(LINEAR "in_proj_z.weight",                   MIX "gate.weight"),
    LCSM_SAME(LINEAR "in_proj_b.weight",                   MIX "beta.weight"),
    LCSM_SAME(LINEAR "in_proj_a.weight",                   MIX "decay.weight"),
    LCSM_PART(EXPERT_GATE, EXPERT, LAYER "mlp.experts.gate_up_proj", "layers.{i}.channel.experts.{e}.w1.weight"),
    LCSM_PART(EXPERT_UP, EXPERT, LAYER "mlp.experts.gate_up_proj",   "layers.{i}.channel.experts.{e}.w2.weight"),
    LCSM_PART(EXPERT_DOWN, EXPERT, LAYER "mlp.experts.down_proj",    "layers.{i}.channel.experts.{e}.w3.weight"),
    LCSM_END,
};

/* ---- Jamba ---- */
const lcsm_import_rule LCSM_JAMBA_RULES[] = {
    ENDS,
    LCSM_SAME("model.final_layernorm.weight",     "norm.weight"),
    LCSM_SAME(LAYER "input_layernorm.weight",     "layers.{i}.norm1.weight"),
    LCSM_SAME(LAYER "pre_ff_layernorm.weight",    "layers.{i}.norm2.weight"),
    LCSM_MAMBA1_MIXER(LAYER "mamba."),
    LCSM_SAME(LAYER "mamba.dt_layernorm.weight",  MIX "dt_norm.weight"),
    LCSM_SAME(LAYER "mamba.b_layernorm.weight",   MIX "b_norm.weight"),
    LCSM_SAME(LAYER "mamba.c_layernorm.weight",   MIX "c_norm.weight"),
    ATTENTION(LAYER "self_attn."),
    MLP(LAYER "feed_forward."),
    EXPERTS(LAYER "feed_forward.", "router", "gate_proj", "up_proj", "down_proj"),
    LCSM_END,
};
const lcsm_import_key LCSM_JAMBA_KEYS[] = {
    SIZES("65536", "4096", "32", "false"),
    ATTENTION_KEYS("32", "8"),
    LCSM_SETS("head_dim",            "attention.head_dim", "0"),
    LCSM_SETS("mamba_d_state",       "state_size",     "16"),
    LCSM_SETS("mamba_d_conv",        "conv_width",     "4"),
    LCSM_SETS("mamba_expand",        "inner_ratio",    "2"),
    LCSM_SETS("mamba_dt_rank",       "rank",           "0"),
    LCSM_SETS("mamba_conv_bias",     "conv_bias",      "true"),
    LCSM_SETS("mamba_proj_bias",     "proj_bias",      "false"),
    LCSM_SETS("rms_norm_eps",        "norm_eps",       "1e-6"),
    LCSM_SETS("rms_norm_eps",        "mixer_eps",      "1e-6"),
    LCSM_SETS("intermediate_size",   "hidden",         "14336"),
    LCSM_SETS("num_experts_per_tok", "experts.used",   "2"),
    LCSM_ONLY("hidden_act", "silu|swish"),
    LCSM_SKIPS("attn_layer_offset|attn_layer_period|expert_layer_offset|expert_layer_period|num_experts|use_mamba_kernels"),
    LCSM_SKIPS("use_associative_scan|use_mambapy"),
    LCSM_END,
};

/* ---- Kimi Linear ---- */
enum { LATENT = 1, LATENT_SHARED, HEAD_K, HEAD_V };
const lcsm_import_rule LCSM_KIMI_RULES[] = {
    ENDS,
    LCSM_SAME("model.norm.weight",                         "norm.weight"),
    LCSM_SAME(LAYER "input_layernorm.weight",              "layers.{i}.norm1.weight"),
    LCSM_SAME(LAYER "post_attention_layernorm.weight",     "layers.{i}.norm2.weight"),
    LCSM_SAME(LAYER "self_attn.q_proj.weight",             "layers.{i}.mixer.q.weight"),
    LCSM_SAME(LAYER "self_attn.k_proj.weight",             MIX "k.weight"),
    LCSM_SAME(LAYER "self_attn.v_proj.weight",             MIX "v.weight"),
    LCSM_AS(CHANNELS, LAYER "self_attn.q_conv1d.weight",   MIX "q_conv.weight"),
    LCSM_AS(CHANNELS, LAYER "self_attn.k_conv1d.weight",   MIX "k_conv.weight"),
    LCSM_AS(CHANNELS, LAYER "self_attn.v_conv1d.weight",   MIX "v_conv.weight"),
    LCSM_SAME(LAYER "self_attn.f_a_proj.weight",           MIX "decay_down.weight"),
    LCSM_SAME(LAYER "self_attn.f_b_proj.weight",           MIX "decay_up.weight"),
    LCSM_AS(HEAD_ROWS, LAYER "self_attn.A_log",                MIX "A_log"),
    LCSM_AS(FLAT, LAYER "self_attn.dt_bias",               MIX "dt_bias"),
    LCSM_SAME(LAYER "self_attn.b_proj.weight",             MIX "beta.weight"),
    LCSM_SAME(LAYER "self_attn.g_a_proj.weight",           MIX "gate_down.weight"),
    LCSM_SAME(LAYER "self_attn.g_b_proj.weight",           MIX "gate_up.weight"),
    LCSM_AS(ZERO, NULL,                                    MIX "gate_up.bias"),
    LCSM_SAME(LAYER "self_attn.o_norm.weight",             MIX "norm.weight"),
    LCSM_SAME(LAYER "self_attn.o_proj.weight",             "layers.{i}.mixer.out.weight"),
    LCSM_PART(LATENT, AS_IS, LAYER "self_attn.kv_a_proj_with_mqa.weight",        SOFT "latent.weight"),
    LCSM_PART(LATENT_SHARED, AS_IS, LAYER "self_attn.kv_a_proj_with_mqa.weight", SOFT "k_shared.weight"),
    LCSM_SAME(LAYER "self_attn.kv_a_layernorm.weight",     SOFT "latent_norm.weight"),
    LCSM_PART(HEAD_K, AS_IS, LAYER "self_attn.kv_b_proj.weight", SOFT "k.weight"),
    LCSM_PART(HEAD_V, AS_IS, LAYER "self_attn.kv_b_proj.weight", SOFT "v.weight"),
    LCSM_SAME(LAYER "block_sparse_moe.gate.e_score_correction_bias", "layers.{i}.channel.router.bias"),
    EXPERTS(LAYER "block_sparse_moe.", "gate", "w1", "w3", "w2"),
    SHARED(LAYER "block_sparse_moe.shared_experts."),
    MLP(LAYER "mlp."),
    MLP(LAYER "block_sparse_moe."),
    LCSM_END,
};
const lcsm_import_key LCSM_KIMI_KEYS[] = {
    SIZES("163840", "2304", "27", "false"),
    LCSM_SETS("num_attention_heads",   "attention.heads",      "32"),
    LCSM_SETS("qk_nope_head_dim",      "attention.head_dim",   "128"),
    LCSM_SETS("qk_rope_head_dim",      "attention.shared_dim", "64"),
    LCSM_SETS("v_head_dim",            "attention.value_dim",  "128"),
    LCSM_SETS("kv_lora_rank",          "attention.latent",     "512"),
    LCSM_SETS("rms_norm_eps",          "norm_eps",             "1e-5"),
    LCSM_SETS("rms_norm_eps",          "mixer_eps",            "1e-5"),
    LCSM_SETS("intermediate_size",     "hidden",               "9216"),
    LCSM_SETS("num_experts",           "experts",              "256"),
    LCSM_SETS("num_experts_per_token", "experts.used",         "8"),
    LCSM_SETS("moe_intermediate_size", "experts.hidden",       "1024"),
    LCSM_SETS("moe_renormalize",       "experts.norm",         "true"),
    LCSM_SETS("routed_scaling_factor", "experts.scale",        "1"),
    LCSM_ONLY("hidden_act", "silu|swish"), LCSM_ONLY("q_lora_rank", ""), LCSM_ONLY("num_expert_group", "1"), LCSM_ONLY("topk_group", "1"),
    LCSM_ONLY("attention_bias", "false"), LCSM_ONLY("moe_router_activation_func", "sigmoid"),
    LCSM_SKIPS("linear_attn_config|linear_head_dim|linear_num_heads|linear_conv_kernel_dim|layer_types|mlp_layer_types|num_shared_experts"),
    LCSM_SKIPS("first_k_dense_replace|moe_layer_freq|num_key_value_heads|head_dim|qk_head_dim|pretraining_tp|model_max_length|rope_theta"),
    LCSM_END,
};

/* ---- MiniMax ---- */
enum { LIGHTNING_Q = 1, LIGHTNING_K, LIGHTNING_V };
const lcsm_import_rule LCSM_MINIMAX_RULES[] = {
    ENDS,
    LCSM_SAME("model.norm.weight",                      "norm.weight"),
    LCSM_SAME(LAYER "input_layernorm.weight",           "layers.{i}.norm1.weight"),
    LCSM_SAME(LAYER "post_attention_layernorm.weight",  "layers.{i}.norm2.weight"),
    ATTENTION(LAYER "self_attn."),
    LCSM_PART(LIGHTNING_Q, AS_IS, LAYER "self_attn.qkv_proj.weight", MIX "q.weight"),
    LCSM_PART(LIGHTNING_K, AS_IS, LAYER "self_attn.qkv_proj.weight", MIX "k.weight"),
    LCSM_PART(LIGHTNING_V, AS_IS, LAYER "self_attn.qkv_proj.weight", MIX "v.weight"),
    LCSM_SAME(LAYER "self_attn.output_gate.weight",     MIX "gate.weight"),
    LCSM_SAME(LAYER "self_attn.norm.weight",            MIX "norm.weight"),
    LCSM_SAME(LAYER "self_attn.out_proj.weight",        MIX "out.weight"),
    EXPERTS(LAYER "block_sparse_moe.", "gate", "w1", "w3", "w2"),
    LCSM_END,
};
const lcsm_import_key LCSM_MINIMAX_KEYS[] = {
    SIZES("32000", "4096", "32", "false"),
    ATTENTION_KEYS("32", "8"),
    LCSM_SETS("num_attention_heads",  "heads",              "32"),
    LCSM_SETS("head_dim",             "attention.head_dim", "128"),
    LCSM_SETS("head_dim",             "expand",             "128"),
    LCSM_SETS("rms_norm_eps",         "norm_eps",           "1e-5"),
    LCSM_SETS("intermediate_size",    "experts.hidden",     "14336"),
    LCSM_SETS("num_local_experts",    "experts",            "8"),
    LCSM_SETS("num_experts_per_tok",  "experts.used",       "2"),
    LCSM_SETS("linear_attn_alpha_factor|layernorm_linear_attention_alpha", "residual.alpha",           "1"),
    LCSM_SETS("linear_attn_beta_factor|layernorm_linear_attention_beta",   "residual.beta",            "1"),
    LCSM_SETS("full_attn_alpha_factor|layernorm_full_attention_alpha",     "residual.attention_alpha", "1"),
    LCSM_SETS("full_attn_beta_factor|layernorm_full_attention_beta",       "residual.attention_beta",  "1"),
    LCSM_SETS("mlp_alpha_factor|layernorm_mlp_alpha",                      "residual.channel_alpha",   "1"),
    LCSM_SETS("mlp_beta_factor|layernorm_mlp_beta",                        "residual.channel_beta",    "1"),
    LCSM_ONLY("hidden_act", "silu|swish"), LCSM_ONLY("sliding_window", ""),
    LCSM_SKIPS("attn_type_list|block_size|router_jitter_noise|rotary_dim|postnorm"),
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
    LCSM_SETS("head_dim",          "attention.head_dim", "0"),
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

/* ---- Granite 4 ---- */
enum { SHARED_GATE = 1, SHARED_UP, GRANITE_GATE, GRANITE_UP, GRANITE_DOWN };
const lcsm_import_rule LCSM_GRANITE_RULES[] = {
    ENDS,
    LCSM_AS(LAST_NORM, "model.norm.weight",            "norm.weight"),
    LCSM_SAME(LAYER "input_layernorm.weight",          "layers.{i}.norm1.weight"),
    LCSM_SAME(LAYER "post_attention_layernorm.weight", "layers.{i}.norm2.weight"),
    LCSM_MAMBA2_MIXER(LAYER "mamba."),
    LCSM_AS(QUERY, LAYER "self_attn.q_proj.weight",    SOFT "q.weight"),
    LCSM_AS(QUERY, LAYER "self_attn.q_proj.bias",      SOFT "q.bias"),
    ATTENTION(LAYER "self_attn."),
    LCSM_PART(SHARED_GATE, AS_IS, LAYER "shared_mlp.input_linear.weight", "layers.{i}.channel.w1.weight"),
    LCSM_PART(SHARED_UP, AS_IS, LAYER "shared_mlp.input_linear.weight",   "layers.{i}.channel.w2.weight"),
    LCSM_SAME(LAYER "shared_mlp.output_linear.weight",                    "layers.{i}.channel.w3.weight"),
    LCSM_PART(SHARED_GATE, AS_IS, LAYER "shared_mlp.input_linear.weight", "layers.{i}.channel.shared.w1.weight"),
    LCSM_PART(SHARED_UP, AS_IS, LAYER "shared_mlp.input_linear.weight",   "layers.{i}.channel.shared.w2.weight"),
    LCSM_SAME(LAYER "shared_mlp.output_linear.weight",                    "layers.{i}.channel.shared.w3.weight"),
    LCSM_SAME(LAYER "block_sparse_moe.router.layer.weight",               "layers.{i}.channel.router.weight"),
    LCSM_PART(GRANITE_GATE, EXPERT, LAYER "block_sparse_moe.input_linear.weight",  "layers.{i}.channel.experts.{e}.w1.weight"),
    LCSM_PART(GRANITE_UP, EXPERT, LAYER "block_sparse_moe.input_linear.weight",    "layers.{i}.channel.experts.{e}.w2.weight"),
    LCSM_PART(GRANITE_DOWN, EXPERT, LAYER "block_sparse_moe.output_linear.weight", "layers.{i}.channel.experts.{e}.w3.weight"),
    LCSM_END,
};
const lcsm_import_key LCSM_GRANITE_KEYS[] = {
    SIZES("32000", "4096", "32", "false"),
    ATTENTION_KEYS("32", "0"),
    LCSM_SETS("head_dim",                 "attention.head_dim",      "0"),
    LCSM_SETS("mamba_n_heads",            "heads",                   "128"),
    LCSM_SETS("mamba_n_groups",           "groups",                  "1"),
    LCSM_SETS("mamba_d_state",            "state_size",              "256"),
    LCSM_SETS("mamba_d_conv",             "conv_width",              "4"),
    LCSM_SETS("mamba_expand",             "inner_ratio",             "2"),
    LCSM_SETS("mamba_conv_bias",          "conv_bias",               "true"),
    LCSM_SETS("mamba_proj_bias",          "proj_bias",               "false"),
    LCSM_SETS("rms_norm_eps",             "norm_eps",                "1e-6"),
    LCSM_SETS("rms_norm_eps",             "mixer_eps",               "1e-6"),
    LCSM_SETS("shared_intermediate_size", "hidden",                  "1024"),
    LCSM_SETS("attention_bias",           "attention.bias",          "false"),
    LCSM_SETS("embedding_multiplier",     "embed_scale",             "1"),
    LCSM_SETS("residual_multiplier",      "residual.beta",           "1"),
    LCSM_SETS("residual_multiplier",      "residual.attention_beta", "1"),
    LCSM_SETS("residual_multiplier",      "residual.channel_beta",   "1"),
    LCSM_ONLY("hidden_act", "silu|swish"), LCSM_ONLY("position_embedding_type", "rope|nope"),
    LCSM_SKIPS("mamba_d_head|mamba_chunk_size|time_step_limit|attention_multiplier|logits_scaling|intermediate_size"),
    LCSM_SKIPS("num_local_experts|num_experts_per_tok|layers_block_type|normalization_function|init_method"),
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
double lcsm_gemma_scale(ptrdiff_t H)
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
    c->embed_scale                   = lcsm_gemma_scale(c->d_model);
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

/* Experts in every layer, or every few; false: in an order that we do not have. */
static bool qwen_experts(lcsm_model_config *c, const lcsm_import_source *src)
{
    ptrdiff_t step = (ptrdiff_t)lcsm_import_number(src, "decoder_sparse_step", 1);
    c->experts     = (ptrdiff_t)lcsm_import_number(src, "num_experts", 512);
    if (c->experts == 0) return true;
    c->experts_used   = (ptrdiff_t)lcsm_import_number(src, "num_experts_per_tok", 10);
    c->experts_hidden = (ptrdiff_t)lcsm_import_number(src, "moe_intermediate_size", 512);
    c->experts_shared = (ptrdiff_t)lcsm_import_number(src, "shared_expert_intermediate_size", 512);
    c->experts_shared_gate = c->experts_shared > 0;
    c->experts_norm        = lcsm_import_flag(src, "norm_topk_prob", true);
    c->experts_period      = step > 0 ? step : 1;
    c->experts_first       = c->experts_period - 1;
    return json_array_size(json_object_get(src->config, "mlp_only_layers")) == 0;
}

static void qwen_expert_parts(lcsm_import_plan *out)
{
    const lcsm_model_config *c = &out->cfg;
    ptrdiff_t                E = c->experts, n = c->experts_hidden;
    out->parts[EXPERT_GATE] = (lcsm_import_part){E, 2 * n, 0};
    out->parts[EXPERT_UP]   = (lcsm_import_part){E, 2 * n, n};
    out->parts[EXPERT_DOWN] = (lcsm_import_part){E, c->d_model, 0};
}

lcsm_status lcsm_import_qwen(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"gated-deltanet", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    double                   D       = lcsm_import_number(src, "linear_value_head_dim", 128);
    if (!qwen_experts(c, src)) return lcsm_import_refuse(src, "mlp_only_layers", "[]", err);
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

static void standard_int(const lcsm_import_source *src, const char *key, int value)
{
    if (json_object_get(src->config, key) == NULL)
        (void)json_object_set_new(src->config, key, json_integer(value));
}

/* A dense model has no experts; rotations of pictures are those of text for text. */
lcsm_status lcsm_import_qwen35(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    (void)json_object_set_new(src->config, "num_experts", json_integer(0));
    return lcsm_import_qwen(out, src, err);
}

lcsm_status lcsm_import_qwen35_moe(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    standard_int(src, "num_experts", 256);
    standard_int(src, "num_experts_per_tok", 8);
    LCSM_OR_RETURN(lcsm_import_qwen(out, src, err));
    qwen_expert_parts(out);
    return LCSM_OK;
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

/* ---- Granite 4 -------------------------------------------------------------------------- */

static int granite_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    json_t *list = json_object_get(src->config, "layer_types");
    if (list == NULL) list = json_object_get(src->config, "layers_block_type");
    if (list == NULL) return 0;
    int kind = kind_in_list(list, layer, "mamba", "attention");
    return kind >= 0 ? kind : kind_in_list(list, layer, "linear_attention", "full_attention");
}

static void granite_experts(lcsm_import_plan *out, const lcsm_import_source *src)
{
    lcsm_model_config *c       = &out->cfg;
    ptrdiff_t          S       = c->hidden, n;
    double             experts = lcsm_import_number(src, "num_local_experts", 8);
    out->parts[SHARED_GATE]    = (lcsm_import_part){1, 2 * S, 0};
    out->parts[SHARED_UP]      = (lcsm_import_part){1, 2 * S, S};
    c->channel_mixer           = LCSM_CHANNEL_GLU;
    if (experts < 1) return;
    c->experts        = (ptrdiff_t)experts;
    c->experts_used   = (ptrdiff_t)lcsm_import_number(src, "num_experts_per_tok", 2);
    c->experts_shared = S;
    c->experts_hidden = n    = (ptrdiff_t)lcsm_import_number(src, "intermediate_size", 11008);
    out->parts[GRANITE_GATE] = (lcsm_import_part){c->experts, 2 * n, 0};
    out->parts[GRANITE_UP]   = (lcsm_import_part){c->experts, 2 * n, n};
    out->parts[GRANITE_DOWN] = (lcsm_import_part){c->experts, c->d_model, 0};
}

/* Scores of attention have a factor of their own, and logits a divisor: those of the query and of
 * the last norm have them here. */
lcsm_status lcsm_import_granite(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"mamba2", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    const char *place = json_string_value(json_object_get(src->config, "position_embedding_type"));
    double      scale = lcsm_import_number(src, "attention_multiplier", 1);
    double      divisor = lcsm_import_number(src, "logits_scaling", 1);
    double width = (double)c->d_model / (double)(c->attention_heads > 0 ? c->attention_heads : 1);
    if (c->attention_head_dim > 0) width = (double)c->attention_head_dim;
    if (!(divisor > 0)) return lcsm_import_refuse(src, "logits_scaling", "more than 0", err);
    out->query_scale      = scale * sqrt(width);
    out->logit_scale      = 1 / divisor;
    c->attention_out_bias = c->attention_bias;
    granite_experts(out, src);
    finish_length(c, src);
    LCSM_OR_RETURN(lcsm_import_time_steps(c, src, err));
    LCSM_OR_RETURN(finish_rope(c, src, 1, err));
    if (place == NULL || strcmp(place, "rope") != 0) c->attention_rotary = 0;
    return finish_layers(c, src, names, granite_layer, err);
}

/* ---- Jamba ------------------------------------------------------------------------------ */

static int jamba_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    ptrdiff_t period = (ptrdiff_t)lcsm_import_number(src, "attn_layer_period", 8);
    ptrdiff_t offset = (ptrdiff_t)lcsm_import_number(src, "attn_layer_offset", 4);
    return period > 0 ? layer % period == offset : -1;
}

/* Nothing is rotated, and the weights of the experts are not normalised. */
lcsm_status lcsm_import_jamba(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"falcon-mamba", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    double                   experts = lcsm_import_number(src, "num_experts", 16);
    double                   period  = lcsm_import_number(src, "expert_layer_period", 2);
    if (experts > 1) {
        c->experts        = (ptrdiff_t)experts;
        c->experts_hidden = c->hidden;
        c->experts_norm   = false;
        c->experts_first  = (ptrdiff_t)lcsm_import_number(src, "expert_layer_offset", 1);
        c->experts_period = period >= 1 ? (ptrdiff_t)period : 1;
    }
    if (c->rank == 0) c->rank = (c->d_model + 15) / 16;
    c->norm_weight      = true;
    c->attention_rotary = 0;
    c->channel_mixer    = LCSM_CHANNEL_GLU;
    finish_length(c, src);
    return finish_layers(c, src, names, jamba_layer, err);
}

/* ---- Kimi Linear ------------------------------------------------------------------------ */

/* A list of kinds, or lists of layers that are counted from 1. */
static int kimi_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    json_t *list = json_object_get(src->config, "layer_types");
    json_t *own  = json_object_get(src->config, "linear_attn_config");
    if (list != NULL) return kind_in_list(list, layer, "linear_attention", "full_attention");
    if (has_number(json_object_get(own, "kda_layers"), layer + 1)) return 0;
    return has_number(json_object_get(own, "full_attn_layers"), layer + 1) ? 1 : -1;
}

/* A size of the KDA layers, by its name in linear_attn_config or in the config itself. */
static ptrdiff_t kimi_size(const lcsm_import_source *src, const char *inner, const char *outer,
                           ptrdiff_t standard)
{
    json_t *own   = json_object_get(src->config, "linear_attn_config");
    json_t *value = json_object_get(own, inner);
    if (json_is_integer(value)) return (ptrdiff_t)json_integer_value(value);
    return (ptrdiff_t)lcsm_import_number(src, outer, (double)standard);
}

/* The first layer with experts; all that follow must have them. */
static bool kimi_experts(lcsm_model_config *c, const lcsm_import_source *src)
{
    json_t *list     = json_object_get(src->config, "mlp_layer_types");
    c->experts_first = (ptrdiff_t)lcsm_import_number(src, "first_k_dense_replace", 0);
    for (ptrdiff_t j = 0; j < c->layers && list != NULL; j++) {
        int sparse = kind_in_list(list, j, "dense", "sparse");
        if (sparse < 0 || (j > 0 && sparse == 0 && c->experts_first < j)) return false;
        if (sparse == 0) c->experts_first = j + 1;
    }
    return true;
}

static void kimi_parts(lcsm_import_plan *out)
{
    const lcsm_model_config *c = &out->cfg;
    ptrdiff_t L = c->attention_latent, R = c->attention_shared_dim, n = c->attention_head_dim;
    ptrdiff_t D               = c->attention_value_dim;
    out->parts[LATENT]        = (lcsm_import_part){1, L + R, 0};
    out->parts[LATENT_SHARED] = (lcsm_import_part){1, L + R, L};
    out->parts[HEAD_K]        = (lcsm_import_part){c->attention_heads, n + D, 0};
    out->parts[HEAD_V]        = (lcsm_import_part){c->attention_heads, n + D, n};
}

lcsm_status lcsm_import_kimi(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"kda", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    double                   shared  = lcsm_import_number(src, "num_shared_experts", 1);
    if (!kimi_experts(c, src))
        return lcsm_import_refuse(src, "mlp_layer_types", "dense layers before sparse ones", err);
    c->heads          = kimi_size(src, "num_heads", "linear_num_heads", 32);
    c->expand         = kimi_size(src, "head_dim", "linear_head_dim", 128);
    c->conv_width     = kimi_size(src, "short_conv_kernel_size", "linear_conv_kernel_dim", 4);
    c->value_ratio    = (double)(c->heads * c->expand) / (double)c->d_model;
    c->experts_router = LCSM_ROUTER_SIGMOID;
    c->experts_shared = (ptrdiff_t)(shared * (double)c->experts_hidden);
    c->channel_mixer  = LCSM_CHANNEL_GLU;
    finish_length(c, src);
    kimi_parts(out);
    return finish_layers(c, src, names, kimi_layer, err);
}

/* ---- MiniMax ---------------------------------------------------------------------------- */

static int minimax_layer(const lcsm_import_source *src, ptrdiff_t layer)
{
    json_t *list = json_object_get(src->config, "layer_types");
    json_t *old  = json_object_get(src->config, "attn_type_list");
    if (list != NULL) return kind_in_list(list, layer, "linear_attention", "full_attention");
    json_t *kind = json_array_get(old, (size_t)layer);
    return json_is_integer(kind) ? json_integer_value(kind) != 0 : -1;
}

/* Tables of decays are stored, and follow from the sizes. */
static void skip_tables(lcsm_import_source *src)
{
    static const char *const ENDS_WITH[] = {"self_attn.slope_rate", "self_attn.query_decay",
                                            "self_attn.key_decay", "self_attn.diagonal_decay"};
    for (size_t j = 0; j < src->count; j++)
        for (size_t k = 0; k < COUNT(ENDS_WITH); k++) {
            size_t n = strlen(src->list[j].name), m = strlen(ENDS_WITH[k]);
            if (n > m && strcmp(src->list[j].name + n - m, ENDS_WITH[k]) == 0) src->used[j] = true;
        }
}

lcsm_status lcsm_import_minimax(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const names[] = {"lightning", "attention"};
    lcsm_model_config       *c       = &out->cfg;
    ptrdiff_t                H = c->heads, n = c->expand;
    c->value_ratio          = (double)(H * n) / (double)c->d_model;
    c->mixer_eps            = 1e-6;
    c->residual_normed      = true;
    c->channel_mixer        = LCSM_CHANNEL_GLU;
    out->parts[LIGHTNING_Q] = (lcsm_import_part){H, 3 * n, 0};
    out->parts[LIGHTNING_K] = (lcsm_import_part){H, 3 * n, n};
    out->parts[LIGHTNING_V] = (lcsm_import_part){H, 3 * n, 2 * n};
    finish_length(c, src);
    skip_tables(src);
    lcsm_status st = finish_rope(c, src, 1, err);
    return st == LCSM_OK ? finish_layers(c, src, names, minimax_layer, err) : st;
}
