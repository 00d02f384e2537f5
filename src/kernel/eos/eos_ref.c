/*
 * eos_ref.c - the EOS recurrence by definition: the recurrent form, any operand, forward and
 * backward, in float and in double. Every other form must agree with it.
 *
 *     m_t = (I - e_t k_t^T) (o_t * m_{t-1}) + sum_r a_r (b_r^T m_{t-1}) + e_t i_t^T     k = erase;
 *     or O_t m_{t-1} + e_t i_t^T
 *     y_t = scale m_t^T s_t, or scale (m_{t-1}^T s_t + (sum bonus s_t e_t) i_t); all of it, or Re
 *
 * With bf16, o_t, e_t, i_t, s_t and m_t stand for their values rounded to bfloat16.
 *
 * Backward, with G_t the gradient of m_t and w_t = o_t * m_{t-1}, where the factor is the memory
 * before the step; transposes and conjugates are those of the adjoint:
 *
 *     G_t = conj(s_t) g_y^T + ...,  g_s = conj(m_t) g_y,  g_e = G_t (i_t - w_t^T k_t),
 *     g_i = G_t^T e_t,  g_k = -w_t g_i,  G'_t = G_t - k_t g_i^T   (gradient of w_t)
 *     g_log|o| = Re(conj(w_t) G'_t),  g_phase = Im(conj(w_t) G'_t)
 *     u_r = m_{t-1}^T b_r,  g_u = G_t^T a_r,  g_a = G_t u_r,  g_b = m_{t-1} g_u
 *     G_{t-1} = conj(o_t) G'_t + sum_r b_r g_u^T, and what a read before the step adds
 */
#include "kernel/eos/eos_ref.h"
#include "kernel/bf16.h"
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

/* A number of the recurrence: as it is, or rounded. */
static inline real kept(const seq *x, real v)
{
    return x->bf16 ? R_(lcsm_bf16)(v) : v;
}

static inline cplx i_at(const seq *x, ptrdiff_t t, ptrdiff_t d)
{
    const real *p = x->i.p + t * x->i.t + d * x->i.d;
    return (cplx){kept(x, p[0]), x->complex_i ? p[x->im] : 0};
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

static inline void add_i(const seq *x, const out *v, ptrdiff_t t, ptrdiff_t d, cplx g)
{
    out im = *v;
    add(v, t, 0, d, g.re);
    if (!x->complex_i || v->p == NULL) return;
    im.p += x->im;
    add(&im, t, 0, d, g.im);
}

/* Numbers of a memory: a plane, or two. */
static inline cplx get(const seq *x, const real *m, ptrdiff_t j)
{
    return (cplx){m[j], x->is_complex ? m[x->K * x->D + j] : 0};
}

static inline void put(const seq *x, real *m, ptrdiff_t j, cplx v)
{
    m[j] = v.re;
    if (x->is_complex) m[x->K * x->D + j] = v.im;
}

/* e and s at one place. */
static inline cplx e_at(const seq *x, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    cplx v = at_complex(&x->e, x->complex_e, t, k, d);
    return (cplx){kept(x, v.re), v.im};
}

static inline cplx s_at(const seq *x, ptrdiff_t row, ptrdiff_t k, ptrdiff_t d)
{
    cplx v = at_complex(&x->s, x->complex_s, row, k, d);
    return (cplx){kept(x, v.re), v.im};
}

static inline cplx plus(cplx a, cplx b)
{
    return (cplx){a.re + b.re, a.im + b.im};
}

static inline cplx minus(cplx a, cplx b)
{
    return (cplx){a.re - b.re, a.im - b.im};
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
    real mag = kept(x, R_FN(exp)(log_size(x, t, k, d)));
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
    if (x->bf16) return R_(lcsm_bf16)(o) * m;
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
static cplx written(const seq *x, ptrdiff_t t, ptrdiff_t d, const real *w)
{
    cplx v = i_at(x, t, d);
    if (x->erase.p != NULL)
        for (ptrdiff_t k = 0; k < x->K; k++)
            v = minus(v, cplx_mul(at_complex(&x->erase, x->complex_erase, t, k, 0),
                                  get(x, w, k * x->D + d)));
    return v;
}

/* a and b of rank r at row k. */
static inline cplx a_at(const seq *x, ptrdiff_t t, ptrdiff_t r, ptrdiff_t k)
{
    return at_complex(&x->a, x->complex_a, t, r * x->K + k, 0);
}

static inline cplx b_at(const seq *x, ptrdiff_t t, ptrdiff_t r, ptrdiff_t k)
{
    return at_complex(&x->b, x->complex_b, t, r * x->K + k, 0);
}

/* u_r[d] = sum_k b_r[k] m[k,d], of the memory before the step; NULL is an empty one. */
static void read_low_rank(const seq *x, ptrdiff_t t, ptrdiff_t d, const real *m,
                          cplx u[LCSM_EOS_MAX_RANK])
{
    for (ptrdiff_t r = 0; r < x->rank; r++) {
        u[r] = (cplx){0, 0};
        for (ptrdiff_t k = 0; m != NULL && k < x->K; k++)
            u[r] = plus(u[r], cplx_mul(b_at(x, t, r, k), get(x, m, k * x->D + d)));
    }
}

/* m_t from m_{t-1}, which may be the same memory; w is scratch, left as w_t. */
static void step(const seq *x, ptrdiff_t t, const real *m_prev, real *w, real *m)
{
    bool empty = lcsm_resets_at(&x->resets, t);
    if (empty) memset(w, 0, R_(lcsm_eos_memory)(x) * sizeof(real));
    else oscillate(x, t, m_prev, w);
    for (ptrdiff_t d = 0; d < x->D; d++) {
        cplx v = written(x, t, d, w), u[LCSM_EOS_MAX_RANK];
        read_low_rank(x, t, d, empty ? NULL : m_prev, u);
        for (ptrdiff_t k = 0; k < x->K; k++) {
            ptrdiff_t j = k * x->D + d;
            cplx      e = e_at(x, t, k, d);
            cplx      z = plus(get(x, w, j), cplx_mul(e, v));
            for (ptrdiff_t r = 0; r < x->rank; r++) z = plus(z, cplx_mul(a_at(x, t, r, k), u[r]));
            put(x, m, j, (cplx){kept(x, z.re), z.im});
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

/* bonus[k], or 0 without one. */
static inline cplx bonus_at(const seq *x, ptrdiff_t k)
{
    if (x->bonus.p == NULL) return (cplx){0, 0};
    return at_complex(&x->bonus, x->complex_bonus, 0, k, 0);
}

/* sum_k bonus[k] s[k] e[k]: what of i_t column d reads before it is written. */
static cplx bonus_sum(const seq *x, ptrdiff_t t, ptrdiff_t row, ptrdiff_t d)
{
    cplx q = {0, 0};
    for (ptrdiff_t k = 0; x->bonus.p != NULL && k < x->K; k++) {
        cplx s = s_at(x, row, k, d);
        cplx e = e_at(x, t, k, d);
        q      = plus(q, cplx_mul(bonus_at(x, k), cplx_mul(s, e)));
    }
    return q;
}

/* y_t from the memory m that step t reads, NULL an empty one; s from its row. */
static void shrink(const seq *x, ptrdiff_t t, ptrdiff_t row, const real *m, real *y)
{
    for (ptrdiff_t d = 0; d < x->D; d++) {
        cplx sum = {0, 0};
        for (ptrdiff_t k = 0; m != NULL && k < x->K; k++)
            sum = plus(sum, cplx_mul(s_at(x, row, k, d), get(x, m, k * x->D + d)));
        if (x->bonus.p != NULL) sum = plus(sum, cplx_mul(bonus_sum(x, t, row, d), i_at(x, t, d)));
        if (x->complex_y) y[x->y_d * d + x->im] = x->scale * sum.im;
        y[x->y_d * d] = x->scale * sum.re;
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
        ptrdiff_t   row    = row_of(x, t);
        const real *before = lcsm_resets_at(&x->resets, t) ? NULL : m;
        if (row >= 0 && x->read_before) shrink(x, t, row, before, y + row * y_t);
        step(x, t, m, ws, m);
        if (row >= 0 && !x->read_before) shrink(x, t, row, m, y + row * y_t);
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

/* The gradient of column d of y before the scale. */
static inline cplx g_y_at(const seq *x, const real *g_y, ptrdiff_t d)
{
    if (!x->complex_y) return (cplx){x->scale * g_y[d], 0};
    return (cplx){x->scale * g_y[x->y_d * d], x->scale * g_y[x->y_d * d + x->im]};
}

/* Shrink: G += conj(s) g_y^T and the gradient of s, for the memory m that was read. */
static void shrink_bwd(const seq *x, const grads *g, ptrdiff_t row, const real *m, const real *g_y,
                       real *G)
{
    for (ptrdiff_t k = 0; k < x->K; k++)
        for (ptrdiff_t d = 0; d < x->D; d++) {
            ptrdiff_t j  = k * x->D + d;
            cplx      gy = g_y_at(x, g_y, d), s = s_at(x, row, k, d);
            put(x, G, j, plus(get(x, G, j), cplx_conj_mul(s, gy)));
            add_complex(&g->s, x->complex_s, row, k, d, cplx_conj_mul(get(x, m, j), gy));
        }
}

/* The bonus: gradients of i, s, e and of itself. */
static void bonus_bwd(const seq *x, const grads *g, ptrdiff_t t, ptrdiff_t row, const real *g_y)
{
    for (ptrdiff_t d = 0; x->bonus.p != NULL && d < x->D; d++) {
        cplx gy = g_y_at(x, g_y, d);
        cplx w  = cplx_conj_mul(i_at(x, t, d), gy);
        add_i(x, &g->i, t, d, cplx_conj_mul(bonus_sum(x, t, row, d), gy));
        for (ptrdiff_t k = 0; k < x->K; k++) {
            cplx s = s_at(x, row, k, d), z = bonus_at(x, k);
            cplx e = e_at(x, t, k, d);
            add_complex(&g->s, x->complex_s, row, k, d, cplx_conj_mul(cplx_mul(z, e), w));
            add_complex(&g->e, x->complex_e, t, k, d, cplx_conj_mul(cplx_mul(z, s), w));
            add_complex(&g->bonus, x->complex_bonus, 0, k, d, cplx_conj_mul(cplx_mul(s, e), w));
        }
    }
}

/* Expand and erase: gradients of e, i and erase, and G_t -> G'_t in place. */
static void expand_bwd(const seq *x, const grads *g, ptrdiff_t t, const real *w, real *G)
{
    ptrdiff_t K = x->K, D = x->D;
    for (ptrdiff_t d = 0; d < D; d++) {
        cplx v = written(x, t, d, w), g_i = {0, 0};
        for (ptrdiff_t k = 0; k < K; k++) {
            cplx e = e_at(x, t, k, d), Gj = get(x, G, k * D + d);
            g_i = plus(g_i, cplx_conj_mul(e, Gj));
            add_complex(&g->e, x->complex_e, t, k, d, cplx_conj_mul(v, Gj));
        }
        add_i(x, &g->i, t, d, g_i);
        if (x->erase.p == NULL) continue;
        for (ptrdiff_t k = 0; k < K; k++) {
            ptrdiff_t j   = k * D + d;
            cplx      k_  = at_complex(&x->erase, x->complex_erase, t, k, 0);
            cplx      g_k = cplx_conj_mul(get(x, w, j), g_i);
            add_complex(&g->erase, x->complex_erase, t, k, 0, (cplx){-g_k.re, -g_k.im});
            put(x, G, j, minus(get(x, G, j), cplx_conj_mul(k_, g_i)));
        }
    }
}

/* Low rank: gradients of a and b, and P += sum_r conj(b_r) g_u^T. */
static void low_rank_bwd(const seq *x, const grads *g, ptrdiff_t t, const real *m_prev,
                         const real *G, real *P)
{
    ptrdiff_t K = x->K, D = x->D;
    for (ptrdiff_t d = 0; d < D; d++) {
        cplx u[LCSM_EOS_MAX_RANK];
        read_low_rank(x, t, d, m_prev, u);
        for (ptrdiff_t r = 0; r < x->rank; r++) {
            cplx g_u = {0, 0};
            for (ptrdiff_t k = 0; k < K; k++) {
                cplx Gj = get(x, G, k * D + d);
                g_u     = plus(g_u, cplx_conj_mul(a_at(x, t, r, k), Gj));
                add_complex(&g->a, x->complex_a, t, r * K + k, 0, cplx_conj_mul(u[r], Gj));
            }
            for (ptrdiff_t k = 0; k < K; k++) {
                ptrdiff_t j = k * D + d;
                add_complex(&g->b, x->complex_b, t, r * K + k, 0,
                            cplx_conj_mul(get(x, m_prev, j), g_u));
                put(x, P, j, plus(get(x, P, j), cplx_conj_mul(b_at(x, t, r, k), g_u)));
            }
        }
    }
}

/* Scratch: m before and after each step of a cell, w_t, and the next G. */
static size_t bwd_scratch(const seq *x, ptrdiff_t C)
{
    return ((size_t)C + 3) * R_(lcsm_eos_memory)(x);
}

/* One step: G_t in g_m becomes G_{t-1}. m holds m_{t-1}, then m_t; w and next are scratch. */
static void bwd_step(const seq *x, ptrdiff_t t, const real *g_y, ptrdiff_t g_y_t, real *g_m,
                     const grads *g, const real *m, real *w, real *next)
{
    size_t    n     = R_(lcsm_eos_memory)(x);
    bool      empty = lcsm_resets_at(&x->resets, t);
    ptrdiff_t row   = row_of(x, t);
    if (empty) memset(w, 0, n * sizeof(real));
    else oscillate(x, t, m, w);
    if (row >= 0 && !x->read_before) shrink_bwd(x, g, row, m + n, g_y + row * g_y_t, g_m);
    if (row >= 0) bonus_bwd(x, g, t, row, g_y + row * g_y_t);
    if (empty) {
        expand_bwd(x, g, t, w, g_m);
        memset(g_m, 0, n * sizeof(real));
        return;
    }
    expand_bwd(x, g, t, w, g_m);
    oscillate_bwd(x, g, t, m, g_m, next);
    low_rank_bwd(x, g, t, m, g_m, next);
    if (row >= 0 && x->read_before) shrink_bwd(x, g, row, m, g_y + row * g_y_t, next);
    memcpy(g_m, next, n * sizeof(real));
}

static void bwd_cell(const seq *x, ptrdiff_t t0, ptrdiff_t t1, const real *g_y, ptrdiff_t g_y_t,
                     real *g_m, const grads *g, const real *tape, real *ws)
{
    size_t n = R_(lcsm_eos_memory)(x);
    real  *w = ws, *next = ws + n, *m = ws + 2 * n;
    memcpy(m, tape, n * sizeof(real));
    for (ptrdiff_t t = t0; t < t1; t++)
        step(x, t, m + (size_t)(t - t0) * n, w, m + (size_t)(t - t0 + 1) * n);
    for (ptrdiff_t t = t1 - 1; t >= t0; t--)
        bwd_step(x, t, g_y, g_y_t, g_m, g, m + (size_t)(t - t0) * n, w, next);
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
