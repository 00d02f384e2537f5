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
 */
#include "kernel/eos/chunk/eos_chunk_bwd.h"

typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;

/* A decay of one step below exp(STRONG) makes column gradients exact: taken from y their error is
 * some units in the last place of y . g_y, not of what the decay lets through. */
#define STRONG ((real)-1.5)
typedef lcsm_chunk_back back;

typedef struct {
    back            b;
    lcsm_chunk_walk walk;
} pass;

/* ---- scratch ---------------------------------------------------------------------------- */

static void take_reader(lcsm_chunk_reader *r, const lcsm_chunk *c, pieces *a)
{
    r->g_p    = lcsm_chunk_take(a, c->size.C, c->size.Cp);
    r->g_diag = lcsm_chunk_take(a, 1, c->size.C);
    r->g_q    = lcsm_chunk_take(a, c->size.C, c->size.Rp);
    if (a->base != NULL) memset(r->g_p, 0, (size_t)(c->size.C * c->size.Cp) * sizeof(real));
}

static void take_back(back *b, pieces *a)
{
    const lcsm_chunk *c     = &b->c;
    bool              erase = c->x->erase.p != NULL;
    b->V                    = lcsm_chunk_take(a, c->size.C, c->size.Dp);
    b->Z                    = lcsm_chunk_take(a, c->size.C, c->size.Dp);
    b->X                    = lcsm_chunk_take(a, c->size.C, erase ? c->size.Dp : EOS_PANEL);
    b->VT                   = lcsm_chunk_take(a, c->size.Dp, c->size.Cp);
    b->diag                 = lcsm_chunk_take(a, 1, c->size.C);
    b->g_E_end              = lcsm_chunk_take(a, c->size.Rp, c->size.Cp);
    b->g_E                  = lcsm_chunk_take(a, c->size.C, c->size.Rp);
    for (int j = 0; j < 10; j++) b->strip[j] = lcsm_chunk_take(a, c->size.Cp, VW);
    b->v_end   = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
    b->v_in    = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
    b->flow    = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
    b->seen    = lcsm_chunk_take(a, c->size.C, EOS_PANEL);
    b->carry_k = lcsm_chunk_take(a, 2, c->size.Kp);
    b->carry_d = lcsm_chunk_take(a, 1, EOS_PANEL);

    b->read[0] = (lcsm_chunk_reader){.q = c->op.Q, .z = b->Z, .p = c->op.P};
    b->read[1] = (lcsm_chunk_reader){.q = c->op.N, .z = b->X, .p = c->op.L};
    b->readers = erase ? 2 : 1;
    real *zT   = lcsm_chunk_take(a, c->size.Dp, b->readers * c->size.Cp);
    real *g_M  = lcsm_chunk_take(a, c->size.Rp, b->readers * c->size.Cp);
    for (int j = 0; j < b->readers; j++) {
        take_reader(&b->read[j], c, a);
        b->read[j].zT    = a->base == NULL ? NULL : zT + j * c->size.Cp;
        b->read[j].g_q_M = a->base == NULL ? NULL : g_M + j * c->size.Cp;
    }
}

static void chunk(void *arg, const real *tape);
static void advance(void *arg);

/* What head h keeps from one cell to the next, then what all heads share. */
static void pass_open(pass *f, const seq *x, ptrdiff_t C, pieces *a)
{
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        lcsm_chunk *c = &f[h].b.c;
        f[h]          = (pass){.b = {.c = K_(lcsm_chunk_open)(x + h, C, true, a)}};
        f[h].b.G      = lcsm_chunk_take(a, c->size.panels * c->size.R, EOS_PANEL);
    }
    size_t kept = a->used;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        lcsm_chunk *c = &f[h].b.c;
        a->used       = kept;
        K_(lcsm_chunk_share)(c, a);
        f[h].walk = K_(lcsm_chunk_walk_open)(c, &f[h], chunk, advance, a);
        c->op.M   = lcsm_chunk_take(a, c->size.panels * c->size.R, EOS_PANEL);
        take_back(&f[h].b, a);
    }
}

size_t K_(lcsm_chunk_bwd_scratch)(const seq *x, ptrdiff_t C)
{
    pieces a = {0};
    pass   f[LCSM_EOS_HEADS];
    pass_open(f, x, C, &a);
    return taken_reals(&a);
}

/* ---- one chunk -------------------------------------------------------------------------- */

/* X of one panel, without the part of L. For column gradients v_end is its part by M', and in
 * the exact case v_in that by later steps. */
static void input_grad(const back *b, const real *G, const real *Z, real *X)
{
    const lcsm_chunk *c     = &b->c;
    bool              parts = b->g->col.p != NULL;
    lcsm_product      p[]   = {
               {.a = c->op.E, .ar = c->size.Rp, .ad = 1, .b = G, .bd = EOS_PANEL, .depth = c->size.R},
               {.a     = c->op.P,
                .ar    = 1,
                .ad    = c->size.Cp,
                .b     = Z,
                .bd    = EOS_PANEL,
                .depth = c->now.rn,
                .part  = lcsm_chunk_part(c, TILE_UPPER)},
    };
    lcsm_target t     = {.c = X, .cr = EOS_PANEL, .op = TILE_SET};
    int         first = c->now.final; /* G is zero */
    if (!parts) {
        K_(lcsm_chunk_tiles)(c, c->now.n, TILE_VECS, p + first, 2 - first, &t);
        return;
    }
    t.c = b->v_end;
    if (c->now.final) memset(b->v_end, 0, (size_t)(c->now.n * EOS_PANEL) * sizeof(real));
    else K_(lcsm_chunk_tiles)(c, c->now.n, TILE_VECS, &p[0], 1, &t);
    if (!b->exact) {
        lcsm_target sum = {
            .c = X, .cr = EOS_PANEL, .op = TILE_SUM, .col = b->v_end, .col_r = EOS_PANEL};
        K_(lcsm_chunk_tiles)(c, c->now.n, TILE_VECS, &p[1], 1, &sum);
        return;
    }
    t.c = b->v_in;
    K_(lcsm_chunk_tiles)(c, c->now.n, TILE_VECS, &p[1], 1, &t);
    for (ptrdiff_t j = 0; j < c->now.n * EOS_PANEL; j += VW)
        vstore(X + j, vload(b->v_end + j) + vload(b->v_in + j));
    for (ptrdiff_t r = 0; r < c->now.rn; r++) {
        real *x = X + lcsm_chunk_at(c, r) * EOS_PANEL;
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            vstore(x + j, vload(x + j) + vload(Z + r * EOS_PANEL + j) * b->diag[r]);
    }
}

/* What exact column gradients need beside X: v_in with the part of L, and in flow what readers
 * read, times its gradient. */
static void column_flows(const back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c  = &b->c;
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    const real       *M = c->op.M + panel * c->size.R * EOS_PANEL, *V = b->V + at;
    for (int j = 0; j < b->readers; j++) {
        const lcsm_chunk_reader *r   = &b->read[j];
        lcsm_product             p[] = {
                        {.a = r->q, .ar = c->size.Rp, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->size.R},
                        {.a     = r->p,
                         .ar    = c->size.Cp,
                         .ad    = 1,
                         .b     = V,
                         .bd    = EOS_PANEL,
                         .depth = lcsm_chunk_at(c, c->now.rn - 1) + 1,
                         .part  = lcsm_chunk_part(c, TILE_LOWER)},
        };
        lcsm_target t     = {.c = b->seen, .cr = EOS_PANEL, .op = TILE_SET};
        int         first = c->now.blank; /* q M is zero */
        K_(lcsm_chunk_tiles)(c, c->now.rn, TILE_VECS, p + first, 2 - first, &t);
        if (j == 0) memset(b->flow, 0, (size_t)(c->now.n * EOS_PANEL) * sizeof(real));
        for (ptrdiff_t k = 0; k < c->now.rn; k++) {
            const real *seen = b->seen + k * EOS_PANEL, *z = r->z + at + k * EOS_PANEL;
            real       *flow = b->flow + lcsm_chunk_at(c, k) * EOS_PANEL;
            for (ptrdiff_t l = 0; l < EOS_PANEL; l += VW)
                vstore(flow + l, vload(flow + l) + vload(seen + l) * vload(z + l));
        }
    }
    if (b->readers < 2) return;
    lcsm_product p = {.a     = c->op.L,
                      .ar    = 1,
                      .ad    = c->size.Cp,
                      .b     = b->X + at,
                      .bd    = EOS_PANEL,
                      .depth = c->now.n,
                      .part  = TILE_UPPER};
    lcsm_target  t = {.c = b->v_in, .cr = EOS_PANEL, .op = TILE_ADD};
    K_(lcsm_chunk_tiles)(c, c->now.n, TILE_VECS, &p, 1, &t);
}

/* `to` has rows of `count` times Cp. */
static void transpose_panel(const lcsm_chunk *c, ptrdiff_t rows, ptrdiff_t panel, const real *from,
                            int count, real *to)
{
    ptrdiff_t width = count * c->size.Cp;
    K_(lcsm_transpose)(rows, EOS_PANEL, from, EOS_PANEL, to + panel * EOS_PANEL * width, width);
}

/* One panel: V, Z, X, the gradients of i and col, and V, Z, X transposed. */
static void columns(back *b, ptrdiff_t p)
{
    lcsm_chunk *c = &b->c;
    real       *G = b->G + p * c->size.R * EOS_PANEL;
    real       *V = b->V + p * c->size.C * EOS_PANEL, *Z = b->Z + p * c->size.C * EOS_PANEL;
    real       *X = c->op.N == NULL ? b->X : b->X + p * c->size.C * EOS_PANEL;
    K_(lcsm_chunk_input)(c, p, V, b->g_y + c->now.r * b->g_y_t, b->g_y_t, Z);
    if (c->op.N != NULL) K_(lcsm_delta_solve)(c, &b->M, p, V);
    if (!c->now.final) transpose_panel(c, c->now.n, p, V, 1, b->VT);
    if (!c->now.blank) transpose_panel(c, c->now.rn, p, Z, b->readers, b->read[0].zT);

    K_(lcsm_chunk_grad_end)(b, p, G);
    input_grad(b, G, Z, X);
    if (c->op.N != NULL) {
        K_(lcsm_delta_solve_back)(c, X);
        if (!c->now.blank) transpose_panel(c, c->now.n, p, X, b->readers, b->read[1].zT);
    }
    if (b->exact) column_flows(b, p);
    K_(lcsm_chunk_grad_cols)(b, p, X);
}

/* Lanes first .. last - 1 of it, rows of B and `to` `width` apart. */
static void by_lanes(const lcsm_chunk *c, const lcsm_chunk_start *M, const real *B, ptrdiff_t width,
                     ptrdiff_t first, ptrdiff_t last, real *to)
{
    for (ptrdiff_t lane = first; lane < last; lane += TILE_COLS) {
        lcsm_product p = {.a       = M->p,
                          .ar      = M->row,
                          .ad      = 1,
                          .b       = B + lane,
                          .bd      = width,
                          .depth   = EOS_PANEL,
                          .blocks  = c->size.panels,
                          .a_block = M->panel};
        lcsm_target  t = {.c = to + lane, .cr = width, .op = TILE_SET};
        K_(lcsm_chunk_tiles)(c, c->size.R, lcsm_tile_vecs(last - lane), &p, 1, &t);
    }
}

void K_(lcsm_chunk_by_columns)(const lcsm_chunk *c, const lcsm_chunk_start *M, const real *B,
                               int count, ptrdiff_t lanes, real *to)
{
    ptrdiff_t Cp = c->size.Cp, width = count * Cp;
    bool      joined = lanes > Cp - VW; /* no vector between them is empty */
    if (joined) by_lanes(c, M, B, width, 0, width, to);
    for (int j = 0; !joined && j < count; j++) by_lanes(c, M, B, width, j * Cp, j * Cp + lanes, to);
}

/* g_p, g_q and the part of a reader in g_K. */
static void reader_grad(back *b, lcsm_chunk_reader *r)
{
    const lcsm_chunk *c = &b->c;
    lcsm_rows         p = {.a       = r->z,
                           .b       = b->V,
                           .ar      = EOS_PANEL,
                           .br      = EOS_PANEL,
                           .depth   = EOS_PANEL,
                           .blocks  = c->size.panels,
                           .a_block = c->size.C * EOS_PANEL,
                           .b_block = c->size.C * EOS_PANEL};
    if (c->now.at == NULL) K_(lcsm_dots_lower)(c->now.n, &p, r->g_p, c->size.Cp, r->g_diag);
    else K_(lcsm_dots_until)(c->now.rn, c->now.at, &p, r->g_p, c->size.Cp, c->now.n, r->g_diag);
    for (ptrdiff_t lane = 0; lane < c->size.R; lane += TILE_COLS) {
        int          vecs = lcsm_tile_vecs(c->size.R - lane);
        lcsm_product to_q = {.a     = r->g_p,
                             .ar    = c->size.Cp,
                             .ad    = 1,
                             .b     = c->op.E + lane,
                             .bd    = c->size.Rp,
                             .depth = lcsm_chunk_at(c, c->now.rn - 1) + 1,
                             .part  = lcsm_chunk_part(c, TILE_LOWER)};
        lcsm_product to_k = {.a     = r->g_p,
                             .ar    = 1,
                             .ad    = c->size.Cp,
                             .b     = r->q + lane,
                             .bd    = c->size.Rp,
                             .depth = c->now.rn,
                             .part  = lcsm_chunk_part(c, TILE_UPPER)};
        lcsm_target  t    = {.c = r->g_q + lane, .cr = c->size.Rp, .op = TILE_SET};
        K_(lcsm_chunk_tiles)(c, c->now.rn, vecs, &to_q, 1, &t);
        t.c  = b->g_E + lane;
        t.op = r == b->read ? TILE_SET : TILE_ADD;
        K_(lcsm_chunk_tiles)(c, c->now.n, vecs, &to_k, 1, &t);
    }
}

/* One panel of G becomes the gradient of M. */
static void memory_grad(back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c = &b->c;
    lcsm_product      q[2];
    for (int j = 0; j < b->readers; j++)
        q[j] = (lcsm_product){.a     = b->read[j].q,
                              .ar    = 1,
                              .ad    = c->size.Rp,
                              .b     = b->read[j].z + panel * c->size.C * EOS_PANEL,
                              .bd    = EOS_PANEL,
                              .depth = c->now.rn};
    lcsm_target t = {.c = b->G + panel * c->size.R * EOS_PANEL, .cr = EOS_PANEL, .op = TILE_ADD};
    if (c->now.final) t.op = TILE_SET; /* G is zero, and not there */
    K_(lcsm_chunk_tiles)(c, c->size.R, TILE_VECS, q, b->readers, &t);
}

static void start_from(pass *f, const real *tape)
{
    back       *b = &f->b;
    lcsm_chunk *c = &b->c;
    if (tape != NULL && !b->exact && lcsm_chunk_tape_serves(c)) {
        b->M = lcsm_chunk_taped(c, tape);
        return;
    }
    if (tape != NULL && !c->now.blank) K_(lcsm_chunk_pack_all)(c, tape, c->op.M);
    K_(lcsm_chunk_enter)(c, c->op.M);
    b->M = lcsm_chunk_packed(c);
}

/* The chunk that has just begun: gradients, and G from its end to before its first step. `tape`
 * has the memory before the chunk, or it is NULL and c->op.M has. */
static void chunk(void *arg, const real *tape)
{
    pass       *f = arg;
    back       *b = &f->b;
    lcsm_chunk *c = &b->c;
    b->exact      = b->g->col.p != NULL
            && (c->now.n == 1 || c->now.scaled || !(c->op.row.least + c->op.col.least >= STRONG));
    start_from(f, tape);
    K_(lcsm_chunk_operands)(c, b->exact ? b->diag : NULL);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) columns(b, p);
    b->from_M = c->now.blank || lcsm_chunk_finds_M(c) ? 0 : (double)(c->now.n + 1) / 2;
    const lcsm_chunk_start G = {b->G, c->size.R * EOS_PANEL, EOS_PANEL};
    if (!c->now.final) K_(lcsm_chunk_by_columns)(c, &G, b->VT, 1, c->now.n, b->g_E_end);
    if (!c->now.blank) K_(lcsm_chunk_by_columns)
    (c, &b->M, b->read[0].zT, b->readers, c->now.rn, b->read[0].g_q_M);
    for (int j = 0; j < b->readers; j++) reader_grad(b, &b->read[j]);
    K_(lcsm_chunk_grad_rows)(b);

    if (c->now.t == 0 && c->x->first) return;
    if (c->now.empty) {
        memset(b->G, 0, f->walk.memory * sizeof(real));
        return;
    }
    for (ptrdiff_t p = 0; p < c->size.panels; p++) memory_grad(b, p);
    if (c->now.scaled) K_(lcsm_chunk_scale_first)(c, b->G);
}

/* The memory at the end of the chunk that has just begun. */
static void advance(void *arg)
{
    pass                  *f     = arg;
    lcsm_chunk            *c     = &f->b.c;
    const lcsm_chunk_start start = lcsm_chunk_packed(c);
    K_(lcsm_chunk_enter)(c, c->op.M);
    K_(lcsm_chunk_operands)(c, NULL);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) {
        K_(lcsm_chunk_input)(c, p, f->b.V, NULL, 0, NULL);
        if (c->op.N != NULL) K_(lcsm_delta_solve)(c, &start, p, f->b.V);
        K_(lcsm_chunk_advance)(c, p, f->b.V, c->op.M + p * c->size.R * EOS_PANEL);
    }
}

/* Requests for the cell before that of step t, in the turn of head h; before the first it is the
 * last cell of the sequence that follows in memory. */
static void ahead(const pass *f, const seq *x, const grads *g, ptrdiff_t h, ptrdiff_t t,
                  const real *tape, lcsm_ahead *a)
{
    const back *b     = &f->b;
    ptrdiff_t   width = (x->heads - 1) * x->y_head + x->D;
    t = t < b->c.size.C ? x->T + (x->T - 1) / b->c.size.C * b->c.size.C : t - b->c.size.C;
    K_(lcsm_chunk_ahead)(&b->c, x, g, h, t, a);
    if (x->read == NULL) K_(lcsm_chunk_ahead_rows)(a, b->g_y - h * x->y_head, b->g_y_t, width);
    if (g->col.p != NULL && x->read == NULL)
        K_(lcsm_chunk_ahead_rows)(a, b->y - h * x->y_head, b->y_t, width);
    if (a->rows > a->row) {
        ptrdiff_t n = (ptrdiff_t)R_(lcsm_eos_memory)(x) / (a->rows - a->row);
        K_(lcsm_chunk_ahead_rows)(a, tape - a->row * n, n, n);
    }
    K_(lcsm_chunk_ahead_spread)(&b->c, a);
}

void K_(lcsm_chunk_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                        ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    pieces   a = {.base = ws};
    pass     f[LCSM_EOS_HEADS];
    size_t   n    = R_(lcsm_eos_memory)(x);
    unsigned mode = vflush_begin();
    pass_open(f, x, C, &a);
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        back *b  = &f[h].b;
        b->y     = y == NULL ? NULL : y + h * x->y_head;
        b->y_t   = y_t;
        b->g_y   = g_y + h * x->y_head;
        b->g_y_t = g_y_t;
        b->g     = g + h;
        if (!x->final) K_(lcsm_chunk_pack_all)(&b->c, g_m + (size_t)h * n, b->G);
    }
    for (ptrdiff_t j = (x->T + C - 1) / C - 1; j >= 0; j--) {
        ptrdiff_t  t = j * C, end = t + C < x->T ? t + C : x->T;
        lcsm_ahead next;
        for (ptrdiff_t h = 0; h < x->heads; h++) {
            const real *at = tape + h * x->tape_head + (size_t)j * n;
            f[h].b.c.ahead = &next;
            ahead(&f[h], x, g, h, t, at - n, &next);
            K_(lcsm_chunk_cell)(&f[h].walk, t, end, at);
        }
    }
    for (ptrdiff_t h = 0; h < x->heads && !x->first; h++)
        for (ptrdiff_t p = 0; p < f[h].b.c.size.panels; p++) K_(lcsm_chunk_unpack)
    (&f[h].b.c, p, f[h].b.G + p * f[h].b.c.size.R * EOS_PANEL, g_m + (size_t)h * n);
    vflush_end(mode);
}
