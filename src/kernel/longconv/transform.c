/*
 * transform.c - the steps of a transform two at a time: a node of the tree becomes its four
 * grandchildren. A node goes to its leaves before the next is begun, so that most steps find
 * their numbers in the first cache.
 */
#include "kernel/longconv/transform.h"

#include <stdbool.h>

static const double PI = 3.14159265358979323846;

/* ---- roots ------------------------------------------------------------------------------- */

/* The angle of w at node h: that of the root of i at node 1, then half of its parent's c, which is
 * w to the left and -w to the right. */
static double angle(ptrdiff_t h)
{
    return h == 1 ? PI / 4 : (angle(h / 2) + (h % 2 == 0 ? 0 : PI)) / 2;
}

void K_(lcsm_transform_roots)(ptrdiff_t n, root *roots)
{
    roots[1] = (root){(real)cos(angle(1)), (real)sin(angle(1))};
    for (ptrdiff_t h = 2; h < n; h += 2) {
        double a     = angle(h);
        roots[h]     = (root){(real)cos(a), (real)sin(a)};
        roots[h + 1] = (root){-roots[h].im, roots[h].re};
    }
}

VEC_INLINE pair root_load(const root *w)
{
    return (pair){vset1(w->re), vset1(w->im)};
}

VEC_INLINE pair pair_turn(pair a)
{
    return (pair){-a.im, a.re};
}

/* ---- steps ------------------------------------------------------------------------------- */

/* a, b -> a + w b, a - w b. */
VEC_INLINE void part(pair *a, pair *b, pair w)
{
    pair p = pair_mul(w, *b);
    *b     = pair_sub(*a, p);
    *a     = pair_add(*a, p);
}

/* Twice its inverse. */
VEC_INLINE void join(pair *a, pair *b, pair w)
{
    pair low = pair_add(*a, *b);
    *b       = pair_mul(pair_sub(*a, *b), pair_conj(w));
    *a       = low;
}

/* Node h of 4 q numbers and its two halves. */
VEC_INLINE void part_node(ptrdiff_t q, const root *roots, ptrdiff_t h, pair *x)
{
    pair w = root_load(roots + h), left = root_load(roots + 2 * h), right = pair_turn(left);
    for (ptrdiff_t j = 0; j < q; j++) {
        pair a = x[j], b = x[j + q], c = x[j + 2 * q], d = x[j + 3 * q];
        part(&a, &c, w), part(&b, &d, w);
        part(&a, &b, left), part(&c, &d, right);
        x[j] = a, x[j + q] = b, x[j + 2 * q] = c, x[j + 3 * q] = d;
    }
}

VEC_INLINE void join_node(ptrdiff_t q, const root *roots, ptrdiff_t h, pair *x)
{
    pair w = root_load(roots + h), left = root_load(roots + 2 * h), right = pair_turn(left);
    for (ptrdiff_t j = 0; j < q; j++) {
        pair a = x[j], b = x[j + q], c = x[j + 2 * q], d = x[j + 3 * q];
        join(&a, &b, left), join(&c, &d, right);
        join(&a, &c, w), join(&b, &d, w);
        x[j] = a, x[j + q] = b, x[j + 2 * q] = c, x[j + 3 * q] = d;
    }
}

/* ---- the tree ---------------------------------------------------------------------------- */

/* Node h of 16 numbers. */
VEC_INLINE void part_16(const root *roots, ptrdiff_t h, pair *x)
{
    part_node(4, roots, h, x);
    for (ptrdiff_t c = 0; c < 4; c++) part_node(1, roots, 4 * h + c, x + 4 * c);
}

VEC_INLINE void join_16(const root *roots, ptrdiff_t h, pair *x)
{
    for (ptrdiff_t c = 0; c < 4; c++) join_node(1, roots, 4 * h + c, x + 4 * c);
    join_node(4, roots, h, x);
}

/* Node h of n numbers, n a power of four from 16 on. */
static void part_tree(ptrdiff_t n, const root *roots, ptrdiff_t h, pair *x)
{
    ptrdiff_t q = n / 4;
    if (n == 16) {
        part_16(roots, h, x);
        return;
    }
    part_node(q, roots, h, x);
    for (ptrdiff_t c = 0; c < 4; c++) part_tree(q, roots, 4 * h + c, x + c * q);
}

static void join_tree(ptrdiff_t n, const root *roots, ptrdiff_t h, pair *x)
{
    ptrdiff_t q = n / 4;
    if (n == 16) {
        join_16(roots, h, x);
        return;
    }
    for (ptrdiff_t c = 0; c < 4; c++) join_tree(q, roots, 4 * h + c, x + c * q);
    join_node(q, roots, h, x);
}

static bool is_power_of_four(ptrdiff_t n)
{
    while (n >= 4) n /= 4;
    return n == 1;
}

void K_(lcsm_transform)(ptrdiff_t n, const root *roots, pair *x)
{
    ptrdiff_t half = n / 2;
    if (is_power_of_four(n)) {
        part_tree(n, roots, 1, x);
        return;
    }
    for (ptrdiff_t j = 0; j < half; j++) part(x + j, x + half + j, root_load(roots + 1));
    for (ptrdiff_t c = 0; c < 2; c++) part_tree(half, roots, 2 + c, x + c * half);
}

void K_(lcsm_transform_back)(ptrdiff_t n, const root *roots, pair *x)
{
    ptrdiff_t half = n / 2;
    if (is_power_of_four(n)) {
        join_tree(n, roots, 1, x);
        return;
    }
    for (ptrdiff_t c = 0; c < 2; c++) join_tree(half, roots, 2 + c, x + c * half);
    for (ptrdiff_t j = 0; j < half; j++) join(x + j, x + half + j, root_load(roots + 1));
}
