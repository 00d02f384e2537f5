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

/* ---- columns ---- */

/* vecs vectors of columns, of which `left` are there. */
VEC_INLINE void exps_of(int vecs, ptrdiff_t left, ptrdiff_t base, ptrdiff_t nv, const real *from,
                        real *z, ptrdiff_t ld, R_(lcsm_xent_row) *columns)
{
    vec  max[WIDE], sum[WIDE], less[WIDE];
    ivec best[WIDE];
    for (int q = 0; q < vecs; q++) {
        max[q]  = vset1(-(real)INFINITY);
        sum[q]  = vzero();
        best[q] = (ivec){0};
        less[q] = vload_m(from + q * VW, left - q * VW);
    }
    for (ptrdiff_t v = 0; v < nv; v++)
        for (int q = 0; q < vecs; q++) {
            real *p = z + v * ld + q * VW;
            vec   x = vload_m(p, left - q * VW), e = vexp(x - less[q]);
            ivec  larger = x > max[q];
            best[q]      = (best[q] & ~larger) | ((ireal)v & larger);
            max[q]       = vmax(max[q], x);
            sum[q] += e;
            vstore_m(p, e, left - q * VW);
        }
    for (int q = 0; q < vecs; q++)
        for (ptrdiff_t l = 0; l < VW && q * VW + l < left; l++)
            columns[q * VW + l] =
                (R_(lcsm_xent_row)){max[q][l], sum[q][l], base + (ptrdiff_t)best[q][l]};
}

static void exps(ptrdiff_t base, ptrdiff_t nv, ptrdiff_t n, const real *from, real *z, ptrdiff_t ld,
                 R_(lcsm_xent_row) *columns)
{
    ptrdiff_t j = 0;
    for (; j + WIDE * VW <= n; j += WIDE * VW)
        exps_of(WIDE, WIDE * VW, base, nv, from + j, z + j, ld, columns + j);
    for (; j < n; j += VW) exps_of(1, n - j, base, nv, from + j, z + j, ld, columns + j);
}

const R_(lcsm_xent_kernels) K_(lcsm_xent_rows) = {scan, soft, exps};
