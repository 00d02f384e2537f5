/*
 * train/shards.h - a batch in shards, and its sequences in segments: who works on what, and the
 * order of all sums.
 *
 * Shard s of S has the sequences s B / S .. (s + 1) B / S - 1 of every batch, and a graph of the
 * largest shard's size; rows that are left over have no targets. Of P segments the graph has T / P
 * steps. A unit is a segment of a shard: unit s P + k is the k-th from the end, which is the order
 * in which backward comes to them. The gradient of a step is
 *
 *     ((g_0 + g_1) + g_2) + ...
 *
 * number by number, whoever computes them. So one process, and ranks that share the units, come to
 * the same bits; with one unit nothing is added. Rank r of R has the shards r S / R ..
 * (r + 1) S / R - 1; where R / S, rounded down to P at most, is g > 1, g ranks share a shard, each
 * with a row of its segments. Of several ranks each gets the sums of its slice of the block, the
 * one that its optimiser steps: every rank sends to every other what is its own, piece by piece, as
 * backward finishes it.
 */
#ifndef LCSM_TRAIN_SHARDS_H
#define LCSM_TRAIN_SHARDS_H
#include <lcsm/train.h>

#include "dist/dist.h"
#include "train/optimizer.h"
#include "train/settings.h"

typedef struct {
    lcsm_dist *dist;
    int        shards, segments; /* S, P */
    int        count;            /* of units */
    int        first, end;       /* the own ones */
    int        most;             /* that any rank has */
    ptrdiff_t  batch, rows;
    size_t    *begin; /* elements with which the slices of the ranks begin, and the end of all */
    size_t    *bytes; /* room for as many offsets */
    size_t    *left;  /* by rank: where what is not yet sent of a unit's gradients ends */
    float     *sums;  /* one process: of the units so far; else the own slice of every unit */
} lcsm_shards;

/* The shards that settings ask for: 0 is one for each rank, or for as many as share a sequence. */
int lcsm_shards_wanted(const lcsm_train_config *cfg, const lcsm_dist *dist);

/* Sequences of the largest shard. */
ptrdiff_t lcsm_shards_rows(const lcsm_train_config *cfg, const lcsm_dist *dist);

/* Fails if there are more shards than sequences. */
lcsm_status lcsm_shards_check(const lcsm_train_config *cfg, const lcsm_dist *dist, lcsm_error *err);

lcsm_status lcsm_shards_open(lcsm_shards *s, lcsm_dist *dist, const lcsm_train_config *cfg,
                             const lcsm_optimizer *o, lcsm_error *err);
void        lcsm_shards_close(lcsm_shards *s);

/* How many units a rank has, and which rank has a segment of a shard. */
int lcsm_shards_of(const lcsm_shards *s, int rank);
int lcsm_shards_owner(const lcsm_shards *s, int shard, int segment);

static inline int lcsm_shards_shard(const lcsm_shards *s, int unit)
{
    return unit / s->segments;
}

static inline int lcsm_shards_segment(const lcsm_shards *s, int unit)
{
    return s->segments - 1 - unit % s->segments;
}

/* The first sequence of a shard; shard S begins behind the last. */
ptrdiff_t lcsm_shards_begin(const lcsm_shards *s, int shard);

/* The part of a batch (B, T) that a unit has as (rows, T / P), with `fill` in rows that are left
 * over. */
void lcsm_shards_cut(const lcsm_shards *s, int unit, ptrdiff_t T, const int32_t *batch,
                     int32_t fill, int32_t *out);

/* ---- sums: start, then ready and add for each own unit, then finish ---- */

/* What comes from others is received from now on. */
lcsm_status lcsm_shards_start(lcsm_shards *s, lcsm_error *err);

/* The gradients of a unit are finished from element `done` of the block on. */
lcsm_status lcsm_shards_ready(lcsm_shards *s, const float *grads, size_t done, lcsm_error *err);

/* They are all there, or will be missed: then the step fails anyway. The list may be overwritten
 * afterwards. */
lcsm_status lcsm_shards_add(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps, int unit,
                            lcsm_error *err);

/* The list has the sums: all of one process, or those of the own slice. */
lcsm_status lcsm_shards_finish(lcsm_shards *s, const lcsm_context *ctx, lcsm_params *ps,
                               lcsm_error *err);

#endif
