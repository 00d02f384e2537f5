/* vocabulary.h - the tokenizer of an experiment. */
#ifndef LCSM_EXPERIMENT_VOCABULARY_H
#define LCSM_EXPERIMENT_VOCABULARY_H
#include <stddef.h>

#include "base/error.h"

/* How many tokens a tokenizer.json, or the folder of one, has. */
lcsm_status lcsm_vocabulary_size(size_t *out, const char *path, lcsm_error *err);

#endif
