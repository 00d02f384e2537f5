/*
 * eos_conv.c - the EOS recurrence with static e, s and o, as a long convolution.
 *
 *     y_t = sum_r K_{t-r} i_r + scale Re(sum_k s o^{t+1} m_0)        K_l = scale Re(sum_k s e o^l)
 *     m_T = o^T m_0 + e sum_l i_{T-1-l} o^l
 *
 * Every gradient is a sum over steps of some sequence times powers of o, or a derivative of one by
 * o (eos_conv_power.h): g_K gives those of s, e and o; g_y those of s, m_0 and o; g_m_T the rest.
 * The tape holds m_0, and no more.
 */
#include "kernel/eos/conv/eos_conv.h"
#include "kernel/eos/conv/eos_conv_power.h"
#include "kernel/longconv/longconv.h"

typedef struct {
    powers w;
    real  *kernel, *i, *g_y, *g_kernel, *g_i; /* (T, Dv) */
    real  *other;                             /* (T, Dv): of the memory; NULL without one */
    real  *a[2], *q[2], *dq[2];               /* coefficients; sums and their derivatives */
    real  *g_e[2], *g_s[2], *g_o[2];
    real  *convolution; /* its scratch */
} work;

static void carve_pair(pieces *c, size_t size, bool is_complex, real *to[2])
{
    to[RE] = carve(c, size);
    to[IM] = is_complex ? carve(c, size) : NULL;
}

static size_t plan(work *job, const seq *x, bool backward, real *ws)
{
    pieces c = {.base = ws};
    K_(lcsm_powers_plan)(&job->w, x, &c);
    size_t size = (size_t)(job->w.Kp * job->w.Dv), line = (size_t)(x->T * job->w.Dv);
    job->kernel = carve(&c, line);
    job->i      = carve(&c, line);
    if (!x->fresh || !x->final) job->other = carve(&c, line);
    carve_pair(&c, size, x->is_complex, job->a);
    carve_pair(&c, size, x->is_complex, job->q);
    carve_pair(&c, size, x->is_complex, job->dq);
    if (backward) {
        job->g_y      = carve(&c, line);
        job->g_kernel = carve(&c, line);
        job->g_i      = carve(&c, line);
        carve_pair(&c, size, x->is_complex, job->g_e);
        carve_pair(&c, size, x->is_complex, job->g_s);
        carve_pair(&c, size, x->is_complex, job->g_o);
    }
    job->convolution = carve(&c, K_(lcsm_longconv_channels).scratch(x->T, x->T, x->D));
    return taken_reals(&c);
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    work job;
    (void)C;
    return plan(&job, x, false, NULL);
}

static size_t bwd_scratch(const seq *x, ptrdiff_t C)
{
    work job;
    (void)C;
    return plan(&job, x, true, NULL);
}

/* ---- operands at a place ----------------------------------------------------------------- */

static pair load_part(const seq *x, const view *v, bool is_complex, ptrdiff_t k, ptrdiff_t d)
{
    pair p = {view_load(x, v, 0, k, d), vzero()};
    if (is_complex) p.im = view_load(x, &(view){v->p + 1, v->t, v->k, v->d}, 0, k, d);
    return p;
}

static pair load_e(const seq *x, ptrdiff_t k, ptrdiff_t d)
{
    return load_part(x, &x->e, x->complex_e, k, d);
}

/* s times scale. */
static pair load_s(const seq *x, ptrdiff_t k, ptrdiff_t d)
{
    return pair_scale(load_part(x, &x->s, x->complex_s, k, d), x->scale);
}

/* A memory (K, D), planes one behind the other. */
static pair load_m(const seq *x, const real *m, ptrdiff_t k, ptrdiff_t d)
{
    pair p = {view_load(x, &(view){m, 0, x->D, 1}, 0, k, d), vzero()};
    if (x->is_complex) p.im = view_load(x, &(view){m + x->K * x->D, 0, x->D, 1}, 0, k, d);
    return p;
}

static void store_m(const seq *x, real *m, ptrdiff_t k, ptrdiff_t d, pair p)
{
    ptrdiff_t n = x->D - d < VW ? x->D - d : VW;
    if (k >= x->K) return;
    vstore_n(m + k * x->D + d, p.re, n);
    if (x->is_complex) vstore_n(m + (x->K + k) * x->D + d, p.im, n);
}

/* for each row k, VW columns from d and their place in the arrays */
#define EACH_PLACE(w)                                                                              \
    for (ptrdiff_t k = 0; k < (w)->Kp; k++)                                                        \
        for (ptrdiff_t d = 0, at = k * (w)->Dv; d < (w)->Dv; d += VW, at += VW)

static void lines_in(const powers *w, const view *v, real *to)
{
    for (ptrdiff_t t = 0; t < w->T; t++)
        for (ptrdiff_t d = 0; d < w->Dv; d += VW)
            vstore(to + t * w->Dv + d, view_load(w->p.x, v, t, 0, d));
}

/* ---- forward ----------------------------------------------------------------------------- */

/* The powers and the kernel, unless they are there: those of one head are the same in all
 * sequences. */
static void make_kernel(const work *job)
{
    const powers *w = &job->w;
    if (w->p.x->again) return;
    K_(lcsm_powers_fill)(w);
    EACH_PLACE(w)
    pair_store(job->a, at, pair_mul(load_s(w->p.x, k, d), load_e(w->p.x, k, d)));
    K_(lcsm_power_series)(w, job->a, job->kernel);
}

static R_(lcsm_longconv) convolution(const work *job)
{
    const powers *w = &job->w;
    return (R_(lcsm_longconv)){1, w->T, w->T, w->p.x->D, job->i, job->kernel, w->Dv, w->Dv};
}

/* y += scale Re(sum_k s o^{t+1} m_0) */
static void add_carried(const work *job, const real *m, real *y, ptrdiff_t y_t)
{
    const powers *w = &job->w;
    const seq    *x = w->p.x;
    EACH_PLACE(w)
    {
        pair o = pair_load(w->o, at);
        pair_store(job->a, at, pair_mul(pair_mul(load_s(x, k, d), o), load_m(x, m, k, d)));
    }
    K_(lcsm_power_series)(w, job->a, job->other);
    for (ptrdiff_t t = 0; t < w->T; t++)
        for (ptrdiff_t d = 0; d < x->D; d++) y[t * y_t + d] += job->other[t * w->Dv + d];
}

/* Sums of i from its last step to its first: what of it the memory holds at the end. */
static void sum_inputs(const work *job)
{
    const powers *w = &job->w;
    K_(lcsm_power_sums)(w, job->i + (w->T - 1) * w->Dv, -w->Dv, job->q, job->dq);
}

/* m_T in the place of m_0. */
static void end_memory(const work *job, real *m)
{
    const powers *w = &job->w;
    const seq    *x = w->p.x;
    sum_inputs(job);
    EACH_PLACE(w)
    {
        pair kept = pair_mul(K_(lcsm_power)(w, k, d, w->T), load_m(x, m, k, d));
        store_m(x, m, k, d, pair_add(kept, pair_mul(load_e(x, k, d), pair_load(job->q, at))));
    }
}

static bool is_zero(const real *m, size_t n)
{
    size_t j = 0;
    while (j < n && m[j] == 0) j++;
    return j == n;
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    unsigned      mode = vflush_begin();
    size_t        size = R_(lcsm_eos_memory)(x);
    work          job;
    const powers *w = &job.w;
    (void)C;
    plan(&job, x, false, ws);
    if (tape != NULL) memcpy(tape, m, size * sizeof(real));
    lines_in(w, &x->i, job.i);
    make_kernel(&job);
    R_(lcsm_longconv) c = convolution(&job);
    K_(lcsm_longconv_channels).fwd(&c, y, y_t, job.convolution);
    if (!x->fresh && !is_zero(m, size)) add_carried(&job, m, y, y_t);
    if (!x->final) end_memory(&job, m);
    vflush_end(mode);
}

/* ---- backward ---------------------------------------------------------------------------- */

/* g += conj(a) b */
static void add_conj(real *const g[2], ptrdiff_t at, pair a, pair b)
{
    pair_store(g, at, pair_add(pair_load(g, at), pair_mul(pair_conj(a), b)));
}

/* The gradient of m_T, to e, o and i; g_m becomes what of it reaches m_0 directly. */
static void bwd_memory(const work *job, const real *m, real *g_m)
{
    const powers *w = &job->w;
    const seq    *x = w->p.x;
    sum_inputs(job);
    EACH_PLACE(w)
    {
        pair g = load_m(x, g_m, k, d), e = load_e(x, k, d), m0 = load_m(x, m, k, d);
        pair kept = pair_scale(K_(lcsm_power)(w, k, d, w->T - 1), (real)w->T);
        add_conj(job->g_e, at, pair_load(job->q, at), g);
        add_conj(job->g_o, at, pair_add(pair_mul(kept, m0), pair_mul(e, pair_load(job->dq, at))),
                 g);
        pair_store(job->a, at, pair_mul(e, pair_conj(g)));
        store_m(x, g_m, k, d, pair_mul(pair_conj(K_(lcsm_power)(w, k, d, w->T)), g));
    }
    K_(lcsm_power_series)(w, job->a, job->other);
    for (ptrdiff_t l = 0; l < w->T; l++)
        for (ptrdiff_t d = 0; d < w->Dv; d += VW) {
            real *to = job->g_i + (w->T - 1 - l) * w->Dv + d;
            vstore(to, vload(to) + vload(job->other + l * w->Dv + d));
        }
}

/* The gradient of the carried part of y, to s, m_0 and o: with Q = sum_t g_y o^{t+1} = o q,
 * dQ/do = q + o dq. */
static void bwd_carried(const work *job, const real *m, real *g_m)
{
    const powers *w   = &job->w;
    const seq    *x   = w->p.x;
    const pair    one = {vset1(1), vzero()};
    K_(lcsm_power_sums)(w, job->g_y, w->Dv, job->q, job->dq);
    EACH_PLACE(w)
    {
        pair s = load_s(x, k, d), m0 = load_m(x, m, k, d), o = pair_load(w->o, at);
        pair q = pair_load(job->q, at), Q = pair_mul(o, q);
        pair dQ = pair_add(q, pair_mul(o, pair_load(job->dq, at)));
        add_conj(job->g_s, at, pair_scale(pair_mul(m0, Q), x->scale), one);
        add_conj(job->g_o, at, pair_mul(pair_mul(s, m0), dQ), one);
        store_m(x, g_m, k, d, pair_add(load_m(x, g_m, k, d), pair_conj(pair_mul(s, Q))));
    }
}

/* The gradient of the kernel, to s, e and o. */
static void bwd_kernel(const work *job)
{
    const powers *w   = &job->w;
    const seq    *x   = w->p.x;
    const pair    one = {vset1(1), vzero()};
    K_(lcsm_power_sums)(w, job->g_kernel, w->Dv, job->q, job->dq);
    EACH_PLACE(w)
    {
        pair s = load_s(x, k, d), e = load_e(x, k, d);
        pair q = pair_load(job->q, at), dq = pair_load(job->dq, at);
        add_conj(job->g_s, at, pair_scale(pair_mul(e, q), x->scale), one);
        add_conj(job->g_e, at, pair_mul(s, q), one);
        add_conj(job->g_o, at, pair_mul(pair_mul(s, e), dq), one);
    }
}

/* ---- gradients out ----------------------------------------------------------------------- */

static void give(const seq *x, const out *to, bool is_complex, ptrdiff_t k, ptrdiff_t d, pair g)
{
    if (to->p == NULL) return;
    out im = out_part(to, 1);
    out_add(x, to, 0, k, d, g.re);
    if (is_complex) out_add(x, &im, 0, k, d, g.im);
}

/* z = u w: a factor of log o, or o = f (1 - z). */
static void give_z(const powers *w, const grads *g, ptrdiff_t k, ptrdiff_t d, pair g_o, vec g_log)
{
    const seq *x = w->p.x;
    vec        u = view_load(x, &x->u, 0, k, d), v = view_load(x, &x->w, 0, k, d), g_z;
    if (x->gen == LCSM_GEN_COMPLEMENT)
        g_z = -pair_mul(pair_conj(K_(lcsm_power_other)(w, k, d)), g_o).re;
    else g_z = g_log * K_(lcsm_scan_slope)(x, u * v);
    out_add(x, &g->u, 0, k, d, g_z * v);
    out_add(x, &g->w, 0, k, d, g_z * u);
}

static void give_all(const work *job, const grads *g)
{
    const powers    *w        = &job->w;
    const seq       *x        = w->p.x;
    const out *const mags[]   = {&g->row, &g->col, &g->full};
    const out *const phases[] = {&g->row_phase, &g->col_phase, &g->full_phase};
    EACH_PLACE(w)
    {
        pair g_o = pair_load(job->g_o, at), turned = pair_mul(pair_conj(pair_load(w->o, at)), g_o);
        give(x, &g->e, x->complex_e, k, d, pair_load(job->g_e, at));
        give(x, &g->s, x->complex_s, k, d, pair_load(job->g_s, at));
        for (int f = 0; f < 3; f++) {
            out_add(x, mags[f], 0, k, d, turned.re);
            out_add(x, phases[f], 0, k, d, turned.im);
        }
        if (x->gen != LCSM_GEN_NONE) give_z(w, g, k, d, g_o, turned.re);
    }
    for (ptrdiff_t t = 0; t < w->T; t++)
        for (ptrdiff_t d = 0; d < w->Dv; d += VW)
            out_add(x, &g->i, t, 0, d, vload(job->g_i + t * w->Dv + d));
}

static void clear(real *const planes[2], size_t size)
{
    memset(planes[RE], 0, size * sizeof(real));
    if (planes[IM] != NULL) memset(planes[IM], 0, size * sizeof(real));
}

static void bwd(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    unsigned      mode = vflush_begin();
    work          job;
    const powers *w = &job.w;
    (void)C, (void)y, (void)y_t;
    plan(&job, x, true, ws);
    size_t size = (size_t)(w->Kp * w->Dv), line = (size_t)(w->T * w->Dv) * sizeof(real);
    clear(job.g_e, size);
    clear(job.g_s, size);
    clear(job.g_o, size);
    memset(job.g_kernel, 0, line);
    memset(job.g_i, 0, line);

    lines_in(w, &x->i, job.i);
    lines_in(w, &(view){g_y, g_y_t, 0, 1}, job.g_y);
    make_kernel(&job);
    R_(lcsm_longconv) c = convolution(&job);
    K_(lcsm_longconv_channels)
        .bwd(&c, job.g_y, w->Dv, job.g_i, w->Dv, job.g_kernel, w->Dv, job.convolution);
    if (!x->final) bwd_memory(&job, tape, g_m); /* else nothing comes from there */
    if (!x->fresh || !x->first) bwd_carried(&job, tape, g_m);
    bwd_kernel(&job);
    give_all(&job, g);
    vflush_end(mode);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_conv) = {fwd_scratch, bwd_scratch, fwd, bwd, false, false};
