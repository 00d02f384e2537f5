/* eos_mean_ref.c - the definition: one channel after the other. */
#include "kernel/eos/mean/eos_mean.h"

typedef struct {
    real p, q, o;
} memory;

static const memory EMPTY = {0, 0, LCSM_MEAN_EMPTY};

/* exp(a - max) and exp(b - max); the larger of the two is 1. */
static real shifted(real a, real b, real *ea, real *eb)
{
    real max = R_FN(fmax)(a, b);
    *ea      = R_FN(exp)(a - max);
    *eb      = R_FN(exp)(b - max);
    return max;
}

static real read(const memory *m, real uk, real v, real *log_den)
{
    real a, b, max = shifted(m->o, uk, &a, &b);
    real den = a * m->q + b;
    *log_den = max + R_FN(log)(den);
    return (a * m->p + b * v) / den;
}

/* Returns the factor by which the old p and q went in. */
static real write(memory *m, real w, real k, real v)
{
    real a, b;
    m->o = shifted(w + m->o, k, &a, &b);
    m->p = a * m->p + b * v;
    m->q = a * m->q + b;
    return a;
}

static void forward(const R_(lcsm_eos_mean) *x, R_(lcsm_eos_mean_memory) s, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t d = 0; d < x->D; d++) {
        memory m = {s.p[d], s.q[d], s.o[d]};
        for (ptrdiff_t t = 0; t < x->T; t++) {
            real k = x->k[t * x->k_t + d], v = x->v[t * x->v_t + d], log_den;
            if (lcsm_resets_at(&x->resets, t)) m = EMPTY;
            y[t * y_t + d] = read(&m, x->u[d] + k, v, &log_den);
            write(&m, x->w[d], k, v);
        }
        s.p[d] = m.p;
        s.q[d] = m.q;
        s.o[d] = m.o;
    }
}

/* The forward sweep: the gradient of w, and the logarithms of the denominators. */
static void sweep(const R_(lcsm_eos_mean) *x, memory m, const memory *after,
                  const R_(lcsm_eos_mean_grads) *g, ptrdiff_t d, real *log_den)
{
    real dp = 0, dq = 0, sum = 0;
    for (ptrdiff_t t = 0; t < x->T; t++) {
        real k = x->k[t * x->k_t + d], v = x->v[t * x->v_t + d], y = g->y[t * g->y_t + d];
        if (lcsm_resets_at(&x->resets, t)) m = EMPTY, dp = dq = 0;
        read(&m, x->u[d] + k, v, &log_den[t]);
        sum += g->g_y[t * g->g_y_t + d] * R_FN(exp)(m.o - log_den[t]) * (dp - y * dq);
        real p = m.p, q = m.q, a = write(&m, x->w[d], k, v);
        dp = a * (p + dp);
        dq = a * (q + dq);
    }
    g->g_w[d] += sum + R_FN(exp)(m.o + after->o) * (after->p * dp + after->q * dq);
}

static void put(real *p, real x, bool add)
{
    *p = add ? *p + x : x;
}

static void sweep_back(const R_(lcsm_eos_mean) *x, const R_(lcsm_eos_mean_grads) *g, ptrdiff_t d,
                       const real *log_den, memory *r)
{
    real gp = r->p, gq = r->q, O = r->o, sum = 0;
    for (ptrdiff_t t = x->T - 1; t >= 0; t--) {
        real k = x->k[t * x->k_t + d], v = x->v[t * x->v_t + d], L = log_den[t];
        real y = g->y[t * g->y_t + d], gy = g->g_y[t * g->g_y_t + d], old, now;
        real b = gy * R_FN(exp)(x->u[d] + k - L), a = R_FN(exp)(k + O);
        sum += b * (v - y);
        if (g->g_k != NULL)
            put(&g->g_k[t * g->g_k_t + d], b * (v - y) + a * (gp * v + gq), g->add_k);
        if (g->g_v != NULL) put(&g->g_v[t * g->g_v_t + d], b + a * gp, g->add_v);
        O  = shifted(x->w[d] + O, -L, &old, &now);
        gp = old * gp + now * gy;
        gq = old * gq - now * gy * y;
        if (lcsm_resets_at(&x->resets, t)) gp = gq = 0, O = LCSM_MEAN_EMPTY;
    }
    g->g_u[d] += sum;
    *r = (memory){gp, gq, O};
}

static void backward(const R_(lcsm_eos_mean) *x, R_(lcsm_eos_mean_memory) s,
                     R_(lcsm_eos_mean_memory) after, const R_(lcsm_eos_mean_grads) *g, real *ws)
{
    for (ptrdiff_t d = 0; d < x->D; d++) {
        memory r = {after.p[d], after.q[d], after.o[d]};
        sweep(x, (memory){s.p[d], s.q[d], s.o[d]}, &r, g, d, ws);
        sweep_back(x, g, d, ws, &r);
        after.p[d] = r.p;
        after.q[d] = r.q;
        after.o[d] = r.o;
    }
}

const R_(lcsm_eos_mean_kernels) K_(lcsm_eos_mean_steps) = {forward, backward};
