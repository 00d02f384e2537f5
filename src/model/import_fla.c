/* import_fla.c - the models of flash-linear-attention (fla), which have one block in common. */
#include <string.h>

#include "model/import.h"

enum { GATE = 1, UP, HEADS };

/* clang-format off */
#define ATTN "model.layers.{i}.attn."
#define MIX  "layers.{i}.mixer."

/* Files before 2025 have both halves of the MLP's input in gate_proj. */
const lcsm_import_rule LCSM_FLA_RULES[] = {
    LCSM_SAME("model.embeddings.weight",                       "embedding.weight"),
    LCSM_SAME("model.layers.{i}.attn_norm.weight",             "layers.{i}.norm1.weight"),
    LCSM_SAME("model.layers.{i}.mlp_norm.weight",              "layers.{i}.norm2.weight"),
    LCSM_PART(GATE, AS_IS, "model.layers.{i}.mlp.gate_proj.weight", "layers.{i}.channel.w1.weight"),
    LCSM_SAME("model.layers.{i}.mlp.up_proj.weight",           "layers.{i}.channel.w2.weight"),
    LCSM_PART(UP, AS_IS, "model.layers.{i}.mlp.gate_proj.weight",   "layers.{i}.channel.w2.weight"),
    LCSM_SAME("model.layers.{i}.mlp.down_proj.weight",         "layers.{i}.channel.w3.weight"),
    LCSM_SAME("model.norm.weight",                             "norm.weight"),
    LCSM_SAME("lm_head.weight",                                "head.weight"),
    LCSM_SAME(ATTN "o_proj.weight",                            MIX "out.weight"),
    LCSM_SAME(ATTN "v_proj.weight",                            MIX "v.weight"),
    LCSM_END,
};
const lcsm_import_rule LCSM_GLA_RULES[] = {
    LCSM_SAME(ATTN "q_proj.weight",            MIX "q.weight"),
    LCSM_SAME(ATTN "k_proj.weight",            MIX "k.weight"),
    LCSM_SAME(ATTN "gk_proj.0.weight",         MIX "gate_down.weight"),
    LCSM_SAME(ATTN "gk_proj.1.weight",         MIX "gate_up.weight"),
    LCSM_SAME(ATTN "gk_proj.1.bias",           MIX "gate_up.bias"),
    LCSM_SAME(ATTN "g_proj.weight",            MIX "gate.weight"),
    LCSM_SAME(ATTN "g_norm_swish_gate.weight", MIX "norm.weight"),
    LCSM_SAME(ATTN "g_norm.weight",            MIX "norm.weight"),
    LCSM_END,
};
const lcsm_import_rule LCSM_GSA_RULES[] = {
    LCSM_SAME(ATTN "q_proj.weight", MIX "q.weight"),
    LCSM_SAME(ATTN "k_proj.weight", MIX "k.weight"),
    LCSM_SAME(ATTN "f_proj.weight", MIX "forget.weight"),
    LCSM_SAME(ATTN "g_norm.weight", MIX "norm.weight"),
    LCSM_END,
};
const lcsm_import_rule LCSM_HGRN_RULES[] = {
    LCSM_SAME(ATTN "i_proj.weight", MIX "input.weight"),
    LCSM_SAME(ATTN "f_proj.weight", MIX "forget.weight"),
    LCSM_SAME(ATTN "g_proj.weight", MIX "gate.weight"),
    LCSM_SAME(ATTN "g_norm.weight", MIX "norm.weight"),
    LCSM_SAME("model.lower_bounds", "lower_bounds"),
    LCSM_END,
};
const lcsm_import_rule LCSM_HGRN2_RULES[] = {
    LCSM_SAME(ATTN "q_proj.weight", MIX "q.weight"),
    LCSM_SAME(ATTN "f_proj.weight", MIX "forget.weight"),
    LCSM_SAME(ATTN "i_proj.weight", MIX "v.weight"),
    LCSM_SAME(ATTN "g_norm.weight", MIX "norm.weight"),
    LCSM_SAME("model.lower_bounds", "lower_bounds"),
    LCSM_END,
};
const lcsm_import_rule LCSM_LINEAR_ATTN_RULES[] = {
    LCSM_SAME(ATTN "q_proj.weight", MIX "q.weight"),
    LCSM_SAME(ATTN "k_proj.weight", MIX "k.weight"),
    LCSM_SAME(ATTN "norm.weight",   MIX "norm.weight"),
    LCSM_SAME(ATTN "feature_map_q.layer1.weight", MIX "feature_q.layer1.weight"),
    LCSM_SAME(ATTN "feature_map_q.layer1.bias",   MIX "feature_q.layer1.bias"),
    LCSM_SAME(ATTN "feature_map_q.layer2.weight", MIX "feature_q.layer2.weight"),
    LCSM_SAME(ATTN "feature_map_q.layer2.bias",   MIX "feature_q.layer2.bias"),
    LCSM_SAME(ATTN "feature_map_k.layer1.weight", MIX "feature_k.layer1.weight"),
    LCSM_SAME(ATTN "feature_map_k.layer1.bias",   MIX "feature_k.layer1.bias"),
    LCSM_SAME(ATTN "feature_map_k.layer2.weight", MIX "feature_k.layer2.weight"),
    LCSM_SAME(ATTN "feature_map_k.layer2.bias",   MIX "feature_k.layer2.bias"),
    LCSM_END,
};
/* The rotation of halves as one of pairs. */
const lcsm_import_rule LCSM_RETNET_RULES[] = {
    LCSM_PART(HEADS, PAIRS, ATTN "q_proj.weight", MIX "q.weight"),
    LCSM_PART(HEADS, PAIRS, ATTN "k_proj.weight", MIX "k.weight"),
    LCSM_AS(ROPE, NULL, MIX "theta"),
    LCSM_SAME(ATTN "g_proj.weight",            MIX "gate.weight"),
    LCSM_SAME(ATTN "g_norm_swish_gate.weight", MIX "norm.weight"),
    LCSM_SAME(ATTN "g_norm.weight",            MIX "norm.weight"),
    LCSM_END,
};
const lcsm_import_rule LCSM_DELTA_RULES[] = {
    LCSM_SAME(ATTN "q_proj.weight",             MIX "q.weight"),
    LCSM_SAME(ATTN "k_proj.weight",             MIX "k.weight"),
    LCSM_AS(CHANNELS, ATTN "q_conv1d.weight",   MIX "q_conv.weight"),
    LCSM_AS(CHANNELS, ATTN "k_conv1d.weight",   MIX "k_conv.weight"),
    LCSM_AS(CHANNELS, ATTN "v_conv1d.weight",   MIX "v_conv.weight"),
    LCSM_SAME(ATTN "b_proj.weight",             MIX "beta.weight"),
    LCSM_SAME(ATTN "a_proj.weight",             MIX "decay.weight"),
    LCSM_AS(FLAT, ATTN "A_log",                 MIX "A_log"),
    LCSM_SAME(ATTN "dt_bias",                   MIX "dt_bias"),
    LCSM_SAME(ATTN "g_proj.weight",             MIX "gate.weight"),
    LCSM_SAME(ATTN "f_proj.0.weight",           MIX "decay_down.weight"),
    LCSM_SAME(ATTN "f_proj.1.weight",           MIX "decay_up.weight"),
    LCSM_SAME(ATTN "g_proj.0.weight",           MIX "gate_down.weight"),
    LCSM_SAME(ATTN "g_proj.1.weight",           MIX "gate_up.weight"),
    LCSM_SAME(ATTN "g_proj.1.bias",             MIX "gate_up.bias"),
    LCSM_SAME(ATTN "o_norm.weight",             MIX "norm.weight"),
    LCSM_END,
};

const lcsm_import_key LCSM_FLA_KEYS[] = {
    LCSM_SETS("vocab_size",            "vocab",     "32000"),
    LCSM_SETS("hidden_size",           "d_model",   "2048"),
    LCSM_SETS("num_hidden_layers",     "layers",    "24"),
    LCSM_SETS("norm_eps|rms_norm_eps", "norm_eps",  "1e-6"),
    LCSM_SETS("norm_eps|rms_norm_eps", "mixer_eps", "1e-6"),
    LCSM_SETS("tie_word_embeddings",   "tied",      "false"),
    LCSM_SETS("intermediate_size",     "hidden",    "0"),
    LCSM_ONLY("hidden_act", "swish|silu"),
    LCSM_ONLY("elementwise_affine", "true"),
    LCSM_SKIPS("hidden_ratio|attn_mode|fuse_norm|fuse_swiglu|fuse_cross_entropy|fuse_linear_cross_entropy|use_l2warp"),
    LCSM_SKIPS("conv_size|share_conv_kernel|max_position_embeddings|norm_first|expand_k|expand_v|head_dim|num_v_heads"),
    LCSM_END,
};
const lcsm_import_key LCSM_GLA_KEYS[] = {
    LCSM_SETS("num_heads", "heads", "4"),
    LCSM_ONLY("use_short_conv", "false"), LCSM_ONLY("use_output_gate", "true"), LCSM_ONLY("use_gk", "true"), LCSM_ONLY("use_gv", "false"),
    LCSM_ONLY("feature_map", ""), LCSM_ONLY("clamp_min", ""),
    LCSM_SKIPS("num_kv_heads"),
    LCSM_END,
};
const lcsm_import_key LCSM_RETNET_KEYS[] = {
    LCSM_SETS("num_heads", "heads", "8"), LCSM_ONLY("use_output_gate", "true"), LCSM_ONLY("feature_map", ""),
    LCSM_SKIPS("num_kv_heads|use_short_conv"),
    LCSM_END,
};
const lcsm_import_key LCSM_HGRN_KEYS[] = {
    LCSM_ONLY("use_short_conv", "false"), LCSM_ONLY("use_lower_bound", "true"), LCSM_ONLY("expand_ratio", "1"),
    LCSM_SKIPS("num_heads"),
    LCSM_END,
};
const lcsm_import_key LCSM_HGRN2_KEYS[] = {
    LCSM_SETS("num_heads", "heads", NULL),
    LCSM_ONLY("use_short_conv", "false"), LCSM_ONLY("use_lower_bound", "true"),
    LCSM_SKIPS("expand_ratio"),
    LCSM_END,
};
const lcsm_import_key LCSM_LINEAR_ATTN_KEYS[] = {
    LCSM_SETS("num_heads", "heads", "4"), LCSM_SETS("norm_feature_map", "denominator", "false"),
    LCSM_ONLY("feature_map", "elementwise_product|elu|relu|identity"),
    LCSM_ONLY("tie_feature_map_qk", "false"), LCSM_ONLY("norm_q", "false"), LCSM_ONLY("norm_k", "false"),
    LCSM_SKIPS("num_kv_heads"),
    LCSM_END,
};
const lcsm_import_key LCSM_DELTA_KEYS[] = {
    LCSM_SETS("num_heads", "heads", "16"), LCSM_SETS("conv_size", "conv_width", "4"),
    LCSM_ONLY("use_beta", "true"), LCSM_ONLY("qk_norm", "l2"), LCSM_ONLY("qk_activation", "silu"), LCSM_ONLY("use_output_norm", "true"),
    LCSM_ONLY("output_gate_activation", "swish|silu|sigmoid"),
    LCSM_SKIPS("use_short_conv|allow_neg_eigval|use_gate|use_output_gate"),
    LCSM_END,
};
const lcsm_import_key LCSM_DELTAPRODUCT_KEYS[] = {
    LCSM_SETS("num_householder", "householders", "2"), LCSM_SETS("use_forget_gate", "forget_gate", "true"),
    LCSM_SETS("num_heads", "heads", "6"),
    LCSM_END,
};
const lcsm_import_key LCSM_GATED_DELTANET_KEYS[] = {LCSM_SETS("num_heads", "heads", "6"), LCSM_END};
const lcsm_import_key LCSM_KDA_KEYS[] = {LCSM_ONLY("safe_gate", "true|false"), LCSM_SKIPS("lower_bound"), LCSM_END};
const lcsm_import_key LCSM_GSA_KEYS[] = {
    LCSM_SETS("num_heads", "heads", "4"), LCSM_SETS("num_slots", "slots", "64"),
    LCSM_SETS("gate_logit_normalizer", "slot_tau", "8"), LCSM_ONLY("feature_map", "swish"), LCSM_ONLY("use_output_gate", "false"),
    LCSM_ONLY("use_norm", "true"), LCSM_ONLY("use_short_conv", "false"), LCSM_ONLY("clamp_min", ""), LCSM_ONLY("clamp_max", ""),
    LCSM_SKIPS("num_kv_heads|exapnd_k|exapnd_v"),
    LCSM_END,
};
/* clang-format on */

/* ---- sizes ------------------------------------------------------------------------------ */

/* The MLP's width, and where its halves are. */
static void finish_mlp(lcsm_import_plan *out, const lcsm_import_source *src, double ratio)
{
    lcsm_model_config *c    = &out->cfg;
    size_t             gate = lcsm_import_find(src, "model.layers.0.mlp.gate_proj.weight");
    ptrdiff_t          t =
        (ptrdiff_t)((double)c->d_model * lcsm_import_number(src, "hidden_ratio", ratio) * 2 / 3);
    if (c->hidden == 0) c->hidden = (t + 255) / 256 * 256;
    c->channel_mixer = LCSM_CHANNEL_GLU;
    bool fused       = gate != SIZE_MAX && src->list[gate].shape[0] == 2 * (size_t)c->hidden;
    out->parts[GATE] = (lcsm_import_part){1, fused ? 2 * c->hidden : c->hidden, 0};
    out->parts[UP]   = (lcsm_import_part){fused, 2 * c->hidden, c->hidden};
}

static lcsm_status same_heads(const lcsm_import_plan *out, const lcsm_import_source *src,
                              const char *key, lcsm_error *err)
{
    return lcsm_import_agree(src, key, out->cfg.heads, err);
}

/* Keys of int(expand_k H) and values of int(expand_v H) channels, in heads. */
static lcsm_status finish_widths(lcsm_import_plan *out, lcsm_import_source *src, double expand_k,
                                 double expand_v, lcsm_error *err)
{
    lcsm_model_config *c    = &out->cfg;
    double             H    = (double)c->d_model;
    ptrdiff_t          keys = (ptrdiff_t)(H * lcsm_import_number(src, "expand_k", expand_k) + 1e-9);
    ptrdiff_t values        = (ptrdiff_t)(H * lcsm_import_number(src, "expand_v", expand_v) + 1e-9);
    if (c->heads < 1 || keys < 1 || keys % c->heads != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %td heads do not divide %td key channels",
                         src->place, c->heads, keys);
    c->expand                = keys / c->heads;
    c->value_ratio           = (double)values / H;
    out->parts[HEADS].groups = c->heads;
    return same_heads(out, src, "num_kv_heads", err);
}

lcsm_status lcsm_import_gla(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    finish_mlp(out, src, 4);
    out->cfg.rank = 16;
    out->cfg.tau  = 16;
    return finish_widths(out, src, 0.5, 1, err);
}

lcsm_status lcsm_import_retnet(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    finish_mlp(out, src, 2);
    out->cfg.norm_weight = true;
    return finish_widths(out, src, 1, 2, err);
}

lcsm_status lcsm_import_hgrn(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    (void)err;
    finish_mlp(out, src, 4);
    out->cfg.is_complex = false;
    out->cfg.head_norm  = true;
    return LCSM_OK;
}

/* Its norm has an eps of its own, as that of GSA. */
lcsm_status lcsm_import_hgrn2(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c     = &out->cfg;
    double             ratio = lcsm_import_number(src, "expand_ratio", 128);
    finish_mlp(out, src, 4);
    c->mixer_eps = 1e-5;
    if (c->heads == 0) c->heads = (ptrdiff_t)((double)c->d_model / ratio);
    return lcsm_import_agree(src, "expand_ratio", c->heads > 0 ? c->d_model / c->heads : 0, err);
}

lcsm_status lcsm_import_linear_attn(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const struct {
        const char *name;
        int         feature;
    } MAPS[]         = {{"elementwise_product", LCSM_FEATURE_PRODUCT},
                        {"elu", LCSM_FEATURE_ELU1},
                        {"relu", LCSM_FEATURE_RELU},
                        {"identity", LCSM_FEATURE_NONE}};
    const char *map  = json_string_value(json_object_get(src->config, "feature_map"));
    out->cfg.feature = LCSM_FEATURE_PRODUCT;
    for (size_t j = 0; j < COUNT(MAPS); j++)
        if (map != NULL && strcmp(map, MAPS[j].name) == 0) out->cfg.feature = MAPS[j].feature;
    out->cfg.head_norm = true;
    finish_mlp(out, src, 4);
    return finish_widths(out, src, 1, 1, err);
}

lcsm_status lcsm_import_gsa(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    finish_mlp(out, src, 4);
    out->cfg.mixer_eps = 1e-5;
    return finish_widths(out, src, 1, 1, err);
}

/* ---- delta rules ------------------------------------------------------------------------ */

static void finish_delta(lcsm_import_plan *out, const lcsm_import_source *src, bool gate)
{
    lcsm_model_config *c = &out->cfg;
    const char *act = json_string_value(json_object_get(src->config, "output_gate_activation"));
    finish_mlp(out, src, 4);
    if (!lcsm_import_flag(src, "use_short_conv", true)) c->conv_width = 0;
    c->beta_max    = lcsm_import_flag(src, "allow_neg_eigval", false) ? 2 : 1;
    c->output_gate = !gate                                      ? LCSM_OUTPUT_GATE_NONE
                   : act != NULL && strcmp(act, "sigmoid") == 0 ? LCSM_OUTPUT_GATE_SIGMOID
                                                                : LCSM_OUTPUT_GATE_SILU;
}

lcsm_status lcsm_import_deltanet(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    finish_delta(out, src, lcsm_import_flag(src, "use_gate", false));
    return finish_widths(out, src, 1, 1, err);
}

/* Heads of head_dim keys and int(expand_v head_dim) values; num_heads of q and k may be fewer. */
static void finish_heads(lcsm_import_plan *out, const lcsm_import_source *src, double dim,
                         double expand_v)
{
    lcsm_model_config *c = &out->cfg;
    c->expand            = (ptrdiff_t)lcsm_import_number(src, "head_dim", dim);
    c->groups            = c->heads;
    c->heads             = (ptrdiff_t)lcsm_import_number(src, "num_v_heads", (double)c->heads);
    double values =
        (double)(ptrdiff_t)((double)c->expand * lcsm_import_number(src, "expand_v", expand_v)
                            + 1e-9);
    c->value_ratio = values * (double)c->heads / (double)c->d_model;
}

lcsm_status lcsm_import_gated_deltanet(lcsm_import_plan *out, lcsm_import_source *src,
                                       lcsm_error *err)
{
    (void)err;
    finish_delta(out, src, lcsm_import_flag(src, "use_gate", true));
    finish_heads(out, src, 256, 2);
    return LCSM_OK;
}

lcsm_status lcsm_import_deltaproduct(lcsm_import_plan *out, lcsm_import_source *src,
                                     lcsm_error *err)
{
    (void)err;
    finish_delta(out, src, lcsm_import_flag(src, "use_output_gate", true));
    finish_heads(out, src, 256, 1);
    out->cfg.groups = 0;
    return LCSM_OK;
}

lcsm_status lcsm_import_kda(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    double bound = lcsm_import_number(src, "lower_bound", 0);
    finish_delta(out, src, true);
    out->cfg.output_gate = LCSM_OUTPUT_GATE_AUTO;
    finish_heads(out, src, 128, 1);
    if (bound > 0) return lcsm_import_refuse(src, "lower_bound", "a number below 0", err);
    out->cfg.gate_bound = -bound;
    return LCSM_OK;
}
