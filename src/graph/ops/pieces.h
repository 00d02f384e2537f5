/* graph/ops/pieces.h - scratch and saved memory of an op, cut into pieces by one layout function
 * that first measures and later carves. */
#ifndef LCSM_GRAPH_OPS_PIECES_H
#define LCSM_GRAPH_OPS_PIECES_H
#include "base/size.h"
#include "graph/ops/reduce.h"

/* With base NULL it only counts. */
typedef struct {
    unsigned char *base;
    size_t         used;
    bool           failed; /* sticky: asked once, at the end of a measurement */
} pieces;

/* rows x cols elements of size bytes, aligned. */
static inline void *take(pieces *p, ptrdiff_t rows, ptrdiff_t cols, size_t size)
{
    size_t bytes, end, begin = p->used;
    if (!lcsm_size_mul((size_t)rows, (size_t)cols, &bytes) || !lcsm_size_mul(bytes, size, &bytes)
        || !lcsm_round_up(bytes, LCSM_ALIGN, &bytes) || !lcsm_size_add(begin, bytes, &end)) {
        p->failed = true;
        return NULL;
    }
    p->used = end;
    return p->base == NULL ? NULL : p->base + begin;
}

static inline real *take_reals(pieces *p, ptrdiff_t rows, ptrdiff_t cols)
{
    return take(p, rows, cols, sizeof(real));
}

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
