/*
 * eos_chunk_frame.c - the frame of a chunk: its length, its decays, and the operands in it.
 * eos_chunk.h has the equations.
 */
#include "kernel/eos/eos_chunk.h"

typedef R_(lcsm_view)     view;
typedef R_(lcsm_eos_seq)  seq;
typedef lcsm_chunk_factor factor;

/* Steps whose decays are computed before the floor is looked at again. */
enum { LOOK_AHEAD = 8 };

/* ---- memory ----------------------------------------------------------------------------- */

real *K_(lcsm_chunk_take)(lcsm_chunk_arena *a, ptrdiff_t rows, ptrdiff_t cols)
{
    real *p = a->base == NULL ? NULL : a->base + a->used;
    a->used += ((size_t)rows * (size_t)cols + 15) / 16 * 16;
    return p;
}

static factor factor_open(const view *v, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t pad,
                          ptrdiff_t C, lcsm_chunk_arena *a)
{
    factor f = {.log = v->p, .t = v->t, .stride = stride, .width = width, .pad = pad};
    if (f.log == NULL) f.t = 0;
    f.up    = K_(lcsm_chunk_take)(a, C, pad);
    f.down  = K_(lcsm_chunk_take)(a, C, pad);
    f.first = K_(lcsm_chunk_take)(a, 1, pad);
    return f;
}

lcsm_chunk K_(lcsm_chunk_open)(const seq *x, ptrdiff_t C, lcsm_chunk_arena *a)
{
    lcsm_chunk c = {.x = x, .C = C < x->T ? C : x->T, .K = x->K, .D = x->D};
    c.Cp         = lcsm_vec_pad(c.C);
    c.Kp         = lcsm_vec_pad(c.K);
    c.R          = x->complex ? c.Kp + c.K : c.K;
    c.Rp         = x->complex ? 2 * c.Kp : c.Kp;
    c.panels     = (c.D + EOS_PANEL - 1) / EOS_PANEL;
    c.Dp         = c.panels * EOS_PANEL;

    c.row = factor_open(&x->row, x->row.k, c.K, c.Kp, c.C, a);
    if (x->col.p != NULL) c.col = factor_open(&x->col, x->col.d, c.D, c.Dp, c.C, a);
    if (x->complex) {
        c.cos = K_(lcsm_chunk_take)(a, c.C, c.Kp);
        c.sin = K_(lcsm_chunk_take)(a, c.C, c.Kp);
    }
    c.Q  = K_(lcsm_chunk_take)(a, c.C, c.Rp);
    c.E  = K_(lcsm_chunk_take)(a, c.C, c.Rp);
    c.ET = K_(lcsm_chunk_take)(a, c.Rp, c.Cp);
    c.P  = K_(lcsm_chunk_take)(a, c.C, c.Cp);
    if (x->erase.p != NULL) {
        c.N    = K_(lcsm_chunk_take)(a, c.C, c.Rp);
        c.L    = K_(lcsm_chunk_take)(a, c.C, c.Cp);
        c.junk = K_(lcsm_chunk_take)(a, 1, c.C);
    }
    c.decay = K_(lcsm_chunk_take)(a, 1, c.Rp);
    return c;
}

/* ---- decays ----------------------------------------------------------------------------- */

/* Row r of a factor: the product so far times exp(log), and its inverse. */
static void factor_row(factor *f, ptrdiff_t t, ptrdiff_t r, bool skip)
{
    real       *up = f->up + r * f->pad, *down = f->down + r * f->pad;
    const real *log = f->log == NULL ? NULL : f->log + (t + r) * f->t;
    vec         e   = vset1(1);
    for (ptrdiff_t j = 0; j < f->pad; j += VW) {
        if (log != NULL && !(skip && r == 0)) {
            if (f->stride != 0) e = vexp(lcsm_lanes(log + j, f->stride, f->width - j));
            else if (j == 0) e = vexp(vset1(*log));
        }
        vec product = r == 0 ? e : e * vload(up - f->pad + j);
        vstore(up + j, product);
        vstore(down + j, 1 / product);
    }
}

/* Makes the first `rows` rows hold for the chunk at t. */
static void factor_extend(factor *f, ptrdiff_t t, ptrdiff_t rows, bool skip)
{
    for (; f->valid < rows; f->valid++) factor_row(f, t, f->valid, skip);
}

static void factor_begin(factor *f, bool skip)
{
    if (f->t != 0 || f->valid_skips != skip) f->valid = 0;
    f->valid_skips = skip;
}

/* The strongest decay of a row; logs are at most 0, so the last row of a run has the least. */
static real factor_low(const factor *f, ptrdiff_t r)
{
    if (f->log == NULL) return 1;
    const real *up  = f->up + r * f->pad;
    vec         low = vload(up);
    for (ptrdiff_t j = VW; j < f->pad; j += VW) low = vmin(low, vload(up + j));
    return vhmin(low);
}

static bool above_floor(const lcsm_chunk *c, ptrdiff_t r)
{
    return factor_low(&c->row, r) * factor_low(&c->col, r) >= EOS_CHUNK_FLOOR;
}

/* How many of the n steps from t stay above the floor. */
static ptrdiff_t measure(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t n, bool skip)
{
    bool fixed = c->row.t == 0 && c->col.t == 0;
    factor_begin(&c->row, skip);
    factor_begin(&c->col, skip);
    for (ptrdiff_t from = 0, to; from < n; from = to) {
        to = fixed || n - from < LOOK_AHEAD ? n : from + LOOK_AHEAD;
        factor_extend(&c->row, t, to, skip);
        if (c->col.log != NULL) factor_extend(&c->col, t, to, skip);
        if (above_floor(c, to - 1)) continue;
        while (from < to && above_floor(c, from)) from++;
        return from;
    }
    return n;
}

/* M = exp(row) exp(col) * M for the decays of the first step, which are kept. */
static void scale_memory(lcsm_chunk *c, real *M)
{
    memcpy(c->row.first, c->row.up, (size_t)c->row.pad * sizeof(real));
    if (c->col.log != NULL) memcpy(c->col.first, c->col.up, (size_t)c->col.pad * sizeof(real));
    K_(lcsm_chunk_scale)(c, c->row.first, c->col.log == NULL ? NULL : c->col.first, M);
}

void K_(lcsm_chunk_scale)(const lcsm_chunk *c, const real *row, const real *col, real *M)
{
    for (ptrdiff_t p = 0; p < c->panels; p++)
        for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
            real by = row[k % c->Kp];
            for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
                vec v = vload(M + j) * by;
                vstore(M + j, col == NULL ? v : v * vload(col + p * EOS_PANEL + j));
            }
        }
}

static void phase_row(lcsm_chunk *c, ptrdiff_t r)
{
    const view *phase = &c->x->row_phase;
    for (ptrdiff_t k = 0; k < c->Kp; k += VW) {
        vec   re = vset1(1), im = vzero();
        real *cs = c->cos + r * c->Kp + k, *sn = c->sin + r * c->Kp + k;
        if (phase->p != NULL)
            vsincos(lcsm_lanes(phase->p + (c->t + r) * phase->t + k * phase->k, phase->k, c->K - k),
                    &im, &re);
        if (r > 0) {
            vec a = vload(cs - c->Kp), b = vload(sn - c->Kp), x = re;
            re = x * a - im * b;
            im = x * b + im * a;
        }
        vstore(cs, re);
        vstore(sn, im);
    }
}

void K_(lcsm_chunk_begin)(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t end, real *M)
{
    const seq *x = c->x;
    ptrdiff_t  n = 1;
    while (t + n < end && !R_(lcsm_eos_resets)(x, t + n)) n++;
    c->t     = t;
    c->empty = R_(lcsm_eos_resets)(x, t);
    if (c->empty) memset(M, 0, (size_t)(c->panels * c->R * EOS_PANEL) * sizeof(real));

    c->n      = measure(c, t, n, false);
    c->scaled = c->n == 0;
    if (c->scaled) {
        scale_memory(c, M);
        c->n = measure(c, t, n, true);
    }
    if (!x->complex) return;
    if (x->row_phase.p != NULL && x->row_phase.t != 0) c->phases = 0;
    for (; c->phases < c->n; c->phases++) phase_row(c, c->phases);
}

/* ---- operands --------------------------------------------------------------------------- */

/* Rows of q and k; the comments of eos_chunk.h name the parts. */
static void rows_real(lcsm_chunk *c, ptrdiff_t r)
{
    const seq *x    = c->x;
    ptrdiff_t  step = c->t + r, row = r * c->Rp;
    for (ptrdiff_t k = 0; k < c->K; k += VW) {
        vec up = vload(c->row.up + r * c->Kp + k), down = vload(c->row.down + r * c->Kp + k);
        vec s = lcsm_lanes(x->s.p + step * x->s.t + k * x->s.k, x->s.k, c->K - k);
        vec e = lcsm_lanes(x->e.p + step * x->e.t + k * x->e.k, x->e.k, c->K - k);
        vstore(c->Q + row + k, s * x->scale * up);
        vstore(c->E + row + k, e * down);
        if (c->N == NULL) continue;
        vec b = lcsm_lanes(x->erase.p + step * x->erase.t + k * x->erase.k, x->erase.k, c->K - k);
        vstore(c->N + row + k, -b * up);
    }
}

static void lanes_complex(const view *v, bool complex, ptrdiff_t t, ptrdiff_t k, ptrdiff_t n,
                          vec *re, vec *im)
{
    const real *p = v->p + t * v->t + k * v->k;
    *re           = lcsm_lanes(p, v->k, n);
    *im           = complex ? lcsm_lanes(p + 1, v->k, n) : vzero();
}

static void rows_complex(lcsm_chunk *c, ptrdiff_t r)
{
    const seq *x    = c->x;
    ptrdiff_t  step = c->t + r, row = r * c->Rp;
    for (ptrdiff_t k = 0; k < c->K; k += VW) {
        ptrdiff_t at = r * c->Kp + k;
        vec       up = vload(c->row.up + at), down = vload(c->row.down + at);
        vec       cs = vload(c->cos + at), sn = vload(c->sin + at), re, im;
        lanes_complex(&x->s, x->complex_s, step, k, c->K - k, &re, &im);
        up *= x->scale;
        vstore(c->Q + row + k, (re * cs - im * sn) * up);
        vstore(c->Q + row + c->Kp + k, -(re * sn + im * cs) * up);
        lanes_complex(&x->e, x->complex_e, step, k, c->K - k, &re, &im);
        vstore(c->E + row + k, (re * cs + im * sn) * down);
        vstore(c->E + row + c->Kp + k, (im * cs - re * sn) * down);
    }
}

void K_(lcsm_chunk_operands)(lcsm_chunk *c, real *diag)
{
    for (ptrdiff_t r = 0; r < c->n; r++)
        if (c->x->complex) rows_complex(c, r);
        else rows_real(c, r);
    K_(lcsm_transpose)(c->n, c->Rp, c->E, c->Rp, c->ET, c->Cp);

    lcsm_product p = {.a = c->Q, .ar = c->Rp, .ad = 1, .b = c->ET, .bd = c->Cp, .depth = c->R};
    K_(lcsm_tiles_lower)(c->n, &p, c->P, c->Cp, diag);
    if (c->N != NULL) {
        p.a = c->N;
        K_(lcsm_tiles_lower)(c->n, &p, c->L, c->Cp, c->junk);
    }
    for (ptrdiff_t k = 0; k < c->Rp; k++) c->decay[k] = c->row.up[(c->n - 1) * c->Kp + k % c->Kp];
}

void K_(lcsm_chunk_input)(const lcsm_chunk *c, ptrdiff_t panel, real *V)
{
    const view *in = &c->x->i;
    ptrdiff_t   d = panel * EOS_PANEL, cols = lcsm_chunk_cols(c, panel);
    const real *down = c->col.down;
    for (ptrdiff_t r = 0; r < c->n; r++, V += EOS_PANEL)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = lcsm_lanes(in->p + (c->t + r) * in->t + d + j, 1, cols - j);
            if (down != NULL) v *= vload(down + r * c->Dp + d + j);
            vstore(V + j, v);
        }
}

/* ---- the memory ------------------------------------------------------------------------- */

void K_(lcsm_chunk_rotate)(const lcsm_chunk *c, real sign, real *M)
{
    const real *cs = c->cos + (c->n - 1) * c->Kp, *sn = c->sin + (c->n - 1) * c->Kp;
    for (ptrdiff_t k = 0; k < c->K; k++)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            real *re = M + k * EOS_PANEL + j, *im = re + c->Kp * EOS_PANEL;
            vec   x = vload(re), y = vload(im);
            vstore(re, x * cs[k] - y * (sign * sn[k]));
            vstore(im, x * (sign * sn[k]) + y * cs[k]);
        }
}

void K_(lcsm_chunk_advance)(const lcsm_chunk *c, ptrdiff_t panel, const real *V, real *M)
{
    const real  *up = c->col.up;
    lcsm_product p  = {.a = c->E, .ar = 1, .ad = c->Rp, .b = V, .bd = EOS_PANEL, .depth = c->n};
    lcsm_target  t  = {.c = M, .cr = EOS_PANEL, .op = TILE_DECAY, .row = c->decay};
    if (up != NULL) t.col = up + (c->n - 1) * c->Dp + panel * EOS_PANEL;
    K_(lcsm_tiles)(c->R, lcsm_chunk_vecs(c, panel), &p, 1, &t);
    if (c->x->complex) K_(lcsm_chunk_rotate)(c, 1, M);
}

void K_(lcsm_chunk_pack)(const lcsm_chunk *c, const real *m, real *M)
{
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        ptrdiff_t cols = lcsm_chunk_cols(c, p);
        for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
            ptrdiff_t plane = k / c->Kp, at = (plane * c->K + k % c->Kp) * c->D + p * EOS_PANEL;
            for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
                vstore(M + j, k % c->Kp < c->K ? lcsm_lanes(m + at + j, 1, cols - j) : vzero());
        }
    }
}

void K_(lcsm_chunk_unpack)(const lcsm_chunk *c, const real *M, real *m)
{
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        size_t bytes = (size_t)lcsm_chunk_cols(c, p) * sizeof(real);
        for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
            ptrdiff_t plane = k / c->Kp, at = (plane * c->K + k % c->Kp) * c->D + p * EOS_PANEL;
            if (k % c->Kp < c->K) memcpy(m + at, M, bytes);
        }
    }
}
