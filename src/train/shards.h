/*
 * train/shards.h - a batch in shards: who works on which sequences, and the order of all sums.
 *
 * Shard s of S has the sequences s B / S .. (s + 1) B / S - 1 of every batch, and a graph of the
 * largest shard's size; rows that are left over have no targets. The gradient of a step is
 *
 *     ((g_0 + g_1) + g_2) + ...
 *
 * number by number, whoever computes them. So one process with S shards, and P ranks that share
 * them, come to the same bits; with one shard nothing is added. Rank r has the shards r S / P ..
 * (r + 1) S / P - 1. Of several ranks each gets the sums of its slice of the block, the one that
 * its optimiser steps: every rank sends to every other what is its own.
 */
#ifndef LCSM_TRAIN_SHARDS_H
#define LCSM_TRAIN_SHARDS_H
#include <lcsm/train.h>

#include "dist/dist.h"
#include "train/optimizer.h"
#include "train/settings.h"

typedef struct {
    lcsm_dist *dist;
    int        count;      /* S */
    int        first, end; /* the own ones */
    int        most;       /* that any rank has */
    ptrdiff_t  batch, rows;
    size_t    *begin; /* elements with which the slices of the ranks begin, and the end of all */
    size_t    *bytes; /* room for as many offsets */
    float     *sums;  /* one process: of the shards so far; else the own slice of every shard */
} lcsm_shards;

/* The shards that settings ask for: 0 is one for each rank. */
int lcsm_shards_wanted(const lcsm_train_config *cfg, const lcsm_dist *dist);

/* Sequences of the largest shard. */
ptrdiff_t lcsm_shards_rows(const lcsm_train_config *cfg, const lcsm_dist *dist);

/* Fails if there are more shards than sequences. */
lcsm_status lcsm_shards_check(const lcsm_train_config *cfg, const lcsm_dist *dist, lcsm_error *err);

lcsm_status lcsm_shards_open(lcsm_shards *s, lcsm_dist *dist, const lcsm_train_config *cfg,
                             const lcsm_optimizer *o, lcsm_error *err);
void        lcsm_shards_close(lcsm_shards *s);

/* How many shards a rank has. */
int lcsm_shards_of(const lcsm_shards *s, int rank);

/* The first sequence of a shard; shard S begins behind the last. */
ptrdiff_t lcsm_shards_begin(const lcsm_shards *s, int shard);

/* The shard of a batch (B, T) as (rows, T), with `fill` in rows that are left over. */
void lcsm_shards_cut(const lcsm_shards *s, int shard, ptrdiff_t T, const int32_t *batch,
                     int32_t fill, int32_t *out);

/* The `number`-th own shard has left its gradients in the list; for most numbers that others have,
 * but this rank has not, the call is made too. After the last call, number most - 1, the list has
 * the sums: all of one process, or those of the own slice. Collective. */
lcsm_status lcsm_shards_add(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int number,
                            lcsm_error *err);

#endif
