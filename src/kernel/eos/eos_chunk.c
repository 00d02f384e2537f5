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
    pass f = {.c = K_(lcsm_chunk_open)(x, C, a)};
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
               {.a = c->Q, .ar = c->Rp, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->R},
               {.a = c->P, .ar = c->Cp, .ad = 1, .b = f->V, .bd = EOS_PANEL, .part = TILE_LOWER},
    };
    lcsm_target t = {.c = whole ? y + d : f->Y, .cr = whole ? y_t : EOS_PANEL, .op = TILE_SET};
    if (c->col.up != NULL) {
        t.op    = TILE_SCALE;
        t.col   = c->col.up + d;
        t.col_r = c->Dp;
    }
    K_(lcsm_tiles)(c->n, lcsm_chunk_vecs(c, panel), p, 2, &t);
    if (whole) return;
    for (ptrdiff_t r = 0; r < c->n; r++)
        memcpy(y + r * y_t + d, f->Y + r * EOS_PANEL, (size_t)cols * sizeof(real));
}

static void chunk(pass *f, real *y, ptrdiff_t y_t)
{
    lcsm_chunk *c = &f->c;
    K_(lcsm_chunk_operands)(c, NULL);
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        real *M = c->M + p * c->R * EOS_PANEL;
        K_(lcsm_chunk_input)(c, p, f->V);
        if (c->N != NULL) K_(lcsm_delta_solve)(c, M, f->V);
        output(f, p, M, y, y_t);
        K_(lcsm_chunk_advance)(c, p, f->V, M);
    }
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    lcsm_chunk_arena a    = {.base = ws};
    pass             f    = pass_open(x, C, &a);
    size_t           n    = R_(lcsm_eos_memory)(x);
    unsigned         mode = vflush_begin();
    K_(lcsm_chunk_pack)(&f.c, m, f.c.M);
    for (ptrdiff_t t = 0; t < x->T; t += f.c.n) {
        if (tape != NULL && t % C == 0)
            K_(lcsm_chunk_unpack)(&f.c, f.c.M, tape + (size_t)(t / C) * n);
        ptrdiff_t end = (t / C + 1) * C;
        K_(lcsm_chunk_begin)(&f.c, t, end < x->T ? end : x->T, f.c.M);
        chunk(&f, y + t * y_t, y_t);
    }
    K_(lcsm_chunk_unpack)(&f.c, f.c.M, m);
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
