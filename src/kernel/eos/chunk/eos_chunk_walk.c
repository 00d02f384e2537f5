/* eos_chunk_walk.c - the chunks of a cell from the last to the first. */
#include "kernel/eos/chunk/eos_chunk_walk.h"

typedef lcsm_chunk_walk   walk;
typedef lcsm_chunk_starts starts;

static starts take_starts(pieces *a, ptrdiff_t n, size_t memory)
{
    ptrdiff_t reals = (ptrdiff_t)(sizeof(ptrdiff_t) / sizeof(real)) * n;
    starts    s     = {.t = (ptrdiff_t *)(void *)lcsm_chunk_take(a, 1, reals)};
    s.M             = lcsm_chunk_take(a, n, (ptrdiff_t)memory);
    return s;
}

walk K_(lcsm_chunk_walk_open)(lcsm_chunk *c, void *arg, lcsm_chunk_back_fn *back,
                              lcsm_chunk_advance_fn *advance, pieces *a)
{
    walk w   = {.c = c, .arg = arg, .back = back, .advance = advance, .group = 1};
    w.memory = (size_t)c->size.panels * lcsm_chunk_panel_size(c);
    while (w.group * w.group < c->size.C) w.group++;
    w.groups = take_starts(a, (c->size.C + w.group - 1) / w.group, w.memory);
    w.chunks = take_starts(a, w.group, w.memory);
    return w;
}

void K_(lcsm_chunk_pack_all)(const lcsm_chunk *c, const real *m, real *M)
{
    for (ptrdiff_t p = 0; p < c->size.panels; p++)
        K_(lcsm_chunk_pack)(c, p, m, M + p * c->size.R * EOS_PANEL);
}

static void keep(const walk *w, starts *s, ptrdiff_t t, const real *M)
{
    s->t[s->count] = t;
    memcpy(s->M + (size_t)s->count * w->memory, M, w->memory * sizeof(real));
    s->count++;
}

/* From t to `end`, at most `limit` chunks, keeping every `every`-th start. c->op.M moves along. */
static void go(const walk *w, starts *s, ptrdiff_t t, ptrdiff_t end, ptrdiff_t every,
               ptrdiff_t limit)
{
    lcsm_chunk *c = w->c;
    s->count      = 0;
    for (ptrdiff_t j = 0; t < end && j < limit; j++, t += c->now.n) {
        if (j % every == 0) keep(w, s, t, c->op.M);
        K_(lcsm_chunk_begin)(c, t, end);
        w->advance(w->arg);
    }
}

void K_(lcsm_chunk_cell)(walk *w, ptrdiff_t t0, ptrdiff_t t1, const real *tape)
{
    lcsm_chunk *c = w->c;
    real       *M = c->op.M;
    K_(lcsm_chunk_begin)(c, t0, t1);
    if (c->now.n == t1 - t0) {
        w->back(w->arg, tape);
        return;
    }
    if (!c->now.blank) K_(lcsm_chunk_pack_all)(c, tape, M);
    go(w, &w->groups, t0, t1, w->group, c->size.C);
    for (ptrdiff_t g = w->groups.count - 1; g >= 0; g--) {
        memcpy(M, w->groups.M + (size_t)g * w->memory, w->memory * sizeof(real));
        go(w, &w->chunks, w->groups.t[g], t1, 1, w->group);
        for (ptrdiff_t j = w->chunks.count - 1; j >= 0; j--) {
            c->op.M = w->chunks.M + (size_t)j * w->memory;
            K_(lcsm_chunk_begin)(c, w->chunks.t[j], t1);
            w->back(w->arg, NULL);
        }
        c->op.M = M;
    }
}
