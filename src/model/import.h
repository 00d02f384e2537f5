/*
 * model/import.h - what the importers of single architectures share.
 *
 * An importer turns a config into settings of ours and names a table of rules: which of their
 * tensors becomes which of ours, and how. The rest is the same for all.
 */
#ifndef LCSM_MODEL_IMPORT_H
#define LCSM_MODEL_IMPORT_H
#include <lcsm/import.h>

#include "format/json_doc.h"
#include "format/keys.h"
#include "format/rwkv_bin.h"
#include "format/weights.h"
#include "kernel/context.h"
#include "model/config.h"

/* How their numbers become ours, and so what their shape must be. */
typedef enum {
    LCSM_TAKE_AS_IS,
    LCSM_TAKE_COLUMNS,  /* ours [a, b] from theirs [b, a] */
    LCSM_TAKE_CHANNELS, /* ours [C, W] from the [C, 1, W] of a depthwise convolution */
    LCSM_TAKE_VECTOR,   /* ours [n] from theirs [1, 1, n] */
    LCSM_TAKE_LOG_RATE, /* ours log(-x), where theirs is the rate x < 0 */
    LCSM_TAKE_RESCALED, /* as is; times 2^(layer / rescale_every) if the file was divided so */
} lcsm_take;

/* "{i}" in both names is the layer. */
typedef struct {
    const char *theirs, *ours;
    lcsm_take   how;
} lcsm_import_rule;

/* What is read. */
typedef struct {
    const lcsm_context  *ctx;
    lcsm_import_options  options;
    const char          *label;  /* the folder or file of the weights, for messages */
    const char          *place;  /* the file of the config */
    json_t              *config; /* an object without null members; NULL for a file of rwkv.cpp */
    const lcsm_rwkv_bin *bin;    /* or NULL */
    lcsm_named_tensor   *list;   /* sorted by name */
    bool                *used;
    size_t               count;
} lcsm_import_source;

/* What it becomes. */
typedef struct {
    const char             *kind;
    lcsm_model_config       cfg;
    const lcsm_import_rule *rules;
    size_t                  rule_count;
    ptrdiff_t               rescale_every; /* 0: never */
} lcsm_import_plan;

typedef lcsm_status lcsm_import_fn(lcsm_import_plan *out, lcsm_import_source *src, lcsm_error *err);

lcsm_import_fn lcsm_import_mamba, lcsm_import_mamba_original, lcsm_import_rwkv4,
    lcsm_import_rwkv_bin;

/* Settings from the config through a table; keys that neither the table nor `ignored` (which ends
 * with NULL) has are logged. */
lcsm_status lcsm_import_keys(const lcsm_import_source *src, json_t *object, const lcsm_keys *keys,
                             const char *const *ignored, void *settings, lcsm_error *err);

/* The place of a tensor in the list, or SIZE_MAX. */
size_t lcsm_import_find(const lcsm_import_source *src, const char *name);

/* One table for both ends, or two: by what the file has, and what the config says. A head that
 * repeats the embedding is no head of its own. */
lcsm_status lcsm_import_head(lcsm_import_source *src, const char *embedding, const char *head,
                             bool says_tied, bool *tied, lcsm_error *err);

/* Files and folders that are not imported: an error that says what they are and what to do. _file
 * passes files of rwkv.cpp, _folder those with a config, _rwkv4 tensors that no later RWKV has.
 * _unsupported always fails; value NULL: the config does not name its model. */
lcsm_status lcsm_import_check_file(const char *path, lcsm_error *err);
lcsm_status lcsm_import_check_folder(const char *folder, lcsm_error *err);
lcsm_status lcsm_import_check_rwkv4(const lcsm_import_source *src, lcsm_error *err);
lcsm_status lcsm_import_unsupported(const char *place, const char *key, const char *value,
                                    lcsm_error *err);

#endif
