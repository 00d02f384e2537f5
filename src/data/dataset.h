/* dataset.h - what a dataset is made of: shards in a row, and the part of them that is meant. */
#ifndef LCSM_DATA_DATASET_H
#define LCSM_DATA_DATASET_H
#include <lcsm/dataset.h>

#include "data/shard.h"

struct lcsm_dataset {
    const lcsm_tokenizer *tok;
    bool                  borrowed; /* a part: shards and starts are those of the whole */
    lcsm_shard           *shards;
    uint64_t             *starts; /* of each shard in the stream, and where the last one ends */
    size_t                shard_count;
    uint64_t              first, count; /* the tokens that are meant */
    lcsm_text_counts      text;
    size_t                skipped;
};

/* Tokens from place `at` of all shards on, wherever the dataset begins. */
void lcsm_dataset_read_at(const lcsm_dataset *ds, uint64_t at, size_t count, int32_t *out);

#endif
