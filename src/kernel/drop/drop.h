/*
 * kernel/drop/drop.h - dropout: y[j] = 0 where word first + j of the stream (seed, purpose) of
 * base/rng.h is below a bound, else factor x[j].
 *
 * n numbers, contiguous. With `add` the result is added to y, else y is overwritten. y may be x.
 * Every set gives the same bits. Time O(n).
 */
#ifndef LCSM_KERNEL_DROP_H
#define LCSM_KERNEL_DROP_H
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t seed, first;
    uint32_t purpose, below;
    real     factor;
} R_(lcsm_drop);

typedef struct {
    void (*run)(const R_(lcsm_drop) *d, ptrdiff_t n, const real *x, bool add, real *y);
} R_(lcsm_drop_kernels);

extern const R_(lcsm_drop_kernels) K_(lcsm_drop_words);
#endif
