/* adamw_drive.c - flat arrays in parts, by their length alone. */
#include "kernel/adamw/adamw_drive.h"

#include "base/thread.h"
#include "kernel/kernels.h"

typedef struct {
    const R_(lcsm_adamw_kernels) *k;
    R_(lcsm_adamw)                a;
    size_t                        n, part;
    const real                   *g;
    real                         *p, *m, *v;
    double                       *squares;
} job;

static ptrdiff_t length(const job *j, size_t item)
{
    size_t left = j->n - item * j->part;
    return (ptrdiff_t)(left < j->part ? left : j->part);
}

static void step(void *arg, size_t item, int worker)
{
    const job *j  = arg;
    size_t     at = item * j->part;
    (void)worker;
    j->k->step(&j->a, length(j, item), j->g + at, j->p + at, j->m + at, j->v + at);
}

void R_(lcsm_adamw_run)(const void *kernels, lcsm_pool *pool, const lcsm_adamw_rates *r, size_t n,
                        const void *g, void *p, void *m, void *v)
{
    const R_(lcsm_kernels) *k = kernels;
    job j = {.k = k->adamw, .n = n, .part = lcsm_adamw_part(n), .g = g, .p = p, .m = m, .v = v};
    j.a   = (R_(lcsm_adamw)){(real)r->grad_scale, (real)r->beta1, (real)r->beta2, (real)r->keep,
                             (real)r->rate,       (real)r->root,  (real)r->eps};
    lcsm_parallel_for(pool, (n + j.part - 1) / j.part, step, &j);
}

static void squares(void *arg, size_t item, int worker)
{
    job *j = arg;
    (void)worker;
    j->squares[item] = j->k->squares(length(j, item), j->g + item * j->part);
}

void R_(lcsm_squares_run)(const void *kernels, lcsm_pool *pool, size_t n, size_t part,
                          const void *g, double *sums)
{
    const R_(lcsm_kernels) *k = kernels;
    job                     j = {.k = k->adamw, .n = n, .part = part, .g = g, .squares = sums};
    lcsm_parallel_for(pool, (n + part - 1) / part, squares, &j);
}
