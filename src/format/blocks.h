/*
 * format/blocks.h - the tensor types of GGUF files: numbers in blocks that share a scale.
 *
 * A row of a tensor is a whole number of blocks. All are read; F32, F16 and Q8_0 are also written.
 */
#ifndef LCSM_FORMAT_BLOCKS_H
#define LCSM_FORMAT_BLOCKS_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t    id; /* in a file */
    const char *name;
    size_t      values, bytes; /* of a block */
    void (*decode)(float *out, const unsigned char *block);
} lcsm_block_type;

/* NULL: no such type. */
const lcsm_block_type *lcsm_block_type_of(uint32_t id);

/* `count` numbers, a multiple of the type's values. */
void lcsm_blocks_decode(float *out, const lcsm_block_type *type, const unsigned char *data,
                        size_t count);

/* 32 numbers as an f16 scale max |x| / 127 and 32 bytes. */
void lcsm_block_encode_q8(unsigned char out[34], const float *x);

float    lcsm_half_to_float(uint16_t half);
uint16_t lcsm_half_from_float(float x); /* to the nearest, ties to even */

#endif
