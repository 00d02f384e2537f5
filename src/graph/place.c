/*
 * place.c - greedy placement: the largest piece first, each into the smallest gap that fits
 * between the pieces that live at the same time.
 */
#include "graph/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { PAGE = 4096 };

/* Whole lines, and one more from a page on (base/block.h says why). */
static size_t rounded(const lcsm_piece *p)
{
    size_t lines = (p->bytes + LCSM_ALIGN - 1) & ~(LCSM_ALIGN - 1);
    return p->bytes < PAGE ? lines : lines + LCSM_ALIGN;
}

static bool meet(const lcsm_piece *a, const lcsm_piece *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Large ones first; then early ones; then in the order given, so the result is always the same. */
static int by_size(const void *x, const void *y)
{
    const lcsm_piece *a = *(lcsm_piece *const *)x, *b = *(lcsm_piece *const *)y;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The smallest gap among the placed pieces that p meets, which are sorted by offset. */
static size_t find_gap(lcsm_piece *const *placed, int n, const lcsm_piece *p)
{
    size_t need = rounded(p), end = 0, best = 0, best_gap = (size_t)-1;
    for (int j = 0; j < n; j++) {
        const lcsm_piece *q = placed[j];
        if (!meet(p, q)) continue;
        if (q->offset >= end && q->offset - end >= need && q->offset - end < best_gap) {
            best     = end;
            best_gap = q->offset - end;
        }
        if (q->offset + rounded(q) > end) end = q->offset + rounded(q);
    }
    return best_gap == (size_t)-1 ? end : best;
}

static void insert(lcsm_piece **placed, int n, lcsm_piece *p)
{
    int j = n;
    for (; j > 0 && placed[j - 1]->offset > p->offset; j--) placed[j] = placed[j - 1];
    placed[j] = p;
}

/* Whether even the plain sum of all sizes is a possible size. */
static bool sum_fits(const lcsm_piece *pieces, int n)
{
    size_t sum = 0;
    for (int j = 0; j < n; j++)
        if (!lcsm_size_add(sum, pieces[j].bytes, &sum) || !lcsm_size_add(sum, 2 * LCSM_ALIGN, &sum))
            return false;
    return true;
}

bool lcsm_place(lcsm_piece *pieces, int n, size_t *total)
{
    if (!sum_fits(pieces, n)) return false;
    lcsm_piece **order  = malloc(((size_t)n + 1) * sizeof *order);
    lcsm_piece **placed = malloc(((size_t)n + 1) * sizeof *placed);
    bool         ok     = order != NULL && placed != NULL;
    *total              = 0;
    if (ok) {
        for (int j = 0; j < n; j++) order[j] = &pieces[j];
        qsort(order, (size_t)n, sizeof *order, by_size);
        for (int j = 0; j < n; j++) {
            lcsm_piece *p = order[j];
            p->offset     = find_gap(placed, j, p);
            insert(placed, j, p);
            if (p->offset + rounded(p) > *total) *total = p->offset + rounded(p);
        }
    }
    free(order);
    free(placed);
    return ok;
}

size_t lcsm_place_bound(const lcsm_piece *pieces, int n)
{
    size_t most = 0;
    for (int j = 0; j < n; j++) { /* a maximum is reached where some piece begins */
        size_t sum = 0;
        for (int i = 0; i < n; i++)
            if (pieces[i].first <= pieces[j].first && pieces[j].first <= pieces[i].last)
                sum += rounded(&pieces[i]);
        if (sum > most) most = sum;
    }
    return most;
}
