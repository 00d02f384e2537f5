/*
 * eos_chunk.c - the chunked form: forward, and the row of the kernel table.
 *
 * For each chunk Q, K and P are made once; then, panel by panel of columns, V is packed, Y is
 * written and M goes to the chunk's end, all of it in the first-level cache.
 */
#include "kernel/eos/eos_chunk.h"
#include "kernel/eos/eos_chunk_bwd.h"

typedef R_(lcsm_eos_seq) seq;

typedef struct {
    lcsm_chunk c;
    real      *V; /* (C, EOS_PANEL) */
    real      *Y; /* (C, EOS_PANEL), for a last panel that is not full */
} pass;

static pass pass_open(const seq *x, ptrdiff_t C, lcsm_chunk_arena *a)
{
    pass f = {.c = K_(lcsm_chunk_open)(x, C, false, a)};
    f.c.M  = K_(lcsm_chunk_take)(a, f.c.panels * f.c.R, EOS_PANEL);
    f.V    = K_(lcsm_chunk_take)(a, f.c.C, EOS_PANEL);
    f.Y    = K_(lcsm_chunk_take)(a, f.c.C, EOS_PANEL);
    return f;
}

/* Y = exp(B) * (Q M + P U) for one panel. */
static void output(const pass *f, ptrdiff_t panel, const real *M, real *y, ptrdiff_t y_t)
{
    const lcsm_chunk *c    = &f->c;
    ptrdiff_t         cols = lcsm_chunk_cols(c, panel), d = panel * EOS_PANEL;
    bool              whole = cols % VW == 0;
    lcsm_product      p[]   = {
               {.a = c->q, .ar = c->qr, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->R},
               {.a = c->P, .ar = c->Cp, .ad = 1, .b = f->V, .bd = EOS_PANEL, .part = TILE_LOWER},
    };
    lcsm_target t = {.c = whole ? y + d : f->Y, .cr = whole ? y_t : EOS_PANEL, .op = TILE_SET};
    if (c->col.log != NULL) {
        t.op    = TILE_SCALE;
        t.col   = c->col.up;
        t.col_r = c->col.r;
    }
    K_(lcsm_tiles)(c->n, lcsm_chunk_vecs(c, panel), p, 2, &t);
    if (whole) return;
    for (ptrdiff_t r = 0; r < c->n; r++)
        memcpy(y + r * y_t + d, f->Y + r * EOS_PANEL, (size_t)cols * sizeof(real));
}

/* Asks for `bytes` from p on, to be used soon. */
static void fetch(const real *p, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j += 64 / (ptrdiff_t)sizeof(real)) __builtin_prefetch(p + j, 0, 3);
}
static void fetch2(const real *p, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j += 64 / (ptrdiff_t)sizeof(real)) __builtin_prefetch(p + j, 0, 2);
}
static void fetch_view(const R_(lcsm_view) *v, ptrdiff_t t0, ptrdiff_t t1, ptrdiff_t n)
{
    if (v->p == NULL || v->t == 0) return;
    for (ptrdiff_t t = t0; t < t1; t++) fetch2(v->p + t * v->t, n);
}
static void fetch_next(const lcsm_chunk *c, ptrdiff_t p, const real *y, ptrdiff_t y_t)
{
    const seq *x = c->x;
    ptrdiff_t  n = c->n, t0 = c->t + n + n * p / c->panels, t1 = c->t + n + n * (p + 1) / c->panels;
    if (p + 1 < c->panels) fetch(c->M + (p + 1) * c->R * EOS_PANEL, c->R * EOS_PANEL);
    if (t1 > x->T) t1 = x->T;
    fetch_view(&x->i, t0, t1, c->D);
    for (ptrdiff_t t = t0; t < t1; t++) fetch2(y + (t - c->t) * y_t, c->D);
    fetch_view(&x->e, t0, t1, c->K);
    fetch_view(&x->s, t0, t1, c->K);
    fetch_view(&x->row, t0, t1, x->row.k ? c->K : 1);
    fetch_view(&x->col, t0, t1, c->D);
    fetch_view(&x->erase, t0, t1, c->K);
}

/* One chunk; out NULL or where the memory at its end goes. */
static void chunk(pass *f, real *y, ptrdiff_t y_t, real *out)
{
    lcsm_chunk *c = &f->c;
    K_(lcsm_chunk_operands)(c, NULL);
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        real *M = c->M + p * c->R * EOS_PANEL;
        fetch_next(c, p, y, y_t);
        K_(lcsm_chunk_input)(c, p, f->V, NULL, 0, NULL);
        if (c->N != NULL) K_(lcsm_delta_solve)(c, M, f->V);
        output(f, p, M, y, y_t);
        K_(lcsm_chunk_advance)(c, p, f->V, M);
        if (out != NULL) K_(lcsm_chunk_unpack)(c, p, M, out);
    }
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    lcsm_chunk_arena a    = {.base = ws};
    pass             f    = pass_open(x, C, &a);
    size_t           n    = R_(lcsm_eos_memory)(x);
    unsigned         mode = vflush_begin();
    if (tape != NULL) memcpy(tape, m, n * sizeof(real));
    for (ptrdiff_t p = 0; p < f.c.panels; p++)
        K_(lcsm_chunk_pack)(&f.c, p, m, f.c.M + p * f.c.R * EOS_PANEL);
    for (ptrdiff_t t = 0, next; t < x->T; t = next) {
        ptrdiff_t cell = t / C + 1, end = cell * C < x->T ? cell * C : x->T;
        K_(lcsm_chunk_begin)(&f.c, t, end);
        K_(lcsm_chunk_enter)(&f.c, f.c.M);
        next      = t + f.c.n;
        real *out = next == x->T ? m : next == end && tape != NULL ? tape + (size_t)cell * n : NULL;
        chunk(&f, y + t * y_t, y_t, out);
    }
    vflush_end(mode);
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    lcsm_chunk_arena a = {0};
    pass_open(x, C, &a);
    return a.used;
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_chunk) = {fwd_scratch, K_(lcsm_chunk_bwd_scratch), fwd,
                                                 K_(lcsm_chunk_bwd)};

/* Long chunks cost C (K + D) / 2 multiplications a step, short ones a pass over M for each chunk.
 */
ptrdiff_t K_(lcsm_eos_chunk_best)(ptrdiff_t K, ptrdiff_t D)
{
    return K * D > 32768 ? 64 : 32;
}
