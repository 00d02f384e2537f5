/*
 * dist/dist.h - ranks that work together: what training and experiments need of them.
 *
 * Every function takes NULL, a program that runs alone, and then does what is left to do. All ranks
 * make the same calls in the same order (a collective call), but for lcsm_dist_tell and _hear.
 *
 * A wait ends with LCSM_ERR_IO when a rank of the same machine has ended, or when nothing came for
 * LCSM_DIST_TIMEOUT seconds (of the environment; 1800). From then on every call fails at once.
 */
#ifndef LCSM_DIST_DIST_H
#define LCSM_DIST_DIST_H
#include <lcsm/dist.h>

#include "base/error.h"
#include "dist/engine.h"

static inline bool lcsm_dist_first(const lcsm_dist *d)
{
    return lcsm_dist_rank(d) == 0;
}

/* "rank 2 (host node3, process 812)". Lives until the next call. */
const char *lcsm_dist_member(lcsm_dist *d, int rank);

/* Every rank gives the outcome of what it has just done; all return that of the lowest rank that
 * failed, with its sentence. */
lcsm_status lcsm_dist_agree(lcsm_dist *d, lcsm_status st, lcsm_error *err);

/* Whether all ranks run the same file; all return what the first other one is. */
lcsm_status lcsm_dist_same_program(lcsm_dist *d, lcsm_error *err);

/* `bytes` of every rank, in their order, to every rank. For little: all has size * bytes. */
lcsm_status lcsm_dist_all_gather(lcsm_dist *d, const void *own, size_t bytes, void *all,
                                 lcsm_error *err);

lcsm_status lcsm_dist_broadcast(lcsm_dist *d, void *data, size_t bytes, int root, lcsm_error *err);

/* A block of which rank r has the bytes begin[r] .. begin[r + 1]: afterwards every rank has all. */
lcsm_status lcsm_dist_spread(lcsm_dist *d, void *block, const size_t *begin, lcsm_error *err);

/* The same, but only rank 0 has all; and back: rank 0 has all, and every rank gets its own. `own`
 * is where these are, block is of rank 0. */
lcsm_status lcsm_dist_collect(lcsm_dist *d, const void *own, void *block, const size_t *begin,
                              lcsm_error *err);
lcsm_status lcsm_dist_deal(lcsm_dist *d, void *own, const void *block, const size_t *begin,
                           lcsm_error *err);

/* ---- point to point ---- */

/* Posts a transfer; lcsm_dist_wait ends all that are posted. Not with NULL. */
lcsm_status lcsm_dist_send(lcsm_dist *d, const void *data, size_t bytes, int to, lcsm_error *err);
lcsm_status lcsm_dist_receive(lcsm_dist *d, void *data, size_t bytes, int from, lcsm_error *err);
lcsm_status lcsm_dist_wait(lcsm_dist *d, lcsm_error *err);

/* The same for what goes on while ranks compute, in groups of engine.h: only those of the group are
 * waited for. What the first sends in a group, the other receives in the same order. */
lcsm_status lcsm_dist_post_send(lcsm_dist *d, int group, const void *data, size_t bytes, int to,
                                lcsm_error *err);
lcsm_status lcsm_dist_post_receive(lcsm_dist *d, int group, void *data, size_t bytes, int from,
                                   lcsm_error *err);
lcsm_status lcsm_dist_wait_for(lcsm_dist *d, int group, lcsm_error *err);

/* Gives what was posted a chance to get on. */
void lcsm_dist_move_on(lcsm_dist *d);

/* A short message to a rank; and the next one that is there, of at most `room` bytes: *from is -1
 * if there is none. */
lcsm_status lcsm_dist_tell(lcsm_dist *d, int to, const void *data, size_t bytes, lcsm_error *err);
lcsm_status lcsm_dist_hear(lcsm_dist *d, int *from, void *data, size_t room, size_t *bytes,
                           lcsm_error *err);

/* Looks whether the others are there, as a wait does: for a rank that only hears. */
lcsm_status lcsm_dist_look(lcsm_dist *d, lcsm_error *err);

/* Whether a rank is lost: every call fails. */
bool lcsm_dist_broken(const lcsm_dist *d);

/* Seconds that this rank has waited for others, transfers included. */
double lcsm_dist_waited(const lcsm_dist *d);

#endif
