/* tokenizer.h - what a tokenizer holds. It is built once, from a tokenizer.json, and never changes.
 */
#ifndef LCSM_TEXT_TOKENIZER_H
#define LCSM_TEXT_TOKENIZER_H
#include <lcsm/tokenizer.h>

#include "text/vocab.h"

struct lcsm_tokenizer {
    char      *json; /* the file */
    size_t     json_size;
    uint64_t   hash;
    lcsm_vocab vocab;
    int32_t    eos;
    bool       bytes; /* ids are bytes */
};

#endif
