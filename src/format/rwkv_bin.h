/*
 * rwkv_bin.h - the binary tensor files of rwkv.cpp, unquantised.
 *
 *     int32 magic 0x67676d66, version (100 or 101), n_vocab, n_embed, n_layer, type (0 F32, 1 F16)
 *     then tensors up to the end of the file, each:
 *     int32 dim_count, key_length, type; int32 sizes[dim_count], fastest first; the key in UTF-8;
 *     the values
 *
 * All little-endian, nothing aligned. A file is checked whole before anything of it is used, and
 * what the reader allocates is less than twice its size.
 */
#ifndef LCSM_FORMAT_RWKV_BIN_H
#define LCSM_FORMAT_RWKV_BIN_H
#include <stdint.h>

#include "base/file.h"
#include "format/named_tensor.h"

enum {
    LCSM_RWKV_BIN_NAME    = 512, /* bytes of a key, at most */
    LCSM_RWKV_BIN_TENSORS = 1000000,
};

typedef struct {
    const char          *name;
    const unsigned char *entry; /* where the tensor begins in the file */
} lcsm_rwkv_bin_row;

/* An open file. {0} is empty and may be closed. */
typedef struct {
    lcsm_file          file; /* the mapping; empty if the bytes are the caller's */
    char              *label;
    int32_t            version, vocab, embed, layers;
    lcsm_element       element; /* F32, or F16 where single tensors may be F32 still */
    lcsm_rwkv_bin_row *rows;    /* sorted by name */
    size_t             count;
    char              *pool; /* names */
} lcsm_rwkv_bin;

/* Maps and checks a file, or checks bytes of the caller, which are called label in messages and
 * must outlive *out. */
lcsm_status lcsm_rwkv_bin_open(lcsm_rwkv_bin *out, const char *path, lcsm_error *err);
lcsm_status lcsm_rwkv_bin_parse(lcsm_rwkv_bin *out, const char *label, const unsigned char *data,
                                size_t size, lcsm_error *err);
void        lcsm_rwkv_bin_close(lcsm_rwkv_bin *b);

/* Tensor 0 .. count - 1, in the order of names, its shape slowest axis first. It borrows from b. */
lcsm_named_tensor lcsm_rwkv_bin_at(const lcsm_rwkv_bin *b, size_t row);

/* The tensor of that name; false if there is none. */
bool lcsm_rwkv_bin_find(lcsm_named_tensor *out, const lcsm_rwkv_bin *b, const char *name);

#endif
