/*
 * lcsm/import.h - run folders from models that others released.
 *
 * Reads folders of transformers and of fla, of the original Mamba, GGUF files, and rwkv.cpp files
 * without quantisation; `lcsm import --help` lists the models. Nothing is guessed: an architecture
 * that is not known, a setting that changes the arithmetic in a way that we do not have, a tensor
 * that is missing, left over or of another shape are errors that name it.
 *
 * Threads    May be called from any thread.
 * Structs    Options and result begin with their size, which the caller sets: {.size = sizeof r}.
 * Errors     Returns lcsm_status and, if err is not NULL, says why. Nothing is written then, unless
 *            writing itself failed.
 */
#ifndef LCSM_IMPORT_H
#define LCSM_IMPORT_H
#include <lcsm/model.h>

LCSM_BEGIN_DECLS

/* All zeros but size are the defaults. */
typedef struct {
    size_t size;            /* sizeof(lcsm_import_options) */
    bool   allow_nonfinite; /* take weights that are NaN or infinite */
    bool   ignore_extra;    /* take files with tensors that the model does not use */
    bool   rwkv_rescaled;   /* the file holds RWKV weights that were divided for half precision */
    const char *weights;    /* NULL: "f32", or another type as of lcsm_model_pack */
} lcsm_import_options;

/* What was read, for people. */
typedef struct {
    size_t size;     /* sizeof(lcsm_import_result), set by the caller */
    char   kind[64]; /* "Mamba (Hugging Face)" */
    size_t tensors, parameters;
    bool   tokenizer; /* was there, and was copied */
} lcsm_import_result;

/* From a folder with config.json and safetensors, or a GGUF or rwkv.cpp file, to a run folder,
 * which must not be there yet. Remarks, such as keys that are not known, go to the context's log.
 * options and result may be NULL. */
LCSM_API lcsm_status lcsm_import(const lcsm_context *ctx, const char *from, const char *to,
                                 const lcsm_import_options *options, lcsm_import_result *result,
                                 lcsm_error *err);

/* A model as a GGUF file, for llama.cpp: mamba, falcon-mamba, mamba2, rwkv6 and rwkv7. type is
 * "f32" (also NULL), "f16" or "q8_0"; vectors and small tables stay F32. The file has no tokenizer.
 * What the format cannot say is an error. */
LCSM_API lcsm_status lcsm_export_gguf(const lcsm_model *model, const char *path, const char *type,
                                      lcsm_error *err);

/* A model as a folder that transformers or fla load: config.json and model.safetensors, with the
 * tokenizer of the run folder `run` if that is not NULL. type is "f32" (also NULL), "f16" or
 * "bf16", of all tensors. kind, if not NULL, becomes the name of the format. The folder must not
 * have a config yet. What is written is read back first: a setting that the format cannot say is an
 * error that names it, and nothing is written then. */
LCSM_API lcsm_status lcsm_export_hf(const lcsm_model *model, const char *folder, const char *run,
                                    const char *type, char kind[64], lcsm_error *err);

LCSM_END_DECLS
#endif
