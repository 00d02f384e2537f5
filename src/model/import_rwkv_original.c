/* import_rwkv_original.c - RWKV by the names of its own files (.pth), and of its own Hugging Face
 * models, which have the same parts under longer names. */
#include <stdio.h>
#include <string.h>

#include "model/import.h"

/* clang-format off */
#define MIX  "layers.{i}.mixer."
#define CHAN "layers.{i}.channel."

/* A weight and a bias. */
#define BOTH(theirs, ours)                            \
    LCSM_SAME(theirs ".weight", ours ".weight"),      \
    LCSM_SAME(theirs ".bias",   ours ".bias")
#define MATRIX(theirs, ours) LCSM_SAME(theirs ".weight", ours ".weight")

/* B is the prefix of a block, A of its time mix, F of its channel mix. */
#define ENDS(embedding, B, norm0, last)               \
    LCSM_SAME(embedding, "embedding.weight"),         \
    BOTH(norm0, "norm0"),                             \
    BOTH(B "ln1", "layers.{i}.norm1"),                \
    BOTH(B "ln2", "layers.{i}.norm2"),                \
    BOTH(last, "norm"),                               \
    LCSM_SAME("head.weight", "head.weight")
#define MATRICES(A, F)                                \
    MATRIX(A "receptance", MIX "receptance"),         \
    MATRIX(A "key", MIX "key"),                       \
    MATRIX(A "value", MIX "value"),                   \
    LCSM_AS(RESCALED, A "output.weight", MIX "output.weight"), \
    MATRIX(F "key", CHAN "key"),                      \
    LCSM_AS(RESCALED, F "value.weight", CHAN "value.weight")
#define V4(A, F)                                      \
    MATRICES(A, F),                                   \
    LCSM_AS(FLAT, A "time_decay", MIX "time_decay"),  \
    LCSM_AS(FLAT, A "time_first", MIX "time_first"),  \
    LCSM_AS(VECTOR, A "time_mix_k", MIX "time_mix_k"),  \
    LCSM_AS(VECTOR, A "time_mix_v", MIX "time_mix_v"),  \
    LCSM_AS(VECTOR, A "time_mix_r", MIX "time_mix_r"),  \
    LCSM_AS(VECTOR, F "time_mix_k", CHAN "mix_k"),      \
    LCSM_AS(VECTOR, F "time_mix_r", CHAN "mix_r"),      \
    MATRIX(F "receptance", CHAN "receptance")
#define V5(A, F)                                      \
    MATRICES(A, F),                                   \
    MATRIX(A "gate", MIX "gate"),                     \
    BOTH(A "ln_x", MIX "ln_x"),                       \
    LCSM_AS(FLAT, A "time_decay", MIX "time_decay"),  \
    LCSM_AS(FLAT, A "time_faaaa", MIX "time_faaaa"),  \
    MATRIX(F "receptance", CHAN "receptance")
#define MIXES5(A, F, k, v, r, g)                      \
    LCSM_AS(VECTOR, A "time_mix_" k, MIX "time_mix_k"), \
    LCSM_AS(VECTOR, A "time_mix_" v, MIX "time_mix_v"), \
    LCSM_AS(VECTOR, A "time_mix_" r, MIX "time_mix_r"), \
    LCSM_AS(VECTOR, A "time_mix_" g, MIX "time_mix_g"), \
    LCSM_AS(VECTOR, F "time_mix_" k, CHAN "mix_k"),     \
    LCSM_AS(VECTOR, F "time_mix_" r, CHAN "mix_r")
#define SHORT5(A, F) MIXES5(A, F, "k", "v", "r", "g")
#define LONG5(A, F)  MIXES5(A, F, "key", "value", "receptance", "gate")
#define V6(A, F)                                      \
    MATRICES(A, F),                                   \
    MATRIX(A "gate", MIX "gate"),                     \
    BOTH(A "ln_x", MIX "ln_x"),                       \
    LCSM_AS(VECTOR, A "time_maa_x", MIX "time_maa_x"),  \
    LCSM_AS(VECTOR, A "time_maa_w", MIX "time_maa_w"),  \
    LCSM_AS(VECTOR, A "time_maa_k", MIX "time_maa_k"),  \
    LCSM_AS(VECTOR, A "time_maa_v", MIX "time_maa_v"),  \
    LCSM_AS(VECTOR, A "time_maa_r", MIX "time_maa_r"),  \
    LCSM_AS(VECTOR, A "time_maa_g", MIX "time_maa_g"),  \
    LCSM_AS(COLUMNS, A "time_maa_w1", MIX "time_maa_w1.weight"),     \
    LCSM_AS(BLOCKS, A "time_maa_w2", MIX "time_maa_w2"),             \
    LCSM_AS(VECTOR, A "time_decay", MIX "time_decay"),  \
    LCSM_AS(COLUMNS, A "time_decay_w1", MIX "time_decay_w1.weight"), \
    LCSM_AS(COLUMNS, A "time_decay_w2", MIX "time_decay_w2.weight"), \
    LCSM_AS(FLAT, A "time_faaaa", MIX "time_faaaa"),  \
    LCSM_AS(VECTOR, F "time_maa_k", CHAN "x_k"),        \
    LCSM_AS(VECTOR, F "time_maa_r", CHAN "x_r"),        \
    MATRIX(F "receptance", CHAN "receptance")
#define LOW(A, letter)                                \
    LCSM_AS(VECTOR, A letter "0", MIX letter "0"),      \
    LCSM_AS(COLUMNS, A letter "1", MIX letter "1.weight"), \
    LCSM_AS(COLUMNS, A letter "2", MIX letter "2.weight")
#define VECTOR(A, name) LCSM_AS(VECTOR, A name, MIX name)
#define V7(A, F)                                      \
    MATRICES(A, F),                                   \
    BOTH(A "ln_x", MIX "ln_x"),                       \
    VECTOR(A, "x_r"), VECTOR(A, "x_w"), VECTOR(A, "x_k"), VECTOR(A, "x_v"), VECTOR(A, "x_a"), VECTOR(A, "x_g"), \
    VECTOR(A, "k_k"), VECTOR(A, "k_a"), LCSM_AS(FLAT, A "r_k", MIX "r_k"), \
    LOW(A, "w"), LOW(A, "a"), LOW(A, "v"), LOW(A, "g"), \
    LCSM_AS(VECTOR, F "x_k", CHAN "x_k")

#define BLOCK "blocks.{i}."
#define ATT   BLOCK "att."
#define FFN   BLOCK "ffn."
#define PLAIN_ENDS ENDS("emb.weight", BLOCK, "blocks.0.ln0", "ln_out")
static const lcsm_import_rule RULES_4[] = {PLAIN_ENDS, V4(ATT, FFN), LCSM_END};
static const lcsm_import_rule RULES_5[] = {PLAIN_ENDS, V5(ATT, FFN), SHORT5(ATT, FFN), LONG5(ATT, FFN), LCSM_END};
static const lcsm_import_rule RULES_6[] = {PLAIN_ENDS, V6(ATT, FFN), LCSM_END};
static const lcsm_import_rule RULES_7[] = {PLAIN_ENDS, V7(ATT, FFN), LCSM_END};

#define HF_BLOCK "rwkv.blocks.{i}."
#define HF_ATT   HF_BLOCK "attention."
#define HF_FFN   HF_BLOCK "feed_forward."
#define HF_ENDS  ENDS("rwkv.embeddings.weight", HF_BLOCK, "rwkv.blocks.0.pre_ln", "rwkv.ln_out")
const lcsm_import_rule LCSM_RWKV5_HF_RULES[] = {HF_ENDS, V5(HF_ATT, HF_FFN), LONG5(HF_ATT, HF_FFN), SHORT5(HF_ATT, HF_FFN), LCSM_END};
const lcsm_import_rule LCSM_RWKV6_HF_RULES[] = {HF_ENDS, V6(HF_ATT, HF_FFN), LCSM_END};

const lcsm_import_key LCSM_RWKV_HF_KEYS[] = {
    LCSM_SETS("vocab_size",          "vocab",    "65536"),
    LCSM_SETS("hidden_size",         "d_model",  "768"),
    LCSM_SETS("num_hidden_layers",   "layers",   "24"),
    LCSM_SETS("layer_norm_epsilon",  "norm_eps", "1e-5"),
    LCSM_SETS("tie_word_embeddings", "tied",     "false"),
    LCSM_SKIPS("attention_hidden_size|intermediate_size|head_size|num_attention_heads|head_size_divisor|rescale_every|context_length|model_version"),
    LCSM_END,
};
static const lcsm_import_key SIZE_KEYS[] = {
    LCSM_SETS("vocab_size",        "vocab",   "0"),
    LCSM_SETS("hidden_size",       "d_model", "0"),
    LCSM_SETS("num_hidden_layers", "layers",  "0"),
    LCSM_SETS("tie_word_embeddings", "tied",  "false"),
    LCSM_END,
};
/* clang-format on */

/* ---- sizes ------------------------------------------------------------------------------ */

typedef struct {
    ptrdiff_t rows, columns;
} shape;

/* Of the first block; {0, 0}: it is not there, or has another number of axes. */
static shape shape_in(const lcsm_import_source *src, const char *prefix, const char *name)
{
    char   full[LCSM_IMPORT_NAME];
    shape  none = {0, 0};
    size_t n = strlen(prefix), m = strlen(name);
    if (n + m + 1 > sizeof full) return none;
    memcpy(full, prefix, n); /* ended below. NOLINT(bugprone-not-null-terminated-result) */
    memcpy(full + n, name, m + 1);
    size_t at = lcsm_import_find(src, full);
    if (at == SIZE_MAX || src->list[at].rank != 2) return none;
    return (shape){(ptrdiff_t)src->list[at].shape[0], (ptrdiff_t)src->list[at].shape[1]};
}

static lcsm_status finish(lcsm_import_plan *out, const lcsm_import_source *src, const char *block,
                          const char *att, const char *ffn, lcsm_error *err)
{
    lcsm_model_config *c    = &out->cfg;
    bool               four = strcmp(c->method, "rwkv4") == 0;
    char               a[LCSM_IMPORT_NAME], f[LCSM_IMPORT_NAME];
    (void)snprintf(a, sizeof a, "%s0.%s", block, att);
    (void)snprintf(f, sizeof f, "%s0.%s", block, ffn);
    shape key = shape_in(src, a, "key.weight"), heads = shape_in(src, a, "time_faaaa");
    if (strcmp(c->method, "rwkv7") == 0) heads = shape_in(src, a, "r_k");
    c->hidden = shape_in(src, f, "key.weight").rows;
    if (key.rows == 0 || c->hidden == 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s: a key.weight of block 0 is missing",
                         src->label);
    c->final_norm_eps  = 1e-5;
    out->rescale_every = 6;
    if (four) {
        c->value_ratio = (double)key.rows / (double)c->d_model;
        return LCSM_OK;
    }
    if (heads.rows == 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%.120s: no matrix of a bonus in block 0; models with one number per head "
                         "(RWKV-5.0 and 5.1) are not supported",
                         src->label);
    c->heads     = heads.rows;
    c->mixer_eps = 64e-5;
    if (key.rows != c->d_model) c->value_ratio = (double)key.rows / (double)c->d_model;
    c->rwkv_mix_rank   = shape_in(src, a, "time_maa_w1").columns / 5;
    c->rwkv_decay_rank = shape_in(src, a, "time_decay_w1").columns;
    if (strcmp(c->method, "rwkv7") != 0) return LCSM_OK;
    c->rwkv_decay_rank = shape_in(src, a, "w1").columns;
    c->rwkv_a_rank     = shape_in(src, a, "a1").columns;
    c->rwkv_g_rank     = shape_in(src, a, "g1").columns;
    (void)snprintf(a, sizeof a, "%s1.%s", block, att);
    c->rwkv_v_rank = shape_in(src, a, "v1").columns;
    return LCSM_OK;
}

/* What block 0 of RWKV-7 may hold without using it. */
static void skip_unused(lcsm_import_source *src)
{
    static const char *const UNUSED[] = {"blocks.0.att.v0", "blocks.0.att.v1", "blocks.0.att.v2"};
    for (size_t j = 0; j < COUNT(UNUSED); j++) {
        size_t at = lcsm_import_find(src, UNUSED[j]);
        if (at != SIZE_MAX) src->used[at] = true;
    }
}

static lcsm_status finish_plain(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    skip_unused(src);
    return finish(out, src, "blocks.", "att.", "ffn.", err);
}

lcsm_status lcsm_import_rwkv_hf(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err)
{
    return finish(out, src, "rwkv.blocks.", "attention.", "feed_forward.", err);
}

/* ---- files without a config ------------------------------------------------------------- */

#define PLAIN(version)                                                                             \
    {                                                                                              \
        .kind = "RWKV-" #version " (original)", .method = "rwkv" #version,                         \
        .norm = LCSM_BLOCK_NORM_LAYER, .keys = {SIZE_KEYS}, .rules = {RULES_##version},            \
        .finish = finish_plain,                                                                    \
    }
static const lcsm_release PLAIN_ROWS[] = {PLAIN(4), PLAIN(5), PLAIN(6), PLAIN(7)};

static bool has_part(const lcsm_import_source *src, const char *part)
{
    for (size_t j = 0; j < src->count; j++)
        if (strstr(src->list[j].name, part) != NULL) return true;
    return false;
}

/* Later versions keep names of earlier ones. */
static size_t version_row(const lcsm_import_source *src)
{
    if (has_part(src, ".att.r_k")) return 3;
    if (has_part(src, ".att.time_maa_x")) return 2;
    return has_part(src, ".att.ln_x") ? 1 : 0;
}

lcsm_status lcsm_import_by_names(const lcsm_release **out, json_t **config,
                                 const lcsm_import_source *src, lcsm_error *err)
{
    int    layers = 0;
    size_t table  = SIZE_MAX;
    *out          = NULL;
    *config       = NULL;
    for (size_t j = 0; j < src->count; j++) {
        int block;
        if (strcmp(src->list[j].name, "emb.weight") == 0) table = j;
        if (sscanf(src->list[j].name, "blocks.%d.att", &block) == 1 && block >= layers
            && block < LCSM_IMPORT_LAYERS)
            layers = block + 1;
    }
    if (table == SIZE_MAX || src->list[table].rank != 2 || layers == 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%.100s has no config.json, which only files with the tensor names of "
                         "RWKV (emb.weight, blocks.0.att...) can do without",
                         src->label);
    const size_t *sizes = src->list[table].shape;
    *out                = &PLAIN_ROWS[version_row(src)];
    *config = json_pack("{s:I, s:I, s:I}", "vocab_size", (json_int_t)sizes[0], "hidden_size",
                        (json_int_t)sizes[1], "num_hidden_layers", (json_int_t)layers);
    return *config != NULL ? LCSM_OK : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory");
}
