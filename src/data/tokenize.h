/* tokenize.h - text files through a tokenizer into shards, in memory that does not grow. */
#ifndef LCSM_DATA_TOKENIZE_H
#define LCSM_DATA_TOKENIZE_H
#include <lcsm/dataset.h>

#include "data/shard_writer.h"
#include "data/source.h"

/* Whom to tell, and how much of the whole is done. */
typedef struct {
    lcsm_dataset_progress *fn; /* may be NULL */
    void                  *user;
    uint64_t               done, total;
} lcsm_tokenize_progress;

/* All of the sources, which are text, one after the other. */
lcsm_status lcsm_tokenize(lcsm_shard_writer *w, const lcsm_source *sources, size_t count,
                          const lcsm_tokenizer *tok, lcsm_text_ends ends,
                          lcsm_tokenize_progress *progress, lcsm_error *err);

/* Adds what the bytes hold; *inside says whether a word goes on from before, and after. */
void lcsm_text_count(lcsm_text_counts *counts, bool *inside, const char *text, size_t size);

#endif
