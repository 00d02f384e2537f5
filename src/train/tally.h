/* train/tally.h - sums over the targets of batches. */
#ifndef LCSM_TRAIN_TALLY_H
#define LCSM_TRAIN_TALLY_H
#include <lcsm/train.h>

#include "model/model_graph.h"

/* Adds the batch that a float graph has just run forward. */
void lcsm_tally_add(lcsm_tally *sum, const lcsm_model_io *io);

/* Mean loss in nats, and the part that was right; NAN for no targets. */
double lcsm_tally_loss(const lcsm_tally *t);
double lcsm_tally_accuracy(const lcsm_tally *t);

#endif
