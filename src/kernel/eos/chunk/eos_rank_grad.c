/*
 * eos_rank_grad.c - from gradients in the frame of a chunk to those of the operands, with several
 * writers and readers.
 *
 * The gradient of the log decay of step r is the sum of the flows that cross it, as in
 * eos_chunk_grad.c, over all readers and writers. A reader before step t reads after step t - 1:
 * its row counts there.
 */
#include "kernel/eos/chunk/eos_chunk_out.h"
#include "kernel/eos/chunk/eos_rank_bwd.h"

typedef R_(lcsm_out)     out;
typedef R_(lcsm_eos_seq) seq;
typedef lcsm_rank_back   back;
typedef lcsm_rank_vector vector;

/* Rows of q_M and end: a vector of each plane. */
enum { BOTH = 2 * VW };
/* The strips: gradients of logs and phases, of one vector, of the bonus; and of each step what
 * comes from other steps less what goes to them, and what comes from M. */
enum { LOG, PHASE, RE, IM, BONUS, BONUS_IM, STEPS, FROM_M };

/* ---- decays ----------------------------------------------------------------------------- */

/* a . b over the planes; turned: Im(conj(a) b), of numbers stored as those of writers. */
VEC_INLINE vec product(const real *a, ptrdiff_t a_half, const real *b, ptrdiff_t b_half,
                       bool complex, bool turned)
{
    if (!complex) return vload(a) * vload(b);
    if (turned) return vload(a) * vload(b + b_half) - vload(a + a_half) * vload(b);
    return vload(a) * vload(b) + vload(a + a_half) * vload(b + b_half);
}

/* Gradients of the log decays or phases of VW rows from k on, to strip[to] or, static, their sum
 * over all steps in parts. */
VEC_INLINE void flows(const back *b, ptrdiff_t k, bool complex, bool turned, bool still, real *to)
{
    const lcsm_rank  *f = &b->f;
    const lcsm_chunk *c = &f->c;
    const ptrdiff_t   n = c->now.n, Rp = c->size.Rp, Kp = c->size.Kp;
    const real        sign   = turned ? -1 : 1;
    vec               carry  = vload(b->carry + (turned ? Kp : 0) + k);
    wvec              before = vwiden(carry), mean = before * 0.0, sum = mean;
    for (ptrdiff_t r = 0; r < n; r++) {
        vec steps = vzero(), from_M = steps, to_end = steps;
        for (int j = 0; j < f->readers; j++) {
            const lcsm_rank_reader *d  = &f->read[j];
            ptrdiff_t               at = r + d->shift;
            if (at >= n) continue;
            const real *q = d->q + at * Rp + k;
            steps += product(q, Kp, d->g_q + at * Rp + k, Kp, complex, turned) * sign;
            from_M += product(q, Kp, b->q_M[j] + at * BOTH, VW, complex, turned) * sign;
        }
        for (int w = 0; w < f->writers; w++) {
            const real *e = f->write[w].k + r * Rp + k;
            steps -= product(e, Kp, f->write[w].g_k + r * Rp + k, Kp, complex, turned);
            to_end += product(e, Kp, b->end[w] + r * BOTH, VW, complex, turned);
        }
        if (still) {
            vec all = carry + steps * ((real)r - (real)(n - 1) / 2) + from_M * (real)(r + 1)
                    + to_end * (real)(n - 1 - r);
            lcsm_out_add(to + r * VW, all, false);
            continue;
        }
        lcsm_out_add(to + r * VW, vnarrow(before), false);
        before += vwiden(to_end);
        mean += vwiden(steps);
        vstore(b->strip[STEPS] + r * VW, steps);
        vstore(b->strip[FROM_M] + r * VW, from_M);
    }
    if (still) return;
    mean /= (double)n; /* over all steps they are 0: what is left is rounding */
    for (ptrdiff_t r = n - 1; r >= 0; r--) {
        sum += vwiden(vload(b->strip[STEPS] + r * VW) + vload(b->strip[FROM_M] + r * VW)) - mean;
        lcsm_out_add(to + r * VW, vnarrow(sum), false);
    }
}

/* A scalar's strip goes on from one vector of lanes to the next. */
static void decay_grad(const back *b, const out *o, ptrdiff_t k, bool turned, real *strip)
{
    const lcsm_chunk *c    = &b->f.c;
    bool              last = k + VW >= c->size.K, still = o->sum != NULL;
    if (o->p == NULL) return;
    if (o->k != 0 || k == 0) memset(strip, 0, (size_t)(c->now.n * VW) * sizeof(real));
    if (!c->x->is_complex) {
        if (still) flows(b, k, false, false, true, strip);
        else flows(b, k, false, false, false, strip);
    } else if (turned) {
        flows(b, k, true, true, still, strip);
    } else {
        flows(b, k, true, false, still, strip);
    }
    if (o->k != 0 || last)
        lcsm_out_strip(o, k * o->k, o->k, (lcsm_out_span){c->now.t, c->now.n},
                       o->k == 0 ? VW : c->size.K - k, strip, VW);
}

/* ---- vectors ---------------------------------------------------------------------------- */

/* The gradient of row t of reader j, one plane: by steps, by M, and by the last write it sees. */
VEC_INLINE vec reader_row(const back *b, int j, ptrdiff_t t, ptrdiff_t k, int plane)
{
    const lcsm_rank        *f  = &b->f;
    const lcsm_chunk       *c  = &f->c;
    const lcsm_rank_reader *r  = &f->read[j];
    ptrdiff_t               at = t - r->shift, lane = plane * c->size.Kp + k;
    vec                     g = vload(r->g_q + t * c->size.Rp + lane);
    if (at < 0 && lcsm_rank_enters(f)) g += vload(r->g_entry + lane);
    else g += vload(b->q_M[j] + t * BOTH + plane * VW);
    for (int w = 0; at >= 0 && !r->strict && w < f->writers; w++)
        g += vload(f->write[w].k + at * c->size.Rp + lane) * r->g_diag[w][t];
    return g;
}

VEC_INLINE vec writer_row(const back *b, int w, ptrdiff_t t, ptrdiff_t k, int plane)
{
    const lcsm_rank        *f    = &b->f;
    const lcsm_chunk       *c    = &f->c;
    const lcsm_rank_writer *e    = &f->write[w];
    ptrdiff_t               lane = plane * c->size.Kp + k;
    vec g = vload(e->g_k + t * c->size.Rp + lane) + vload(b->end[w] + t * BOTH + plane * VW);
    for (int j = 0; j < f->readers; j++) {
        ptrdiff_t at = t + f->read[j].shift;
        if (at < c->now.n && !f->read[j].strict)
            g += vload(f->read[j].q + at * c->size.Rp + lane) * f->read[j].g_diag[w][at];
    }
    return g;
}

/* The gradient of a vector in the frame, of its parts together. */
VEC_INLINE pair parts(const back *b, const vector *v, ptrdiff_t t, ptrdiff_t k, bool writes)
{
#define ROW(j, plane)                                                                              \
    (writes ? writer_row(b, v->first + (j), t, k, plane)                                           \
            : reader_row(b, v->first + (j), t, k, plane))
    pair g = {ROW(0, 0), ROW(0, 1)};
    if (!writes) g.im = -g.im;
    if (v->count > 1) {
        vec first = ROW(1, 0);
        g.re += ROW(1, 1);
        g.im += writes ? -first : first;
    }
#undef ROW
    return g;
}

/* w of the bonus at step t: conj(i) . g_y, with the scale. */
static void bonus_own(const back *b, ptrdiff_t t, real own[2])
{
    const real *w = b->own + 4 * t, scale = b->f.c.x->scale;
    own[0] = scale * (w[0] + w[3]);
    own[1] = scale * (w[2] - w[1]);
}

/* What the bonus adds to the gradient of s or, writes, of e; at e it also adds that of itself. */
static pair bonus_part(const back *b, ptrdiff_t t, ptrdiff_t k, bool writes)
{
    const seq *x   = b->f.c.x;
    ptrdiff_t  row = lcsm_rank_row(&b->f, t), left = x->K - k;
    real       own[2];
    if (row < 0) return (pair){vzero(), vzero()};
    bonus_own(b, t, own);
    pair w = {vset1(own[0]), vset1(own[1])},
         z = K_(lcsm_rank_load)(&x->bonus, x->complex_bonus, 0, k, left);
    pair e = K_(lcsm_rank_load)(&x->e, x->complex_e, b->f.c.now.t + t, k, left);
    pair s = K_(lcsm_rank_load)(&x->s, x->complex_s, row, k, left);
    if (!x->is_complex) {
        if (writes) lcsm_out_add(b->strip[BONUS], s.re * e.re * w.re, false);
        return (pair){z.re * (writes ? s.re : e.re) * w.re, vzero()};
    }
    if (writes) {
        pair g = pair_conj_mul(pair_mul(s, e), w);
        lcsm_out_add(b->strip[BONUS], g.re, false);
        lcsm_out_add(b->strip[BONUS_IM], g.im, false);
    }
    return pair_conj_mul(pair_mul(z, writes ? s : e), w);
}

/* The strip of a vector to its gradient; part 1 is the imaginary one. */
static void add_strip(const back *b, const vector *v, ptrdiff_t k, int part, const real *strip)
{
    const lcsm_chunk *c    = &b->f.c;
    ptrdiff_t         left = c->size.K - k, at = k * v->g.k + part;
    if (!v->reads || c->x->read == NULL) {
        lcsm_out_strip(&v->g, at, v->g.k, (lcsm_out_span){c->now.t, c->now.n}, left, strip, VW);
        return;
    }
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        ptrdiff_t row = lcsm_rank_row(&b->f, r);
        if (row >= 0)
            lcsm_out_strip(&v->g, at, v->g.k, (lcsm_out_span){row, 1}, left, strip + r * VW, VW);
    }
}

/* Row t of a vector: out of the frame. */
VEC_INLINE pair unframe(const back *b, const vector *v, ptrdiff_t t, ptrdiff_t k, bool writes,
                        bool complex)
{
    const lcsm_chunk *c     = &b->f.c;
    const real       *table = writes ? c->op.row.down : c->op.row.up;
    ptrdiff_t         at    = t - v->shift;
    vec               by    = vset1(v->by);
    if (at >= 0 && c->op.row.log != NULL) by *= vload(table + at * c->size.Kp + k);
    if (!complex) {
        vec g = writes ? writer_row(b, v->first, t, k, 0) : reader_row(b, v->first, t, k, 0);
        return (pair){g * by, vzero()};
    }
    pair g = parts(b, v, t, k, writes), turn = {vset1(1), vzero()};
    if (at >= 0)
        turn =
            (pair){vload(c->op.cos + at * c->size.Kp + k), vload(c->op.sin + at * c->size.Kp + k)};
    if (writes) turn = pair_conj(turn);
    g = pair_conj_mul(turn, g);
    return (pair){g.re * by, g.im * by};
}

/* Where a vector's rows go, t apart: in its array, or in a strip. */
typedef struct {
    real     *p;
    ptrdiff_t t;
    bool      set;
} target;

VEC_INLINE void vector_rows(const back *b, const vector *v, ptrdiff_t k, bool writes, bool complex,
                            target to)
{
    const lcsm_chunk *c     = &b->f.c;
    bool              bonus = c->x->bonus.p != NULL && v->first == 0;
    for (ptrdiff_t t = 0; t < c->now.n; t++) {
        pair g = unframe(b, v, t, k, writes, complex);
        if (bonus) g = pair_add(g, bonus_part(b, t, k, writes));
        lcsm_out_add(to.p + t * to.t, g.re, to.set);
        if (complex) vstore(b->strip[IM] + t * VW, g.im);
    }
}

/* Its array, if rows of it are vectors of one number for each row of the memory. */
static target target_of(const back *b, const vector *v, ptrdiff_t k)
{
    const lcsm_chunk *c     = &b->f.c;
    bool              plain = v->g.p != NULL && v->g.t != 0 && v->g.k == 1 && c->size.K - k >= VW;
    if (!plain || c->x->is_complex || (v->reads && c->x->read != NULL))
        return (target){b->strip[RE], VW, true};
    return (target){v->g.p + c->now.t * v->g.t + k, v->g.t, v->g.set};
}

static void vector_grad(const back *b, const vector *v, ptrdiff_t k, bool writes)
{
    target to    = target_of(b, v, k);
    bool   bonus = b->f.c.x->bonus.p != NULL && writes && v->first == 0;
    if (v->g.p == NULL && !bonus) return;
    if (bonus) memset(b->strip[BONUS], 0, VW * sizeof(real));
    if (bonus) memset(b->strip[BONUS_IM], 0, VW * sizeof(real));
    if (b->f.c.x->is_complex) {
        if (writes) vector_rows(b, v, k, true, true, to);
        else vector_rows(b, v, k, false, true, to);
    } else {
        if (writes) vector_rows(b, v, k, true, false, to);
        else vector_rows(b, v, k, false, false, to);
    }
    if (bonus && b->g->bonus.p != NULL) {
        const out *o = &b->g->bonus;
        lcsm_out_sum(o->sum + k * o->k, o->k, 1, b->f.c.size.K - k, b->strip[BONUS], VW);
        if (b->f.c.x->complex_bonus)
            lcsm_out_sum(o->sum + k * o->k + 1, o->k, 1, b->f.c.size.K - k, b->strip[BONUS_IM], VW);
    }
    if (v->g.p == NULL || to.p != b->strip[RE]) return;
    add_strip(b, v, k, 0, b->strip[RE]);
    if (v->pairs) add_strip(b, v, k, 1, b->strip[IM]);
}

/* ---- all of it -------------------------------------------------------------------------- */

static out of_rank(const out *o, ptrdiff_t r, ptrdiff_t K)
{
    out at = *o;
    if (at.p != NULL) at.p += r * K * o->k;
    if (at.sum != NULL) at.sum += r * K * o->k;
    return at;
}

/* Where the gradients of vectors go. */
static void find_outs(back *b)
{
    const seq *x  = b->f.c.x;
    b->f.in[0].g  = b->g->s;
    b->f.out[0].g = b->g->e;
    if (x->erase.p != NULL) b->f.in[1].g = b->g->erase;
    for (ptrdiff_t r = 0; r < x->rank; r++) {
        b->f.in[b->f.reader_vectors - x->rank + r].g  = of_rank(&b->g->b, r, x->K);
        b->f.out[b->f.writer_vectors - x->rank + r].g = of_rank(&b->g->a, r, x->K);
    }
}

/* VW rows of a transposed part, both planes, into strips; or zeros. `count` parts lie beside each
 * other. */
static void strips(const lcsm_chunk *c, const real *from, int count, bool zero, ptrdiff_t k,
                   real *to)
{
    ptrdiff_t left = c->size.K - k, width = count * c->size.Cp;
    if (zero) {
        memset(to, 0, (size_t)(c->now.n * BOTH) * sizeof(real));
        return;
    }
    for (int plane = 0; plane < (c->x->is_complex ? 2 : 1); plane++) K_(lcsm_transpose)
    (left < VW ? left : VW, c->now.n, from + (plane * c->size.Kp + k) * width, width,
     to + plane * VW, BOTH);
}

void K_(lcsm_rank_grad_rows)(back *b)
{
    const lcsm_chunk *c = &b->f.c;
    find_outs(b);
    for (ptrdiff_t k = 0; k < c->size.K; k += VW) {
        for (int j = 0; j < b->f.readers; j++)
            strips(c, b->f.read[j].g_q_M, b->f.readers, c->now.blank, k, b->q_M[j]);
        for (int w = 0; w < b->f.writers; w++)
            strips(c, b->f.write[w].g_end, b->f.writers, c->now.final, k, b->end[w]);
        decay_grad(b, &b->g->row, k, false, b->strip[LOG]);
        decay_grad(b, &b->g->row_phase, k, true, b->strip[PHASE]);
        for (int j = 0; j < b->f.reader_vectors; j++) vector_grad(b, &b->f.in[j], k, false);
        for (int j = 0; j < b->f.writer_vectors; j++) vector_grad(b, &b->f.out[j], k, true);
    }
}
