/*
 * eos_rank.c - the chunked form with several writers and readers: the frame of a chunk, the
 * triangular system, forward. eos_rank.h has the equations.
 */
#include "kernel/eos/chunk/eos_rank.h"

typedef R_(lcsm_view)    view;
typedef R_(lcsm_eos_seq) seq;
typedef lcsm_rank        rank;
typedef lcsm_rank_vector vector;

/* Reals of a tape that a second-level cache keeps for the backward pass. */
enum { TAPE_IN_CACHE = 1 << 18 };

/* ---- readers and writers ---------------------------------------------------------------- */

/* Rank r of a or b. */
static view of_rank(const view *v, ptrdiff_t r, ptrdiff_t K)
{
    view at = *v;
    at.p += r * K * v->k;
    return at;
}

static void add_reader(rank *f, vector v, int into)
{
    v.first                    = f->readers;
    f->in[f->reader_vectors++] = v;
    for (int j = 0; j < v.count; j++)
        f->read[f->readers++] =
            (lcsm_rank_reader){.into = into + j, .shift = v.shift, .strict = v.strict};
}

static void add_writer(rank *f, vector v, bool solved)
{
    v.first                     = f->writers;
    f->out[f->writer_vectors++] = v;
    for (int j = 0; j < v.count; j++) f->write[f->writers++] = (lcsm_rank_writer){.solved = solved};
}

/* Who reads and who writes. */
static void list(rank *f)
{
    const seq *x     = f->c.x;
    int        parts = x->is_complex ? 2 : 1;
    bool       erase = x->erase.p != NULL;
    add_writer(
        f,
        (vector){
            .v = x->e, .pairs = x->complex_e, .by = 1, .count = x->complex_i || erase ? parts : 1},
        erase);
    add_reader(f,
               (vector){.v     = x->s,
                        .pairs = x->complex_s,
                        .reads = true,
                        .by    = x->scale,
                        .count = x->complex_y ? 2 : 1,
                        .shift = x->read_before},
               -1);
    f->outputs = f->readers;
    if (erase)
        add_reader(
            f,
            (vector){
                .v = x->erase, .pairs = x->complex_erase, .by = -1, .count = parts, .strict = true},
            0);
    for (ptrdiff_t r = 0; r < x->rank; r++) {
        add_reader(f,
                   (vector){.v     = of_rank(&x->b, r, x->K),
                            .pairs = x->complex_b,
                            .by    = 1,
                            .count = parts,
                            .shift = 1},
                   f->writers);
        add_writer(
            f,
            (vector){.v = of_rank(&x->a, r, x->K), .pairs = x->complex_a, .by = 1, .count = parts},
            true);
    }
}

rank K_(lcsm_rank_open)(const seq *x, ptrdiff_t C, bool back, pieces *a)
{
    rank f     = {.c = K_(lcsm_chunk_open)(x, C, true, a), .back = back};
    f.c.now.at = NULL; /* every step has a row; those that are not read have zeros */
    list(&f);
    return f;
}

/* A triangle, zeros above its diagonal. */
static real *take_lower(pieces *a, const lcsm_chunk *c)
{
    real *p = lcsm_chunk_take(a, c->size.C, c->size.Cp);
    if (p != NULL) memset(p, 0, (size_t)(c->size.C * c->size.Cp) * sizeof(real));
    return p;
}

void K_(lcsm_rank_share)(rank *f, pieces *a)
{
    lcsm_chunk *c = &f->c;
    K_(lcsm_chunk_decays_shared)(c, a);
    c->op.decay = lcsm_chunk_take(a, 1, c->size.Rp);
    f->junk     = lcsm_chunk_take(a, 1, c->size.C);
    for (int j = 0; j < f->writers; j++) {
        f->write[j].k = lcsm_chunk_take(a, c->size.C, c->size.Rp);
        f->write[j].u = lcsm_chunk_take(a, c->size.C, f->back ? c->size.Dp : EOS_PANEL);
    }
    bool early = false;
    for (int j = 0; j < f->readers; j++) {
        f->read[j].q     = lcsm_chunk_take(a, c->size.C, c->size.Rp);
        f->read[j].entry = lcsm_chunk_take(a, 1, c->size.Rp);
        early            = early || f->read[j].shift > 0;
        for (int w = 0; w < f->writers; w++) f->read[j].p[w] = take_lower(a, c);
    }
    /* what erases needs short chunks where decays rise (eos_chunk_decay.c) */
    c->op.N = f->readers > f->outputs ? f->read[f->outputs].q : NULL;
    f->raw  = NULL;
    if (early && c->op.row.log != NULL)
        f->raw = lcsm_chunk_take(a, c->size.panels * c->size.R, EOS_PANEL);
}

/* ---- the frame -------------------------------------------------------------------------- */

/* The products of the decays up to every step, and their inverses; those of the last step. */
static void decays(lcsm_chunk *c)
{
    lcsm_chunk_factor *f    = &c->op.row;
    ptrdiff_t          n    = c->now.n;
    bool               mild = lcsm_chunk_mild(f);
    for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) {
        const real *log = f->log == NULL ? NULL : f->log + c->now.t * f->t + k * f->stride;
        vec         up  = vset1(1);
        for (ptrdiff_t r = 0; f->log != NULL && f->t != 0 && r < n; r++) {
            vec x = lcsm_lanes(log + r * f->t, f->stride, c->size.K - k);
            if (r > 0 || !c->now.scaled) up *= mild ? lcsm_exp_mild(x) : vexp_even(x);
            vstore(f->up + r * c->size.Kp + k, up);
            vstore(f->down + r * c->size.Kp + k, vrcp(up));
        }
        if (f->log != NULL) up = vload(f->up + (n - 1) * c->size.Kp + k);
        vstore(c->op.decay + k, up);
        if (c->x->is_complex) vstore(c->op.decay + c->size.Kp + k, up);
    }
}

/* Row r of a real vector: x times a factor by row, or NULL. whole: in whole vectors. */
VEC_INLINE void row_lanes(const lcsm_chunk *c, const real *x, ptrdiff_t stride, bool whole,
                          const real *f, real by, real *to)
{
    for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) {
        vec v = whole ? vload(x + k) : lcsm_lanes(x + k * stride, stride, c->size.K - k);
        vstore(to + k, f == NULL ? v * by : v * by * vload(f + k));
    }
}

static void row_real(const lcsm_chunk *c, const real *x, ptrdiff_t stride, const real *f, real by,
                     real *to)
{
    if (x == NULL) memset(to, 0, (size_t)c->size.Kp * sizeof(real));
    else if (stride == 1 && c->size.K == c->size.Kp) row_lanes(c, x, 1, true, f, by, to);
    else row_lanes(c, x, stride, false, f, by, to);
}

/* Row r of a complex one, in the parts of a writer or of a reader; cs and sn may be NULL. */
static void row_complex(const lcsm_chunk *c, const vector *v, const real *x, const real *f,
                        const real *cs, const real *sn, bool writes, real *const to[2])
{
    for (ptrdiff_t k = 0; k < c->size.Kp; k += VW) {
        ptrdiff_t left = c->size.K - k, half = c->size.Kp;
        vec       re = vzero(), im = re, a = vset1(v->by), cos = vset1(1), sin = re;
        if (x != NULL) re = lcsm_lanes(x + k * v->v.k, v->v.k, left);
        if (x != NULL && v->pairs) im = lcsm_lanes(x + k * v->v.k + 1, v->v.k, left);
        if (f != NULL) a *= vload(f + k);
        if (cs != NULL) cos = vload(cs + k), sin = vload(sn + k);
        if (writes) sin = -sin;
        vec kr = (re * cos - im * sin) * a, ki = (re * sin + im * cos) * a;
        if (writes) {
            vstore(to[0] + k, kr);
            vstore(to[0] + half + k, ki);
            if (v->count > 1) vstore(to[1] + k, -ki);
            if (v->count > 1) vstore(to[1] + half + k, kr);
        } else {
            vstore(to[0] + k, kr);
            vstore(to[0] + half + k, -ki);
            if (v->count > 1) vstore(to[1] + k, ki);
            if (v->count > 1) vstore(to[1] + half + k, kr);
        }
    }
}

/* All rows of a vector. */
static void rows(const rank *f, const vector *v, bool writes)
{
    const lcsm_chunk *c     = &f->c;
    const real       *table = writes ? c->op.row.down : c->op.row.up;
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        ptrdiff_t   at = r - v->shift, row = c->now.t + r;
        const real *by = at < 0 || c->op.row.log == NULL ? NULL : table + at * c->size.Kp;
        real       *to[2];
        for (int j = 0; j < 2; j++) {
            int m = v->first + (j < v->count ? j : 0);
            to[j] = (writes ? f->write[m].k : f->read[m].q) + r * c->size.Rp;
        }
        if (v->reads) row = lcsm_rank_row(f, r);
        const real *x = row < 0 ? NULL : v->v.p + row * v->v.t;
        if (c->x->is_complex)
            row_complex(c, v, x, by, at < 0 ? NULL : c->op.cos + at * c->size.Kp,
                        at < 0 ? NULL : c->op.sin + at * c->size.Kp, writes, to);
        else row_real(c, x, v->v.k, by, v->by, to[0]);
    }
}

pair K_(lcsm_rank_load)(const view *v, bool pairs, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n)
{
    const real *p = v->p + row * v->t + k * v->k;
    if (!pairs) return (pair){lcsm_lanes(p, v->k, n), vzero()};
    return (pair){lcsm_lanes(p, v->k, n), lcsm_lanes(p + 1, v->k, n)};
}

/* The sum of bonus s e at step r, whose row of s is given. */
static void bonus_sum(const rank *f, ptrdiff_t r, ptrdiff_t row, real sum[2])
{
    const seq *x = f->c.x;
    pair       q = {vzero(), vzero()};
    for (ptrdiff_t k = 0; k < x->K; k += VW) {
        ptrdiff_t left = x->K - k;
        pair      z    = K_(lcsm_rank_load)(&x->bonus, x->complex_bonus, 0, k, left);
        pair      e    = K_(lcsm_rank_load)(&x->e, x->complex_e, f->c.now.t + r, k, left);
        pair      s    = K_(lcsm_rank_load)(&x->s, x->complex_s, row, k, left);
        if (!x->is_complex) q.re += z.re * s.re * e.re;
        else q = pair_add(q, pair_mul(z, pair_mul(s, e)));
    }
    sum[0] = vsum(q.re);
    sum[1] = vsum(q.im);
}

/* The diagonals of P of s and e: the bonus, where there is one. */
static void bonus(const rank *f)
{
    const lcsm_chunk *c = &f->c;
    if (c->x->bonus.p == NULL) return;
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        ptrdiff_t row = lcsm_rank_row(f, r), at = r * c->size.Cp + r;
        real      q[2] = {0, 0};
        if (row >= 0) bonus_sum(f, r, row, q);
        for (int j = 0; j < f->outputs; j++)
            for (int w = 0; w < f->out[0].count; w++)
                f->read[j].p[w][at] = c->x->scale * (j == w ? q[0] : j > w ? q[1] : -q[1]);
    }
}

/* The rows of first steps that read M as it was, out of Q. */
static void take_entries(const rank *f)
{
    size_t n = (size_t)f->c.size.Rp * sizeof(real);
    for (int j = 0; j < f->readers; j++) {
        if (f->read[j].shift == 0) continue;
        memcpy(f->read[j].entry, f->read[j].q, n);
        memset(f->read[j].q, 0, n);
    }
}

void K_(lcsm_rank_operands)(rank *f)
{
    const lcsm_chunk *c = &f->c;
    decays(&f->c);
    for (int j = 0; j < f->writer_vectors; j++) rows(f, &f->out[j], true);
    for (int j = 0; j < f->reader_vectors; j++) rows(f, &f->in[j], false);
    if (lcsm_rank_enters(f)) take_entries(f);
    for (int j = 0; j < f->readers; j++)
        for (int w = 0; w < f->writers; w++) {
            const lcsm_rank_reader *r = &f->read[j];
            lcsm_rows               p = {.a     = r->q + r->shift * c->size.Rp,
                                         .ar    = c->size.Rp,
                                         .b     = f->write[w].k,
                                         .br    = c->size.Rp,
                                         .depth = c->size.Rp};
            K_(lcsm_dots_lower)
            (c->now.n - r->shift, &p, r->p[w] + r->shift * c->size.Cp, c->size.Cp,
             r->strict ? f->junk : NULL);
        }
    bonus(f);
}

void K_(lcsm_rank_enter)(rank *f)
{
    lcsm_chunk *c = &f->c;
    if (lcsm_rank_enters(f))
        memcpy(f->raw, c->op.M, (size_t)c->size.panels * lcsm_chunk_panel_size(c) * sizeof(real));
    K_(lcsm_chunk_enter)(c, c->op.M);
    f->start = lcsm_chunk_packed(c);
}

/* ---- one panel -------------------------------------------------------------------------- */

/* to[column] += entry . M of one panel, M as it was. */
static void read_entry(const rank *f, const lcsm_rank_reader *r, ptrdiff_t panel, real *to)
{
    const lcsm_chunk *c = &f->c;
    lcsm_product      p = {.a     = r->entry,
                           .ar    = c->size.Rp,
                           .ad    = 1,
                           .b     = f->raw + panel * c->size.R * EOS_PANEL,
                           .bd    = EOS_PANEL,
                           .depth = c->size.R};
    lcsm_target       t = {.c = to, .cr = EOS_PANEL, .op = TILE_ADD};
    K_(lcsm_tiles)(1, TILE_VECS, &p, 1, &t);
}

/* i of one panel, one part of it. */
static void input(const lcsm_chunk *c, ptrdiff_t panel, int part, real *V)
{
    const seq  *x     = c->x;
    ptrdiff_t   width = x->complex_i ? 2 : 1, cols = lcsm_chunk_cols(c, panel);
    const real *in = x->i.p + c->now.t * x->i.t + panel * EOS_PANEL * width + part;
    if (part >= width) {
        memset(V, 0, (size_t)(c->now.n * EOS_PANEL) * sizeof(real));
        return;
    }
    for (ptrdiff_t r = 0; r < c->now.n; r++, in += x->i.t, V += EOS_PANEL)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            vstore(V + j, lcsm_lanes(in + j * width, width, cols - j));
}

/* The products of reader j with M and with every writer; of those that are solved only what
 * `solved` says. */
static int products(const rank *f, int j, ptrdiff_t panel, ptrdiff_t at, lcsm_tile_part solved,
                    lcsm_product *p)
{
    const lcsm_chunk       *c     = &f->c;
    const lcsm_rank_reader *r     = &f->read[j];
    int                     count = 0;
    if (!c->now.blank)
        p[count++] = (lcsm_product){.a     = r->q,
                                    .ar    = c->size.Rp,
                                    .ad    = 1,
                                    .b     = f->start.p + panel * f->start.panel,
                                    .bd    = f->start.row,
                                    .depth = c->size.R};
    for (int w = 0; w < f->writers; w++)
        p[count++] = (lcsm_product){.a     = r->p[w],
                                    .ar    = c->size.Cp,
                                    .ad    = 1,
                                    .b     = f->write[w].u + at,
                                    .bd    = EOS_PANEL,
                                    .depth = c->now.n,
                                    .part  = f->write[w].solved ? solved : TILE_LOWER};
    return count;
}

/* Row r of what reader j reads gains its products with rows from .. r - 1 of the writers that are
 * solved. */
static void substitute(const rank *f, int j, ptrdiff_t r, ptrdiff_t from, ptrdiff_t at)
{
    real *to = f->write[f->read[j].into].u + at + r * EOS_PANEL;
    vec   sum[TILE_VECS];
    for (int v = 0; v < TILE_VECS; v++) sum[v] = vload(to + v * VW);
    for (int w = 0; w < f->writers; w++) {
        const real *a = f->read[j].p[w] + r * f->c.size.Cp, *u = f->write[w].u + at;
        for (ptrdiff_t s = from; f->write[w].solved && s < r; s++) {
            vec by = vset1(a[s]);
            for (int v = 0; v < TILE_VECS; v++) sum[v] += by * vload(u + s * EOS_PANEL + v * VW);
        }
    }
    for (int v = 0; v < TILE_VECS; v++) vstore(to + v * VW, sum[v]);
}

/* Whether u of a writer is more than what is read into it. */
static bool has_input(const rank *f, int w)
{
    return w < f->out[0].count || lcsm_rank_enters(f);
}

static void solve(const rank *f, ptrdiff_t panel, ptrdiff_t at)
{
    const lcsm_chunk *c     = &f->c;
    ptrdiff_t         tiles = lcsm_tile_count(c->now.n, TILE_VECS), first = 0;
    lcsm_product      p[1 + RANK_MOST];
    for (ptrdiff_t i = 0; i < tiles; i++) {
        ptrdiff_t next = lcsm_tile_first(c->now.n, tiles, i + 1);
        for (int j = f->outputs; j < f->readers; j++) {
            int         into  = f->read[j].into;
            int         count = products(f, j, panel, at, TILE_BELOW, p);
            lcsm_target t     = {.c     = f->write[into].u + at,
                                 .cr    = EOS_PANEL,
                                 .op    = has_input(f, into) ? TILE_ADD : TILE_SET,
                                 .ahead = c->ahead};
            K_(lcsm_tile)(first, next, TILE_VECS, p, count, &t);
        }
        for (ptrdiff_t r = first + 1; r < next; r++)
            for (int j = f->outputs; j < f->readers; j++) substitute(f, j, r, first, at);
        first = next;
    }
}

void K_(lcsm_rank_inputs)(const rank *f, ptrdiff_t panel, ptrdiff_t at)
{
    const lcsm_chunk *c = &f->c;
    for (int w = 0; w < f->writers; w++)
        if (has_input(f, w)) input(c, panel, w < f->out[0].count ? w : 2, f->write[w].u + at);
    if (f->readers == f->outputs) return;
    for (int j = f->outputs; j < f->readers && lcsm_rank_enters(f); j++)
        if (f->read[j].shift > 0)
            read_entry(f, &f->read[j], panel, f->write[f->read[j].into].u + at);
    solve(f, panel, at);
}

void K_(lcsm_rank_advance)(const rank *f, ptrdiff_t panel, ptrdiff_t at)
{
    const lcsm_chunk *c = &f->c;
    lcsm_product      p[RANK_MOST];
    real             *M = lcsm_rank_M(f, panel);
    lcsm_target       t = {.c = M, .cr = EOS_PANEL, .op = TILE_ADD, .row = c->op.decay};
    for (int w = 0; w < f->writers; w++)
        p[w] = (lcsm_product){.a     = f->write[w].k,
                              .ar    = 1,
                              .ad    = c->size.Rp,
                              .b     = f->write[w].u + at,
                              .bd    = EOS_PANEL,
                              .depth = c->now.n};
    if (c->op.row.log != NULL) t.op = TILE_DECAY;
    K_(lcsm_chunk_tiles)(c, c->size.R, lcsm_chunk_vecs(c, panel), p, f->writers, &t);
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, 1, M);
}

/* ---- forward ---------------------------------------------------------------------------- */

typedef struct {
    rank  f[LCSM_EOS_HEADS];
    real *Y;      /* (C, EOS_PANEL), where rows of y are not whole, or pairs */
    bool  stream; /* the tape is too large for the cache */
} pass;

static void pass_open(pass *g, const seq *x, ptrdiff_t C, pieces *a)
{
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        rank *f   = &g->f[h];
        *f        = K_(lcsm_rank_open)(x + h, C, false, a);
        f->c.op.M = lcsm_chunk_take(a, f->c.size.panels * f->c.size.R, EOS_PANEL);
    }
    g->Y        = lcsm_chunk_take(a, g->f[0].c.size.C, EOS_PANEL);
    size_t kept = a->used;
    for (ptrdiff_t h = 0; h < x->heads; h++) {
        a->used = kept;
        K_(lcsm_rank_share)(&g->f[h], a);
    }
}

/* One panel of what reader j puts out, y from the chunk's first row on. */
static void output(const pass *g, const rank *f, int j, ptrdiff_t panel, real *y, ptrdiff_t y_t)
{
    const lcsm_chunk *c    = &f->c;
    ptrdiff_t         cols = lcsm_chunk_cols(c, panel), width = c->x->complex_y ? 2 : 1;
    bool              whole = cols % VW == 0 && width == 1 && c->x->read == NULL;
    lcsm_product      p[1 + RANK_MOST];
    int               count = products(f, j, panel, 0, TILE_LOWER, p);
    real             *to    = y + c->now.t * y_t + panel * EOS_PANEL;
    lcsm_target       t = {.c = whole ? to : g->Y, .cr = whole ? y_t : EOS_PANEL, .op = TILE_SET};
    K_(lcsm_chunk_tiles)(c, c->now.n, lcsm_chunk_vecs(c, panel), p, count, &t);
    if (lcsm_rank_enters(f) && f->read[j].shift > 0) {
        real first[EOS_PANEL] VEC_ALIGNED = {0};
        read_entry(f, &f->read[j], panel, first);
        for (ptrdiff_t d = 0; d < cols; d++) t.c[d] += first[d];
    }
    for (ptrdiff_t r = 0; !whole && r < c->now.n; r++) {
        ptrdiff_t row = lcsm_rank_row(f, r);
        real     *at  = y + row * y_t + panel * EOS_PANEL * width + j;
        for (ptrdiff_t d = 0; row >= 0 && d < cols; d++) at[d * width] = g->Y[r * EOS_PANEL + d];
    }
}

/* The chunk that has just begun; m and tape are NULL or where the memory at its end goes. */
static void chunk(const pass *g, rank *f, real *y, ptrdiff_t y_t, real *m, real *tape)
{
    lcsm_chunk *c = &f->c;
    K_(lcsm_rank_operands)(f);
    for (ptrdiff_t p = 0; p < c->size.panels; p++) {
        const real *M = lcsm_rank_M(f, p);
        K_(lcsm_rank_inputs)(f, p, 0);
        for (int j = 0; j < f->outputs; j++) output(g, f, j, p, y, y_t);
        if (c->now.final) continue;
        K_(lcsm_rank_advance)(f, p, 0);
        if (m != NULL) K_(lcsm_chunk_unpack)(c, p, M, m);
        if (tape != NULL)
            (g->stream ? K_(lcsm_chunk_stream) : K_(lcsm_chunk_unpack))(c, p, M, tape);
    }
}

/* Steps t .. end - 1, a cell of one head; m and tape: where the memory goes at the end of the
 * sequence, and of the cell. */
static void cell(const pass *g, rank *f, ptrdiff_t t, ptrdiff_t end, real *m, real *y,
                 ptrdiff_t y_t, real *tape)
{
    lcsm_chunk *c = &f->c;
    for (; t < end; t += c->now.n) {
        K_(lcsm_chunk_begin)(c, t, end);
        K_(lcsm_rank_enter)(f);
        ptrdiff_t next = t + c->now.n;
        bool      last = next == c->x->T;
        chunk(g, f, y, y_t, last ? m : NULL, next == end && !last ? tape : NULL);
    }
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    pieces    a = {.base = ws};
    pass      g;
    size_t    n     = R_(lcsm_eos_memory)(x);
    unsigned  mode  = vflush_begin();
    ptrdiff_t width = (x->heads - 1) * x->y_head + x->D * (x->complex_y ? 2 : 1);
    pass_open(&g, x, C, &a);
    g.stream = (x->T / C) * x->heads * (ptrdiff_t)n > TAPE_IN_CACHE;
    for (ptrdiff_t h = 0; h < x->heads && !x->fresh; h++) {
        const lcsm_chunk *c = &g.f[h].c;
        if (tape != NULL) memcpy(tape + h * x->tape_head, m + (size_t)h * n, n * sizeof(real));
        for (ptrdiff_t p = 0; p < c->size.panels; p++)
            K_(lcsm_chunk_pack)(c, p, m + (size_t)h * n, lcsm_rank_M(&g.f[h], p));
    }
    for (ptrdiff_t j = 0; j * C < x->T; j++) {
        ptrdiff_t  t = j * C, end = t + C < x->T ? t + C : x->T;
        lcsm_ahead next;
        for (ptrdiff_t h = 0; h < x->heads; h++) {
            rank *f    = &g.f[h];
            real *to   = tape == NULL ? NULL : tape + h * x->tape_head + (size_t)(j + 1) * n;
            f->c.ahead = &next;
            K_(lcsm_chunk_ahead)(&f->c, x, NULL, h, end, &next);
            if (x->read == NULL) K_(lcsm_chunk_ahead_rows)(&next, y, y_t, width);
            K_(lcsm_chunk_ahead_spread)(&f->c, &next);
            cell(&g, f, t, end, m + (size_t)h * n, y + h * x->y_head, y_t, to);
        }
    }
    vstream_end();
    vflush_end(mode);
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    pieces a = {0};
    pass   g;
    pass_open(&g, x, C, &a);
    return taken_reals(&a);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_rank) = {
    fwd_scratch, K_(lcsm_rank_bwd_scratch), fwd, K_(lcsm_rank_bwd), true, true};
