/*
 * eos_chunk_decay.c - the decays of the chunked form: how long a chunk may be, and what its first
 * step does to the memory. eos_chunk.h has the equations.
 */
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/eos/eos_still.h"

typedef R_(lcsm_view)     view;
typedef R_(lcsm_eos_seq)  seq;
typedef lcsm_chunk_factor factor;

/* ---- factors ---------------------------------------------------------------------------- */

/* VW columns of the table of a static factor: running products of exp(log), in double. */
static void fill_lanes(const factor *f, ptrdiff_t C, ptrdiff_t at, vec logs)
{
    double log[VW], o[VW], product[VW];
    for (int j = 0; j < VW; j++) {
        log[j]     = (double)logs[j];
        product[j] = 1;
    }
    K_(lcsm_still_exp)(log, o);
    for (ptrdiff_t r = 0; r <= C; r++, at += f->pad)
        for (int j = 0; j < VW; j++) {
            f->table[at + j]   = (real)product[j];
            f->inverse[at + j] = (real)(1 / product[j]);
            product[j] *= o[j];
        }
}

static void fill_table(factor *f, ptrdiff_t C)
{
    f->least = f->most = 0;
    for (ptrdiff_t j = 0; j < f->pad; j += VW) {
        vec  log = lcsm_lanes(f->log + j * f->stride, f->stride, f->width - j);
        real low = vhmin(log), high = -vhmin(-log);
        if (low < f->least) f->least = low;
        if (high > f->most) f->most = high;
        fill_lanes(f, C, j, log);
    }
}

static bool by_token(const factor *f)
{
    return f->log != NULL && f->t != 0;
}

static factor factor_open(const view *v, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t pad,
                          ptrdiff_t C, pieces *a)
{
    factor f = {.log = v->p, .t = v->t, .stride = stride, .width = width, .pad = pad, .r = pad};
    if (f.log == NULL) return f;
    f.first = lcsm_chunk_take(a, 1, pad);
    if (by_token(&f)) {
        f.sum = lcsm_chunk_take(a, 1, pad);
    } else {
        f.table   = lcsm_chunk_take(a, C + 1, pad);
        f.inverse = lcsm_chunk_take(a, C + 1, pad);
        if (a->base != NULL) fill_table(&f, C);
    }
    return f;
}

void K_(lcsm_chunk_decays_kept)(lcsm_chunk *c, pieces *a)
{
    const seq *x = c->x;
    c->op.row    = factor_open(&x->row, x->row.k, c->size.K, c->size.Kp, c->size.C, a);
    c->op.col    = factor_open(&x->col, x->col.d, c->size.D, c->size.Dp, c->size.C, a);
}

void K_(lcsm_chunk_decays_shared)(lcsm_chunk *c, pieces *a)
{
    if (by_token(&c->op.row) && (c->size.back || c->x->is_complex || c->x->read != NULL)) {
        c->op.row.up   = lcsm_chunk_take(a, c->size.C, c->size.Kp);
        c->op.row.down = lcsm_chunk_take(a, c->size.C, c->size.Kp);
    }
    if (by_token(&c->op.row) && c->op.row.stride == 0)
        c->op.row.one = lcsm_chunk_take(a, 2, c->size.Cp);
    if (by_token(&c->op.col)) {
        c->op.col.r    = EOS_PANEL;
        c->op.col.up   = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
        c->op.col.down = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
    }
}

/* ---- the length of a chunk -------------------------------------------------------------- */

/* The least and the largest log. */
typedef struct {
    vec least, most;
} extremes;

VEC_INLINE vec add_one(vec x, vec sum, extremes *e)
{
    e->least = vmin(x, e->least);
    e->most  = vmax(x, e->most);
    return sum + x;
}

/* The steps from .. to - 1 for all columns of a panel. */
static vec add_panel(const real *log, ptrdiff_t t, ptrdiff_t from, ptrdiff_t to, real *sums,
                     extremes *e)
{
    const int last = TILE_COLS - VW;
    vec       s[4] = {vload(sums), vload(sums + VW), vload(sums + last - VW), vload(sums + last)};
    extremes  e0 = *e, e1 = e0, e2 = e0, e3 = e0;
    if (from == 0) s[0] = s[1] = s[2] = s[3] = vzero();
    for (ptrdiff_t r = from; r < to; r++) {
        s[0] = add_one(vload(log + r * t), s[0], &e0);
        s[1] = add_one(vload(log + r * t + VW), s[1], &e1);
        if (TILE_VECS < 4) continue;
        s[2] = add_one(vload(log + r * t + 2 * VW), s[2], &e2);
        s[3] = add_one(vload(log + r * t + 3 * VW), s[3], &e3);
    }
    if (TILE_VECS < 4) s[2] = s[0], s[3] = s[1];
    vstore(sums, s[0]);
    vstore(sums + VW, s[1]);
    vstore(sums + last - VW, s[2]);
    vstore(sums + last, s[3]);
    e->least = vmin(vmin(e0.least, e1.least), vmin(e2.least, e3.least));
    e->most  = vmax(vmax(e0.most, e1.most), vmax(e2.most, e3.most));
    return vmax(vmax(vabs(s[0]), vabs(s[1])), vmax(vabs(s[2]), vabs(s[3])));
}

/* Adds the logs of steps from .. to - 1 to the sums of one vector of lanes. */
VEC_INLINE vec add_lanes(const real *log, ptrdiff_t t, ptrdiff_t stride, ptrdiff_t n,
                         ptrdiff_t from, ptrdiff_t to, vec sum, extremes *e)
{
    for (ptrdiff_t r = from; r < to; r++) sum = add_one(lcsm_lanes(log + r * t, stride, n), sum, e);
    return sum;
}

/* The farthest from 0 that a sum of logs is after steps from .. to - 1 of the chunk at t, which are
 * added; `from` 0 begins with sums of 0. */
static real add_steps(factor *f, ptrdiff_t t, ptrdiff_t from, ptrdiff_t to)
{
    vec      far = vzero();
    extremes e   = {vzero(), vzero()};
    if (from > 0) e = (extremes){vset1(f->least), vset1(f->most)};
    for (ptrdiff_t j = 0; j < (f->stride == 0 ? VW : f->pad); j += VW) {
        const real *log = f->log + t * f->t + j * f->stride;
        if (f->stride == 1 && f->width - j >= TILE_COLS) {
            far = vmax(add_panel(log, f->t, from, to, f->sum + j, &e), far);
            j += TILE_COLS - VW;
            continue;
        }
        vec sum = from == 0 ? vzero() : vload(f->sum + j);
        if (f->stride == 1 && f->width - j >= VW)
            sum = add_lanes(log, f->t, 1, VW, from, to, sum, &e);
        else sum = add_lanes(log, f->t, f->stride, f->width - j, from, to, sum, &e);
        vstore(f->sum + j, sum);
        far = vmax(vabs(sum), far);
    }
    f->least = vhmin(e.least);
    f->most  = -vhmin(-e.most);
    return -vhmin(-far);
}

/* The same for any factor; `skip` leaves the first step out. */
static real farthest(factor *f, ptrdiff_t t, ptrdiff_t from, ptrdiff_t to, bool skip)
{
    if (f->log == NULL || (skip && to == 1)) return 0;
    if (!by_token(f))
        return (f->most > -f->least ? f->most : -f->least) * (real)(skip ? to - 1 : to);
    return skip ? add_steps(f, t + 1, from == 0 ? 0 : from - 1, to - 1) : add_steps(f, t, from, to);
}

static bool within(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t from, ptrdiff_t to, bool skip, real limit)
{
    return farthest(&c->op.row, t, from, to, skip) + farthest(&c->op.col, t, from, to, skip)
        <= limit;
}

/* Whether a sum over rows or columns averages over few of them. */
static bool few(const lcsm_chunk *c)
{
    return c->size.K < 8 || c->size.D < 8;
}

/* How many of the n steps from t stay within the limit: all of them, as a rule. Where no log is
 * positive, sums are farthest from 0 after the last step. What the delta rule erases is, in the
 * frame, a difference of numbers exp(A) times as large as it: where A rises, or nothing averages
 * the rounding, chunks are short. */
static ptrdiff_t measure(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t n, bool skip)
{
    real limit = EOS_CHUNK_LIMIT;
    bool all   = within(c, t, 0, n, skip, limit);
    if (c->op.N != NULL && few(c)) limit = 1;
    else if (c->op.row.most > 0 || c->op.col.most > 0) limit = c->op.N == NULL ? limit / 2 : 1;
    else if (all) return n;
    for (ptrdiff_t r = 0; r < n; r++)
        if (!within(c, t, r, r + 1, skip, limit)) return r;
    return n;
}

/* ---- the first step --------------------------------------------------------------------- */

static void keep_first(factor *f, ptrdiff_t t)
{
    if (f->log == NULL) return;
    const real *log = f->log + t * f->t;
    for (ptrdiff_t j = 0; j < f->pad; j += VW)
        vstore(f->first + j, vexp_even(lcsm_lanes(log + j * f->stride, f->stride, f->width - j)));
}

void K_(lcsm_chunk_scale_first)(const lcsm_chunk *c, real *M)
{
    for (ptrdiff_t p = 0; p < c->size.panels; p++) K_(lcsm_chunk_scale)
    (c, c->op.row.first, c->op.col.first == NULL ? NULL : c->op.col.first + p * EOS_PANEL,
     M + (size_t)p * lcsm_chunk_panel_size(c));
}

void K_(lcsm_chunk_enter)(const lcsm_chunk *c, real *M)
{
    if (c->now.blank && c->now.final && c->op.N == NULL) return; /* nobody reads it */
    if (c->now.blank)
        memset(M, 0, (size_t)c->size.panels * lcsm_chunk_panel_size(c) * sizeof(real));
    else if (c->now.scaled) K_(lcsm_chunk_scale_first)(c, M);
}

/* cos and sin of r + 1 static phases. */
static void still_turn(vec phase, ptrdiff_t r, vec *re, vec *im)
{
    const double none[VW] = {0};
    double       wide[VW];
    vec          o[2];
    for (int j = 0; j < VW; j++) wide[j] = (double)phase[j];
    K_(lcsm_still_power)(none, wide, (double)(r + 1), o);
    *re = o[0];
    *im = o[1];
}

static void phase_row(lcsm_chunk *c, ptrdiff_t r)
{
    const view *v     = &c->x->row_phase;
    bool        still = v->t == 0;
    for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) {
        vec   re = vset1(1), im = vzero(), phase = im;
        real *cs = c->op.cos + r * c->size.Kp + k, *sn = c->op.sin + r * c->size.Kp + k;
        if (v->p != NULL)
            phase = lcsm_lanes(v->p + (c->now.t + r) * v->t + k * v->k, v->k, c->size.K - k);
        if (v->p != NULL && still) still_turn(phase, r, &re, &im);
        else if (v->p != NULL) vsincos(phase, &im, &re);
        if (r > 0 && !still) {
            vec a = vload(cs - c->size.Kp), b = vload(sn - c->size.Kp), x = re;
            re = x * a - im * b;
            im = x * b + im * a;
        }
        vstore(cs, re);
        vstore(sn, im);
    }
}

/* The readers of the chunk. */
static void find_readers(lcsm_chunk *c)
{
    const seq *x = c->x;
    if (c->now.at == NULL) {
        c->now.r  = c->now.t;
        c->now.rn = c->now.n;
        return;
    }
    ptrdiff_t next = R_(lcsm_eos_read_from)(x, c->now.t + c->now.n);
    c->now.r       = R_(lcsm_eos_read_from)(x, c->now.t);
    c->now.rn      = next - c->now.r;
    for (ptrdiff_t j = 0; j < c->now.rn; j++)
        c->now.at[j] = x->read[c->now.r + j] - x->read_base - c->now.t;
    c->now.unread = c->now.rn == 0;
    if (!c->now.unread) return;
    c->now.rn    = 1;
    c->now.at[0] = c->now.n - 1;
}

void K_(lcsm_chunk_begin)(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t end)
{
    const seq *x = c->x;
    ptrdiff_t  n = 1;
    if (x->resets.p == NULL) n = end - t;
    while (t + n < end && !lcsm_resets_at(&x->resets, t + n)) n++;
    c->now.t      = t;
    c->now.empty  = lcsm_resets_at(&x->resets, t);
    c->now.n      = measure(c, t, n, false);
    c->now.scaled = c->now.n == 0;
    if (c->now.scaled) {
        keep_first(&c->op.row, t);
        keep_first(&c->op.col, t);
        c->now.n = measure(c, t, n, true);
    }
    find_readers(c);
    c->now.blank = c->now.empty || (t == 0 && x->fresh);
    c->now.final = t + c->now.n == x->T && x->final;
    if (c->op.row.table != NULL) {
        ptrdiff_t at   = c->now.scaled ? 0 : c->op.row.pad;
        c->op.row.up   = c->op.row.table + at;
        c->op.row.down = c->op.row.inverse + at;
    }
    if (!x->is_complex) return;
    if (x->row_phase.p != NULL && x->row_phase.t != 0) c->op.phases = 0;
    for (; c->op.phases < c->now.n; c->op.phases++) phase_row(c, c->op.phases);
}
