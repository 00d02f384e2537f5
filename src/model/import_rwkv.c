/* import_rwkv.c - RWKV-6 and RWKV-7 of fla, and in GGUF files. */
#include "model/import.h"

/* Rows of fused mixing weights. */
enum { ROW_0 = 1, ROW_1, ROW_2, ROW_3, ROW_4, ROW_5 };

/* clang-format off */
#define ATTN "model.layers.{i}.attn."
#define FFN  "model.layers.{i}.ffn."
#define MIX  "layers.{i}.mixer."
#define CHAN "layers.{i}.channel."
#define BLK  "blk.{i}."

/* A weight and a bias. */
#define BOTH(theirs, ours)                            \
    LCSM_SAME(theirs ".weight", ours ".weight"),      \
    LCSM_SAME(theirs ".bias",   ours ".bias")

const lcsm_import_rule LCSM_FLA_RWKV_RULES[] = {
    LCSM_SAME("model.embeddings.weight", "embedding.weight"),
    BOTH("model.layers.0.pre_norm",      "norm0"),
    BOTH("model.layers.{i}.attn_norm",   "layers.{i}.norm1"),
    BOTH("model.layers.{i}.ffn_norm",    "layers.{i}.norm2"),
    BOTH("model.norm",                   "norm"),
    LCSM_SAME("lm_head.weight",          "head.weight"),
    BOTH(ATTN "g_norm",                  MIX "ln_x"),
    LCSM_SAME(ATTN "o_proj.weight",      MIX "output.weight"),
    LCSM_SAME(FFN "value.weight",        CHAN "value.weight"),
    LCSM_END,
};
/* Their order of the five mixes is r, w, k, v, g; ours w, k, v, r, g. */
const lcsm_import_rule LCSM_FLA_RWKV6_RULES[] = {
    LCSM_SAME(ATTN "x_proj.0.mu",                   MIX "time_maa_x"),
    LCSM_AS(RWKV6_DOWN, ATTN "x_proj.0.linear.weight", MIX "time_maa_w1.weight"),
    LCSM_AS(RWKV6_UP, ATTN "x_proj.2.weight",       MIX "time_maa_w2"),
    LCSM_PART(ROW_0, ROW, ATTN "x_bias",            MIX "time_maa_r"),
    LCSM_PART(ROW_1, ROW, ATTN "x_bias",            MIX "time_maa_w"),
    LCSM_PART(ROW_2, ROW, ATTN "x_bias",            MIX "time_maa_k"),
    LCSM_PART(ROW_3, ROW, ATTN "x_bias",            MIX "time_maa_v"),
    LCSM_PART(ROW_4, ROW, ATTN "x_bias",            MIX "time_maa_g"),
    LCSM_SAME(ATTN "w_proj.linear.lora.0.weight",   MIX "time_decay_w1.weight"),
    LCSM_SAME(ATTN "w_proj.linear.lora.2.weight",   MIX "time_decay_w2.weight"),
    LCSM_SAME(ATTN "w_proj.linear.lora.2.bias",     MIX "time_decay"),
    LCSM_SAME(ATTN "bonus",                         MIX "time_faaaa"),
    LCSM_SAME(ATTN "r_proj.linear.weight",          MIX "receptance.weight"),
    LCSM_SAME(ATTN "k_proj.linear.weight",          MIX "key.weight"),
    LCSM_SAME(ATTN "v_proj.linear.weight",          MIX "value.weight"),
    LCSM_SAME(ATTN "g_proj.linear.weight",          MIX "gate.weight"),
    LCSM_SAME(FFN "key.linear.weight",              CHAN "key.weight"),
    LCSM_AS(FLAT, FFN "key.mu",                     CHAN "x_k"),
    LCSM_SAME(FFN "receptance.linear.weight",       CHAN "receptance.weight"),
    LCSM_AS(FLAT, FFN "receptance.mu",              CHAN "x_r"),
    LCSM_END,
};
#define LORA(letter)                                                              \
    LCSM_SAME(ATTN letter "_lora.lora.0.weight", MIX letter "1.weight"),          \
    LCSM_SAME(ATTN letter "_lora.lora.2.weight", MIX letter "2.weight"),          \
    LCSM_SAME(ATTN letter "_lora.lora.2.bias",   MIX letter "0")
const lcsm_import_rule LCSM_FLA_RWKV7_RULES[] = {
    LCSM_AS(VECTOR, ATTN "x_r", MIX "x_r"), LCSM_AS(VECTOR, ATTN "x_w", MIX "x_w"), LCSM_AS(VECTOR, ATTN "x_k", MIX "x_k"),
    LCSM_AS(VECTOR, ATTN "x_v", MIX "x_v"), LCSM_AS(VECTOR, ATTN "x_a", MIX "x_a"), LCSM_AS(VECTOR, ATTN "x_g", MIX "x_g"),
    LCSM_AS(FLAT, ATTN "k_k", MIX "k_k"), LCSM_AS(FLAT, ATTN "k_a", MIX "k_a"), LCSM_SAME(ATTN "r_k", MIX "r_k"),
    LORA("w"), LORA("a"), LORA("v"), LORA("g"),
    LCSM_SAME(ATTN "r_proj.weight",  MIX "receptance.weight"),
    LCSM_SAME(ATTN "k_proj.weight",  MIX "key.weight"),
    LCSM_SAME(ATTN "v_proj.weight",  MIX "value.weight"),
    LCSM_AS(FLAT, FFN "x_k",         CHAN "x_k"),
    LCSM_SAME(FFN "key.weight",      CHAN "key.weight"),
    LCSM_END,
};

const lcsm_import_key LCSM_FLA_RWKV_KEYS[] = {
    LCSM_SETS("vocab_size",          "vocab",    "32000"),
    LCSM_SETS("hidden_size",         "d_model",  "2048"),
    LCSM_SETS("num_hidden_layers",   "layers",   "24"),
    LCSM_SETS("norm_eps",            "norm_eps", "1e-5"),
    LCSM_SETS("tie_word_embeddings", "tied",     "false"),
    LCSM_SETS("intermediate_size",   "hidden",   "0"),
    LCSM_ONLY("hidden_act", "sqrelu"), LCSM_ONLY("norm_first", "true"), LCSM_ONLY("norm_bias", "true"),
    LCSM_SKIPS("hidden_ratio|attn_mode|fuse_norm|fuse_cross_entropy|fuse_linear_cross_entropy|use_l2warp|num_heads|head_dim"),
    LCSM_SKIPS("expand_k|expand_v|proj_low_rank_dim|gate_low_rank_dim|decay_low_rank_dim|a_low_rank_dim|v_low_rank_dim|value_dim"),
    LCSM_END,
};

/* ---- GGUF ---- */
#define GGUF_ENDS                                        \
    LCSM_SAME("token_embd.weight", "embedding.weight"),  \
    BOTH("token_embd_norm",        "norm0"),             \
    BOTH(BLK "attn_norm",          "layers.{i}.norm1"),  \
    BOTH(BLK "attn_norm_2",        "layers.{i}.norm2"),  \
    BOTH("output_norm",            "norm"),              \
    LCSM_SAME("output.weight",     "head.weight"),       \
    LCSM_SAME(BLK "time_mix_key.weight",         MIX "key.weight"),        \
    LCSM_SAME(BLK "time_mix_value.weight",       MIX "value.weight"),      \
    LCSM_SAME(BLK "time_mix_receptance.weight",  MIX "receptance.weight"), \
    LCSM_AS(UNDIVIDED, BLK "time_mix_output.weight",   MIX "output.weight"),  \
    BOTH(BLK "time_mix_ln",                      MIX "ln_x"),              \
    LCSM_AS(FLAT, BLK "channel_mix_lerp_k.weight", CHAN "x_k"),            \
    LCSM_SAME(BLK "channel_mix_key.weight",      CHAN "key.weight"),       \
    LCSM_AS(UNDIVIDED, BLK "channel_mix_value.weight", CHAN "value.weight")

#define FUSED(row, name) LCSM_PART(row, ROW, BLK "time_mix_lerp_fused.weight", MIX name)
const lcsm_import_rule LCSM_GGUF_RWKV6_RULES[] = {
    GGUF_ENDS,
    LCSM_AS(FLAT, BLK "time_mix_lerp_x.weight", MIX "time_maa_x"),
    LCSM_SAME(BLK "time_mix_w1.weight",         MIX "time_maa_w1.weight"),
    LCSM_SAME(BLK "time_mix_w2.weight",         MIX "time_maa_w2"),
    FUSED(ROW_0, "time_maa_w"), FUSED(ROW_1, "time_maa_k"), FUSED(ROW_2, "time_maa_v"), FUSED(ROW_3, "time_maa_r"), FUSED(ROW_4, "time_maa_g"),
    LCSM_AS(FLAT, BLK "time_mix_lerp_w.weight", MIX "time_maa_w"),
    LCSM_AS(FLAT, BLK "time_mix_lerp_k.weight", MIX "time_maa_k"),
    LCSM_AS(FLAT, BLK "time_mix_lerp_v.weight", MIX "time_maa_v"),
    LCSM_AS(FLAT, BLK "time_mix_lerp_r.weight", MIX "time_maa_r"),
    LCSM_AS(FLAT, BLK "time_mix_lerp_g.weight", MIX "time_maa_g"),
    LCSM_SAME(BLK "time_mix_first.weight",      MIX "time_faaaa"),
    LCSM_AS(FLAT, BLK "time_mix_decay.weight",  MIX "time_decay"),
    LCSM_SAME(BLK "time_mix_decay_w1.weight",   MIX "time_decay_w1.weight"),
    LCSM_SAME(BLK "time_mix_decay_w2.weight",   MIX "time_decay_w2.weight"),
    LCSM_SAME(BLK "time_mix_gate.weight",       MIX "gate.weight"),
    LCSM_AS(FLAT, BLK "channel_mix_lerp_r.weight", CHAN "x_r"),
    LCSM_SAME(BLK "channel_mix_receptance.weight", CHAN "receptance.weight"),
    LCSM_END,
};
#define LOW(letter)                                                              \
    LCSM_AS(FLAT, BLK "time_mix_" letter "0.weight", MIX letter "0"),            \
    LCSM_SAME(BLK "time_mix_" letter "1.weight",     MIX letter "1.weight"),     \
    LCSM_SAME(BLK "time_mix_" letter "2.weight",     MIX letter "2.weight")
const lcsm_import_rule LCSM_GGUF_RWKV7_RULES[] = {
    GGUF_ENDS,
    FUSED(ROW_0, "x_r"), FUSED(ROW_1, "x_w"), FUSED(ROW_2, "x_k"), FUSED(ROW_3, "x_v"), FUSED(ROW_4, "x_a"), FUSED(ROW_5, "x_g"),
    LOW("w"), LOW("a"), LOW("v"), LOW("g"),
    LCSM_AS(FLAT, BLK "time_mix_k_k.weight", MIX "k_k"),
    LCSM_AS(FLAT, BLK "time_mix_k_a.weight", MIX "k_a"),
    LCSM_AS(FLAT, BLK "time_mix_r_k.weight", MIX "r_k"),
    LCSM_END,
};
/* clang-format on */

/* ---- sizes ------------------------------------------------------------------------------ */

/* The rows of a matrix; 0: it is not there. */
static ptrdiff_t rows_of(const lcsm_import_source *src, const char *name)
{
    size_t at = lcsm_import_find(src, name);
    return at != SIZE_MAX && src->list[at].rank >= 1 ? (ptrdiff_t)src->list[at].shape[0] : 0;
}

void lcsm_import_fused_rows(lcsm_import_plan *out, ptrdiff_t count)
{
    for (ptrdiff_t j = 0; j < count; j++) out->parts[ROW_0 + j] = (lcsm_import_part){1, count, j};
}

/* The width of the channel mixer, where the config does not say it. */
static void finish_hidden(lcsm_model_config *c, const lcsm_import_source *src, const char *key)
{
    if (c->hidden == 0) c->hidden = rows_of(src, key);
}

lcsm_status lcsm_import_fla_rwkv6(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c    = &out->cfg;
    double             H    = (double)c->d_model;
    ptrdiff_t          keys = (ptrdiff_t)(H * lcsm_import_number(src, "expand_k", 0.5) + 1e-9);
    c->heads                = (ptrdiff_t)lcsm_import_number(src, "num_heads", 4);
    if (c->heads < 1 || keys < 1 || keys % c->heads != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %td heads do not divide %td key channels",
                         src->place, c->heads, keys);
    c->expand          = keys / c->heads;
    c->value_ratio     = (double)(ptrdiff_t)(H * lcsm_import_number(src, "expand_v", 1) + 1e-9) / H;
    c->mixer_eps       = c->norm_eps;
    c->rwkv_mix_rank   = (ptrdiff_t)lcsm_import_number(src, "proj_low_rank_dim", 32);
    c->rwkv_decay_rank = (ptrdiff_t)lcsm_import_number(src, "gate_low_rank_dim", 64);
    finish_hidden(c, src, "model.layers.0.ffn.key.linear.weight");
    lcsm_import_fused_rows(out, 5);
    return LCSM_OK;
}

/* Ranks may be left to the library; the tensors have them. */
lcsm_status lcsm_import_fla_rwkv7(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c = &out->cfg;
    ptrdiff_t          K = (ptrdiff_t)lcsm_import_number(src, "head_dim", 64);
    if (K < 1 || c->d_model % K != 0)
        return lcsm_import_refuse(src, "head_dim", "a divisor of hidden_size", err);
    c->heads           = c->d_model / K;
    c->mixer_eps       = (double)K * c->norm_eps;
    c->rwkv_decay_rank = rows_of(src, "model.layers.0.attn.w_lora.lora.0.weight");
    c->rwkv_a_rank     = rows_of(src, "model.layers.0.attn.a_lora.lora.0.weight");
    c->rwkv_g_rank     = rows_of(src, "model.layers.0.attn.g_lora.lora.0.weight");
    c->rwkv_v_rank     = rows_of(src, "model.layers.1.attn.v_lora.lora.0.weight");
    finish_hidden(c, src, "model.layers.0.ffn.key.weight");
    return lcsm_import_agree(src, "num_heads", c->heads, err);
}

/* Heads of wkv.head_size channels; the group norm's eps is that of llama.cpp. */
static lcsm_status finish_gguf(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c = &out->cfg;
    ptrdiff_t          K = (ptrdiff_t)lcsm_import_number(src, "wkv.head_size", 64);
    if (K < 1 || c->d_model % K != 0)
        return lcsm_import_refuse(src, "wkv.head_size", "a divisor of embedding_length", err);
    c->heads           = c->d_model / K;
    c->mixer_eps       = 64e-5;
    out->rescale_every = (ptrdiff_t)lcsm_import_number(src, "rescale_every_n_layers", 0);
    return LCSM_OK;
}

lcsm_status lcsm_import_gguf_rwkv6(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c = &out->cfg;
    lcsm_import_fused_rows(out, 5);
    c->rwkv_mix_rank   = rows_of(src, "blk.0.time_mix_w1.weight") / 5;
    c->rwkv_decay_rank = rows_of(src, "blk.0.time_mix_decay_w1.weight");
    return finish_gguf(out, src, err);
}

lcsm_status lcsm_import_gguf_rwkv7(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c = &out->cfg;
    lcsm_import_fused_rows(out, 6);
    c->rwkv_decay_rank = rows_of(src, "blk.0.time_mix_w1.weight");
    c->rwkv_a_rank     = rows_of(src, "blk.0.time_mix_a1.weight");
    c->rwkv_g_rank     = rows_of(src, "blk.0.time_mix_g1.weight");
    c->rwkv_v_rank     = rows_of(src, "blk.1.time_mix_v1.weight");
    return finish_gguf(out, src, err);
}
