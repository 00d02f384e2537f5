/*
 * lcsm/model.h - the models: the method table, what a model would be, and models with weights.
 *
 * Ownership  Strings of the tables live as long as the program. What a description hands to a
 *            function is borrowed for the time of the call. What _create and _load return, the
 *            caller gives to _free; _free(NULL) is fine. The context outlives the model.
 * Threads    Everything here may be called from any thread; many threads may share a model that
 *            is not being trained.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. On
 *            failure *out is NULL and nothing is left to free.
 */
#ifndef LCSM_MODEL_H
#define LCSM_MODEL_H
#include <lcsm/config.h>
#include <lcsm/context.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

/* A row of the paper's method table, as the code has it. */
typedef struct {
    size_t      size; /* sizeof(lcsm_method_info), set by the caller */
    const char *name, *family;
    const char *input, *expand, *oscillation, *shrink;
    const char *psi;       /* "x" each element, "@" a matrix product, "-" neither */
    const char *memory;    /* numbers of a layer */
    bool        bare;      /* has the bare flavour */
    int         year;      /* of the first publication; 0: none */
    const char *reference; /* its authors, or "" */
} lcsm_method_info;

/* A row of the oscillation table of the codes. */
typedef struct {
    size_t      size; /* sizeof(lcsm_code_info), set by the caller */
    int         code;
    const char *notation, *construction;
} lcsm_code_info;

/* Rows 0, 1, ...; a row that is not there is LCSM_ERR_ARGUMENT. Strings live as long as the
 * program. */
LCSM_API size_t      lcsm_method_count(void);
LCSM_API lcsm_status lcsm_method_at(size_t row, lcsm_method_info *out, lcsm_error *err);
LCSM_API size_t      lcsm_code_count(void);
LCSM_API lcsm_status lcsm_code_at(size_t row, lcsm_code_info *out, lcsm_error *err);

typedef struct {
    const char *name;
    const char *shape; /* "[128, 64]" */
    size_t      count;
    bool        frozen;
} lcsm_parameter_info;

/* A state of the recurrence of layer 0, or an input of what a method has in its place. */
typedef struct {
    char        name[16];  /* i, e, s, and the parts of o: row, col, full, their phases ... */
    char        shape[64]; /* "[T, 4, 32]": T steps, heads, numbers of a head */
    const char *from;      /* "data", "learned" or "fixed" */
    const char *meaning;   /* "input", "log of o, per memory row" ... */
} lcsm_state_info;

enum { LCSM_STATES_MOST = 16 };

typedef struct {
    size_t size;             /* sizeof(lcsm_model_summary), set by the caller */
    size_t parameters;       /* all, the frozen ones too */
    size_t frozen;           /* of these, not trained */
    size_t reference_frozen; /* constants that the paper's layer stores and counts, and we do not */
    size_t memory_floats;    /* carried by one sequence */
    double train_flops;      /* a token, forward and backward, at the length given */
    double decode_flops;     /* a token at T = 1, without what is computed once for all tokens */
    size_t layers;
    char   form[16], reason[96]; /* of the recurrence of layer 0; "" if it has none */
    char   op[16];               /* eos, or what a method has in its place */
    char   equations[640];       /* the recurrence with its states, one equation per line */
    size_t state_count;
    lcsm_state_info states[LCSM_STATES_MOST];
} lcsm_model_summary;

typedef void lcsm_parameter_fn(void *user, const lcsm_parameter_info *row);

/* What a model of this config is; nothing of its size is allocated. each may be NULL. */
LCSM_API lcsm_status lcsm_model_describe(const lcsm_context *ctx, const lcsm_model_config *cfg,
                                         ptrdiff_t length, lcsm_model_summary *out,
                                         lcsm_parameter_fn *each, void *user, lcsm_error *err);

/* d_model and layers of a size by name, 1m 3m 10m 30m 50m 100m 300m 1b: the width is the size's
 * own, the depth the one that comes nearest to so many parameters with the config's method and
 * vocabulary. */
LCSM_API lcsm_status lcsm_model_config_size(lcsm_model_config *cfg, const lcsm_context *ctx,
                                            const char *size, lcsm_error *err);

/* A model: its settings and its weights. */
typedef struct lcsm_model lcsm_model;

/* With initial values that depend on the seed, the settings and nothing else. */
LCSM_API lcsm_status lcsm_model_create(lcsm_model **out, const lcsm_context *ctx,
                                       const lcsm_model_config *cfg, uint64_t seed,
                                       lcsm_error *err);
LCSM_API void        lcsm_model_free(lcsm_model *model);

/* From a run folder: config.json, and model.safetensors or the files that its index names. A
 * tensor that is missing, unknown or of another shape is named. */
LCSM_API lcsm_status lcsm_model_load(lcsm_model **out, const lcsm_context *ctx, const char *folder,
                                     lcsm_error *err);

/* How a model is loaded. All zeros but size are the defaults. */
typedef struct {
    size_t      size;    /* sizeof(lcsm_model_load_options) */
    const char *weights; /* NULL: as the files have them, or a type as of lcsm_model_pack */
} lcsm_model_load_options;

/* The same with options, which may be NULL. Files are mapped, and must not be written to while the
 * model exists; they may be replaced or removed. What lies there as it is used takes no other
 * memory of the process. If the system has twice as much to give, matrices go, piece by piece, to
 * large pages, which are read faster. */
LCSM_API lcsm_status lcsm_model_load_with(lcsm_model **out, const lcsm_context *ctx,
                                          const char                    *folder,
                                          const lcsm_model_load_options *options, lcsm_error *err);

/* Stores the matrices of linear maps, the embedding and the head as "f16", "bf16", "q8", "q4" or
 * "q4k" (docs/formats.md), for running in less memory, or as "f32". Everything else stays float32:
 * vectors, norms, convolutions, constants of the recurrence. Such a model cannot be trained. Before
 * sessions of the model are created; LCSM_ERR_NUMBER if a weight does not fit the type. */
LCSM_API lcsm_status lcsm_model_pack(lcsm_model *model, const char *weights, lcsm_error *err);

/* Makes the folder if it is not there, and writes or replaces config.json and
 * model.safetensors, in which weights have the types that they have in memory. */
LCSM_API lcsm_status lcsm_model_save(const lcsm_model *model, const char *folder, lcsm_error *err);

LCSM_API const lcsm_model_config *lcsm_model_config_of(const lcsm_model *model);
LCSM_API size_t                   lcsm_model_param_count(const lcsm_model *model);

/* Bytes of all weights as they are stored. */
LCSM_API size_t lcsm_model_weight_bytes(const lcsm_model *model);

/* A run whose adapters are part of its matrices, W + scale B A, into a new folder with settings and
 * tokenizer: a model like any other. What a memory begins with is kept. */
LCSM_API lcsm_status lcsm_run_merge(const lcsm_context *ctx, const char *run, const char *to,
                                    lcsm_error *err);

LCSM_END_DECLS
#endif
