/* xent_ref.c - the definition of the parts of the cross-entropy. */
#include "kernel/xent/xent.h"

static void scan(R_(lcsm_xent_row) *row, ptrdiff_t base, ptrdiff_t n, const real *z)
{
    real old = row->max;
    for (ptrdiff_t j = 0; j < n; j++)
        if (z[j] > row->max) {
            row->max  = z[j];
            row->best = base + j;
        }
    if (row->max > old) row->sum *= R_FN(exp)(old - row->max);
    for (ptrdiff_t j = 0; j < n; j++) row->sum += R_FN(exp)(z[j] - row->max);
}

static void soft(ptrdiff_t n, real lse, real scale, const real *z, real *g, bool add)
{
    for (ptrdiff_t j = 0; j < n; j++) g[j] = (add ? g[j] : 0) + scale * R_FN(exp)(z[j] - lse);
}

static void exps(ptrdiff_t base, ptrdiff_t nv, ptrdiff_t n, const real *from, real *z, ptrdiff_t ld,
                 R_(lcsm_xent_row) *columns)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        R_(lcsm_xent_row) *c = &columns[j];
        *c                   = R_(lcsm_xent_empty)();
        for (ptrdiff_t v = 0; v < nv; v++) {
            real *p = z + v * ld + j;
            if (*p > c->max) {
                c->max  = *p;
                c->best = base + v;
            }
            c->sum += *p = R_FN(exp)(*p - from[j]);
        }
    }
}

const R_(lcsm_xent_kernels) K_(lcsm_xent_rows) = {scan, soft, exps};
