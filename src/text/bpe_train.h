/* bpe_train.h - merges learned from counted words. */
#ifndef LCSM_TEXT_BPE_TRAIN_H
#define LCSM_TEXT_BPE_TRAIN_H
#include <lcsm/tokenizer.h>

#include "text/word_count.h"

/* Learns a tokenizer. The options are filled in: no zero stands for a default any more. */
lcsm_status lcsm_bpe_train(lcsm_tokenizer **out, const lcsm_word_count *words,
                           const lcsm_tokenizer_training *options,
                           lcsm_tokenizer_progress *progress, void *user, lcsm_error *err);

#endif
