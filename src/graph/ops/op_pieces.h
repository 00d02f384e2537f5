/* graph/ops/op_pieces.h - scratch and saved memory of an op, and rows of its matrices. */
#ifndef LCSM_GRAPH_OPS_OP_PIECES_H
#define LCSM_GRAPH_OPS_OP_PIECES_H
#include "graph/ops/reduce.h"
#include "kernel/scratch.h"

/* Ends a measurement in a shape rule. */
static inline lcsm_status measured(const pieces *p, size_t *bytes, lcsm_error *err)
{
    *bytes = p->used;
    if (!p->failed) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "its working memory is too large");
}

/* to = the sum of n partial rows, in their order, or to += ...; nothing if the gradient is not
 * wanted. */
static inline void sum_partials(const lcsm_call *c, real *partial, ptrdiff_t n, const lcsm_mat *to)
{
    lcsm_mat rows = {.data = partial, .rows = n, .cols = to->cols, .ld = to->cols};
    if (to->data != NULL) R_(lcsm_sum_rows)(c, &rows, to);
}

/* A row, or NULL of an absent operand. */
static inline real *row_if(const lcsm_mat *m, ptrdiff_t row)
{
    return m->data == NULL ? NULL : row_of(m, row);
}

static inline void clear_rows(const lcsm_mat *m)
{
    for (ptrdiff_t r = 0; r < m->rows; r++) memset(row_of(m, r), 0, (size_t)m->cols * sizeof(real));
}

static inline bool is_packed(const lcsm_mat *m)
{
    return m->ld == m->cols;
}

static inline ptrdiff_t at_most(ptrdiff_t n, ptrdiff_t limit)
{
    return n < limit ? n : limit;
}

static inline ptrdiff_t blocks_of(ptrdiff_t n, ptrdiff_t size)
{
    return (n + size - 1) / size;
}

#endif
