/*
 * eos_chunk.c - the chunked form: forward, and the row of the kernel table.
 *
 * For each chunk Q, K and P are made once; then, panel by panel of columns, V is packed, Y is
 * written and M goes to the chunk's end, all of it in the first-level cache.
 */
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/eos/chunk/eos_chunk_bwd.h"

typedef R_(lcsm_eos_seq) seq;

/* Reals of a tape that a second-level cache keeps for the backward pass. */
enum { TAPE_IN_CACHE = 1 << 18 };

typedef struct {
    lcsm_chunk c[LCSM_EOS_HEADS];
    real      *V;      /* (C, EOS_PANEL) */
    real      *Y;      /* (C, EOS_PANEL), for a last panel that is not full */
    real      *B;      /* (C, EOS_PANEL) exp(B) of readers, where not all steps are read */
    bool       stream; /* the tape is too large for the cache */
} pass;

static pass pass_open(const seq *x, ptrdiff_t C, pieces *a)
{
    pass f;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        lcsm_chunk *c = &f.c[h];
        *c            = K_(lcsm_chunk_open)(x + h, C, false, a);
        c->op.M       = lcsm_chunk_take(a, c->size.panels * c->size.R, EOS_PANEL);
    }
    f.V         = lcsm_chunk_take(a, f.c[0].size.C, EOS_PANEL);
    f.Y         = lcsm_chunk_take(a, f.c[0].size.C, EOS_PANEL);
    f.B         = x->read == NULL ? NULL : lcsm_chunk_take(a, f.c[0].size.C, EOS_PANEL);
    size_t kept = a->used;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        a->used = kept;
        K_(lcsm_chunk_share)(&f.c[h], a);
    }
    return f;
}

/* Y = exp(B) * (Q M + P U) for one panel. */
static void output(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *y,
                   ptrdiff_t y_t)
{
    ptrdiff_t    cols = lcsm_chunk_cols(c, panel), d = panel * EOS_PANEL;
    bool         whole = cols % VW == 0 && !c->now.unread;
    lcsm_product p[]   = {
          {.a = c->op.q, .ar = c->op.qr, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->size.R},
          {.a     = c->op.P,
           .ar    = c->size.Cp,
           .ad    = 1,
           .b     = f->V,
           .bd    = EOS_PANEL,
           .depth = lcsm_chunk_at(c, c->now.rn - 1) + 1,
           .part  = lcsm_chunk_part(c, TILE_LOWER)},
    };
    lcsm_target t = {.c = whole ? y + d : f->Y, .cr = whole ? y_t : EOS_PANEL, .op = TILE_SET};
    if (c->op.col.log != NULL) {
        t.op    = TILE_SCALE;
        t.col   = c->now.at == NULL ? c->op.col.up : f->B;
        t.col_r = c->now.at == NULL ? c->op.col.r : EOS_PANEL;
        if (c->now.at != NULL) K_(lcsm_chunk_read_scales)(c, f->B);
    }
    int first = c->now.blank; /* Q M is zero */
    K_(lcsm_chunk_tiles)(c, c->now.rn, lcsm_chunk_vecs(c, panel), p + first, 2 - first, &t);
    if (whole || c->now.unread) return;
    for (ptrdiff_t r = 0; r < c->now.rn; r++)
        memcpy(y + r * y_t + d, f->Y + r * EOS_PANEL, (size_t)cols * sizeof(real));
}

/* The chunk that has just begun; m and tape are NULL or where the memory at its end goes. */
static void chunk(const pass *f, lcsm_chunk *c, real *y, ptrdiff_t y_t, real *m, real *tape)
{
    const lcsm_chunk_start start = lcsm_chunk_packed(c);
    K_(lcsm_chunk_operands)(c, NULL);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) {
        real *M = c->op.M + p * c->size.R * EOS_PANEL;
        K_(lcsm_chunk_input)(c, p, f->V, NULL, 0, NULL);
        if (c->op.N != NULL) K_(lcsm_delta_solve)(c, &start, p, f->V);
        output(f, c, p, M, y, y_t);
        if (c->now.final) continue;
        K_(lcsm_chunk_advance)(c, p, f->V, M);
        if (m != NULL) K_(lcsm_chunk_unpack)(c, p, M, m);
        if (tape != NULL)
            (f->stream ? K_(lcsm_chunk_stream) : K_(lcsm_chunk_unpack))(c, p, M, tape);
    }
}

/* Steps t .. end - 1, a cell of one head; m and tape: where the memory goes at the end of the
 * sequence, and of the cell. */
static void cell(const pass *f, lcsm_chunk *c, ptrdiff_t t, ptrdiff_t end, real *m, real *y,
                 ptrdiff_t y_t, real *tape)
{
    for (; t < end; t += c->now.n) {
        K_(lcsm_chunk_begin)(c, t, end);
        K_(lcsm_chunk_enter)(c, c->op.M);
        ptrdiff_t next = t + c->now.n;
        bool      last = next == c->x->T;
        chunk(f, c, y + c->now.r * y_t, y_t, last ? m : NULL, next == end && !last ? tape : NULL);
    }
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    pieces   a    = {.base = ws};
    pass     f    = pass_open(x, C, &a);
    size_t   n    = R_(lcsm_eos_memory)(x);
    unsigned mode = vflush_begin();
    f.stream      = (x->T / C) * x->heads * (ptrdiff_t)n > TAPE_IN_CACHE;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        lcsm_chunk *c = &f.c[h];
        if (x->fresh) continue;
        if (tape != NULL) memcpy(tape + h * x->tape_head, m + (size_t)h * n, n * sizeof(real));
        for (ptrdiff_t p = 0; p < c->size.panels; p++)
            K_(lcsm_chunk_pack)(c, p, m + (size_t)h * n, c->op.M + p * c->size.R * EOS_PANEL);
    }
    for (ptrdiff_t j = 0; j * C < x->T; j++) {
        ptrdiff_t  t = j * C, end = t + C < x->T ? t + C : x->T;
        lcsm_ahead next;
        for (ptrdiff_t h = 0; h < x->heads; h++) {
            real *to     = tape == NULL ? NULL : tape + h * x->tape_head + (size_t)(j + 1) * n;
            f.c[h].ahead = &next;
            K_(lcsm_chunk_ahead)(&f.c[h], x, NULL, h, end, &next);
            if (x->read == NULL)
                K_(lcsm_chunk_ahead_rows)(&next, y, y_t, (x->heads - 1) * x->y_head + x->D);
            K_(lcsm_chunk_ahead_spread)(&f.c[h], &next);
            cell(&f, &f.c[h], t, end, m + (size_t)h * n, y + h * x->y_head, y_t, to);
        }
    }
    vstream_end();
    vflush_end(mode);
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    pieces a = {0};
    pass_open(x, C, &a);
    return taken_reals(&a);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_chunk) = {
    fwd_scratch, K_(lcsm_chunk_bwd_scratch), fwd, K_(lcsm_chunk_bwd), true, true};
