/* rows.c - loops over the rows of a matrix on several threads. */
#include "graph/rows.h"

enum { ITEM_WORK = 1 << 14 };

typedef struct {
    lcsm_rows_task *task;
    const void     *arg;
    ptrdiff_t       rows, step;
} job;

static void item_rows(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  first = (ptrdiff_t)item * j->step;
    (void)worker;
    j->task(j->arg, first, j->rows - first < j->step ? j->rows - first : j->step);
}

void lcsm_parallel_rows(lcsm_pool *pool, ptrdiff_t rows, ptrdiff_t cols, lcsm_rows_task *task,
                        const void *arg)
{
    job j  = {.task = task, .arg = arg, .rows = rows};
    j.step = cols >= ITEM_WORK ? 1 : ITEM_WORK / (cols > 0 ? cols : 1);
    if (rows > 0) lcsm_parallel_for(pool, (size_t)((rows - 1) / j.step + 1), item_rows, &j);
}
