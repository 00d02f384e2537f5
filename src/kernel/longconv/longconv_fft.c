/*
 * longconv_fft.c - long convolutions by transforms of VW channels at a time.
 *
 * A sequence is cut into blocks of n steps, n a power of two that the lags fit into. The product of
 * a block with the kernel is p + i q (transform.h): p belongs to the outputs of the block itself, q
 * to those of the next. With ^ for transforms and G = g_y of the block + i g_y of the next,
 *
 *     p + i q = back(k^ u^)      g_u = Re back(conj(k^) G^)      g_k = Re back(sum conj(u^) G^)
 *
 * where the last two follow because a transform is unitary but for a factor. The time of a channel
 * is O(T log L): a step costs as much in a long sequence as in a short one.
 */
#include "kernel/longconv/longconv_fft.h"
#include "kernel/longconv/transform.h"

static ptrdiff_t lags_of(ptrdiff_t T, ptrdiff_t L)
{
    return L < T ? L : T;
}

/* A number costs as much as 140 multiply-adds, measured for every vector width; the direct sum has
 * lags - lags^2 / 2T of them on the average. */
bool K_(lcsm_longconv_by_fft)(ptrdiff_t T, ptrdiff_t L)
{
    ptrdiff_t lags = lags_of(T, L);
    return lags * (2 * T - lags) > 2 * 140 * T;
}

/* VW channels from d on, of which m are there. */
typedef struct {
    ptrdiff_t T, d, m, n;
    root     *roots;           /* n */
    pair     *k, *u, *g, *sum; /* n */
} work;

static ptrdiff_t block_of(ptrdiff_t T, ptrdiff_t L)
{
    ptrdiff_t n = 16;
    while (n < lags_of(T, L)) n *= 2;
    return n;
}

size_t K_(lcsm_longconv_fft_scratch)(ptrdiff_t T, ptrdiff_t L, ptrdiff_t D)
{
    size_t n = (size_t)block_of(T, L);
    (void)D;
    return K_(lcsm_longconv_by_fft)(T, L) ? n * (4 * sizeof(pair) + sizeof(root)) / sizeof(real)
                                          : 0;
}

static work work_of(const R_(lcsm_longconv) *c, real *ws)
{
    ptrdiff_t n = block_of(c->T, c->L);
    pair     *x = (pair *)(void *)ws;
    work      w = {.T     = c->T,
                   .n     = n,
                   .k     = x,
                   .u     = x + n,
                   .g     = x + 2 * n,
                   .sum   = x + 3 * n,
                   .roots = (root *)(void *)(x + 4 * n)};
    K_(lcsm_transform_roots)(n, w.roots);
    return w;
}

static void transform(const work *w, pair *x)
{
    K_(lcsm_transform)(w->n, w->roots, x);
}

static void back(const work *w, pair *x)
{
    K_(lcsm_transform_back)(w->n, w->roots, x);
}

/* ---- steps in and out -------------------------------------------------------------------- */

/* Step t of `count`, 0 beyond. */
VEC_INLINE vec load(const work *w, const real *x, ptrdiff_t step, ptrdiff_t t, ptrdiff_t count)
{
    const real *p = x + t * step + w->d;
    if (t >= count) return vzero();
    return w->m == VW ? vload(p) : vload_n(p, w->m);
}

VEC_INLINE void put(const work *w, real *x, ptrdiff_t step, ptrdiff_t t, vec v, bool add)
{
    real *p = x + t * step + w->d;
    vstore_n(p, add ? vload_n(p, w->m) + v : v, w->m);
}

/* The kernel, with the factor that makes back the inverse. */
static void transform_kernel(const work *w, const R_(lcsm_longconv) *c)
{
    for (ptrdiff_t l = 0; l < w->n; l++)
        w->k[l] = (pair){load(w, c->k, c->k_l, l, c->L) / (real)w->n, vzero()};
    transform(w, w->k);
}

/* The block of u from step t on. */
static void transform_input(const work *w, const real *u, ptrdiff_t u_t, ptrdiff_t t)
{
    for (ptrdiff_t j = 0; j < w->n; j++) w->u[j] = (pair){load(w, u, u_t, t + j, w->T), vzero()};
    transform(w, w->u);
}

/* ---- forward ----------------------------------------------------------------------------- */

/* The block of u becomes p + i q; that of the block before is in g. */
static void forward_block(const work *w, real *y, ptrdiff_t y_t, ptrdiff_t t)
{
    for (ptrdiff_t j = 0; j < w->n; j++) w->u[j] = pair_mul(w->k[j], w->u[j]);
    back(w, w->u);
    for (ptrdiff_t j = 0; j < w->n && t + j < w->T; j++)
        put(w, y, y_t, t + j, t > 0 ? w->u[j].re + w->g[j].im : w->u[j].re, false);
}

void K_(lcsm_longconv_fft)(const R_(lcsm_longconv) *c, real *y, ptrdiff_t y_t, real *ws)
{
    work w = work_of(c, ws);
    for (w.d = 0; w.d < c->D; w.d += VW) {
        w.m = c->D - w.d < VW ? c->D - w.d : VW;
        transform_kernel(&w, c);
        for (ptrdiff_t b = 0; b < c->B; b++)
            for (ptrdiff_t t = 0; t < c->T; t += w.n) {
                transform_input(&w, c->u + b * c->T * c->u_t, c->u_t, t);
                forward_block(&w, y + b * c->T * y_t, y_t, t);
                pair *before = w.g;
                w.g          = w.u;
                w.u          = before;
            }
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

/* The gradients of the outputs of a block and of the next. */
static void transform_gradient(const work *w, const real *g_y, ptrdiff_t g_y_t, ptrdiff_t t)
{
    for (ptrdiff_t j = 0; j < w->n; j++)
        w->g[j] = (pair){load(w, g_y, g_y_t, t + j, w->T), load(w, g_y, g_y_t, t + w->n + j, w->T)};
    transform(w, w->g);
}

static void add_to_kernel(const work *w, real *g_k, ptrdiff_t g_k_l, ptrdiff_t lags)
{
    back(w, w->sum);
    for (ptrdiff_t l = 0; l < lags; l++) put(w, g_k, g_k_l, l, w->sum[l].re / (real)w->n, true);
}

static void add_to_input(const work *w, real *g_u, ptrdiff_t g_u_t, ptrdiff_t t)
{
    for (ptrdiff_t j = 0; j < w->n; j++) w->g[j] = pair_mul(pair_conj(w->k[j]), w->g[j]);
    back(w, w->g);
    for (ptrdiff_t j = 0; j < w->n && t + j < w->T; j++)
        put(w, g_u, g_u_t, t + j, w->g[j].re, true);
}

static void sum_products(const work *w)
{
    for (ptrdiff_t j = 0; j < w->n; j++)
        w->sum[j] = pair_add(w->sum[j], pair_mul(pair_conj(w->u[j]), w->g[j]));
}

void K_(lcsm_longconv_fft_bwd)(const R_(lcsm_longconv) *c, const real *g_y, ptrdiff_t g_y_t,
                               real *g_u, ptrdiff_t g_u_t, real *g_k, ptrdiff_t g_k_l, real *ws)
{
    work w = work_of(c, ws);
    for (w.d = 0; w.d < c->D; w.d += VW) {
        w.m = c->D - w.d < VW ? c->D - w.d : VW;
        transform_kernel(&w, c);
        memset(w.sum, 0, (size_t)w.n * sizeof *w.sum);
        for (ptrdiff_t b = 0; b < c->B; b++)
            for (ptrdiff_t t = 0; t < c->T; t += w.n) {
                transform_gradient(&w, g_y + b * c->T * g_y_t, g_y_t, t);
                if (g_k != NULL) {
                    transform_input(&w, c->u + b * c->T * c->u_t, c->u_t, t);
                    sum_products(&w);
                }
                if (g_u != NULL) add_to_input(&w, g_u + b * c->T * g_u_t, g_u_t, t);
            }
        if (g_k != NULL) add_to_kernel(&w, g_k, g_k_l, lags_of(c->T, c->L));
    }
}
