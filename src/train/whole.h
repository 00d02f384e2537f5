/*
 * train/whole.h - the optimiser's state and the carried memory as one process would have them, on
 * rank 0: what a checkpoint holds. A process that runs alone has them already, and copies nothing.
 */
#ifndef LCSM_TRAIN_WHOLE_H
#define LCSM_TRAIN_WHOLE_H
#include "train/trainer.h"

/* {0} is empty and may be freed. NULL pointers on ranks other than 0. */
typedef struct {
    float         *m, *v;  /* of the whole block */
    unsigned char *memory; /* of all shards, in their order; NULL: none is carried */
    size_t         memory_bytes;
    bool           own_m, own_memory; /* to be freed */
} lcsm_whole;

/* Room for them; of a process that runs alone, where they are. Collective, as all of these. */
lcsm_status lcsm_whole_reserve(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err);
void        lcsm_whole_free(lcsm_whole *w);

/* From all ranks to rank 0, with room made; and back, into their trainers. */
lcsm_status lcsm_whole_collect(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err);
lcsm_status lcsm_whole_deal(const lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err);

#endif
