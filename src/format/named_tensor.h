/*
 * named_tensor.h - a name, a type, a shape and a pointer: what tensor files hold.
 *
 * The bytes are those of a file: little-endian, row-major, without strides, and not aligned to
 * anything.
 */
#ifndef LCSM_FORMAT_NAMED_TENSOR_H
#define LCSM_FORMAT_NAMED_TENSOR_H
#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"

/* Name and bits of every type that a file may have. */
#define LCSM_ELEMENT_LIST(X)                                                                       \
    X(F64, 64)                                                                                     \
    X(F32, 32)                                                                                     \
    X(F16, 16)                                                                                     \
    X(BF16, 16)                                                                                    \
    X(I64, 64)                                                                                     \
    X(U64, 64)                                                                                     \
    X(I32, 32)                                                                                     \
    X(U32, 32)                                                                                     \
    X(I16, 16)                                                                                     \
    X(U16, 16)                                                                                     \
    X(I8, 8)                                                                                       \
    X(U8, 8)                                                                                       \
    X(BOOL, 8)                                                                                     \
    X(F8_E4M3, 8)                                                                                  \
    X(F8_E5M2, 8)                                                                                  \
    X(F8_E8M0, 8)                                                                                  \
    X(F8_E4M3FNUZ, 8)                                                                              \
    X(F8_E5M2FNUZ, 8)                                                                              \
    X(F6_E2M3, 6)                                                                                  \
    X(F6_E3M2, 6)                                                                                  \
    X(F4, 4)                                                                                       \
    X(C64, 64)

typedef enum {
#define X(name, bits) LCSM_ELEMENT_##name,
    LCSM_ELEMENT_LIST(X)
#undef X
        LCSM_ELEMENT_COUNT
} lcsm_element;

const char *lcsm_element_name(lcsm_element element);
unsigned    lcsm_element_bits(lcsm_element element);

/* The type of that name; false if there is none. */
bool lcsm_element_find(lcsm_element *out, const char *name, size_t length);

enum { LCSM_NAMED_RANK = 8 };

typedef struct {
    const char      *name;
    lcsm_element     element;
    size_t           rank; /* 0: one number */
    size_t           shape[LCSM_NAMED_RANK];
    const void      *data;
    const lcsm_file *file; /* that holds the data, or NULL */
} lcsm_named_tensor;

/* Elements and bytes; false if a product overflows or the bits do not fill bytes. */
bool lcsm_named_tensor_measure(const lcsm_named_tensor *t, size_t *count, size_t *bytes);

enum { LCSM_NAMED_TEXT = 200 };
/* Writes "F32 [13, 8]" and returns text. */
const char *lcsm_named_tensor_text(char text[LCSM_NAMED_TEXT], const lcsm_named_tensor *t);

/* All elements of an F64, F32, F16 or BF16 tensor; other types are LCSM_ERR_FORMAT. They are read
 * in pieces, and the memory of a mapped file is released after each, so that a model is not held
 * twice while it is loaded. */
lcsm_status lcsm_named_tensor_f32(float *out, const lcsm_named_tensor *t, lcsm_error *err);
lcsm_status lcsm_named_tensor_f64(double *out, const lcsm_named_tensor *t, lcsm_error *err);

/* How many numbers of an F64, F32, F16, BF16 or C64 tensor are infinite or no number; 0 for other
 * types. */
size_t lcsm_named_tensor_nonfinite(const lcsm_named_tensor *t);

#endif
