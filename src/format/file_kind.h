/*
 * file_kind.h - what a file is, by its content: so that a refusal can say so.
 *
 * Nothing here is trusted for reading; the readers of the formats check for themselves.
 */
#ifndef LCSM_FORMAT_FILE_KIND_H
#define LCSM_FORMAT_FILE_KIND_H
#include "base/file.h"

typedef enum {
    LCSM_FILE_UNKNOWN,
    LCSM_FILE_RWKV_CPP,
    LCSM_FILE_TORCH,  /* PyTorch's .pth, .pt and .bin */
    LCSM_FILE_PICKLE, /* the same of before PyTorch 1.6, and pickles of others */
    LCSM_FILE_ZIP,
    LCSM_FILE_GGUF,
    LCSM_FILE_SAFETENSORS,
    LCSM_FILE_JSON,
    LCSM_FILE_LFS_POINTER,
    LCSM_FILE_KIND_COUNT
} lcsm_file_kind;

typedef struct {
    lcsm_file_kind kind;
    char           model[40]; /* "RWKV-6": by the names in it; "" if they say nothing */
} lcsm_file_look;

/* "a GGUF file" */
const char *lcsm_file_kind_text(lcsm_file_kind kind);

/* Looks at the bytes of a file, or opens one and looks. */
lcsm_file_look lcsm_file_look_at(const unsigned char *data, size_t size);
lcsm_status    lcsm_file_look_read(lcsm_file_look *out, const char *path, lcsm_error *err);

/* The family of models that a tensor name belongs to, as in "RWKV-7"; the most telling is number 0.
 * SIZE_MAX if the name fits several. */
size_t      lcsm_tensor_family(const char *name);
const char *lcsm_tensor_family_text(size_t family);

#endif
