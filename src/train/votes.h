/*
 * train/votes.h - what every rank says of its part of a step: how it ended, what it counted, and
 * how long it took.
 */
#ifndef LCSM_TRAIN_VOTES_H
#define LCSM_TRAIN_VOTES_H
#include "train/shards.h"
#include "train/tally.h"

typedef struct lcsm_votes lcsm_votes;

lcsm_status lcsm_votes_create(lcsm_votes **out, const lcsm_shards *s, lcsm_error *err);
void        lcsm_votes_free(lcsm_votes *v);

/* The tally of the number-th own unit, to be filled for each step. */
lcsm_tally *lcsm_votes_tally(lcsm_votes *v, int number);

/* Collects them; seconds and waited are of this rank so far. All ranks return the same, and *sum is
 * of all units in their order. */
lcsm_status lcsm_votes_collect(lcsm_votes *v, const lcsm_shards *s, lcsm_status st, double seconds,
                               double waited, lcsm_tally *sum, lcsm_error *err);

/* Of the last collection: the mean of `waited`, and the rank with the most seconds. */
double lcsm_votes_waited(const lcsm_votes *v);
int    lcsm_votes_slowest(const lcsm_votes *v);

#endif
