/*
 * base/blocks.h - numbers in blocks that share a scale: the tensor types of GGUF files, and the
 * types that the weights of a model may have.
 *
 * A row of a tensor is a whole number of blocks. docs/formats.md has every byte.
 */
#ifndef LCSM_BASE_BLOCKS_H
#define LCSM_BASE_BLOCKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct {
    uint32_t    id; /* in a GGUF file */
    const char *name;
    size_t      values, bytes; /* of a block */
    void (*decode)(float *out, const unsigned char *block);
    void (*encode)(unsigned char *block, const float *x); /* NULL: only read */
} lcsm_block_type;

/* NULL: no such type. */
const lcsm_block_type *lcsm_block_type_of(uint32_t id);

/* `count` numbers, a multiple of the type's values. */
void lcsm_blocks_decode(float *out, const lcsm_block_type *type, const unsigned char *data,
                        size_t count);
void lcsm_blocks_encode(unsigned char *out, const lcsm_block_type *type, const float *x,
                        size_t count);

/* 32 numbers as an f16 scale max |x| / 127 and 32 bytes. */
void lcsm_block_encode_q8(unsigned char out[34], const float *x);

float    lcsm_half_to_float(uint16_t half);
uint16_t lcsm_half_from_float(float x); /* to the nearest, ties to even */

/* What a matrix of weights may be stored as. */
typedef enum {
    LCSM_WEIGHT_REAL, /* the numbers of the graph: float32 */
    LCSM_WEIGHT_F16,
    LCSM_WEIGHT_BF16,
    LCSM_WEIGHT_Q8,  /* Q8_0 */
    LCSM_WEIGHT_Q4,  /* Q4_0 */
    LCSM_WEIGHT_Q4K, /* Q4_K */
    LCSM_WEIGHT_COUNT
} lcsm_weight_type;

enum { LCSM_WEIGHT_BLOCK = 256 }; /* a multiple of the numbers of a block of any type */

const char            *lcsm_weight_name(lcsm_weight_type type); /* "f32", "f16" ... */
const lcsm_block_type *lcsm_weight_blocks(lcsm_weight_type type);
lcsm_status            lcsm_weight_find(lcsm_weight_type *out, const char *name, lcsm_error *err);

/* The type that rows of `cols` numbers have where `type` is wanted: q4k needs a multiple of 256
 * and is q4 otherwise, q4 and q8 need one of 32 and are f16 otherwise. */
lcsm_weight_type lcsm_weight_fit(lcsm_weight_type type, size_t cols);

/* Bytes of such a row. */
size_t lcsm_weight_row(lcsm_weight_type type, size_t cols);

/* Packs a row. False if a number is NaN or infinite, or becomes so: f16 ends at 65504. */
bool lcsm_weight_pack(lcsm_weight_type type, unsigned char *out, const float *x, size_t cols);

#endif
