/*
 * conv.c - the short convolution on vectors of channels.
 *
 * Filters are turned first, so that a tap is a row. Where no sequence begins, filters of 2 to 4
 * taps take four steps at a time: a block of a few rows of x, once loaded, gives four results, and
 * in backward four steps of the filters' gradients. All else goes step by step. Backward runs from
 * the last step to the first and keeps dL/dz of the W - 1 steps after the current one.
 */
#include "kernel/conv/conv.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_conv) conv;

enum { STEPS = 4, MAX_TAPS = 4 };

static void turn(const conv *c, real *wt)
{
    for (ptrdiff_t d = 0; d < c->D; d++)
        for (ptrdiff_t j = 0; j < c->W; j++) wt[j * c->D + d] = c->w[d * c->w_d + j];
}

/* Whether steps t .. t + STEPS - 1 see nothing but tokens of x, all of one sequence. */
static bool is_block(const conv *c, ptrdiff_t t)
{
    if (c->W < 2 || c->W > MAX_TAPS || t < c->W - 1) return false;
    for (ptrdiff_t s = t - c->W + 2; s < t + STEPS; s++)
        if (lcsm_resets_at(&c->resets, s)) return false;
    return true;
}

/* m <= VW channels from d on of `rows` rows. */
VEC_INLINE void load_rows(int rows, const real *p, ptrdiff_t step, ptrdiff_t d, ptrdiff_t m,
                          vec *to)
{
    for (int r = 0; r < rows; r++) to[r] = vload_m(p + r * step + d, m);
}

VEC_INLINE vec bias(const conv *c, ptrdiff_t d, ptrdiff_t m)
{
    return c->b != NULL ? vload_m(c->b + d, m) : vzero();
}

/* z of a step whose oldest token is x[0]. */
VEC_INLINE vec filter(int W, const vec *w, const vec *x, vec z)
{
    for (int j = 0; j < W; j++) z += w[j] * x[j];
    return z;
}

/* z_t of m channels, with as many taps as the sequence has tokens. */
VEC_INLINE vec filter_seen(const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t seen, ptrdiff_t d,
                           ptrdiff_t m)
{
    vec z = bias(c, d, m);
    for (ptrdiff_t a = 0; a < seen; a++) {
        const real *x = R_(lcsm_conv_input)(c, t - a);
        if (x == NULL) break;
        z += vload_m(wt + (c->W - 1 - a) * c->D + d, m) * vload_m(x + d, m);
    }
    return z;
}

/* The body for whole vectors of channels, and once for what is left. */
#define EACH_VECTOR(body)                                                                          \
    do {                                                                                           \
        ptrdiff_t d = 0;                                                                           \
        for (; d + VW <= c->D; d += VW) body(VW);                                                  \
        if (d < c->D) body(c->D - d);                                                              \
    } while (0)

/* ---- forward ---- */

VEC_INLINE vec result(const conv *c, vec z)
{
    return c->silu ? z * vsigmoid(z) : z;
}

VEC_INLINE void forward_block(int W, const conv *c, const real *wt, ptrdiff_t t, ptrdiff_t d,
                              ptrdiff_t m, real *y, ptrdiff_t y_t)
{
    vec w[MAX_TAPS], x[MAX_TAPS + STEPS - 1], b = bias(c, d, m);
    load_rows(W, wt, c->D, d, m, w);
    load_rows(W + STEPS - 1, c->x + (t - W + 1) * c->x_t, c->x_t, d, m, x);
    for (int i = 0; i < STEPS; i++)
        vstore_m(y + (t + i) * y_t + d, result(c, filter(W, w, x + i, b)), m);
}

static void forward_steps(const conv *c, const real *wt, ptrdiff_t t, real *y, ptrdiff_t y_t)
{
#define BODY2(m) forward_block(2, c, wt, t, d, m, y, y_t)
#define BODY3(m) forward_block(3, c, wt, t, d, m, y, y_t)
#define BODY4(m) forward_block(4, c, wt, t, d, m, y, y_t)
    if (c->W == 2) EACH_VECTOR(BODY2);
    if (c->W == 3) EACH_VECTOR(BODY3);
    if (c->W == 4) EACH_VECTOR(BODY4);
}

static void forward_step(const conv *c, const real *wt, ptrdiff_t t, real *y)
{
    ptrdiff_t seen = R_(lcsm_conv_seen)(c, t);
#define BODY(m) vstore_m(y + d, result(c, filter_seen(c, wt, t, seen, d, m)), m)
    EACH_VECTOR(BODY);
#undef BODY
}

static void forward(const conv *c, ptrdiff_t t0, ptrdiff_t t1, real *y, ptrdiff_t y_t, real *wt)
{
    if (!c->turned) turn(c, wt);
    for (ptrdiff_t t = t0; t < t1;) {
        if (t + STEPS <= t1 && is_block(c, t)) {
            forward_steps(c, wt, t, y, y_t);
            t += STEPS;
        } else {
            forward_step(c, wt, t, y + t * y_t);
            t++;
        }
    }
}

/* ---- backward ---- */

/* The rows of ws, D wide: filters, their gradients, dL/dz of the W - 1 steps that follow; and where
 * the results go. */
typedef struct {
    const real *wt, *g_y;
    real       *gw, *next, *g_x, *g_b;
    ptrdiff_t   g_y_t, g_x_t;
    bool        add;
} desk;

/* dL/dz from dL/dy: silu'(z) = s + z s (1 - s). */
VEC_INLINE vec g_pre(const conv *c, vec z, vec g)
{
    if (!c->silu) return g;
    vec s = vsigmoid(z);
    return g * (s + z * s * (1 - s));
}

VEC_INLINE void backward_block(int W, const conv *c, const desk *k, ptrdiff_t t, ptrdiff_t d,
                               ptrdiff_t m)
{
    vec w[MAX_TAPS], x[MAX_TAPS + STEPS - 1], g[MAX_TAPS + STEPS - 1], b = bias(c, d, m);
    vec g_b = vzero();
    load_rows(W, k->wt, c->D, d, m, w);
    load_rows(W + STEPS - 1, c->x + (t - W + 1) * c->x_t, c->x_t, d, m, x);
    load_rows(W - 1, k->next, c->D, d, m, g + STEPS);
    for (int i = 0; i < STEPS; i++) {
        g[i] = g_pre(c, filter(W, w, x + i, b), vload_m(k->g_y + (t + i) * k->g_y_t + d, m));
        g_b += g[i];
    }
    for (int i = 0; i < STEPS && k->g_x != NULL; i++) {
        vec sum = vzero();
        for (int a = 0; a < W; a++) sum += w[W - 1 - a] * g[i + a];
        vput_m(k->g_x + (t + i) * k->g_x_t + d, sum, m, k->add);
    }
    for (int j = 0; j < W; j++) {
        vec sum = vload_m(k->gw + j * c->D + d, m);
        for (int i = 0; i < STEPS; i++) sum += g[i] * x[i + j];
        vstore_m(k->gw + j * c->D + d, sum, m);
    }
    for (int a = 0; a < W - 1; a++) vstore_m(k->next + a * c->D + d, g[a], m);
    if (k->g_b != NULL) vput_m(k->g_b + d, g_b, m, true);
}

static void backward_steps(const conv *c, const desk *k, ptrdiff_t t)
{
#define BACK2(m) backward_block(2, c, k, t, d, m)
#define BACK3(m) backward_block(3, c, k, t, d, m)
#define BACK4(m) backward_block(4, c, k, t, d, m)
    if (c->W == 2) EACH_VECTOR(BACK2);
    if (c->W == 3) EACH_VECTOR(BACK3);
    if (c->W == 4) EACH_VECTOR(BACK4);
}

/* One step of m channels. `inside` the range it has results; after it, it only fills `next`. */
VEC_INLINE void backward_part(const conv *c, const desk *k, ptrdiff_t t, ptrdiff_t seen,
                              ptrdiff_t d, ptrdiff_t m, bool inside)
{
    vec z = c->silu ? filter_seen(c, k->wt, t, seen, d, m) : vzero();
    vec g = g_pre(c, z, vload_m(k->g_y + t * k->g_y_t + d, m));
    if (inside && k->g_x != NULL) {
        vec sum = vload_m(k->wt + (c->W - 1) * c->D + d, m) * g;
        for (ptrdiff_t a = 1; a < c->W; a++)
            sum += vload_m(k->wt + (c->W - 1 - a) * c->D + d, m)
                 * vload_m(k->next + (a - 1) * c->D + d, m);
        vput_m(k->g_x + t * k->g_x_t + d, sum, m, k->add);
    }
    for (ptrdiff_t a = 0; a < seen && inside; a++) {
        const real *x = R_(lcsm_conv_input)(c, t - a);
        if (x == NULL) break;
        vput_m(k->gw + (c->W - 1 - a) * c->D + d, g * vload_m(x + d, m), m, true);
    }
    if (inside && k->g_b != NULL) vput_m(k->g_b + d, g, m, true);

    bool first = lcsm_resets_at(&c->resets, t); /* nothing before it is seen by what follows */
    for (ptrdiff_t a = c->W - 2; a >= 0; a--) {
        vec from = first ? vzero() : a > 0 ? vload_m(k->next + (a - 1) * c->D + d, m) : g;
        vstore_m(k->next + a * c->D + d, from, m);
    }
}

static void backward_step(const conv *c, const desk *k, ptrdiff_t t, bool inside)
{
    ptrdiff_t seen = R_(lcsm_conv_seen)(c, t);
#define BODY(m) backward_part(c, k, t, seen, d, m, inside)
    EACH_VECTOR(BODY);
#undef BODY
}

static void backward(const conv *c, ptrdiff_t t0, ptrdiff_t t1, const real *g_y, ptrdiff_t g_y_t,
                     real *g_x, ptrdiff_t g_x_t, bool add, real *g_w, real *g_b, real *ws)
{
    ptrdiff_t n = c->W * c->D, t = t1 + c->W - 1 < c->T ? t1 + c->W - 1 : c->T;
    desk      k = {ws, g_y, ws + n, ws + 2 * n, g_x, g_b, g_y_t, g_x_t, add};
    turn(c, ws);
    for (ptrdiff_t j = n; j < 3 * n; j++) ws[j] = 0;

    while (t > t0) {
        if (t <= t1 && t - STEPS >= t0 && is_block(c, t - STEPS)) {
            t -= STEPS;
            backward_steps(c, &k, t);
        } else {
            t--;
            backward_step(c, &k, t, t < t1);
        }
    }
    for (ptrdiff_t d = 0; d < c->D && g_w != NULL; d++)
        for (ptrdiff_t j = 0; j < c->W; j++) g_w[d * c->W + j] += k.gw[j * c->D + d];
}

const R_(lcsm_conv_kernels) K_(lcsm_conv_steps) = {forward, backward};
