/* reduce.c - sums over rows: a strip of columns at a time, rows in groups, so that rounding
 * grows with the number of groups and not with that of rows. */
#include "graph/ops/reduce.h"

enum { STRIP = 256, GROUP = 64 };

typedef struct {
    const lcsm_call    *c;
    ptrdiff_t           rows;
    R_(lcsm_row_terms) *terms;
    const void         *arg;
    const lcsm_mat     *to;
} job;

static void strip(const job *j, ptrdiff_t item)
{
    const R_(lcsm_ew_kernels) *ew = kernels_of(j->c)->ew;
    real                       total[STRIP], group[STRIP], row[STRIP];
    ptrdiff_t first = item * STRIP, n = j->to->cols - first < STRIP ? j->to->cols - first : STRIP;
    memset(total, 0, sizeof total);
    for (ptrdiff_t r = 0; r < j->rows;) {
        ptrdiff_t end = j->rows - r < GROUP ? j->rows : r + GROUP;
        j->terms(j->arg, r++, first, n, group);
        for (; r < end; r++) {
            j->terms(j->arg, r, first, n, row);
            ew->add(n, group, row, group);
        }
        ew->add(n, total, group, total);
    }
    ew->scale(n, 1, total, j->to->add, (real *)j->to->data + first);
}

static void strips(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    for (ptrdiff_t item = first; item < first + count; item++) strip(arg, item);
}

void R_(lcsm_reduce_rows)(const lcsm_call *c, ptrdiff_t rows, R_(lcsm_row_terms) *terms,
                          const void *arg, const lcsm_mat *to)
{
    job       j     = {c, rows, terms, arg, to};
    ptrdiff_t items = (to->cols + STRIP - 1) / STRIP;
    lcsm_parallel_rows(c->run->pool, items, STRIP * rows, strips, &j);
}

static void plain(const void *arg, ptrdiff_t r, ptrdiff_t first, ptrdiff_t n, real *out)
{
    memcpy(out, row_of(arg, r) + first, (size_t)n * sizeof(real));
}

void R_(lcsm_sum_rows)(const lcsm_call *c, const lcsm_mat *x, const lcsm_mat *to)
{
    R_(lcsm_reduce_rows)(c, x->rows, plain, x, to);
}
