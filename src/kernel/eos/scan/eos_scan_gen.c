/*
 * eos_scan_gen.c - the oscillation of a tile over the steps of a block.
 *
 * The buffer (n, R, W) is filled in stages, one for each kind of factor that changes with time:
 * the first writes, the others multiply. The static factors come last, as one tile.
 */
#include "kernel/eos/scan/eos_scan_tile.h"

/* ---- the generated factor ---------------------------------------------------------------- */

/*
 * o = sigmoid(z)^(1/tau) = 2^((min(z,0) - log(1 + 2^-|z|)) / tau) with z times log2(e), and
 * d log o / dz = sigmoid(-z) / tau: in float 1 / (1 + exp(-z)) is 0 below z = -88, its logarithm
 * stays finite. The three functions are three passes over the tile: in one, the chain of 25
 * dependent operations would leave the arithmetic units idle.
 */
VEC_INLINE vec gate_log(vec z, vec a, real inv_tau)
{
    const real log2e = (real)1.4426950408889634;
    return vmin(z, vzero()) * inv_tau - vlog1p(a) * (log2e * inv_tau);
}

VEC_INLINE vec gate_slope(vec z, vec a, real inv_tau)
{
    return vselect(z > 0, a, vset1(1)) * (vrcp(a + 1) * inv_tau);
}

vec K_(lcsm_scan_slope)(const seq *x, vec z)
{
    return x->gen == LCSM_GEN_GATE ? gate_slope(z, vexp(-vabs(z)), 1 / x->tau) : vset1(1);
}

/* What a pass does with z and with the number that the buffer holds. */
enum { EXP, COMPLEMENT, GATE_EXP, GATE_LOG, GATE_LOG_DZ };

/* P vector columns of a row through time: z = a c, b c, a b, or what z_any holds. */
VEC_INLINE void pass_columns(const unit *u, int pass, int z_from, ptrdiff_t P, ptrdiff_t r,
                             ptrdiff_t j, const real *z_any, real *dz)
{
    const bool by_row = z_from == Z_AC || z_from == Z_AB, by_col = z_from == Z_BC || z_from == Z_AB;
    const ptrdiff_t n = u->at->n, step = u->p->R * u->cut.W, a_t = u->a.t, b_t = u->b.t;
    const ptrdiff_t at      = r * u->cut.W + j;
    const real      inv_tau = 1 / u->p->x->tau;
    const track     next    = pass < GATE_LOG ? ahead_turn(u->next) : (track){NULL, 0};
    const real     *a = by_row ? u->a.p + r : NULL, *b = by_col ? u->b.p + j : NULL;
    real           *o = u->p->o_buf[RE] + at;
    vec             c[2];
    SCAN_EACH(v, P) c[v] = z_from == Z_AC || z_from == Z_BC ? vload(u->c + at + v * VW) : vzero();
    for (ptrdiff_t t = 0; t < n; t++, o += step) {
        if (pass < GATE_LOG && next.p != NULL) ask_soon(next.p + t * next.t);
        SCAN_EACH(v, P)
        {
            vec   z;
            real *q = o + v * VW;
            if (z_from == Z_AC) z = vset1(a[t * a_t]) * c[v];
            else if (z_from == Z_BC) z = vload(b + t * b_t + v * VW) * c[v];
            else if (z_from == Z_AB) z = vset1(a[t * a_t]) * vload(b + t * b_t + v * VW);
            else z = vload(z_any + t * step + at + v * VW);
            if (pass == EXP) vstore(q, vexp2(z));
            else if (pass == COMPLEMENT) vstore(q, 1 - z);
            else if (pass == GATE_EXP) vstore(q, vexp2(-vabs(z)));
            else {
                vec e = vload(q);
                vstore(q, gate_log(z, e, inv_tau));
                if (pass == GATE_LOG_DZ)
                    vstore(dz + t * step + at + v * VW, gate_slope(z, e, inv_tau));
            }
        }
    }
}

VEC_INLINE void pass_tile(const unit *u, int pass, int z_from, const real *z_any, real *dz)
{
    for (ptrdiff_t r = 0; r < u->p->R; r++) {
        if (u->cut.NV == 1) pass_columns(u, pass, z_from, 1, r, 0, z_any, dz);
        else
            for (ptrdiff_t j = 0; j < u->cut.W; j += 2 * VW)
                pass_columns(u, pass, z_from, 2, r, j, z_any, dz);
    }
}

typedef void pass_fn(const unit *u, const real *z_any, real *dz);

#define PASS(pass, z)                                                                              \
    static void pass##_##z(const unit *u, const real *z_any, real *dz)                             \
    {                                                                                              \
        pass_tile(u, pass, z, z_any, dz);                                                          \
    }
#define PASSES(pass) PASS(pass, Z_AC) PASS(pass, Z_BC) PASS(pass, Z_AB) PASS(pass, Z_ANY)
PASSES(EXP)
PASSES(COMPLEMENT)
PASSES(GATE_EXP)
PASSES(GATE_LOG)
PASSES(GATE_LOG_DZ)

#define ROW(pass)                                                                                  \
    [pass] = {                                                                                     \
        [Z_AC] = pass##_Z_AC, [Z_BC] = pass##_Z_BC, [Z_AB] = pass##_Z_AB, [Z_ANY] = pass##_Z_ANY}
static pass_fn *const PASS_OF[][Z_ANY + 1] = {ROW(EXP), ROW(COMPLEMENT), ROW(GATE_EXP),
                                              ROW(GATE_LOG), ROW(GATE_LOG_DZ)};

/* z of operands with other axes, by their strides. */
static void any_z(const unit *u, real *o)
{
    const seq *x = u->p->x;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < u->p->R; r++)
            for (ptrdiff_t j = 0; j < u->cut.W; j += VW, o += VW) {
                ptrdiff_t step = u->at->t0 + t, k = u->k0 + r, d = u->cut.d0 + j;
                vstore(o, view_load(x, &x->u, step, k, d) * view_load(x, &x->w, step, k, d)
                              * u->p->z_factor);
            }
}

static void exp2_pass(real *o, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j += VW) vstore(o + j, vexp2(vload(o + j)));
}

static void generated(const unit *u, real *dz)
{
    const scan *p = u->p;
    if (p->z == Z_ANY) any_z(u, p->z_any);
    if (p->x->gen == LCSM_GEN_EXP) {
        PASS_OF[EXP][p->z](u, p->z_any, dz);
    } else if (p->x->gen == LCSM_GEN_COMPLEMENT) {
        PASS_OF[COMPLEMENT][p->z](u, p->z_any, dz);
    } else {
        PASS_OF[GATE_EXP][p->z](u, p->z_any, dz);
        PASS_OF[dz == NULL ? GATE_LOG : GATE_LOG_DZ][p->z](u, p->z_any, dz);
        exp2_pass(p->o_buf[RE], u->at->n * p->R * u->cut.W);
    }
}

/* ---- the other factors ------------------------------------------------------------------- */

/* Row and column factors, which are numbers already. */
static void outer_stage(const unit *u, bool started, real *o)
{
    const ptrdiff_t W = u->cut.W, R = u->p->R;
    for (ptrdiff_t t = 0; t < u->at->n; t++, o += R * W)
        for (ptrdiff_t j = 0; j < W; j += VW) {
            vec f = u->f.p == NULL ? vset1(1) : vload(u->f.p + t * u->f.t + j);
            for (ptrdiff_t r = 0; r < R; r++) {
                vec v = u->g.p == NULL ? f : f * u->g.p[t * u->g.t + r];
                vstore(o + r * W + j, started ? v * vload(o + r * W + j) : v);
            }
        }
}

/* A row of the tile of a full o, where all of it exists. The argument of 2^x is rounded, which
 * costs |x| 2^-24 of a factor that is itself 2^x: next to nothing of what a memory holds. */
VEC_INLINE void full_row(const real *from, ptrdiff_t next, ptrdiff_t W, bool started, real *o)
{
    const real log2e = (real)1.4426950408889634;
    for (ptrdiff_t j = 0; j < W; j += VW) {
        vec f = vexp2(vload(from + j) * log2e);
        vstore(o + j, started ? f * vload(o + j) : f);
        ask_soon(from + next + j);
    }
}

/* A full o for each token streams through memory once; the next rows are asked for early. */
static void full_stage(const unit *u, bool started, real *o)
{
    const seq  *x    = u->p->x;
    const view *full = &x->full;
    ptrdiff_t   W = u->cut.W, R = u->p->R;
    bool        whole = u->k0 + R <= x->K && u->cut.cols == W && full->d == 1;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < R; r++, o += W) {
            ptrdiff_t   step = u->at->t0 + t, k = u->k0 + r;
            const real *from = full->p + step * full->t + k * full->k + u->cut.d0;
            if (whole && started) full_row(from, R * full->k, W, true, o);
            else if (whole) full_row(from, R * full->k, W, false, o);
            else
                for (ptrdiff_t j = 0; j < W; j += VW) {
                    vec f = vexp(view_load(x, full, step, k, u->cut.d0 + j));
                    vstore(o + j, started ? f * vload(o + j) : f);
                }
        }
}

/* The phases of a token, summed, into (cos, sin) times the magnitudes that o[RE] holds. */
static void phase_stage(const unit *u, real *const o[2], bool started)
{
    const seq *x = u->p->x;
    ptrdiff_t  W = u->cut.W, R = u->p->R;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t r = 0; r < R; r++)
            for (ptrdiff_t j = 0; j < W; j += VW) {
                ptrdiff_t step = u->at->t0 + t, k = u->k0 + r, d = u->cut.d0 + j;
                ptrdiff_t at    = (t * R + r) * W + j;
                vec       phase = vzero(), s, c;
                if (u->phase.p != NULL) phase += u->phase.p[t * u->phase.t + r];
                if (is_token(&x->col_phase)) phase += view_load(x, &x->col_phase, step, k, d);
                if (is_token(&x->full_phase)) phase += view_load(x, &x->full_phase, step, k, d);
                vsincos(phase, &s, &c);
                vec mag = started ? vload(o[RE] + at) : vset1(1);
                vstore(o[RE] + at, mag * c);
                vstore(o[IM] + at, mag * s);
            }
}

/* Times the static factors. Without phases of tokens o[RE] still holds magnitudes. */
static void still_stage(const unit *u, real *const o[2])
{
    const scan *p    = u->p;
    ptrdiff_t   size = p->R * u->cut.W, at = u->cut.d0 * p->Kp + u->k0 * u->cut.W;
    for (ptrdiff_t t = 0; t < u->at->n; t++)
        for (ptrdiff_t j = 0; j < size; j += VW) {
            real *q  = o[RE] + t * size + j;
            vec   re = vload(q), s = vload(p->o_tiles[RE] + at + j);
            if (p->planes == 1) {
                vstore(q, re * s);
                continue;
            }
            vec si = vload(p->o_tiles[IM] + at + j);
            vec im = p->token_phase ? vload(o[IM] + t * size + j) : vzero();
            vstore(q, re * s - im * si);
            vstore(o[IM] + t * size + j, re * si + im * s);
        }
}

static void fill(real *o, ptrdiff_t n, real value)
{
    for (ptrdiff_t j = 0; j < n; j += VW) vstore(o + j, vset1(value));
}

/* Every factor but the generated one; started: o[RE] already holds that one. */
static void other_factors(const unit *u, real *const o[2], bool started)
{
    const scan *p    = u->p;
    const seq  *x    = p->x;
    ptrdiff_t   size = u->at->n * p->R * u->cut.W;
    if (is_token(&x->full)) full_stage(u, started, o[RE]), started = true;
    if (u->f.p != NULL || u->g.p != NULL) outer_stage(u, started, o[RE]), started = true;
    if (p->token_phase) phase_stage(u, o, started), started = true;
    if (!started) fill(o[RE], size, 1);
    if (p->still_factor) still_stage(u, o);
    else if (p->planes == 2 && !p->token_phase) fill(o[IM], size, 0);
}

void K_(lcsm_scan_gen)(const unit *u, real *dz)
{
    bool started = u->p->z > Z_STILL;
    if (started) generated(u, dz);
    other_factors(u, u->p->o_buf, started);
    if (u->p->x->bf16) round_all(u->p->o_buf[RE], u->at->n * u->p->R * u->cut.W, 1);
}

void K_(lcsm_scan_gen_other)(const unit *u, real *const to[2])
{
    other_factors(u, to, false);
}
