/* eos_pairs_ref.c - the definition: one channel after the other. */
#include "kernel/complex.h"
#include "kernel/eos/pairs/eos_pairs.h"

typedef R_(lcsm_eos_pairs)       problem;
typedef R_(lcsm_eos_pairs_grads) grads;

enum { LANES = LCSM_PAIRS_LANES, CELL = LCSM_PAIRS_CELL };

/* a + f b */
static cplx add(cplx a, real f, cplx b)
{
    return (cplx){a.re + f * b.re, a.im + f * b.im};
}

/* State j of a memory; p points at a lane. */
static cplx get(const real *p, ptrdiff_t j)
{
    return (cplx){p[2 * j * LANES], p[(2 * j + 1) * LANES]};
}

static void set(real *p, ptrdiff_t j, cplx v)
{
    p[2 * j * LANES]       = v.re;
    p[(2 * j + 1) * LANES] = v.im;
}

/* A coefficient of state j. */
static cplx coef(const real *p, int row, ptrdiff_t j)
{
    p += (j * LCSM_PAIRS_ROWS + row) * LANES;
    return (cplx){p[0], p[LANES]};
}

static void coef_add(real *p, int row, ptrdiff_t j, real f, cplx v)
{
    p += (j * LCSM_PAIRS_ROWS + row) * LANES;
    p[0] += f * v.re;
    p[LANES] += f * v.im;
}

/* m_t from m_{t-1}, which may be the same memory; returns S_t. */
static real step(const problem *x, const real *c, const real *before, real u, real *m)
{
    real S = 0;
    for (ptrdiff_t j = 0; j < x->M; j++)
        S += 2 * cplx_mul(coef(c, LCSM_PAIRS_V, j), get(before, j)).re;
    for (ptrdiff_t j = 0; j < x->M; j++) {
        cplx v = cplx_mul(coef(c, LCSM_PAIRS_A, j), get(before, j));
        v      = add(v, -S, coef(c, LCSM_PAIRS_W, j));
        set(m, j, add(v, u, coef(c, LCSM_PAIRS_B, j)));
    }
    return S;
}

static void clear(ptrdiff_t M, real *m)
{
    for (ptrdiff_t j = 0; j < M; j++) set(m, j, (cplx){0, 0});
}

static void copy(ptrdiff_t M, const real *from, real *to)
{
    for (ptrdiff_t j = 0; j < M; j++) set(to, j, get(from, j));
}

static void forward_lane(const problem *x, ptrdiff_t lane, real *m, real *y, ptrdiff_t y_t,
                         real *tape)
{
    const real *c = x->coef + lane;
    for (ptrdiff_t t = 0; t < x->T; t++) {
        if (tape != NULL && t % CELL == 0)
            copy(x->M, m, tape + (size_t)(t / CELL) * LCSM_PAIRS_MEMORY(x->M));
        if (lcsm_resets_at(&x->resets, t)) clear(x->M, m);
        step(x, c, m, x->u[t * x->u_t + lane], m);
        real sum = 0;
        for (ptrdiff_t j = 0; j < x->M; j++)
            sum += 2 * cplx_mul(coef(c, LCSM_PAIRS_C, j), get(m, j)).re;
        y[t * y_t + lane] = sum;
    }
}

static void forward(const problem *x, real *m, real *y, ptrdiff_t y_t, real *tape)
{
    for (ptrdiff_t lane = 0; lane < x->n; lane++)
        forward_lane(x, lane, m + lane, y, y_t, tape == NULL ? NULL : tape + lane);
}

/* One step back: before is m_{t-1}, m is m_t. */
static void step_back(const problem *x, const grads *g, ptrdiff_t lane, ptrdiff_t t, real S,
                      const real *before, const real *m, real *G)
{
    const real *c  = x->coef + lane;
    real       *gc = g->g + lane;
    real        u = x->u[t * x->u_t + lane], g_y = g->g_y[t * g->g_y_t + lane];
    real        g_S = 0, g_u = 0;
    for (ptrdiff_t j = 0; j < x->M; j++) {
        cplx Gj = add(get(G, j), 2 * g_y, cplx_conj(coef(c, LCSM_PAIRS_C, j)));
        set(G, j, Gj);
        g_S -= cplx_mul(cplx_conj(coef(c, LCSM_PAIRS_W, j)), Gj).re;
        g_u += cplx_mul(cplx_conj(coef(c, LCSM_PAIRS_B, j)), Gj).re;
        coef_add(gc, LCSM_PAIRS_C, j, 2 * g_y, cplx_conj(get(m, j)));
        coef_add(gc, LCSM_PAIRS_W, j, -S, Gj);
        coef_add(gc, LCSM_PAIRS_B, j, u, Gj);
    }
    for (ptrdiff_t j = 0; j < x->M; j++) {
        cplx mj = cplx_conj(get(before, j));
        coef_add(gc, LCSM_PAIRS_A, j, 1, cplx_mul(get(G, j), mj));
        coef_add(gc, LCSM_PAIRS_V, j, 2 * g_S, mj);
        set(G, j,
            add(cplx_mul(cplx_conj(coef(c, LCSM_PAIRS_A, j)), get(G, j)), 2 * g_S,
                cplx_conj(coef(c, LCSM_PAIRS_V, j))));
    }
    if (g->g_u != NULL) {
        real *to = &g->g_u[t * g->g_u_t + lane];
        *to      = g_u + (g->add ? *to : 0);
    }
    if (lcsm_resets_at(&x->resets, t)) clear(x->M, G);
}

/* What one lane needs while time runs back; m holds the memories around the steps of a cell. */
typedef struct {
    real *G, *S, *empty, *m;
} scratch;

static const real *before(const problem *x, const scratch *s, ptrdiff_t t)
{
    if (lcsm_resets_at(&x->resets, t)) return s->empty;
    return s->m + (size_t)(t % CELL) * LCSM_PAIRS_MEMORY(x->M);
}

static real *after(const problem *x, const scratch *s, ptrdiff_t t)
{
    return s->m + (size_t)(t % CELL + 1) * LCSM_PAIRS_MEMORY(x->M);
}

/* The memories of the cell are made again from the tape. */
static void backward_cell(const problem *x, const grads *g, ptrdiff_t lane, ptrdiff_t t0,
                          const real *tape, const scratch *s)
{
    ptrdiff_t t1 = t0 + CELL < x->T ? t0 + CELL : x->T;
    copy(x->M, tape, s->m);
    for (ptrdiff_t t = t0; t < t1; t++)
        s->S[t - t0] =
            step(x, x->coef + lane, before(x, s, t), x->u[t * x->u_t + lane], after(x, s, t));
    for (ptrdiff_t t = t1 - 1; t >= t0; t--)
        step_back(x, g, lane, t, s->S[t - t0], before(x, s, t), after(x, s, t), s->G);
}

static void backward(const problem *x, real *tape, const grads *g, real *g_m, real *ws)
{
    size_t  size = LCSM_PAIRS_MEMORY(x->M);
    scratch s    = {ws, ws + size, ws + size + CELL, ws + 2 * size + CELL};
    clear(x->M, s.empty);
    for (ptrdiff_t lane = 0; lane < x->n; lane++) {
        copy(x->M, g_m + lane, s.G);
        for (ptrdiff_t cell = (x->T + CELL - 1) / CELL - 1; cell >= 0; cell--)
            backward_cell(x, g, lane, cell * CELL, tape + (size_t)cell * size + lane, &s);
        copy(x->M, s.G, g_m + lane);
    }
}

const R_(lcsm_eos_pairs_kernels) K_(lcsm_eos_pairs_steps) = {forward, backward};
