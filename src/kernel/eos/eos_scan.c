/*
 * eos_scan.c - the forward pass of the scan form; eos_scan_tile.h has the picture.
 *
 *     for each block of steps, strip of columns, tile of rows:
 *         o <- the oscillation of the tile for n steps       (eos_scan_gen.c)
 *         for t: m = o_t * m + e_t i_t;  y_t += s_t m        m in registers
 *
 * Three vector operations an element, so two thirds of the arithmetic peak by useful work (two
 * multiply-adds) is the limit where o costs nothing.
 */
#include "kernel/eos/eos_scan_tile.h"

/* n steps of a real tile of R x NV vectors, its rows m_k apart. e and s are numbers for each row,
 * or tiles. */
VEC_INLINE void run(const unit *u, ptrdiff_t R, ptrdiff_t NV, bool e_tile, bool s_tile, real *tile,
                    ptrdiff_t m_k, real *y)
{
    const ptrdiff_t n = u->at->n, i_t = u->i.t, o_t = u->o[RE].t, e_t = u->e[RE].t,
                    s_t = u->s[RE].t;
    const real *i = u->i.p, *o = u->o[RE].p, *E = u->E[RE], *S = u->S[RE];
    const real *e = u->e[RE].p, *s = u->s[RE].p;
    vec         m[SCAN_ROWS][4];
    SCAN_EACH(r, R) SCAN_EACH(v, NV) m[r][v] = vload(tile + r * m_k + v * VW);
    for (ptrdiff_t t = 0; t < n; t++) {
        vec in[4], sum[4];
        SCAN_EACH(v, NV) in[v]  = vload(i + v * VW);
        SCAN_EACH(v, NV) sum[v] = vload(y + v * VW);
        SCAN_EACH(r, R)
        SCAN_EACH(v, NV)
        {
            ptrdiff_t at = (r * NV + v) * VW;
            vec       ev = e_tile ? vload(E + at) : vset1(e[r]);
            vec       sv = s_tile ? vload(S + at) : vset1(s[r]);
            m[r][v]      = vload(o + at) * m[r][v] + ev * in[v];
            sum[v] += sv * m[r][v];
        }
        SCAN_EACH(v, NV) vstore(y + v * VW, sum[v]);
        i += i_t, o += o_t, e += e_t, s += s_t, y += NV * VW;
    }
    SCAN_EACH(r, R) SCAN_EACH(v, NV) vstore(tile + r * m_k + v * VW, m[r][v]);
}

#define RUN(R, NV, e, s)                                                                           \
    static void run_##R##_##NV##_##e##s(const unit *u, real *m, ptrdiff_t m_k, real *y)            \
    {                                                                                              \
        run(u, R, NV, e, s, m, m_k, y);                                                            \
    }
#define RUNS(R, NV) RUN(R, NV, 0, 0) RUN(R, NV, 0, 1) RUN(R, NV, 1, 0) RUN(R, NV, 1, 1)
RUNS(1, 1)
RUNS(1, 4)
RUNS(4, 1)
#if VW == 16
RUNS(4, 4)
#else
RUNS(4, 2)
#endif

#define ROW(R, NV)                                                                                 \
    {                                                                                              \
        {run_##R##_##NV##_00, run_##R##_##NV##_01},                                                \
        {                                                                                          \
            run_##R##_##NV##_10, run_##R##_##NV##_11                                               \
        }                                                                                          \
    }
/* By one row or several, one vector or several, e a tile, s a tile. */
static K_(lcsm_scan_run) *const RUN_OF[2][2][2][2] = {{ROW(1, 1), ROW(1, 4)},
                                                      {ROW(4, 1),
#if VW == 16
                                                       ROW(4, 4)
#else
                                                       ROW(4, 2)
#endif
                                                      }};

static K_(lcsm_scan_run) * run_of(const unit *u)
{
    const scan *p = u->p;
    if (p->planes == 2) return K_(lcsm_scan_run_complex);
    return RUN_OF[p->R > 1][u->cut.NV > 1][p->e_matrix][p->s_matrix];
}

/* Scratch of a strip in a block. */
typedef struct {
    real *i, *b, *y;
} cols;

static void plan(scan *p, cols *q, const seq *x, real *ws, size_t *used)
{
    carver c = {ws, 0};
    K_(lcsm_scan_plan)(p, x, SCAN_BLOCK, VW == 16 ? 4 : 2, &c);
    size_t line = (size_t)(SCAN_BLOCK * p->NV * VW);
    q->i        = carve(&c, line);
    q->b        = carve(&c, line);
    q->y        = carve(&c, line);
    *used       = c.used;
}

static size_t fwd_scratch(const seq *x, ptrdiff_t C)
{
    scan   p;
    cols   q;
    size_t used;
    (void)C;
    plan(&p, &q, x, NULL, &used);
    return used;
}

/* y of a strip, without the columns that do not exist. */
static void put_y(strip cut, ptrdiff_t n, const real *from, real *y, ptrdiff_t y_t)
{
    for (ptrdiff_t t = 0; t < n; t++)
        for (ptrdiff_t j = 0; j < cut.cols; j += VW) {
            vec   v  = vload(from + t * cut.W + j);
            real *to = y + t * y_t + cut.d0 + j;
            if (cut.cols - j >= VW) vstore(to, v);
            else vstore_n(to, v, cut.cols - j);
        }
}

/* The tile in place where all of it exists, else in a padded copy. */
static void run_tile(const unit *u, bool empty, real *m, real *y)
{
    const scan *p = u->p;
    if (!empty && p->planes == 1 && u->cut.cols == u->cut.W && u->k0 + p->R <= p->x->K) {
        real *at = m + u->k0 * p->x->D + u->cut.d0;
        run_of(u)(u, at, p->x->D, y);
        K_(lcsm_scan_correct)(u, false, at, p->x->D);
        return;
    }
    VEC_ALIGNED real tile[2 * SCAN_TILE * VW];
    K_(lcsm_scan_load)(p, u->cut, u->k0, empty ? NULL : m, tile);
    run_of(u)(u, tile, u->cut.W, y);
    K_(lcsm_scan_correct)(u, false, tile, u->cut.W);
    K_(lcsm_scan_store)(p, u->cut, u->k0, tile, m);
}

static void look_ahead(unit *u, const view *of, int count)
{
    const ptrdiff_t line = 64 / (ptrdiff_t)sizeof(real);
    ptrdiff_t lines = u->cut.W / line, first = u->k0 * u->cut.NV, total = u->p->Kp * u->cut.NV;
    bool      more = u->cut.d0 + 2 * u->cut.W <= u->p->x->D;
    for (ptrdiff_t j = 0; j < u->p->R * u->cut.NV; j++) {
        ptrdiff_t l = (first + j) * lines * count / total;
        u->ahead[j] = (track){NULL, 0};
        if (!more || l * total >= (first + j + 1) * lines * count
            || (l * total + lines * count - 1) / (lines * count) < first + j - 0)
            continue;
        const view *v = &of[l / lines];
        u->ahead[j] =
            (track){v->p + u->at->t0 * v->t + u->cut.d0 + u->cut.W + l % lines * line, v->t};
    }
}

/* One strip through a block; empty: the memory starts at zero. */
static void fwd_strip(const scan *p, const cols *q, const block *b, strip cut, bool empty, real *m,
                      real *y, ptrdiff_t y_t)
{
    unit u = K_(lcsm_scan_unit)(p, b, cut);
    u.i    = (track){q->i, cut.W};
    u.b    = (track){q->b, cut.W};
    K_(lcsm_scan_cols)(p, &p->x->i, b->t0, b->n, cut, 1, q->i);
    if (p->z == Z_BC || p->z == Z_AB) K_(lcsm_scan_cols)(p, p->b, b->t0, b->n, cut, 1, q->b);
    memset(q->y, 0, (size_t)(b->n * cut.W) * sizeof(real));
    view of[3] = {p->x->i, p->b == NULL ? p->x->i : *p->b, {y - b->t0 * y_t, y_t, 0, 1}};
    for (; u.k0 < p->Kp; unit_down(&u)) {
        look_ahead(&u, of, 3);
        if (p->token) K_(lcsm_scan_gen)(&u, NULL);
        run_tile(&u, empty, m, q->y);
    }
    put_y(cut, b->n, q->y, y, y_t);
}

static void fwd(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape, real *ws)
{
    unsigned mode = vflush_begin();
    scan     p;
    cols     q;
    size_t   used, size = R_(lcsm_eos_memory)(x);
    plan(&p, &q, x, ws, &used);
    K_(lcsm_scan_pack)(&p);
    for (ptrdiff_t t = 0; t < x->T;) {
        block     b;
        ptrdiff_t end = tape != NULL && t / C * C + C < x->T ? t / C * C + C : x->T;
        if (tape != NULL && t % C == 0)
            memcpy(tape + (size_t)(t / C) * size, m, size * sizeof(real));
        K_(lcsm_scan_block)(&p, t, K_(lcsm_scan_steps)(x, t, end, SCAN_BLOCK), &b);
        for (ptrdiff_t d0 = 0; d0 < x->D;) {
            strip cut = strip_at(&p, d0);
            fwd_strip(&p, &q, &b, cut, R_(lcsm_eos_resets)(x, t), m, y + t * y_t, y_t);
            d0 += cut.W;
        }
        t += b.n;
    }
    vflush_end(mode);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_scan) = {fwd_scratch, K_(lcsm_scan_bwd_scratch), fwd,
                                                K_(lcsm_scan_bwd)};
