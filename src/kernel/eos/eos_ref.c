/*
 * eos_ref.c - the EOS recurrence by definition: the recurrent form, any operand, forward and
 * backward, in float and in double. Every other form must agree with it.
 *
 *     m_t = (I - e_t b_t^T) (o_t * m_{t-1}) + e_t i_t^T     b = erase; or O_t m_{t-1} + e_t i_t^T
 *     y_t = scale Re(m_t^T s_t)
 *
 * Backward, with G_t the gradient of m_t and w_t = o_t * m_{t-1}, where the factor is the memory
 * before the step; transposes and conjugates are those of the adjoint:
 *
 *     G_t = conj(s_t) g_y^T + ...,  g_s = conj(m_t) g_y,  g_e = G_t (i_t - w_t^T b_t),
 *     g_i = G_t^T e_t,  g_b = -w_t g_i,  G'_t = G_t - b_t g_i^T   (gradient of w_t)
 *     g_log|o| = Re(conj(w_t) G'_t),  g_phase = Im(conj(w_t) G'_t),  G_{t-1} = conj(o_t) G'_t
 */
#include "kernel/eos/eos_ref.h"
#include "kernel/complex.h"
#include <math.h>
#include <string.h>

typedef R_(lcsm_view)          view;
typedef R_(lcsm_out)           out;
typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;

/* An absent operand reads as 0. */
static inline real at(const view *v, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    return v->p == NULL ? 0 : v->p[t * v->t + k * v->k + d * v->d];
}

static inline cplx at_complex(const view *v, bool complex, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    const real *p = v->p + t * v->t + k * v->k + d * v->d;
    return (cplx){p[0], complex ? p[1] : 0};
}

/* A gradient that nobody wants has p = NULL; a broadcast axis sums by itself. */
static inline void add(const out *v, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d, real x)
{
    ptrdiff_t j = t * v->t + k * v->k + d * v->d;
    if (v->sum != NULL) v->sum[j] += (double)x;
    else if (v->p != NULL) v->p[j] += x;
}

static inline void add_complex(const out *v, bool complex, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d,
                               cplx x)
{
    out im = *v;
    add(v, t, k, d, x.re);
    if (!complex || v->p == NULL) return;
    if (v->sum != NULL) im.sum++;
    im.p++;
    add(&im, t, k, d, x.im);
}

/* log(sigmoid(x)), finite for every finite x. */
static inline real log_sigmoid(real x)
{
    return R_FN(fmin)(x, 0) - R_FN(log1p)(R_FN(exp)(-R_FN(fabs)(x)));
}

static inline real sigmoid(real x)
{
    real z = R_FN(exp)(-R_FN(fabs)(x));
    return (x >= 0 ? 1 : z) / (1 + z);
}

/* log |o| of all factors but a complement. */
static real log_size(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    real a = at(&x->row, t, k, d) + at(&x->col, t, k, d) + at(&x->full, t, k, d);
    real z = at(&x->u, t, k, d) * at(&x->w, t, k, d);
    if (x->gen == LCSM_GEN_EXP) return a + z;
    if (x->gen == LCSM_GEN_GATE) return a + log_sigmoid(z) / x->tau;
    return a;
}

/* All factors of o but a complement, with their phases. */
static cplx factors(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    real mag = R_FN(exp)(log_size(x, t, k, d));
    if (!x->is_complex) return (cplx){mag, 0};
    real phi =
        at(&x->row_phase, t, k, d) + at(&x->col_phase, t, k, d) + at(&x->full_phase, t, k, d);
    return (cplx){mag * R_FN(cos)(phi), mag * R_FN(sin)(phi)};
}

/* What a complement takes from 1. */
static real taken(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    return x->gen == LCSM_GEN_COMPLEMENT ? at(&x->u, t, k, d) * at(&x->w, t, k, d) : 0;
}

/* o m for a real memory. An o near 1 may multiply for thousands of steps, and where it is static
 * its rounding would add up: m + (o - 1) m has it on a scale of 1 - o. */
static real decayed(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d, real m)
{
    real a = log_size(x, t, k, d), z = taken(x, t, k, d), o = R_FN(exp)(a) * (1 - z);
    if (!(o > (real)0.5)) return o * m;
    return m + (R_FN(expm1)(a) * (1 - z) - z) * m;
}

/* o m for a complex one; with its conjugate for gradients. */
static cplx turned(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d, real sign, cplx m)
{
    cplx f = factors(x, t, k, d);
    real r = 1 - taken(x, t, k, d);
    return cplx_mul((cplx){f.re * r, sign * f.im * r}, m);
}

/* w = psi without the erased part: o_t * m, or O_t m. Planes of K x D. */
static void oscillate(const seq *x, ptrdiff_t t, const real *m, real *w)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = 0; d < D; d++) {
            ptrdiff_t j = k * D + d;
            if (x->dense.p != NULL) {
                w[j] = 0;
                for (ptrdiff_t c = 0; c < K; c++) w[j] += at(&x->dense, t, k, c) * m[c * D + d];
            } else if (x->is_complex) {
                cplx v       = turned(x, t, k, d, 1, (cplx){m[j], m[plane + j]});
                w[j]         = v.re;
                w[plane + j] = v.im;
            } else {
                w[j] = decayed(x, t, k, d, m[j]);
            }
        }
}

/* i_t[d], less what the delta rule takes away: what is written along e_t. */
static real written(const seq *x, ptrdiff_t t, ptrdiff_t d, const real *w)
{
    real v = at(&x->i, t, 0, d);
    if (x->erase.p != NULL)
        for (ptrdiff_t k = 0; k < x->K; k++) v -= at(&x->erase, t, k, 0) * w[k * x->D + d];
    return v;
}

/* m_t from m_{t-1}; w is scratch, left as w_t. m_prev = NULL is an empty memory. */
static void step(const seq *x, ptrdiff_t t, const real *m_prev, real *w, real *m)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    if (lcsm_resets_at(&x->resets, t)) memset(w, 0, R_(lcsm_eos_memory)(x) * sizeof(real));
    else oscillate(x, t, m_prev, w);
    for (ptrdiff_t d = 0; d < D; d++) {
        real v = written(x, t, d, w);
        for (ptrdiff_t k = 0; k < K; k++) {
            cplx      e = at_complex(&x->e, x->complex_e, t, k, d);
            ptrdiff_t j = k * D + d;
            m[j]        = w[j] + e.re * v;
            if (x->is_complex) m[plane + j] = w[plane + j] + e.im * v;
        }
    }
}

/* The row of s and y that step t has, or -1. */
static ptrdiff_t row_of(const seq *x, ptrdiff_t t)
{
    if (x->read == NULL) return t;
    ptrdiff_t j = R_(lcsm_eos_read_from)(x, t);
    return j < x->reads && x->read[j] - x->read_base == t ? j : -1;
}

/* y = scale Re(m^T s), s from its row t. */
static void shrink(const seq *x, ptrdiff_t t, const real *m, real *y)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    for (ptrdiff_t d = 0; d < D; d++) {
        real sum = 0;
        for (ptrdiff_t k = 0; k < K; k++) {
            cplx s = at_complex(&x->s, x->complex_s, t, k, d);
            sum += s.re * m[k * D + d];
            if (x->is_complex) sum -= s.im * m[plane + k * D + d];
        }
        y[d] = x->scale * sum;
    }
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    (void)C;
    return R_(lcsm_eos_memory)(x);
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    size_t n = R_(lcsm_eos_memory)(x);
    for (ptrdiff_t t = 0; t < x->T; t++) {
        if (tape != NULL && t % C == 0) memcpy(tape + (size_t)(t / C) * n, m, n * sizeof(real));
        step(x, t, m, ws, m);
        ptrdiff_t row = row_of(x, t);
        if (row >= 0) shrink(x, row, m, y + row * y_t);
    }
}

/* The gradient of z = u w behind the generated factor, from g_log = gradient of log o and from
 * g_o = G' m_{t-1} times the other factors. */
static real generated_grad(const seq *x, real z, real g_log, real g_o)
{
    switch (x->gen) {
    case LCSM_GEN_EXP: return g_log;
    case LCSM_GEN_GATE: return g_log * sigmoid(-z) / x->tau;
    case LCSM_GEN_COMPLEMENT: return -g_o;
    default: return 0;
    }
}

/* Gradients of the factors of o at one place, and there G_{t-1} from G'_t. */
static cplx oscillation_bwd(const seq *x, const grads *g, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d,
                            cplx m_prev, cplx G)
{
    cplx f = factors(x, t, k, d);
    real r = 1 - taken(x, t, k, d);
    cplx c = cplx_conj_mul(cplx_mul(f, m_prev), G);
    add(&g->row, t, k, d, c.re * r);
    add(&g->col, t, k, d, c.re * r);
    add(&g->full, t, k, d, c.re * r);
    add(&g->row_phase, t, k, d, c.im * r);
    add(&g->col_phase, t, k, d, c.im * r);
    add(&g->full_phase, t, k, d, c.im * r);
    if (x->gen != LCSM_GEN_NONE) {
        real u = at(&x->u, t, k, d), w = at(&x->w, t, k, d);
        real g_z = generated_grad(x, u * w, c.re * r, c.re);
        add(&g->u, t, k, d, g_z * w);
        add(&g->w, t, k, d, g_z * u);
    }
    if (x->is_complex) return turned(x, t, k, d, -1, G);
    return (cplx){decayed(x, t, k, d, G.re), 0};
}

/* G'_t -> G_{t-1} and the gradients of o_t; G and P are planes, P receives G_{t-1}. */
static void oscillate_bwd(const seq *x, const grads *g, ptrdiff_t t, const real *m_prev,
                          const real *G, real *P)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = 0; d < D; d++) {
            ptrdiff_t j = k * D + d;
            if (x->dense.p != NULL) {
                P[j] = 0;
                for (ptrdiff_t c = 0; c < K; c++) {
                    P[j] += at(&x->dense, t, c, k) * G[c * D + d];
                    add(&g->dense, t, k, c, G[j] * m_prev[c * D + d]);
                }
            } else if (x->is_complex) {
                cplx v       = oscillation_bwd(x, g, t, k, d, (cplx){m_prev[j], m_prev[plane + j]},
                                               (cplx){G[j], G[plane + j]});
                P[j]         = v.re;
                P[plane + j] = v.im;
            } else {
                P[j] = oscillation_bwd(x, g, t, k, d, (cplx){m_prev[j], 0}, (cplx){G[j], 0}).re;
            }
        }
}

/* Shrink: G += conj(s) g_y^T and the gradient of s. */
static void shrink_bwd(const seq *x, const grads *g, ptrdiff_t t, const real *m, const real *g_y,
                       real *G)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = 0; d < D; d++) {
            ptrdiff_t j  = k * D + d;
            real      gy = x->scale * g_y[d];
            cplx      s  = at_complex(&x->s, x->complex_s, t, k, d);
            cplx      mj = {m[j], x->is_complex ? m[plane + j] : 0};
            G[j] += s.re * gy;
            if (x->is_complex) G[plane + j] -= s.im * gy;
            add_complex(&g->s, x->complex_s, t, k, d, (cplx){mj.re * gy, -mj.im * gy});
        }
}

/* Expand and erase: gradients of e, i and b, and G_t -> G'_t in place. */
static void expand_bwd(const seq *x, const grads *g, ptrdiff_t t, const real *w, real *G)
{
    ptrdiff_t K = x->K, D = x->D, plane = K * D;
    for (ptrdiff_t d = 0; d < D; d++) {
        real v = written(x, t, d, w), g_i = 0;
        for (ptrdiff_t k = 0; k < K; k++) {
            ptrdiff_t j  = k * D + d;
            cplx      e  = at_complex(&x->e, x->complex_e, t, k, d);
            cplx      Gj = {G[j], x->is_complex ? G[plane + j] : 0};
            g_i += e.re * Gj.re + e.im * Gj.im;
            add_complex(&g->e, x->complex_e, t, k, d, (cplx){Gj.re * v, Gj.im * v});
        }
        add(&g->i, t, 0, d, g_i);
        if (x->erase.p == NULL) continue;
        for (ptrdiff_t k = 0; k < K; k++) {
            add(&g->erase, t, k, 0, -w[k * D + d] * g_i);
            G[k * D + d] -= at(&x->erase, t, k, 0) * g_i;
        }
    }
}

/* Scratch: m before and after each step of a cell, w_t, and the next G. */
static size_t bwd_scratch(const seq *x, ptrdiff_t C)
{
    return ((size_t)C + 3) * R_(lcsm_eos_memory)(x);
}

static void bwd_cell(const seq *x, ptrdiff_t t0, ptrdiff_t t1, const real *g_y, ptrdiff_t g_y_t,
                     real *g_m, const grads *g, const real *tape, real *ws)
{
    size_t n = R_(lcsm_eos_memory)(x);
    real  *w = ws, *next = ws + n, *m = ws + 2 * n;
    memcpy(m, tape, n * sizeof(real));
    for (ptrdiff_t t = t0; t < t1; t++)
        step(x, t, m + (size_t)(t - t0) * n, w, m + (size_t)(t - t0 + 1) * n);

    for (ptrdiff_t t = t1 - 1; t >= t0; t--) {
        const real *m_prev = m + (size_t)(t - t0) * n;
        bool        empty  = lcsm_resets_at(&x->resets, t);
        if (empty) memset(w, 0, n * sizeof(real));
        else oscillate(x, t, m_prev, w);
        ptrdiff_t row = row_of(x, t);
        if (row >= 0) shrink_bwd(x, g, row, m_prev + n, g_y + row * g_y_t, g_m);
        expand_bwd(x, g, t, w, g_m);
        if (empty) memset(next, 0, n * sizeof(real));
        else oscillate_bwd(x, g, t, m_prev, g_m, next);
        memcpy(g_m, next, n * sizeof(real));
    }
}

static void bwd(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    size_t n = R_(lcsm_eos_memory)(x);
    (void)y;
    (void)y_t;
    for (ptrdiff_t c = (x->T + C - 1) / C - 1; c >= 0; c--) {
        ptrdiff_t t1 = (c + 1) * C < x->T ? (c + 1) * C : x->T;
        bwd_cell(x, c * C, t1, g_y, g_y_t, g_m, g, tape + (size_t)c * n, ws);
    }
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_recurrent) = {fwd_scratch, bwd_scratch, fwd,
                                                     bwd,         false,       false};
