/*
 * kernel/eos/chunk/eos_chunk_pass.h - forward over the cells of a sequence, for the sources that
 * say how the products of a chunk are computed.
 *
 * For each chunk Q, K and P are made once; then, panel by panel of columns, V is packed, Y is
 * written and M goes to the chunk's end, all of it in the first-level cache.
 *
 * The source defines
 *
 *   own          what it keeps of a chunk beside the arrays of all chunks
 *   take_own     takes that
 *   make_own     q, k and P of the chunk that has just begun
 *   turn_own     U of one panel from V, if need be
 *   read_own     Q M + P U of one panel, to a target
 *   move_own     that panel of M to the end of the chunk
 *   REQUESTS     how many times more lines are asked for at a request than in float32
 */
#ifndef LCSM_KERNEL_EOS_CHUNK_PASS_H
#define LCSM_KERNEL_EOS_CHUNK_PASS_H
#include "kernel/eos/chunk/eos_chunk.h"

typedef R_(lcsm_eos_seq) seq;

/* Reals of a tape that a second-level cache keeps for the backward pass. */
enum { TAPE_IN_CACHE = 1 << 18 };

typedef struct {
    lcsm_chunk c[LCSM_EOS_HEADS];
    real      *V;      /* (C, EOS_PANEL) */
    real      *Y;      /* (C, EOS_PANEL), for a last panel that is not full */
    real      *B;      /* (C, EOS_PANEL) exp(B) of readers, where not all steps are read */
    bool       stream; /* the tape is too large for the cache */
    own        with;
} pass;

static own  take_own(const lcsm_chunk *c, pieces *a);
static void make_own(const pass *f, lcsm_chunk *c);
static void turn_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel);
static void read_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, const real *M,
                     const lcsm_target *t);
static void move_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, real *M);

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
    f.with      = take_own(&f.c[0], a);
    size_t kept = a->used;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        a->used = kept;
        K_(lcsm_chunk_share)(&f.c[h], a);
    }
    return f;
}

/* Where Y of a panel goes, and what is done to it on the way. */
static lcsm_target target_of(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, real *y,
                             ptrdiff_t y_t, bool whole)
{
    ptrdiff_t   d = panel * EOS_PANEL;
    lcsm_target t = {.c = whole ? y + d : f->Y, .cr = whole ? y_t : EOS_PANEL, .op = TILE_SET};
    t.ahead       = c->ahead;
    if (c->op.col.log == NULL) return t;
    t.op    = TILE_SCALE;
    t.col   = c->now.at == NULL ? c->op.col.up : f->B;
    t.col_r = c->now.at == NULL ? c->op.col.r : EOS_PANEL;
    if (c->now.at != NULL) K_(lcsm_chunk_read_scales)(c, f->B);
    return t;
}

/* Y = exp(B) * (Q M + P U) for one panel. */
static void output(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *y,
                   ptrdiff_t y_t)
{
    ptrdiff_t   cols  = lcsm_chunk_cols(c, panel);
    bool        whole = cols % VW == 0 && !c->now.unread;
    lcsm_target t     = target_of(f, c, panel, y, y_t, whole);
    read_own(f, c, panel, M, &t);
    if (whole || c->now.unread) return;
    for (ptrdiff_t r = 0; r < c->now.rn; r++)
        memcpy(y + r * y_t + panel * EOS_PANEL, f->Y + r * EOS_PANEL, (size_t)cols * sizeof(real));
}

/* The chunk that has just begun; m and tape are NULL or where the memory at its end goes. */
static void chunk(const pass *f, lcsm_chunk *c, real *y, ptrdiff_t y_t, real *m, real *tape)
{
    make_own(f, c);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) {
        real *M = c->op.M + p * c->size.R * EOS_PANEL;
        K_(lcsm_chunk_input)(c, p, f->V, NULL, 0, NULL);
        turn_own(f, c, p);
        output(f, c, p, M, y, y_t);
        if (c->now.final) continue;
        move_own(f, c, p, M);
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
            next.each *= REQUESTS;
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

#endif
