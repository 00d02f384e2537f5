/* import_rwkv4.c - RWKV-4 of Hugging Face, and files of rwkv.cpp. */
#include "model/import.h"

/* clang-format off */
const lcsm_import_rule LCSM_RWKV4_RULES[] = {
    LCSM_SAME("rwkv.embeddings.weight", "embedding.weight"),
    LCSM_SAME("rwkv.blocks.0.pre_ln.weight", "norm0.weight"),
    LCSM_SAME("rwkv.blocks.0.pre_ln.bias", "norm0.bias"),
    LCSM_SAME("rwkv.blocks.{i}.ln1.weight", "layers.{i}.norm1.weight"),
    LCSM_SAME("rwkv.blocks.{i}.ln1.bias", "layers.{i}.norm1.bias"),
    LCSM_SAME("rwkv.blocks.{i}.ln2.weight", "layers.{i}.norm2.weight"),
    LCSM_SAME("rwkv.blocks.{i}.ln2.bias", "layers.{i}.norm2.bias"),
    LCSM_SAME("rwkv.blocks.{i}.attention.time_decay", "layers.{i}.mixer.time_decay"),
    LCSM_SAME("rwkv.blocks.{i}.attention.time_first", "layers.{i}.mixer.time_first"),
    LCSM_AS(VECTOR, "rwkv.blocks.{i}.attention.time_mix_key", "layers.{i}.mixer.time_mix_k"),
    LCSM_AS(VECTOR, "rwkv.blocks.{i}.attention.time_mix_value", "layers.{i}.mixer.time_mix_v"),
    LCSM_AS(VECTOR, "rwkv.blocks.{i}.attention.time_mix_receptance", "layers.{i}.mixer.time_mix_r"),
    LCSM_SAME("rwkv.blocks.{i}.attention.key.weight", "layers.{i}.mixer.key.weight"),
    LCSM_SAME("rwkv.blocks.{i}.attention.value.weight", "layers.{i}.mixer.value.weight"),
    LCSM_SAME("rwkv.blocks.{i}.attention.receptance.weight", "layers.{i}.mixer.receptance.weight"),
    LCSM_AS(RESCALED, "rwkv.blocks.{i}.attention.output.weight", "layers.{i}.mixer.output.weight"),
    LCSM_AS(VECTOR, "rwkv.blocks.{i}.feed_forward.time_mix_key", "layers.{i}.channel.mix_k"),
    LCSM_AS(VECTOR, "rwkv.blocks.{i}.feed_forward.time_mix_receptance", "layers.{i}.channel.mix_r"),
    LCSM_SAME("rwkv.blocks.{i}.feed_forward.key.weight", "layers.{i}.channel.key.weight"),
    LCSM_SAME("rwkv.blocks.{i}.feed_forward.receptance.weight", "layers.{i}.channel.receptance.weight"),
    LCSM_AS(RESCALED, "rwkv.blocks.{i}.feed_forward.value.weight", "layers.{i}.channel.value.weight"),
    LCSM_SAME("rwkv.ln_out.weight", "norm.weight"),
    LCSM_SAME("rwkv.ln_out.bias", "norm.bias"),
    LCSM_SAME("head.weight", "head.weight"),
    LCSM_END,
};

/* The names of the original files. Vectors have one axis, and time_decay is the rate itself. */
static const lcsm_import_rule BIN_RULES[] = {
    LCSM_SAME("emb.weight", "embedding.weight"),
    LCSM_SAME("blocks.0.ln0.weight", "norm0.weight"),
    LCSM_SAME("blocks.0.ln0.bias", "norm0.bias"),
    LCSM_SAME("blocks.{i}.ln1.weight", "layers.{i}.norm1.weight"),
    LCSM_SAME("blocks.{i}.ln1.bias", "layers.{i}.norm1.bias"),
    LCSM_SAME("blocks.{i}.ln2.weight", "layers.{i}.norm2.weight"),
    LCSM_SAME("blocks.{i}.ln2.bias", "layers.{i}.norm2.bias"),
    LCSM_AS(LOG_RATE, "blocks.{i}.att.time_decay", "layers.{i}.mixer.time_decay"),
    LCSM_SAME("blocks.{i}.att.time_first", "layers.{i}.mixer.time_first"),
    LCSM_SAME("blocks.{i}.att.time_mix_k", "layers.{i}.mixer.time_mix_k"),
    LCSM_SAME("blocks.{i}.att.time_mix_v", "layers.{i}.mixer.time_mix_v"),
    LCSM_SAME("blocks.{i}.att.time_mix_r", "layers.{i}.mixer.time_mix_r"),
    LCSM_SAME("blocks.{i}.att.key.weight", "layers.{i}.mixer.key.weight"),
    LCSM_SAME("blocks.{i}.att.value.weight", "layers.{i}.mixer.value.weight"),
    LCSM_SAME("blocks.{i}.att.receptance.weight", "layers.{i}.mixer.receptance.weight"),
    LCSM_SAME("blocks.{i}.att.output.weight", "layers.{i}.mixer.output.weight"),
    LCSM_SAME("blocks.{i}.ffn.time_mix_k", "layers.{i}.channel.mix_k"),
    LCSM_SAME("blocks.{i}.ffn.time_mix_r", "layers.{i}.channel.mix_r"),
    LCSM_SAME("blocks.{i}.ffn.key.weight", "layers.{i}.channel.key.weight"),
    LCSM_SAME("blocks.{i}.ffn.receptance.weight", "layers.{i}.channel.receptance.weight"),
    LCSM_SAME("blocks.{i}.ffn.value.weight", "layers.{i}.channel.value.weight"),
    LCSM_SAME("ln_out.weight", "norm.weight"),
    LCSM_SAME("ln_out.bias", "norm.bias"),
    LCSM_SAME("head.weight", "head.weight"),
    LCSM_END,
};
/* clang-format on */

/* clang-format off */
const lcsm_import_key LCSM_RWKV4_KEYS[] = {
    LCSM_SETS("vocab_size", "vocab", "50277"),
    LCSM_SETS("hidden_size", "d_model", "4096"),
    LCSM_SETS("num_hidden_layers", "layers", "32"),
    LCSM_SETS("intermediate_size", "hidden", "0"),
    LCSM_SETS("layer_norm_epsilon", "norm_eps", "1e-5"),
    LCSM_SETS("tie_word_embeddings", "tied", "false"),
    LCSM_SKIPS("attention_hidden_size|rescale_every|context_length"),
    LCSM_END,
};
/* clang-format on */

/* The norm before the head always has its own eps. */
lcsm_status lcsm_import_rwkv4(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c     = &out->cfg;
    double             width = lcsm_import_number(src, "attention_hidden_size", 0);
    c->final_norm_eps        = 1e-5;
    if (c->hidden == 0) c->hidden = 4 * c->d_model;
    if (width > 0) c->value_ratio = width / (double)c->d_model;
    out->rescale_every = (ptrdiff_t)lcsm_import_number(src, "rescale_every", 6);
    return lcsm_import_check_rwkv4(src, err);
}

/* The header has the sizes, but for the width of the channel mixer. */
static lcsm_status finish_bin(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    static const char key[] = "blocks.0.ffn.key.weight";
    size_t            at    = lcsm_import_find(src, key);
    lcsm_status       st    = lcsm_import_rwkv4(out, src, err);
    if (st != LCSM_OK) return st;
    if (at == SIZE_MAX || src->list[at].rank != 2)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is missing or not a matrix",
                         src->label, key);
    out->cfg.hidden = (ptrdiff_t)src->list[at].shape[0];
    return LCSM_OK;
}

const lcsm_release LCSM_RELEASE_RWKV_BIN = {
    .kind   = "RWKV-4 (rwkv.cpp)",
    .method = "rwkv4",
    .norm   = LCSM_BLOCK_NORM_LAYER,
    .keys   = {LCSM_RWKV4_KEYS},
    .rules  = {BIN_RULES},
    .finish = finish_bin,
};
