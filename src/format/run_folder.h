/*
 * run_folder.h - the folder of a run, which is a released-model folder that training goes on in.
 *
 *     config.json         what the run is
 *     model.safetensors   the weights
 *     adapter.safetensors what is trained, where the rest of the weights is frozen
 *     tokenizer.json      if it reads text
 *     metrics.jsonl       one JSON object a line
 *     checkpoints/        see checkpoint_folder.h
 *     .lock               locked by the process that trains
 *
 * Each file is replaced whole (base/file.h). One process at a time writes to a run.
 */
#ifndef LCSM_FORMAT_RUN_FOLDER_H
#define LCSM_FORMAT_RUN_FOLDER_H
#include "format/file_sum.h"
#include "format/named_tensor.h"

#define LCSM_RUN_CONFIG      "config.json"
#define LCSM_RUN_MODEL       "model.safetensors"
#define LCSM_RUN_ADAPTER     "adapter.safetensors"
#define LCSM_RUN_TOKENIZER   "tokenizer.json"
#define LCSM_RUN_METRICS     "metrics.jsonl"
#define LCSM_RUN_CHECKPOINTS "checkpoints"

/* What goes into one file: tensors as safetensors, or bytes as they are. */
typedef struct {
    const char              *name;    /* without a folder */
    const lcsm_named_tensor *tensors; /* NULL: bytes */
    size_t                   count;   /* of tensors */
    const void              *bytes;
    size_t                   size; /* of bytes */
} lcsm_run_file;

/* Makes the folder with its config; refuses one that has a config already. */
lcsm_status lcsm_run_create(const char *run, const char *config, lcsm_error *err);

/* The path of the run's config, which must be there. */
lcsm_status lcsm_run_config(char path[LCSM_PATH_MAX], const char *run, lcsm_error *err);

/* Writes or replaces a file of the run. */
lcsm_status lcsm_run_store(const char *run, const lcsm_run_file *file, lcsm_error *err);

/* Appends a line, given without its end, to a file of the run. What a crash left of a line before
 * is cut off first. */
lcsm_status lcsm_run_append(const char *run, const char *name, const char *line, lcsm_error *err);

/* Writes a file of the run into `folder`, which may be another than the run's own. A tensor file
 * carries the SHA-256 of the run's config, if it has one, as lcsm_config_sha256. */
lcsm_status lcsm_run_file_write(lcsm_file_sum *sum, const char *run, const char *folder,
                                const lcsm_run_file *file, lcsm_error *err);

#endif
