/*
 * gemm.c - the matrix product by tiles of registers over packed panels.
 *
 * op(B) is packed into panels of a few vectors, one part of the depth at a time, so that a panel
 * fits the first-level cache; a block of rows of op(A) meets all panels from the second. Rows of A
 * are read where they lie, columns are packed tile by tile.
 */
#include "kernel/gemm/gemm.h"

#include <string.h>

static void dots(const gemm *x)
{
    if (x->type == LCSM_WEIGHT_REAL) K_(lcsm_gemm_dots)(x);
    else K_(lcsm_blocks_dots)(x);
}

const R_(lcsm_gemm_kernels) K_(lcsm_gemm_products) = {pack, run, dots, K_(lcsm_blocks_unpack),
                                                      K_(lcsm_blocks_levels)};
