/* named_tensor.c - the element types, and their numbers as float and double. */
#include "format/named_tensor.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor files are little-endian");

static const struct {
    const char *name;
    unsigned    bits;
} ELEMENTS[LCSM_ELEMENT_COUNT] = {
#define X(name, bits) [LCSM_ELEMENT_##name] = {#name, bits},
    LCSM_ELEMENT_LIST(X)
#undef X
};

const char *lcsm_element_name(lcsm_element element)
{
    return ELEMENTS[element].name;
}

unsigned lcsm_element_bits(lcsm_element element)
{
    return ELEMENTS[element].bits;
}

bool lcsm_element_find(lcsm_element *out, const char *name, size_t length)
{
    for (size_t j = 0; j < COUNT(ELEMENTS); j++) {
        if (strlen(ELEMENTS[j].name) != length || memcmp(ELEMENTS[j].name, name, length) != 0)
            continue;
        *out = (lcsm_element)j;
        return true;
    }
    return false;
}

bool lcsm_named_tensor_measure(const lcsm_named_tensor *t, size_t *count, size_t *bytes)
{
    size_t n = 1, bits;
    for (size_t j = 0; j < t->rank; j++)
        if (!lcsm_size_mul(n, t->shape[j], &n)) return false;
    if (!lcsm_size_mul(n, ELEMENTS[t->element].bits, &bits) || bits % 8 != 0) return false;
    *count = n;
    *bytes = bits / 8;
    return true;
}

const char *lcsm_named_tensor_text(char text[LCSM_NAMED_TEXT], const lcsm_named_tensor *t)
{
    size_t used = (size_t)snprintf(text, LCSM_NAMED_TEXT, "%s [", ELEMENTS[t->element].name);
    for (size_t j = 0; j < t->rank; j++)
        used += (size_t)snprintf(text + used, LCSM_NAMED_TEXT - used, "%s%zu", j == 0 ? "" : ", ",
                                 t->shape[j]);
    (void)snprintf(text + used, LCSM_NAMED_TEXT - used, "]");
    return text;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double load_f64(const unsigned char *p)
{
    double value;
    memcpy(&value, p, sizeof value);
    return value;
}

static float load_f32(const unsigned char *p)
{
    float value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* Half precision is sign, 5 bits of exponent (bias 15), 10 of fraction. A subnormal is an integer
 * times 2^-24, made without subnormal floats, which some settings of the processor flush. */
static float load_f16(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7FFF;
    uint32_t wide = magnitude << 13;
    float    small;
    if (magnitude >= 0x7C00) return float_of(sign | 0x7F800000 | wide);
    if (magnitude >= 0x0400) return float_of(sign | (wide + (112U << 23)));
    small = (float)magnitude * 0x1p-24f;
    return sign != 0 ? -small : small;
}

static float load_bf16(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return float_of((uint32_t)half << 16);
}

#define CONVERT(element, bytes)                                                                    \
    static void element##_to_f32(float *out, const unsigned char *data, size_t count)              \
    {                                                                                              \
        for (size_t j = 0; j < count; j++) out[j] = (float)load_##element(data + j * (bytes));     \
    }                                                                                              \
    static void element##_to_f64(double *out, const unsigned char *data, size_t count)             \
    {                                                                                              \
        for (size_t j = 0; j < count; j++) out[j] = (double)load_##element(data + j * (bytes));    \
    }

CONVERT(f64, 8)
CONVERT(f32, 4)
CONVERT(f16, 2)
CONVERT(bf16, 2)

static const struct {
    void (*f32)(float *out, const unsigned char *data, size_t count);
    void (*f64)(double *out, const unsigned char *data, size_t count);
} TO[LCSM_ELEMENT_COUNT] = {
    [LCSM_ELEMENT_F64]  = {f64_to_f32, f64_to_f64},
    [LCSM_ELEMENT_F32]  = {f32_to_f32, f32_to_f64},
    [LCSM_ELEMENT_F16]  = {f16_to_f32, f16_to_f64},
    [LCSM_ELEMENT_BF16] = {bf16_to_f32, bf16_to_f64},
};

/* How many elements to convert, once it is clear that they can be. */
static lcsm_status convertible(size_t *count, const lcsm_named_tensor *t, lcsm_error *err)
{
    size_t bytes;
    if (TO[t->element].f32 == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.80s has type %s; expected F64, F32, F16 or BF16",
                         t->name, ELEMENTS[t->element].name);
    if (!lcsm_named_tensor_measure(t, count, &bytes))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%.80s: the size of its shape overflows", t->name);
    return LCSM_OK;
}

enum { PIECE = 1 << 20 }; /* elements: at most 8 MB of a file */

/* How many elements the next piece has; the one before is done with. */
static size_t next_piece(const lcsm_named_tensor *t, size_t at, size_t count)
{
    if (at > 0 && t->file != NULL) lcsm_file_release(t->file);
    return count - at < PIECE ? count - at : PIECE;
}

#define READ(real, type)                                                                           \
    lcsm_status lcsm_named_tensor_##type(real *out, const lcsm_named_tensor *t, lcsm_error *err)   \
    {                                                                                              \
        const unsigned char *data  = t->data;                                                      \
        size_t               count = 0, width = ELEMENTS[t->element].bits / 8, n;                  \
        lcsm_status          st = convertible(&count, t, err);                                     \
        for (size_t at = 0; (n = next_piece(t, at, count)) > 0; at += n)                           \
            TO[t->element].type(out + at, data + at * width, n);                                   \
        return st;                                                                                 \
    }

READ(float, f32)
READ(double, f64)

/* A number is not finite when its exponent is all ones. */
static size_t all_ones_16(const unsigned char *data, size_t count, uint16_t exponent)
{
    size_t n = 0;
    for (size_t j = 0; j < count; j++) {
        uint16_t bits;
        memcpy(&bits, data + j * sizeof bits, sizeof bits);
        n += (bits & exponent) == exponent;
    }
    return n;
}

static size_t all_ones_32(const unsigned char *data, size_t count)
{
    size_t n = 0;
    for (size_t j = 0; j < count; j++) {
        uint32_t bits;
        memcpy(&bits, data + j * sizeof bits, sizeof bits);
        n += (bits & 0x7F800000) == 0x7F800000;
    }
    return n;
}

static size_t all_ones_64(const unsigned char *data, size_t count)
{
    const uint64_t exponent = (uint64_t)0x7FF << 52;
    size_t         n        = 0;
    for (size_t j = 0; j < count; j++) {
        uint64_t bits;
        memcpy(&bits, data + j * sizeof bits, sizeof bits);
        n += (bits & exponent) == exponent;
    }
    return n;
}

size_t lcsm_named_tensor_nonfinite(const lcsm_named_tensor *t)
{
    size_t count, bytes;
    if (!lcsm_named_tensor_measure(t, &count, &bytes)) return 0;
    switch (t->element) {
    case LCSM_ELEMENT_F64: return all_ones_64(t->data, count);
    case LCSM_ELEMENT_F32:
    case LCSM_ELEMENT_C64: return all_ones_32(t->data, bytes / 4);
    case LCSM_ELEMENT_F16: return all_ones_16(t->data, count, 0x7C00);
    case LCSM_ELEMENT_BF16: return all_ones_16(t->data, count, 0x7F80);
    default: return 0;
    }
}
