/*
 * eos_step_rank.c - one step with low rank, the delta rule, a read before the step or complex i
 * and y.
 *
 *     u_r = m_0^T b_r      m_T = o * m_0 + e v^T + sum_r a_r u_r^T      y = scale m^T s + q i
 *
 * v is i, with the delta rule less what it erases: its b is -erase o, and its u is added to i. Some
 * columns at a time go twice through all rows: first what is read before the step, then the step.
 */
#include "kernel/eos/step/eos_step.h"
#include "kernel/vec.h"

typedef R_(lcsm_eos_seq) seq;

enum { SIDE = 4 }; /* vectors of columns that go together */

/* The numbers of a row, pairs: o, e, s, and b and a of each rank. */
enum { O, E, S, B, A = B + LCSM_EOS_MAX_RANK, COEFFICIENTS = A + LCSM_EOS_MAX_RANK };
_Static_assert(2 * COEFFICIENTS == LCSM_EOS_STEP_COEFFICIENTS, "as much as the scratch has");

typedef struct {
    const real *c;   /* (K, COEFFICIENTS, 2) */
    const real *in;  /* i, padded */
    real       *sum; /* y, padded */
    const real *m0;
    real       *m;
    ptrdiff_t   K, m_k;
    bool        before, erase;
    real        bonus[2]; /* q */
} step;

typedef struct {
    real re, im;
} number;

static number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number negative(number a)
{
    return (number){-a.re, -a.im};
}

static number at(const R_(lcsm_view) *v, bool pairs, ptrdiff_t k)
{
    const real *p = v->p + k * v->k;
    return (number){p[0], pairs ? p[1] : 0};
}

static void put(real *c, int slot, number x)
{
    c[2 * slot]     = x.re;
    c[2 * slot + 1] = x.im;
}

/* All coefficients, and the sum of the bonus. */
static void coefficients(const seq *x, real *c, step *to)
{
    for (ptrdiff_t k = 0; k < x->K; k++, c += 2 * COEFFICIENTS) {
        double size  = x->row.p == NULL ? 1 : exp((double)x->row.p[k * x->row.k]);
        double phase = x->row_phase.p == NULL ? 0 : (double)x->row_phase.p[k * x->row_phase.k];
        number o     = {(real)(size * cos(phase)), (real)(size * sin(phase))};
        number e = at(&x->e, x->complex_e, k), s = at(&x->s, x->complex_s, k);
        put(c, O, o);
        put(c, E, e);
        put(c, S, (number){s.re * x->scale, s.im * x->scale});
        if (to->erase) put(c, B, negative(times(o, at(&x->erase, x->complex_erase, k))));
        for (ptrdiff_t r = 0; r < x->rank; r++) {
            put(c, B + (int)r, at(&x->b, x->complex_b, r * x->K + k));
            put(c, A + (int)r, at(&x->a, x->complex_a, r * x->K + k));
        }
        if (x->bonus.p == NULL) continue;
        number q = times(at(&x->bonus, x->complex_bonus, k), times(s, e));
        to->bonus[0] += x->scale * q.re;
        to->bonus[1] += x->scale * q.im;
    }
}

/* sum + c v; complex numbers lie in pairs of lanes. */
VEC_INLINE vec plus(vec sum, const real *c, vec v, bool complex)
{
    sum += v * vset1(c[0]);
    if (!complex) return sum;
    vec turned = vswap(v) * vset1(c[1]);
    for (int j = 0; j < VW; j += 2) turned[j] = -turned[j];
    return sum + turned;
}

VEC_INLINE vec load(const real *p, ptrdiff_t n)
{
    return n >= VW ? vload(p) : vload_n(p, n);
}

#define EACH(v) VEC_UNROLL for (int v = 0; v < vecs; v++)

/* `vecs` vectors of columns from j on; n numbers of a single one exist. */
VEC_INLINE void block(const step *f, bool complex, int rank, int vecs, ptrdiff_t j, ptrdiff_t n)
{
    const ptrdiff_t wide   = 2 * COEFFICIENTS;
    const bool      before = f->before;
    vec             u[LCSM_EOS_MAX_RANK][SIDE], y[SIDE], in[SIDE];
    EACH(v)
    {
        in[v] = vload(f->in + j + v * VW);
        y[v]  = before ? plus(vzero(), f->bonus, in[v], complex) : vzero();
        for (int r = 0; r < rank; r++) u[r][v] = vzero();
    }
    for (ptrdiff_t k = 0; (rank > 0 || before) && k < f->K; k++) {
        const real *c = f->c + k * wide, *m = f->m0 + k * f->m_k + j;
        EACH(v)
        {
            vec old = load(m + v * VW, n);
            for (int r = 0; r < rank; r++) u[r][v] = plus(u[r][v], c + 2 * (B + r), old, complex);
            if (before) y[v] = plus(y[v], c + 2 * S, old, complex);
        }
    }
    const int writes = f->erase ? 0 : rank;
    if (f->erase && rank > 0) EACH(v) in[v] += u[0][v];
    for (ptrdiff_t k = 0; k < f->K; k++) {
        const real *c = f->c + k * wide, *m0 = f->m0 + k * f->m_k + j;
        real       *m = f->m + k * f->m_k + j;
        EACH(v)
        {
            vec next = plus(vzero(), c + 2 * O, load(m0 + v * VW, n), complex);
            next     = plus(next, c + 2 * E, in[v], complex);
            for (int r = 0; r < writes; r++) next = plus(next, c + 2 * (A + r), u[r][v], complex);
            if (n >= VW) vstore(m + v * VW, next);
            else vstore_n(m + v * VW, next, n);
            if (!before) y[v] = plus(y[v], c + 2 * S, next, complex);
        }
    }
    EACH(v) vstore(f->sum + j + v * VW, y[v]);
}

VEC_INLINE void blocks(const step *f, bool complex, int rank, ptrdiff_t n)
{
    ptrdiff_t j = 0;
    for (; j + SIDE * VW <= n; j += SIDE * VW) block(f, complex, rank, SIDE, j, VW);
    for (; j < n; j += VW) block(f, complex, rank, 1, j, n - j < VW ? n - j : VW);
}

void K_(lcsm_eos_step_rank)(const seq *x, const real *m0, real *m_T, ptrdiff_t m_k, real *y,
                            real *ws)
{
    unsigned  mode  = vflush_begin();
    ptrdiff_t width = x->is_complex ? 2 : 1, n = x->D * width, padded = (n + VW - 1) / VW * VW;
    real     *in = ws, *sum = ws + padded, *c = ws + 2 * padded;
    step      f    = {.c      = c,
                      .in     = in,
                      .sum    = sum,
                      .m0     = m0,
                      .m      = m_T,
                      .K      = x->K,
                      .m_k    = m_k,
                      .before = x->read_before,
                      .erase  = x->erase.p != NULL};
    int       rank = f.erase ? 1 : (int)x->rank;
    memset(in, 0, (size_t)padded * sizeof(real));
    for (ptrdiff_t d = 0; d < x->D; d++) {
        in[d * width] = x->i.p[d * x->i.d];
        if (x->complex_i) in[d * width + 1] = x->i.p[d * x->i.d + 1];
    }
    coefficients(x, c, &f);
    if (x->is_complex) blocks(&f, true, rank, n);
    else if (rank == 0) blocks(&f, false, 0, n);
    else if (rank == 1) blocks(&f, false, 1, n);
    else blocks(&f, false, rank, n);
    if (x->complex_y) memcpy(y, sum, (size_t)n * sizeof(real));
    for (ptrdiff_t d = 0; !x->complex_y && d < x->D; d++) y[d] = sum[d * width];
    vflush_end(mode);
}
