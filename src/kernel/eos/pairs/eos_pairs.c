/* eos_pairs.c - a vector of channels at a time: the inner products over states are then plain sums.
 */
#include "kernel/eos/pairs/eos_pairs.h"
#include "kernel/vecmath.h"

typedef R_(lcsm_eos_pairs)       problem;
typedef R_(lcsm_eos_pairs_grads) grads;

enum { LANES = LCSM_PAIRS_LANES, CELL = LCSM_PAIRS_CELL };

/* Row `row` of the coefficients of a state, or of their gradients; p points at a lane. */
#define RE(p, row) vload((p) + (row)*LANES)
#define IM(p, row) vload((p) + ((row) + 1) * LANES)

VEC_INLINE void accumulate(real *p, vec re, vec im)
{
    vstore(p, vload(p) + re);
    vstore(p + LANES, vload(p + LANES) + im);
}

/* A memory of one vector of channels: (M, 2) vectors, `row` reals apart. */
typedef struct {
    real     *p;
    ptrdiff_t row;
} memory;

static void copy(ptrdiff_t M, memory from, memory to)
{
    for (ptrdiff_t j = 0; j < 2 * M; j++) vstore(to.p + j * to.row, vload(from.p + j * from.row));
}

static void clear(ptrdiff_t M, memory m)
{
    for (ptrdiff_t j = 0; j < 2 * M; j++) vstore(m.p + j * m.row, vzero());
}

/* Re(sum v m) */
static vec functional(ptrdiff_t M, const real *c, memory m)
{
    vec re = vzero(), im = vzero();
    for (ptrdiff_t j = 0; j < M; j++, c += LCSM_PAIRS_ROWS * LANES) {
        re += RE(c, LCSM_PAIRS_V) * vload(m.p + 2 * j * m.row);
        im += IM(c, LCSM_PAIRS_V) * vload(m.p + (2 * j + 1) * m.row);
    }
    return re - im;
}

/* m_t from m_{t-1}, which may be the same memory. *vm is Re(sum v m) before and after; returns
 * y_t. */
VEC_INLINE vec step(ptrdiff_t M, const real *c, memory before, vec S, vec u, memory m, vec *vm)
{
    vec y_re = vzero(), y_im = vzero(), v_re = vzero(), v_im = vzero();
    for (ptrdiff_t j = 0; j < M; j++, c += LCSM_PAIRS_ROWS * LANES) {
        vec a_re = RE(c, LCSM_PAIRS_A), a_im = IM(c, LCSM_PAIRS_A);
        vec x_re = vload(before.p + 2 * j * before.row);
        vec x_im = vload(before.p + (2 * j + 1) * before.row);
        vec re   = a_re * x_re - a_im * x_im - RE(c, LCSM_PAIRS_W) * S + RE(c, LCSM_PAIRS_B) * u;
        vec im   = a_re * x_im + a_im * x_re - IM(c, LCSM_PAIRS_W) * S + IM(c, LCSM_PAIRS_B) * u;
        vstore(m.p + 2 * j * m.row, re);
        vstore(m.p + (2 * j + 1) * m.row, im);
        y_re += RE(c, LCSM_PAIRS_C) * re;
        y_im += IM(c, LCSM_PAIRS_C) * im;
        v_re += RE(c, LCSM_PAIRS_V) * re;
        v_im += IM(c, LCSM_PAIRS_V) * im;
    }
    *vm = v_re - v_im;
    return 2 * (y_re - y_im);
}

static void forward_lanes(const problem *x, ptrdiff_t lane, real *m, real *y, ptrdiff_t y_t,
                          real *tape)
{
    const real *c    = x->coef + lane;
    ptrdiff_t   n    = x->n - lane;
    memory      here = {m + lane, LANES};
    vec         vm   = functional(x->M, c, here);
    for (ptrdiff_t t = 0; t < x->T; t++) {
        if (tape != NULL && t % CELL == 0) {
            size_t at = (size_t)(t / CELL) * LCSM_PAIRS_MEMORY(x->M);
            copy(x->M, here, (memory){tape + at + lane, LANES});
        }
        if (lcsm_resets_at(&x->resets, t)) {
            clear(x->M, here);
            vm = vzero();
        }
        vec u = vload_m(x->u + t * x->u_t + lane, n);
        vec S = 2 * vm;
        vstore_m(y + t * y_t + lane, step(x->M, c, here, S, u, here, &vm), n);
    }
}

static void forward(const problem *x, real *m, real *y, ptrdiff_t y_t, real *tape)
{
    for (ptrdiff_t lane = 0; lane < x->n; lane += VW) forward_lanes(x, lane, m, y, y_t, tape);
}

/* ---- backward ---- */

/* What one vector of channels needs while time runs back; m holds the memories around the steps
 * of a cell, S their S. */
typedef struct {
    memory G, empty, m;
    real  *S;
} scratch;

static memory before(const problem *x, const scratch *s, ptrdiff_t t)
{
    if (lcsm_resets_at(&x->resets, t)) return s->empty;
    return (memory){s->m.p + t % CELL * 2 * x->M * VW, VW};
}

static memory after(const problem *x, const scratch *s, ptrdiff_t t)
{
    return (memory){s->m.p + (t % CELL + 1) * 2 * x->M * VW, VW};
}

/* G += 2 conj(C) g_y, and the gradients of C, w and b, which meet the finished G. Returns g_S and
 * sum Re(conj(b) G). Here and below all is loaded before anything is stored: the arrays may be
 * whole pages apart, and then a load would wait for the store before it. */
VEC_INLINE vec gather(ptrdiff_t M, const real *c, real *g, const real *m, vec gy2, vec S, vec u,
                      real *G, vec *g_u)
{
    vec w_re = vzero(), w_im = vzero(), b_re = vzero(), b_im = vzero();
    for (ptrdiff_t j = 0; j < M; j++) {
        vec w0 = RE(c, LCSM_PAIRS_W), w1 = IM(c, LCSM_PAIRS_W), m_re = vload(m);
        vec b0 = RE(c, LCSM_PAIRS_B), b1 = IM(c, LCSM_PAIRS_B), m_im = vload(m + VW);
        vec re = vload(G) + RE(c, LCSM_PAIRS_C) * gy2;
        vec im = vload(G + VW) - IM(c, LCSM_PAIRS_C) * gy2;
        vstore(G, re);
        vstore(G + VW, im);
        accumulate(g + LCSM_PAIRS_C * LANES, m_re * gy2, -m_im * gy2);
        accumulate(g + LCSM_PAIRS_W * LANES, -S * re, -S * im);
        accumulate(g + LCSM_PAIRS_B * LANES, u * re, u * im);
        w_re += w0 * re;
        w_im += w1 * im;
        b_re += b0 * re;
        b_im += b1 * im;
        c += LCSM_PAIRS_ROWS * LANES;
        g += LCSM_PAIRS_ROWS * LANES;
        G += 2 * VW;
        m += 2 * VW;
    }
    *g_u = b_re + b_im;
    return -(w_re + w_im);
}

/* The gradients of a and v, and G <- conj(a) G + 2 g_S conj(v). */
VEC_INLINE void pass_on(ptrdiff_t M, const real *c, real *g, const real *m, vec gS2, real *G)
{
    for (ptrdiff_t j = 0; j < M; j++) {
        vec re = vload(G), im = vload(G + VW), m_re = vload(m), m_im = vload(m + VW);
        vec a_re = RE(c, LCSM_PAIRS_A), a_im = IM(c, LCSM_PAIRS_A);
        vec v_re = RE(c, LCSM_PAIRS_V), v_im = IM(c, LCSM_PAIRS_V);
        accumulate(g + LCSM_PAIRS_A * LANES, re * m_re + im * m_im, im * m_re - re * m_im);
        accumulate(g + LCSM_PAIRS_V * LANES, gS2 * m_re, -gS2 * m_im);
        vstore(G, a_re * re + a_im * im + v_re * gS2);
        vstore(G + VW, a_re * im - a_im * re - v_im * gS2);
        c += LCSM_PAIRS_ROWS * LANES;
        g += LCSM_PAIRS_ROWS * LANES;
        G += 2 * VW;
        m += 2 * VW;
    }
}

static void step_back(const problem *x, const grads *g, ptrdiff_t lane, ptrdiff_t t,
                      const scratch *s)
{
    const real *c  = x->coef + lane;
    real       *gc = g->g + lane;
    ptrdiff_t   n  = x->n - lane;
    vec         u = vload_m(x->u + t * x->u_t + lane, n), S = vload(s->S + t % CELL * VW);
    vec         gy2 = 2 * vload_m(g->g_y + t * g->g_y_t + lane, n), g_u;
    vec         g_S = gather(x->M, c, gc, after(x, s, t).p, gy2, S, u, s->G.p, &g_u);
    if (g->g_u != NULL) vput_m(g->g_u + t * g->g_u_t + lane, g_u, n, g->add);
    if (lcsm_resets_at(&x->resets, t)) clear(x->M, s->G);
    else pass_on(x->M, c, gc, before(x, s, t).p, 2 * g_S, s->G.p);
}

/* The memories of the cell are made again from the tape. */
static void backward_cell(const problem *x, const grads *g, ptrdiff_t lane, ptrdiff_t t0,
                          memory tape, const scratch *s)
{
    const real *c  = x->coef + lane;
    ptrdiff_t   t1 = t0 + CELL < x->T ? t0 + CELL : x->T;
    copy(x->M, tape, s->m);
    vec vm = functional(x->M, c, s->m);
    for (ptrdiff_t t = t0; t < t1; t++) {
        if (lcsm_resets_at(&x->resets, t)) vm = vzero();
        vec u = vload_m(x->u + t * x->u_t + lane, x->n - lane);
        vec S = 2 * vm;
        step(x->M, c, before(x, s, t), S, u, after(x, s, t), &vm);
        vstore(s->S + (t - t0) * VW, S);
    }
    for (ptrdiff_t t = t1 - 1; t >= t0; t--) step_back(x, g, lane, t, s);
}

static void backward(const problem *x, real *tape, const grads *g, real *g_m, real *ws)
{
    size_t    size = LCSM_PAIRS_MEMORY(x->M);
    ptrdiff_t one  = 2 * x->M * VW;
    scratch   s    = {{ws, VW}, {ws + one, VW}, {ws + 2 * one, VW}, ws + (CELL + 3) * one};
    clear(x->M, s.empty);
    for (ptrdiff_t lane = 0; lane < x->n; lane += VW) {
        copy(x->M, (memory){g_m + lane, LANES}, s.G);
        for (ptrdiff_t cell = (x->T + CELL - 1) / CELL - 1; cell >= 0; cell--) {
            real *from = tape + (size_t)cell * size + (size_t)lane;
            backward_cell(x, g, lane, cell * CELL, (memory){from, LANES}, &s);
        }
        copy(x->M, s.G, (memory){g_m + lane, LANES});
    }
}

const R_(lcsm_eos_pairs_kernels) K_(lcsm_eos_pairs_steps) = {forward, backward};
