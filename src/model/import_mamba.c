/* import_mamba.c - Mamba of Hugging Face, of fla and of the original package; Falcon-Mamba;
 * Mamba-2.
 */
#include <math.h>
#include <string.h>

#include "model/import.h"

/* clang-format off */
/* Biases are there where the model has them. */
#define ENDS(embedding)                                                     \
    LCSM_SAME(embedding,                         "embedding.weight"),        \
    LCSM_SAME("backbone.layers.{i}.norm.weight", "layers.{i}.norm1.weight"), \
    LCSM_SAME("backbone.layers.{i}.norm.bias",   "layers.{i}.norm1.bias"),   \
    LCSM_SAME("backbone.norm_f.weight",          "norm.weight"),             \
    LCSM_SAME("backbone.norm_f.bias",            "norm.bias"),               \
    LCSM_SAME("lm_head.weight",                  "head.weight")

const lcsm_import_rule LCSM_MAMBA_RULES[]  = {ENDS("backbone.embeddings.weight"), LCSM_MAMBA1_MIXER("backbone.layers.{i}.mixer."), LCSM_END};
const lcsm_import_rule LCSM_MAMBA2_RULES[] = {ENDS("backbone.embeddings.weight"), LCSM_MAMBA2_MIXER("backbone.layers.{i}.mixer."), LCSM_END};
static const lcsm_import_rule ORIGINAL2_RULES[] = {ENDS("backbone.embedding.weight"), LCSM_MAMBA2_MIXER("backbone.layers.{i}.mixer."), LCSM_END};
static const lcsm_import_rule ORIGINAL_RULES[] = {ENDS("backbone.embedding.weight"), LCSM_MAMBA1_MIXER("backbone.layers.{i}.mixer."), LCSM_END};

const lcsm_import_key LCSM_MAMBA_HF_KEYS[] = {
    LCSM_SETS("vocab_size",                  "vocab",    "50280"),
    LCSM_SETS("hidden_size",                 "d_model",  "768"),
    LCSM_SETS("num_hidden_layers",           "layers",   "32"),
    LCSM_SETS("tie_word_embeddings",         "tied",     "true"),
    LCSM_SETS("time_step_rank",              "rank",     "0"),
    LCSM_END,
};
const lcsm_import_key LCSM_MAMBA_FLA_KEYS[] = {
    LCSM_SETS("vocab_size",                  "vocab",    "32000"),
    LCSM_SETS("hidden_size",                 "d_model",  "2048"),
    LCSM_SETS("num_hidden_layers",           "layers",   "48"),
    LCSM_SETS("tie_word_embeddings",         "tied",     "false"),
    LCSM_SETS("dt_rank",                     "rank",     "0"),
    LCSM_END,
};
const lcsm_import_key LCSM_MAMBA_KEYS[] = {
    LCSM_SETS("expand",                      "inner_ratio", "2"),
    LCSM_SETS("state_size",                  "state_size",  "16"),
    LCSM_SETS("conv_kernel",                 "conv_width",  "4"),
    LCSM_SETS("layer_norm_epsilon|norm_eps", "norm_eps",    "1e-5"),
    LCSM_SETS("use_bias",                    "proj_bias",   "false"),
    LCSM_SETS("use_conv_bias",               "conv_bias",   "true"),
    LCSM_ONLY("hidden_act", "silu|swish"),
    LCSM_SKIPS("intermediate_size|d_model|d_inner|n_layer|rms_norm|rescale_prenorm_residual|time_step_min|time_step_max"),
    LCSM_SKIPS("time_step_scale|time_step_floor|time_step_init_scheme|dt_min|dt_max|dt_scale|dt_init|dt_init_scheme"),
    LCSM_SKIPS("dt_init_floor|fused_add_norm|fuse_norm|fuse_cross_entropy|pad_vocab_size_multiple|ssm_cfg|attn_cfg"),
    LCSM_SKIPS("attn_layer_idx|d_intermediate|use_mambapy|use_associative_scan|chunk_size|time_step_rank|time_step_limit"),
    LCSM_END,
};
const lcsm_import_key LCSM_FALCON_MAMBA_KEYS[] = {LCSM_SETS("mixer_rms_eps", "mixer_eps", "1e-6"), LCSM_END};

const lcsm_import_key LCSM_MAMBA2_KEYS[] = {
    LCSM_SETS("vocab_size",          "vocab",       "32768"),
    LCSM_SETS("hidden_size",         "d_model",     "4096"),
    LCSM_SETS("num_hidden_layers",   "layers",      "64"),
    LCSM_SETS("tie_word_embeddings", "tied",        "false"),
    LCSM_SETS("num_heads",           "heads",       "128"),
    LCSM_SETS("n_groups",            "groups",      "8"),
    LCSM_SETS("layer_norm_epsilon",  "mixer_eps",   "1e-5"),
    LCSM_SETS("state_size",          "state_size",  "128"),
    LCSM_SKIPS("head_dim"),
    LCSM_END,
};

static const lcsm_import_key ORIGINAL_KEYS[] = {
    LCSM_SETS("vocab_size",     "vocab",   "50277"),
    LCSM_SETS("d_model",        "d_model", "2560"),
    LCSM_SETS("n_layer",        "layers",  "64"),
    LCSM_SETS("tie_embeddings", "tied",    "true"),
    LCSM_SKIPS("rms_norm|pad_vocab_size_multiple|ssm_cfg|attn_cfg|attn_layer_idx|d_intermediate|fused_add_norm"),
    LCSM_END,
};
static const lcsm_import_key SSM_KEYS[] = {
    LCSM_SETS("d_state",   "state_size",  "16"),
    LCSM_SETS("d_conv",    "conv_width",  "4"),
    LCSM_SETS("expand",    "inner_ratio", "2"),
    LCSM_SETS("dt_rank",   "rank",        "0"),
    LCSM_SETS("bias",      "proj_bias",   "false"),
    LCSM_SETS("conv_bias", "conv_bias",   "true"),
    LCSM_END,
};
static const lcsm_import_key SSM2_KEYS[] = {
    LCSM_SETS("d_state",   "state_size",  "128"),
    LCSM_SETS("d_conv",    "conv_width",  "4"),
    LCSM_SETS("expand",    "inner_ratio", "2"),
    LCSM_SETS("ngroups",   "groups",      "1"),
    LCSM_SETS("bias",      "proj_bias",   "false"),
    LCSM_SETS("conv_bias", "conv_bias",   "true"),
    LCSM_ONLY("rmsnorm", "true"), LCSM_ONLY("norm_before_gate", "false"), LCSM_ONLY("D_has_hdim", "false"),
    LCSM_ONLY("d_ssm", ""), LCSM_ONLY("dt_limit", ""),
    LCSM_END,
};
/* clang-format on */

static ptrdiff_t inner(const lcsm_model_config *c)
{
    return (ptrdiff_t)(c->inner_ratio * (double)c->d_model);
}

static void finish_sizes(lcsm_model_config *c, bool rms_norm)
{
    if (c->rank == 0) c->rank = (c->d_model + 15) / 16;
    if (!rms_norm) c->norm = LCSM_BLOCK_NORM_LAYER;
}

lcsm_status lcsm_import_mamba(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c  = &out->cfg;
    lcsm_status        st = LCSM_OK;
    finish_sizes(c, lcsm_import_flag(src, "rms_norm", true));
    LCSM_OR_RETURN(lcsm_import_agree(src, "intermediate_size", inner(c), err));
    LCSM_OR_RETURN(lcsm_import_agree(src, "d_inner", inner(c), err));
    LCSM_OR_RETURN(lcsm_import_agree(src, "d_model", c->d_model, err));
    LCSM_OR_RETURN(lcsm_import_agree(src, "n_layer", c->layers, err));
    return st;
}

/* ---- Mamba-2 ---------------------------------------------------------------------------- */

/* Infinity is {"__float__": "Infinity"}, or the null that read_config makes of the bare word. */
static bool is_infinite(const json_t *v)
{
    const char *text = json_string_value(json_object_get(v, "__float__"));
    return json_is_null(v) || (text != NULL && strcmp(text, "Infinity") == 0);
}

lcsm_status lcsm_import_time_steps(lcsm_model_config *cfg, const lcsm_import_source *src,
                                   lcsm_error *err)
{
    json_t *limits = json_object_get(src->config, "time_step_limit");
    json_t *lo = json_array_get(limits, 0), *hi = json_array_get(limits, 1);
    if (limits == NULL) return LCSM_OK;
    if (json_array_size(limits) != 2 || !json_is_number(lo)
        || !(json_is_number(hi) || is_infinite(hi)))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: time_step_limit is not a pair of numbers",
                         src->place);
    cfg->dt_min = json_number_value(lo);
    cfg->dt_max = is_infinite(hi) ? 0 : json_number_value(hi);
    return LCSM_OK;
}

lcsm_status lcsm_import_mamba2(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c     = &out->cfg;
    double             width = lcsm_import_number(src, "head_dim", 64) * (double)c->heads;
    lcsm_status        st    = LCSM_OK;
    if (!lcsm_import_flag(src, "rms_norm", true))
        return lcsm_import_refuse(src, "rms_norm", "true", err);
    LCSM_OR_RETURN(lcsm_import_agree(src, "intermediate_size", inner(c), err));
    if (width != (double)inner(c))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: num_heads times head_dim is %.10g, but expand and hidden_size imply "
                         "%td",
                         src->place, width, inner(c));
    LCSM_OR_RETURN(lcsm_import_time_steps(c, src, err));
    return st;
}

/* ---- the original package --------------------------------------------------------------- */

/* Layers that are attention, or blocks with an MLP, are other models. */
static lcsm_status check_original(const lcsm_import_source *src, lcsm_error *err)
{
    json_t *mlp = json_object_get(src->config, "d_intermediate");
    if (json_number_value(mlp) > 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: d_intermediate is above 0: blocks with an MLP are not supported",
                         src->place);
    if (json_array_size(json_object_get(src->config, "attn_layer_idx")) > 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: attn_layer_idx is not empty: attention layers are not supported",
                         src->place);
    return LCSM_OK;
}

/* The vocabulary is padded; eps is fixed. */
static lcsm_status finish_ends(lcsm_model_config *c, const lcsm_import_source *src,
                               const lcsm_import_key *keys, lcsm_error *err)
{
    json_t   *ssm = json_object_get(src->config, "ssm_cfg");
    ptrdiff_t pad = (ptrdiff_t)lcsm_import_number(src, "pad_vocab_size_multiple", 8);
    LCSM_OR_RETURN(check_original(src, err));
    if (ssm != NULL && !json_is_object(ssm))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: ssm_cfg is not an object", src->place);
    LCSM_OR_RETURN(lcsm_import_keys(c, src, ssm, keys, err));
    c->norm_eps = 1e-5;
    if (pad > 0) c->vocab = (c->vocab + pad - 1) / pad * pad;
    return LCSM_OK;
}

static lcsm_status finish_original(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    const char *layer = lcsm_import_mamba_layer(src->config);
    LCSM_OR_RETURN(finish_ends(&out->cfg, src, SSM_KEYS, err));
    if (strcmp(layer, "Mamba1") != 0)
        return lcsm_fail(
            err, LCSM_ERR_FORMAT,
            "%s: ssm_cfg.layer is \"%.40s\", which is not supported; expected \"Mamba1\" or "
            "\"Mamba2\"",
            src->place, layer);
    finish_sizes(&out->cfg, lcsm_import_flag(src, "rms_norm", true));
    return LCSM_OK;
}

/* Heads of headdim channels. */
static lcsm_status finish_original2(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c = &out->cfg;
    LCSM_OR_RETURN(finish_ends(c, src, SSM2_KEYS, err));
    json_t   *size = json_object_get(json_object_get(src->config, "ssm_cfg"), "headdim");
    ptrdiff_t P    = json_is_integer(size) ? (ptrdiff_t)json_integer_value(size) : 64;
    if (P < 1 || inner(c) % P != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: ssm_cfg.headdim is %td; expected a divisor of the inner width %td",
                         src->place, P, inner(c));
    c->heads     = inner(c) / P;
    c->mixer_eps = 1e-5;
    if (!lcsm_import_flag(src, "rms_norm", true)) c->norm = LCSM_BLOCK_NORM_LAYER;
    return LCSM_OK;
}

const char *lcsm_import_mamba_layer(const json_t *config)
{
    const char *layer =
        json_string_value(json_object_get(json_object_get(config, "ssm_cfg"), "layer"));
    return layer != NULL ? layer : "Mamba1";
}

const lcsm_release LCSM_RELEASE_MAMBA_ORIGINAL = {
    .kind   = "Mamba (original)",
    .method = "mamba",
    .norm   = LCSM_BLOCK_NORM_RMS,
    .keys   = {ORIGINAL_KEYS},
    .rules  = {ORIGINAL_RULES},
    .finish = finish_original,
};
const lcsm_release LCSM_RELEASE_MAMBA2_ORIGINAL = {
    .kind   = "Mamba-2 (original)",
    .method = "mamba2",
    .norm   = LCSM_BLOCK_NORM_RMS,
    .keys   = {ORIGINAL_KEYS},
    .rules  = {ORIGINAL2_RULES},
    .finish = finish_original2,
};
