/* round.c - what a plan keeps in bfloat16, to and from the graph's numbers. */
#include "graph/ops/round.h"

#include "kernel/gemm/gemm_drive.h"

void R_(lcsm_round_keep)(lcsm_pool *pool, const void *kernels, ptrdiff_t n, const void *wide,
                         uint16_t *kept)
{
    R_(lcsm_narrow)(pool, kernels, n, wide, kept);
}

void R_(lcsm_round_widen)(lcsm_pool *pool, const void *kernels, ptrdiff_t n, const uint16_t *kept,
                          void *wide)
{
    R_(lcsm_widen)(pool, kernels, n, kept, wide);
}
