/* graph/ops/column.h - what the ops with one number for each row share. */
#ifndef LCSM_GRAPH_OPS_COLUMN_H
#define LCSM_GRAPH_OPS_COLUMN_H
#include "graph/ops/op_pieces.h"

/* Whether s has the axes of x with a last one of 1. */
static inline bool is_column(const lcsm_tensor *s, const lcsm_tensor *x)
{
    lcsm_shape want = x->shape;
    if (want.rank == 0) return false;
    want.dim[want.rank - 1] = 1;
    return lcsm_shape_equal(&s->shape, &want);
}

/* sum a b, in eight chains. */
static inline real dot(ptrdiff_t n, const real *a, const real *b)
{
    real      s[8] = {0};
    ptrdiff_t j    = 0;
    for (; j + 8 <= n; j += 8)
        for (int i = 0; i < 8; i++) s[i] += a[j + i] * b[j + i];
    for (; j < n; j++) s[0] += a[j] * b[j];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* A gradient at its place. */
static inline void put_number(const lcsm_mat *m, ptrdiff_t row, ptrdiff_t col, real x)
{
    real *p = row_of(m, row) + col;
    *p      = m->add ? *p + x : x;
}
#endif
