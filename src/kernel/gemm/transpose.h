/* kernel/gemm/transpose.h - VW vectors of VW lanes, transposed in registers. */
#ifndef LCSM_KERNEL_TRANSPOSE_H
#define LCSM_KERNEL_TRANSPOSE_H
#include "kernel/vec.h"

/* Step h of a transposition swaps the h-wide halves of 2h x 2h blocks: from rows i and i + h,
 * LOW takes the elements whose index has bit h clear, HIGH those that have it set. */
#if VW == 16
#define LOW_1  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define LOW_2  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW_4  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_8  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#elif VW == 8
#define LOW_1  0, 8, 2, 10, 4, 12, 6, 14
#define HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define LOW_2  0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_4  0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#elif VW == 4
#define LOW_1  0, 4, 2, 6
#define HIGH_1 1, 5, 3, 7
#define LOW_2  0, 1, 4, 5
#define HIGH_2 2, 3, 6, 7
#else
#define LOW_1  0, 2
#define HIGH_1 1, 3
#endif

#define SWAP_HALVES(h)                                                                             \
    for (int i = 0; i < VW; i++)                                                                   \
        if ((i & h) == 0) {                                                                        \
            vec low  = __builtin_shufflevector(v[i], v[i + h], LOW_##h);                           \
            vec high = __builtin_shufflevector(v[i], v[i + h], HIGH_##h);                          \
            v[i]     = low;                                                                        \
            v[i + h] = high;                                                                       \
        }

/* v[i][j] becomes v[j][i]. */
VEC_INLINE void vtranspose(vec v[VW])
{
    SWAP_HALVES(1)
#if VW >= 4
    SWAP_HALVES(2)
#endif
#if VW >= 8
    SWAP_HALVES(4)
#endif
#if VW >= 16
    SWAP_HALVES(8)
#endif
}

#endif
