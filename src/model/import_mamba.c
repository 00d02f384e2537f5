/* import_mamba.c - Mamba of Hugging Face, of fla and of the original package. */
#include <stdio.h>
#include <string.h>

#include "model/import.h"

/* Biases are there where the model has them. */
/* clang-format off */
#define MOST_RULES                                                                                               \
    {"backbone.layers.{i}.norm.weight",             "layers.{i}.norm1.weight",             LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.norm.bias",               "layers.{i}.norm1.bias",               LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.in_proj.weight",    "layers.{i}.mixer.in_proj.weight",     LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.in_proj.bias",      "layers.{i}.mixer.in_proj.bias",       LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.conv1d.weight",     "layers.{i}.mixer.conv1d.weight",      LCSM_TAKE_CHANNELS},  \
    {"backbone.layers.{i}.mixer.conv1d.bias",       "layers.{i}.mixer.conv1d.bias",        LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.x_proj.weight",     "layers.{i}.mixer.x_proj.weight",      LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.dt_proj.weight",    "layers.{i}.mixer.dt_proj.weight",     LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.dt_proj.bias",      "layers.{i}.mixer.dt_proj.bias",       LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.A_log",             "layers.{i}.mixer.A_log",              LCSM_TAKE_COLUMNS},   \
    {"backbone.layers.{i}.mixer.D",                 "layers.{i}.mixer.D",                  LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.out_proj.weight",   "layers.{i}.mixer.out_proj.weight",    LCSM_TAKE_AS_IS},     \
    {"backbone.layers.{i}.mixer.out_proj.bias",     "layers.{i}.mixer.out_proj.bias",      LCSM_TAKE_AS_IS},     \
    {"backbone.norm_f.weight",                      "norm.weight",                         LCSM_TAKE_AS_IS},     \
    {"backbone.norm_f.bias",                        "norm.bias",                           LCSM_TAKE_AS_IS},     \
    {"lm_head.weight",                              "head.weight",                         LCSM_TAKE_AS_IS}

static const lcsm_import_rule RULES[]    = {{"backbone.embeddings.weight", "embedding.weight", LCSM_TAKE_AS_IS}, MOST_RULES};
static const lcsm_import_rule ORIGINAL[] = {{"backbone.embedding.weight", "embedding.weight", LCSM_TAKE_AS_IS}, MOST_RULES};
/* clang-format on */

/* What the configs say, whatever their words for it. 0 and "" mean: not said. */
typedef struct {
    ptrdiff_t vocab, hidden, layers, state, conv, rank, inner;
    ptrdiff_t d_model, d_inner, n_layer, pad_vocab;
    double    expand, eps;
    bool      bias, conv_bias, tied, rms_norm;
    char      act[LCSM_KEY_TEXT_SIZE], layer[LCSM_KEY_TEXT_SIZE];
} settings;

#define KEY(name, type, field, low, high, standard)                                                \
    {                                                                                              \
        name, LCSM_SETTING_##type, offsetof(settings, field), low, high, standard, NULL, ""        \
    }
enum { BIG = 1 << 24 };

/* clang-format off */
#define COMMON(eps_name, rank_name, vocab_is, hidden_is, layers_is, tied_is)                        \
    KEY("vocab_size",          INT,  vocab,     1, BIG,    vocab_is),                               \
    KEY("hidden_size",         INT,  hidden,    1, BIG,    hidden_is),                              \
    KEY("num_hidden_layers",   INT,  layers,    1, 1024,   layers_is),                              \
    KEY("expand",              REAL, expand,    0.125, 16, "2"),                                    \
    KEY("intermediate_size",   INT,  inner,     0, BIG,    "0"),                                    \
    KEY("state_size",          INT,  state,     1, 65536,  "16"),                                   \
    KEY("conv_kernel",         INT,  conv,      1, 64,     "4"),                                    \
    KEY(rank_name,             INT,  rank,      0, 65536,  "0"),                                    \
    KEY(eps_name,              REAL, eps,       0, 1,      "1e-5"),                                 \
    KEY("use_bias",            BOOL, bias,      0, 0,      "false"),                                \
    KEY("use_conv_bias",       BOOL, conv_bias, 0, 0,      "true"),                                 \
    KEY("hidden_act",          TEXT, act,       0, 0,      "silu"),                                 \
    KEY("tie_word_embeddings", BOOL, tied,      0, 0,      tied_is),                                \
    KEY("d_model",             INT,  d_model,   0, BIG,    "0"),                                    \
    KEY("d_inner",             INT,  d_inner,   0, BIG,    "0"),                                    \
    KEY("n_layer",             INT,  n_layer,   0, 1024,   "0"),                                    \
    KEY("rms_norm",            BOOL, rms_norm,  0, 0,      "true")

static const lcsm_key HF_ROWS[]  = {COMMON("layer_norm_epsilon", "time_step_rank", "50280", "768", "32", "true")};
static const lcsm_key FLA_ROWS[] = {COMMON("norm_eps", "dt_rank", "32000", "2048", "48", "false")};

static const lcsm_key ORIGINAL_ROWS[] = {
    KEY("vocab_size",                  INT,  vocab,     1, BIG,  "50277"),
    KEY("d_model",                     INT,  hidden,    1, BIG,  "2560"),
    KEY("n_layer",                     INT,  layers,    1, 1024, "64"),
    KEY("rms_norm",                    BOOL, rms_norm,  0, 0,    "true"),
    KEY("pad_vocab_size_multiple",     INT,  pad_vocab, 1, BIG,  "8"),
    KEY("tie_embeddings",              BOOL, tied,      0, 0,    "true"),
};
static const lcsm_key SSM_ROWS[] = {
    KEY("layer",     TEXT, layer,     0, 0,      "Mamba1"),
    KEY("d_state",   INT,  state,     1, 65536,  "16"),
    KEY("d_conv",    INT,  conv,      1, 64,     "4"),
    KEY("expand",    REAL, expand,    0.125, 16, "2"),
    KEY("dt_rank",   INT,  rank,      0, 65536,  "0"),
    KEY("bias",      BOOL, bias,      0, 0,      "false"),
    KEY("conv_bias", BOOL, conv_bias, 0, 0,      "true"),
};
/* clang-format on */

static const lcsm_keys HF            = {"Mamba", HF_ROWS, COUNT(HF_ROWS)};
static const lcsm_keys FLA           = {"Mamba", FLA_ROWS, COUNT(FLA_ROWS)};
static const lcsm_keys ORIGINAL_KEYS = {"Mamba", ORIGINAL_ROWS, COUNT(ORIGINAL_ROWS)};
static const lcsm_keys SSM_KEYS      = {"Mamba ssm_cfg", SSM_ROWS, COUNT(SSM_ROWS)};

/* Read by others, or of training only. */
static const char *const IGNORED[] = {"architectures",
                                      "model_type",
                                      "transformers_version",
                                      "torch_dtype",
                                      "dtype",
                                      "use_cache",
                                      "bos_token_id",
                                      "eos_token_id",
                                      "pad_token_id",
                                      "initializer_range",
                                      "rescale_prenorm_residual",
                                      "residual_in_fp32",
                                      "time_step_min",
                                      "time_step_max",
                                      "time_step_scale",
                                      "time_step_floor",
                                      "time_step_init_scheme",
                                      "dt_min",
                                      "dt_max",
                                      "dt_scale",
                                      "dt_init",
                                      "dt_init_scheme",
                                      "dt_init_floor",
                                      "fused_add_norm",
                                      "fuse_norm",
                                      "fuse_cross_entropy",
                                      "pad_vocab_size_multiple",
                                      "ssm_cfg",
                                      "attn_cfg",
                                      "attn_layer_idx",
                                      "d_intermediate",
                                      NULL};

/* A rank "auto" is one that is not given. */
static void drop_auto(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text != NULL && strcmp(text, "auto") == 0) (void)json_object_del(object, key);
}

static lcsm_status agree(const lcsm_import_source *src, const char *key, ptrdiff_t found,
                         ptrdiff_t want, lcsm_error *err)
{
    if (found == 0 || found == want) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is %td, but the other keys imply %td",
                     src->place, key, found, want);
}

static lcsm_status check_settings(const lcsm_import_source *src, const settings *s, lcsm_error *err)
{
    ptrdiff_t   inner = (ptrdiff_t)(s->expand * (double)s->hidden);
    lcsm_status st    = LCSM_OK;
    if (strcmp(s->act, "silu") != 0 && strcmp(s->act, "swish") != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: hidden_act is \"%.40s\"; expected silu",
                         src->place, s->act);
    LCSM_OR_RETURN(agree(src, "intermediate_size", s->inner, inner, err));
    LCSM_OR_RETURN(agree(src, "d_inner", s->d_inner, inner, err));
    LCSM_OR_RETURN(agree(src, "d_model", s->d_model, s->hidden, err));
    LCSM_OR_RETURN(agree(src, "n_layer", s->n_layer, s->layers, err));
    return st;
}

/* The settings as ours. */
static void set_config(lcsm_model_config *c, const settings *s)
{
    (void)snprintf(c->method, sizeof c->method, "mamba");
    c->vocab       = s->vocab;
    c->d_model     = s->hidden;
    c->layers      = s->layers;
    c->state_size  = s->state;
    c->conv_width  = s->conv;
    c->rank        = s->rank > 0 ? s->rank : (s->hidden + 15) / 16;
    c->inner_ratio = s->expand;
    c->conv_bias   = s->conv_bias;
    c->proj_bias   = s->bias;
    c->norm        = s->rms_norm ? LCSM_BLOCK_NORM_RMS : LCSM_BLOCK_NORM_LAYER;
    c->norm_eps    = s->eps;
    c->embed_scale = 1;
}

lcsm_status lcsm_import_mamba(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    bool fla = json_object_get(src->config, "dt_rank") != NULL
            || json_object_get(src->config, "norm_eps") != NULL;
    settings    s  = {0};
    lcsm_status st = LCSM_OK;
    drop_auto(src->config, fla ? "dt_rank" : "time_step_rank");
    LCSM_OR_RETURN(lcsm_import_keys(src, src->config, fla ? &FLA : &HF, IGNORED, &s, err));
    LCSM_OR_RETURN(check_settings(src, &s, err));
    set_config(&out->cfg, &s);
    LCSM_OR_RETURN(
        lcsm_import_head(src, RULES[0].theirs, "lm_head.weight", s.tied, &out->cfg.tied, err));
    out->kind       = fla ? "Mamba (fla)" : "Mamba (Hugging Face)";
    out->rules      = RULES;
    out->rule_count = COUNT(RULES);
    return st;
}

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
lcsm_status lcsm_import_mamba_original(lcsm_import_plan *out, lcsm_import_source *src,
                                       lcsm_error *err)
{
    settings    s = {0}, ssm = {0};
    json_t     *cfg   = json_object_get(src->config, "ssm_cfg");
    json_t     *empty = json_object();
    lcsm_status st;
    LCSM_TRY(check_original(src, err));
    LCSM_TRY(lcsm_import_keys(src, src->config, &ORIGINAL_KEYS, IGNORED, &s, err));
    drop_auto(cfg, "dt_rank");
    if (cfg != NULL && !json_is_object(cfg))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_FORMAT, "%s: ssm_cfg is not an object", src->place));
    LCSM_TRY(lcsm_import_keys(src, cfg != NULL ? cfg : empty, &SSM_KEYS, IGNORED, &ssm, err));
    if (strcmp(ssm.layer, "Mamba1") != 0)
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_FORMAT,
                      "%s: ssm_cfg.layer is \"%.40s\", which is not supported; expected \"Mamba1\"",
                      src->place, ssm.layer));
    ssm.vocab    = (s.vocab + s.pad_vocab - 1) / s.pad_vocab * s.pad_vocab;
    ssm.hidden   = s.hidden;
    ssm.layers   = s.layers;
    ssm.rms_norm = s.rms_norm;
    ssm.eps      = 1e-5;
    set_config(&out->cfg, &ssm);
    LCSM_TRY(
        lcsm_import_head(src, ORIGINAL[0].theirs, "lm_head.weight", s.tied, &out->cfg.tied, err));
    out->kind       = "Mamba (original)";
    out->rules      = ORIGINAL;
    out->rule_count = COUNT(ORIGINAL);
cleanup:
    json_decref(empty);
    return st;
}
