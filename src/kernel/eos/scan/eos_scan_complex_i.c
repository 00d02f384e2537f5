/*
 * eos_scan_complex_i.c - the scan of complex inputs and outputs, as S5 and complex HGRN have them:
 * vectors of columns, the memory in the first cache from step to step.
 *
 *     m_t = o_t m_{t-1} + e_t i_t          y_t = scale s_t m_t, summed over rows
 *
 * Any factors of o but a generated one. What is static in o is computed before, planes of (K, D).
 * Backward, with G the gradient of m_t and c() the conjugate:
 *
 *     G += c(s) g_y     g_s = c(m_t) g_y     g_i = c(e) G     g_e = c(i) G
 *     g_log + i g_phase = c(o m_{t-1}) G     G <- c(o) G
 *
 * m_{t-1} of a cell is computed again from the tape, or is y_{t-1} itself where s and scale are 1.
 * Then, if columns lie beside each other and the factors of o by token are one magnitude at most,
 * the loops ask nothing (a plain task).
 */
#include "kernel/eos/scan/eos_scan_tile.h"
#include "kernel/vecmath.h"
#include "kernel/vecpair.h"

/* The memory, G and sums are planes of (K, D), the imaginary one `plane` further. */
typedef struct {
    const seq  *x;
    ptrdiff_t   plane;
    bool        one;               /* K, e and s are 1 */
    bool        plain;             /* and the loops below for that serve */
    const view *mag[3], *phase[3]; /* the factors of o by token, and how many */
    int         mags, phases;
    real       *o;   /* the product of the static factors */
    real       *m;   /* backward: memories of a cell, from before its first step on */
    real       *sum; /* backward: of g_log and g_phase over a cell */
} task;

static task plan(const seq *x, ptrdiff_t C, bool back, real *ws, size_t *used)
{
    pieces p = {.base = ws};
    task   k = {.x = x, .plane = x->K * x->D};
    size_t n = 2 * (size_t)k.plane;
    k.o      = carve(&p, n);
    k.m      = back ? carve(&p, n * (size_t)(C + 1)) : NULL;
    k.sum    = back ? carve(&p, n) : NULL;
    *used    = taken_reals(&p);
    return k;
}

size_t K_(lcsm_scan_complex_i_scratch)(const seq *x, ptrdiff_t C, bool back)
{
    size_t used;
    (void)plan(x, C, back, NULL, &used);
    return used;
}

VEC_INLINE pair cis(vec log, vec phase)
{
    vec s, c, size = vexp(log);
    vsincos(phase, &s, &c);
    return (pair){size * c, size * s};
}

VEC_INLINE vec sum_of(const seq *x, const view *const *v, int n, ptrdiff_t t, ptrdiff_t k,
                      ptrdiff_t d)
{
    vec sum = vzero();
    for (int j = 0; j < n; j++) sum += view_load(x, v[j], t, k, d);
    return sum;
}

VEC_INLINE pair get(const real *p, ptrdiff_t im, ptrdiff_t n)
{
    return (pair){vload_m(p, n), vload_m(p + im, n)};
}

VEC_INLINE void put(real *p, ptrdiff_t im, pair v, ptrdiff_t n)
{
    vstore_m(p, v.re, n);
    vstore_m(p + im, v.im, n);
}

static bool is_one(const view *v, bool complex)
{
    return v->t == 0 && v->d == 0 && v->p[0] == 1 && (!complex || v->p[1] == 0);
}

/* The views by token in front, the static ones after them; how many are by token. */
static int by_token(const view *const from[3], const view *to[3], int *all)
{
    int n = 0;
    for (int j = 0; j < 3; j++)
        if (is_token(from[j])) to[n++] = from[j];
    *all = n;
    for (int j = 0; j < 3; j++)
        if (is_still(from[j])) to[(*all)++] = from[j];
    return n;
}

/* A task of which K, e and s are 1, and whose o by token is exp of one row of columns. */
static bool is_plain(const task *k, int mags)
{
    const seq *x     = k->x;
    bool       token = k->mags > 0;
    if (!k->one || x->i.d != 1 || x->y_d != 1 || k->phases > 0) return false;
    return !token || (mags == 1 && k->mag[0]->d == 1);
}

static void prepare(task *k)
{
    const seq        *x        = k->x;
    const view *const mags[]   = {&x->row, &x->col, &x->full};
    const view *const phases[] = {&x->row_phase, &x->col_phase, &x->full_phase};
    int               all, turns;
    k->mags   = by_token(mags, k->mag, &all);
    k->phases = by_token(phases, k->phase, &turns);
    k->one    = x->K == 1 && x->scale == 1 && is_one(&x->e, x->complex_e)
          && is_one(&x->s, x->complex_s) && x->complex_i && x->complex_y;
    k->plain = is_plain(k, all);
    for (ptrdiff_t r = 0; r < x->K; r++)
        for (ptrdiff_t d = 0; d < x->D; d += VW)
            put(k->o + r * x->D + d, k->plane,
                cis(sum_of(x, k->mag + k->mags, all - k->mags, 0, r, d),
                    sum_of(x, k->phase + k->phases, turns - k->phases, 0, r, d)),
                x->D - d);
}

VEC_INLINE pair o_at(const task *k, bool token, ptrdiff_t t, ptrdiff_t r, ptrdiff_t d)
{
    pair o = get(k->o + r * k->x->D + d, k->plane, k->x->D - d);
    if (!token) return o;
    vec log = sum_of(k->x, k->mag, k->mags, t, r, d);
    if (k->phases > 0) return pair_mul(o, cis(log, sum_of(k->x, k->phase, k->phases, t, r, d)));
    vec size = vexp(log);
    return (pair){o.re * size, o.im * size};
}

/* VW columns of an operand whose imaginary part may be there, `im` further. */
VEC_INLINE pair operand(const seq *x, const view *v, bool complex, ptrdiff_t im, ptrdiff_t t,
                        ptrdiff_t r, ptrdiff_t d)
{
    view part = *v;
    part.p += im;
    return (pair){view_load(x, v, t, r, d), complex ? view_load(x, &part, t, r, d) : vzero()};
}

VEC_INLINE pair input(const seq *x, ptrdiff_t t, ptrdiff_t d)
{
    return operand(x, &x->i, x->complex_i, x->im, t, 0, d);
}

/* Columns of y or its gradient, as x->complex_y says. */
VEC_INLINE pair row_get(const seq *x, const real *y, ptrdiff_t d)
{
    view v = {y, 0, 0, x->complex_y ? x->y_d : 1};
    return operand(x, &v, x->complex_y, x->im, 0, 0, d);
}

VEC_INLINE void row_put(const seq *x, real *y, ptrdiff_t d, pair v)
{
    out re = {.p = y, .d = x->complex_y ? x->y_d : 1, .set = true}, im = re;
    im.p += x->im;
    out_add(x, &re, 0, 0, d, v.re);
    if (x->complex_y) out_add(x, &im, 0, 0, d, v.im);
}

/* m_t of row r from m_{t-1}. */
VEC_INLINE pair advance(const task *k, bool one, bool token, ptrdiff_t t, ptrdiff_t r, ptrdiff_t d,
                        pair i, const real *m)
{
    const seq *x = k->x;
    pair       v = pair_mul(o_at(k, token, t, r, d), get(m + r * x->D + d, k->plane, x->D - d));
    if (one) return pair_add(v, i);
    return pair_add(v, pair_mul(operand(x, &x->e, x->complex_e, 1, t, r, d), i));
}

VEC_INLINE void step(const task *k, bool one, bool token, ptrdiff_t t, const real *from, real *to,
                     real *y)
{
    const seq *x = k->x;
    for (ptrdiff_t d = 0; d < x->D; d += VW) {
        pair i = input(x, t, d), sum = {vzero(), vzero()};
        for (ptrdiff_t r = 0; r < (one ? 1 : x->K); r++) {
            pair m = advance(k, one, token, t, r, d, i, from);
            put(to + r * x->D + d, k->plane, m, x->D - d);
            if (one) sum = m;
            else sum = pair_add(sum, pair_mul(operand(x, &x->s, x->complex_s, 1, t, r, d), m));
        }
        if (y != NULL) row_put(x, y, d, one ? sum : pair_scale(sum, x->scale));
    }
}

static void take_step(const task *k, ptrdiff_t t, const real *from, real *to, real *y)
{
    if (k->one && k->mags + k->phases > 0) step(k, true, true, t, from, to, y);
    else if (k->one) step(k, true, false, t, from, to, y);
    else step(k, false, true, t, from, to, y);
}

/* ---- plain tasks ------------------------------------------------------------------------ */

/* o of VW columns, of which n exist; log: of the step, or NULL. */
VEC_INLINE pair plain_o(const task *k, const real *log, ptrdiff_t d, ptrdiff_t n)
{
    pair o = get(k->o + d, k->plane, n);
    if (log == NULL) return o;
    vec size = vexp(vload_m(log + d, n));
    return (pair){o.re * size, o.im * size};
}

static const real *plain_log(const task *k, ptrdiff_t t)
{
    return k->mags == 0 ? NULL : k->mag[0]->p + t * k->mag[0]->t;
}

/* y_t from y_{t-1}, or the memory `before` the first step: its imaginary part is `im` further. */
VEC_INLINE void plain_step(const task *k, const real *i, const real *log, const real *before,
                           ptrdiff_t im, real *y)
{
    for (ptrdiff_t d = 0; d < k->plane; d += VW) {
        ptrdiff_t n = k->plane - d;
        pair      v = pair_mul(plain_o(k, log, d, n), get(before + d, im, n));
        put(y + d, k->x->im, pair_add(v, get(i + d, k->x->im, n)), n);
    }
}

static void plain_fwd(const task *k, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape)
{
    const seq  *x     = k->x;
    ptrdiff_t   im    = k->plane;
    size_t      plane = (size_t)k->plane, bytes = plane * sizeof(real);
    const real *before = m;
    for (ptrdiff_t t = 0; t < x->T; t++, y += y_t) {
        const real *i = x->i.p + t * x->i.t, *log = plain_log(k, t);
        if (tape != NULL && t % C == 0) {
            memcpy(tape + (size_t)(t / C) * 2 * plane, before, bytes);
            memcpy(tape + (size_t)(t / C) * 2 * plane + plane, before + im, bytes);
        }
        if (lcsm_resets_at(&x->resets, t)) {
            memset(m, 0, 2 * bytes);
            before = m;
            im     = k->plane;
        }
        if (log == NULL) plain_step(k, i, NULL, before, im, y);
        else plain_step(k, i, log, before, im, y);
        before = y;
        im     = x->im;
    }
    if (before == m) return;
    memcpy(m, before, bytes);
    memcpy(m + plane, before + im, bytes);
}

/* Where the gradients of a step go: of i, and of the magnitude by token; or NULL. */
typedef struct {
    real *i, *log;
    bool  set_i, set_log;
} plain_out;

VEC_INLINE void plain_back_step(const task *k, const real *log, const real *before, ptrdiff_t im,
                                const real *g_y, real *G, const plain_out *to)
{
    const ptrdiff_t D = k->plane, across = k->x->im;
    for (ptrdiff_t d = 0; d < D; d += VW) {
        ptrdiff_t n = D - d;
        pair      o = plain_o(k, log, d, n), sum = get(k->sum + d, D, n);
        pair      v = pair_add(get(G + d, D, n), get(g_y + d, across, n));
        pair      c = pair_conj_mul(pair_mul(o, get(before + d, im, n)), v);
        put(G + d, D, pair_conj_mul(o, v), n);
        if (to->i != NULL) {
            vput_m(to->i + d, v.re, n, !to->set_i);
            vput_m(to->i + d + across, v.im, n, !to->set_i);
        }
        if (log == NULL) put(k->sum + d, D, pair_add(sum, c), n);
        else vstore_m(k->sum + D + d, sum.im + c.im, n);
        if (log != NULL && to->log != NULL) vput_m(to->log + d, c.re, n, !to->set_log);
    }
}

/* The gradient of the magnitude by token. */
static const out *log_out(const task *k, const grads *g)
{
    const seq *x = k->x;
    if (k->mags == 0) return NULL;
    return k->mag[0] == &x->row ? &g->row : k->mag[0] == &x->col ? &g->col : &g->full;
}

/* Whether the gradients of a plain task are where its loops put them. */
static bool plain_serves(const task *k, const grads *g)
{
    const out *log = log_out(k, g);
    bool       i = g->i.p == NULL || g->i.d == 1, l = log == NULL || log->p == NULL || log->d == 1;
    return k->plain && i && l && g->e.p == NULL && g->s.p == NULL;
}

static void plain_back(const task *k, const grads *g, ptrdiff_t t, const real *before, ptrdiff_t im,
                       const real *g_y, real *G)
{
    const out *log_to = log_out(k, g);
    plain_out  to     = {.i = g->i.p == NULL ? NULL : g->i.p + t * g->i.t, .set_i = g->i.set};
    if (log_to != NULL && log_to->p != NULL) {
        to.log     = log_to->p + t * log_to->t;
        to.set_log = log_to->set;
    }
    const real *log = plain_log(k, t);
    if (log == NULL) plain_back_step(k, NULL, before, im, g_y, G, &to);
    else plain_back_step(k, log, before, im, g_y, G, &to);
}

/* ---- passes ----------------------------------------------------------------------------- */

void K_(lcsm_scan_complex_i_fwd)(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t,
                                 real *tape, real *ws)
{
    size_t used, n = R_(lcsm_eos_memory)(x);
    task   k = plan(x, C, false, ws, &used);
    prepare(&k);
    if (k.plain && y != NULL) {
        plain_fwd(&k, C, m, y, y_t, tape);
        return;
    }
    for (ptrdiff_t t = 0; t < x->T; t++) {
        if (tape != NULL && t % C == 0) memcpy(tape + (size_t)(t / C) * n, m, n * sizeof(real));
        if (lcsm_resets_at(&x->resets, t)) memset(m, 0, n * sizeof(real));
        take_step(&k, t, m, m, y + t * y_t);
    }
}

/* Adds a complex gradient; the imaginary parts lie `im` further. */
VEC_INLINE void add_pair(const seq *x, const out *to, bool complex, ptrdiff_t im, ptrdiff_t t,
                         ptrdiff_t r, ptrdiff_t d, pair g)
{
    if (to->p == NULL) return;
    out_add(x, to, t, r, d, g.re);
    if (!complex) return;
    out part = out_part(to, (int)im);
    out_add(x, &part, t, r, d, g.im);
}

/* Gradients of the factors of o by token. */
VEC_INLINE void add_token(const seq *x, const grads *g, ptrdiff_t t, ptrdiff_t r, ptrdiff_t d,
                          pair c)
{
    const out *const mags[]   = {&g->row, &g->col, &g->full};
    const out *const phases[] = {&g->row_phase, &g->col_phase, &g->full_phase};
    for (int j = 0; j < 3; j++) {
        if (mags[j]->sum == NULL) out_add(x, mags[j], t, r, d, c.re);
        if (phases[j]->sum == NULL) out_add(x, phases[j], t, r, d, c.im);
    }
}

/* Those of static factors, from the sums of a cell. */
static void add_static(const task *k, const grads *g)
{
    const seq       *x        = k->x;
    const out *const mags[]   = {&g->row, &g->col, &g->full};
    const out *const phases[] = {&g->row_phase, &g->col_phase, &g->full_phase};
    for (ptrdiff_t r = 0; r < x->K; r++)
        for (ptrdiff_t d = 0; d < x->D; d += VW) {
            pair c = get(k->sum + r * x->D + d, k->plane, x->D - d);
            for (int j = 0; j < 3; j++) {
                if (mags[j]->sum != NULL) out_add(x, mags[j], 0, r, d, c.re);
                if (phases[j]->sum != NULL) out_add(x, phases[j], 0, r, d, c.im);
            }
        }
}

/* Row r of step t: before is m_{t-1}, NULL an empty one. */
VEC_INLINE pair back_row(const task *k, bool one, bool token, const grads *g, ptrdiff_t t,
                         ptrdiff_t r, ptrdiff_t d, const real *before, ptrdiff_t im, pair i,
                         pair gy, real *G)
{
    const seq *x = k->x;
    ptrdiff_t  n = x->D - d, at = r * x->D + d;
    pair       v = get(G + at, k->plane, n), o, w = {vzero(), vzero()};
    pair       e = one ? w : operand(x, &x->e, x->complex_e, 1, t, r, d);
    pair       s = one ? w : operand(x, &x->s, x->complex_s, 1, t, r, d);
    v            = pair_add(v, one ? gy : pair_conj_mul(s, gy));
    if (before != NULL) {
        o = o_at(k, token, t, r, d);
        w = pair_mul(o, get(before + at, im, n));
    }
    if (!one && g->s.p != NULL) {
        pair m = pair_add(w, pair_mul(e, i));
        add_pair(x, &g->s, x->complex_s, 1, t, r, d, pair_conj_mul(m, gy));
    }
    if (g->e.p != NULL) add_pair(x, &g->e, x->complex_e, 1, t, r, d, pair_conj_mul(i, v));
    pair c = pair_conj_mul(w, v), back = {vzero(), vzero()};
    add_token(x, g, t, r, d, c);
    put(k->sum + at, k->plane, pair_add(get(k->sum + at, k->plane, n), c), n);
    if (before != NULL) back = pair_conj_mul(o, v);
    put(G + at, k->plane, back, n);
    return one ? v : pair_conj_mul(e, v);
}

VEC_INLINE void back_step(const task *k, bool one, bool token, const grads *g, ptrdiff_t t,
                          const real *before, ptrdiff_t im, const real *g_y, real *G)
{
    const seq *x = k->x;
    for (ptrdiff_t d = 0; d < x->D; d += VW) {
        pair none = {vzero(), vzero()};
        pair gy = row_get(x, g_y, d), i = one && g->e.p == NULL ? none : input(x, t, d), g_i = none;
        if (!one) gy = pair_scale(gy, x->scale);
        for (ptrdiff_t r = 0; r < (one ? 1 : x->K); r++)
            g_i = pair_add(g_i, back_row(k, one, token, g, t, r, d, before, im, i, gy, G));
        add_pair(x, &g->i, x->complex_i, x->im, t, 0, d, g_i);
    }
}

static void take_step_back(const task *k, const grads *g, ptrdiff_t t, const real *before,
                           ptrdiff_t im, const real *g_y, real *G)
{
    if (k->one && k->mags + k->phases > 0) back_step(k, true, true, g, t, before, im, g_y, G);
    else if (k->one) back_step(k, true, false, g, t, before, im, g_y, G);
    else back_step(k, false, true, g, t, before, im, g_y, G);
}

/* The memories before the steps t0 .. t1 - 1, one after the other. */
static void recall(const task *k, ptrdiff_t t0, ptrdiff_t t1, const real *tape)
{
    size_t n = R_(lcsm_eos_memory)(k->x);
    memcpy(k->m, tape, n * sizeof(real));
    for (ptrdiff_t t = t0; t + 1 < t1; t++) {
        real *m = k->m + (size_t)(t - t0) * n;
        if (lcsm_resets_at(&k->x->resets, t)) memset(m, 0, n * sizeof(real));
        take_step(k, t, m, m + n, NULL);
    }
}

void K_(lcsm_scan_complex_i_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                                 const real *g_y, ptrdiff_t g_y_t, real *g_m, const grads *g,
                                 const real *tape, real *ws)
{
    size_t used, n = R_(lcsm_eos_memory)(x);
    task   k = plan(x, C, true, ws, &used);
    prepare(&k);
    bool known = k.one && y != NULL && x->y_d == 1, plain = known && plain_serves(&k, g);
    for (ptrdiff_t t0 = (x->T - 1) / C * C; t0 >= 0; t0 -= C) {
        ptrdiff_t   t1   = t0 + C < x->T ? t0 + C : x->T;
        const real *cell = tape + (size_t)(t0 / C) * n;
        if (!known) recall(&k, t0, t1, cell);
        memset(k.sum, 0, n * sizeof(real));
        for (ptrdiff_t t = t1 - 1; t >= t0; t--) {
            const real *before = known ? y + (t - 1) * y_t : k.m + (size_t)(t - t0) * n;
            ptrdiff_t   im     = known && t > t0 ? x->im : k.plane;
            if (t == t0) before = cell;
            if (lcsm_resets_at(&x->resets, t)) before = NULL;
            if (plain && before != NULL) plain_back(&k, g, t, before, im, g_y + t * g_y_t, g_m);
            else take_step_back(&k, g, t, before, im, g_y + t * g_y_t, g_m);
        }
        add_static(&k, g);
    }
}
