/* import_xlstm.c - xLSTM of Hugging Face, with its weights one by one or fused. */
#include <math.h>

#include "model/import.h"

enum { Q = 1, K, V, GATE, INPUT, FORGET };

/* clang-format off */
#define BLOCK "backbone.blocks.{i}."
#define CELL  BLOCK "mlstm_layer."
#define MIX   "layers.{i}.mixer."

const lcsm_import_rule LCSM_XLSTM_RULES[] = {
    LCSM_SAME("backbone.embeddings.weight",          "embedding.weight"),
    LCSM_SAME("backbone.out_norm.weight",            "norm.weight"),
    LCSM_SAME("lm_head.weight",                      "head.weight"),
    LCSM_SAME(BLOCK "norm_mlstm.weight",             "layers.{i}.norm1.weight"),
    LCSM_SAME(BLOCK "norm_ffn.weight",               "layers.{i}.norm2.weight"),
    LCSM_SAME(CELL "q.weight",                       MIX "q.weight"),
    LCSM_SAME(CELL "k.weight",                       MIX "k.weight"),
    LCSM_SAME(CELL "v.weight",                       MIX "v.weight"),
    LCSM_SAME(CELL "ogate_preact.weight",            MIX "gate.weight"),
    LCSM_SAME(CELL "igate_preact.weight",            MIX "input.weight"),
    LCSM_SAME(CELL "igate_preact.bias",              MIX "input.bias"),
    LCSM_SAME(CELL "fgate_preact.weight",            MIX "forget.weight"),
    LCSM_SAME(CELL "fgate_preact.bias",              MIX "forget.bias"),
    LCSM_PART(Q, AS_IS, CELL "qkv_opreact.weight",   MIX "q.weight"),
    LCSM_PART(K, AS_IS, CELL "qkv_opreact.weight",   MIX "k.weight"),
    LCSM_PART(V, AS_IS, CELL "qkv_opreact.weight",   MIX "v.weight"),
    LCSM_PART(GATE, AS_IS, CELL "qkv_opreact.weight", MIX "gate.weight"),
    LCSM_PART(INPUT, AS_IS, CELL "ifgate_preact.weight", MIX "input.weight"),
    LCSM_PART(INPUT, AS_IS, CELL "ifgate_preact.bias", MIX "input.bias"),
    LCSM_PART(FORGET, AS_IS, CELL "ifgate_preact.weight", MIX "forget.weight"),
    LCSM_PART(FORGET, AS_IS, CELL "ifgate_preact.bias", MIX "forget.bias"),
    LCSM_SAME(CELL "multihead_norm.weight",          MIX "norm.weight"),
    LCSM_SAME(CELL "out_proj.weight",                MIX "out.weight"),
    LCSM_SAME(BLOCK "ffn.proj_up_gate.weight",       "layers.{i}.channel.w1.weight"),
    LCSM_SAME(BLOCK "ffn.proj_up.weight",            "layers.{i}.channel.w2.weight"),
    LCSM_SAME(BLOCK "ffn.proj_down.weight",          "layers.{i}.channel.w3.weight"),
    LCSM_END,
};
const lcsm_import_key LCSM_XLSTM_KEYS[] = {
    LCSM_SETS("vocab_size",                   "vocab",          "50304"),
    LCSM_SETS("hidden_size|embedding_dim",    "d_model",        "4096"),
    LCSM_SETS("num_blocks|num_hidden_layers", "layers",         "32"),
    LCSM_SETS("tie_word_embeddings",          "tied",           "false"),
    LCSM_SETS("num_heads",                    "heads",          "8"),
    LCSM_SETS("gate_soft_cap",                "gate_cap",       "15"),
    LCSM_SETS("output_logit_soft_cap",        "soft_cap",       "30"),
    LCSM_SETS("norm_eps",                     "norm_eps",       "1e-6"),
    LCSM_SETS("norm_eps",                     "mixer_eps",      "1e-6"),
    LCSM_SETS("eps",                          "normaliser_eps", "1e-6"),
    LCSM_ONLY("use_bias", "false"), LCSM_ONLY("add_out_norm", "true"), LCSM_ONLY("weight_mode", "single|fused"),
    LCSM_SKIPS("qk_dim_factor|v_dim_factor|ffn_proj_factor|ffn_round_up_to_multiple_of|autocast_kernel_dtype|chunk_size|mode"),
    LCSM_SKIPS("chunkwise_kernel|sequence_kernel|step_kernel|inference_state_dtype|max_inference_chunksize|return_last_states"),
    LCSM_SKIPS("norm_reduction_force_float32"),
    LCSM_END,
};
/* clang-format on */

static void finish_parts(lcsm_import_plan *out, ptrdiff_t keys, ptrdiff_t values)
{
    ptrdiff_t all = 2 * keys + 2 * values, H = out->cfg.heads;
    out->parts[Q]      = (lcsm_import_part){1, all, 0};
    out->parts[K]      = (lcsm_import_part){1, all, keys};
    out->parts[V]      = (lcsm_import_part){1, all, 2 * keys};
    out->parts[GATE]   = (lcsm_import_part){1, all, 2 * keys + values};
    out->parts[INPUT]  = (lcsm_import_part){1, 2 * H, 0};
    out->parts[FORGET] = (lcsm_import_part){1, 2 * H, H};
}

lcsm_status lcsm_import_xlstm(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    lcsm_model_config *c    = &out->cfg;
    double             H    = (double)c->d_model;
    ptrdiff_t          keys = (ptrdiff_t)(H * lcsm_import_number(src, "qk_dim_factor", 0.5) + 1e-9);
    ptrdiff_t          values = (ptrdiff_t)(H * lcsm_import_number(src, "v_dim_factor", 1) + 1e-9);
    double             wide   = H * lcsm_import_number(src, "ffn_proj_factor", 2.667);
    double             step   = lcsm_import_number(src, "ffn_round_up_to_multiple_of", 64);
    if (c->heads < 1 || keys < 1 || keys % c->heads != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %td heads do not divide %td key channels",
                         src->place, c->heads, keys);
    if (!(step >= 1))
        return lcsm_import_refuse(src, "ffn_round_up_to_multiple_of", "1 or more", err);
    c->expand        = keys / c->heads;
    c->value_ratio   = (double)values / H;
    c->hidden        = (ptrdiff_t)(floor((wide + step - 1) / step) * step);
    c->channel_mixer = LCSM_CHANNEL_GLU;
    finish_parts(out, keys, values);
    return LCSM_OK;
}
