/* eos_scan_pack.c - operands of the scan form as tiles, rows and columns. */
#include "kernel/eos/scan/eos_scan_tile.h"

/* ---- the plan ---------------------------------------------------------------------------- */

static bool has_row_axis_only(const view *v)
{
    return v->d == 0;
}

static bool has_col_axis_only(const view *v)
{
    return v->k == 0 && v->d != 0;
}

static void plan_z(scan *p)
{
    const view *u = &p->x->u, *w = &p->x->w;
    p->z        = Z_NONE;
    p->z_factor = p->x->gen == LCSM_GEN_COMPLEMENT ? 1 : (real)1.4426950408889634;
    if (p->x->gen == LCSM_GEN_NONE) return;
    bool        both = is_still(u) && is_still(w), one = is_still(u) != is_still(w);
    const view *still = is_still(u) ? u : w, *token = is_still(u) ? w : u;
    p->z = Z_ANY;
    if (both && p->x->gen != LCSM_GEN_COMPLEMENT) p->z = Z_STILL;
    else if (one && has_row_axis_only(token)) p->z = Z_AC, p->a = token, p->c = still;
    else if (one && has_col_axis_only(token)) p->z = Z_BC, p->b = token, p->c = still;
    else if (both || one) return;
    else if (has_row_axis_only(u) && has_col_axis_only(w)) p->z = Z_AB, p->a = u, p->b = w;
    else if (has_row_axis_only(w) && has_col_axis_only(u)) p->z = Z_AB, p->a = w, p->b = u;
}

static void plan_factors(scan *p)
{
    const seq *x   = p->x;
    p->token_phase = is_token(&x->row_phase) || is_token(&x->col_phase) || is_token(&x->full_phase);
    p->token_mag   = is_token(&x->row) || is_token(&x->col) || is_token(&x->full) || p->z > Z_STILL;
    p->token       = p->token_mag || p->token_phase;
    p->still_factor = is_still(&x->row) || is_still(&x->col) || is_still(&x->full)
                   || is_still(&x->row_phase) || is_still(&x->col_phase) || is_still(&x->full_phase)
                   || p->z == Z_STILL;
}

/* One generated factor from a row of numbers and a static tile, and nothing else. */
static bool is_fused(const scan *p)
{
    const seq *x = p->x;
    return x->gen == LCSM_GEN_EXP && !x->bf16 && p->z == Z_BC && p->planes == 1 && p->R > 1
        && !p->e_matrix && !p->s_matrix && !p->still_factor && x->row.p == NULL && x->col.p == NULL
        && x->full.p == NULL;
}

static void plan_sizes(scan *p)
{
    const seq *x = p->x;
    p->planes    = x->is_complex ? 2 : 1;
    p->R         = x->K == 1 ? 1 : SCAN_ROWS;
    p->Kp        = (x->K + p->R - 1) / p->R * p->R;
    p->Dp        = (x->D + VW - 1) / VW * VW;
    p->e_matrix  = x->e.d != 0;
    p->s_matrix  = x->s.d != 0;
}

static void carve_planes(const scan *p, pieces *c, size_t reals, real *to[2])
{
    to[RE] = carve(c, reals);
    to[IM] = p->planes == 2 ? carve(c, reals) : NULL;
}

void K_(lcsm_scan_plan)(scan *p, const seq *x, ptrdiff_t n, ptrdiff_t n_token, ptrdiff_t NV,
                        ptrdiff_t fused_NV, ptrdiff_t tall_NV, pieces *c)
{
    *p = (scan){.x = x, .NV = x->is_complex || x->bf16 ? 1 : x->K == 1 ? 4 : NV};
    plan_sizes(p);
    plan_z(p);
    plan_factors(p);
    p->fused = is_fused(p);
    if (p->fused) p->NV = fused_NV;
    if (p->fused && VW == 16 && x->K % (SCAN_TILE / tall_NV) == 0)
        p->NV = tall_NV, p->R = SCAN_TILE / tall_NV;
    p->n_max = p->token && !p->fused ? n_token : n;

    size_t tiles = (size_t)(p->Kp * p->Dp), line = (size_t)(p->n_max * p->Kp);
    if (p->z == Z_AC || p->z == Z_BC) p->c_tiles = carve(c, tiles);
    if (!p->token || p->still_factor) carve_planes(p, c, tiles, p->o_tiles);
    if (p->still_factor && x->T >= SCAN_DRIFT && !x->bf16 && !LCSM_REAL_IS_DOUBLE)
        carve_planes(p, c, tiles, p->drift_tiles);
    carve_planes(p, c, p->e_matrix ? tiles : line, p->e_matrix ? p->e_tiles : p->e_rows);
    carve_planes(p, c, p->s_matrix ? tiles : line, p->s_matrix ? p->s_tiles : p->s_rows);
    if (p->z == Z_AC || p->z == Z_AB) p->a_rows = carve(c, line);
    if (is_token(&x->row)) p->g_rows = carve(c, line);
    if (is_token(&x->row_phase)) p->phase_rows = carve(c, line);
    size_t buffer = (size_t)(p->n_max * p->R * p->NV * VW);
    if (p->token) carve_planes(p, c, buffer, p->o_buf);
    if (p->z == Z_ANY) p->z_any = carve(c, buffer);
    p->zeros = carve(c, SCAN_ROWS);
}

/* ---- tiles ------------------------------------------------------------------------------- */

/* The part `offset` numbers behind a view's elements, times factor; absent parts are 0. */
static void pack_tiles(const scan *p, const view *v, bool present, ptrdiff_t offset, real factor,
                       bool bf16, real *to)
{
    view part = {present ? v->p + offset : NULL, v->t, v->k, v->d};
    for (ptrdiff_t d0 = 0; d0 < p->x->D;) {
        strip cut = strip_at(p, d0);
        for (ptrdiff_t k = 0; k < p->Kp; k++)
            for (ptrdiff_t j = 0; j < cut.W; j += VW) {
                vec x = view_load(p->x, &part, 0, k, d0 + j);
                vstore(to + d0 * p->Kp + k * cut.W + j, (bf16 ? vbf16(x) : x) * factor);
            }
        d0 += cut.W;
    }
}

void K_(lcsm_scan_pack)(const scan *p)
{
    const seq *x = p->x;
    if (x->again) return;
    memset(p->zeros, 0, SCAN_ROWS * sizeof(real));
    if (p->c_tiles != NULL) pack_tiles(p, p->c, true, 0, p->z_factor, false, p->c_tiles);
    if (p->o_tiles[RE] != NULL) K_(lcsm_scan_pack_still)(p);
    for (int c = 0; c < p->planes; c++) {
        if (p->e_matrix)
            pack_tiles(p, &x->e, c == RE || x->complex_e, c, 1, x->bf16, p->e_tiles[c]);
        if (p->s_matrix)
            pack_tiles(p, &x->s, c == RE || x->complex_s, c, x->scale, x->bf16, p->s_tiles[c]);
    }
}

/* ---- rows and columns of a block --------------------------------------------------------- */

static rows pack_rows(const scan *p, const view *v, ptrdiff_t t0, ptrdiff_t n, real factor,
                      real *to)
{
    for (ptrdiff_t k = 0; k < p->Kp; k++) {
        real *line = to + k / p->R * p->R * n + k % p->R;
        for (ptrdiff_t t = 0; t < n; t++)
            line[t * p->R] = k < p->x->K ? v->p[(t0 + t) * v->t + k * v->k] * factor : 0;
    }
    return (rows){to, p->R, p->R * n};
}

/* In place where the numbers already lie as a track wants them. */
static rows rows_of(const scan *p, const view *v, ptrdiff_t t0, ptrdiff_t n, real factor, real *to)
{
    if (factor == 1 && p->Kp == p->x->K && (v->k == 1 || p->R == 1))
        return (rows){v->p + t0 * v->t, v->t, p->R};
    return pack_rows(p, v, t0, n, factor, to);
}

static rows rounded_rows(const scan *p, const view *v, ptrdiff_t t0, ptrdiff_t n, real factor,
                         real *to)
{
    rows r = pack_rows(p, v, t0, n, 1, to);
    round_all(to, n * p->Kp, factor);
    return r;
}

static void rows_of_parts(const scan *p, const view *v, bool complex, ptrdiff_t t0, ptrdiff_t n,
                          real factor, real *const to[2], rows r[2])
{
    view im = {v->p + 1, v->t, v->k, v->d};
    r[RE]   = (p->x->bf16 ? rounded_rows : rows_of)(p, v, t0, n, factor, to[RE]);
    if (p->planes == 1) return;
    r[IM] = complex ? rows_of(p, &im, t0, n, factor, to[IM]) : (rows){p->zeros, 0, 0};
}

void K_(lcsm_scan_block)(const scan *p, ptrdiff_t t0, ptrdiff_t n, block *b)
{
    const seq *x = p->x;
    *b           = (block){.t0 = t0, .n = n};
    if (!p->e_matrix) rows_of_parts(p, &x->e, x->complex_e, t0, n, 1, p->e_rows, b->e);
    if (!p->s_matrix) rows_of_parts(p, &x->s, x->complex_s, t0, n, x->scale, p->s_rows, b->s);
    if (p->z == Z_AC) b->a = rows_of(p, p->a, t0, n, 1, p->a_rows);
    if (p->z == Z_AB) b->a = rows_of(p, p->a, t0, n, p->z_factor, p->a_rows);
    if (is_token(&x->row_phase)) b->phase = pack_rows(p, &x->row_phase, t0, n, 1, p->phase_rows);
    if (is_token(&x->row)) {
        b->g = pack_rows(p, &x->row, t0, n, 1, p->g_rows);
        for (ptrdiff_t j = 0; j < n * p->Kp; j += VW)
            vstore(p->g_rows + j, vexp_even(vload(p->g_rows + j)));
    }
}

/* As few groups as can be, of one width: then each has the time to ask for the next one. */
static ptrdiff_t group_width(const scan *p)
{
    ptrdiff_t D = p->x->D, W = p->NV * VW,
              most   = SCAN_GROUP * W < SCAN_COLUMNS ? SCAN_GROUP * W : SCAN_COLUMNS;
    ptrdiff_t groups = (D + most - 1) / most;
    return ((D + groups - 1) / groups + W - 1) / W * W;
}

group K_(lcsm_scan_group)(const scan *p, ptrdiff_t d0, ptrdiff_t n)
{
    group     g     = {.d0 = d0, .end = d0};
    ptrdiff_t width = group_width(p);
    for (; g.end < p->x->D && g.count < SCAN_GROUP && g.end - d0 < width; g.count++) {
        strip cut      = strip_at(p, g.end);
        g.cut[g.count] = cut;
        g.at[g.count]  = g.size;
        g.end += cut.W;
        g.size += n * cut.W;
    }
    return g;
}

bool K_(lcsm_scan_in_place)(const scan *p, const group *g, ptrdiff_t d_stride)
{
    return d_stride == 1 && g->end <= p->x->D;
}

/* What becomes of columns that are packed. */
enum { AS_THEY_ARE, EXPONENTIALS, ROUNDED };

/* The columns of v as strips of (n, W). */
VEC_INLINE void pack_cols(const scan *p, const block *b, const group *g, const view *v, int how,
                          real *to, track at[SCAN_GROUP])
{
    for (ptrdiff_t s = 0; s < g->count; s++) {
        strip cut = g->cut[s];
        at[s]     = (track){to + g->at[s], cut.W};
        for (ptrdiff_t t = 0; t < b->n; t++)
            for (ptrdiff_t j = 0; j < cut.W; j += VW) {
                vec x = view_load(p->x, v, b->t0 + t, 0, cut.d0 + j);
                vstore(to + g->at[s] + t * cut.W + j, how == EXPONENTIALS ? vexp_even(x)
                                                      : how == ROUNDED    ? vbf16(x)
                                                                          : x);
            }
    }
}

void K_(lcsm_scan_cols)(const scan *p, const block *b, const group *g, const view *v, real *to,
                        track at[SCAN_GROUP])
{
    if (v == &p->x->i && p->x->bf16) {
        pack_cols(p, b, g, v, ROUNDED, to, at);
        return;
    }
    if (!K_(lcsm_scan_in_place)(p, g, v->d)) {
        pack_cols(p, b, g, v, AS_THEY_ARE, to, at);
        return;
    }
    for (ptrdiff_t s = 0; s < g->count; s++)
        at[s] = (track){v->p + b->t0 * v->t + g->cut[s].d0, v->t};
}

void K_(lcsm_scan_factors)(const scan *p, const block *b, const group *g, real *to,
                           track at[SCAN_GROUP])
{
    pack_cols(p, b, g, &p->x->col, EXPONENTIALS, to, at);
}

void K_(lcsm_scan_trails)(const scan *p, const block *b, const group *g, const out *v, real *packed,
                          trail at[SCAN_GROUP])
{
    bool in_place = K_(lcsm_scan_in_place)(p, g, v->d) && v->p != NULL && v->sum == NULL;
    for (ptrdiff_t s = 0; s < g->count; s++) {
        strip cut = g->cut[s];
        if (in_place) at[s] = (trail){v->p + b->t0 * v->t + cut.d0, v->t, v->set};
        else at[s] = (trail){packed + g->at[s], cut.W, true};
    }
}

void K_(lcsm_scan_ahead)(const scan *p, const block *b, const group *g, bool back,
                         const view *const *of, int views, ahead *a)
{
    ptrdiff_t width = group_width(p), left = p->x->D - g->end;
    ptrdiff_t next  = back ? b->t0 - b->n : b->t0 + b->n; /* as many steps, as a rule */
    bool      right = left > 0;
    *a              = (ahead){.t0    = right ? b->t0 : next,
                              .d0    = right ? g->end : 0,
                              .turns = p->Kp * (g->end - g->d0) / (p->NV > 1 ? 2 * VW : VW),
                              .lines = ((right && left < width ? left : width) + CACHE_LINE - 1) / CACHE_LINE};
    if (!right && (next < 0 || next + b->n > p->x->T)) return;
    for (int j = 0; j < views; j++)
        if (of[j] != NULL && of[j]->p != NULL && of[j]->d == 1) a->of[a->views++] = *of[j];
}

ptrdiff_t K_(lcsm_scan_steps)(const seq *x, ptrdiff_t t, ptrdiff_t end, ptrdiff_t n_max)
{
    ptrdiff_t most = end - t < n_max ? end - t : n_max, n = 1;
    while (n < most && !lcsm_resets_at(&x->resets, t + n)) n++;
    return n;
}

/* ---- the memory of a tile ---------------------------------------------------------------- */

/* Whether no row and no column of the tile is padding. */
static bool is_whole(const scan *p, strip cut, ptrdiff_t k0)
{
    return cut.cols == cut.W && k0 + p->R <= p->x->K;
}

void K_(lcsm_scan_load)(const scan *p, strip cut, ptrdiff_t k0, const real *m, real *tile)
{
    const seq *x     = p->x;
    bool       whole = m != NULL && is_whole(p, cut, k0);
    for (ptrdiff_t c = 0; c < p->planes; c++) {
        view v = {m == NULL ? NULL : m + c * x->K * x->D, 0, x->D, 1};
        for (ptrdiff_t k = k0; k < k0 + p->R; k++, tile += cut.W) {
            const real *at = v.p + k * x->D + cut.d0;
            for (ptrdiff_t j = 0; j < cut.W; j += VW)
                vstore(tile + j, whole ? vload(at + j) : view_load(x, &v, 0, k, cut.d0 + j));
        }
    }
}

void K_(lcsm_scan_store)(const scan *p, strip cut, ptrdiff_t k0, const real *tile, real *m)
{
    const seq *x     = p->x;
    bool       whole = is_whole(p, cut, k0);
    for (ptrdiff_t c = 0; c < p->planes; c++)
        for (ptrdiff_t r = 0; r < p->R && k0 + r < x->K; r++) {
            real       *to   = m + (c * x->K + k0 + r) * x->D + cut.d0;
            const real *from = tile + (c * p->R + r) * cut.W;
            for (ptrdiff_t j = 0; j < cut.cols; j += VW) {
                if (whole || cut.cols - j >= VW) vstore(to + j, vload(from + j));
                else vstore_n(to + j, vload(from + j), cut.cols - j);
            }
        }
}

unit K_(lcsm_scan_unit)(const scan *p, const block *b, strip cut)
{
    ptrdiff_t at = cut.d0 * p->Kp;
    unit      u  = {.p = p, .at = b, .cut = cut};
    for (int c = 0; c < p->planes; c++) {
        if (p->e_matrix) u.E[c] = p->e_tiles[c] + at;
        if (p->s_matrix) u.S[c] = p->s_tiles[c] + at;
        u.e[c] = (track){b->e[c].p, b->e[c].t};
        u.s[c] = (track){b->s[c].p, b->s[c].t};
        u.o[c] = p->token ? (track){p->o_buf[c], p->R * cut.W} : (track){p->o_tiles[c] + at, 0};
    }
    if (p->c_tiles != NULL) u.c = p->c_tiles + at;
    u.a     = (track){b->a.p, b->a.t};
    u.g     = (track){b->g.p, b->g.t};
    u.phase = (track){b->phase.p, b->phase.t};
    return u;
}
