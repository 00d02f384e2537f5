/*
 * eos_chunk_bwd.c - the chunked form, backward.
 *
 * In the frame of eos_chunk.h, with Z = exp(B) * g_y and G the gradient of M + K^T U, which is
 * exp(A - iF) exp(B) times that of M', and (q, z, p) standing for (Q, Z, P) and, with erase, also
 * for (N, X, L):
 *
 *     X = K G + P^T Z + L^T X         gradient of U and of V
 *     g_p = lower(z U^T)              g_q = z M^T + g_p K
 *     g_K = U G^T + sum g_p^T q       g_M = G + sum q^T z
 *
 * A step's decay is crossed by what flows from M or from an earlier step to a later reader or to
 * the chunk's end. Its gradient is the sum over these flows (eos_chunk_grad.c), in which a step
 * that reads itself has no part: P is kept without its diagonal here.
 *
 * Cells are walked from the last to the first. The tape has the memory at a cell's start; if the
 * cell is several chunks, their starts are recomputed in groups, so that only about 2 sqrt(C)
 * memories are held.
 */
#include "kernel/eos/eos_chunk_bwd.h"

typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;
typedef lcsm_chunk_back        back;

/* Starts of chunks and the memories there. */
typedef struct {
    ptrdiff_t  count;
    ptrdiff_t *t;
    real      *M;
} starts;

typedef struct {
    back        b;
    ptrdiff_t   group; /* chunks of a group */
    starts      groups, chunks;
    const real *g_y;
    ptrdiff_t   g_y_t;
    size_t      memory; /* reals of M */
} pass;

/* ---- scratch ---------------------------------------------------------------------------- */

static starts take_starts(lcsm_chunk_arena *a, ptrdiff_t n, size_t memory)
{
    ptrdiff_t reals = (ptrdiff_t)(sizeof(ptrdiff_t) / sizeof(real)) * n;
    starts    s     = {.t = (ptrdiff_t *)(void *)K_(lcsm_chunk_take)(a, 1, reals)};
    s.M             = K_(lcsm_chunk_take)(a, n, (ptrdiff_t)memory);
    return s;
}

static void take_reader(lcsm_chunk_reader *r, const lcsm_chunk *c, lcsm_chunk_arena *a)
{
    r->g_q    = K_(lcsm_chunk_take)(a, c->Cp, c->Rp);
    r->g_p    = K_(lcsm_chunk_take)(a, c->C, c->Cp);
    r->g_diag = K_(lcsm_chunk_take)(a, 1, c->C);
    if (a->base != NULL) memset(r->g_p, 0, (size_t)(c->C * c->Cp) * sizeof(real));
}

static pass pass_open(const seq *x, ptrdiff_t C, lcsm_chunk_arena *a)
{
    pass        f = {.b = {.c = K_(lcsm_chunk_open)(x, C, true, a)}};
    back       *b = &f.b;
    lcsm_chunk *c = &b->c;
    f.memory      = (size_t)(c->panels * c->R * EOS_PANEL);
    for (f.group = 1; f.group * f.group < c->C; f.group++) {}
    f.groups = take_starts(a, (c->C + f.group - 1) / f.group, f.memory);
    f.chunks = take_starts(a, f.group, f.memory);

    c->M       = K_(lcsm_chunk_take)(a, 1, (ptrdiff_t)f.memory);
    b->G       = K_(lcsm_chunk_take)(a, 1, (ptrdiff_t)f.memory);
    b->V       = K_(lcsm_chunk_take)(a, c->C, c->Dp);
    b->Z       = K_(lcsm_chunk_take)(a, c->C, c->Dp);
    b->X       = K_(lcsm_chunk_take)(a, c->C, x->erase.p != NULL ? c->Dp : EOS_PANEL);
    b->diag    = K_(lcsm_chunk_take)(a, 1, c->C);
    b->VT      = K_(lcsm_chunk_take)(a, c->Dp, c->Cp);
    b->ZT      = K_(lcsm_chunk_take)(a, c->Dp, c->Cp);
    b->T       = K_(lcsm_chunk_take)(a, c->Rp, c->Cp);
    b->end     = K_(lcsm_chunk_take)(a, c->Cp, c->Rp);
    b->inner   = K_(lcsm_chunk_take)(a, c->Cp, c->Rp);
    b->log     = K_(lcsm_chunk_take)(a, c->C, c->Kp);
    b->v_end   = K_(lcsm_chunk_take)(a, c->C, EOS_PANEL);
    b->v_inner = K_(lcsm_chunk_take)(a, c->C, EOS_PANEL);
    b->read_y  = K_(lcsm_chunk_take)(a, c->C, EOS_PANEL);
    b->flow    = K_(lcsm_chunk_take)(a, c->C, EOS_PANEL);
    b->carry_k = K_(lcsm_chunk_take)(a, 2, c->Kp);
    b->carry_d = K_(lcsm_chunk_take)(a, 1, c->Dp);

    b->read[0] = (lcsm_chunk_reader){.q = c->Q, .z = b->Z, .p = c->P};
    take_reader(&b->read[0], c, a);
    b->readers = 1;
    if (x->erase.p == NULL) return f;
    b->read[1] = (lcsm_chunk_reader){.q = c->N, .z = b->X, .p = c->L};
    take_reader(&b->read[1], c, a);
    b->readers = 2;
    return f;
}

size_t K_(lcsm_chunk_bwd_scratch)(const seq *x, ptrdiff_t C)
{
    lcsm_chunk_arena a = {0};
    pass_open(x, C, &a);
    return a.used;
}

/* ---- one chunk -------------------------------------------------------------------------- */

/* Z of one panel. */
static void output_grad(const pass *f, ptrdiff_t panel, real *Z)
{
    const lcsm_chunk *c = &f->b.c;
    ptrdiff_t         d = panel * EOS_PANEL, cols = lcsm_chunk_cols(c, panel);
    const real       *up = c->col.log == NULL ? NULL : c->col.up;
    for (ptrdiff_t r = 0; r < c->n; r++, Z += EOS_PANEL)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = lcsm_lanes(f->g_y + (c->t + r) * f->g_y_t + d + j, 1, cols - j);
            if (up != NULL) v *= vload(up + r * c->col.r + j);
            vstore(Z + j, v);
        }
}

/* X of one panel, without the part of L. */
static void input_grad(const back *b, const real *G, const real *Z, bool parts, real *X)
{
    const lcsm_chunk *c   = &b->c;
    lcsm_product      p[] = {
             {.a = c->E, .ar = c->Rp, .ad = 1, .b = G, .bd = EOS_PANEL, .depth = c->R},
             {.a     = c->P,
              .ar    = 1,
              .ad    = c->Cp,
              .b     = Z,
              .bd    = EOS_PANEL,
              .depth = c->n,
              .part  = TILE_UPPER},
    };
    lcsm_target t = {.c = X, .cr = EOS_PANEL, .op = TILE_SET};
    if (parts) {
        t.c = b->v_end;
        K_(lcsm_tiles)(c->n, TILE_VECS, &p[0], 1, &t);
        t.c = b->v_inner;
        K_(lcsm_tiles)(c->n, TILE_VECS, &p[1], 1, &t);
    } else {
        K_(lcsm_tiles)(c->n, TILE_VECS, p, 2, &t);
    }
    for (ptrdiff_t j = 0; j < c->n * EOS_PANEL; j += VW) {
        vec x = vload(Z + j) * b->diag[j / EOS_PANEL];
        vstore(X + j, parts ? x + vload(b->v_end + j) + vload(b->v_inner + j) : x + vload(X + j));
    }
}

/* What col needs beside X: v_inner with the part of L, and what readers read, each
 * times its gradient. */
static void column_flows(const back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c  = &b->c;
    ptrdiff_t         at = panel * c->C * EOS_PANEL;
    const real       *M = c->M + panel * c->R * EOS_PANEL, *V = b->V + at;
    for (int j = 0; j < b->readers; j++) {
        const lcsm_chunk_reader *r   = &b->read[j];
        lcsm_product             p[] = {
                        {.a = r->q, .ar = c->Rp, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->R},
                        {.a = r->p, .ar = c->Cp, .ad = 1, .b = V, .bd = EOS_PANEL, .part = TILE_LOWER},
        };
        lcsm_target t = {.c = b->read_y, .cr = EOS_PANEL, .op = TILE_SET};
        K_(lcsm_tiles)(c->n, TILE_VECS, p, 2, &t);
        for (ptrdiff_t k = 0; k < c->n * EOS_PANEL; k += VW) {
            vec v = vload(b->read_y + k) * vload(r->z + at + k);
            vstore(b->flow + k, j == 0 ? v : v + vload(b->flow + k));
        }
    }
    if (b->readers < 2) return;
    lcsm_product p = {.a     = c->L,
                      .ar    = 1,
                      .ad    = c->Cp,
                      .b     = b->X + at,
                      .bd    = EOS_PANEL,
                      .depth = c->n,
                      .part  = TILE_UPPER};
    lcsm_target  t = {.c = b->v_inner, .cr = EOS_PANEL, .op = TILE_ADD};
    K_(lcsm_tiles)(c->n, TILE_VECS, &p, 1, &t);
}

/* G of one panel: from the gradient of M' to that of M + K^T U, and its flows from M. */
static void end_grad(back *b, ptrdiff_t panel, real *G)
{
    const lcsm_chunk *c = &b->c;
    K_(lcsm_chunk_scale)
    (c, c->row.log == NULL ? NULL : c->decay,
     c->col.log == NULL ? NULL : c->col.up + (c->n - 1) * c->col.r, G);
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, -1, G);
    K_(lcsm_chunk_carry)(b, panel);
}

/* Panel by panel: V, Z, X, the gradients of i and col, and V transposed. */
static void columns(pass *f)
{
    back       *b   = &f->b;
    lcsm_chunk *c   = &b->c;
    bool        col = b->g->col.p != NULL;
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        const real *M = c->M + p * c->R * EOS_PANEL;
        real       *G = b->G + p * c->R * EOS_PANEL;
        real       *V = b->V + p * c->C * EOS_PANEL, *Z = b->Z + p * c->C * EOS_PANEL;
        real       *X = c->N == NULL ? b->X : b->X + p * c->C * EOS_PANEL;
        K_(lcsm_chunk_input)(c, p, V);
        if (c->N != NULL) K_(lcsm_delta_solve)(c, M, V);
        K_(lcsm_transpose)(c->n, EOS_PANEL, V, EOS_PANEL, b->VT + p * EOS_PANEL * c->Cp, c->Cp);
        end_grad(b, p, G);
        output_grad(f, p, Z);
        input_grad(b, G, Z, col, X);
        if (c->N != NULL) K_(lcsm_delta_solve_back)(c, X);
        if (col) column_flows(b, p);
        K_(lcsm_chunk_grad_cols)(b, p, X);
    }
}

/* to = a (panels) times B (Dp, Cp), transposed: (Cp, Rp). */
static void rows_by_columns(const back *b, const real *a, const real *B, real *to)
{
    const lcsm_chunk *c = &b->c;
    for (ptrdiff_t lane = 0; lane < c->n; lane += TILE_COLS) {
        lcsm_product p = {.a       = a,
                          .ar      = EOS_PANEL,
                          .ad      = 1,
                          .b       = B + lane,
                          .bd      = c->Cp,
                          .depth   = EOS_PANEL,
                          .blocks  = c->panels,
                          .a_block = c->R * EOS_PANEL};
        lcsm_target  t = {.c = b->T + lane, .cr = c->Cp, .op = TILE_SET};
        K_(lcsm_tiles)(c->R, lcsm_tile_vecs(c->n - lane), &p, 1, &t);
    }
    K_(lcsm_transpose)(c->R, c->n, b->T, c->Cp, to, c->Rp);
}

/* g_p, then g_q without its diagonal, and the part of readers in g_K. */
static void readers(back *b)
{
    const lcsm_chunk *c = &b->c;
    for (int j = 0; j < b->readers; j++) {
        lcsm_chunk_reader *r = &b->read[j];
        lcsm_product       p = {.a       = r->z,
                                .ar      = EOS_PANEL,
                                .ad      = 1,
                                .b       = b->VT,
                                .bd      = c->Cp,
                                .depth   = EOS_PANEL,
                                .blocks  = c->panels,
                                .a_block = c->C * EOS_PANEL};
        K_(lcsm_tiles_lower)(c->n, &p, r->g_p, c->Cp, r->g_diag);
        for (ptrdiff_t q = 0; q < c->panels; q++) K_(lcsm_transpose)
        (c->n, EOS_PANEL, r->z + q * c->C * EOS_PANEL, EOS_PANEL, b->ZT + q * EOS_PANEL * c->Cp,
         c->Cp);
        rows_by_columns(b, c->M, b->ZT, r->g_q);
        for (ptrdiff_t lane = 0; lane < c->R; lane += TILE_COLS) {
            int          vecs = lcsm_tile_vecs(c->R - lane);
            lcsm_product to_q = {.a    = r->g_p,
                                 .ar   = c->Cp,
                                 .ad   = 1,
                                 .b    = c->E + lane,
                                 .bd   = c->Rp,
                                 .part = TILE_LOWER};
            lcsm_product to_k = {.a     = r->g_p,
                                 .ar    = 1,
                                 .ad    = c->Cp,
                                 .b     = r->q + lane,
                                 .bd    = c->Rp,
                                 .depth = c->n,
                                 .part  = TILE_UPPER};
            lcsm_target  t    = {.c = r->g_q + lane, .cr = c->Rp, .op = TILE_ADD};
            K_(lcsm_tiles)(c->n, vecs, &to_q, 1, &t);
            t.c  = b->inner + lane;
            t.op = j == 0 ? TILE_SET : TILE_ADD;
            K_(lcsm_tiles)(c->n, vecs, &to_k, 1, &t);
        }
    }
}

/* G becomes the gradient of M. */
static void memory_grad(back *b)
{
    const lcsm_chunk *c = &b->c;
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        lcsm_product q[2];
        for (int j = 0; j < b->readers; j++)
            q[j] = (lcsm_product){.a     = b->read[j].q,
                                  .ar    = 1,
                                  .ad    = c->Rp,
                                  .b     = b->read[j].z + p * c->C * EOS_PANEL,
                                  .bd    = EOS_PANEL,
                                  .depth = c->n};
        lcsm_target t = {.c = b->G + p * c->R * EOS_PANEL, .cr = EOS_PANEL, .op = TILE_ADD};
        K_(lcsm_tiles)(c->R, TILE_VECS, q, b->readers, &t);
    }
}

/* The chunk that has just begun, whose start is c->M: gradients, and G from its end to before
 * its first step. */
static void chunk(pass *f)
{
    back       *b = &f->b;
    lcsm_chunk *c = &b->c;
    K_(lcsm_chunk_operands)(c, b->diag);
    columns(f);
    rows_by_columns(b, b->G, b->VT, b->end);
    readers(b);
    K_(lcsm_chunk_grad_rows)(b);

    if (c->empty) {
        memset(b->G, 0, f->memory * sizeof(real));
        return;
    }
    memory_grad(b);
    if (c->scaled) K_(lcsm_chunk_scale_first)(c, b->G);
}

/* ---- cells ------------------------------------------------------------------------------ */

/* The memory at the end of the chunk that has just begun. */
static void advance(pass *f)
{
    lcsm_chunk *c = &f->b.c;
    K_(lcsm_chunk_operands)(c, f->b.diag);
    for (ptrdiff_t p = 0; p < c->panels; p++) {
        real *M = c->M + p * c->R * EOS_PANEL;
        K_(lcsm_chunk_input)(c, p, f->b.V);
        if (c->N != NULL) K_(lcsm_delta_solve)(c, M, f->b.V);
        K_(lcsm_chunk_advance)(c, p, f->b.V, M);
    }
}

static void keep(const pass *f, starts *s, ptrdiff_t t, const real *M)
{
    s->t[s->count] = t;
    memcpy(s->M + (size_t)s->count * f->memory, M, f->memory * sizeof(real));
    s->count++;
}

/* From t to `end`, at most `limit` chunks, keeping every `every`-th start. c->M moves along. */
static void walk(pass *f, starts *s, ptrdiff_t t, ptrdiff_t end, ptrdiff_t every, ptrdiff_t limit)
{
    lcsm_chunk *c = &f->b.c;
    s->count      = 0;
    for (ptrdiff_t j = 0; t < end && j < limit; j++, t += c->n) {
        if (j % every == 0) keep(f, s, t, c->M);
        K_(lcsm_chunk_begin)(c, t, end, c->M);
        advance(f);
    }
}

static void pack(const lcsm_chunk *c, const real *m, real *M)
{
    for (ptrdiff_t p = 0; p < c->panels; p++)
        K_(lcsm_chunk_pack)(c, p, m, M + p * c->R * EOS_PANEL);
}

static void cell(pass *f, ptrdiff_t t0, ptrdiff_t t1, const real *tape)
{
    lcsm_chunk *c = &f->b.c;
    real       *M = c->M;
    pack(c, tape, M);
    K_(lcsm_chunk_begin)(c, t0, t1, M);
    if (c->n == t1 - t0) {
        chunk(f);
        return;
    }
    pack(c, tape, M);
    walk(f, &f->groups, t0, t1, f->group, c->C);
    for (ptrdiff_t g = f->groups.count - 1; g >= 0; g--) {
        memcpy(M, f->groups.M + (size_t)g * f->memory, f->memory * sizeof(real));
        walk(f, &f->chunks, f->groups.t[g], t1, 1, f->group);
        for (ptrdiff_t j = f->chunks.count - 1; j >= 0; j--) {
            c->M = f->chunks.M + (size_t)j * f->memory;
            K_(lcsm_chunk_begin)(c, f->chunks.t[j], t1, c->M);
            chunk(f);
        }
        c->M = M;
    }
}

void K_(lcsm_chunk_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                        ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    lcsm_chunk_arena a    = {.base = ws};
    pass             f    = pass_open(x, C, &a);
    size_t           n    = R_(lcsm_eos_memory)(x);
    unsigned         mode = vflush_begin();
    (void)y;
    (void)y_t;
    f.g_y   = g_y;
    f.g_y_t = g_y_t;
    f.b.g   = g;
    pack(&f.b.c, g_m, f.b.G);
    for (ptrdiff_t j = (x->T + C - 1) / C - 1; j >= 0; j--) {
        ptrdiff_t end = (j + 1) * C;
        cell(&f, j * C, end < x->T ? end : x->T, tape + (size_t)j * n);
    }
    for (ptrdiff_t p = 0; p < f.b.c.panels; p++)
        K_(lcsm_chunk_unpack)(&f.b.c, p, f.b.G + p * f.b.c.R * EOS_PANEL, g_m);
    vflush_end(mode);
}
