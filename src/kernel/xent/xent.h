/*
 * kernel/xent/xent.h - cross-entropy of rows of logits, which may come in blocks of the vocabulary.
 *
 *     lse = log sum_v exp(z_v)          loss = lse - z_target          dloss/dz = exp(z - lse) -
 * onehot
 *
 * scan   takes the next n logits of a row, whose first has index base, into the row's running
 *        maximum, sum of exp(z - max), and index of the first largest logit. Start with
 *        lcsm_xent_empty; then lse = max + log(sum).
 * soft   g = scale exp(z - lse), or g += ...; g may be z
 *
 * Blocks of logits may also lie the other way: n columns, each the nv logits of a row, ld apart.
 *
 * exps   z = exp(z - from), one `from` a column; gives the largest logit of a column, the sum of
 *        those exponentials, and which of the logits is the first largest, counted from base
 *
 * A NaN among the logits makes the sum NaN. Time O(n).
 */
#ifndef LCSM_KERNEL_XENT_H
#define LCSM_KERNEL_XENT_H
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    real      max, sum;
    ptrdiff_t best;
} R_(lcsm_xent_row);

typedef struct {
    void (*scan)(R_(lcsm_xent_row) *row, ptrdiff_t base, ptrdiff_t n, const real *z);
    void (*soft)(ptrdiff_t n, real lse, real scale, const real *z, real *g, bool add);
    void (*exps)(ptrdiff_t base, ptrdiff_t nv, ptrdiff_t n, const real *from, real *z, ptrdiff_t ld,
                 R_(lcsm_xent_row) *columns);
} R_(lcsm_xent_kernels);

extern const R_(lcsm_xent_kernels) K_(lcsm_xent_rows);

static inline R_(lcsm_xent_row) R_(lcsm_xent_empty)(void)
{
    return (R_(lcsm_xent_row)){-(real)INFINITY, 0, -1};
}
#endif
