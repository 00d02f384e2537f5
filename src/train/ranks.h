/* train/ranks.h - whether all ranks are about to train the same run. */
#ifndef LCSM_TRAIN_RANKS_H
#define LCSM_TRAIN_RANKS_H
#include "train/run_inputs.h"

/* Compares builds, settings and data with those of rank 0; what differs is named. Collective. */
lcsm_status lcsm_ranks_compare(const lcsm_run_inputs *j, lcsm_error *err);

#endif
