/* graph/ops/reduce.h - sums over rows, for the gradients of vectors that serve every row. */
#ifndef LCSM_GRAPH_OPS_REDUCE_H
#define LCSM_GRAPH_OPS_REDUCE_H
#include "graph/ops/ops.h"

/* Row r of the terms, columns first .. first + n - 1, as out (overwritten). */
typedef void R_(lcsm_row_terms)(const void *arg, ptrdiff_t r, ptrdiff_t first, ptrdiff_t n,
                                real *out);

/* to = the sum of all rows of terms, or to += ...; to is one row. Columns are shared out among
 * threads, rows are summed in one order: any number of threads gives the same bits. */
void R_(lcsm_reduce_rows)(const lcsm_call *c, ptrdiff_t rows, R_(lcsm_row_terms) *terms,
                          const void *arg, const lcsm_mat *to);

/* to = the sum of the rows of x, or to += ... */
void R_(lcsm_sum_rows)(const lcsm_call *c, const lcsm_mat *x, const lcsm_mat *to);

#endif
