/*
 * safetensors.h - tensor files: 8 bytes of length, a JSON header, a buffer.
 *
 *     u64 N (little-endian) | N bytes of JSON | the buffer
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
 *      "__metadata__": {"key": "text", ...}}
 *
 * A file is checked whole before anything of it is used; reader and writer agree on the rules,
 * which have numbers (S1, S2, ...) in safetensors.c and in its tests. What the reader allocates is
 * less than twice the size of the file and two megabytes, whatever the header says.
 */
#ifndef LCSM_FORMAT_SAFETENSORS_H
#define LCSM_FORMAT_SAFETENSORS_H
#include <stdint.h>

#include "base/file.h"
#include "format/named_tensor.h"

enum {
    LCSM_SAFETENSORS_HEADER   = 100000000, /* bytes of a header, at most */
    LCSM_SAFETENSORS_NAME     = 512,       /* bytes of a name, at most */
    LCSM_SAFETENSORS_TENSORS  = 1000000,
    LCSM_SAFETENSORS_METADATA = 65536,
};

/* Flags of the reader. */
enum { LCSM_SAFETENSORS_STRICT = 1 /* no whitespace before the header's first brace */ };

typedef struct {
    const char *key, *value;
} lcsm_safetensors_pair;

/* A tensor as the index keeps it; its shape is read again from the header when it is asked for. */
typedef struct {
    const char *name;
    uint64_t    begin, end; /* in the buffer */
    uint32_t    shape;      /* where the shape stands in the header */
    uint8_t     element, rank;
} lcsm_safetensors_row;

/* An open file. {0} is empty and may be closed. */
typedef struct {
    lcsm_file              file; /* the mapping; empty if the bytes are the caller's */
    char                  *label;
    const char            *header;
    const unsigned char   *buffer;
    size_t                 header_size, buffer_size;
    lcsm_safetensors_row  *rows; /* sorted by name */
    size_t                 count;
    lcsm_safetensors_pair *metadata; /* sorted by key */
    size_t                 metadata_count;
    char                  *pool; /* names, keys and values */
} lcsm_safetensors;

/* Maps and checks a file, or checks bytes of the caller, which are called label in messages and
 * must outlive *out. */
lcsm_status lcsm_safetensors_open(lcsm_safetensors *out, const char *path, unsigned flags,
                                  lcsm_error *err);
lcsm_status lcsm_safetensors_parse(lcsm_safetensors *out, const char *label,
                                   const unsigned char *data, size_t size, unsigned flags,
                                   lcsm_error *err);
void        lcsm_safetensors_close(lcsm_safetensors *s);

/* Tensor 0 .. count - 1, in the order of names. It borrows from s. */
lcsm_named_tensor lcsm_safetensors_at(const lcsm_safetensors *s, size_t row);

/* The tensor of that name; false if there is none. */
bool lcsm_safetensors_find(lcsm_named_tensor *out, const lcsm_safetensors *s, const char *name);

/* The text under that key, or NULL. */
const char *lcsm_safetensors_metadata(const lcsm_safetensors *s, const char *key);

/* LCSM_ERR_NUMBER if a weight is infinite or no number; names the first such tensor. */
lcsm_status lcsm_safetensors_check_finite(const lcsm_safetensors *s, lcsm_error *err);

/* Where a writer puts its bytes, piece by piece. */
typedef lcsm_status lcsm_write_fn(void *to, const void *data, size_t size, lcsm_error *err);

/* Writes tensors, ordered by descending width of their type and then by name, behind a header
 * whose length makes the buffer start at a multiple of 64. "format" is "pt" and "lcsm_version" the
 * version of the library, unless the given metadata have them. */
lcsm_status lcsm_safetensors_write(lcsm_write_fn *write, void *to, const lcsm_named_tensor *tensors,
                                   size_t count, const lcsm_safetensors_pair *metadata,
                                   size_t metadata_count, lcsm_error *err);

/* The same into a file that appears whole or not at all (base/file.h). */
lcsm_status lcsm_safetensors_save(const char *path, const lcsm_named_tensor *tensors, size_t count,
                                  const lcsm_safetensors_pair *metadata, size_t metadata_count,
                                  lcsm_error *err);

#endif
