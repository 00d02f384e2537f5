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
 * and so a sum from the last step down plus one from the first step up, in double. Nothing large
 * cancels: what a step reads from itself crosses no decay and is in none of the terms, so strong
 * decays have exact gradients too. For phases the real part of a product with a conjugate becomes
 * the imaginary part ("cross").
 *
 * A static decay has the sum over all r. There step t of the second term, what comes to t less
 * what goes from t, would count t + 1 times, and so would its rounding. But over all steps this
 * term is 0: it counts t - (n - 1)/2 times, which is less.
 *
 * For columns the dot products run over k instead. The first two terms would need Q M once more,
 * so while decays are mild they are taken from y: y . g_y - i . g_i, in which each step's own part
 * cancels, together with all flows from steps to the end. With E the flows to the chunk's end and F
 * those from M, of which one gives the other at the last step down, a static decay has
 * sum_t (t - (n - 1)/2) (...)_t + E (n - 1)/2 + F (n + 1)/2. F is the E of the chunk before, which
 * comes next.
 */
#include "kernel/eos/chunk/eos_chunk_bwd.h"
#include "kernel/eos/chunk/eos_chunk_out.h"
#include "kernel/vecpair.h"

typedef R_(lcsm_out)     out;
typedef R_(lcsm_eos_seq) seq;
typedef lcsm_chunk_back  back;

/* The rows of an operand that belong to the chunk. */
static lcsm_out_span steps_of(const lcsm_chunk *c)
{
    return (lcsm_out_span){c->now.t, c->now.n};
}

static lcsm_out_span reads_of(const lcsm_chunk *c)
{
    return (lcsm_out_span){c->now.r, c->now.unread ? 0 : c->now.rn};
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The strips, (C, VW). Gradients: of logs and phases, s and e (erase takes S_IM: it is real);
 * transposed parts: of k by M', of q and N by M; and sums from the first step on. */
enum { LOG, PHASE, S, S_IM, E, E_IM, END, END_IM, Q_M, Q_M_IM, N_M = Q_M_IM, PREFIX = END_IM };
/* Of a scalar the flows of all lanes: LOG has what comes to a step less what goes from it, TO_END
 * what goes to the end, SUMS between all steps and from M to the end. */
enum { TO_END = PHASE, SUMS = E_IM };

/* What a vector of lanes, k .. k + VW - 1, works on. */
typedef struct {
    ptrdiff_t   k, n;
    const real *q, *e, *g_e; /* rows Rp apart; imaginary parts Kp later */
    const real *up, *down;   /* rows Kp apart, or NULL */
    vec         carry[2];    /* from M to the end; cross */
} lanes;

/* The parts that come transposed, `count` of them beside each other, into strips of `steps`; rows
 * of the memory from `row` on. A part may be zero. */
static void strip_of(const back *b, const real *from, int count, bool zero, ptrdiff_t steps,
                     ptrdiff_t row, ptrdiff_t n, real *to)
{
    ptrdiff_t width = count * b->c.size.Cp;
    if (zero) memset(to, 0, (size_t)(steps * VW) * sizeof(real));
    else K_(lcsm_transpose)(n < VW ? n : VW, steps, from + row * width, width, to, VW);
}

/* Where the gradients of an operand's lanes are added, rows t apart: in its array, or in a strip
 * that starts with zeros. */
typedef struct {
    real     *p;
    ptrdiff_t t;
    bool      set;
    double   *sum; /* in place of p, or NULL */
} target;

static target target_of(const back *b, const out *o, lcsm_out_span rows, const lanes *l,
                        real *strip)
{
    if (o->p != NULL && o->t != 0 && o->k == 1 && l->n >= VW && rows.count > 0)
        return (target){o->p + rows.first * o->t + l->k, o->t, o->set, NULL};
    if (o->k != 0 || l->k == 0) memset(strip, 0, (size_t)(b->c.now.n * VW) * sizeof(real));
    return (target){strip, VW, false, NULL};
}

/* Adds what a strip has gathered. A scalar's goes on from one vector of lanes to the next. */
static void add_target(const back *b, const out *o, lcsm_out_span rows, const lanes *l,
                       const target *to, const real *strip)
{
    bool last = l->k + VW >= b->c.size.K;
    if (o->p == NULL || to->p != strip || (o->k == 0 && !last)) return;
    lcsm_out_strip(o, l->k * o->k, o->k, rows, o->k == 0 ? VW : l->n, strip, VW);
}

/* The flows across decays, from the last step to the first. */
typedef struct {
    wvec      sum;
    wvec      mean;  /* of what comes to a step less what goes from it: only rounding */
    vec       carry; /* from M to the end */
    ptrdiff_t steps;
    bool      still; /* only their sum over all steps is asked for */
} crossing;

/* The part of the flows across the decay of step r that comes from steps and from M; or that step's
 * part in the sum over all steps, with what goes to the end. At step r: what comes from steps less
 * what goes to them, what comes from M, and what goes to the end. */
VEC_INLINE vec crossing_at(crossing *f, ptrdiff_t r, vec steps, vec from_M, vec to_end)
{
    if (f->still)
        return f->carry + steps * ((real)r - (real)(f->steps - 1) / 2) + from_M * (real)(r + 1)
             + to_end * (real)(f->steps - 1 - r);
    f->sum += vwiden(steps + from_M) - f->mean;
    return vnarrow(f->sum);
}

/* What goes to the end before each step, and with the delta rule, which erases most of what it
 * reads, the mean of flows that are large and cancel. */
VEC_INLINE void flows_before(crossing *f, const back *b, const lanes *l, bool erase)
{
    const ptrdiff_t Rp = b->c.size.Rp, k = l->k, steps = f->steps;
    const real     *q_ = l->q, *e_ = l->e, *in_ = l->g_e, *end_ = b->strip[END];
    const real     *gq_ = b->read[0].g_q + k, *gn_ = erase ? b->read[1].g_q + k : NULL;
    const real     *nb_  = erase ? b->c.op.N + k : NULL;
    real           *pre_ = b->strip[PREFIX];
    wvec            sum = vwiden(f->carry), mean = {0};
    for (ptrdiff_t r = 0; r < steps; r++) {
        vec e = vload(e_ + r * Rp);
        vstore(pre_ + r * VW, vnarrow(sum));
        sum += vwiden(e * vload(end_ + r * VW));
        if (erase)
            mean += vwiden(vload(q_ + r * Rp) * vload(gq_ + r * Rp)
                           + vload(nb_ + r * Rp) * vload(gn_ + r * Rp) - e * vload(in_ + r * Rp));
    }
    if (erase) f->mean = mean / (double)steps;
}

/* The gradient of a scalar by token, from the flows of all lanes. */
static void scalar_logs(const back *b, bool erase)
{
    const lcsm_chunk *c    = &b->c;
    const out        *o    = &b->g->row;
    const ptrdiff_t   n    = c->now.n;
    real             *flow = b->strip[LOG], *to = o->p + c->now.t * o->t;
    double            mean = erase ? (double)vsum(vload(b->strip[SUMS])) / (double)n : 0, sum = 0,
           before = (double)vsum(vload(b->strip[SUMS] + VW));
    for (ptrdiff_t r = n - 1; r >= 0; r--) {
        sum += (double)vsum(vload(flow + r * VW)) - mean;
        flow[r * VW] = (real)sum;
    }
    for (ptrdiff_t r = 0; r < n; r++) {
        real g = flow[r * VW] + (real)before;
        before += (double)vsum(vload(b->strip[TO_END] + r * VW));
        to[r * o->t] = o->set ? g : to[r * o->t] + g;
    }
}

static void clear_scalar(const back *b)
{
    size_t n = (size_t)(b->c.now.n * VW) * sizeof(real);
    memset(b->strip[LOG], 0, n);
    memset(b->strip[TO_END], 0, n);
    memset(b->strip[SUMS], 0, 2 * VW * sizeof(real));
}

/* Whose log decays have a gradient: nobody's; each lane's, or a static scalar's; a scalar's by
 * token. */
typedef enum { NO_LOGS, BY_LANES, BY_SCALAR } log_kind;

typedef struct {
    log_kind kind;
    target   to;
    crossing sum;
    vec      between;
} log_grad;

VEC_INLINE log_grad logs_open(const back *b, const lanes *l, log_kind kind, bool erase)
{
    log_grad g  = {.kind = kind, .between = vzero()};
    g.sum.steps = b->c.now.n;
    g.sum.still = b->g->row.sum != NULL;
    g.sum.carry = l->carry[0];
    if (kind == BY_SCALAR) {
        if (l->k == 0) clear_scalar(b);
        lcsm_out_add(b->strip[SUMS] + VW, g.sum.carry, false);
    }
    if (kind != BY_LANES) return g;
    g.to = target_of(b, &b->g->row, steps_of(&b->c), l, b->strip[LOG]);
    if (!g.sum.still) flows_before(&g.sum, b, l, erase);
    return g;
}

VEC_INLINE void logs_at(log_grad *g, const back *b, ptrdiff_t r, vec steps, vec from_M, vec to_end)
{
    if (g->kind == BY_SCALAR) {
        lcsm_out_add(b->strip[LOG] + r * VW, steps + from_M, false);
        lcsm_out_add(b->strip[TO_END] + r * VW, to_end, false);
        g->between += steps;
    }
    if (g->kind != BY_LANES) return;
    vec flow = crossing_at(&g->sum, r, steps, from_M, to_end);
    if (!g->sum.still) flow += vload(b->strip[PREFIX] + r * VW);
    lcsm_out_add(g->to.p + r * g->to.t, flow, g->to.set);
}

VEC_INLINE void logs_close(const log_grad *g, const back *b, const lanes *l, bool erase)
{
    if (g->kind == BY_LANES) add_target(b, &b->g->row, steps_of(&b->c), l, &g->to, b->strip[LOG]);
    if (g->kind != BY_SCALAR) return;
    lcsm_out_add(b->strip[SUMS], g->between, false);
    if (l->k + VW >= b->c.size.K) scalar_logs(b, erase);
}

/* One vector of lanes of a real memory. reads: not every step is read. */
VEC_INLINE void real_lanes(back *b, const lanes *l, bool decays, log_kind kind, bool erase,
                           bool reads)
{
    const lcsm_chunk   *c  = &b->c;
    const ptrdiff_t     Rp = c->size.Rp, Kp = c->size.Kp, k = l->k, steps = c->now.n;
    const real         *q_ = l->q, *e_ = l->e, *in_ = l->g_e, *up_ = l->up, *down_ = l->down;
    const real         *gq_ = b->read[0].g_q + k, *diag = b->read[0].g_diag;
    const real         *nb_ = erase ? c->op.N + k : NULL, *gn_ = erase ? b->read[1].g_q + k : NULL;
    const real         *qM_ = b->strip[Q_M], *end_ = b->strip[END], *nM_ = b->strip[N_M];
    const lcsm_out_span all = steps_of(c), read = reads_of(c);
    const target        s     = target_of(b, &b->g->s, read, l, b->strip[S]);
    const target        g     = target_of(b, &b->g->e, all, l, b->strip[E]);
    target              n     = {0};
    const real          scale = c->x->scale;
    ptrdiff_t           last  = c->now.rn - 1; /* the last reader that is left */
    if (erase) n = target_of(b, &b->g->erase, all, l, b->strip[S_IM]);
    log_grad log = logs_open(b, l, kind, erase);
    for (ptrdiff_t r = steps - 1; r >= 0; r--) {
        vec e = vload(e_ + r * Rp), g_e = vload(in_ + r * Rp), end = vload(end_ + r * VW);
        vec own = vzero(), steps_ = -(e * g_e), from_M = vzero();
        if (!reads || (last >= 0 && c->now.at[last] == r)) {
            ptrdiff_t j = reads ? last-- : r;
            vec       q = vload(q_ + j * Rp), g_q = vload(gq_ + j * Rp), g_M = vload(qM_ + j * VW);
            vec       up = decays ? vload(up_ + r * Kp) * scale : vset1(scale);
            steps_ += q * g_q;
            from_M = q * g_M;
            own    = q * diag[j];
            lcsm_out_add(s.p + j * s.t, (g_q + g_M + e * diag[j]) * up, s.set);
        }
        if (erase) {
            vec g_n = vload(gn_ + r * Rp), g_M = vload(nM_ + r * VW), nb = vload(nb_ + r * Rp);
            steps_ += nb * g_n;
            from_M += nb * g_M;
            g_n += g_M;
            lcsm_out_add(n.p + r * n.t, decays ? -vload(up_ + r * Kp) * g_n : -g_n, n.set);
        }
        logs_at(&log, b, r, steps_, from_M, e * end);
        g_e += end + own;
        lcsm_out_add(g.p + r * g.t, decays ? g_e * vload(down_ + r * Kp) : g_e, g.set);
    }
    logs_close(&log, b, l, erase);
    add_target(b, &b->g->s, read, l, &s, b->strip[S]);
    add_target(b, &b->g->e, all, l, &g, b->strip[E]);
    if (erase) add_target(b, &b->g->erase, all, l, &n, b->strip[S_IM]);
}

VEC_INLINE pair cload(const real *re, ptrdiff_t half)
{
    return (pair){vload(re), vload(re + half)};
}

VEC_INLINE vec dot(pair a, pair b)
{
    return a.re * b.re + a.im * b.im;
}

VEC_INLINE vec cross(pair a, pair b)
{
    return a.re * b.im - a.im * b.re;
}

/* The same for a complex memory, where q is stored as [re, -im]; into strips. */
static void complex_lanes(back *b, const lanes *l)
{
    const lcsm_chunk *c  = &b->c;
    const ptrdiff_t   Rp = c->size.Rp, Kp = c->size.Kp, k = l->k;
    const real       *gq_ = b->read[0].g_q + k, *diag = b->read[0].g_diag;
    crossing          sum  = {.steps = c->now.n, .still = b->g->row.sum != NULL};
    crossing          turn = {.steps = c->now.n, .still = b->g->row_phase.sum != NULL};
    sum.carry              = l->carry[0];
    turn.carry             = l->carry[1];
    wvec before = vwiden(sum.carry), turned = vwiden(turn.carry);
    for (ptrdiff_t r = 0; r < c->now.n; r++) {
        pair e   = cload(l->e + r * Rp, Kp);
        pair end = {vload(b->strip[END] + r * VW), vload(b->strip[END_IM] + r * VW)};
        if (!sum.still) lcsm_out_add(b->strip[LOG] + r * VW, vnarrow(before), false);
        if (!turn.still) lcsm_out_add(b->strip[PHASE] + r * VW, vnarrow(turned), false);
        before += vwiden(dot(e, end));
        turned += vwiden(cross(e, end));
    }
    for (ptrdiff_t r = c->now.n - 1; r >= 0; r--) {
        ptrdiff_t at = r * VW;
        pair      q = cload(l->q + r * Rp, Kp), e = cload(l->e + r * Rp, Kp);
        pair      g_q = cload(gq_ + r * Rp, Kp), g_e = cload(l->g_e + r * Rp, Kp);
        vec       cs = vload(c->op.cos + r * Kp + k), sn = vload(c->op.sin + r * Kp + k);
        vec       up = vset1(c->x->scale), down = vset1(1);
        if (l->up != NULL) {
            up *= vload(l->up + r * Kp);
            down = vload(l->down + r * Kp);
        }
        pair g_M = {vload(b->strip[Q_M] + at), vload(b->strip[Q_M_IM] + at)};
        pair end = {vload(b->strip[END] + at), vload(b->strip[END_IM] + at)};
        lcsm_out_add(b->strip[LOG] + at,
                     crossing_at(&sum, r, dot(q, g_q) - dot(e, g_e), dot(q, g_M), dot(e, end)),
                     false);
        lcsm_out_add(
            b->strip[PHASE] + at,
            crossing_at(&turn, r, -cross(q, g_q) - cross(e, g_e), -cross(q, g_M), cross(e, end)),
            false);
        g_q.re += g_M.re;
        g_q.im += g_M.im;

        g_q.re = (g_q.re + e.re * diag[r]) * up;
        g_q.im = (g_q.im + e.im * diag[r]) * up;
        g_e.re = (g_e.re + end.re + q.re * diag[r]) * down;
        g_e.im = (g_e.im + end.im + q.im * diag[r]) * down;
        vstore(b->strip[S] + at, g_q.re * cs - g_q.im * sn);
        vstore(b->strip[S_IM] + at, -(g_q.re * sn + g_q.im * cs));
        vstore(b->strip[E] + at, g_e.re * cs - g_e.im * sn);
        vstore(b->strip[E_IM] + at, g_e.re * sn + g_e.im * cs);
    }
}

static void complex_rows(back *b, const lanes *l)
{
    const lcsm_chunk             *c    = &b->c;
    const R_(lcsm_eos_seq_grads) *g    = b->g;
    const bool                    last = l->k + VW >= c->size.K;
    const struct {
        const out *o;
        int        strip;
        ptrdiff_t  offset;
        bool       have;
    } adds[] = {
        {&g->row, LOG, 0, g->row.k != 0 || last},
        {&g->row_phase, PHASE, 0, g->row_phase.k != 0 || last},
        {&g->s, S, 0, true},
        {&g->s, S_IM, 1, c->x->complex_s},
        {&g->e, E, 0, true},
        {&g->e, E_IM, 1, c->x->complex_e},
    };
    for (int j = 0; j < 2; j++) /* a scalar's strip goes on from one vector of lanes to the next */
        if (adds[j].o->k != 0 || l->k == 0)
            memset(b->strip[adds[j].strip], 0, (size_t)(c->now.n * VW) * sizeof(real));
    complex_lanes(b, l);
    for (size_t j = 0; j < sizeof adds / sizeof *adds; j++) {
        const out *o = adds[j].o;
        if (o->p == NULL || !adds[j].have) continue;
        lcsm_out_strip(o, l->k * o->k + adds[j].offset, o->k, steps_of(c), o->k == 0 ? VW : l->n,
                       b->strip[adds[j].strip], VW);
    }
}

/* The same with what is constant in a loop made so. */
static void erased_lanes(back *b, const lanes *l, log_kind logs)
{
    if (l->up == NULL) real_lanes(b, l, false, NO_LOGS, true, false);
    else if (logs == BY_SCALAR) real_lanes(b, l, true, BY_SCALAR, true, false);
    else if (logs == BY_LANES) real_lanes(b, l, true, BY_LANES, true, false);
    else real_lanes(b, l, true, NO_LOGS, true, false);
}

static void kept_lanes(back *b, const lanes *l, log_kind logs)
{
    if (l->up == NULL) real_lanes(b, l, false, NO_LOGS, false, false);
    else if (logs == BY_SCALAR) real_lanes(b, l, true, BY_SCALAR, false, false);
    else if (logs == BY_LANES) real_lanes(b, l, true, BY_LANES, false, false);
    else real_lanes(b, l, true, NO_LOGS, false, false);
}

void K_(lcsm_chunk_grad_rows)(back *b)
{
    const lcsm_chunk *c    = &b->c;
    const out        *row  = &b->g->row;
    const log_kind    logs = row->p == NULL                  ? NO_LOGS
                           : row->k == 0 && row->sum == NULL ? BY_SCALAR
                                                             : BY_LANES;
    for (ptrdiff_t k = 0; k < c->size.K; k += VW) {
        lanes l = {
            .k = k, .n = c->size.K - k, .q = c->op.Q + k, .e = c->op.E + k, .g_e = b->g_E + k};
        if (c->op.row.log != NULL) {
            l.up   = c->op.row.up + k;
            l.down = c->op.row.down + k;
        }
        l.carry[0] = vload(b->carry_k + k);
        l.carry[1] = vload(b->carry_k + c->size.Kp + k);
        strip_of(b, b->g_E_end, 1, c->now.final, c->now.n, k, l.n, b->strip[END]);
        strip_of(b, b->read[0].g_q_M, b->readers, c->now.blank, c->now.rn, k, l.n, b->strip[Q_M]);
        if (c->x->is_complex) {
            strip_of(b, b->g_E_end, 1, c->now.final, c->now.n, c->size.Kp + k, l.n,
                     b->strip[END_IM]);
            strip_of(b, b->read[0].g_q_M, b->readers, c->now.blank, c->now.n, c->size.Kp + k, l.n,
                     b->strip[Q_M_IM]);
            complex_rows(b, &l);
        } else if (b->readers > 1) {
            strip_of(b, b->read[1].g_q_M, b->readers, c->now.blank, c->now.n, k, l.n,
                     b->strip[N_M]);
            erased_lanes(b, &l, logs);
        } else if (c->now.at != NULL) {
            real_lanes(b, &l, l.up != NULL, logs, false, true);
        } else {
            kept_lanes(b, &l, logs);
        }
    }
}

/* ---- columns ---------------------------------------------------------------------------- */

/* What a static decay has, all of it but F: with F if that is what is left. */
VEC_INLINE void column_close(const back *b, const wvec *sum, const wvec *total, ptrdiff_t n,
                             double *to)
{
    const lcsm_chunk *c   = &b->c;
    wvec              all = *total;
    if (lcsm_chunk_finds_M(c)) all += *sum * ((double)(c->now.n + 1) / 2);
    for (ptrdiff_t j = 0; j < n && j < VW; j++) to[j] += all[j];
}

/* Exact column gradients of one vector of lanes, in place of the flows in b->flow or to `to`. */
static void exact_lanes(back *b, ptrdiff_t j, ptrdiff_t cols, const real *U, double *to)
{
    const ptrdiff_t n      = b->c.now.n;
    const double    middle = (double)(n - 1) / 2;
    const wvec      carry  = vwiden(vload(b->carry_d + j));
    wvec            sum = carry * 0.0, before = carry, total = carry * middle;
    for (ptrdiff_t r = n - 1; r >= 0; r--) {
        ptrdiff_t at = r * EOS_PANEL + j;
        wvec      a  = vwiden(vload(b->flow + at) - vload(U + at) * vload(b->v_in + at));
        sum += a;
        total += a * ((double)r - middle);
        vstore(b->flow + at, vnarrow(sum));
    }
    for (ptrdiff_t r = 0; r < n; r++) {
        ptrdiff_t at  = r * EOS_PANEL + j;
        wvec      end = vwiden(vload(U + at) * vload(b->v_end + at));
        vstore(b->flow + at, vload(b->flow + at) + vnarrow(before));
        before += end;
        total += end * (double)(n - 1 - r);
    }
    total += before * b->from_M;
    sum += carry;
    if (to != NULL) column_close(b, &sum, &total, cols, to);
}

/* Vectors of lanes side by side: a row of theirs is read and written in one go. */
#define SIDE(v, vecs) VEC_UNROLL for (ptrdiff_t v = 0; v < (vecs); v++)

/* The same from y . g_y - i . g_i, with all flows to the end, straight into g_col. to_i.p may be
 * NULL. `vecs` vectors of lanes from column j of the panel on, whole unless n < VW lanes of a
 * single one exist. */
VEC_INLINE void mild_lanes(const back *b, ptrdiff_t panel, ptrdiff_t j, ptrdiff_t vecs, ptrdiff_t n,
                           bool reads, bool still, const real *U, const real *X, target to,
                           target to_i)
{
    const lcsm_chunk *c     = &b->c;
    const ptrdiff_t   steps = c->now.n, it = c->x->i.t, cr = c->op.col.r, y_t = b->y_t,
                    g_t = b->g_y_t;
    const ptrdiff_t d   = panel * EOS_PANEL + j;
    const real     *y = b->y + c->now.r * y_t + d, *g = b->g_y + c->now.r * g_t + d;
    ptrdiff_t       last = c->now.unread ? -1 : c->now.rn - 1; /* the last reader that is left */
    const real  *i = c->x->i.p + c->now.t * it + d, *down = c->op.col.down + j, *end = b->v_end + j;
    const double middle = (double)(steps - 1) / 2;
    const bool   first  = lcsm_chunk_finds_M(c);
    wvec         sum[TILE_VECS], total[TILE_VECS];
    SIDE(v, vecs) sum[v] = vwiden(vload(b->carry_d + j + v * VW));
    U += j;
    X += j;
    for (ptrdiff_t r = 0; r < steps * EOS_PANEL; r += EOS_PANEL)
        SIDE(v, vecs) sum[v] += vwiden(vload(U + r + v * VW) * vload(end + r + v * VW));
    SIDE(v, vecs) total[v] = sum[v] * (middle + b->from_M);
    for (ptrdiff_t r = steps - 1; r >= 0; r--) {
        bool        here = !reads || (last >= 0 && c->now.at[last] == r);
        ptrdiff_t   row  = !reads ? r : here ? last-- : 0;
        const real *y_r = y + row * y_t, *g_r = g + row * g_t;
        SIDE(v, vecs)
        {
            ptrdiff_t at   = v * VW;
            vec       g_v  = vload(X + r * EOS_PANEL + at) * vload(down + r * cr + at);
            vec       flow = -(lcsm_lanes(i + r * it + at, 1, n) * g_v);
            if (here) flow += lcsm_lanes(y_r + at, 1, n) * lcsm_lanes(g_r + at, 1, n);
            if (still) total[v] += vwiden(flow) * ((double)r - middle);
            if (!still || first) sum[v] += vwiden(flow);
            if (!still) lcsm_out_lanes(to.p + r * to.t + at, 1, n, vnarrow(sum[v]), to.set);
            if (to_i.p != NULL) lcsm_out_lanes(to_i.p + r * to_i.t + at, 1, n, g_v, to_i.set);
        }
    }
    SIDE(v, vecs) if (still) column_close(b, &sum[v], &total[v], n, to.sum + v * VW);
}

VEC_INLINE void input_lanes(const back *b, ptrdiff_t j, ptrdiff_t vecs, ptrdiff_t n, const real *X,
                            target to)
{
    const lcsm_chunk *c  = &b->c;
    const ptrdiff_t   cr = c->op.col.r, steps = c->now.n;
    const real       *down = c->op.col.log == NULL ? NULL : c->op.col.down + j;
    for (ptrdiff_t r = 0; r < steps; r++) SIDE(v, vecs)
        {
            vec g_v = vload(X + r * EOS_PANEL + j + v * VW);
            if (down != NULL) g_v *= vload(down + r * cr + v * VW);
            lcsm_out_lanes(to.p + r * to.t + v * VW, 1, n, g_v, to.set);
        }
}

/* `vecs` vectors of lanes from column j on. */
VEC_INLINE void cols_lanes(back *b, ptrdiff_t panel, ptrdiff_t j, ptrdiff_t vecs, ptrdiff_t n,
                           const real *X)
{
    const lcsm_chunk *c = &b->c;
    const real       *U = b->V + panel * c->size.C * EOS_PANEL;
    const out        *o = &b->g->col, *oi = &b->g->i;
    ptrdiff_t         d = panel * EOS_PANEL + j;
    target to_i = {oi->p == NULL ? NULL : oi->p + c->now.t * oi->t + d, oi->t, oi->set, NULL};
    if (o->p != NULL && !b->exact) {
        target to = {o->p + c->now.t * o->t + d, o->t, o->set, o->sum == NULL ? NULL : o->sum + d};
        if (c->now.at != NULL)
            mild_lanes(b, panel, j, vecs, n, true, o->sum != NULL, U, X, to, to_i);
        else if (o->sum != NULL) mild_lanes(b, panel, j, vecs, n, false, true, U, X, to, to_i);
        else mild_lanes(b, panel, j, vecs, n, false, false, U, X, to, to_i);
        return;
    }
    for (ptrdiff_t v = 0; o->p != NULL && v < vecs; v++) {
        double *sum = o->sum == NULL ? NULL : o->sum + d + v * VW;
        exact_lanes(b, j + v * VW, n, U, sum);
        if (sum == NULL)
            lcsm_out_strip(o, d + v * VW, 1, steps_of(c), n, b->flow + j + v * VW, EOS_PANEL);
    }
    if (to_i.p != NULL) input_lanes(b, j, vecs, n, X, to_i);
}

void K_(lcsm_chunk_grad_cols)(back *b, ptrdiff_t panel, const real *X)
{
    ptrdiff_t cols = lcsm_chunk_cols(&b->c, panel);
    if (cols == EOS_PANEL) {
        cols_lanes(b, panel, 0, TILE_VECS, VW, X);
        return;
    }
    for (ptrdiff_t j = 0; j < cols; j += VW)
        cols_lanes(b, panel, j, 1, cols - j < VW ? cols - j : VW, X);
}

/* ---- from M to the end ------------------------------------------------------------------ */

/* Rows beside each other: sums over four of them cost little more than one. */
enum { END_ROWS = 4 };

/* `rows` rows of a panel: G scaled; the products with M are added to `down` (lanes) and, by row, to
 * `across`. */
VEC_INLINE void end_rows(ptrdiff_t rows, const real *M, ptrdiff_t M_row, real *G, const real *by,
                         const real *col, bool flows, bool columns, vec *down, real *across)
{
    vec  sum[END_ROWS] = {vzero(), vzero(), vzero(), vzero()};
    real all[END_ROWS];
    for (int v = 0; v < TILE_VECS; v++)
        for (ptrdiff_t i = 0; i < rows; i++) {
            real *at = G + i * EOS_PANEL + v * VW;
            vec   g  = vload(at) * by[i];
            if (col != NULL) g *= vload(col + v * VW);
            vstore(at, g);
            if (flows) g *= vload(M + i * M_row + v * VW);
            if (columns) down[v] += g;
            sum[i] += g;
        }
    if (!flows) return;
    vsums4(sum[0], sum[1], sum[2], sum[3], all, END_ROWS);
    for (ptrdiff_t i = 0; i < rows; i++) across[i] += all[i];
}

VEC_INLINE void end_panel(const lcsm_chunk *c, const real *M, ptrdiff_t M_row, real *G,
                          const real *col, bool flows, bool columns, vec *down, real *across)
{
    for (ptrdiff_t k = 0, rows; k < c->size.R; k += rows) {
        ptrdiff_t   at = k < c->size.Kp ? k : k - c->size.Kp; /* in its plane */
        const real *by = c->op.decay + k;
        real       *to = flows ? across + at : NULL;
        rows           = k + END_ROWS <= c->size.R && at + END_ROWS <= c->size.Kp ? END_ROWS : 1;
        if (rows > 1) end_rows(END_ROWS, M, M_row, G, by, col, flows, columns, down, to);
        else end_rows(1, M, M_row, G, by, col, flows, columns, down, to);
        M += rows * M_row;
        G += rows * EOS_PANEL;
    }
}

void K_(lcsm_chunk_end)(const lcsm_chunk *c, const real *M, ptrdiff_t M_row, const real *col,
                        real *G, real *across, real *down)
{
    vec sum[TILE_VECS];
    for (int v = 0; v < TILE_VECS; v++) sum[v] = vzero();
    if (down != NULL) end_panel(c, M, M_row, G, col, true, true, sum, across);
    else if (across != NULL) end_panel(c, M, M_row, G, col, true, false, sum, across);
    else end_panel(c, M, M_row, G, col, false, false, sum, across);
    for (int v = 0; down != NULL && v < TILE_VECS; v++) vstore(down + v * VW, sum[v]);
}

/* Imaginary parts of conj(M) G, both planes turned already. */
static void turn_flows(back *b, const real *M, const real *G)
{
    const lcsm_chunk *c = &b->c;
    for (ptrdiff_t k = 0; k < c->size.K; k++) {
        const real *m = M + k * b->M.row, *g = G + k * EOS_PANEL;
        vec         sum = vzero();
        for (ptrdiff_t j = 0; j < EOS_PANEL; j += VW)
            sum += cross(cload(m + j, c->size.Kp * b->M.row), cload(g + j, c->size.Kp * EOS_PANEL));
        b->carry_k[c->size.Kp + k] += vsum(sum);
    }
}

void K_(lcsm_chunk_grad_end)(back *b, ptrdiff_t panel, real *G)
{
    const lcsm_chunk *c = &b->c;
    const real       *M = b->M.p + panel * b->M.panel;
    const real *col = c->op.col.log == NULL ? NULL : c->op.col.up + (c->now.n - 1) * c->op.col.r;
    bool row = b->g->row.p != NULL, phase = b->g->row_phase.p != NULL, d = b->g->col.p != NULL;
    if (panel == 0) memset(b->carry_k, 0, (size_t)(2 * c->size.Kp) * sizeof(real));
    if (c->now.final) {
        memset(b->carry_d, 0, EOS_PANEL * sizeof(real));
        return;
    }
    if (c->x->is_complex) K_(lcsm_chunk_rotate)(c, -1, G);
    if (!row && !d && !phase && c->op.row.log == NULL && col == NULL) return;

    K_(lcsm_chunk_end)(c, M, b->M.row, col, G, row || d ? b->carry_k : NULL, d ? b->carry_d : NULL);
    if (phase) turn_flows(b, M, G);
}
