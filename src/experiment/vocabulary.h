/* vocabulary.h - the tokenizer of an experiment. */
#ifndef LCSM_EXPERIMENT_VOCABULARY_H
#define LCSM_EXPERIMENT_VOCABULARY_H
#include <stddef.h>

#include "base/error.h"

/* Trains a byte-level BPE tokenizer of that size on files, and writes it to path. */
lcsm_status lcsm_vocabulary_train(const char *path, size_t vocabulary, const char *const *data,
                                  size_t count, lcsm_error *err);

/* How many tokens a tokenizer.json, or the folder of one, has. */
lcsm_status lcsm_vocabulary_size(size_t *out, const char *path, lcsm_error *err);

#endif
