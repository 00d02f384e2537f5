/*
 * tokenizer_write.h - a tokenizer.json out of tokens and merges.
 *
 * Every tokenizer that was not read from such a file is written as one first, and then read, so
 * there is one way to build a tokenizer and what is saved is what runs.
 */
#ifndef LCSM_TEXT_TOKENIZER_WRITE_H
#define LCSM_TEXT_TOKENIZER_WRITE_H
#include <lcsm/tokenizer.h>
#include <stdint.h>

#include "base/error.h"
#include "text/vocab.h"

typedef struct {
    const lcsm_vocab *vocab;
    const int32_t (*merges)[2]; /* pairs of ids, in order */
    size_t      merge_count;
    bool        words; /* words are cut by the pattern of GPT-2 before they are merged */
    const char *eos;   /* an added token that is special, or NULL */
    int32_t     eos_id;
} lcsm_tokenizer_parts;

/* The text, for free(). */
lcsm_status lcsm_tokenizer_write(char **out, size_t *size, const lcsm_tokenizer_parts *parts,
                                 lcsm_error *err);

/* The byte tokenizer with the words of GPT-2, for encoders that give words. */
lcsm_status lcsm_tokenizer_words(lcsm_tokenizer **out, lcsm_error *err);

#endif
