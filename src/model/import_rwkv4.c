/* import_rwkv4.c - RWKV-4 of Hugging Face, and files of rwkv.cpp. */
#include <stdio.h>

#include "model/import.h"

/* clang-format off */
static const lcsm_import_rule RULES[] = {
    {"rwkv.embeddings.weight",                           "embedding.weight",                     LCSM_TAKE_AS_IS},
    {"rwkv.blocks.0.pre_ln.weight",                      "norm0.weight",                         LCSM_TAKE_AS_IS},
    {"rwkv.blocks.0.pre_ln.bias",                        "norm0.bias",                           LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.ln1.weight",                       "layers.{i}.norm1.weight",              LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.ln1.bias",                         "layers.{i}.norm1.bias",                LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.ln2.weight",                       "layers.{i}.norm2.weight",              LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.ln2.bias",                         "layers.{i}.norm2.bias",                LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.time_decay",             "layers.{i}.mixer.time_decay",          LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.time_first",             "layers.{i}.mixer.time_first",          LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.time_mix_key",           "layers.{i}.mixer.time_mix_k",          LCSM_TAKE_VECTOR},
    {"rwkv.blocks.{i}.attention.time_mix_value",         "layers.{i}.mixer.time_mix_v",          LCSM_TAKE_VECTOR},
    {"rwkv.blocks.{i}.attention.time_mix_receptance",    "layers.{i}.mixer.time_mix_r",          LCSM_TAKE_VECTOR},
    {"rwkv.blocks.{i}.attention.key.weight",             "layers.{i}.mixer.key.weight",          LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.value.weight",           "layers.{i}.mixer.value.weight",        LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.receptance.weight",      "layers.{i}.mixer.receptance.weight",   LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.attention.output.weight",          "layers.{i}.mixer.output.weight",       LCSM_TAKE_RESCALED},
    {"rwkv.blocks.{i}.feed_forward.time_mix_key",        "layers.{i}.channel.mix_k",             LCSM_TAKE_VECTOR},
    {"rwkv.blocks.{i}.feed_forward.time_mix_receptance", "layers.{i}.channel.mix_r",             LCSM_TAKE_VECTOR},
    {"rwkv.blocks.{i}.feed_forward.key.weight",          "layers.{i}.channel.key.weight",        LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.feed_forward.receptance.weight",   "layers.{i}.channel.receptance.weight", LCSM_TAKE_AS_IS},
    {"rwkv.blocks.{i}.feed_forward.value.weight",        "layers.{i}.channel.value.weight",      LCSM_TAKE_RESCALED},
    {"rwkv.ln_out.weight",                               "norm.weight",                          LCSM_TAKE_AS_IS},
    {"rwkv.ln_out.bias",                                 "norm.bias",                            LCSM_TAKE_AS_IS},
    {"head.weight",                                      "head.weight",                          LCSM_TAKE_AS_IS},
};

/* The names of the original files. Vectors have one axis, and time_decay is the rate itself. */
static const lcsm_import_rule BIN_RULES[] = {
    {"emb.weight",                       "embedding.weight",                     LCSM_TAKE_AS_IS},
    {"blocks.0.ln0.weight",              "norm0.weight",                         LCSM_TAKE_AS_IS},
    {"blocks.0.ln0.bias",                "norm0.bias",                           LCSM_TAKE_AS_IS},
    {"blocks.{i}.ln1.weight",            "layers.{i}.norm1.weight",              LCSM_TAKE_AS_IS},
    {"blocks.{i}.ln1.bias",              "layers.{i}.norm1.bias",                LCSM_TAKE_AS_IS},
    {"blocks.{i}.ln2.weight",            "layers.{i}.norm2.weight",              LCSM_TAKE_AS_IS},
    {"blocks.{i}.ln2.bias",              "layers.{i}.norm2.bias",                LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.time_decay",        "layers.{i}.mixer.time_decay",          LCSM_TAKE_LOG_RATE},
    {"blocks.{i}.att.time_first",        "layers.{i}.mixer.time_first",          LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.time_mix_k",        "layers.{i}.mixer.time_mix_k",          LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.time_mix_v",        "layers.{i}.mixer.time_mix_v",          LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.time_mix_r",        "layers.{i}.mixer.time_mix_r",          LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.key.weight",        "layers.{i}.mixer.key.weight",          LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.value.weight",      "layers.{i}.mixer.value.weight",        LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.receptance.weight", "layers.{i}.mixer.receptance.weight",   LCSM_TAKE_AS_IS},
    {"blocks.{i}.att.output.weight",     "layers.{i}.mixer.output.weight",       LCSM_TAKE_AS_IS},
    {"blocks.{i}.ffn.time_mix_k",        "layers.{i}.channel.mix_k",             LCSM_TAKE_AS_IS},
    {"blocks.{i}.ffn.time_mix_r",        "layers.{i}.channel.mix_r",             LCSM_TAKE_AS_IS},
    {"blocks.{i}.ffn.key.weight",        "layers.{i}.channel.key.weight",        LCSM_TAKE_AS_IS},
    {"blocks.{i}.ffn.receptance.weight", "layers.{i}.channel.receptance.weight", LCSM_TAKE_AS_IS},
    {"blocks.{i}.ffn.value.weight",      "layers.{i}.channel.value.weight",      LCSM_TAKE_AS_IS},
    {"ln_out.weight",                    "norm.weight",                          LCSM_TAKE_AS_IS},
    {"ln_out.bias",                      "norm.bias",                            LCSM_TAKE_AS_IS},
    {"head.weight",                      "head.weight",                          LCSM_TAKE_AS_IS},
};
/* clang-format on */

typedef struct {
    ptrdiff_t vocab, hidden, layers, attention, inner, rescale;
    double    eps;
    bool      tied;
} settings;

#define KEY(name, type, field, low, high, standard)                                                \
    {                                                                                              \
        name, LCSM_SETTING_##type, offsetof(settings, field), low, high, standard, NULL, ""        \
    }
enum { BIG = 1 << 24 };

/* clang-format off */
static const lcsm_key ROWS[] = {
    KEY("vocab_size",            INT,  vocab,     1, BIG,  "50277"),
    KEY("hidden_size",           INT,  hidden,    1, BIG,  "4096"),
    KEY("num_hidden_layers",     INT,  layers,    1, 1024, "32"),
    KEY("attention_hidden_size", INT,  attention, 0, BIG,  "0"),
    KEY("intermediate_size",     INT,  inner,     0, BIG,  "0"),
    KEY("layer_norm_epsilon",    REAL, eps,       0, 1,    "1e-5"),
    KEY("rescale_every",         INT,  rescale,   0, 1024, "6"),
    KEY("tie_word_embeddings",   BOOL, tied,      0, 0,    "false"),
};
/* clang-format on */

static const lcsm_keys KEYS = {"RWKV", ROWS, COUNT(ROWS)};

/* Read by others, or without effect here: memory has no length. */
static const char *const IGNORED[] = {
    "architectures", "model_type",   "transformers_version", "torch_dtype",    "dtype", "use_cache",
    "bos_token_id",  "eos_token_id", "pad_token_id",         "context_length", NULL};

/* The norm before the head always has its own eps. */
static void set_config(lcsm_model_config *c, const settings *s)
{
    (void)snprintf(c->method, sizeof c->method, "rwkv4");
    c->vocab          = s->vocab;
    c->d_model        = s->hidden;
    c->layers         = s->layers;
    c->hidden         = s->inner > 0 ? s->inner : 4 * s->hidden;
    c->norm           = LCSM_BLOCK_NORM_LAYER;
    c->norm_eps       = s->eps;
    c->final_norm_eps = 1e-5;
    c->tied           = s->tied;
    c->embed_scale    = 1;
    if (s->attention > 0) c->value_ratio = (double)s->attention / (double)s->hidden;
}

lcsm_status lcsm_import_rwkv4(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    settings    s  = {0};
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_import_check_rwkv4(src, err));
    LCSM_OR_RETURN(lcsm_import_keys(src, src->config, &KEYS, IGNORED, &s, err));
    set_config(&out->cfg, &s);
    LCSM_OR_RETURN(
        lcsm_import_head(src, RULES[0].theirs, "head.weight", s.tied, &out->cfg.tied, err));
    out->kind          = "RWKV-4 (Hugging Face)";
    out->rules         = RULES;
    out->rule_count    = COUNT(RULES);
    out->rescale_every = s.rescale;
    return st;
}

/* The header has the sizes, but for the width of the channel mixer. */
lcsm_status lcsm_import_rwkv_bin(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char key[] = "blocks.0.ffn.key.weight";
    size_t            at    = lcsm_import_find(src, key);
    lcsm_status       st    = lcsm_import_check_rwkv4(src, err);
    if (st != LCSM_OK) return st;
    if (at == SIZE_MAX || src->list[at].rank != 2)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is missing or not a matrix",
                         src->label, key);
    set_config(&out->cfg, &(settings){.vocab  = src->bin->vocab,
                                      .hidden = src->bin->embed,
                                      .layers = src->bin->layers,
                                      .inner  = (ptrdiff_t)src->list[at].shape[0],
                                      .eps    = 1e-5});
    out->kind       = "RWKV-4 (rwkv.cpp)";
    out->rules      = BIN_RULES;
    out->rule_count = COUNT(BIN_RULES);
    return LCSM_OK;
}
