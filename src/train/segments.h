/*
 * train/segments.h - sequences that are trained in segments: what is carried from one to the next,
 * and its gradient back.
 *
 * One process runs forward from the first segment to the last but one, only as far as that is
 * needed to carry on, keeps what each began with, and then, from the last to the first, forward and
 * backward. Where ranks share a sequence, each does so with its own segments: before an op of the
 * first reads what is carried, it comes from the rank that has the segment before, and what the
 * last leaves goes to the rank behind it as soon as the op has run. So a rank works on a layer
 * while the one behind it works on the layer below. Backward goes the other way.
 */
#ifndef LCSM_TRAIN_SEGMENTS_H
#define LCSM_TRAIN_SEGMENTS_H
#include "train/evaluator.h"
#include "train/shards.h"

typedef struct {
    lcsm_dist     *dist;
    lcsm_state    *state, *grad;
    unsigned char *kept;          /* what each own segment but the last began with */
    int            first, last;   /* own segments of the shard under way */
    int            before, after; /* ranks that have the neighbours of these; -1: there are none */
    bool           take[2], give[2]; /* from and to them in this run: forward, backward */
} lcsm_segments;

/* For a planned graph of a segment. */
lcsm_status lcsm_segments_open(lcsm_segments *s, const lcsm_graph *g, const lcsm_shards *shards,
                               lcsm_error *err);
void        lcsm_segments_close(lcsm_segments *s);
size_t      lcsm_segments_bytes(const lcsm_segments *s, const lcsm_shards *shards);

/* The own segments of a shard, first to last. */
void lcsm_segments_begin(lcsm_segments *s, const lcsm_shards *shards, int shard, int first,
                         int last);

/* Before a run of a segment. `learn`: its backward follows; else the run only carries on, and is
 * kept for later. */
lcsm_status lcsm_segments_before(lcsm_segments *s, int segment, bool learn, lcsm_error *err);
void        lcsm_segments_keep(lcsm_segments *s, int segment);

/* As lcsm_relay has them. */
lcsm_status lcsm_segments_take(lcsm_segments *s, bool backward, void *data, size_t bytes,
                               lcsm_error *err);
lcsm_status lcsm_segments_give(lcsm_segments *s, bool backward, const void *data, size_t bytes,
                               lcsm_error *err);

#endif
