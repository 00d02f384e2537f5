/* adamw_ref.c - the definition of the optimiser's step. */
#include "kernel/adamw/adamw.h"

static void step(const R_(lcsm_adamw) *a, ptrdiff_t n, const real *grad, real *p, real *m, real *v)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        real g = a->grad_scale * grad[j];
        m[j]   = a->beta1 * m[j] + (1 - a->beta1) * g;
        v[j]   = a->beta2 * v[j] + (1 - a->beta2) * g * g;
        p[j]   = a->keep * p[j] - a->rate * m[j] / (a->root * R_FN(sqrt)(v[j]) + a->eps);
    }
}

static double squares(ptrdiff_t n, const real *g)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += (double)g[j] * (double)g[j];
    return sum;
}

const R_(lcsm_adamw_kernels) K_(lcsm_adamw_flat) = {step, squares};
