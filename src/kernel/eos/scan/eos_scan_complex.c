/* eos_scan_complex.c - the steps of a complex memory, tiles of R rows and one vector. */
#include "kernel/eos/scan/eos_scan_tile.h"

VEC_INLINE vec part(const track *row, const real *tile, ptrdiff_t t, ptrdiff_t r)
{
    return tile != NULL ? vload(tile + r * VW) : vset1(row->p[t * row->t + r]);
}

VEC_INLINE void run(const unit *u, ptrdiff_t R, real *tile)
{
    vec re[SCAN_ROWS], im[SCAN_ROWS];
    for (ptrdiff_t r = 0; r < R; r++) {
        re[r] = vload(tile + r * VW);
        im[r] = vload(tile + (R + r) * VW);
    }
    for (ptrdiff_t t = 0; t < u->at->n; t++) {
        real       *y  = u->y.p + t * u->y.t;
        vec         in = vload(u->i.p + t * u->i.t), sum = is_fresh(u, &u->y) ? vzero() : vload(y);
        const real *o_re = u->o[RE].p + t * u->o[RE].t, *o_im = u->o[IM].p + t * u->o[IM].t;
        for (ptrdiff_t r = 0; r < R; r++) {
            vec a = vload(o_re + r * VW), b = vload(o_im + r * VW);
            vec m = a * re[r] - b * im[r] + part(&u->e[RE], u->E[RE], t, r) * in;
            im[r] = a * im[r] + b * re[r] + part(&u->e[IM], u->E[IM], t, r) * in;
            re[r] = m;
            sum += part(&u->s[RE], u->S[RE], t, r) * m;
            sum -= part(&u->s[IM], u->S[IM], t, r) * im[r];
        }
        vstore(y, sum);
    }
    for (ptrdiff_t r = 0; r < R; r++) {
        vstore(tile + r * VW, re[r]);
        vstore(tile + (R + r) * VW, im[r]);
    }
}

void K_(lcsm_scan_run_complex)(const unit *u, real *m, ptrdiff_t m_k)
{
    (void)m_k; /* a padded tile, always */
    if (u->p->R == 1) run(u, 1, m);
    else run(u, SCAN_ROWS, m);
}

VEC_INLINE void recall(const unit *u, const sweep *w, ptrdiff_t R)
{
    const ptrdiff_t im = R * VW;
    real           *m  = w->m;
    for (ptrdiff_t t = 0; t < u->at->n; t++, m += 2 * im) {
        vec         in   = vload(u->i.p + t * u->i.t);
        const real *o_re = u->o[RE].p + t * u->o[RE].t, *o_im = u->o[IM].p + t * u->o[IM].t;
        for (ptrdiff_t r = 0; r < R; r++) {
            vec a = vload(o_re + r * VW), b = vload(o_im + r * VW);
            vec re = vload(m + r * VW), i = vload(m + im + r * VW);
            vstore(m + 2 * im + r * VW, a * re - b * i + part(&u->e[RE], u->E[RE], t, r) * in);
            vstore(m + 3 * im + r * VW, a * i + b * re + part(&u->e[IM], u->E[IM], t, r) * in);
        }
    }
}

void K_(lcsm_scan_recall_complex)(const unit *u, const sweep *w)
{
    if (u->p->R == 1) recall(u, w, 1);
    else recall(u, w, SCAN_ROWS);
}

VEC_INLINE void add_to(real *p, vec x)
{
    vstore(p, vload(p) + x);
}

/* Where x belongs: the lanes of a token or the sum over steps. */
VEC_INLINE void keep(real *lane, real *sum, ptrdiff_t at, ptrdiff_t r, vec x)
{
    add_to(lane != NULL ? lane + at : sum + r * VW, x);
}

/* One row at one step. G is the gradient of m_t on entry, of m_{t-1} on return. */
VEC_INLINE void sweep_row(const unit *u, const sweep *w, ptrdiff_t R, ptrdiff_t t, ptrdiff_t r,
                          vec gy, vec in, vec *g_i, vec G[2])
{
    const ptrdiff_t im = R * VW, at = (t * R + r) * VW;
    real           *m = w->m + 2 * t * im + r * VW, *next = m + 2 * im;
    vec             re = vload(m), i = vload(m + im);
    vec             a = vload(u->o[RE].p + t * u->o[RE].t + r * VW);
    vec             b = vload(u->o[IM].p + t * u->o[IM].t + r * VW);
    G[RE] += part(&u->s[RE], u->S[RE], t, r) * gy;
    G[IM] -= part(&u->s[IM], u->S[IM], t, r) * gy;
    keep(w->s_lanes[RE], w->s_sum[RE], at, r, vload(next) * gy);
    keep(w->s_lanes[IM], w->s_sum[IM], at, r, -(vload(next + im) * gy));
    keep(w->e_lanes[RE], w->e_sum[RE], at, r, G[RE] * in);
    keep(w->e_lanes[IM], w->e_sum[IM], at, r, G[IM] * in);
    *g_i += part(&u->e[RE], u->E[RE], t, r) * G[RE] + part(&u->e[IM], u->E[IM], t, r) * G[IM];
    if (w->g_z != NULL) {
        vec f = vload(w->f[RE] + at), g = vload(w->f[IM] + at);
        vstore(w->g_z + at, -((f * re - g * i) * G[RE] + (f * i + g * re) * G[IM]));
    }
    /* conj(o m) G and conj(o) G */
    vec x = a * re - b * i, y = a * i + b * re;
    vstore(next, x * G[RE] + y * G[IM]);
    vstore(next + im, x * G[IM] - y * G[RE]);
    vec P = a * G[RE] + b * G[IM];
    G[IM] = a * G[IM] - b * G[RE];
    G[RE] = P;
}

VEC_INLINE void sweep_tile(const unit *u, const sweep *w, ptrdiff_t R)
{
    vec G[SCAN_ROWS][2];
    for (ptrdiff_t r = 0; r < R; r++)
        for (int c = 0; c < 2; c++) {
            G[r][c] = vload(w->G + (c * R + r) * VW);
            if (w->e_sum[c] != NULL) vstore(w->e_sum[c] + r * VW, vzero());
            if (w->s_sum[c] != NULL) vstore(w->s_sum[c] + r * VW, vzero());
        }
    for (ptrdiff_t t = u->at->n - 1; t >= 0; t--) {
        real *to = u->g_i.p + t * u->g_i.t;
        vec   gy = vload(u->g_y.p + t * u->g_y.t), in = vload(u->i.p + t * u->i.t);
        vec   g_i = is_fresh(u, &u->g_i) ? vzero() : vload(to);
        for (ptrdiff_t r = 0; r < R; r++) sweep_row(u, w, R, t, r, gy, in, &g_i, G[r]);
        vstore(to, g_i);
    }
    for (ptrdiff_t r = 0; r < R; r++)
        for (int c = 0; c < 2; c++) vstore(w->G + (c * R + r) * VW, G[r][c]);
}

void K_(lcsm_scan_sweep_complex)(const unit *u, const sweep *w)
{
    if (u->p->R == 1) sweep_tile(u, w, 1);
    else sweep_tile(u, w, SCAN_ROWS);
}
