/* adamw.c - the optimiser's step on vectors. */
#include "kernel/adamw/adamw.h"
#include "kernel/vecmath.h"

typedef double dvec __attribute__((vector_size(VW * sizeof(double))));

static void step(const R_(lcsm_adamw) *a, ptrdiff_t n, const real *grad, real *p, real *m, real *v)
{
    real fresh1 = 1 - a->beta1, fresh2 = 1 - a->beta2;
    for (ptrdiff_t j = 0; j < n; j += VW) {
        ptrdiff_t left = n - j;
        vec       g    = vload_m(grad + j, left) * a->grad_scale;
        vec       vm   = vload_m(m + j, left) * a->beta1 + g * fresh1;
        vec       vv   = vload_m(v + j, left) * a->beta2 + g * g * fresh2;
        vec       down = vsqrt(vv) * a->root + a->eps;
        vstore_m(m + j, vm, left);
        vstore_m(v + j, vv, left);
        vstore_m(p + j, vload_m(p + j, left) * a->keep - vm * a->rate / down, left);
    }
}

static double squares(ptrdiff_t n, const real *g)
{
    dvec   sum   = {0};
    double total = 0;
    for (ptrdiff_t j = 0; j < n; j += VW) {
        dvec d = __builtin_convertvector(vload_m(g + j, n - j), dvec);
        sum += d * d;
    }
    for (int l = 0; l < VW; l++) total += sum[l];
    return total;
}

const R_(lcsm_adamw_kernels) K_(lcsm_adamw_flat) = {step, squares};
