/*
 * eos_scan.c - the forward pass of the scan form; eos_scan_tile.h has the picture.
 *
 *     for each block of steps, strip of columns, tile of rows:
 *         o <- the oscillation of the tile for n steps       (eos_scan_gen.c)
 *         for t: m = o_t * m + e_t i_t;  y_t += s_t m        m in registers
 *
 * Three vector operations an element, so two thirds of the arithmetic peak by useful work (two
 * multiply-adds) is the limit where o costs nothing.
 */
#include "kernel/eos/scan/eos_scan_tile.h"

/* n steps of a real tile of R x NV vectors, its rows m_k apart. e and s are numbers for each row,
 * or tiles; o comes from memory or, fused, is made here, exp(b c). bf16: m is rounded. */
VEC_INLINE void run(const unit *u, ptrdiff_t R, ptrdiff_t NV, bool e_tile, bool s_tile, bool fused,
                    bool bf16, real *tile, ptrdiff_t m_k)
{
    const ptrdiff_t n = u->at->n, i_t = u->i.t, y_t = u->y.t, o_t = u->o[RE].t;
    const ptrdiff_t e_t = u->e[RE].t, s_t = u->s[RE].t, b_t = u->b.t;
    const real     *i = u->i.p, *o = u->o[RE].p, *E = u->E[RE], *S = u->S[RE];
    const real     *e = u->e[RE].p, *s = u->s[RE].p, *b = u->b.p, *c = u->c;
    real           *y     = u->y.p;
    const bool      fresh = is_fresh(u, &u->y);
    ahead_lines     next;
    vec             m[SCAN_TILE];
    if (fused) ahead_tile(u, &next);
    SCAN_EACH(r, R) SCAN_EACH(v, NV) m[r * NV + v] = vload(tile + r * m_k + v * VW);
    for (ptrdiff_t t = 0; t < n; t++) {
        vec in[4], sum[4];
        if (fused) ahead_step(&next, t);
        SCAN_EACH(v, NV) in[v]  = vload(i + v * VW);
        SCAN_EACH(v, NV) sum[v] = fresh ? vzero() : vload(y + v * VW);
        SCAN_EACH(r, R) SCAN_EACH(v, NV)
        {
            ptrdiff_t at  = (r * NV + v) * VW;
            vec       ev  = e_tile ? vload(E + at) : vset1(e[r]);
            vec       sv  = s_tile ? vload(S + at) : vset1(s[r]);
            vec       ov  = fused ? vexp2(vload(b + v * VW) * vload(c + at)) : vload(o + at);
            vec       mv  = ov * m[r * NV + v] + ev * in[v];
            m[r * NV + v] = bf16 ? vbf16(mv) : mv;
            sum[v] += sv * m[r * NV + v];
        }
        SCAN_EACH(v, NV) vstore(y + v * VW, sum[v]);
        i += i_t, e += e_t, s += s_t, y += y_t;
        if (fused) b += b_t;
        else o += o_t;
    }
    SCAN_EACH(r, R) SCAN_EACH(v, NV) vstore(tile + r * m_k + v * VW, m[r * NV + v]);
}

#define RUN(R, NV, e, s, fused)                                                                    \
    static void run_##R##_##NV##_##e##s##fused(const unit *u, real *m, ptrdiff_t m_k)              \
    {                                                                                              \
        run(u, R, NV, e, s, fused, false, m, m_k);                                                 \
    }
#define ROUND(R, e, s)                                                                             \
    static void round_##R##_##e##s(const unit *u, real *m, ptrdiff_t m_k)                          \
    {                                                                                              \
        run(u, R, 1, e, s, false, true, m, m_k);                                                   \
    }
#define ROUNDS(R) ROUND(R, 0, 0) ROUND(R, 0, 1) ROUND(R, 1, 0) ROUND(R, 1, 1)
#define RUNS(R, NV)                                                                                \
    RUN(R, NV, 0, 0, 0)                                                                            \
    RUN(R, NV, 0, 1, 0)                                                                            \
    RUN(R, NV, 1, 0, 0)                                                                            \
    RUN(R, NV, 1, 1, 0)
#define TABLE(R, NV)                                                                               \
    {                                                                                              \
        run_##R##_##NV##_000, run_##R##_##NV##_010, run_##R##_##NV##_100, run_##R##_##NV##_110     \
    }
RUNS(1, 1)
RUNS(1, 4)
RUNS(4, 1)
RUN(4, 1, 0, 0, 1)
ROUNDS(1)
ROUNDS(4)
#if VEC_REGISTERS == 32
RUNS(4, 4)
RUN(4, 4, 0, 0, 1)
RUN(16, 1, 0, 0, 1)
#define WIDE       TABLE(4, 4)
#define WIDE_FUSED run_4_4_001
#define TALL_FUSED run_16_1_001
#else
RUNS(4, 2)
RUN(4, 2, 0, 0, 1)
#define WIDE       TABLE(4, 2)
#define WIDE_FUSED run_4_2_001
#define TALL_FUSED run_4_1_001
#endif

/* By one row or several, one vector or several; then e a tile (2) and s a tile (1). */
static K_(lcsm_scan_run) *const RUN_OF[2][2][4] = {{TABLE(1, 1), TABLE(1, 4)}, {TABLE(4, 1), WIDE}};

/* Of a memory in bfloat16, likewise. */
static K_(lcsm_scan_run) *const ROUND_OF[2][4] = {{round_1_00, round_1_01, round_1_10, round_1_11},
                                                  {round_4_00, round_4_01, round_4_10, round_4_11}};

/* Of a fused o: four rows or more, one vector or several. */
static K_(lcsm_scan_run) *const FUSED_OF[2][2] = {{run_4_1_001, WIDE_FUSED},
                                                  {TALL_FUSED, WIDE_FUSED}};

static K_(lcsm_scan_run) * run_of(const unit *u)
{
    const scan *p = u->p;
    if (p->planes == 2) return K_(lcsm_scan_run_complex);
    if (p->x->bf16) return ROUND_OF[p->R > 1][2 * p->e_matrix + p->s_matrix];
    if (p->fused) return FUSED_OF[p->R > 4][u->cut.NV > 1];
    return RUN_OF[p->R > 1][u->cut.NV > 1][2 * p->e_matrix + p->s_matrix];
}

/* Scratch of a group: strips of (n, W). */
typedef struct {
    real *i, *b, *f, *y;
} cols;

static void plan(scan *p, cols *q, const seq *x, real *ws, size_t *used)
{
    pieces          c  = {.base = ws};
    const ptrdiff_t NV = VEC_REGISTERS == 32 ? 4 : 2;
    K_(lcsm_scan_plan)
    (p, x, SCAN_BLOCK, is_token(&x->full) ? SCAN_BLOCK_FULL : SCAN_BLOCK_TOKEN, NV, NV, 1, &c);
    size_t line = (size_t)(p->n_max * SCAN_COLUMNS);
    q->i        = carve(&c, line);
    q->b        = p->b != NULL ? carve(&c, line) : NULL;
    q->f        = is_token(&x->col) ? carve(&c, line) : NULL;
    q->y        = carve(&c, line);
    *used       = taken_reals(&c);
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    scan   p;
    cols   q;
    size_t used;
    (void)C;
    plan(&p, &q, x, NULL, &used);
    return used;
}

/* y of a group, without the columns that do not exist. */
static void put_y(const block *b, const group *g, const real *from, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t t = 0; t < b->n; t++)
        for (ptrdiff_t s = 0; s < g->count; s++) {
            strip cut = g->cut[s];
            for (ptrdiff_t j = 0; j < cut.cols; j += VW) {
                vec   v  = vload(from + g->at[s] + t * cut.W + j);
                real *to = y + t * y_t + cut.d0 + j;
                if (cut.cols - j >= VW) vstore(to, v);
                else vstore_n(to, v, cut.cols - j);
            }
        }
}

/* The tile in place where all of it exists, else in a padded copy. */
static void run_tile(const unit *u, bool empty, real *m)
{
    const scan *p = u->p;
    if (!empty && p->planes == 1 && u->cut.cols == u->cut.W && u->k0 + p->R <= p->x->K) {
        real *at = m + u->k0 * p->x->D + u->cut.d0;
        run_of(u)(u, at, p->x->D);
        K_(lcsm_scan_correct)(u, false, at, p->x->D);
        return;
    }
    VEC_ALIGNED real tile[2 * SCAN_TILE * VW];
    K_(lcsm_scan_load)(p, u->cut, u->k0, empty ? NULL : m, tile);
    run_of(u)(u, tile, u->cut.W);
    K_(lcsm_scan_correct)(u, false, tile, u->cut.W);
    K_(lcsm_scan_store)(p, u->cut, u->k0, tile, m);
}

/* Strips of a group from the first to the last row, side by side. */
static void fwd_strips(const scan *p, ptrdiff_t count, bool empty, unit *u, real *m)
{
    for (ptrdiff_t k0 = 0; k0 < p->Kp; k0 += p->R)
        for (ptrdiff_t s = 0; s < count; s++) {
            if (p->token && !p->fused) K_(lcsm_scan_gen)(&u[s], NULL);
            run_tile(&u[s], empty, m);
            unit_down(&u[s]);
        }
}

/* A group of strips through a block; empty: the memory starts at zero. */
static void fwd_group(const scan *p, const cols *q, const block *b, const group *g, bool empty,
                      real *m, real *y, ptrdiff_t y_t)
{
    view              v_y   = {y - b->t0 * y_t, y_t, 0, 1};
    out               out_y = {.p = y - b->t0 * y_t, .t = y_t, .d = 1, .set = true};
    const view *const of[]  = {&p->x->i, p->b, &v_y};
    ahead             next;
    unit              u[SCAN_GROUP];
    track             at_i[SCAN_GROUP], at_b[SCAN_GROUP], at_f[SCAN_GROUP];
    trail             at_y[SCAN_GROUP];
    K_(lcsm_scan_ahead)(p, b, g, false, of, 3, &next);
    K_(lcsm_scan_cols)(p, b, g, &p->x->i, q->i, at_i);
    K_(lcsm_scan_trails)(p, b, g, &out_y, q->y, at_y);
    if (p->b != NULL) K_(lcsm_scan_cols)(p, b, g, p->b, q->b, at_b);
    if (q->f != NULL) K_(lcsm_scan_factors)(p, b, g, q->f, at_f);
    for (ptrdiff_t s = 0; s < g->count; s++) {
        u[s]   = K_(lcsm_scan_unit)(p, b, g->cut[s]);
        u[s].i = at_i[s];
        u[s].y = at_y[s];
        if (p->b != NULL) u[s].b = at_b[s];
        if (q->f != NULL) u[s].f = at_f[s];
        u[s].next = &next;
    }
    ptrdiff_t beside = is_token(&p->x->full) ? g->count : 1;
    for (ptrdiff_t s = 0; s < g->count; s += beside) fwd_strips(p, beside, empty, u + s, m);
    if (!K_(lcsm_scan_in_place)(p, g, 1)) put_y(b, g, q->y, y, y_t);
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    unsigned mode = vflush_begin();
    scan     p;
    cols     q;
    size_t   used, size = R_(lcsm_eos_memory)(x);
    plan(&p, &q, x, ws, &used);
    K_(lcsm_scan_pack)(&p);
    for (ptrdiff_t t = 0; t < x->T;) {
        block     b;
        ptrdiff_t end = tape != NULL && t / C * C + C < x->T ? t / C * C + C : x->T;
        if (tape != NULL && t % C == 0)
            memcpy(tape + (size_t)(t / C) * size, m, size * sizeof(real));
        K_(lcsm_scan_block)(&p, t, K_(lcsm_scan_steps)(x, t, end, p.n_max), &b);
        for (ptrdiff_t d0 = 0; d0 < x->D;) {
            group g = K_(lcsm_scan_group)(&p, d0, b.n);
            fwd_group(&p, &q, &b, &g, lcsm_resets_at(&x->resets, t), m, y + t * y_t, y_t);
            d0 = g.end;
        }
        t += b.n;
    }
    vflush_end(mode);
}

/* ---- the two ways ------------------------------------------------------------------------ */

static size_t any_fwd_scratch(const seq *x, ptrdiff_t C)
{
    return has_complex_io(x) ? K_(lcsm_scan_complex_i_scratch)(x, C, false) : fwd_scratch(x, C);
}

static size_t any_bwd_scratch(const seq *x, ptrdiff_t C)
{
    return has_complex_io(x) ? K_(lcsm_scan_complex_i_scratch)(x, C, true)
                             : K_(lcsm_scan_bwd_scratch)(x, C);
}

static void any_fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape,
                    real *ws)
{
    if (has_complex_io(x)) K_(lcsm_scan_complex_i_fwd)(x, C, m, y, y_t, tape, ws);
    else fwd(x, C, m, y, y_t, tape, ws);
}

static void any_bwd(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                    ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    if (has_complex_io(x)) K_(lcsm_scan_complex_i_bwd)(x, C, y, y_t, g_y, g_y_t, g_m, g, tape, ws);
    else K_(lcsm_scan_bwd)(x, C, y, y_t, g_y, g_y_t, g_m, g, tape, ws);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_scan) = {any_fwd_scratch, any_bwd_scratch, any_fwd,
                                                any_bwd,         false,           true};
