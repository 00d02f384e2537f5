/* drop_ref.c - dropout by definition. */
#include "base/rng.h"
#include "kernel/drop/drop.h"

static void run(const R_(lcsm_drop) *d, ptrdiff_t n, const real *x, bool add, real *y)
{
    lcsm_u32x4 word = {{0}};
    for (ptrdiff_t j = 0; j < n; j++) {
        uint64_t at = d->first + (uint64_t)j;
        if (j == 0 || at % 4 == 0) word = lcsm_rng(d->seed, d->purpose, at / 4);
        real v = word.v[at % 4] < d->below ? 0 : d->factor * x[j];
        y[j]   = add ? y[j] + v : v;
    }
}

const R_(lcsm_drop_kernels) K_(lcsm_drop_words) = {run};
