/*
 * train/batches.h - where batches come from: blocks of a text, or examples of a task.
 *
 * Batch `index` is a function of its settings and the index, so a resumed run and one
 * with other threads see the same batches. An index beyond an epoch goes on into the next.
 */
#ifndef LCSM_TRAIN_BATCHES_H
#define LCSM_TRAIN_BATCHES_H
#include <lcsm/dataset.h>
#include <lcsm/train.h>

#include "train/settings.h"

typedef struct {
    const lcsm_task    *task;
    ptrdiff_t           B, T;
    const lcsm_dataset *data;     /* of a task that reads text */
    bool                carried;  /* rows are parts of the stream, one block after the other */
    bool                shuffle;  /* another order in every epoch */
    bool                fresh;    /* other examples in every epoch */
    lcsm_task_config    made;     /* of a task that makes its examples */
    int64_t             examples; /* of an epoch */
    uint64_t            seed;
} lcsm_batches;

/* Examples of a task, those of training or those of evaluation, which training never sees. */
lcsm_batches lcsm_batches_examples(const lcsm_train_config *cfg, ptrdiff_t vocab, bool evaluation);

/* Blocks of a text, in another order in every epoch if they are shuffled. */
lcsm_batches lcsm_batches_text(const lcsm_train_config *cfg, const lcsm_dataset *data,
                               bool evaluation);

/* Blocks, or examples, of an epoch. */
int64_t lcsm_batches_blocks(const lcsm_batches *s);

/* Batches of an epoch, at least 1. */
int64_t lcsm_batches_count(const lcsm_batches *s);

/* Tokens and targets (B, T); reset (B, T), which may be NULL, is not 0 where a block does not go on
 * from the batch before. */
void lcsm_batches_fill(const lcsm_batches *s, int64_t index, int32_t *tokens, int32_t *targets,
                       int32_t *reset);

#endif
