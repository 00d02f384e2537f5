/*
 * eos_scan_bwd.c - the backward pass of the scan form.
 *
 * Cells run from the last to the first, and in a cell the runs of steps between resets. For each
 * tile of the memory:
 *
 *     o, and m before each step from the tape            gen, recall
 *     for t from the last step:                          sweep, G in registers
 *         G += s_t g_y;  g_s += m_t g_y;  g_e += G i_t;  g_i += G e_t
 *         G *= o_t;      g_log o = G m_{t-1}
 *     the gradients of row, col, full, u, w from g_log o chain
 *
 * Sums over columns stay vectors until all strips of a group are done; sums over rows stay in
 * buffers until all tiles are.
 */
#include "kernel/eos/scan/eos_scan_tile.h"

/* ---- real tiles -------------------------------------------------------------------------- */

/* fused: o is made here, exp(b c), and kept for the sweep. bf16: m is rounded. */
VEC_INLINE void recall(const unit *u, const sweep *w, ptrdiff_t R, ptrdiff_t NV, bool e_tile,
                       bool s_tile, bool fused, bool bf16)
{
    const ptrdiff_t W = NV * VW, n = u->at->n, o_t = u->o[RE].t, e_t = u->e[RE].t;
    const ptrdiff_t i_t = u->i.t, b_t = u->b.t, g_y_t = u->g_y.t;
    const real     *i = u->i.p, *b = u->b.p, *c = u->c, *g_y = u->g_y.p;
    const real     *e = u->e[RE].p, *E = u->E[RE], *o = u->o[RE].p;
    real           *slot = w->m, *s_lane = w->s_lanes[RE], *made = u->p->o_buf[RE];
    ahead_lines     next;
    vec             m[SCAN_TILE][4], s_sum[SCAN_TILE][4];
    if (fused) ahead_tile(u, &next);
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        m[r][v]     = vload(slot + r * W + v * VW);
        s_sum[r][v] = vzero();
    }
    for (ptrdiff_t t = 0; t < n; t++) {
        vec in[4], gy[4];
        if (fused) ahead_step(&next, t);
        slot += R * W;
        SCAN_EACH(v, NV) in[v] = vload(i + v * VW);
        SCAN_EACH(v, NV) gy[v] = vload(g_y + v * VW);
        SCAN_EACH(r, R)
        {
            vec er = e_tile ? vzero() : vhold(vset1(e[r]));
            vec gs = s_tile ? vzero() : vload(s_lane + r * VW);
            SCAN_EACH(v, NV)
            {
                ptrdiff_t at = r * W + v * VW;
                vec       ov = fused ? vexp2(vload(b + v * VW) * vload(c + at)) : vload(o + at);
                vec       mv = ov * m[r][v] + (e_tile ? vload(E + at) : er) * in[v];
                m[r][v]      = bf16 ? vbf16(mv) : mv;
                vstore(slot + at, m[r][v]);
                if (fused) vstore(made + at, ov);
                if (s_tile) s_sum[r][v] += m[r][v] * gy[v];
                else gs += m[r][v] * gy[v];
            }
            if (!s_tile) vstore(s_lane + r * VW, gs);
        }
        i += i_t, g_y += g_y_t, e += e_t;
        if (!s_tile) s_lane += R * VW;
        if (fused) b += b_t, made += R * W;
        else o += o_t;
    }
    if (!s_tile) return;
    SCAN_EACH(r, R) SCAN_EACH(v, NV) vstore(w->s_sum[RE] + r * W + v * VW, s_sum[r][v]);
}

/* z of a complement: o = f (1 - z). */
static __attribute__((noinline)) void sweep_complement(const sweep *w, ptrdiff_t at, vec g_o)
{
    vstore(w->g_z + at, -(g_o * vload(w->f[RE] + at)));
}

/* Gradients that nobody wants cost next to nothing here; they are not passed on. */
VEC_INLINE void sweep_tile(const unit *u, const sweep *w, ptrdiff_t R, ptrdiff_t NV, bool e_tile,
                           bool s_tile)
{
    const ptrdiff_t W = NV * VW, size = R * W, last = u->at->n - 1;
    const ptrdiff_t o_t = u->o[RE].t, e_t = u->e[RE].t, s_t = u->s[RE].t;
    const ptrdiff_t i_t = u->i.t, g_y_t = u->g_y.t, g_i_t = u->g_i.t;
    const real     *i = u->i.p + last * i_t, *g_y = u->g_y.p + last * g_y_t;
    const real     *o = u->o[RE].p + last * o_t;
    const real     *e = u->e[RE].p + last * e_t, *s = u->s[RE].p + last * s_t;
    const real     *E = u->E[RE], *S = u->S[RE];
    real           *m = w->m + last * size, *g_i = u->g_i.p + last * g_i_t;
    real           *e_lane     = e_tile ? NULL : w->e_lanes[RE] + last * R * VW;
    const bool      complement = w->g_z != NULL, fresh = is_fresh(u, &u->g_i);
    vec             G[SCAN_ROWS][4], e_sum[SCAN_ROWS][4];
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        G[r][v]     = vload(w->G + r * W + v * VW);
        e_sum[r][v] = vzero();
    }
    for (ptrdiff_t t = last; t >= 0; t--) {
        vec sum[4], gy[4], in[4];
        SCAN_EACH(v, NV) sum[v] = fresh ? vzero() : vload(g_i + v * VW);
        SCAN_EACH(v, NV) gy[v]  = vload(g_y + v * VW);
        SCAN_EACH(v, NV) in[v]  = vload(i + v * VW);
        SCAN_EACH(r, R)
        {
            vec ge = e_tile ? vzero() : vload(e_lane + r * VW);
            vec er = e_tile ? vzero() : vhold(vset1(e[r]));
            vec sr = s_tile ? vzero() : vhold(vset1(s[r]));
            SCAN_EACH(v, NV)
            {
                ptrdiff_t at     = r * W + v * VW;
                vec       before = vload(m + at);
                G[r][v] += (s_tile ? vload(S + at) : sr) * gy[v];
                sum[v] += (e_tile ? vload(E + at) : er) * G[r][v];
                if (e_tile) e_sum[r][v] += G[r][v] * in[v];
                else ge += G[r][v] * in[v];
                if (complement) sweep_complement(w, t * size + at, G[r][v] * before);
                G[r][v] *= vload(o + at);
                vstore(m + size + at, G[r][v] * before);
            }
            if (!e_tile) vstore(e_lane + r * VW, ge);
        }
        SCAN_EACH(v, NV) vstore(g_i + v * VW, sum[v]);
        i -= i_t, g_y -= g_y_t, g_i -= g_i_t, m -= size, o -= o_t, e -= e_t, s -= s_t;
        if (!e_tile) e_lane -= R * VW;
    }
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        vstore(w->G + r * W + v * VW, G[r][v]);
        if (e_tile) vstore(w->e_sum[RE] + r * W + v * VW, e_sum[r][v]);
    }
}

/* The same where o is exp(b c) and e and s are vectors: the gradients of b and c are taken here. */
VEC_INLINE void sweep_fused(const unit *u, const sweep *w, ptrdiff_t R, ptrdiff_t NV)
{
    const ptrdiff_t W = NV * VW, size = R * W, last = u->at->n - 1;
    const ptrdiff_t e_t = u->e[RE].t, s_t = u->s[RE].t, i_t = u->i.t, b_t = u->b.t;
    const ptrdiff_t g_y_t = u->g_y.t, g_i_t = u->g_i.t, g_b_t = u->g_b.t;
    const real     *i = u->i.p + last * i_t, *g_y = u->g_y.p + last * g_y_t;
    const real     *e = u->e[RE].p + last * e_t, *s = u->s[RE].p + last * s_t;
    const real     *b = u->b.p + last * b_t, *c = u->c, *o = u->o[RE].p + last * size;
    real           *m = w->m + last * size, *e_lane = w->e_lanes[RE] + last * R * VW;
    real           *g_i = u->g_i.p + last * g_i_t, *g_b = u->g_b.p + last * g_b_t;
    const bool      fresh_i = is_fresh(u, &u->g_i), fresh_b = is_fresh(u, &u->g_b);
    vec             G[SCAN_TILE][2], c_sum[SCAN_TILE][2];
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        G[r][v]     = vload(w->G + r * W + v * VW);
        c_sum[r][v] = vzero();
    }
    for (ptrdiff_t t = last; t >= 0; t--) {
        vec sum[2], across[2], gy[2], in[2], bt[2];
        SCAN_EACH(v, NV)
        {
            sum[v]    = fresh_i ? vzero() : vload(g_i + v * VW);
            across[v] = vzero();
            gy[v]     = vload(g_y + v * VW);
            in[v]     = vload(i + v * VW);
            bt[v]     = vload(b + v * VW);
        }
        SCAN_EACH(r, R)
        {
            vec ge = vload(e_lane + r * VW);
            vec er = vhold(vset1(e[r])), sr = vhold(vset1(s[r]));
            SCAN_EACH(v, NV)
            {
                ptrdiff_t at = r * W + v * VW;
                G[r][v] += sr * gy[v];
                sum[v] += er * G[r][v];
                ge += G[r][v] * in[v];
                G[r][v] *= vload(o + at);
                vec g_z = G[r][v] * vload(m + at);
                across[v] += g_z * vload(c + at);
                c_sum[r][v] += g_z * bt[v];
            }
            vstore(e_lane + r * VW, ge);
        }
        SCAN_EACH(v, NV)
        {
            vec old = fresh_b ? vzero() : vload(g_b + v * VW);
            vstore(g_i + v * VW, sum[v]);
            vstore(g_b + v * VW, old + across[v] * unit_factor(u));
        }
        i -= i_t, g_y -= g_y_t, g_i -= g_i_t, b -= b_t, g_b -= g_b_t, e -= e_t, s -= s_t;
        m -= size, o -= size, e_lane -= R * VW;
    }
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        vstore(w->G + r * W + v * VW, G[r][v]);
        vstore(w->g_c + r * W + v * VW, c_sum[r][v]);
    }
}

#define RECALL(R, NV, e, s, fused)                                                                 \
    static void recall_##R##_##NV##_##e##s##fused(const unit *u, const sweep *w)                   \
    {                                                                                              \
        recall(u, w, R, NV, e, s, fused, false);                                                   \
    }
#define ROUND(R, e, s)                                                                             \
    static void round_##R##_##e##s(const unit *u, const sweep *w)                                  \
    {                                                                                              \
        recall(u, w, R, 1, e, s, false, true);                                                     \
    }
#define ROUNDS(R) ROUND(R, 0, 0) ROUND(R, 0, 1) ROUND(R, 1, 0) ROUND(R, 1, 1)
#define SWEEP(R, NV, e, s)                                                                         \
    static void sweep_##R##_##NV##_##e##s##0(const unit *u, const sweep *w)                        \
    {                                                                                              \
        sweep_tile(u, w, R, NV, e, s);                                                             \
    }
#define TILE(R, NV)                                                                                \
    RECALL(R, NV, 0, 0, 0)                                                                         \
    RECALL(R, NV, 0, 1, 0)                                                                         \
    RECALL(R, NV, 1, 0, 0)                                                                         \
    RECALL(R, NV, 1, 1, 0)                                                                         \
    SWEEP(R, NV, 0, 0)                                                                             \
    SWEEP(R, NV, 0, 1)                                                                             \
    SWEEP(R, NV, 1, 0)                                                                             \
    SWEEP(R, NV, 1, 1)
/* Both in one tile of exp(b c), two vectors wide: sums for the gradient of c take registers too. */
#define FUSED(R, NV)                                                                               \
    RECALL(R, NV, 0, 0, 1)                                                                         \
    static void sweep_##R##_##NV##_001(const unit *u, const sweep *w)                              \
    {                                                                                              \
        sweep_fused(u, w, R, NV);                                                                  \
    }
#define RECALLS(R, NV)                                                                             \
    {                                                                                              \
        recall_##R##_##NV##_000, recall_##R##_##NV##_010, recall_##R##_##NV##_100,                 \
            recall_##R##_##NV##_110                                                                \
    }
#define SWEEPS(R, NV)                                                                              \
    {                                                                                              \
        sweep_##R##_##NV##_000, sweep_##R##_##NV##_010, sweep_##R##_##NV##_100,                    \
            sweep_##R##_##NV##_110                                                                 \
    }
TILE(1, 1)
TILE(1, 4)
TILE(4, 1)
ROUNDS(1)
ROUNDS(4)
FUSED(4, 1)
FUSED(4, 2)
#if VEC_REGISTERS == 32
FUSED(8, 1)
FUSED(8, 2)
TILE(4, 4)
#define WIDE_RECALLS RECALLS(4, 4)
#define WIDE_SWEEPS  SWEEPS(4, 4)
#define TALL_RECALL  (wide ? recall_8_2_001 : recall_8_1_001)
#define TALL_SWEEP   (wide ? sweep_8_2_001 : sweep_8_1_001)
#else
TILE(4, 2)
#define WIDE_RECALLS RECALLS(4, 2)
#define WIDE_SWEEPS  SWEEPS(4, 2)
#define TALL_RECALL  recall_4_1_001
#define TALL_SWEEP   sweep_4_1_001
#endif

/* By one row or several, one vector or several; then e a tile (2) and s a tile (1). */
static K_(lcsm_scan_recall) *const RECALL_OF[2][2][4] = {{RECALLS(1, 1), RECALLS(1, 4)},
                                                         {RECALLS(4, 1), WIDE_RECALLS}};
static K_(lcsm_scan_sweep) *const SWEEP_OF[2][2][4]   = {{SWEEPS(1, 1), SWEEPS(1, 4)},
                                                         {SWEEPS(4, 1), WIDE_SWEEPS}};

/* Of a memory in bfloat16, one vector wide. */
static K_(lcsm_scan_recall) *const ROUND_OF[2][4] = {
    {round_1_00, round_1_01, round_1_10, round_1_11},
    {round_4_00, round_4_01, round_4_10, round_4_11}};

static void bwd_steps(const unit *u, const sweep *w)
{
    const scan *p    = u->p;
    int         form = 2 * p->e_matrix + p->s_matrix, wide = u->cut.NV > 1;
    if (p->planes == 2) {
        K_(lcsm_scan_recall_complex)(u, w);
        K_(lcsm_scan_sweep_complex)(u, w);
        return;
    }
    if (p->fused) {
        (p->R > 4 ? TALL_RECALL : wide ? recall_4_2_001 : recall_4_1_001)(u, w);
        (p->R > 4 ? TALL_SWEEP : wide ? sweep_4_2_001 : sweep_4_1_001)(u, w);
        return;
    }
    (p->x->bf16 ? ROUND_OF[p->R > 1][form] : RECALL_OF[p->R > 1][wide][form])(u, w);
    SWEEP_OF[p->R > 1][wide][form](u, w);
}

/* ---- scratch ----------------------------------------------------------------------------- */

typedef struct {
    scan  p;
    real *m, *G, *dz, *other[2];
    real *i, *b, *f, *g_y, *g_i, *g_b; /* of a group: strips of (n, W) */
    real *e_sum[2], *s_sum[2];
    lanes l;
} work;

static void plan(work *k, const seq *x, ptrdiff_t C, real *ws, size_t *used)
{
    pieces    c = {.base = ws};
    ptrdiff_t n = C < x->T || x->T == 0 ? C : x->T;
    K_(lcsm_scan_plan)(&k->p, x, n, n, VEC_REGISTERS == 32 ? 4 : 2, 2, 2, &c);
    const scan *p    = &k->p;
    size_t      tile = (size_t)(p->R * p->NV * VW), planes = (size_t)p->planes, steps = (size_t)n;
    size_t      line = steps * SCAN_COLUMNS, lane = steps * (size_t)(p->R * VW);
    bool        complement = p->z != Z_NONE && x->gen == LCSM_GEN_COMPLEMENT;
    bool        gate       = p->z > Z_STILL && x->gen == LCSM_GEN_GATE;
    bool        cols       = p->z == Z_BC || p->z == Z_AB;

    k->m  = carve(&c, (steps + 1) * planes * tile);
    k->G  = carve(&c, planes * tile);
    k->dz = gate || complement ? carve(&c, steps * tile) : NULL;
    for (size_t j = 0; j < 2; j++) {
        bool on     = j < planes;
        k->other[j] = on && complement ? carve(&c, steps * tile) : NULL;
        k->e_sum[j] = on && p->e_matrix ? carve(&c, tile) : NULL;
        k->s_sum[j] = on && p->s_matrix ? carve(&c, tile) : NULL;
        k->l.e[j]   = on && !p->e_matrix ? carve(&c, lane) : NULL;
        k->l.s[j]   = on && !p->s_matrix ? carve(&c, lane) : NULL;
    }
    k->i   = carve(&c, line);
    k->g_y = carve(&c, line);
    k->g_i = carve(&c, line);
    k->b   = cols ? carve(&c, line) : NULL;
    k->f   = is_token(&x->col) ? carve(&c, line) : NULL;
    k->g_b = cols ? carve(&c, line) : NULL;

    k->l.row       = is_token(&x->row) ? carve(&c, lane) : NULL;
    k->l.row_phase = is_token(&x->row_phase) ? carve(&c, lane) : NULL;
    k->l.a         = p->z == Z_AC || p->z == Z_AB ? carve(&c, lane) : NULL;
    *used          = taken_reals(&c);
}

size_t K_(lcsm_scan_bwd_scratch)(const seq *x, ptrdiff_t C)
{
    work   k;
    size_t used;
    plan(&k, x, C, NULL, &used);
    return used;
}

/* ---- a tile ------------------------------------------------------------------------------ */

/* What one call of the pass has besides its scratch. */
typedef struct {
    work        *k;
    const grads *g;
    const real  *tape; /* the memory before the run of steps, NULL for an empty one */
    real        *g_m;
} pass;

static bool wants_o(const grads *g)
{
    return g->row.p != NULL || g->col.p != NULL || g->full.p != NULL || g->row_phase.p != NULL
        || g->col_phase.p != NULL || g->full_phase.p != NULL || g->u.p != NULL || g->w.p != NULL;
}

static void add_sums(const unit *u, const out *g, bool complex, real factor, real *const sum[2])
{
    const seq *x = u->p->x;
    for (int c = 0; c <= complex; c++) {
        out part = out_part(g, c);
        for (ptrdiff_t r = 0; r < u->p->R; r++)
            for (ptrdiff_t j = 0; j < u->cut.W; j += VW)
                out_add(x, &part, 0, u->k0 + r, u->cut.d0 + j,
                        vload(sum[c] + r * u->cut.W + j) * factor);
    }
}

static void bwd_tile(const pass *a, const unit *u)
{
    work            *k          = a->k;
    const scan      *p          = &k->p;
    const grads     *g          = a->g;
    bool             complement = k->other[RE] != NULL;
    VEC_ALIGNED real g_c[SCAN_TILE * VW];
    sweep            w = {.m       = k->m,
                          .G       = k->G,
                          .e_lanes = {k->l.e[RE], k->l.e[IM]},
                          .s_lanes = {k->l.s[RE], k->l.s[IM]},
                          .e_sum   = {k->e_sum[RE], k->e_sum[IM]},
                          .s_sum   = {k->s_sum[RE], k->s_sum[IM]},
                          .f       = {k->other[RE], k->other[IM]},
                          .g_z     = complement ? k->dz : NULL,
                          .g_c     = g_c};

    for (ptrdiff_t r = 0; a->tape != NULL && r < p->R; r++) /* the next strip's memory */
        for (ptrdiff_t j = 0; j < u->cut.W; j += VW)
            ask_now(a->tape + (u->k0 + r) * p->x->D + u->cut.d0 + u->cut.W + j);
    if (p->token && !p->fused) K_(lcsm_scan_gen)(u, complement ? NULL : k->dz);
    if (complement) K_(lcsm_scan_gen_other)(u, k->other);
    K_(lcsm_scan_load)(p, u->cut, u->k0, a->tape, k->m);
    K_(lcsm_scan_load)(p, u->cut, u->k0, a->g_m, k->G);
    bwd_steps(u, &w);
    K_(lcsm_scan_correct)(u, true, k->G, u->cut.W);
    K_(lcsm_scan_store)(p, u->cut, u->k0, k->G, a->g_m);
    if (p->e_matrix && g->e.p != NULL) add_sums(u, &g->e, p->x->complex_e, 1, w.e_sum);
    if (p->s_matrix && g->s.p != NULL) add_sums(u, &g->s, p->x->complex_s, p->x->scale, w.s_sum);
    if (p->fused) K_(lcsm_scan_add_tile)(u, out_like(p->x, g, p->c), g_c);
    else if (wants_o(g))
        K_(lcsm_scan_chain)(u, g, k->m + p->planes * p->R * u->cut.W, k->dz, &k->l);
}

/* ---- a group of strips ------------------------------------------------------------------- */

static void fold_lanes(const pass *a, const unit *u)
{
    const scan  *p = u->p;
    const seq   *x = p->x;
    const grads *g = a->g;
    const lanes *l = &a->k->l;
    for (int c = 0; c < p->planes; c++) {
        if (c == RE || x->complex_e) K_(lcsm_scan_fold)(u, &g->e, c, 1, l->e[c]);
        if (c == RE || x->complex_s) K_(lcsm_scan_fold)(u, &g->s, c, x->scale, l->s[c]);
    }
    K_(lcsm_scan_fold)(u, &g->row, 0, 1, l->row);
    K_(lcsm_scan_fold)(u, &g->row_phase, 0, 1, l->row_phase);
    if (p->a != NULL)
        K_(lcsm_scan_fold)(u, out_like(x, g, p->a), 0, p->z == Z_AC ? 1 / p->z_factor : 1, l->a);
}

static void clear_lanes(const work *k)
{
    const lanes *l     = &k->l;
    real *const  all[] = {l->e[RE], l->e[IM], l->s[RE], l->s[IM], l->row, l->row_phase, l->a};
    for (size_t j = 0; j < sizeof all / sizeof all[0]; j++)
        if (all[j] != NULL) memset(all[j], 0, (size_t)(k->p.n_max * k->p.R * VW) * sizeof(real));
}

/* Sums over rows, strips of (n, W), to a gradient that has T and D. */
static void add_cols(const scan *p, const block *b, const group *g, const out *to, const real *from)
{
    for (ptrdiff_t t = 0; t < b->n; t++)
        for (ptrdiff_t s = 0; s < g->count; s++) {
            strip       cut  = g->cut[s];
            const real *line = from + g->at[s] + t * cut.W;
            for (ptrdiff_t j = 0; j < cut.W; j += VW)
                out_add(p->x, to, b->t0 + t, 0, cut.d0 + j, vload(line + j));
        }
}

static view as_view(const out *v)
{
    return (view){v->p, v->t, v->k, v->d};
}

/* A group of strips through the steps of a block. */
static void bwd_group(const pass *a, const block *b, const group *g, const view *g_y)
{
    work             *k    = a->k;
    const scan       *p    = &k->p;
    const seq        *x    = p->x;
    const out        *to_b = p->b == NULL ? &a->g->i : out_like(x, a->g, p->b);
    view              v_i = as_view(&a->g->i), v_b = as_view(to_b);
    const view *const of[] = {&x->i, g_y, p->b, &v_i, p->b == NULL ? NULL : &v_b};
    ahead             next;
    unit              u[SCAN_GROUP];
    track             at_i[SCAN_GROUP], at_b[SCAN_GROUP], at_f[SCAN_GROUP], at_y[SCAN_GROUP];
    trail             to_i[SCAN_GROUP], sum_b[SCAN_GROUP];

    K_(lcsm_scan_ahead)(p, b, g, true, of, 5, &next);
    K_(lcsm_scan_cols)(p, b, g, &x->i, k->i, at_i);
    K_(lcsm_scan_cols)(p, b, g, g_y, k->g_y, at_y);
    K_(lcsm_scan_trails)(p, b, g, &a->g->i, k->g_i, to_i);
    if (p->b != NULL) {
        K_(lcsm_scan_cols)(p, b, g, p->b, k->b, at_b);
        K_(lcsm_scan_trails)(p, b, g, to_b, k->g_b, sum_b);
    }
    if (k->f != NULL) K_(lcsm_scan_factors)(p, b, g, k->f, at_f);
    for (ptrdiff_t s = 0; s < g->count; s++) {
        u[s]     = K_(lcsm_scan_unit)(p, b, g->cut[s]);
        u[s].i   = at_i[s];
        u[s].g_y = at_y[s];
        u[s].g_i = to_i[s];
        if (p->b != NULL) u[s].b = at_b[s], u[s].g_b = sum_b[s];
        if (k->f != NULL) u[s].f = at_f[s];
        u[s].next = &next;
    }
    for (ptrdiff_t k0 = 0; k0 < p->Kp; k0 += p->R) {
        for (ptrdiff_t s = 0; s < g->count; s++) bwd_tile(a, &u[s]);
        fold_lanes(a, &u[0]);
        for (ptrdiff_t s = 0; s < g->count; s++) unit_down(&u[s]);
    }
    if (to_i[0].p == k->g_i && a->g->i.p != NULL) add_cols(p, b, g, &a->g->i, k->g_i);
    if (p->b != NULL && sum_b[0].p == k->g_b && to_b->p != NULL) add_cols(p, b, g, to_b, k->g_b);
}

void K_(lcsm_scan_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                       ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws)
{
    unsigned mode = vflush_begin();
    size_t   used, size = R_(lcsm_eos_memory)(x);
    work     k;
    view     gy = {g_y, g_y_t, 0, 1};
    (void)y;
    (void)y_t;
    plan(&k, x, C, ws, &used);
    K_(lcsm_scan_pack)(&k.p);
    clear_lanes(&k);
    for (ptrdiff_t end = x->T; end > 0;) {
        ptrdiff_t cell = (end - 1) / C * C, t = end - 1;
        while (t > cell && !lcsm_resets_at(&x->resets, t)) t--;
        bool  empty = lcsm_resets_at(&x->resets, t);
        block b;
        pass  a = {&k, g, empty ? NULL : tape + (size_t)(t / C) * size, g_m};
        K_(lcsm_scan_block)(&k.p, t, end - t, &b);
        for (ptrdiff_t d0 = 0; d0 < x->D;) {
            group at = K_(lcsm_scan_group)(&k.p, d0, b.n);
            bwd_group(&a, &b, &at, &gy);
            d0 = at.end;
        }
        if (empty) memset(g_m, 0, size * sizeof(real));
        end = t;
    }
    vflush_end(mode);
}
