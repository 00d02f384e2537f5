/* graph/ops/ops.h - what op sources share: typed access to operands and the kernel table. */
#ifndef LCSM_GRAPH_OPS_H
#define LCSM_GRAPH_OPS_H
#include "base/thread.h"
#include "graph/attr.h"
#include "graph/op.h"
#include "kernel/kernels.h"
#include "kernel/variant.h"

#define LCSM_REAL_DTYPE (LCSM_REAL_IS_DOUBLE ? LCSM_F64 : LCSM_F32)

#define CASES(list) .cases = (list), .n_cases = COUNT(list)

static inline real *row_of(const lcsm_mat *m, ptrdiff_t row)
{
    return (real *)m->data + row * m->ld;
}

static inline const R_(lcsm_kernels) * kernels_of(const lcsm_call *c)
{
    return c->run->kernels;
}

#endif
