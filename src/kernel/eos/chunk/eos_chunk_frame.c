/*
 * eos_chunk_frame.c - the operands in the frame of a chunk, and the memory in panels.
 * eos_chunk.h has the equations.
 */
#include "kernel/eos/chunk/eos_chunk.h"

typedef R_(lcsm_view)    view;
typedef R_(lcsm_eos_seq) seq;

enum { ONES, STATIC, TOKEN, SCALAR }; /* kinds of a factor; SCALAR: by token, one for all lanes */

/* A triangle, zeros above its diagonal. */
static real *take_lower(pieces *a, const lcsm_chunk *c)
{
    real *p = lcsm_chunk_take(a, c->size.C, c->size.Cp);
    if (p != NULL) memset(p, 0, (size_t)(c->size.C * c->size.Cp) * sizeof(real));
    return p;
}

lcsm_chunk K_(lcsm_chunk_open)(const seq *x, ptrdiff_t C, bool back, pieces *a)
{
    lcsm_chunk c = {.x = x, .size = {.C = C < x->T ? C : x->T, .K = x->K, .D = x->D, .back = back}};
    c.size.Cp    = lcsm_vec_pad(c.size.C);
    c.size.Kp    = lcsm_vec_pad(c.size.K);
    c.size.R     = x->is_complex ? c.size.Kp + c.size.K : c.size.K;
    c.size.Rp    = x->is_complex ? 2 * c.size.Kp : c.size.Kp;
    c.size.panels = (c.size.D + EOS_PANEL - 1) / EOS_PANEL;
    c.size.Dp     = c.size.panels * EOS_PANEL;
    if (x->read != NULL) {
        ptrdiff_t reals = (ptrdiff_t)(sizeof(ptrdiff_t) / sizeof(real)) * c.size.C;
        c.now.at        = (ptrdiff_t *)(void *)lcsm_chunk_take(a, 1, reals);
    }
    K_(lcsm_chunk_decays_kept)(&c, a);
    if (x->is_complex) {
        c.op.cos = lcsm_chunk_take(a, c.size.C, c.size.Kp);
        c.op.sin = lcsm_chunk_take(a, c.size.C, c.size.Kp);
    }
    return c;
}

void K_(lcsm_chunk_share)(lcsm_chunk *c, pieces *a)
{
    K_(lcsm_chunk_decays_shared)(c, a);
    c->op.Q     = lcsm_chunk_take(a, c->size.C, c->size.Rp);
    c->op.E     = lcsm_chunk_take(a, c->size.C, c->size.Rp);
    c->op.P     = take_lower(a, c);
    c->op.decay = lcsm_chunk_take(a, 1, c->size.Rp);
    if (c->x->erase.p != NULL) {
        c->op.N    = lcsm_chunk_take(a, c->size.C, c->size.Rp);
        c->op.L    = take_lower(a, c);
        c->op.junk = lcsm_chunk_take(a, 1, c->size.C);
    }
}

void K_(lcsm_chunk_tiles)(const lcsm_chunk *c, ptrdiff_t rows, int vecs, const lcsm_product *p,
                          int count, const lcsm_target *t)
{
    lcsm_target to = *t;
    to.ahead       = c->ahead;
    K_(lcsm_tiles)(rows, vecs, p, count, &to);
}

/* ---- operands along K ------------------------------------------------------------------- */

/* Where one vector of lanes of the rows is read and written. */
typedef struct {
    const real *s, *e, *b, *log;
    real       *Q, *E, *N;
    ptrdiff_t   half; /* from the real to the imaginary plane of Q and E */
    ptrdiff_t   n;    /* lanes that exist */
} lanes;

/* The products of a factor's decays up to step r, from those up to the step before. */
VEC_INLINE vec next_product(vec product, const real *log, ptrdiff_t stride, ptrdiff_t n, bool mild)
{
    vec x = lcsm_lanes(log, stride, n);
    return product * (mild ? lcsm_exp_mild(x) : vexp_even(x));
}

VEC_INLINE void complex_lanes(const lcsm_chunk *c, const lanes *l, ptrdiff_t r, ptrdiff_t k, vec up,
                              vec down)
{
    const seq *x = c->x;
    vec cs = vload(c->op.cos + r * c->size.Kp + k), sn = vload(c->op.sin + r * c->size.Kp + k);
    const real *s = l->s + r * x->s.t, *e = l->e + r * x->e.t;
    real       *Q = l->Q + r * c->size.Rp, *E = l->E + r * c->size.Rp;
    vec         re = lcsm_lanes(s, x->s.k, l->n), im = vzero();
    if (x->complex_s) im = lcsm_lanes(s + 1, x->s.k, l->n);
    vstore(Q, (re * cs - im * sn) * up);
    vstore(Q + l->half, -(re * sn + im * cs) * up);
    re = lcsm_lanes(e, x->e.k, l->n);
    im = x->complex_e ? lcsm_lanes(e + 1, x->e.k, l->n) : vzero();
    vstore(E, (re * cs + im * sn) * down);
    vstore(E + l->half, (im * cs - re * sn) * down);
}

/* Vectors of lanes side by side: a chain of products for each, and fewer rows to visit. */
enum { SIDE = TILE_VECS };

/* What the loops over steps below hold constant. */
typedef struct {
    int  kind;
    bool whole, complex; /* whole: every stride is 1 and no lane missing */
    bool mild, skip;     /* decays need no reduction; the first step's decay is not counted */
} shape;

/* q, k and -b of step r, one vector of lanes; the products of decays up to the step before become
 * those up to this one. */
VEC_INLINE vec rows_step(const lcsm_chunk *c, const lanes *l, shape is, ptrdiff_t r, ptrdiff_t k,
                         ptrdiff_t j, vec up)
{
    const seq      *x = c->x;
    const ptrdiff_t n = is.whole ? VW : l->n, Kp = c->size.Kp, Rp = c->size.Rp;
    const ptrdiff_t ss = is.whole ? 1 : x->s.k, es = is.whole ? 1 : x->e.k;
    const ptrdiff_t rs = is.whole ? 1 : c->op.row.stride, bs = is.whole ? 1 : x->erase.k;
    vec             down = vset1(1);
    if (is.kind == STATIC) {
        up   = vload(c->op.row.up + r * Kp + k + j);
        down = vload(c->op.row.down + r * Kp + k + j);
    }
    if (is.kind == TOKEN) {
        if (r > 0 || !is.skip) up = next_product(up, l->log + r * c->op.row.t + j, rs, n, is.mild);
        down = vrcp(up);
    }
    if (is.kind == SCALAR) {
        up   = vset1(c->op.row.one[r]);
        down = vset1(c->op.row.one[c->size.Cp + r]);
    }
    if ((is.kind == TOKEN || is.kind == SCALAR) && c->op.row.up != NULL) {
        vstore(c->op.row.up + r * Kp + k + j, up);
        vstore(c->op.row.down + r * Kp + k + j, down);
    }
    if (is.complex) {
        complex_lanes(c, l, r, k, up * x->scale, down);
        return up;
    }
    if (l->s != NULL)
        vstore(l->Q + r * Rp + j, lcsm_lanes(l->s + r * x->s.t + j, ss, n) * (up * x->scale));
    vstore(l->E + r * Rp + j, lcsm_lanes(l->e + r * x->e.t + j, es, n) * down);
    if (l->b != NULL) vstore(l->N + r * Rp + j, lcsm_lanes(l->b + r * x->erase.t + j, bs, n) * -up);
    return up;
}

/* All steps of `vecs` vectors of lanes. */
VEC_INLINE void rows_lanes(lcsm_chunk *to, const lanes *from, shape is, ptrdiff_t k, int vecs)
{
    const lcsm_chunk *c  = to;
    const lanes       l  = *from;
    vec               u0 = vset1(1), u1 = u0, u2 = u0, u3 = u0;
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        u0 = rows_step(c, &l, is, r, k, 0, u0);
        if (vecs > 1) u1 = rows_step(c, &l, is, r, k, VW, u1);
        if (vecs > 2) u2 = rows_step(c, &l, is, r, k, 2 * VW, u2);
        if (vecs > 2) u3 = rows_step(c, &l, is, r, k, 3 * VW, u3);
    }
    const vec up[] = {u0, u1, u2, u3};
    for (int v = 0; v < vecs; v++) {
        vstore(c->op.decay + k + v * VW, up[v]);
        if (is.complex) vstore(c->op.decay + c->size.Kp + k + v * VW, up[v]);
    }
}

/* Those from lane k on, as many vectors as are returned. */
static int rows_kind(lcsm_chunk *c, const lanes *l, ptrdiff_t k, int kind, bool unit)
{
    shape is = {kind, unit && l->n >= VW, c->x->is_complex, lcsm_chunk_mild(&c->op.row),
                c->now.scaled};
    if (is.complex || !unit || l->n < SIDE * VW) {
        rows_lanes(c, l, is, k, 1);
        return 1;
    }
#define ROWS(kind, mild) rows_lanes(c, l, (shape){kind, true, false, mild, is.skip}, k, SIDE)
    if (kind == ONES) ROWS(ONES, true);
    else if (kind == STATIC) ROWS(STATIC, true);
    else if (kind == SCALAR) ROWS(SCALAR, true);
    else if (is.mild) ROWS(TOKEN, true);
    else ROWS(TOKEN, false);
#undef ROWS
    return SIDE;
}

static const real *at(const view *v, ptrdiff_t t, ptrdiff_t k)
{
    return v->p == NULL ? NULL : v->p + t * v->t + k * v->k;
}

/* The products of decays that are one number for all lanes, and their inverses: an exponential for
 * each step, not for each vector of lanes. */
static void scalar_products(const lcsm_chunk *c)
{
    const lcsm_chunk_factor *f   = &c->op.row;
    const real              *log = f->log + c->now.t * f->t;
    real                    *up = f->one, *down = up + c->size.Cp, product = 1;
    for (ptrdiff_t r = 0; r < c->now.n; r += VW) {
        vec x = lcsm_lanes(log + r * f->t, f->t, c->now.n - r);
        vstore(up + r, lcsm_chunk_mild(f) ? lcsm_exp_mild(x) : vexp_even(x));
    }
    if (c->now.scaled) up[0] = 1;
    for (ptrdiff_t r = 0; r < c->now.n; r++) up[r] = product *= up[r];
    for (ptrdiff_t r = 0; r < c->now.n; r += VW) vstore(down + r, vrcp(vload(up + r)));
}

static int row_kind(const lcsm_chunk *c)
{
    const lcsm_chunk_factor *f = &c->op.row;
    return f->log == NULL ? ONES : f->t == 0 ? STATIC : f->one != NULL ? SCALAR : TOKEN;
}

static void rows(lcsm_chunk *c)
{
    const seq *x    = c->x;
    int        kind = row_kind(c);
    bool       unit = x->s.k == 1 && x->e.k == 1 && (kind != TOKEN || c->op.row.stride == 1)
             && (x->erase.p == NULL || x->erase.k == 1);
    if (kind == SCALAR) scalar_products(c);
    for (ptrdiff_t k = 0; k < c->size.K;) {
        lanes l = {.s    = c->now.at == NULL ? at(&x->s, c->now.t, k) : NULL,
                   .e    = at(&x->e, c->now.t, k),
                   .b    = at(&x->erase, c->now.t, k),
                   .log  = at(&x->row, c->now.t, k),
                   .Q    = c->op.Q + k,
                   .N    = c->op.N == NULL ? NULL : c->op.N + k,
                   .E    = c->op.E + k,
                   .half = c->size.Kp,
                   .n    = c->size.K - k};
        k += rows_kind(c, &l, k, kind, unit) * VW;
    }
    c->op.q  = c->op.Q;
    c->op.k  = c->op.E;
    c->op.qr = c->op.kr = c->size.Rp;
}

/* q where only some steps are read; their decays are in row.up. */
static void read_rows(const lcsm_chunk *c)
{
    const seq *x = c->x;
    for (ptrdiff_t j = 0; j < c->now.rn; j++)
        for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) {
            vec q = vzero();
            if (!c->now.unread)
                q = lcsm_lanes(at(&x->s, c->now.r + j, k), x->s.k, c->size.K - k) * vset1(x->scale);
            if (c->op.row.log != NULL) q *= vload(c->op.row.up + c->now.at[j] * c->size.Kp + k);
            vstore(c->op.Q + j * c->size.Rp + k, q);
        }
}

/* Whether q and k are s and e as they lie, in whole vectors. */
static bool plain(const lcsm_chunk *c)
{
    const seq *x = c->x;
    return !c->size.back && !x->is_complex && x->read == NULL && x->erase.p == NULL
        && c->op.row.log == NULL && x->scale == 1 && c->size.K == c->size.Kp && x->s.k == 1
        && x->e.k == 1;
}

static void rows_plain(lcsm_chunk *c)
{
    const seq *x = c->x;
    c->op.q      = at(&x->s, c->now.t, 0);
    c->op.k      = at(&x->e, c->now.t, 0);
    c->op.qr     = x->s.t;
    c->op.kr     = x->e.t;
    for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) vstore(c->op.decay + k, vset1(1));
}

void K_(lcsm_chunk_rows)(lcsm_chunk *c)
{
    if (plain(c)) rows_plain(c);
    else rows(c);
}

void K_(lcsm_chunk_operands)(lcsm_chunk *c, real *diag)
{
    K_(lcsm_chunk_rows)(c);
    lcsm_rows p = {.a = c->op.q, .ar = c->op.qr, .b = c->op.k, .br = c->op.kr, .depth = c->size.Rp};
    if (c->now.at != NULL) {
        read_rows(c);
        K_(lcsm_dots_until)(c->now.rn, c->now.at, &p, c->op.P, c->size.Cp, c->now.n, diag);
        return;
    }
    K_(lcsm_dots_lower)(c->now.n, &p, c->op.P, c->size.Cp, diag);
    if (c->op.N == NULL) return;
    p.a  = c->op.N;
    p.ar = c->size.Rp;
    K_(lcsm_dots_lower)(c->now.n, &p, c->op.L, c->size.Cp, c->op.junk);
}

/* ---- operands along D ------------------------------------------------------------------- */

/* Where one vector of lanes of the columns is read and written. */
typedef struct {
    const real *in, *g_y, *log;
    ptrdiff_t   g_y_t, cols; /* cols: lanes that exist */
    real       *V, *Z, *up, *down;
} columns;

/* V and Z of step r, one vector of lanes, and the decays of a factor by token. */
VEC_INLINE vec column_step(const lcsm_chunk *c, const columns *l, shape is, bool back, ptrdiff_t r,
                           ptrdiff_t j, vec up)
{
    const ptrdiff_t n = is.whole ? VW : l->cols, ls = is.whole ? 1 : c->op.col.stride,
                    cr = c->op.col.r;
    vec v = lcsm_lanes(l->in + r * c->x->i.t + j, 1, n), down = vset1(1);
    if (is.kind == STATIC) {
        up   = vload(l->up + r * cr + j);
        down = vload(l->down + r * cr + j);
    }
    if (is.kind == TOKEN) {
        if (r > 0 || !is.skip) up = next_product(up, l->log + r * c->op.col.t + j, ls, n, is.mild);
        down = vrcp(up);
        if (!back || r == c->now.n - 1) vstore(l->up + r * EOS_PANEL + j, up);
        if (back || c->size.back) vstore(l->down + r * EOS_PANEL + j, down);
    }
    vstore(l->V + r * EOS_PANEL + j, is.kind == ONES ? v : v * down);
    if (!back) return up;
    v = lcsm_lanes(l->g_y + r * l->g_y_t + j, 1, n);
    vstore(l->Z + r * EOS_PANEL + j, is.kind == ONES ? v : v * up);
    return up;
}

VEC_INLINE void column_lanes(const lcsm_chunk *c, const columns *from, shape is, bool back,
                             int vecs)
{
    const columns l  = *from;
    vec           u0 = vset1(1), u1 = u0, u2 = u0, u3 = u0;
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        u0 = column_step(c, &l, is, back, r, 0, u0);
        if (vecs > 1) u1 = column_step(c, &l, is, back, r, VW, u1);
        if (vecs > 2) u2 = column_step(c, &l, is, back, r, 2 * VW, u2);
        if (vecs > 2) u3 = column_step(c, &l, is, back, r, 3 * VW, u3);
    }
}

/* The same with what is constant in a loop made so; as many vectors as are returned. */
static int column_kind(const lcsm_chunk *c, const columns *l, int kind, bool unit)
{
    bool  back = l->Z != NULL, skip = c->now.scaled, whole = unit && l->cols >= VW;
    shape is = {kind, whole, false, lcsm_chunk_mild(&c->op.col), skip};
    if (!unit || l->cols < EOS_PANEL) {
        column_lanes(c, l, is, back, 1);
        return 1;
    }
#define COLUMNS(kind, mild, back)                                                                  \
    column_lanes(c, l, (shape){kind, true, false, mild, skip}, back, SIDE)
    if (kind == ONES && back) COLUMNS(ONES, true, true);
    else if (kind == ONES) COLUMNS(ONES, true, false);
    else if (kind == STATIC && back) COLUMNS(STATIC, true, true);
    else if (kind == STATIC) COLUMNS(STATIC, true, false);
    else if (is.mild && back) COLUMNS(TOKEN, true, true);
    else if (is.mild) COLUMNS(TOKEN, true, false);
    else if (back) COLUMNS(TOKEN, false, true);
    else COLUMNS(TOKEN, false, false);
#undef COLUMNS
    return SIDE;
}

void K_(lcsm_chunk_read_scales)(const lcsm_chunk *c, real *to)
{
    for (ptrdiff_t j = 0; j < c->now.rn; j++)
        memcpy(to + j * EOS_PANEL, c->op.col.up + lcsm_chunk_at(c, j) * c->op.col.r,
               EOS_PANEL * sizeof(real));
}

/* Z where only some steps are read: rows of g_y of one panel, scaled. */
static void read_columns(const lcsm_chunk *c, ptrdiff_t cols, const real *g_y, ptrdiff_t g_y_t,
                         real *Z)
{
    for (ptrdiff_t r = 0; r < c->now.rn; r++, g_y += g_y_t, Z += EOS_PANEL)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec z = c->now.unread ? vzero() : lcsm_lanes(g_y + j, 1, cols - j);
            if (c->op.col.log != NULL) z *= vload(c->op.col.up + c->now.at[r] * c->op.col.r + j);
            vstore(Z + j, z);
        }
}

void K_(lcsm_chunk_input)(lcsm_chunk *c, ptrdiff_t panel, real *V, const real *g_y, ptrdiff_t g_y_t,
                          real *Z)
{
    const seq *x     = c->x;
    bool       apart = Z != NULL && c->now.at != NULL;
    ptrdiff_t  d = panel * EOS_PANEL, cols = lcsm_chunk_cols(c, panel);
    int        kind = c->op.col.log == NULL ? ONES : c->op.col.t == 0 ? STATIC : TOKEN;
    if (kind == STATIC) {
        ptrdiff_t from = d + (c->now.scaled ? 0 : c->op.col.pad);
        c->op.col.up   = c->op.col.table + from;
        c->op.col.down = c->op.col.inverse + from;
    }
    for (ptrdiff_t j = 0, vecs; j < EOS_PANEL; j += vecs * VW) {
        columns l = {.in    = x->i.p + c->now.t * x->i.t + d + j,
                     .g_y_t = g_y_t,
                     .cols  = cols - j,
                     .V     = V + j,
                     .up    = c->op.col.up + j,
                     .down  = c->op.col.down + j};
        if (kind != ONES) l.log = x->col.p + c->now.t * x->col.t + (d + j) * x->col.d;
        if (Z != NULL && !apart) {
            l.g_y = g_y + d + j;
            l.Z   = Z + j;
        }
        vecs = column_kind(c, &l, kind, kind != TOKEN || x->col.d == 1);
    }
    if (apart) read_columns(c, cols, g_y + d, g_y_t, Z);
}

/* ---- the memory ------------------------------------------------------------------------- */

void K_(lcsm_chunk_scale)(const lcsm_chunk *c, const real *row, const real *col, real *M)
{
    if (row == NULL && col == NULL) return;
    for (ptrdiff_t k = 0; k < c->size.R; k++, M += EOS_PANEL) {
        real by = row == NULL ? 1 : row[k < c->size.Kp ? k : k - c->size.Kp];
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = vload(M + j) * by;
            vstore(M + j, col == NULL ? v : v * vload(col + j));
        }
    }
}

void K_(lcsm_chunk_rotate)(const lcsm_chunk *c, real sign, real *M)
{
    const real *cs = c->op.cos + (c->now.n - 1) * c->size.Kp,
               *sn = c->op.sin + (c->now.n - 1) * c->size.Kp;
    for (ptrdiff_t k = 0; k < c->size.K; k++)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            real *re = M + k * EOS_PANEL + j, *im = re + c->size.Kp * EOS_PANEL;
            vec   x = vload(re), y = vload(im);
            vstore(re, x * cs[k] - y * (sign * sn[k]));
            vstore(im, x * (sign * sn[k]) + y * cs[k]);
        }
}

lcsm_target K_(lcsm_chunk_moved)(const lcsm_chunk *c, real *M)
{
    lcsm_target t = {
        .c = M, .cr = EOS_PANEL, .op = TILE_ADD, .row = c->op.decay, .ahead = c->ahead};
    if (c->op.row.log != NULL) t.op = TILE_DECAY;
    if (c->op.col.log != NULL) {
        t.op  = TILE_DECAY2;
        t.col = c->op.col.up + (c->now.n - 1) * c->op.col.r;
    }
    return t;
}

void K_(lcsm_chunk_advance)(const lcsm_chunk *c, ptrdiff_t panel, const real *V, real *M)
{
    lcsm_product p = {
        .a = c->op.k, .ar = 1, .ad = c->op.kr, .b = V, .bd = EOS_PANEL, .depth = c->now.n};
    lcsm_target t = K_(lcsm_chunk_moved)(c, M);
    K_(lcsm_tiles)(c->size.R, lcsm_chunk_vecs(c, panel), &p, 1, &t);
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, 1, M);
}

/* Where row k of the memory lies in its planes; -1 for a row between the planes. */
static ptrdiff_t plane_row(const lcsm_chunk *c, ptrdiff_t k)
{
    if (k < c->size.K) return k;
    return k < c->size.Kp ? -1 : c->size.K + k - c->size.Kp;
}

void K_(lcsm_chunk_pack)(const lcsm_chunk *c, ptrdiff_t panel, const real *m, real *M)
{
    ptrdiff_t cols = lcsm_chunk_cols(c, panel);
    for (ptrdiff_t k = 0; k < c->size.R; k++, M += EOS_PANEL) {
        ptrdiff_t   row  = plane_row(c, k);
        const real *from = m + row * c->size.D + panel * EOS_PANEL;
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            vstore(M + j, row < 0 ? vzero() : lcsm_lanes(from + j, 1, cols - j));
    }
}

void K_(lcsm_chunk_stream)(const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *m)
{
    bool aligned = (uintptr_t)m % (VW * sizeof(real)) == 0 && c->size.D % VW == 0;
    if (!aligned || lcsm_chunk_cols(c, panel) < EOS_PANEL || c->size.R != c->size.K) {
        K_(lcsm_chunk_unpack)(c, panel, M, m);
        return;
    }
    m += panel * EOS_PANEL;
    for (ptrdiff_t k = 0; k < c->size.R; k++, M += EOS_PANEL, m += c->size.D)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) vstream(m + j, vload(M + j));
}

void K_(lcsm_chunk_unpack)(const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *m)
{
    ptrdiff_t cols = lcsm_chunk_cols(c, panel);
    for (ptrdiff_t k = 0; k < c->size.R; k++, M += EOS_PANEL) {
        ptrdiff_t row = plane_row(c, k);
        real     *to  = m + row * c->size.D + panel * EOS_PANEL;
        if (row < 0) continue;
        for (ptrdiff_t j = 0; j < cols; j += VW)
            if (cols - j >= VW) vstore(to + j, vload(M + j));
            else vstore_n(to + j, vload(M + j), cols - j);
    }
}
