/* xent.c - the parts of the cross-entropy on vectors. */
#include "kernel/xent/xent.h"
#include "kernel/vecmath.h"

enum { WIDE = 4 };

VEC_INLINE real largest(ptrdiff_t n, const real *z, real max)
{
    vec       m[WIDE];
    ptrdiff_t j = 0;
    for (int q = 0; q < WIDE; q++) m[q] = vset1(max);
    for (; j + WIDE * VW <= n; j += WIDE * VW)
        for (int q = 0; q < WIDE; q++) m[q] = vmax(m[q], vload(z + j + q * VW));
    m[0] = vmax(vmax(m[0], m[1]), vmax(m[2], m[3]));
    for (int l = 0; l < VW; l++) max = m[0][l] > max ? m[0][l] : max;
    for (; j < n; j++) max = z[j] > max ? z[j] : max;
    return max;
}

/* Sum of exp(z - max). A partial vector is filled with what exp turns to nothing. */
VEC_INLINE real sum_exp(ptrdiff_t n, const real *z, real max)
{
    vec       s0 = vzero(), s1 = vzero();
    ptrdiff_t j = 0;
    for (; j + 2 * VW <= n; j += 2 * VW) {
        s0 += vexp(vload(z + j) - max);
        s1 += vexp(vload(z + j + VW) - max);
    }
    for (; j < n; j += VW) {
        ptrdiff_t m = n - j < VW ? n - j : VW;
        vec       v = vset1(-(real)INFINITY);
        for (ptrdiff_t l = 0; l < m; l++) v[l] = z[j + l] - max;
        s0 += vexp(v);
    }
    return vsum(s0 + s1);
}

static void scan(R_(lcsm_xent_row) *row, ptrdiff_t base, ptrdiff_t n, const real *z)
{
    real max = largest(n, z, row->max);
    if (max > row->max) {
        ptrdiff_t j = 0;
        while (z[j] != max) j++;
        row->best = base + j;
        row->sum *= R_FN(exp)(row->max - max);
        row->max = max;
    }
    row->sum += sum_exp(n, z, max);
}

static void soft(ptrdiff_t n, real lse, real scale, const real *z, real *g, bool add)
{
    for (ptrdiff_t j = 0; j < n; j += VW)
        vput_m(g + j, vexp(vload_m(z + j, n - j) - lse) * scale, n - j, add);
}

const R_(lcsm_xent_kernels) K_(lcsm_xent_rows) = {scan, soft};
