/*
 * eos_scan_chain.c - from the gradients of log |o_t| and of the phase to those of the factors.
 *
 * A factor without T gets the sum over the steps, one without D the sum over columns, one without
 * K the sum over rows. z = u w gets the gradient of log o times d log o / dz.
 */
#include "kernel/eos/scan/eos_scan_tile.h"

/* ---- sums of a buffer (n, R, W) with steps g.t apart ---------------------------------------- */

/* The sum over the steps at one place of the tile. */
VEC_INLINE vec sum_steps(const unit *u, track g, ptrdiff_t r, ptrdiff_t j)
{
    vec         a = vzero(), b = vzero();
    const real *p = g.p + r * u->cut.W + j;
    ptrdiff_t   n = u->at->n, t = 0;
    for (; t + 1 < n; t += 2) {
        a += vload(p + t * g.t);
        b += vload(p + (t + 1) * g.t);
    }
    if (t < n) a += vload(p + t * g.t);
    return a + b;
}

/* Static row, col and full factors share the sum over the steps; so do u and w when both are
 * static. */
static void chain_still(const unit *u, track g, const view *const v[3], const out *const to[3],
                        bool z, const grads *all)
{
    const seq *x = u->p->x;
    bool       on[3], any = z;
    for (int f = 0; f < 3; f++) any |= on[f] = is_still(v[f]) && to[f]->p != NULL;
    if (!any) return;
    for (ptrdiff_t r = 0; r < u->p->R; r++)
        for (ptrdiff_t j = 0; j < u->cut.W; j += VW) {
            ptrdiff_t k = u->k0 + r, d = u->cut.d0 + j;
            vec       sum = sum_steps(u, g, r, j);
            for (int f = 0; f < 3; f++)
                if (on[f]) out_add(x, to[f], 0, k, d, sum);
            if (!z) continue;
            vec a = view_load(x, &x->u, 0, k, d), b = view_load(x, &x->w, 0, k, d);
            sum *= K_(lcsm_scan_slope)(x, a * b);
            out_add(x, &all->u, 0, k, d, sum * b);
            out_add(x, &all->w, 0, k, d, sum * a);
        }
}

static void chain_row(const unit *u, track g, real *lane)
{
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < u->p->R; r++, lane += VW) {
            vec sum = vload(lane);
            for (ptrdiff_t j = 0; j < u->cut.W; j += VW)
                sum += vload(g.p + t * g.t + r * u->cut.W + j);
            vstore(lane, sum);
        }
}

static void chain_col(const unit *u, track g, const out *to)
{
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t j = 0; j < u->cut.W; j += VW) {
            vec sum = vzero();
            for (ptrdiff_t r = 0; r < u->p->R; r++) sum += vload(g.p + t * g.t + r * u->cut.W + j);
            out_add(u->p->x, to, u->at->t0 + t, u->k0, u->cut.d0 + j, sum);
        }
}

/* Adds a row of the tile where all of it exists; the row of the next tile is asked for early. */
VEC_INLINE void add_row(real *to, ptrdiff_t next, bool set, const real *from, ptrdiff_t W)
{
    for (ptrdiff_t j = 0; j < W; j += VW) {
        vstore(to + j, set ? vload(from + j) : vload(to + j) + vload(from + j));
        ask_soon_to_write(to + next + j);
    }
}

static void chain_full(const unit *u, track g, const out *to)
{
    const seq *x = u->p->x;
    ptrdiff_t  W = u->cut.W, R = u->p->R;
    bool       whole = u->k0 + R <= x->K && u->cut.cols == W && to->d == 1;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < R; r++) {
            ptrdiff_t   step = u->at->t0 + t, k = u->k0 + r;
            const real *from = g.p + t * g.t + r * W;
            if (whole)
                add_row(to->p + step * to->t + k * to->k + u->cut.d0, R * to->k, to->set, from, W);
            else
                for (ptrdiff_t j = 0; j < W; j += VW)
                    out_add(x, to, step, k, u->cut.d0 + j, vload(from + j));
        }
}

/* row, col and full, or their phases. */
static void chain_factors(const unit *u, track g, const view *const v[3], const out *const to[3],
                          bool z, const grads *all, real *row_lane)
{
    chain_still(u, g, v, to, z, all);
    if (is_token(v[0]) && to[0]->p != NULL) chain_row(u, g, row_lane);
    if (is_token(v[1]) && to[1]->p != NULL) chain_col(u, g, to[1]);
    if (is_token(v[2]) && to[2]->p != NULL) chain_full(u, g, to[2]);
}

/* ---- z = a c, b c, a b ---------------------------------------------------------------------- */

/* One vector column: sums over rows and steps at once, R rows in registers. */
VEC_INLINE void chain_bc(const unit *u, track g, ptrdiff_t R, ptrdiff_t j, real *g_c)
{
    const ptrdiff_t n = u->at->n, W = u->cut.W, b_t = u->b.t;
    const real     *p = g.p + j, *b = u->b.p + j;
    real           *g_b   = u->g_b.p + j;
    const bool      fresh = is_fresh(u, &u->g_b);
    vec             c[SCAN_ROWS], sum[SCAN_ROWS];
    SCAN_EACH(r, R) c[r] = vload(u->c + r * W + j), sum[r] = vzero();
    for (ptrdiff_t t = 0; t < n; t++, p += g.t, b += b_t, g_b += u->g_b.t) {
        vec across = vzero(), bt = vload(b);
        SCAN_EACH(r, R)
        {
            vec gz = vload(p + r * W);
            across += gz * c[r];
            sum[r] += gz * bt;
        }
        across *= unit_factor(u);
        vstore(g_b, fresh ? across : vload(g_b) + across);
    }
    SCAN_EACH(r, R) vstore(g_c + r * W + j, sum[r]);
}

VEC_INLINE void chain_ac(const unit *u, track g, ptrdiff_t R, ptrdiff_t j, real *lane, real *g_c)
{
    const ptrdiff_t n = u->at->n, W = u->cut.W, a_t = u->a.t;
    const real     *p = g.p + j, *a = u->a.p;
    vec             c[SCAN_ROWS], sum[SCAN_ROWS];
    SCAN_EACH(r, R) c[r] = vload(u->c + r * W + j), sum[r] = vzero();
    for (ptrdiff_t t = 0; t < n; t++, p += g.t, a += a_t, lane += R * VW) SCAN_EACH(r, R)
        {
            vec gz = vload(p + r * W);
            vstore(lane + r * VW, vload(lane + r * VW) + gz * c[r]);
            sum[r] += gz * a[r];
        }
    SCAN_EACH(r, R) vstore(g_c + r * W + j, sum[r]);
}

VEC_INLINE void chain_ab(const unit *u, track g, ptrdiff_t R, ptrdiff_t j, real *lane)
{
    const ptrdiff_t n = u->at->n, W = u->cut.W, a_t = u->a.t, b_t = u->b.t;
    const real     *p = g.p + j, *a = u->a.p, *b = u->b.p + j;
    real           *g_b   = u->g_b.p + j;
    const bool      fresh = is_fresh(u, &u->g_b);
    for (ptrdiff_t t = 0; t < n;
         t++, p += g.t, a += a_t, b += b_t, lane += R * VW, g_b += u->g_b.t) {
        vec across = vzero(), bt = vload(b);
        SCAN_EACH(r, R)
        {
            vec gz = vload(p + r * W);
            vstore(lane + r * VW, vload(lane + r * VW) + gz * bt);
            across += gz * a[r];
        }
        across *= unit_factor(u);
        vstore(g_b, fresh ? across : vload(g_b) + across);
    }
}

static void chain_any(const unit *u, track g, const grads *all)
{
    const seq *x = u->p->x;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < u->p->R; r++)
            for (ptrdiff_t j = 0; j < u->cut.W; j += VW) {
                ptrdiff_t step = u->at->t0 + t, k = u->k0 + r, d = u->cut.d0 + j;
                vec       gz = vload(g.p + t * g.t + r * u->cut.W + j);
                vec       a  = view_load(x, &x->u, step, k, d);
                vec       b  = view_load(x, &x->w, step, k, d);
                out_add(x, &all->u, step, k, d, gz * b);
                out_add(x, &all->w, step, k, d, gz * a);
            }
}

VEC_INLINE void chain_column(const unit *u, track g, ptrdiff_t R, ptrdiff_t j, real *lane,
                             real *g_c)
{
    if (u->p->z == Z_BC) chain_bc(u, g, R, j, g_c);
    else if (u->p->z == Z_AC) chain_ac(u, g, R, j, lane, g_c);
    else chain_ab(u, g, R, j, lane);
}

void K_(lcsm_scan_add_tile)(const unit *u, const out *to, const real *from)
{
    const ptrdiff_t W     = u->cut.W;
    const bool      whole = u->k0 + u->p->R <= u->p->x->K && u->cut.cols == W && to->d == 1;
    for (ptrdiff_t r = 0; to->p != NULL && r < u->p->R; r++, from += W) {
        double *at = to->sum + (u->k0 + r) * to->k + u->cut.d0;
        for (ptrdiff_t j = 0; j < W; j += VW) {
            if (whole) out_sum(at + j, 1, VW, vload(from + j));
            else out_add(u->p->x, to, 0, u->k0 + r, u->cut.d0 + j, vload(from + j));
        }
    }
}

static void chain_z(const unit *u, track g, const grads *all, real *lane)
{
    const scan      *p = u->p;
    VEC_ALIGNED real g_c[SCAN_TILE * VW];
    for (ptrdiff_t j = 0; j < u->cut.W; j += VW) {
        if (p->R == 1) chain_column(u, g, 1, j, lane, g_c);
        else chain_column(u, g, SCAN_ROWS, j, lane, g_c);
    }
    if (p->c != NULL) K_(lcsm_scan_add_tile)(u, out_like(p->x, all, p->c), g_c);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* The gradient of z: of log o itself, times the slope of a gate, or what the sweep wrote. */
static track gradient_of_z(const unit *u, track g, real *dz)
{
    ptrdiff_t size = u->p->R * u->cut.W;
    if (u->p->x->gen == LCSM_GEN_EXP) return g;
    if (u->p->x->gen == LCSM_GEN_GATE)
        for (ptrdiff_t t = 0; t < u->at->n; t++)
            for (ptrdiff_t j = 0; j < size; j += VW) {
                real *q = dz + t * size + j;
                vstore(q, vload(q) * vload(g.p + t * g.t + j));
            }
    return (track){dz, size};
}

void K_(lcsm_scan_chain)(const unit *u, const grads *g, real *slots, real *dz, const lanes *l)
{
    const scan       *p    = u->p;
    const seq        *x    = p->x;
    ptrdiff_t         size = p->R * u->cut.W;
    track             mag = {slots, size * p->planes}, phase = {slots + size, size * p->planes};
    const view *const mags[]     = {&x->row, &x->col, &x->full};
    const view *const phases[]   = {&x->row_phase, &x->col_phase, &x->full_phase};
    const out *const  g_mags[]   = {&g->row, &g->col, &g->full};
    const out *const  g_phases[] = {&g->row_phase, &g->col_phase, &g->full_phase};
    bool              z          = g->u.p != NULL || g->w.p != NULL;

    chain_factors(u, mag, mags, g_mags, z && p->z == Z_STILL, g, l->row);
    if (p->planes == 2) chain_factors(u, phase, phases, g_phases, false, g, l->row_phase);
    if (!z || p->z <= Z_STILL) return;
    track g_z = gradient_of_z(u, mag, dz);
    if (p->z == Z_ANY) chain_any(u, g_z, g);
    else chain_z(u, g_z, g, l->a);
}

void K_(lcsm_scan_fold)(const unit *u, const out *g, int part, real factor, real *lane)
{
    if (g->p == NULL || lane == NULL) return;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < u->p->R; r++, lane += VW) {
            ptrdiff_t k = u->k0 + r;
            if (k < u->p->x->K) {
                out  o   = out_part(g, part);
                real sum = vsum(vload(lane)) * factor, *to = o.p + (u->at->t0 + t) * o.t + k * o.k;
                bool set = g->set && u->cut.d0 == 0 && (g->k != 0 || k == 0);
                if (o.sum != NULL) o.sum[k * o.k] += (double)sum;
                else *to = (set ? 0 : *to) + sum;
            }
            vstore(lane, vzero());
        }
}
