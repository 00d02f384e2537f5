/* kernel/scratch.h - scratch memory in reals: base/pieces.h for kernels and ops. */
#ifndef LCSM_KERNEL_SCRATCH_H
#define LCSM_KERNEL_SCRATCH_H
#include "base/pieces.h"
#include "kernel/variant.h"

typedef lcsm_pieces pieces;

static inline real *take_reals(pieces *p, ptrdiff_t rows, ptrdiff_t cols)
{
    return lcsm_take(p, rows, cols, sizeof(real));
}

/* What has been taken so far, as kernels count it. */
static inline size_t taken_reals(const pieces *p)
{
    return p->used / sizeof(real);
}
#endif
