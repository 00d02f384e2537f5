/*
 * eos_scan_still.c - the product of the static factors of o, and what its rounding leaves out.
 *
 * A static o that is rounded to float is wrong by up to 3e-8 in the same direction at every step.
 * Where it is close to 1 the memory remembers thousands of steps, and the error grows to thousands
 * of times that. So o is evaluated in double here, and besides its float o_hi the tiles keep
 * drift = o / o_hi - 1. After a block of n steps the memory is multiplied by 1 + n drift: to first
 * order that is what n exact steps would have given it. What came in during the block has seen
 * fewer of them, and a small o leaves nothing else: drift is taken times |o|^16, of half a block.
 */
#include "kernel/eos/scan/eos_scan_tile.h"

#if !LCSM_REAL_IS_DOUBLE

/* ---- double, VW lanes -------------------------------------------------------------------- */

typedef int64_t wide_bits __attribute__((vector_size(VW * sizeof(double))));

static const double SHIFT = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */

#define WIDE_SELECT(mask, a, b) ((wvec)(((wide_bits)(a) & (mask)) | ((wide_bits)(b) & ~(mask))))

/* exp(x) for x < 700; below -120 it is exp(-120), which is 0 as a float. Relative error 5e-11. */
VEC_INLINE void wide_exp(const wvec *x, wvec *y)
{
    wvec c = WIDE_SELECT(*x > -120.0, *x, (wvec){0} - 120.0);
    wvec t = c * 1.4426950408889634 + SHIFT;
    wvec n = t - SHIFT;
    wvec r = c - n * 0.6931471805599453;
    wvec q = r * 1.99222009372e-4 + 1.39462167766e-3;
    q      = q * r + 8.33325373043e-3;
    q      = q * r + 4.16662672648e-2;
    q      = q * r + 0.166666669552;
    q      = q * r + 0.500000007908;
    q      = q * r + 0.999999999974;
    *y     = (wvec)((wide_bits)(q * r + 1.0) + ((wide_bits)t << 52));
}

/* Absolute error 5e-12 for |x| <= 1e5. */
VEC_INLINE void wide_sincos(const wvec *x, wvec *s, wvec *c)
{
    wvec      t    = *x * 0.6366197723675814 + SHIFT;
    wide_bits quad = (wide_bits)t;
    wvec      n    = t - SHIFT;
    wvec      r    = *x - n * 1.5707963267948966;
    wvec      z    = r * r;
    wvec      sn   = z * 2.7173532482e-6 - 1.98392031455e-4;
    sn             = (((sn * z + 8.33332878606e-3) * z - 0.166666666316) * z + 0.999999999996) * r;
    wvec cs        = z * -2.71734838061e-7 + 2.47989295875e-5;
    cs             = ((cs * z - 1.38888803983e-3) * z + 4.1666666544e-2) * z - 0.499999999994;
    cs             = cs * z + 1.0;
    wide_bits swap = -(quad & 1);
    *s             = (wvec)((wide_bits)WIDE_SELECT(swap, cs, sn) ^ ((quad & 2) << 62));
    *c             = (wvec)((wide_bits)WIDE_SELECT(swap, sn, cs) ^ (((quad + 1) & 2) << 62));
}

#endif

/* ---- the tiles --------------------------------------------------------------------------- */

static vec load_still(const scan *p, const view *v, ptrdiff_t k, ptrdiff_t d)
{
    return is_still(v) ? view_load(p->x, v, 0, k, d) : vzero();
}

/* log |o| and the phase of the static factors at one place. */
static void log_still(const scan *p, ptrdiff_t k, ptrdiff_t d, vec *log, vec *phase)
{
    const seq *x = p->x;
    *log =
        load_still(p, &x->row, k, d) + load_still(p, &x->col, k, d) + load_still(p, &x->full, k, d);
    *phase = load_still(p, &x->row_phase, k, d) + load_still(p, &x->col_phase, k, d)
           + load_still(p, &x->full_phase, k, d);
    if (p->z != Z_STILL) return;
    vec z = view_load(x, &x->u, 0, k, d) * view_load(x, &x->w, 0, k, d);
    *log += x->gen == LCSM_GEN_EXP ? z : vlog_sigmoid(z) / x->tau;
}

#if LCSM_REAL_IS_DOUBLE

static void o_still(vec log, vec phase, bool turns, vec o[2], vec drift[2])
{
    vec s = vzero(), c = vset1(1);
    if (turns) vsincos(phase, &s, &c);
    o[RE]     = vexp(log) * c;
    o[IM]     = vexp(log) * s;
    drift[RE] = drift[IM] = vzero();
}

#else

/* o / o_hi - 1 = (o - o_hi) conj(o_hi) / |o_hi|^2, times |o|^16 if that is less than 1; 0 where
 * o_hi is. */
static void o_still(vec log, vec phase, bool turns, vec o[2], vec drift[2])
{
    wvec x = vwiden(log), phi = vwiden(phase), mag, s = {0}, c = s + 1.0;
    wide_exp(&x, &mag);
    if (turns) wide_sincos(&phi, &s, &c);
    wvec re = mag * c, im = mag * s;
    o[RE]   = vnarrow(re);
    o[IM]   = vnarrow(im);
    wvec hr = vwiden(o[RE]), hi = vwiden(o[IM]), size = hr * hr + hi * hi;
    wvec dr = re - hr, di = im - hi;
    wvec four = size * size * size * size, kept = four * four; /* |o|^16 */
    kept       = WIDE_SELECT(kept < 1.0, kept, (wvec){0} + 1.0);
    wvec scale = WIDE_SELECT(size > 1e-30, kept / (size + 1e-40), (wvec){0});
    drift[RE]  = vnarrow((dr * hr + di * hi) * scale);
    drift[IM]  = vnarrow((di * hr - dr * hi) * scale);
}

#endif

#if LCSM_REAL_IS_DOUBLE

void K_(lcsm_still_exp)(const double *log, double *o)
{
    for (int j = 0; j < VW; j++) o[j] = exp(log[j]);
}

/* The products l log and l phase with the digits that their rounding cuts off. */
void K_(lcsm_still_power)(const double *log, const double *phase, double l, vec o[2])
{
    for (int j = 0; j < VW; j++) {
        double x = l * log[j], phi = l * phase[j];
        double dx = isfinite(x) ? fma(l, log[j], -x) : 0, dphi = fma(l, phase[j], -phi);
        double mag = exp(x) * (1 + dx);
        o[RE][j]   = mag * (cos(phi) - sin(phi) * dphi);
        o[IM][j]   = mag * (sin(phi) + cos(phi) * dphi);
    }
}

#else

void K_(lcsm_still_exp)(const double *log, double *o)
{
    wvec x, y;
    memcpy(&x, log, sizeof x);
    wide_exp(&x, &y);
    memcpy(o, &y, sizeof y);
}

void K_(lcsm_still_power)(const double *log, const double *phase, double l, vec o[2])
{
    wvec x, phi, mag, s, c;
    memcpy(&x, log, sizeof x);
    memcpy(&phi, phase, sizeof phi);
    x   = x * l;
    phi = phi * l;
    wide_exp(&x, &mag);
    wide_sincos(&phi, &s, &c);
    wvec re = mag * c, im = mag * s;
    o[RE] = vnarrow(re);
    o[IM] = vnarrow(im);
}

#endif

void K_(lcsm_scan_pack_still)(const scan *p)
{
    for (ptrdiff_t d0 = 0; d0 < p->x->D;) {
        strip cut = strip_at(p, d0);
        for (ptrdiff_t k = 0; k < p->Kp; k++)
            for (ptrdiff_t j = 0; j < cut.W; j += VW) {
                ptrdiff_t at = d0 * p->Kp + k * cut.W + j;
                vec       log, phase, o[2], drift[2];
                log_still(p, k, d0 + j, &log, &phase);
                o_still(log, phase, p->planes == 2, o, drift);
                for (int c = 0; c < p->planes; c++) {
                    vstore(p->o_tiles[c] + at, p->x->bf16 && !p->token ? vbf16(o[c]) : o[c]);
                    if (p->drift_tiles[c] != NULL) vstore(p->drift_tiles[c] + at, drift[c]);
                }
            }
        d0 += cut.W;
    }
}

void K_(lcsm_scan_correct)(const unit *u, bool conjugate, real *tile, ptrdiff_t m_k)
{
    const scan *p     = u->p;
    const real *drift = p->drift_tiles[RE];
    ptrdiff_t   W = u->cut.W, at = u->cut.d0 * p->Kp + u->k0 * W;
    real        n = (real)u->at->n;
    if (drift == NULL) return;
    for (ptrdiff_t r = 0; r < p->R; r++)
        for (ptrdiff_t j = 0; j < W; j += VW) {
            ptrdiff_t place = at + r * W + j;
            real     *re = tile + r * m_k + j, *im = re + p->R * W;
            vec       a = vload(re), f = vload(drift + place) * n;
            if (p->planes == 1) {
                vstore(re, a + a * f);
                continue;
            }
            vec b = vload(im), g = vload(p->drift_tiles[IM] + place) * (conjugate ? -n : n);
            vstore(re, a + (a * f - b * g));
            vstore(im, b + (b * f + a * g));
        }
}
