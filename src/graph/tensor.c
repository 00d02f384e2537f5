/* tensor.c - number types and shapes. */
#include "graph/tensor.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t      size;
} DTYPES[LCSM_DTYPE_COUNT] = {
    [LCSM_F32] = {"f32", sizeof(float)},
    [LCSM_F64] = {"f64", sizeof(double)},
    [LCSM_I32] = {"i32", sizeof(int32_t)},
    [LCSM_I64] = {"i64", sizeof(int64_t)},
};

size_t lcsm_dtype_size(lcsm_dtype dtype)
{
    return DTYPES[dtype].size;
}

const char *lcsm_dtype_name(lcsm_dtype dtype)
{
    return DTYPES[dtype].name;
}

bool lcsm_shape_count(const lcsm_shape *s, ptrdiff_t *count)
{
    ptrdiff_t n = 1;
    if (s->rank < 0 || s->rank > LCSM_MAX_RANK) return false;
    for (int j = 0; j < s->rank; j++)
        if (s->dim[j] < 0 || __builtin_mul_overflow(n, s->dim[j], &n)) return false;
    *count = n;
    return true;
}

bool lcsm_shape_equal(const lcsm_shape *a, const lcsm_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

const char *lcsm_shape_text(char text[LCSM_SHAPE_TEXT], const lcsm_shape *s)
{
    size_t used  = 0;
    text[used++] = '[';
    for (int j = 0; j < s->rank && j < LCSM_MAX_RANK; j++)
        used += (size_t)snprintf(text + used, LCSM_SHAPE_TEXT - used, "%s%td", j > 0 ? ", " : "",
                                 s->dim[j]);
    snprintf(text + used, LCSM_SHAPE_TEXT - used, "]");
    return text;
}
