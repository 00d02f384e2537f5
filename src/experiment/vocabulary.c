/* vocabulary.c - tokenizers for experiments, over lcsm/tokenizer.h. */
#include "experiment/vocabulary.h"

#include <lcsm/tokenizer.h>

lcsm_status lcsm_vocabulary_size(size_t *out, const char *path, lcsm_error *err)
{
    lcsm_tokenizer *tok = NULL;
    lcsm_status     st  = lcsm_tokenizer_load(&tok, path, err);
    if (st == LCSM_OK) *out = lcsm_tokenizer_vocab(tok);
    lcsm_tokenizer_free(tok);
    return st;
}
