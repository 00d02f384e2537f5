/*
 * eos_chunk_ahead.c - what the next cell needs, asked for while the current one is computed.
 *
 * The rows of all heads of a step lie beside each other. While head h has its turn in a cell, it
 * asks for the h-th part of the next cell's steps, of all heads at once: memory is read in order,
 * and each head finds its rows in the cache. Steps from T on are those of the sequence that
 * follows in memory, which is the next one as a rule.
 */
#include "kernel/eos/chunk/eos_chunk.h"

typedef R_(lcsm_view)          view;
typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;

void K_(lcsm_chunk_ahead_rows)(lcsm_ahead *a, const real *p, ptrdiff_t t, ptrdiff_t n)
{
    if (p == NULL || t == 0 || a->views == TILE_AHEAD_VIEWS) return;
    a->view[a->views].p = p;
    a->view[a->views].t = t;
    a->view[a->views].n = n;
    a->views++;
}

void K_(lcsm_chunk_ahead)(const lcsm_chunk *c, const seq *x, const grads *g, ptrdiff_t h,
                          ptrdiff_t t, lcsm_ahead *a)
{
    ptrdiff_t left  = t < x->T ? x->T - t : 2 * x->T - t;
    ptrdiff_t steps = left < c->size.C ? left : c->size.C, last = x->heads - 1;
    a->views = a->at = 0;
    a->row           = t + steps * h / x->heads;
    a->rows          = t + steps * (h + 1) / x->heads;
    a->next = a->end = NULL;
    a->each          = 0;
    /* Where only some steps are read, s and y are few. */
#define WIDTH(v) (1 + (c->size.K - 1) * (v).k + (c->size.D - 1) * (v).d)
#define X(name)                                                                                    \
    if (x->name.p != NULL && !(x->read != NULL && &x->name == &x->s)) K_(lcsm_chunk_ahead_rows)    \
    (a, x->name.p, x->name.t, WIDTH(x->name) + (x[last].name.p - x->name.p));
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    if (g == NULL) return;
#define X(name)                                                                                    \
    if (g->name.p != NULL && !(x->read != NULL && &g->name == &g->s)) K_(lcsm_chunk_ahead_rows)    \
    (a, g->name.p, g->name.t, WIDTH(g->name) + (g[last].name.p - g->name.p));
    LCSM_EOS_OPERAND_LIST(X)
#undef X
#undef WIDTH
}

/* The depth of all tiles of a chunk, forward; backward has about twice as many. A sequence that is
 * one chunk may have nothing to do with the memory. */
static ptrdiff_t depth_of(const lcsm_chunk *c)
{
    ptrdiff_t steps = lcsm_tile_count(c->size.C, TILE_VECS),
              rows  = lcsm_tile_count(c->size.R, TILE_VECS);
    bool      alone = c->x->T <= c->size.C && c->x->fresh && c->x->final;
    ptrdiff_t few   = c->now.at == NULL ? c->size.C / 2 : c->x->reads;
    ptrdiff_t depth = c->size.panels * steps * (few < c->size.C / 2 ? few : c->size.C / 2);
    if (!alone) depth += c->size.panels * (steps * c->size.R + rows * c->size.C);
    return c->size.back ? 2 * depth : depth;
}

void K_(lcsm_chunk_ahead_spread)(const lcsm_chunk *c, lcsm_ahead *a)
{
    ptrdiff_t lines = 0, requests = depth_of(c) / TILE_AHEAD_STEPS + 1;
    for (int j = 0; j < a->views; j++)
        lines += (a->rows - a->row) * ((a->view[j].n + CACHE_LINE - 1) / CACHE_LINE);
    a->each = lines / requests + 1;
}
