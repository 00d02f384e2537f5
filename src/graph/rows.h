/* graph/rows.h - loops over the rows of a matrix on several threads. */
#ifndef LCSM_GRAPH_ROWS_H
#define LCSM_GRAPH_ROWS_H
#include <stddef.h>

#include "base/thread.h"

/* Rows first .. first + count - 1. */
typedef void lcsm_rows_task(const void *arg, ptrdiff_t first, ptrdiff_t count);

/* Cuts the rows into items of about the same work, by the shape alone. `cols` is the work of one
 * row in numbers touched; little work stays on the calling thread. */
void lcsm_parallel_rows(lcsm_pool *pool, ptrdiff_t rows, ptrdiff_t cols, lcsm_rows_task *task,
                        const void *arg);

#endif
