/*
 * eos_rank_bwd.c - the chunked form with several writers and readers, backward.
 *
 * With G the gradient of M + sum K_w^T U_w and z_j that of what reader j reads, which for a reader
 * of a writer's input is the gradient X_w of U_w:
 *
 *     X_w = K_w G + sum_j P_jw^T z_j            a triangular system, from the last step to the
 * first g_p_jw = lower(z_j U_w^T)                 g_q_j = z_j M^T + sum_w g_p_jw K_w g_k_w = U_w
 * G^T + sum_j g_p_jw^T q_j      g_M = G + sum_j q_j^T z_j
 *
 * What a step reads of the last write that it sees crosses no decay. It is kept apart from g_p, as
 * in eos_chunk_bwd.c, so that the gradients of strong decays are exact (eos_rank_grad.c).
 */
#include "kernel/eos/chunk/eos_rank_bwd.h"
#include "kernel/eos/chunk/eos_chunk_bwd.h"

typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;
typedef lcsm_rank_back         back;

/* ---- scratch ---------------------------------------------------------------------------- */

static real *take_lower(pieces *a, const lcsm_chunk *c)
{
    real *p = lcsm_chunk_take(a, c->size.C, c->size.Cp);
    if (p != NULL) memset(p, 0, (size_t)(c->size.C * c->size.Cp) * sizeof(real));
    return p;
}

static void take_writers(lcsm_rank *f, pieces *a)
{
    const lcsm_chunk *c = &f->c;
    for (int w = 0; w < f->writers; w++) {
        lcsm_rank_writer *t = &f->write[w];
        t->x                = lcsm_chunk_take(a, c->size.C, t->solved ? c->size.Dp : EOS_PANEL);
        t->g_k              = lcsm_chunk_take(a, c->size.C, c->size.Rp);
    }
    real *uT  = lcsm_chunk_take(a, c->size.Dp, f->writers * c->size.Cp);
    real *end = lcsm_chunk_take(a, c->size.Rp, f->writers * c->size.Cp);
    for (int w = 0; w < f->writers && a->base != NULL; w++) {
        f->write[w].uT    = uT + w * c->size.Cp;
        f->write[w].g_end = end + w * c->size.Cp;
    }
}

static void take_readers(back *b, pieces *a)
{
    lcsm_rank        *f = &b->f;
    const lcsm_chunk *c = &f->c;
    for (int j = 0; j < f->readers; j++) {
        lcsm_rank_reader *r = &f->read[j];
        r->g_q              = lcsm_chunk_take(a, c->size.C, c->size.Rp);
        r->g_entry          = lcsm_chunk_take(a, 1, c->size.Rp);
        for (int w = 0; w < f->writers; w++) {
            r->g_p[w]    = take_lower(a, c);
            r->g_diag[w] = lcsm_chunk_take(a, 1, c->size.C);
        }
        if (j < f->outputs) b->z[j] = lcsm_chunk_take(a, c->size.C, c->size.Dp);
        r->z = j < f->outputs ? b->z[j] : f->write[r->into].x;
    }
    real *zT = lcsm_chunk_take(a, c->size.Dp, f->readers * c->size.Cp);
    real *by = lcsm_chunk_take(a, c->size.Rp, f->readers * c->size.Cp);
    for (int j = 0; j < f->readers && a->base != NULL; j++) {
        f->read[j].zT    = zT + j * c->size.Cp;
        f->read[j].g_q_M = by + j * c->size.Cp;
    }
}

static void take_back(back *b, pieces *a)
{
    const lcsm_chunk *c = &b->f.c;
    take_writers(&b->f, a);
    take_readers(b, a);
    b->own   = lcsm_chunk_take(a, c->size.C, 4);
    b->carry = lcsm_chunk_take(a, 2, c->size.Kp);
    for (int j = 0; j < RANK_STRIPS; j++) b->strip[j] = lcsm_chunk_take(a, c->size.C, VW);
    for (int j = 0; j < b->f.readers; j++) b->q_M[j] = lcsm_chunk_take(a, c->size.Cp, 2 * VW);
    for (int w = 0; w < b->f.writers; w++) b->end[w] = lcsm_chunk_take(a, c->size.Cp, 2 * VW);
}

static void chunk(void *arg, const real *tape);
static void advance(void *arg);

static void pass_open(back *b, const seq *x, ptrdiff_t C, pieces *a)
{
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        b[h]   = (back){.f = K_(lcsm_rank_open)(x + h, C, true, a)};
        b[h].G = lcsm_chunk_take(a, b[h].f.c.size.panels * b[h].f.c.size.R, EOS_PANEL);
    }
    size_t kept = a->used;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        lcsm_chunk *c = &b[h].f.c;
        a->used       = kept;
        K_(lcsm_rank_share)(&b[h].f, a);
        b[h].walk = K_(lcsm_chunk_walk_open)(c, &b[h], chunk, advance, a);
        c->op.M   = lcsm_chunk_take(a, c->size.panels * c->size.R, EOS_PANEL);
        take_back(&b[h], a);
    }
}

size_t K_(lcsm_rank_bwd_scratch)(const seq *x, ptrdiff_t C)
{
    pieces a = {0};
    back   b[LCSM_EOS_HEADS];
    pass_open(b, x, C, &a);
    return taken_reals(&a);
}

/* ---- columns ---------------------------------------------------------------------------- */

/* Z of one output and panel. */
static void output_grad(const back *b, int part, ptrdiff_t panel, real *Z)
{
    const lcsm_chunk *c     = &b->f.c;
    ptrdiff_t         width = c->x->complex_y ? 2 : 1, cols = lcsm_chunk_cols(c, panel);
    for (ptrdiff_t r = 0; r < c->now.n; r++, Z += EOS_PANEL) {
        ptrdiff_t   row = lcsm_rank_row(&b->f, r);
        const real *g   = b->g_y + row * b->g_y_t + panel * EOS_PANEL * width + part;
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            vstore(Z + j, row < 0 ? vzero() : lcsm_lanes(g + j * width, width, cols - j));
    }
}

/* One panel of G becomes the gradient of M + sum K^T U, and what flows from M to there is added
 * up. */
static void end_grad(back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c     = &b->f.c;
    const real       *M     = b->f.start.p + panel * b->f.start.panel;
    ptrdiff_t         M_row = b->f.start.row;
    real             *G     = b->G + panel * c->size.R * EOS_PANEL;
    bool              phase = !c->now.blank && b->g->row_phase.p != NULL;
    bool              flows = !c->now.blank && b->g->row.p != NULL;
    if (panel == 0) memset(b->carry, 0, (size_t)(2 * c->size.Kp) * sizeof(real));
    if (c->now.final) return;
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, -1, G);
    if (c->op.row.log == NULL && !phase) return;
    K_(lcsm_chunk_end)(c, M, M_row, NULL, G, flows ? b->carry : NULL, NULL);
    for (ptrdiff_t k = 0; phase && k < c->size.K; k++) {
        vec sum = vzero();
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            const real *m = M + k * M_row + j, *g = G + k * EOS_PANEL + j;
            sum += vload(m) * vload(g + c->size.Kp * EOS_PANEL)
                 - vload(m + c->size.Kp * M_row) * vload(g);
        }
        b->carry[c->size.Kp + k] += vsum(sum);
    }
}

/* The x of a writer: a panel of it. */
static real *x_of(const lcsm_rank *f, int w, ptrdiff_t at)
{
    return f->write[w].x + (f->write[w].solved ? at : 0);
}

/* The products that make X of writer w; of what readers of inputs give, the part `solved`. */
static int products(const back *b, int w, ptrdiff_t panel, lcsm_tile_part solved, lcsm_product *p)
{
    const lcsm_rank  *f     = &b->f;
    const lcsm_chunk *c     = &f->c;
    ptrdiff_t         at    = panel * c->size.C * EOS_PANEL;
    int               count = 0;
    if (!c->now.final)
        p[count++] = (lcsm_product){.a     = f->write[w].k,
                                    .ar    = c->size.Rp,
                                    .ad    = 1,
                                    .b     = b->G + panel * c->size.R * EOS_PANEL,
                                    .bd    = EOS_PANEL,
                                    .depth = c->size.R};
    for (int j = 0; j < f->readers; j++)
        p[count++] = (lcsm_product){.a     = f->read[j].p[w],
                                    .ar    = 1,
                                    .ad    = c->size.Cp,
                                    .b     = f->read[j].z + at,
                                    .bd    = EOS_PANEL,
                                    .depth = c->now.n,
                                    .part  = j < f->outputs ? TILE_UPPER : solved};
    return count;
}

/* Row r of X_w gains what rows r + 1 .. to - 1 of readers of inputs give. */
static void substitute(const lcsm_rank *f, int w, ptrdiff_t r, ptrdiff_t to, ptrdiff_t at)
{
    real *x = x_of(f, w, at) + r * EOS_PANEL;
    vec   sum[TILE_VECS];
    for (int v = 0; v < TILE_VECS; v++) sum[v] = vload(x + v * VW);
    for (int j = f->outputs; j < f->readers; j++) {
        const real *a = f->read[j].p[w] + r, *z = f->read[j].z + at;
        for (ptrdiff_t s = r + 1; s < to; s++) {
            vec by = vset1(a[s * f->c.size.Cp]);
            for (int v = 0; v < TILE_VECS; v++) sum[v] += by * vload(z + s * EOS_PANEL + v * VW);
        }
    }
    for (int v = 0; v < TILE_VECS; v++) vstore(x + v * VW, sum[v]);
}

/* X of the writers that are solved. */
static void solve_back(const back *b, ptrdiff_t panel)
{
    const lcsm_rank  *f     = &b->f;
    const lcsm_chunk *c     = &f->c;
    ptrdiff_t         tiles = lcsm_tile_count(c->now.n, TILE_VECS), next = c->now.n;
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    lcsm_product      p[1 + RANK_MOST];
    for (ptrdiff_t i = tiles - 1; i >= 0; i--) {
        ptrdiff_t first = lcsm_tile_first(c->now.n, tiles, i);
        for (int w = 0; w < f->writers; w++) {
            if (!f->write[w].solved) continue;
            int         count = products(b, w, panel, TILE_ABOVE, p);
            lcsm_target t     = {
                    .c = x_of(f, w, at), .cr = EOS_PANEL, .op = TILE_SET, .ahead = c->ahead};
            K_(lcsm_tile)(first, next, TILE_VECS, p, count, &t);
        }
        for (ptrdiff_t r = next - 2; r >= first; r--)
            for (int w = 0; w < f->writers; w++)
                if (f->write[w].solved) substitute(f, w, r, next, at);
        next = first;
    }
}

/* X of the others. */
static void inputs_grad(const back *b, ptrdiff_t panel)
{
    const lcsm_rank *f = &b->f;
    lcsm_product     p[1 + RANK_MOST];
    for (int w = 0; w < f->writers; w++) {
        if (f->write[w].solved) continue;
        lcsm_target t = {.c = f->write[w].x, .cr = EOS_PANEL, .op = TILE_SET};
        K_(lcsm_chunk_tiles)
        (&f->c, f->c.now.n, TILE_VECS, p, products(b, w, panel, TILE_UPPER, p), &t);
    }
}

/* The gradient of i of one panel. */
static void add_inputs(const back *b, ptrdiff_t panel)
{
    const lcsm_chunk   *c     = &b->f.c;
    const R_(lcsm_out) *o     = &b->g->i;
    ptrdiff_t           width = c->x->complex_i ? 2 : 1, cols = lcsm_chunk_cols(c, panel);
    ptrdiff_t           at = panel * c->size.C * EOS_PANEL;
    for (int part = 0; o->p != NULL && part < width; part++) {
        const real *x  = x_of(&b->f, part, at);
        real       *to = o->p + c->now.t * o->t + panel * EOS_PANEL * width + part;
        for (ptrdiff_t r = 0; r < c->now.n; r++, to += o->t, x += EOS_PANEL) {
            ptrdiff_t d = 0;
            for (; width == 1 && d + VW <= cols; d += VW)
                vstore(to + d, o->set ? vload(x + d) : vload(to + d) + vload(x + d));
            for (; d < cols; d++) to[d * width] = x[d] + (o->set ? 0 : to[d * width]);
        }
    }
}

/* z . i of every step, of each output and part of i: the gradient of the bonus sum. */
static void bonus_grad(const back *b, ptrdiff_t panel)
{
    const lcsm_rank  *f  = &b->f;
    const lcsm_chunk *c  = &f->c;
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    if (c->x->bonus.p == NULL) return;
    if (panel == 0) memset(b->own, 0, (size_t)(4 * c->now.n) * sizeof(real));
    for (ptrdiff_t r = 0; r < c->now.n; r++)
        for (int j = 0; j < f->outputs; j++)
            for (int w = 0; w < f->out[0].count; w++) {
                const real *z   = b->z[j] + at + r * EOS_PANEL;
                const real *u   = f->write[w].u + at + r * EOS_PANEL;
                vec         sum = vzero();
                for (ptrdiff_t d = 0; d < EOS_PANEL; d += VW) sum += vload(z + d) * vload(u + d);
                b->own[4 * r + 2 * j + w] += vsum(sum);
            }
}

/* The gradient of first rows that read M as it was. */
static void entry_grad(const back *b, ptrdiff_t panel)
{
    const lcsm_rank  *f  = &b->f;
    const lcsm_chunk *c  = &f->c;
    const real       *M  = f->raw + panel * c->size.R * EOS_PANEL;
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    for (int j = 0; j < f->readers; j++) {
        const lcsm_rank_reader *r = &f->read[j];
        if (r->shift == 0) continue;
        if (panel == 0) memset(r->g_entry, 0, (size_t)c->size.Rp * sizeof(real));
        for (ptrdiff_t k = 0; k < c->size.R; k++) {
            vec sum = vzero();
            for (ptrdiff_t d = 0; d < EOS_PANEL; d += VW)
                sum += vload(M + k * EOS_PANEL + d) * vload(r->z + at + d);
            r->g_entry[k] += vsum(sum);
        }
    }
}

/* `to` has rows of `count` times Cp. */
static void transpose_panel(const lcsm_chunk *c, ptrdiff_t panel, const real *from, int count,
                            real *to)
{
    ptrdiff_t width = count * c->size.Cp;
    K_(lcsm_transpose)
    (c->now.n, EOS_PANEL, from, EOS_PANEL, to + panel * EOS_PANEL * width, width);
}

static void columns(back *b, ptrdiff_t panel)
{
    lcsm_rank        *f  = &b->f;
    const lcsm_chunk *c  = &f->c;
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    K_(lcsm_rank_inputs)(f, panel, at);
    for (int j = 0; j < f->outputs; j++) output_grad(b, j, panel, b->z[j] + at);
    for (int w = 0; w < f->writers && !c->now.final; w++)
        transpose_panel(c, panel, f->write[w].u + at, f->writers, f->write[w].uT);
    end_grad(b, panel);
    solve_back(b, panel);
    inputs_grad(b, panel);
    add_inputs(b, panel);
    bonus_grad(b, panel);
    if (lcsm_rank_enters(f)) entry_grad(b, panel);
    for (int j = 0; j < f->readers && !c->now.blank; j++)
        transpose_panel(c, panel, f->read[j].z + at, f->readers, f->read[j].zT);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* g_p of all pairs. */
static void pairs_grad(const back *b)
{
    const lcsm_rank  *f = &b->f;
    const lcsm_chunk *c = &f->c;
    for (int j = 0; j < f->readers; j++) {
        const lcsm_rank_reader *r = &f->read[j];
        for (int w = 0; w < f->writers; w++) {
            lcsm_rows p     = {.a       = r->z + r->shift * EOS_PANEL,
                               .b       = f->write[w].u,
                               .ar      = EOS_PANEL,
                               .br      = EOS_PANEL,
                               .depth   = EOS_PANEL,
                               .blocks  = c->size.panels,
                               .a_block = c->size.C * EOS_PANEL,
                               .b_block = c->size.C * EOS_PANEL};
            r->g_diag[w][0] = 0;
            K_(lcsm_dots_lower)
            (c->now.n - r->shift, &p, r->g_p[w] + r->shift * c->size.Cp, c->size.Cp,
             r->g_diag[w] + r->shift);
            if (r->strict) memset(r->g_diag[w], 0, (size_t)c->now.n * sizeof(real));
        }
    }
}

/* g_q and g_k by other steps of the chunk. */
static void steps_grad(const back *b)
{
    const lcsm_rank  *f = &b->f;
    const lcsm_chunk *c = &f->c;
    lcsm_product      p[RANK_MOST];
    for (ptrdiff_t lane = 0; lane < c->size.R; lane += TILE_COLS) {
        int vecs = lcsm_tile_vecs(c->size.R - lane);
        for (int j = 0; j < f->readers; j++) {
            for (int w = 0; w < f->writers; w++)
                p[w] = (lcsm_product){.a     = f->read[j].g_p[w],
                                      .ar    = c->size.Cp,
                                      .ad    = 1,
                                      .b     = f->write[w].k + lane,
                                      .bd    = c->size.Rp,
                                      .depth = c->now.n,
                                      .part  = TILE_LOWER};
            lcsm_target t = {.c = f->read[j].g_q + lane, .cr = c->size.Rp, .op = TILE_SET};
            K_(lcsm_chunk_tiles)(c, c->now.n, vecs, p, f->writers, &t);
        }
        for (int w = 0; w < f->writers; w++) {
            for (int j = 0; j < f->readers; j++)
                p[j] = (lcsm_product){.a     = f->read[j].g_p[w],
                                      .ar    = 1,
                                      .ad    = c->size.Cp,
                                      .b     = f->read[j].q + lane,
                                      .bd    = c->size.Rp,
                                      .depth = c->now.n,
                                      .part  = TILE_UPPER};
            lcsm_target t = {.c = f->write[w].g_k + lane, .cr = c->size.Rp, .op = TILE_SET};
            K_(lcsm_chunk_tiles)(c, c->now.n, vecs, p, f->readers, &t);
        }
    }
}

/* One panel of G becomes the gradient of the memory before the chunk. */
static void memory_grad(const back *b, ptrdiff_t panel)
{
    const lcsm_rank  *f = &b->f;
    const lcsm_chunk *c = &f->c;
    lcsm_product      p[RANK_MOST];
    lcsm_target       t  = {.c  = b->G + panel * c->size.R * EOS_PANEL,
                            .cr = EOS_PANEL,
                            .op = c->now.final ? TILE_SET : TILE_ADD};
    ptrdiff_t         at = panel * c->size.C * EOS_PANEL;
    for (int j = 0; j < f->readers; j++)
        p[j] = (lcsm_product){.a     = f->read[j].q,
                              .ar    = 1,
                              .ad    = c->size.Rp,
                              .b     = f->read[j].z + at,
                              .bd    = EOS_PANEL,
                              .depth = c->now.n};
    K_(lcsm_chunk_tiles)(c, c->size.R, TILE_VECS, p, f->readers, &t);
    if (c->now.scaled) K_(lcsm_chunk_scale)(c, c->op.row.first, NULL, t.c);
    if (!lcsm_rank_enters(f)) return;
    int count = 0;
    for (int j = 0; j < f->readers; j++) {
        if (f->read[j].shift == 0) continue;
        p[count]       = p[j];
        p[count].a     = f->read[j].entry;
        p[count].depth = 1;
        count++;
    }
    t.op = TILE_ADD;
    K_(lcsm_tiles)(c->size.R, TILE_VECS, p, count, &t);
}

/* ---- chunks ----------------------------------------------------------------------------- */

static void start_from(lcsm_rank *f, const real *tape)
{
    lcsm_chunk *c = &f->c;
    if (tape != NULL && lcsm_chunk_tape_serves(c)) {
        f->start = lcsm_chunk_taped(c, tape);
        return;
    }
    if (tape != NULL && !c->now.blank) K_(lcsm_chunk_pack_all)(c, tape, c->op.M);
    K_(lcsm_rank_enter)(f);
}

/* The parts of M in g_q and of M' in g_k. */
static void ends_grad(const back *b)
{
    const lcsm_rank       *f = &b->f;
    const lcsm_chunk      *c = &f->c;
    const lcsm_chunk_start G = {b->G, c->size.R * EOS_PANEL, EOS_PANEL};
    if (!c->now.final) K_(lcsm_chunk_by_columns)
    (c, &G, f->write[0].uT, f->writers, c->now.n, f->write[0].g_end);
    if (!c->now.blank) K_(lcsm_chunk_by_columns)
    (c, &f->start, f->read[0].zT, f->readers, c->now.n, f->read[0].g_q_M);
}

static void chunk(void *arg, const real *tape)
{
    back       *b = arg;
    lcsm_rank  *f = &b->f;
    lcsm_chunk *c = &f->c;
    start_from(f, tape);
    K_(lcsm_rank_operands)(f);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) columns(b, p);
    ends_grad(b);
    pairs_grad(b);
    steps_grad(b);
    K_(lcsm_rank_grad_rows)(b);

    if (c->now.t == 0 && c->x->first) return;
    if (c->now.empty) {
        memset(b->G, 0, b->walk.memory * sizeof(real));
        return;
    }
    for (ptrdiff_t p = 0; p < c->size.panels; p++) memory_grad(b, p);
}

static void advance(void *arg)
{
    lcsm_rank *f = &((back *)arg)->f;
    K_(lcsm_rank_enter)(f);
    K_(lcsm_rank_operands)(f);
    for (ptrdiff_t p = 0; p < f->c.size.panels; p++) {
        K_(lcsm_rank_inputs)(f, p, 0);
        K_(lcsm_rank_advance)(f, p, 0);
    }
}

/* Requests for the cell before that of step t, in the turn of head h. */
static void ahead(const back *b, const seq *x, const grads *g, ptrdiff_t h, ptrdiff_t t,
                  const real *tape, lcsm_ahead *a)
{
    const lcsm_chunk *c     = &b->f.c;
    ptrdiff_t         width = (x->heads - 1) * x->y_head + x->D * (x->complex_y ? 2 : 1);
    t = t < c->size.C ? x->T + (x->T - 1) / c->size.C * c->size.C : t - c->size.C;
    K_(lcsm_chunk_ahead)(c, x, g, h, t, a);
    if (x->read == NULL) K_(lcsm_chunk_ahead_rows)(a, b->g_y - h * x->y_head, b->g_y_t, width);
    if (a->rows > a->row) {
        ptrdiff_t n = (ptrdiff_t)R_(lcsm_eos_memory)(x) / (a->rows - a->row);
        K_(lcsm_chunk_ahead_rows)(a, tape - a->row * n, n, n);
    }
    K_(lcsm_chunk_ahead_spread)(c, a);
}

void K_(lcsm_rank_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                       ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    pieces   a = {.base = ws};
    back     b[LCSM_EOS_HEADS];
    size_t   n    = R_(lcsm_eos_memory)(x);
    unsigned mode = vflush_begin();
    (void)y;
    (void)y_t;
    pass_open(b, x, C, &a);
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        b[h].g_y   = g_y + h * x->y_head;
        b[h].g_y_t = g_y_t;
        b[h].g     = g + h;
        if (!x->final) K_(lcsm_chunk_pack_all)(&b[h].f.c, g_m + (size_t)h * n, b[h].G);
    }
    for (ptrdiff_t j = (x->T + C - 1) / C - 1; j >= 0; j--) {
        ptrdiff_t  t = j * C, end = t + C < x->T ? t + C : x->T;
        lcsm_ahead next;
        for (ptrdiff_t h = 0; h < x->heads; h++) {
            const real *at = tape + h * x->tape_head + (size_t)j * n;
            b[h].f.c.ahead = &next;
            ahead(&b[h], x, g, h, t, at - n, &next);
            K_(lcsm_chunk_cell)(&b[h].walk, t, end, at);
        }
    }
    for (ptrdiff_t h = 0; h < x->heads && !x->first; h++)
        for (ptrdiff_t p = 0; p < b[h].f.c.size.panels; p++) K_(lcsm_chunk_unpack)
    (&b[h].f.c, p, b[h].G + p * b[h].f.c.size.R * EOS_PANEL, g_m + (size_t)h * n);
    vflush_end(mode);
}
