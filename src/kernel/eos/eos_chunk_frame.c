/*
 * eos_chunk_frame.c - the operands in the frame of a chunk, and the memory in panels.
 * eos_chunk.h has the equations.
 */
#include "kernel/eos/eos_chunk.h"

typedef R_(lcsm_view)    view;
typedef R_(lcsm_eos_seq) seq;

enum { ONES, STATIC, TOKEN }; /* kinds of a factor */

real *K_(lcsm_chunk_take)(lcsm_chunk_arena *a, ptrdiff_t rows, ptrdiff_t cols)
{
    real *p = a->base == NULL ? NULL : a->base + a->used;
    a->used += ((size_t)rows * (size_t)cols + 15) / 16 * 16;
    return p;
}

/* A triangle, zeros above its diagonal. */
static real *take_lower(lcsm_chunk_arena *a, const lcsm_chunk *c)
{
    real *p = K_(lcsm_chunk_take)(a, c->C, c->Cp);
    if (p != NULL) memset(p, 0, (size_t)(c->C * c->Cp) * sizeof(real));
    return p;
}

lcsm_chunk K_(lcsm_chunk_open)(const seq *x, ptrdiff_t C, bool back, lcsm_chunk_arena *a)
{
    lcsm_chunk c = {.x = x, .C = C < x->T ? C : x->T, .K = x->K, .D = x->D, .back = back};
    c.Cp         = lcsm_vec_pad(c.C);
    c.Kp         = lcsm_vec_pad(c.K);
    c.R          = x->is_complex ? c.Kp + c.K : c.K;
    c.Rp         = x->is_complex ? 2 * c.Kp : c.Kp;
    c.panels     = (c.D + EOS_PANEL - 1) / EOS_PANEL;
    c.Dp         = c.panels * EOS_PANEL;
    K_(lcsm_chunk_decays)(&c, a);
    if (x->is_complex) {
        c.cos = K_(lcsm_chunk_take)(a, c.C, c.Kp);
        c.sin = K_(lcsm_chunk_take)(a, c.C, c.Kp);
    }
    c.Q     = K_(lcsm_chunk_take)(a, c.C, c.Rp);
    c.E     = K_(lcsm_chunk_take)(a, c.C, back ? c.Rp : 2 * VW);
    c.ET    = K_(lcsm_chunk_take)(a, c.Rp, c.Cp);
    c.P     = take_lower(a, &c);
    c.decay = K_(lcsm_chunk_take)(a, 1, c.Rp);
    if (x->erase.p != NULL) {
        c.N    = K_(lcsm_chunk_take)(a, c.C, c.Rp);
        c.L    = take_lower(a, &c);
        c.junk = K_(lcsm_chunk_take)(a, 1, c.C);
    }
    return c;
}

/* ---- operands along K ------------------------------------------------------------------- */

/* Where one vector of lanes of the rows is read and written. */
typedef struct {
    const real *s, *e, *b, *log;
    real       *Q, *E, *N;
    ptrdiff_t   er;   /* of E */
    ptrdiff_t   half; /* from the real to the imaginary plane of Q, and of E */
    ptrdiff_t   e_half;
    ptrdiff_t   n; /* lanes that exist */
} lanes;

/* The products of a factor's decays up to step r, from those up to the step before. */
VEC_INLINE vec next_product(vec product, const real *log, ptrdiff_t stride, ptrdiff_t n, bool mild)
{
    vec x = lcsm_lanes(log, stride, n);
    return product * (mild ? lcsm_exp_mild(x) : vexp(x));
}

VEC_INLINE void complex_lanes(const lcsm_chunk *c, const lanes *l, ptrdiff_t r, ptrdiff_t k, vec up,
                              vec down)
{
    const seq  *x  = c->x;
    vec         cs = vload(c->cos + r * c->Kp + k), sn = vload(c->sin + r * c->Kp + k);
    const real *s = l->s + r * x->s.t, *e = l->e + r * x->e.t;
    real       *Q = l->Q + r * c->Rp, *E = l->E + r * l->er;
    vec         re = lcsm_lanes(s, x->s.k, l->n), im = vzero();
    if (x->complex_s) im = lcsm_lanes(s + 1, x->s.k, l->n);
    vstore(Q, (re * cs - im * sn) * up);
    vstore(Q + l->half, -(re * sn + im * cs) * up);
    re = lcsm_lanes(e, x->e.k, l->n);
    im = x->complex_e ? lcsm_lanes(e + 1, x->e.k, l->n) : vzero();
    vstore(E, (re * cs + im * sn) * down);
    vstore(E + l->e_half, (im * cs - re * sn) * down);
}

/* q, k and -b of all steps, one vector of lanes. `whole`: every stride is 1 and no lane missing. */
VEC_INLINE void rows_lanes(lcsm_chunk *c, const lanes *l, ptrdiff_t k, int kind, bool whole,
                           bool complex)
{
    const seq      *x = c->x;
    const ptrdiff_t n = whole ? VW : l->n, ss = whole ? 1 : x->s.k, es = whole ? 1 : x->e.k;
    const ptrdiff_t st = x->s.t, et = x->e.t, rt = c->row.t, rs = whole ? 1 : c->row.stride;
    const ptrdiff_t Kp = c->Kp, Rp = c->Rp, er = l->er;
    const real     *s = l->s, *e = l->e, *log = l->log;
    const bool      mild = c->row.least >= EOS_MILD, skip = c->scaled;
    real           *Q = l->Q, *E = l->E, *keep_up = NULL, *keep_down = NULL;
    vec             up = vset1(1), down = vset1(1), product = vset1(1);
    const vec       scale = vset1(x->scale);
    if (kind != ONES && c->row.up != NULL) {
        keep_up   = c->row.up + k;
        keep_down = c->row.down + k;
    }
    for (ptrdiff_t r = 0; r < c->n; r++) {
        if (kind == STATIC) {
            up   = vload(keep_up + r * Kp);
            down = vload(keep_down + r * Kp);
        }
        if (kind == TOKEN) {
            if (r > 0 || !skip) product = next_product(product, log + r * rt, rs, n, mild);
            up   = product;
            down = vrcp(product);
            if (keep_up != NULL) {
                vstore(keep_up + r * Kp, up);
                vstore(keep_down + r * Kp, down);
            }
        }
        if (complex) {
            complex_lanes(c, l, r, k, up * scale, down);
            continue;
        }
        vstore(Q + r * Rp, lcsm_lanes(s + r * st, ss, n) * (up * scale));
        vstore(E + r * er, lcsm_lanes(e + r * et, es, n) * down);
        if (l->b != NULL)
            vstore(l->N + r * Rp, lcsm_lanes(l->b + r * x->erase.t, x->erase.k, n) * -up);
    }
    vstore(c->decay + k, up);
    if (complex) vstore(c->decay + Kp + k, up);
}

static void rows_kind(lcsm_chunk *c, const lanes *l, ptrdiff_t k, int kind, bool whole)
{
    bool complex = c->x->is_complex;
    if (complex) {
        if (kind == TOKEN) rows_lanes(c, l, k, TOKEN, false, true);
        else rows_lanes(c, l, k, kind, false, true);
    } else if (!whole) {
        rows_lanes(c, l, k, kind, false, false);
    } else {
        if (kind == ONES) rows_lanes(c, l, k, ONES, true, false);
        if (kind == STATIC) rows_lanes(c, l, k, STATIC, true, false);
        if (kind == TOKEN) rows_lanes(c, l, k, TOKEN, true, false);
    }
}

static const real *at(const view *v, ptrdiff_t t, ptrdiff_t k)
{
    return v->p == NULL ? NULL : v->p + t * v->t + k * v->k;
}

static void rows(lcsm_chunk *c)
{
    const seq *x    = c->x;
    int        kind = c->row.log == NULL ? ONES : c->row.t == 0 ? STATIC : TOKEN;
    bool       unit = x->s.k == 1 && x->e.k == 1 && (kind != TOKEN || c->row.stride == 1)
             && (x->erase.p == NULL || x->erase.k == 1);
    for (ptrdiff_t k = 0; k < c->K; k += VW) {
        lanes l  = {.s    = at(&x->s, c->t, k),
                    .e    = at(&x->e, c->t, k),
                    .b    = at(&x->erase, c->t, k),
                    .log  = at(&x->row, c->t, k),
                    .Q    = c->Q + k,
                    .N    = c->N == NULL ? NULL : c->N + k,
                    .E    = c->back ? c->E + k : c->E,
                    .er   = c->back ? c->Rp : 2 * VW,
                    .half = c->Kp,
                    .n    = c->K - k};
        l.e_half = c->back ? c->Kp : VW;
        rows_kind(c, &l, k, kind, unit && l.n >= VW);
        K_(lcsm_transpose)(c->n, VW, l.E, l.er, c->ET + k * c->Cp, c->Cp);
        if (x->is_complex)
            K_(lcsm_transpose)(c->n, VW, l.E + l.e_half, l.er, c->ET + (c->Kp + k) * c->Cp, c->Cp);
    }
    c->q  = c->Q;
    c->qr = c->Rp;
}

/* Whether q and k are s and e as they lie, in whole vectors. */
static bool plain(const lcsm_chunk *c)
{
    const seq *x = c->x;
    return !c->back && !x->is_complex && x->erase.p == NULL && c->row.log == NULL && x->scale == 1
        && c->K == c->Kp && x->s.k == 1 && x->e.k == 1;
}

static void rows_plain(lcsm_chunk *c)
{
    const seq *x = c->x;
    K_(lcsm_transpose)(c->n, c->K, at(&x->e, c->t, 0), x->e.t, c->ET, c->Cp);
    c->q  = at(&x->s, c->t, 0);
    c->qr = x->s.t;
    for (ptrdiff_t k = 0; k < c->Kp; k += VW) vstore(c->decay + k, vset1(1));
}

void K_(lcsm_chunk_operands)(lcsm_chunk *c, real *diag)
{
    if (plain(c)) rows_plain(c);
    else rows(c);
    lcsm_product p = {.a = c->q, .ar = c->qr, .ad = 1, .b = c->ET, .bd = c->Cp, .depth = c->R};
    K_(lcsm_tiles_lower)(c->n, &p, c->P, c->Cp, diag);
    if (c->N == NULL) return;
    p.a  = c->N;
    p.ar = c->Rp;
    K_(lcsm_tiles_lower)(c->n, &p, c->L, c->Cp, c->junk);
}

/* ---- operands along D ------------------------------------------------------------------- */

/* Where one vector of lanes of the columns is read and written. */
typedef struct {
    const real *in, *g_y, *log;
    ptrdiff_t   g_y_t, cols; /* cols: lanes that exist */
    real       *V, *Z, *up, *down;
} columns;

/* V and Z of all steps, one vector of lanes, and the decays of a factor by token. */
VEC_INLINE void column_lanes(const lcsm_chunk *c, const columns *l, ptrdiff_t n, int kind,
                             bool back)
{
    const ptrdiff_t it = c->x->i.t, lt = c->col.t, ls = c->col.stride, cr = c->col.r, gt = l->g_y_t;
    const ptrdiff_t steps = c->n;
    const bool      mild = c->col.least >= EOS_MILD, skip = c->scaled;
    const real     *in = l->in, *g_y = l->g_y, *log = l->log;
    real           *V = l->V, *Z = l->Z, *up_ = l->up, *down_ = l->down;
    vec             up = vset1(1), down = vset1(1);
    for (ptrdiff_t r = 0; r < steps; r++) {
        if (kind == STATIC) {
            up   = vload(up_ + r * cr);
            down = vload(down_ + r * cr);
        }
        if (kind == TOKEN) {
            if (r > 0 || !skip) up = next_product(up, log + r * lt, ls, n, mild);
            down = vrcp(up);
            if (!back || r == steps - 1) vstore(up_ + r * EOS_PANEL, up);
            if (back) vstore(down_ + r * EOS_PANEL, down);
        }
        vec v = lcsm_lanes(in + r * it, 1, n);
        vstore(V + r * EOS_PANEL, kind == ONES ? v : v * down);
        if (!back) continue;
        v = lcsm_lanes(g_y + r * gt, 1, n);
        vstore(Z + r * EOS_PANEL, kind == ONES ? v : v * up);
    }
}

/* The same with what is constant in a loop made so. */
static void column_kind(const lcsm_chunk *c, const columns *l, int kind, bool whole)
{
    bool back = l->Z != NULL;
    if (!whole) column_lanes(c, l, l->cols, kind, back);
    else if (kind == ONES && back) column_lanes(c, l, VW, ONES, true);
    else if (kind == ONES) column_lanes(c, l, VW, ONES, false);
    else if (kind == STATIC && back) column_lanes(c, l, VW, STATIC, true);
    else if (kind == STATIC) column_lanes(c, l, VW, STATIC, false);
    else if (back) column_lanes(c, l, VW, TOKEN, true);
    else column_lanes(c, l, VW, TOKEN, false);
}

void K_(lcsm_chunk_input)(lcsm_chunk *c, ptrdiff_t panel, real *V, const real *g_y, ptrdiff_t g_y_t,
                          real *Z)
{
    const seq *x = c->x;
    ptrdiff_t  d = panel * EOS_PANEL, cols = lcsm_chunk_cols(c, panel);
    int        kind = c->col.log == NULL ? ONES : c->col.t == 0 ? STATIC : TOKEN;
    if (kind == STATIC) {
        ptrdiff_t from = d + (c->scaled ? 0 : c->col.pad);
        c->col.up      = c->col.table + from;
        c->col.down    = c->col.inverse + from;
    }
    for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
        columns l = {.in    = x->i.p + c->t * x->i.t + d + j,
                     .g_y_t = g_y_t,
                     .cols  = cols - j,
                     .V     = V + j,
                     .up    = c->col.up + j,
                     .down  = c->col.down + j};
        if (kind != ONES) l.log = x->col.p + c->t * x->col.t + (d + j) * x->col.d;
        if (Z != NULL) {
            l.g_y = g_y + d + j;
            l.Z   = Z + j;
        }
        column_kind(c, &l, kind, cols - j >= VW && (kind != TOKEN || x->col.d == 1));
    }
}

/* ---- the memory ------------------------------------------------------------------------- */

void K_(lcsm_chunk_scale)(const lcsm_chunk *c, const real *row, const real *col, real *M)
{
    if (row == NULL && col == NULL) return;
    for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
        real by = row == NULL ? 1 : row[k < c->Kp ? k : k - c->Kp];
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = vload(M + j) * by;
            vstore(M + j, col == NULL ? v : v * vload(col + j));
        }
    }
}

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
    lcsm_product p = {.a = c->ET, .ar = c->Cp, .ad = 1, .b = V, .bd = EOS_PANEL, .depth = c->n};
    lcsm_target  t = {.c = M, .cr = EOS_PANEL, .op = TILE_ADD, .row = c->decay};
    if (c->row.log != NULL) t.op = TILE_DECAY;
    if (c->col.log != NULL) {
        t.op  = TILE_DECAY2;
        t.col = c->col.up + (c->n - 1) * c->col.r;
    }
    K_(lcsm_tiles)(c->R, lcsm_chunk_vecs(c, panel), &p, 1, &t);
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, 1, M);
}

/* Where row k of the memory lies in its planes; -1 for a row between the planes. */
static ptrdiff_t plane_row(const lcsm_chunk *c, ptrdiff_t k)
{
    if (k < c->K) return k;
    return k < c->Kp ? -1 : c->K + k - c->Kp;
}

void K_(lcsm_chunk_pack)(const lcsm_chunk *c, ptrdiff_t panel, const real *m, real *M)
{
    ptrdiff_t cols = lcsm_chunk_cols(c, panel);
    for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
        ptrdiff_t   row  = plane_row(c, k);
        const real *from = m + row * c->D + panel * EOS_PANEL;
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            vstore(M + j, row < 0 ? vzero() : lcsm_lanes(from + j, 1, cols - j));
    }
}

void K_(lcsm_chunk_unpack)(const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *m)
{
    ptrdiff_t cols = lcsm_chunk_cols(c, panel);
    for (ptrdiff_t k = 0; k < c->R; k++, M += EOS_PANEL) {
        ptrdiff_t row = plane_row(c, k);
        real     *to  = m + row * c->D + panel * EOS_PANEL;
        if (row < 0) continue;
        for (ptrdiff_t j = 0; j < cols; j += VW)
            if (cols - j >= VW) vstore(to + j, vload(M + j));
            else vstore_n(to + j, vload(M + j), cols - j);
    }
}
