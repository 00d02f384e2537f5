/*
 * model/import.h - released models as tables.
 *
 * A release is a row: how its config names our settings, and how its tensors name our parameters.
 * What a table cannot say, such as a width that is a product of two keys, is a short function. The
 * same rules serve both ways: import takes a parameter of ours from a tensor of theirs, export
 * (model/export.h) puts it back.
 */
#ifndef LCSM_MODEL_IMPORT_H
#define LCSM_MODEL_IMPORT_H
#include <lcsm/import.h>

#include "format/file_kind.h"
#include "format/json_doc.h"
#include "format/named_tensor.h"
#include "graph/params.h"
#include "kernel/context.h"
#include "model/config.h"

/* ---- tables ---- */

/* A key of a config. `theirs` may be several names, "one|two": the first that is there counts. */
typedef struct {
    const char *theirs;
    const char *ours;     /* a key of the model that gets the value; NULL: none */
    const char *standard; /* its value if the config has none; NULL: ours stays as it is */
    const char *only;     /* the values that are supported, "one|two"; NULL: any */
} lcsm_import_key;

#define LCSM_SETS(theirs, ours, standard)                                                          \
    {                                                                                              \
        theirs, ours, standard, NULL                                                               \
    }
#define LCSM_ONLY(theirs, words)                                                                   \
    {                                                                                              \
        theirs, NULL, NULL, words                                                                  \
    }
#define LCSM_SKIPS(theirs)                                                                         \
    {                                                                                              \
        theirs, NULL, NULL, NULL                                                                   \
    }

/* How their numbers become ours, and so what their shape must be. */
typedef enum {
    LCSM_TAKE_AS_IS,
    LCSM_TAKE_COLUMNS,   /* ours [a, b] from theirs [b, a] */
    LCSM_TAKE_CHANNELS,  /* ours [C, W] from the [C, 1, W] of a depthwise convolution */
    LCSM_TAKE_FLAT,      /* the same numbers in any shape, stored in ours */
    LCSM_TAKE_VECTOR,    /* the same, stored as [1, 1, n] */
    LCSM_TAKE_HEAD_ROWS, /* the same, stored as [1, 1, n, 1] */
    LCSM_TAKE_BY_HEAD,   /* the same, stored as [heads, n / heads] */
    LCSM_TAKE_LOG_RATE,  /* ours log(-x), where theirs is the rate x < 0, in any shape */
    LCSM_TAKE_LOG_RATE_COLUMNS,
    LCSM_TAKE_RESCALED,  /* as is; times 2^(layer / rescale_every) if the file was divided so */
    LCSM_TAKE_PLUS_ONE,  /* ours 1 + x: a norm whose weight starts at 0 */
    LCSM_TAKE_BLOCKS,    /* ours [n, a, b] from theirs [n, b, a] */
    LCSM_TAKE_PAIRS,     /* rows of a head: theirs j and j + K / 2 are ours 2 j and 2 j + 1 */
    LCSM_TAKE_ROW,       /* one of their rows, the part's first of its stride */
    LCSM_TAKE_UNDIVIDED, /* as is; times 2^(layer / rescale_every), which the file was divided by */
    LCSM_TAKE_RWKV6_DOWN, /* ours [5 r, n]: their blocks of rows 1, 2, 3, 0, 4 */
    LCSM_TAKE_RWKV6_UP,   /* ours [5, n, r] from theirs [n, 5 r], their blocks of columns alike */
    LCSM_TAKE_ZERO,       /* from no tensor: zeros, of a bias that the release does not have */
    LCSM_TAKE_ROPE,       /* from no tensor: the angles 10000^(-j / n) */
    LCSM_TAKE_EXPERT,     /* rows of a part of theirs [experts, rows, n]: those of expert {e} */
    LCSM_TAKE_QUERY,      /* as is, times the plan's query_scale */
    LCSM_TAKE_LAST_NORM,  /* as is, times the plan's logit_scale */
} lcsm_take;

/* "{i}" in both names is the layer, "{e}" another number; in ours "{a}" is a layer of softmax
 * attention and "{r}" one of another mixer. Of several rules for one parameter the
 * first whose tensor is there counts. */
typedef struct {
    const char *theirs, *ours;
    lcsm_take   how;
    int         part; /* of the plan: which of their rows; 0: all */
} lcsm_import_rule;

#define LCSM_SAME(theirs, ours)                                                                    \
    {                                                                                              \
        theirs, ours, LCSM_TAKE_AS_IS, 0                                                           \
    }
#define LCSM_AS(how, theirs, ours)                                                                 \
    {                                                                                              \
        theirs, ours, LCSM_TAKE_##how, 0                                                           \
    }
#define LCSM_PART(part, how, theirs, ours)                                                         \
    {                                                                                              \
        theirs, ours, LCSM_TAKE_##how, part                                                        \
    }
#define LCSM_END                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

/* Of each of `groups` groups of `stride` rows, those from `first`; of heads, only groups counts. */
typedef struct {
    ptrdiff_t groups, stride, first;
} lcsm_import_part;

enum { LCSM_IMPORT_PARTS = 16, LCSM_IMPORT_LISTS = 4, LCSM_IMPORT_LAYERS = 4096 };

/* ---- a conversion ---- */

/* What is read. */
typedef struct {
    const lcsm_context *ctx;
    lcsm_import_options options;
    const char         *label;  /* the folder or file of the weights, for messages */
    const char         *place;  /* the file of the config */
    json_t             *config; /* an object without null members */
    lcsm_named_tensor  *list;   /* sorted by name */
    bool               *used;
    size_t              count;
    const char         *outer, *inner; /* names that begin with outer may begin with inner there */
} lcsm_import_source;

/* What it becomes. */
typedef struct {
    lcsm_model_config cfg;
    lcsm_import_part  parts[LCSM_IMPORT_PARTS];
    ptrdiff_t         rescale_every; /* 0: never */
    double            query_scale, logit_scale;
} lcsm_import_plan;

typedef lcsm_status lcsm_import_fn(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err);

/* A row of the table of releases. Lists end with an empty row. */
typedef struct {
    const char             *architecture, *model_type, *kind;
    const char             *has; /* this row is for configs with one of these keys, "one|two" */
    const char             *method;
    int                     norm; /* lcsm_block_norm */
    const lcsm_import_key  *keys[LCSM_IMPORT_LISTS];
    const lcsm_import_rule *rules[LCSM_IMPORT_LISTS];
    lcsm_import_fn         *finish; /* NULL: the tables say all */
} lcsm_release;

extern const lcsm_release LCSM_RELEASES[];
extern const size_t       LCSM_RELEASE_COUNT;

/* Rows without a config of their own. */
extern const lcsm_release LCSM_RELEASE_MAMBA_ORIGINAL, LCSM_RELEASE_MAMBA2_ORIGINAL,
    LCSM_RELEASE_RWKV_BIN;
/* "Mamba1" or "Mamba2", by a config of the original package. */
const char *lcsm_import_mamba_layer(const json_t *config);

/* Lists and functions that the table names, and that several rows share. */
extern const lcsm_import_key LCSM_MAMBA_HF_KEYS[], LCSM_MAMBA_FLA_KEYS[], LCSM_MAMBA_KEYS[],
    LCSM_FALCON_MAMBA_KEYS[], LCSM_MAMBA2_KEYS[], LCSM_RWKV4_KEYS[], LCSM_FLA_KEYS[],
    LCSM_GLA_KEYS[], LCSM_RETNET_KEYS[], LCSM_HGRN_KEYS[], LCSM_HGRN2_KEYS[],
    LCSM_LINEAR_ATTN_KEYS[], LCSM_DELTA_KEYS[], LCSM_GATED_DELTANET_KEYS[],
    LCSM_DELTAPRODUCT_KEYS[], LCSM_KDA_KEYS[], LCSM_GSA_KEYS[], LCSM_FLA_RWKV_KEYS[],
    LCSM_JAMBA_KEYS[], LCSM_KIMI_KEYS[], LCSM_MINIMAX_KEYS[], LCSM_XLSTM_KEYS[], LCSM_GEMMA_KEYS[],
    LCSM_QWEN_KEYS[], LCSM_QWEN35_KEYS[], LCSM_QWEN35_MOE_KEYS[], LCSM_BAMBA_KEYS[],
    LCSM_GRANITE_KEYS[], LCSM_RWKV_HF_KEYS[];
extern const lcsm_import_rule LCSM_MAMBA_RULES[], LCSM_MAMBA2_RULES[], LCSM_RWKV4_RULES[],
    LCSM_FLA_RULES[], LCSM_GLA_RULES[], LCSM_GSA_RULES[], LCSM_HGRN_RULES[], LCSM_HGRN2_RULES[],
    LCSM_LINEAR_ATTN_RULES[], LCSM_RETNET_RULES[], LCSM_DELTA_RULES[], LCSM_FLA_RWKV_RULES[],
    LCSM_FLA_RWKV6_RULES[], LCSM_FLA_RWKV7_RULES[], LCSM_GGUF_RWKV6_RULES[],
    LCSM_GGUF_RWKV7_RULES[], LCSM_QWEN_EXPERT_RULES[], LCSM_JAMBA_RULES[], LCSM_KIMI_RULES[],
    LCSM_MINIMAX_RULES[], LCSM_XLSTM_RULES[], LCSM_GEMMA_RULES[], LCSM_QWEN_RULES[],
    LCSM_QWEN35_RULES[], LCSM_GRANITE_RULES[], LCSM_BAMBA_RULES[], LCSM_RWKV5_HF_RULES[],
    LCSM_RWKV6_HF_RULES[];
lcsm_import_fn lcsm_import_mamba, lcsm_import_mamba2, lcsm_import_rwkv4, lcsm_import_gla,
    lcsm_import_retnet, lcsm_import_hgrn, lcsm_import_hgrn2, lcsm_import_linear_attn,
    lcsm_import_gsa, lcsm_import_deltanet, lcsm_import_gated_deltanet, lcsm_import_deltaproduct,
    lcsm_import_kda, lcsm_import_fla_rwkv6, lcsm_import_fla_rwkv7, lcsm_import_gguf_rwkv6,
    lcsm_import_gguf_rwkv7, lcsm_import_jamba, lcsm_import_kimi, lcsm_import_minimax,
    lcsm_import_xlstm, lcsm_import_gemma, lcsm_import_qwen, lcsm_import_qwen35,
    lcsm_import_qwen35_moe, lcsm_import_granite, lcsm_import_bamba, lcsm_import_rwkv_hf;

/* The mixers of Mamba and Mamba-2, whose tensors have names of one prefix. */
/* clang-format off */
#define LCSM_MAMBA_MIXER(prefix)                                                    \
    LCSM_SAME(prefix "in_proj.weight",          "layers.{i}.mixer.in_proj.weight"),  \
    LCSM_SAME(prefix "in_proj.bias",            "layers.{i}.mixer.in_proj.bias"),    \
    LCSM_AS(CHANNELS, prefix "conv1d.weight",   "layers.{i}.mixer.conv1d.weight"),   \
    LCSM_SAME(prefix "conv1d.bias",             "layers.{i}.mixer.conv1d.bias"),     \
    LCSM_SAME(prefix "D",                       "layers.{i}.mixer.D"),               \
    LCSM_SAME(prefix "out_proj.weight",         "layers.{i}.mixer.out_proj.weight"), \
    LCSM_SAME(prefix "out_proj.bias",           "layers.{i}.mixer.out_proj.bias")
#define LCSM_MAMBA1_MIXER(prefix)                                                   \
    LCSM_MAMBA_MIXER(prefix),                                                       \
    LCSM_SAME(prefix "x_proj.weight",           "layers.{i}.mixer.x_proj.weight"),   \
    LCSM_SAME(prefix "dt_proj.weight",          "layers.{i}.mixer.dt_proj.weight"),  \
    LCSM_SAME(prefix "dt_proj.bias",            "layers.{i}.mixer.dt_proj.bias"),    \
    LCSM_AS(COLUMNS, prefix "A_log",            "layers.{i}.mixer.A_log")
#define LCSM_MAMBA2_MIXER(prefix)                                                   \
    LCSM_MAMBA_MIXER(prefix),                                                       \
    LCSM_SAME(prefix "A_log",                   "layers.{i}.mixer.A_log"),           \
    LCSM_SAME(prefix "dt_bias",                 "layers.{i}.mixer.dt_bias"),         \
    LCSM_SAME(prefix "norm.weight",             "layers.{i}.mixer.norm.weight")
/* clang-format on */

/* The row and the config of a GGUF file from its metadata; *config is the caller's. */
lcsm_status lcsm_import_gguf_config(const lcsm_release **out, json_t **config, const json_t *keys,
                                    const char *place, lcsm_error *err);

/* The row of a file without a config from the names and shapes of its tensors; *config is the
 * caller's. */
lcsm_status lcsm_import_by_names(const lcsm_release **out, json_t **config,
                                 const lcsm_import_source *src, lcsm_error *err);

/* ---- parts ---- */

/* Settings from the config by the release's keys; keys that no list has are logged. */
lcsm_status lcsm_import_settings(lcsm_import_plan *out, const lcsm_import_source *src,
                                 const lcsm_release *release, lcsm_error *err);
/* One list over an object of the config. */
lcsm_status lcsm_import_keys(lcsm_model_config *cfg, const lcsm_import_source *src, json_t *object,
                             const lcsm_import_key *keys, lcsm_error *err);

/* A number or truth of the config; standard where it has none, or has another type. */
double lcsm_import_number(const lcsm_import_source *src, const char *key, double standard);
bool   lcsm_import_flag(const lcsm_import_source *src, const char *key, bool standard);

/* An error unless the config's `key` is absent or is what the others imply. */
lcsm_status lcsm_import_agree(const lcsm_import_source *src, const char *key, ptrdiff_t implied,
                              lcsm_error *err);
/* "PLACE: KEY is VALUE, which is not supported; expected ..." */
lcsm_status lcsm_import_refuse(const lcsm_import_source *src, const char *key, const char *expected,
                               lcsm_error *err);

/* dt_min and dt_max of Mamba-2 from time_step_limit. */
lcsm_status lcsm_import_time_steps(lcsm_model_config *cfg, const lcsm_import_source *src,
                                   lcsm_error *err);

/* What RecurrentGemma multiplies its embedding by. */
double lcsm_gemma_scale(ptrdiff_t H);

/* methods[layer] of all layers as the shortest pattern of the model. */
lcsm_status lcsm_import_pattern(lcsm_model_config *cfg, const lcsm_import_source *src,
                                const char *const *methods, lcsm_error *err);

/* The place of a tensor in the list, or SIZE_MAX. */
size_t lcsm_import_find(const lcsm_import_source *src, const char *name);

/* The parameters of the plan's model with their numbers. All shapes are checked before anything of
 * that size is allocated. */
lcsm_status lcsm_import_tensors(lcsm_params **out, const lcsm_import_source *src,
                                const lcsm_import_plan *plan, const lcsm_release *release,
                                lcsm_error *err);

/* The first rule for a parameter of ours, and the name of their tensor; NULL: there is none. */
enum { LCSM_IMPORT_NAME = 512 };
const lcsm_import_rule *lcsm_release_rule(const lcsm_release *release, const lcsm_import_plan *plan,
                                          const char *ours, char theirs[LCSM_IMPORT_NAME]);

/* The same checks without the numbers: nothing of the size of the tensors is allocated. */
lcsm_status lcsm_import_check_tensors(const lcsm_import_source *src, const lcsm_import_plan *plan,
                                      const lcsm_release *release, lcsm_error *err);

/* The shape that a tensor of theirs has by a rule for a parameter of ours. */
lcsm_named_tensor lcsm_rule_shape(const lcsm_param *p, const lcsm_import_rule *rule,
                                  const char *theirs, const lcsm_import_plan *plan);

/* Number j of n of a parameter that a rule takes from no tensor. */
float lcsm_rule_constant(const lcsm_import_rule *rule, size_t j, size_t n);

/* The row of a release by its architecture, for a config without the keys of another row; NULL:
 * there is none. */
const lcsm_release *lcsm_release_find(const char *architecture);

/* A format that models of a method, or hybrids of a method and attention, are written in. restore
 * puts the keys that its import computes with beside the tables, and into cfg what defaults stand
 * for; it returns NULL, or what the format cannot say. */
typedef struct {
    json_t           *config;
    lcsm_model_config cfg;
    const lcsm_model *model;
    double            embed_scale; /* of the format */
} lcsm_export_plan;
typedef const char *lcsm_restore_fn(lcsm_export_plan *plan);
typedef struct {
    const char      *method, *architecture;
    bool             hybrid;
    double           mixer_eps; /* of our method, where its setting is 0 */
    lcsm_restore_fn *restore;
} lcsm_export_format;
/* What settings of attention of 0 stand for. */
void                            lcsm_export_settle_attention(lcsm_model_config *cfg);
extern const lcsm_export_format LCSM_EXPORT_FORMATS[];
extern const size_t             LCSM_EXPORT_FORMAT_COUNT;

/* Tensors of theirs in memory; names and numbers are owned, or those of the model. */
typedef struct {
    lcsm_named_tensor *list;
    float            **values; /* NULL: the model's */
    char (*names)[LCSM_IMPORT_NAME];
    size_t count;
} lcsm_export_tensors;
/* Those whose rule has no part, without numbers, or all of them. scale is what the embedding is
 * multiplied by; a tied one is then written as a head too. */
lcsm_status lcsm_export_tensors_make(lcsm_export_tensors *out, const lcsm_model *model,
                                     const lcsm_release *release, const lcsm_import_plan *plan,
                                     bool all, double scale, lcsm_error *err);
void        lcsm_export_tensors_free(lcsm_export_tensors *t);

/* The row and the metadata of a model's GGUF file, and the parts of its plan; *keys is the
 * caller's. */
lcsm_status lcsm_export_gguf_keys(const lcsm_release **out, json_t **keys, lcsm_import_plan *plan,
                                  const lcsm_model *model, lcsm_error *err);
/* Mixes that are stored together: part 1 + j is row j of so many. */
void lcsm_import_fused_rows(lcsm_import_plan *out, ptrdiff_t count);

/* Their name of a parameter of ours that has no number in it, or NULL. */
const char *lcsm_release_name(const lcsm_release *release, const char *ours);

/* Files and folders that are not imported: an error that says what they are and what to do. _file
 * passes files of rwkv.cpp, of PyTorch, safetensors and GGUF; _folder those with a config, and
 * gives the file of those that have none but weights that say what they are, or ""; _rwkv4 tensors
 * that no later RWKV has. _unsupported always fails; value NULL: the config does not name its
 * model. */
lcsm_status lcsm_import_check_file(lcsm_file_kind *kind, const char *path, lcsm_error *err);
lcsm_status lcsm_import_check_folder(char file[LCSM_PATH_MAX], const char *folder, lcsm_error *err);
lcsm_status lcsm_import_check_rwkv4(const lcsm_import_source *src, lcsm_error *err);
lcsm_status lcsm_import_unsupported(const char *place, const char *key, const char *value,
                                    lcsm_error *err);

#endif
