/*
 * attention.c - softmax attention by blocks of keys and queries.
 *
 * A block of keys is turned once, so that scores of a block of queries are one product; the
 * queries' results grow in y, and are scaled down whenever a later block has a larger score
 * ("online softmax"). Few queries, as in decoding, take their scores as dot products instead.
 */
#include "kernel/attention/attention.h"
#include "kernel/vecproduct.h"

typedef R_(lcsm_attention)       attention;
typedef R_(lcsm_attention_keys)  keys;
typedef R_(lcsm_attention_grads) grads;

enum { BLOCK = LCSM_ATTENTION_BLOCK, FEW = 12 };

/* Some keys of one place: the first counts as number `base`. */
typedef struct {
    const real *k, *v;
    ptrdiff_t   k_t, v_t, base, n;
} block;

/* The pieces of ws. */
typedef struct {
    real *z, *g; /* BLOCK x BLOCK: scores, then weights; their gradients */
    real *kt;    /* K x BLOCK */
    real *vt;    /* D x BLOCK */
    real *max, *sum;
} desk;

static desk desk_of(const attention *a, real *ws)
{
    desk d;
    d.z   = ws;
    d.g   = d.z + BLOCK * BLOCK;
    d.kt  = d.g + BLOCK * BLOCK;
    d.vt  = d.kt + a->K * BLOCK;
    d.max = d.vt + a->D * BLOCK;
    d.sum = d.max + a->T;
    return d;
}

static void turn(ptrdiff_t rows, ptrdiff_t cols, const real *x, ptrdiff_t x_row, real *out)
{
    for (ptrdiff_t j = 0; j < rows; j++)
        for (ptrdiff_t k = 0; k < cols; k++) out[k * BLOCK + j] = x[j * x_row + k];
}

VEC_INLINE real dot(ptrdiff_t n, const real *x, const real *y)
{
    vec sum = vzero();
    for (ptrdiff_t j = 0; j < n; j += VW) sum += vload_m(x + j, n - j) * vload_m(y + j, n - j);
    return vsum(sum);
}

/* Queries t0 .. t0 + m - 1 against a block: products only, neither scaled nor masked. */
static void score(const attention *a, const desk *w, const block *b, ptrdiff_t t0, ptrdiff_t m)
{
    const real *q = a->q + t0 * a->q_t;
    if (a->T >= FEW) {
        vproduct(m, b->n, a->K, q, a->q_t, 1, w->kt, BLOCK, w->z, BLOCK, false);
        return;
    }
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < b->n; j++)
            w->z[i * BLOCK + j] = dot(a->K, q + i * a->q_t, b->k + j * b->k_t);
}

/* The keys of a block that query t sees: first .. end - 1. */
VEC_INLINE void seen(const attention *a, const block *b, ptrdiff_t t, ptrdiff_t *first,
                     ptrdiff_t *end)
{
    ptrdiff_t lo = a->lo[t] - b->base, hi = a->hi[t] - b->base;
    *first = lo < 0 ? 0 : lo < b->n ? lo : b->n;
    *end   = hi > b->n ? b->n : hi > *first ? hi : *first;
}

static bool any_seen(const attention *a, const block *b, ptrdiff_t t0, ptrdiff_t m)
{
    for (ptrdiff_t t = t0; t < t0 + m; t++) {
        ptrdiff_t first, end;
        seen(a, b, t, &first, &end);
        if (end > first) return true;
    }
    return false;
}

/* z of one query becomes exp(scale z - top) where the query sees the key, 0 elsewhere; the sum of
 * them is returned. */
VEC_INLINE real weigh(ptrdiff_t n, ptrdiff_t first, ptrdiff_t end, real scale, real top, real *z)
{
    vec sum = vzero();
    for (ptrdiff_t j = 0; j < first; j++) z[j] = -(real)INFINITY;
    for (ptrdiff_t j = end; j < n; j++) z[j] = -(real)INFINITY;
    for (ptrdiff_t j = 0; j < n; j += VW) {
        vec p = vexp(vload_m(z + j, n - j) * scale - top);
        vstore_m(z + j, p, n - j);
    }
    for (ptrdiff_t j = 0; j < n; j += VW) sum += vload_m(z + j, n - j);
    return vsum(sum);
}

VEC_INLINE real largest(ptrdiff_t first, ptrdiff_t end, real scale, const real *z)
{
    real max = -(real)INFINITY;
    for (ptrdiff_t j = first; j < end; j++) max = scale * z[j] > max ? scale * z[j] : max;
    return max;
}

/* One query's weights against a block, with what it has so far scaled to the new maximum. */
static void soften(const attention *a, const desk *w, const block *b, ptrdiff_t t, real *z, real *y)
{
    ptrdiff_t first, end;
    seen(a, b, t, &first, &end);
    real top = largest(first, end, a->scale, z);
    if (top > w->max[t]) {
        real shrink = R_FN(exp)(w->max[t] - top);
        for (ptrdiff_t d = 0; d < a->D; d += VW)
            vstore_m(y + d, vload_m(y + d, a->D - d) * shrink, a->D - d);
        w->sum[t] *= shrink;
        w->max[t] = top;
    }
    if (end > first) {
        w->sum[t] += weigh(b->n, first, end, a->scale, w->max[t], z);
    } else {
        for (ptrdiff_t j = 0; j < b->n; j++) z[j] = 0;
    }
}

static void forward_block(const attention *a, const desk *w, const block *b, real *y, ptrdiff_t y_t)
{
    if (a->T >= FEW) turn(b->n, a->K, b->k, b->k_t, w->kt);
    for (ptrdiff_t t0 = 0; t0 < a->T; t0 += BLOCK) {
        ptrdiff_t m = a->T - t0 < BLOCK ? a->T - t0 : BLOCK;
        if (!any_seen(a, b, t0, m)) continue;
        score(a, w, b, t0, m);
        for (ptrdiff_t i = 0; i < m; i++)
            soften(a, w, b, t0 + i, w->z + i * BLOCK, y + (t0 + i) * y_t);
        vproduct(m, a->D, b->n, w->z, BLOCK, 1, b->v, b->v_t, y + t0 * y_t, y_t, true);
    }
}

/* Keys j0 .. of a place, at most BLOCK of them. */
static block block_at(const keys *p, ptrdiff_t base, ptrdiff_t j0)
{
    return (block){p->k + j0 * p->k_t,
                   p->v + j0 * p->v_t,
                   p->k_t,
                   p->v_t,
                   base + j0,
                   p->n - j0 < BLOCK ? p->n - j0 : BLOCK};
}

static void forward(const attention *a, real *y, ptrdiff_t y_t, real *lse, real *ws)
{
    desk w = desk_of(a, ws);
    for (ptrdiff_t t = 0; t < a->T; t++) {
        for (ptrdiff_t d = 0; d < a->D; d++) y[t * y_t + d] = 0;
        w.max[t] = -(real)INFINITY;
        w.sum[t] = 0;
    }
    for (ptrdiff_t j = 0; j < a->past.n; j += BLOCK) {
        block b = block_at(&a->past, 0, j);
        forward_block(a, &w, &b, y, y_t);
    }
    for (ptrdiff_t j = 0; j < a->now.n; j += BLOCK) {
        block b = block_at(&a->now, a->past.n, j);
        forward_block(a, &w, &b, y, y_t);
    }
    for (ptrdiff_t t = 0; t < a->T; t++) {
        real r = w.sum[t] > 0 || isnan(w.sum[t]) ? 1 / w.sum[t] : 0;
        lse[t] = w.max[t] + R_FN(log)(w.sum[t]);
        for (ptrdiff_t d = 0; d < a->D; d += VW)
            vstore_m(y + t * y_t + d, vload_m(y + t * y_t + d, a->D - d) * r, a->D - d);
    }
}

/* From scores of m queries and the gradients of their weights (in w->g) to weights, in w->z, and
 * gradients of the products q . k, in w->g. w->sum holds g_y . y. */
static void weights_back(const attention *a, const desk *w, const block *b, ptrdiff_t t0,
                         ptrdiff_t m, const real *lse)
{
    for (ptrdiff_t i = 0; i < m; i++) {
        ptrdiff_t first, end, t = t0 + i;
        real     *z = w->z + i * BLOCK, *g = w->g + i * BLOCK;
        seen(a, b, t, &first, &end);
        if (end > first) {
            weigh(b->n, first, end, a->scale, lse[t], z);
        } else {
            for (ptrdiff_t j = 0; j < b->n; j++) z[j] = 0;
        }
        for (ptrdiff_t j = 0; j < b->n; j += VW) {
            ptrdiff_t left = b->n - j;
            vec       v    = vload_m(z + j, left) * (vload_m(g + j, left) - w->sum[t]) * a->scale;
            vstore_m(g + j, v, left);
        }
    }
}

/* g_k and g_v point at the block's own rows, or are NULL. */
static void backward_block(const attention *a, const desk *w, const block *b, const real *lse,
                           const real *g_y, ptrdiff_t g_y_t, const grads *g, real *g_k, real *g_v)
{
    if (a->T >= FEW) turn(b->n, a->K, b->k, b->k_t, w->kt);
    turn(b->n, a->D, b->v, b->v_t, w->vt);
    for (ptrdiff_t t0 = 0; t0 < a->T; t0 += BLOCK) {
        ptrdiff_t   m  = a->T - t0 < BLOCK ? a->T - t0 : BLOCK;
        const real *gy = g_y + t0 * g_y_t;
        if (!any_seen(a, b, t0, m)) continue;
        score(a, w, b, t0, m);
        vproduct(m, b->n, a->D, gy, g_y_t, 1, w->vt, BLOCK, w->g, BLOCK, false);
        weights_back(a, w, b, t0, m, lse);
        if (g_v != NULL) vproduct(b->n, a->D, m, w->z, 1, BLOCK, gy, g_y_t, g_v, g->v_t, true);
        if (g_k != NULL)
            vproduct(b->n, a->K, m, w->g, 1, BLOCK, a->q + t0 * a->q_t, a->q_t, g_k, g->k_t, true);
        if (g->q != NULL)
            vproduct(m, a->K, b->n, w->g, BLOCK, 1, b->k, b->k_t, g->q + t0 * g->q_t, g->q_t, true);
    }
}

static void backward(const attention *a, const real *y, ptrdiff_t y_t, const real *lse,
                     const real *g_y, ptrdiff_t g_y_t, const grads *g, real *ws)
{
    desk w = desk_of(a, ws);
    for (ptrdiff_t t = 0; t < a->T; t++) w.sum[t] = dot(a->D, g_y + t * g_y_t, y + t * y_t);
    for (ptrdiff_t j = 0; j < a->past.n && g->q != NULL; j += BLOCK) {
        block b = block_at(&a->past, 0, j);
        backward_block(a, &w, &b, lse, g_y, g_y_t, g, NULL, NULL);
    }
    for (ptrdiff_t j = 0; j < a->now.n; j += BLOCK) {
        block b = block_at(&a->now, a->past.n, j);
        backward_block(a, &w, &b, lse, g_y, g_y_t, g, g->k == NULL ? NULL : g->k + j * g->k_t,
                       g->v == NULL ? NULL : g->v + j * g->v_t);
    }
}

const R_(lcsm_attention_kernels) K_(lcsm_attention_head) = {forward, backward};
