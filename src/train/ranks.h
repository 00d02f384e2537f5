/* train/ranks.h - whether all ranks are about to train the same run, and in how much memory. */
#ifndef LCSM_TRAIN_RANKS_H
#define LCSM_TRAIN_RANKS_H
#include "base/strbuf.h"
#include "train/run_inputs.h"

/* Compares builds, settings and data with those of rank 0; what differs is named. Collective. */
lcsm_status lcsm_ranks_compare(const lcsm_run_inputs *j, lcsm_error *err);

/* ", 4 ranks of 12 to 14 MB with 2 MB of the optimizer's moments"; nothing for one process.
 * Collective. */
lcsm_status lcsm_ranks_memory(lcsm_strbuf *s, const lcsm_trainer *t, lcsm_error *err);

#endif
