/* eos_step.c - one step, row by row; a complex memory lies in pairs of lanes. */
#include "kernel/eos/step/eos_step.h"
#include "kernel/vec.h"

/* What the elements of a row share: o as a and the factor of the neighbour in a pair; e; s. */
typedef struct {
    vec a, b, e, s;
} row;

VEC_INLINE vec pairs(real even, real odd)
{
    vec v = vzero();
    for (int j = 0; j < VW; j++) v[j] = j % 2 == 0 ? even : odd;
    return v;
}

static row row_of(const R_(lcsm_eos_seq) *x, ptrdiff_t k)
{
    const real *e = x->e.p + k * x->e.k, *s = x->s.p + k * x->s.k;
    double      size  = x->row.p == NULL ? 1 : exp((double)x->row.p[k * x->row.k]);
    double      phase = x->row_phase.p == NULL ? 0 : (double)x->row_phase.p[k * x->row_phase.k];
    if (!x->is_complex)
        return (row){vset1((real)size), vzero(), vset1(e[0]), vset1(s[0] * x->scale)};
    real turn = (real)(size * sin(phase));
    return (row){vset1((real)(size * cos(phase))), pairs(-turn, turn),
                 pairs(e[0], x->complex_e ? e[1] : 0),
                 pairs(s[0] * x->scale, x->complex_s ? -s[1] * x->scale : 0)};
}

/* The n <= VW numbers of a row from j on. */
VEC_INLINE void advance(const row *r, bool complex, const real *e, const real *m0, real *m,
                        const real *in, real *sum, ptrdiff_t j, ptrdiff_t n)
{
    vec old = n == VW ? vload(m0 + j) : vload_n(m0 + j, n), next = r->a * old, by = r->e;
    if (complex) next += r->b * vswap(old);
    if (e != NULL) by = n == VW ? vload(e + j) : vload_n(e + j, n);
    next += by * vload(in + j);
    vstore(sum + j, vload(sum + j) + r->s * next);
    if (n == VW) vstore(m + j, next);
    else vstore_n(m + j, next, n);
}

VEC_INLINE void advance_row(const row *r, bool complex, const real *e, const real *m0, real *m,
                            const real *in, real *sum, ptrdiff_t n)
{
    ptrdiff_t j = 0;
    for (; j + VW <= n; j += VW) advance(r, complex, e, m0, m, in, sum, j, VW);
    if (j < n) advance(r, complex, e, m0, m, in, sum, j, n - j);
}

void K_(lcsm_eos_step)(const R_(lcsm_eos_seq) *x, const real *m0, real *m_T, ptrdiff_t m_k, real *y,
                       real *ws)
{
    unsigned  mode  = vflush_begin();
    ptrdiff_t width = x->is_complex ? 2 : 1, n = x->D * width, padded = (n + VW - 1) / VW * VW;
    real     *in = ws, *sum = ws + padded;
    memset(ws, 0, (size_t)(2 * padded) * sizeof(real));
    for (ptrdiff_t j = 0; j < n; j++) in[j] = x->i.p[j / width * x->i.d];
    for (ptrdiff_t k = 0; k < x->K; k++) {
        row         r = row_of(x, k);
        const real *e = x->e.d == 0 ? NULL : x->e.p + k * x->e.k;
        if (x->is_complex) advance_row(&r, true, e, m0 + k * m_k, m_T + k * m_k, in, sum, n);
        else advance_row(&r, false, e, m0 + k * m_k, m_T + k * m_k, in, sum, n);
    }
    for (ptrdiff_t d = 0; d < x->D; d++)
        y[d] = x->is_complex ? sum[2 * d] + sum[2 * d + 1] : sum[d];
    vflush_end(mode);
}
