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
#include "kernel/eos/eos_scan_tile.h"

/* Strips that share their sums over columns. */
enum { GROUP = 8 };

/* ---- real tiles -------------------------------------------------------------------------- */

VEC_INLINE void recall(const unit *u, ptrdiff_t R, ptrdiff_t NV, bool e_tile, real *slot)
{
    const ptrdiff_t n = u->at->n, i_t = u->i.t, o_t = u->o[RE].t, e_t = u->e[RE].t;
    const real     *i = u->i.p, *o = u->o[RE].p, *e = u->e[RE].p, *E = u->E[RE];
    vec             m[SCAN_ROWS][4];
    SCAN_EACH(r, R) SCAN_EACH(v, NV) m[r][v] = vload(slot + (r * NV + v) * VW);
    for (ptrdiff_t t = 0; t < n; t++) {
        slot += R * NV * VW;
        SCAN_EACH(r, R) SCAN_EACH(v, NV)
        {
            ptrdiff_t at = (r * NV + v) * VW;
            vec       ev = e_tile ? vload(E + at) : vset1(e[r]);
            m[r][v]      = vload(o + at) * m[r][v] + ev * vload(i + v * VW);
            vstore(slot + at, m[r][v]);
        }
        i += i_t, o += o_t, e += e_t;
    }
}

/* lane = NULL, or a vector that x is added to. */
VEC_INLINE void sweep_tile(const unit *u, const sweep *w, ptrdiff_t R, ptrdiff_t NV, bool e_tile,
                           bool s_tile)
{
    const ptrdiff_t size = R * NV * VW;
    const real     *E = u->E[RE], *S = u->S[RE], *f = w->f[RE];
    real           *e_lane = w->e_lanes[RE], *s_lane = w->s_lanes[RE];
    vec             G[SCAN_ROWS][4], e_sum[SCAN_ROWS][4], s_sum[SCAN_ROWS][4];
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        G[r][v]     = vload(w->G + (r * NV + v) * VW);
        e_sum[r][v] = s_sum[r][v] = vzero();
    }
    for (ptrdiff_t t = u->at->n - 1; t >= 0; t--) {
        const real *i = u->i.p + t * u->i.t, *g_y = w->g_y.p + t * w->g_y.t;
        const real *o = u->o[RE].p + t * u->o[RE].t;
        const real *e = u->e[RE].p + t * u->e[RE].t, *s = u->s[RE].p + t * u->s[RE].t;
        real       *m = w->m + t * size;
        vec         g_i[4];
        SCAN_EACH(v, NV) g_i[v] = vload(w->g_i + (t * NV + v) * VW);
        SCAN_EACH(r, R)
        {
            ptrdiff_t lane = (t * R + r) * VW;
            vec       ge = vzero(), gs = vzero();
            if (!e_tile && e_lane != NULL) ge = vload(e_lane + lane);
            if (!s_tile && s_lane != NULL) gs = vload(s_lane + lane);
            SCAN_EACH(v, NV)
            {
                ptrdiff_t at = (r * NV + v) * VW;
                vec       gy = vload(g_y + v * VW), in = vload(i + v * VW);
                vec       before = vload(m + at), after = vload(m + size + at);
                G[r][v] += (s_tile ? vload(S + at) : vset1(s[r])) * gy;
                g_i[v] += (e_tile ? vload(E + at) : vset1(e[r])) * G[r][v];
                if (s_tile) s_sum[r][v] += after * gy;
                else gs += after * gy;
                if (e_tile) e_sum[r][v] += G[r][v] * in;
                else ge += G[r][v] * in;
                if (f != NULL)
                    vstore(w->g_z + t * size + at, -(G[r][v] * vload(f + t * size + at) * before));
                G[r][v] *= vload(o + at);
                if (w->o) vstore(m + size + at, G[r][v] * before);
            }
            if (!e_tile && e_lane != NULL) vstore(e_lane + lane, ge);
            if (!s_tile && s_lane != NULL) vstore(s_lane + lane, gs);
        }
        SCAN_EACH(v, NV) vstore(w->g_i + (t * NV + v) * VW, g_i[v]);
    }
    SCAN_EACH(r, R) SCAN_EACH(v, NV)
    {
        ptrdiff_t at = (r * NV + v) * VW;
        vstore(w->G + at, G[r][v]);
        if (e_tile && w->e_sum[RE] != NULL) vstore(w->e_sum[RE] + at, e_sum[r][v]);
        if (s_tile && w->s_sum[RE] != NULL) vstore(w->s_sum[RE] + at, s_sum[r][v]);
    }
}

#define RECALL(R, NV, e)                                                                           \
    static void recall_##R##_##NV##_##e(const unit *u, real *m)                                    \
    {                                                                                              \
        recall(u, R, NV, e, m);                                                                    \
    }
#define SWEEP(R, NV, e, s)                                                                         \
    static void sweep_##R##_##NV##_##e##s(const unit *u, const sweep *w)                           \
    {                                                                                              \
        sweep_tile(u, w, R, NV, e, s);                                                             \
    }
#define TILE(R, NV)                                                                                \
    RECALL(R, NV, 0)                                                                               \
    RECALL(R, NV, 1)                                                                               \
    SWEEP(R, NV, 0, 0)                                                                             \
    SWEEP(R, NV, 0, 1)                                                                             \
    SWEEP(R, NV, 1, 0)                                                                             \
    SWEEP(R, NV, 1, 1)
TILE(1, 1)
TILE(1, 4)
TILE(4, 1)
TILE(4, 2)

#define RECALLS(R, NV)                                                                             \
    {                                                                                              \
        recall_##R##_##NV##_0, recall_##R##_##NV##_1                                               \
    }
#define SWEEPS(R, NV)                                                                              \
    {                                                                                              \
        {sweep_##R##_##NV##_00, sweep_##R##_##NV##_01},                                            \
        {                                                                                          \
            sweep_##R##_##NV##_10, sweep_##R##_##NV##_11                                           \
        }                                                                                          \
    }
/* By one row or several, one vector or several, e a tile, s a tile. */
static K_(lcsm_scan_recall) *const RECALL_OF[2][2][2]  = {{RECALLS(1, 1), RECALLS(1, 4)},
                                                          {RECALLS(4, 1), RECALLS(4, 2)}};
static K_(lcsm_scan_sweep) *const SWEEP_OF[2][2][2][2] = {{SWEEPS(1, 1), SWEEPS(1, 4)},
                                                          {SWEEPS(4, 1), SWEEPS(4, 2)}};

/* ---- scratch ----------------------------------------------------------------------------- */

typedef struct {
    scan  p;
    real *m, *G, *dz, *f[2];
    real *i, *b, *g_y, *g_i, *g_b; /* of a group: strips of (n, W) */
    real *e_sum[2], *s_sum[2];
    lanes l;
} work;

static void plan(work *k, const seq *x, ptrdiff_t C, real *ws, size_t *used)
{
    carver    c = {ws, 0};
    ptrdiff_t n = C < x->T || x->T == 0 ? C : x->T;
    K_(lcsm_scan_plan)(&k->p, x, n, 2, &c);
    const scan *p    = &k->p;
    size_t      tile = (size_t)(p->R * p->NV * VW), planes = (size_t)p->planes, steps = (size_t)n;
    size_t      line = steps * (size_t)(GROUP * p->NV * VW), lane = steps * (size_t)(p->R * VW);
    bool        complement = p->z != Z_NONE && x->gen == EOS_GEN_COMPLEMENT;
    bool        gate       = p->z > Z_STILL && x->gen == EOS_GEN_GATE;
    bool        cols       = p->z == Z_BC || p->z == Z_AB;

    k->m  = carve(&c, (steps + 1) * planes * tile);
    k->G  = carve(&c, planes * tile);
    k->dz = gate || complement ? carve(&c, steps * tile) : NULL;
    for (size_t j = 0; j < 2; j++) {
        bool on     = j < planes;
        k->f[j]     = on && complement ? carve(&c, steps * tile) : NULL;
        k->e_sum[j] = on && p->e_matrix ? carve(&c, tile) : NULL;
        k->s_sum[j] = on && p->s_matrix ? carve(&c, tile) : NULL;
        k->l.e[j]   = on && !p->e_matrix ? carve(&c, lane) : NULL;
        k->l.s[j]   = on && !p->s_matrix ? carve(&c, lane) : NULL;
    }
    k->i   = carve(&c, line);
    k->g_y = carve(&c, line);
    k->g_i = carve(&c, line);
    k->b   = cols ? carve(&c, line) : NULL;
    k->g_b = cols ? carve(&c, line) : NULL;

    k->l.row       = is_token(&x->row) ? carve(&c, lane) : NULL;
    k->l.row_phase = is_token(&x->row_phase) ? carve(&c, lane) : NULL;
    k->l.a         = p->z == Z_AC || p->z == Z_AB ? carve(&c, lane) : NULL;
    *used          = c.used;
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
        out part = {g->p + c, g->t, g->k, g->d};
        for (ptrdiff_t r = 0; r < u->p->R; r++)
            for (ptrdiff_t j = 0; j < u->cut.W; j += VW)
                out_add(x, &part, 0, u->k0 + r, u->cut.d0 + j,
                        vload(sum[c] + r * u->cut.W + j) * factor);
    }
}

/* Lanes or sums of e and s, where their gradients are wanted. */
static void sweep_targets(const pass *a, sweep *w)
{
    const work *k = a->k;
    for (int c = 0; c < k->p.planes; c++) {
        bool e        = a->g->e.p != NULL && (c == RE || k->p.x->complex_e);
        bool s        = a->g->s.p != NULL && (c == RE || k->p.x->complex_s);
        w->e_lanes[c] = e ? k->l.e[c] : NULL;
        w->s_lanes[c] = s ? k->l.s[c] : NULL;
        w->e_sum[c]   = e ? k->e_sum[c] : NULL;
        w->s_sum[c]   = s ? k->s_sum[c] : NULL;
    }
}

static void bwd_tile(const pass *a, const unit *u, real *g_y, real *g_i, real *g_b)
{
    work        *k       = a->k;
    const scan  *p       = &k->p;
    const grads *g       = a->g;
    bool         several = u->cut.NV > 1, o = wants_o(g), complement = k->f[RE] != NULL;
    sweep        w = {.m = k->m, .G = k->G, .g_y = {g_y, u->cut.W}, .g_i = g_i, .o = o};

    if (p->token) K_(lcsm_scan_gen)(u, complement || !o ? NULL : k->dz);
    if (complement && o) {
        K_(lcsm_scan_gen_other)(u, k->f);
        w.f[RE] = k->f[RE], w.f[IM] = k->f[IM], w.g_z = k->dz;
    }
    sweep_targets(a, &w);
    K_(lcsm_scan_load)(p, u->cut, u->k0, a->tape, k->m);
    K_(lcsm_scan_load)(p, u->cut, u->k0, a->g_m, k->G);
    if (p->planes == 2) {
        K_(lcsm_scan_recall_complex)(u, k->m);
        K_(lcsm_scan_sweep_complex)(u, &w);
    } else {
        RECALL_OF[p->R > 1][several][p->e_matrix](u, k->m);
        SWEEP_OF[p->R > 1][several][p->e_matrix][p->s_matrix](u, &w);
    }
    K_(lcsm_scan_correct)(u, true, k->G, u->cut.W);
    K_(lcsm_scan_store)(p, u->cut, u->k0, k->G, a->g_m);
    if (w.e_sum[RE] != NULL) add_sums(u, &g->e, p->x->complex_e, 1, w.e_sum);
    if (w.s_sum[RE] != NULL) add_sums(u, &g->s, p->x->complex_s, p->x->scale, w.s_sum);
    if (o) K_(lcsm_scan_chain)(u, g, k->m + p->planes * p->R * u->cut.W, k->dz, &k->l, g_b);
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

/* Sums over rows, (n, W), to a gradient that has T and D. */
static void add_cols(const unit *u, const out *g, real factor, const real *from)
{
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t j = 0; j < u->cut.W; j += VW)
            out_add(u->p->x, g, u->at->t0 + t, 0, u->cut.d0 + j,
                    vload(from + t * u->cut.W + j) * factor);
}

/* Strips from d0 on through the n steps of a block; returns where the next group starts. */
static ptrdiff_t bwd_group(const pass *a, const block *b, ptrdiff_t d0, const view *g_y)
{
    work       *k = a->k;
    const scan *p = &k->p;
    const seq  *x = p->x;
    unit        u[GROUP];
    ptrdiff_t   offset[GROUP], count = 0, size = 0;
    bool        cols = k->b != NULL;
    for (; d0 < x->D && count < GROUP; count++) {
        strip cut     = strip_at(p, d0);
        offset[count] = size;
        u[count]      = K_(lcsm_scan_unit)(p, b, cut);
        u[count].i    = (track){k->i + size, cut.W};
        u[count].b    = (track){cols ? k->b + size : NULL, cut.W};
        K_(lcsm_scan_cols)(p, &x->i, b->t0, b->n, cut, 1, k->i + size);
        K_(lcsm_scan_cols)(p, g_y, b->t0, b->n, cut, 1, k->g_y + size);
        if (cols) K_(lcsm_scan_cols)(p, p->b, b->t0, b->n, cut, 1, k->b + size);
        d0 += cut.W, size += b->n * cut.W;
    }
    memset(k->g_i, 0, (size_t)size * sizeof(real));
    if (cols) memset(k->g_b, 0, (size_t)size * sizeof(real));

    for (ptrdiff_t k0 = 0; k0 < p->Kp; k0 += p->R) {
        for (ptrdiff_t j = 0; j < count; j++)
            bwd_tile(a, &u[j], k->g_y + offset[j], k->g_i + offset[j],
                     cols ? k->g_b + offset[j] : NULL);
        fold_lanes(a, &u[0]);
        for (ptrdiff_t j = 0; j < count; j++) unit_down(&u[j]);
    }
    for (ptrdiff_t j = 0; j < count; j++) {
        add_cols(&u[j], &a->g->i, 1, k->g_i + offset[j]);
        if (cols) add_cols(&u[j], out_like(x, a->g, p->b), 1 / p->z_factor, k->g_b + offset[j]);
    }
    return d0;
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
        while (t > cell && !R_(lcsm_eos_resets)(x, t)) t--;
        bool  empty = R_(lcsm_eos_resets)(x, t);
        block b;
        pass  a = {&k, g, empty ? NULL : tape + (size_t)(t / C) * size, g_m};
        K_(lcsm_scan_block)(&k.p, t, end - t, &b);
        for (ptrdiff_t d0 = 0; d0 < x->D;) d0 = bwd_group(&a, &b, d0, &gy);
        if (empty) memset(g_m, 0, size * sizeof(real));
        end = t;
    }
    vflush_end(mode);
}
