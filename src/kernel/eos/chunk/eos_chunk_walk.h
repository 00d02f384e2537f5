/*
 * kernel/eos/chunk/eos_chunk_walk.h - the chunks of a cell from the last to the first.
 *
 * The tape has the memory at a cell's start; if the cell is several chunks, their starts are
 * recomputed in groups, so that only about 2 sqrt(C) memories are held.
 */
#ifndef LCSM_KERNEL_EOS_CHUNK_WALK_H
#define LCSM_KERNEL_EOS_CHUNK_WALK_H
#include "kernel/eos/chunk/eos_chunk.h"

/* The backward pass of the chunk that has just begun: `tape` has the memory before it, or it is
 * NULL and c->op.M has. */
typedef void lcsm_chunk_back_fn(void *arg, const real *tape);
/* c->op.M to the end of the chunk that has just begun. */
typedef void lcsm_chunk_advance_fn(void *arg);

/* Starts of chunks and the memories there. */
typedef struct {
    ptrdiff_t  count;
    ptrdiff_t *t;
    real      *M;
} lcsm_chunk_starts;

typedef struct {
    lcsm_chunk            *c;
    void                  *arg;
    lcsm_chunk_back_fn    *back;
    lcsm_chunk_advance_fn *advance;
    size_t                 memory; /* reals of M */
    ptrdiff_t              group;  /* chunks of a group */
    lcsm_chunk_starts      groups, chunks;
} lcsm_chunk_walk;

lcsm_chunk_walk K_(lcsm_chunk_walk_open)(lcsm_chunk *c, void *arg, lcsm_chunk_back_fn *back,
                                         lcsm_chunk_advance_fn *advance, pieces *a);

/* Steps t0 .. t1 - 1, with the memory before them. */
void K_(lcsm_chunk_cell)(lcsm_chunk_walk *w, ptrdiff_t t0, ptrdiff_t t1, const real *tape);

/* All panels from planes of K x D. */
void K_(lcsm_chunk_pack_all)(const lcsm_chunk *c, const real *m, real *M);
#endif
