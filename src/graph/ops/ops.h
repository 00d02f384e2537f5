/* graph/ops/ops.h - what op sources share: typed access to operands, shape checks, loops. */
#ifndef LCSM_GRAPH_OPS_H
#define LCSM_GRAPH_OPS_H
#include <string.h>

#include "base/thread.h"
#include "graph/attr.h"
#include "graph/op.h"
#include "graph/rows.h"
#include "kernel/kernels.h"
#include "kernel/variant.h"

#define LCSM_REAL_DTYPE (LCSM_REAL_IS_DOUBLE ? LCSM_F64 : LCSM_F32)

static inline real *row_of(const lcsm_mat *m, ptrdiff_t row)
{
    return (real *)m->data + row * m->ld;
}

static inline const unsigned char *blocks_of_row(const lcsm_mat *m, ptrdiff_t row)
{
    return (const unsigned char *)m->data + row * m->ld;
}

static inline const R_(lcsm_kernels) *kernels_of(const lcsm_call *c)
{
    return c->run->kernels;
}

/* A vector of `cols` numbers, which counts for every row: its only row, with ld 0. */
static inline lcsm_mat every_row(lcsm_mat m)
{
    if (m.rows == 1) m.ld = 0;
    return m;
}

/* Whether x is a vector for the rows of a. */
static inline bool is_row_vector(const lcsm_tensor *x, const lcsm_tensor *a)
{
    return x->shape.rank <= 1 && x->cols == a->cols;
}

#endif
