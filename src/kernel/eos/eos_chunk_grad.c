/*
 * eos_chunk_grad.c - from gradients in the frame of a chunk to those of the operands.
 *
 * The gradient of the log decay of step r is the sum of the flows that cross it, each the
 * product of a term of the forward pass with its gradient:
 *
 *     from M to readers at or after r        sum_{t >= r} q_t . (z_t M^T)
 *     between steps s < r <= t               sum_{t >= r} (q_t . (g_p K)_t - k_t . (g_p^T q)_t)
 *     from steps before r to the end         sum_{s < r} k_s . (U G^T)_s
 *     from M to the end                      M . G
 *
 * and so a sum from the last step down plus one from the first step up. Nothing large cancels:
 * what a step reads from itself crosses no decay and is in none of the terms, so strong decays
 * have exact gradients too. For columns the dot products run over k instead; for phases the real
 * part of a product with a conjugate becomes the imaginary part ("cross").
 */
#include "kernel/eos/eos_chunk_bwd.h"

typedef R_(lcsm_out)     out;
typedef R_(lcsm_eos_seq) seq;
typedef lcsm_chunk_back  back;

/* ---- adding to the gradients ------------------------------------------------------------ */

static void add_lanes(real *p, ptrdiff_t stride, ptrdiff_t n, const real *a)
{
    if (stride != 1)
        for (ptrdiff_t j = 0; j < n; j++) p[j * stride] += a[j];
    else
        for (ptrdiff_t j = 0; j < n; j += VW)
            if (n - j >= VW) vstore(p + j, vload(p + j) + vload(a + j));
            else vstore_n(p + j, vload_n(p + j, n - j) + vload(a + j), n - j);
}

/* Rows 1 .. n - 1 are added to row 0. */
static void sum_rows(ptrdiff_t n, ptrdiff_t width, real *a, ptrdiff_t ar)
{
    for (ptrdiff_t r = 1; r < n; r++)
        for (ptrdiff_t j = 0; j < width; j += VW)
            vstore(a + j, vload(a + j) + vload(a + r * ar + j));
}

/* out[t + r][j] += a[r][j] for r < n, j < width. Axes that out has not are summed; the rows of a
 * are padded to vectors and spoiled. */
static void add_steps(const out *o, ptrdiff_t t, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t width,
                      real *a, ptrdiff_t ar)
{
    if (o->p == NULL) return;
    if (o->t == 0) {
        sum_rows(n, width, a, ar);
        n = 1;
    }
    for (ptrdiff_t r = 0; r < n; r++) add_lanes(o->p + (t + r) * o->t, stride, width, a + r * ar);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Lanes of x . y over the planes, or of their cross product. half is 0 for a real memory. */
VEC_INLINE vec pair(const real *x, const real *y, ptrdiff_t half, bool cross)
{
    if (cross) return vload(x) * vload(y + half) - vload(x + half) * vload(y);
    vec v = vload(x) * vload(y);
    return half == 0 ? v : v + vload(x + half) * vload(y + half);
}

/* Log gradients of all steps and lanes k .. k + VW - 1, into b->log. */
static void log_lanes(back *b, ptrdiff_t k, bool cross)
{
    const lcsm_chunk *c    = &b->c;
    ptrdiff_t         half = c->x->is_complex ? c->Kp : 0;
    vec               sum  = vload(b->carry_k + (cross ? c->Kp : 0) + k);
    for (ptrdiff_t r = 0; r < c->n; r++) {
        ptrdiff_t at = r * c->Rp + k;
        vstore(b->log + r * c->Kp + k, sum);
        sum += pair(c->E + at, b->end + at, half, cross);
    }
    sum = vzero();
    for (ptrdiff_t r = c->n - 1; r >= 0; r--) {
        ptrdiff_t at = r * c->Rp + k;
        real     *to = b->log + r * c->Kp + k;
        for (int j = 0; j < b->readers; j++) {
            vec v = pair(b->read[j].q + at, b->read[j].g_q + at, half, cross);
            sum += cross ? -v : v;
        }
        sum -= pair(c->E + at, b->inner + at, half, cross);
        vstore(to, vload(to) + sum);
    }
}

static void log_grad(back *b, const out *o, bool cross)
{
    const lcsm_chunk *c = &b->c;
    if (o->p == NULL) return;
    for (ptrdiff_t k = 0; k < c->K; k += VW) log_lanes(b, k, cross);
    add_steps(o, c->t, c->n, o->k, c->K, b->log, c->Kp);
}

/* g_q and g_k with the steps that read themselves. */
static void complete(back *b)
{
    const lcsm_chunk *c = &b->c;
    real             *g = b->read[0].g_q;
    for (ptrdiff_t r = 0; r < c->n; r++) {
        real diag = b->read[0].g_diag[r];
        for (ptrdiff_t at = r * c->Rp; at < (r + 1) * c->Rp; at += VW) {
            vstore(g + at, vload(g + at) + vload(c->E + at) * diag);
            vstore(b->end + at,
                   vload(b->end + at) + vload(b->inner + at) + vload(c->Q + at) * diag);
        }
    }
}

/* a = a * by * factor, (C, Rp) by (C, Kp), in place; by NULL is 1. */
static void scale_rows(const lcsm_chunk *c, real *a, const real *by, real factor)
{
    if (by == NULL && factor == 1) return;
    for (ptrdiff_t r = 0; r < c->n; r++)
        for (ptrdiff_t k = 0; k < c->Rp; k += VW) {
            real *p = a + r * c->Rp + k;
            vec   x = vload(p) * factor;
            vstore(p, by == NULL ? x : x * vload(by + r * c->Kp + (k < c->Kp ? k : k - c->Kp)));
        }
}

/* (re, im) = (re, im) * exp(i F), then im = sign * im, in place. */
static void turn_rows(const lcsm_chunk *c, real *a, real sign)
{
    for (ptrdiff_t r = 0; r < c->n; r++)
        for (ptrdiff_t k = 0; k < c->Kp; k += VW) {
            real *re = a + r * c->Rp + k, *im = re + c->Kp;
            vec   cs = vload(c->cos + r * c->Kp + k), sn = vload(c->sin + r * c->Kp + k);
            vec   x = vload(re), y = vload(im);
            vstore(re, x * cs - y * sn);
            vstore(im, (x * sn + y * cs) * sign);
        }
}

static void add_operand(const lcsm_chunk *c, const out *o, bool complex, real *a)
{
    out imag = *o;
    add_steps(o, c->t, c->n, o->k, c->K, a, c->Rp);
    if (!complex || o->p == NULL) return;
    imag.p++;
    add_steps(&imag, c->t, c->n, o->k, c->K, a + c->Kp, c->Rp);
}

void K_(lcsm_chunk_grad_rows)(back *b)
{
    const lcsm_chunk *c = &b->c;
    const seq        *x = c->x;
    real             *q = b->read[0].g_q;
    log_grad(b, &b->g->row, false);
    log_grad(b, &b->g->row_phase, true);
    complete(b);

    scale_rows(c, q, c->row.up, x->scale);
    scale_rows(c, b->end, c->row.down, 1);
    if (x->is_complex) {
        turn_rows(c, q, -1);
        turn_rows(c, b->end, 1);
    }
    add_operand(c, &b->g->s, x->complex_s, q);
    add_operand(c, &b->g->e, x->complex_e, b->end);
    if (b->readers < 2) return;
    scale_rows(c, b->read[1].g_q, c->row.up, -1);
    add_operand(c, &b->g->erase, false, b->read[1].g_q);
}

/* ---- columns ---------------------------------------------------------------------------- */

/* Column gradients of one panel, left in b->flow. */
static void column_log(back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c = &b->c;
    const real       *V = b->V + panel * c->C * EOS_PANEL;
    for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
        vec sum = vzero();
        for (ptrdiff_t r = c->n - 1; r >= 0; r--) {
            ptrdiff_t at = r * EOS_PANEL + j;
            sum += vload(b->flow + at) - vload(V + at) * vload(b->v_inner + at);
            vstore(b->flow + at, sum);
        }
        sum = vload(b->carry_d + panel * EOS_PANEL + j);
        for (ptrdiff_t r = 0; r < c->n; r++) {
            ptrdiff_t at = r * EOS_PANEL + j;
            vstore(b->flow + at, vload(b->flow + at) + sum);
            sum += vload(V + at) * vload(b->v_end + at);
        }
    }
}

void K_(lcsm_chunk_grad_cols)(back *b, ptrdiff_t panel, real *X)
{
    const lcsm_chunk *c = &b->c;
    ptrdiff_t         d = panel * EOS_PANEL, cols = lcsm_chunk_cols(c, panel);
    out               o;
    if (b->g->col.p != NULL) {
        column_log(b, panel);
        o = b->g->col;
        o.p += d * o.d;
        add_steps(&o, c->t, c->n, o.d, cols, b->flow, EOS_PANEL);
    }
    if (b->g->i.p == NULL) return;
    real *g = b->read_y;
    for (ptrdiff_t r = 0; r < c->n; r++)
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = vload(X + r * EOS_PANEL + j);
            if (c->col.log != NULL) v *= vload(c->col.down + r * c->col.r + j);
            vstore(g + r * EOS_PANEL + j, v);
        }
    o = b->g->i;
    o.p += d;
    add_steps(&o, c->t, c->n, 1, cols, g, EOS_PANEL);
}

/* ---- from M to the end ------------------------------------------------------------------ */

void K_(lcsm_chunk_carry)(back *b, ptrdiff_t panel)
{
    const lcsm_chunk *c    = &b->c;
    ptrdiff_t         half = c->x->is_complex ? c->Kp * EOS_PANEL : 0;
    real             *d    = b->carry_d + panel * EOS_PANEL;
    bool              row  = b->g->row.p != NULL || b->g->row_phase.p != NULL;
    if (!row && b->g->col.p == NULL) return;
    if (panel == 0) memset(b->carry_k, 0, (size_t)(2 * c->Kp) * sizeof(real));
    memset(d, 0, EOS_PANEL * sizeof(real));
    for (ptrdiff_t k = 0; k < c->K; k++) {
        ptrdiff_t at   = (panel * c->R + k) * EOS_PANEL;
        vec       dots = vzero(), crosses = vzero();
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW) {
            vec v = pair(c->M + at + j, b->G + at + j, half, false);
            vstore(d + j, vload(d + j) + v);
            dots += v;
            if (half != 0) crosses += pair(c->M + at + j, b->G + at + j, half, true);
        }
        if (!row) continue;
        b->carry_k[k] += vsum(dots);
        if (half != 0) b->carry_k[c->Kp + k] += vsum(crosses);
    }
}
