/* import_gguf.c - GGUF files of llama.cpp. */
#include <stdio.h>
#include <string.h>

#include "model/import.h"
#include "model/model_weights.h"

/* clang-format off */
#define BLK "blk.{i}."
#define MIX "layers.{i}.mixer."

#define MAMBA                                                               \
    LCSM_SAME("token_embd.weight",      "embedding.weight"),                \
    LCSM_SAME("output_norm.weight",     "norm.weight"),                     \
    LCSM_SAME("output.weight",          "head.weight"),                     \
    LCSM_SAME(BLK "attn_norm.weight",   "layers.{i}.norm1.weight"),         \
    LCSM_SAME(BLK "ssm_in.weight",      MIX "in_proj.weight"),              \
    LCSM_SAME(BLK "ssm_conv1d.weight",  MIX "conv1d.weight"),               \
    LCSM_SAME(BLK "ssm_conv1d.bias",    MIX "conv1d.bias"),                 \
    LCSM_AS(FLAT, BLK "ssm_d",          MIX "D"),                           \
    LCSM_SAME(BLK "ssm_out.weight",     MIX "out_proj.weight")

static const lcsm_import_rule MAMBA_RULES[] = {
    MAMBA,
    LCSM_SAME(BLK "ssm_x.weight",       MIX "x_proj.weight"),
    LCSM_SAME(BLK "ssm_dt.weight",      MIX "dt_proj.weight"),
    LCSM_SAME(BLK "ssm_dt.bias",        MIX "dt_proj.bias"),
    LCSM_AS(LOG_RATE_COLUMNS, BLK "ssm_a", MIX "A_log"),
    LCSM_END,
};
static const lcsm_import_rule MAMBA2_RULES[] = {
    MAMBA,
    LCSM_SAME(BLK "ssm_dt.bias",        MIX "dt_bias"),
    LCSM_AS(LOG_RATE, BLK "ssm_a",      MIX "A_log"),
    LCSM_AS(FLAT, BLK "ssm_norm.weight", MIX "norm.weight"),
    LCSM_END,
};

static const lcsm_import_key GGUF_KEYS[] = {
    LCSM_SETS("embedding_length",                 "d_model",   "0"),
    LCSM_SETS("block_count",                      "layers",    "0"),
    LCSM_SKIPS("context_length|feed_forward_length|attention.head_count|attention.head_count_kv|vocab_size"),
    LCSM_END,
};
static const lcsm_import_key MAMBA_KEYS[] = {
    LCSM_SETS("attention.layer_norm_rms_epsilon", "norm_eps",   "1e-5"),
    LCSM_SETS("attention.layer_norm_rms_epsilon", "mixer_eps",  "1e-5"),
    LCSM_SETS("ssm.conv_kernel",                  "conv_width", "4"),
    LCSM_SETS("ssm.state_size",                   "state_size", "16"),
    LCSM_SKIPS("ssm.inner_size|ssm.time_step_rank|ssm.group_count|ssm.dt_b_c_rms"),
    LCSM_END,
};
/* clang-format on */

/* What all have: a vocabulary as long as its table, and a head or none. */
static lcsm_status finish_ends(lcsm_import_plan *out, const lcsm_import_source *src,
                               lcsm_error *err)
{
    size_t at = lcsm_import_find(src, "token_embd.weight");
    if (at == SIZE_MAX || src->list[at].rank != 2)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: tensor token_embd.weight is missing or not a matrix", src->label);
    out->cfg.vocab = (ptrdiff_t)src->list[at].shape[0];
    out->cfg.tied  = lcsm_import_find(src, "output.weight") == SIZE_MAX;
    return LCSM_OK;
}

static lcsm_status finish_inner(lcsm_import_plan *out, const lcsm_import_source *src,
                                lcsm_error *err)
{
    double inner         = lcsm_import_number(src, "ssm.inner_size", 0);
    out->cfg.inner_ratio = inner / (double)out->cfg.d_model;
    if (inner < 1 || out->cfg.inner_ratio > 16)
        return lcsm_import_refuse(src, "ssm.inner_size", "1 to 16 times embedding_length", err);
    return finish_ends(out, src, err);
}

/* Falcon-Mamba norms dt, B and C, with the eps of the other norms here. */
static lcsm_status finish_mamba(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    bool falcon   = lcsm_import_flag(src, "ssm.dt_b_c_rms", false);
    out->cfg.rank = (ptrdiff_t)lcsm_import_number(src, "ssm.time_step_rank", 0);
    (void)snprintf(out->cfg.method, sizeof out->cfg.method, falcon ? "falcon-mamba" : "mamba");
    return finish_inner(out, src, err);
}

/* Its time_step_rank is the number of heads. */
static lcsm_status finish_mamba2(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    out->cfg.heads  = (ptrdiff_t)lcsm_import_number(src, "ssm.time_step_rank", 0);
    out->cfg.groups = (ptrdiff_t)lcsm_import_number(src, "ssm.group_count", 1);
    return finish_inner(out, src, err);
}

/* clang-format off */
static const lcsm_import_key RWKV_KEYS[] = {
    LCSM_SETS("attention.layer_norm_epsilon", "norm_eps", "1e-5"),
    LCSM_SETS("feed_forward_length",          "hidden",   "0"),
    LCSM_SKIPS("wkv.head_size|time_mix_extra_dim|time_decay_extra_dim|rescale_every_n_layers|token_shift_count"),
    LCSM_SKIPS("attention.decay_lora_rank|attention.iclr_lora_rank|attention.value_residual_mix_lora_rank|attention.gate_lora_rank"),
    LCSM_END,
};
/* clang-format on */

static lcsm_status finish_rwkv6(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_status st = lcsm_import_gguf_rwkv6(out, src, err);
    return st == LCSM_OK ? finish_ends(out, src, err) : st;
}

/* Block 0 has no use for its v0, v1, v2, which are copies of others. */
static lcsm_status finish_rwkv7(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char *const UNUSED[] = {"blk.0.time_mix_v0.weight", "blk.0.time_mix_v1.weight",
                                         "blk.0.time_mix_v2.weight"};
    for (size_t j = 0; j < COUNT(UNUSED); j++) {
        size_t at = lcsm_import_find(src, UNUSED[j]);
        if (at != SIZE_MAX) src->used[at] = true;
    }
    lcsm_status st = lcsm_import_gguf_rwkv7(out, src, err);
    return st == LCSM_OK ? finish_ends(out, src, err) : st;
}

static const lcsm_release GGUF[] = {
    {"mamba",
     "mamba",
     "Mamba (GGUF)",
     NULL,
     "mamba",
     LCSM_BLOCK_NORM_RMS,
     {GGUF_KEYS, MAMBA_KEYS},
     {MAMBA_RULES},
     finish_mamba},
    {"mamba2",
     "mamba2",
     "Mamba-2 (GGUF)",
     NULL,
     "mamba2",
     LCSM_BLOCK_NORM_RMS,
     {GGUF_KEYS, MAMBA_KEYS},
     {MAMBA2_RULES},
     finish_mamba2},
    {"rwkv6",
     "rwkv6",
     "RWKV-6 (GGUF)",
     NULL,
     "rwkv6",
     LCSM_BLOCK_NORM_LAYER,
     {GGUF_KEYS, RWKV_KEYS},
     {LCSM_GGUF_RWKV6_RULES},
     finish_rwkv6},
    {"rwkv7",
     "rwkv7",
     "RWKV-7 (GGUF)",
     NULL,
     "rwkv7",
     LCSM_BLOCK_NORM_LAYER,
     {GGUF_KEYS, RWKV_KEYS},
     {LCSM_GGUF_RWKV7_RULES},
     finish_rwkv7},
};

lcsm_status lcsm_import_gguf_config(const lcsm_release **out, json_t **config, const json_t *keys,
                                    const char *place, lcsm_error *err)
{
    json_t     *own  = json_object_get(keys, "general.architecture");
    const char *arch = json_is_string(own) ? json_string_value(own) : "", *name;
    size_t      n    = strlen(arch);
    json_t     *value;
    *out    = NULL;
    *config = NULL;
    for (size_t j = 0; j < COUNT(GGUF); j++)
        if (strcmp(GGUF[j].architecture, arch) == 0) *out = &GGUF[j];
    if (*out == NULL) return lcsm_import_unsupported(place, "general.architecture", arch, err);
    *config = json_object();
    json_object_foreach((json_t *)(uintptr_t)keys, name, value)
    {
        if (strncmp(name, arch, n) == 0 && name[n] == '.')
            (void)json_object_set(*config, name + n + 1, value);
    }
    return *config != NULL ? LCSM_OK
                           : lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory", place);
}

/* ---- the other way ---------------------------------------------------------------------- */

static void put(json_t *keys, const char *arch, const char *name, json_t *value)
{
    char key[96];
    (void)snprintf(key, sizeof key, "%s.%s", arch, name);
    (void)json_object_set_new(keys, key, value);
}

static double eps_or(double eps, double standard)
{
    return eps > 0 ? eps : standard;
}

/* The first axis of a layer's parameter; 0: it has none of that name. */
static ptrdiff_t rows_in(const lcsm_model *m, const char *name)
{
    int row = lcsm_params_find(m->params, name);
    return row >= 0 ? m->params->list[row].shape.dim[0] : 0;
}

static ptrdiff_t columns_in(const lcsm_model *m, const char *name)
{
    int row = lcsm_params_find(m->params, name);
    return row >= 0 ? m->params->list[row].shape.dim[1] : 0;
}

/* The norms inside a mixer have an eps that the format gives them. */
static void warn_eps(const lcsm_model *m, double means, double has)
{
    if (means != has)
        lcsm_log(&m->ctx->log, LCSM_LOG_WARNING,
                 "the norms inside the mixer have the eps %g; in a GGUF file it is %g", has, means);
}

static void put_mamba(json_t *keys, lcsm_import_plan *plan, const lcsm_model *m)
{
    const lcsm_model_config *c      = &m->cfg;
    bool                     two    = strcmp(c->method, "mamba2") == 0;
    bool                     falcon = strcmp(c->method, "falcon-mamba") == 0;
    const char              *arch   = two ? "mamba2" : "mamba";
    double                   eps    = eps_or(c->norm_eps, 1e-6);
    ptrdiff_t                inner  = columns_in(m, "layers.0.mixer.out_proj.weight");
    ptrdiff_t                rank   = columns_in(m, "layers.0.mixer.dt_proj.weight"),
              G                     = c->groups > 0 ? c->groups : 1;
    ptrdiff_t heads                 = rows_in(m, "layers.0.mixer.A_log");
    ptrdiff_t N                     = two ? c->state_size > 0 ? c->state_size : 128 : heads;
    plan->cfg.groups                = G;
    put(keys, arch, "attention.layer_norm_rms_epsilon", json_real(eps));
    put(keys, arch, "feed_forward_length", json_integer(0));
    put(keys, arch, "ssm.conv_kernel", json_integer(c->conv_width));
    put(keys, arch, "ssm.inner_size", json_integer(inner));
    put(keys, arch, "ssm.state_size", json_integer(N));
    put(keys, arch, "ssm.time_step_rank", json_integer(two ? heads : rank));
    if (two) put(keys, arch, "ssm.group_count", json_integer(G));
    if (falcon) put(keys, arch, "ssm.dt_b_c_rms", json_true());
    if (two || falcon) warn_eps(m, eps, eps_or(c->mixer_eps, two ? 1e-5 : 1e-6));
}

static void put_rwkv(json_t *keys, lcsm_import_plan *plan, const lcsm_model *m)
{
    const char *arch  = m->cfg.method;
    bool        seven = strcmp(arch, "rwkv7") == 0;
    ptrdiff_t   heads = rows_in(m, seven ? "layers.0.mixer.r_k" : "layers.0.mixer.time_faaaa");
    ptrdiff_t   K     = heads > 0 ? m->cfg.d_model / heads : 0;
    lcsm_import_fused_rows(plan, seven ? 6 : 5);
    warn_eps(m, 64e-5, eps_or(m->cfg.mixer_eps, 64e-5));
    put(keys, arch, "attention.layer_norm_epsilon", json_real(eps_or(m->cfg.norm_eps, 1e-5)));
    put(keys, arch, "feed_forward_length", json_integer(rows_in(m, "layers.0.channel.key.weight")));
    put(keys, arch, "wkv.head_size", json_integer(K));
    put(keys, arch, "token_shift_count", json_integer(2));
    if (!seven) {
        put(keys, arch, "time_mix_extra_dim",
            json_integer(rows_in(m, "layers.0.mixer.time_maa_w1.weight") / 5));
        put(keys, arch, "time_decay_extra_dim",
            json_integer(rows_in(m, "layers.0.mixer.time_decay_w1.weight")));
        put(keys, arch, "rescale_every_n_layers", json_integer(0));
        return;
    }
    put(keys, arch, "attention.decay_lora_rank",
        json_integer(rows_in(m, "layers.0.mixer.w1.weight")));
    put(keys, arch, "attention.iclr_lora_rank",
        json_integer(rows_in(m, "layers.0.mixer.a1.weight")));
    put(keys, arch, "attention.value_residual_mix_lora_rank",
        json_integer(rows_in(m, "layers.1.mixer.v1.weight")));
    put(keys, arch, "attention.gate_lora_rank",
        json_integer(rows_in(m, "layers.0.mixer.g1.weight")));
}

lcsm_status lcsm_export_gguf_keys(const lcsm_release **out, json_t **keys, lcsm_import_plan *plan,
                                  const lcsm_model *model, lcsm_error *err)
{
    const lcsm_model_config *c    = &model->cfg;
    const char              *arch = c->method;
    if (strcmp(arch, "falcon-mamba") == 0) arch = "mamba";
    *out = NULL;
    for (size_t j = 0; j < COUNT(GGUF); j++)
        if (strcmp(GGUF[j].architecture, arch) == 0) *out = &GGUF[j];
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "%s has no GGUF format; expected mamba, falcon-mamba, mamba2, rwkv6 or "
                         "rwkv7",
                         lcsm_model_config_name(c));
    *keys = json_pack("{s:s, s:s}", "general.architecture", arch, "general.name", c->method);
    if (*keys == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a header");
    put(*keys, arch, "context_length", json_integer(1 << 20));
    put(*keys, arch, "embedding_length", json_integer(c->d_model));
    put(*keys, arch, "block_count", json_integer(lcsm_model_config_layers(c)));
    put(*keys, arch, "vocab_size", json_integer(c->vocab)); /* where there is no tokenizer */
    put(*keys, arch, "attention.head_count", json_integer(0));
    put(*keys, "tokenizer", "ggml.model", json_string("none"));
    if (strncmp(arch, "rwkv", 4) == 0) put_rwkv(*keys, plan, model);
    else put_mamba(*keys, plan, model);
    return LCSM_OK;
}
