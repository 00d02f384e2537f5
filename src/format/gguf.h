/*
 * gguf.h - GGUF files: metadata and tensors of llama.cpp.
 *
 *     "GGUF" | u32 version (2 or 3) | u64 tensors | u64 keys | keys | tensor infos | padding | data
 *
 * docs/formats.md has the layout. A file is checked whole before anything of it is used: lengths
 * against the bytes that are there, names, alignment, types, and that tensors neither overlap nor
 * leave the file. What the reader allocates is less than three times the size of the file, and for
 * the lists of a tokenizer a hundred bytes for each token.
 */
#ifndef LCSM_FORMAT_GGUF_H
#define LCSM_FORMAT_GGUF_H
#include <jansson.h>

#include "base/blocks.h"
#include "base/file.h"
#include "format/named_tensor.h"

enum { LCSM_GGUF_NAME = 64, LCSM_GGUF_RANK = 4 };

typedef struct {
    char                   name[LCSM_GGUF_NAME];
    const lcsm_block_type *type;
    size_t                 rank, shape[LCSM_GGUF_RANK]; /* slowest axis first */
    uint64_t               offset, size;                /* in the data */
    const unsigned char   *data;
    size_t                 count;
} lcsm_gguf_row;

/* An open file. {0} is empty and may be closed. */
typedef struct {
    lcsm_file      file; /* the mapping; empty if the bytes are the caller's */
    char          *label;
    json_t        *keys; /* numbers, truths and texts, and the lists of tokenizer.ggml */
    lcsm_gguf_row *rows; /* sorted by name */
    size_t         count;
    float         *decoded; /* the numbers of quantised tensors, once lcsm_gguf_tensors asked */
} lcsm_gguf;

/* Maps and checks a file, or checks bytes of the caller, which are called label in messages and
 * must outlive *out. */
lcsm_status lcsm_gguf_open(lcsm_gguf *out, const char *path, lcsm_error *err);
lcsm_status lcsm_gguf_parse(lcsm_gguf *out, const char *label, const unsigned char *data,
                            size_t size, lcsm_error *err);
void        lcsm_gguf_close(lcsm_gguf *g);

/* All tensors into list[count], those of quantised types as F32. They borrow from g. */
lcsm_status lcsm_gguf_tensors(lcsm_named_tensor *list, lcsm_gguf *g, lcsm_error *err);

/* What is written: numbers, and whether they may have a smaller type than F32. */
typedef struct {
    const char  *name;
    size_t       rank, shape[LCSM_GGUF_RANK]; /* slowest axis first */
    const float *data;
    bool         dense;
} lcsm_gguf_out;

/* A file of version 3 that appears whole or not at all. keys are whole numbers (u32), reals (f32),
 * truths and texts. type is 0 (F32), 1 (F16) or 8 (Q8_0), for dense tensors whose rows are whole
 * blocks of it; the others are F32. */
lcsm_status lcsm_gguf_save(const char *path, const json_t *keys, const lcsm_gguf_out *list,
                           size_t count, uint32_t type, lcsm_error *err);

#endif
